"""Trials of mutants: a fork each, in which one function has another body; the tests that call it run until one fails.

Nothing is imported or collected anew for a mutant, so that one costs a fork and the few tests until the first failure.
"""

from __future__ import annotations

import cProfile
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeGuard

import hypothesis
import pytest

from tests.mutation.operators import Mutant

KILLED, SURVIVED, SLOW, UNCALLED = "killed", "survived", "never ends", "no test calls it"
_SURVIVED, _KILLED = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One mutant and what became of it: KILLED, SURVIVED, SLOW or UNCALLED."""

    module: str
    mutant: Mutant
    verdict: str


class Trials:
    """A pytest plugin: instead of running the tests, tries mutants with them.

    Args:
        chosen: The mutants by dotted name of their module.
        told: Receives each trial.
        examples: How many examples a state machine draws.
        limit_s: The processor time after which a mutant counts as one that never ends.
        jobs: Trials at a time.
    """

    def __init__(
        self, chosen: dict[str, list[Mutant]], told: Callable[[Trial], None], *, examples: int, limit_s: int, jobs: int
    ) -> None:
        self._chosen = chosen
        self._told = told
        self._examples = examples
        self._limit_s = limit_s
        self._jobs = jobs
        self._failed = False
        self._callers: defaultdict[tuple[str, str], list[pytest.Item]] = defaultdict(list)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Let state machines draw as few examples as the rest does."""
        for item in items:
            if _is_machine(item):
                item.cls.settings = hypothesis.settings(item.cls.settings, max_examples=self._examples)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._watch(session.items)
        alive: dict[int, tuple[str, Mutant]] = {}
        for name, mutants in self._chosen.items():
            module = sys.modules[name]
            for mutant in mutants:
                tests = self._callers[str(module.__file__), mutant.site.function]
                if not tests:
                    self._told(Trial(module=name, mutant=mutant, verdict=UNCALLED))
                    continue
                if len(alive) >= self._jobs:
                    self._await_one(alive)
                alive[self._fork(module, mutant, tests)] = name, mutant
        while alive:
            self._await_one(alive)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= report.failed

    def _watch(self, items: Sequence[pytest.Item]) -> None:
        """Run all tests once as they are: which functions does each call, and how long does it take?"""
        files = {str(sys.modules[name].__file__) for name in self._chosen}
        costs_s: dict[pytest.Item, float] = {}
        machines: list[pytest.Item] = []
        for item in items:
            if _is_machine(item):  # it calls everything, after long
                machines.append(item)
                continue
            profile = cProfile.Profile(builtins=False)
            began_s = time.process_time()
            profile.runcall(self._run, item)
            costs_s[item] = time.process_time() - began_s
            if self._failed:
                pytest.exit(f"{item.nodeid} fails without any mutant", returncode=2)
            codes = [entry.code for entry in profile.getstats() if isinstance(entry.code, CodeType)]
            for place in {(code.co_filename, outermost(code.co_qualname)) for code in codes}:
                if place[0] in files:
                    self._callers[place].append(item)
        for tests in self._callers.values():
            tests.sort(key=costs_s.__getitem__)
            tests += machines

    def _run(self, item: pytest.Item) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)

    def _fork(self, module: ModuleType, mutant: Mutant, tests: Sequence[pytest.Item]) -> int:
        pid = os.fork()
        if pid:
            return pid
        code = _KILLED
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (self._limit_s, self._limit_s))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(self._limit_s * 20)  # what waits without computing ends, too
            with open(os.devnull, "w") as nothing:
                os.dup2(nothing.fileno(), 1)
                os.dup2(nothing.fileno(), 2)
            give_body(module, mutant)
            for item in tests:
                self._run(item)
                if self._failed:
                    break
            else:
                code = _SURVIVED
        finally:
            os._exit(code)

    def _await_one(self, alive: dict[int, tuple[str, Mutant]]) -> None:
        pid, status = os.wait()
        name, mutant = alive.pop(pid)
        ended = SURVIVED if os.WEXITSTATUS(status) == _SURVIVED else KILLED
        verdict = SLOW if os.WIFSIGNALED(status) else ended
        self._told(Trial(module=name, mutant=mutant, verdict=verdict))


def _is_machine(item: pytest.Item) -> TypeGuard[pytest.Function]:
    case = item.cls if isinstance(item, pytest.Function) else None
    return case is not None and isinstance(getattr(case, "settings", None), hypothesis.settings)


def outermost(qualname: str) -> str:
    """Return the function of a module or class that a nested function, comprehension or lambda stands in."""
    return qualname.partition(".<locals>")[0]


def give_body(module: ModuleType, mutant: Mutant) -> None:
    """Let the function of a mutant do what it does in the mutant, for whoever holds it already."""
    body = next(
        code
        for code in _codes(compile(mutant.tree, str(module.__file__), "exec"))
        if code.co_qualname == mutant.site.function
    )
    _function(module, mutant.site.function).__code__ = body


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _function(module: ModuleType, qualname: str) -> FunctionType:
    found: Any = module
    for name in qualname.split("."):
        found = vars(found)[name]
    if isinstance(found, property):
        found = found.fget
    found = getattr(found, "__func__", found)
    assert isinstance(found, FunctionType), f"{qualname} is no function"
    return found
