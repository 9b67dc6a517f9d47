"""Launchers that were chosen as interpreters: each is asked once what it starts, and again when it changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from headway.engines.environment import Environment, InterpreterError, environment_at, has_packages
from headway.engines.launcher import started_prefix
from headway.scheduler.model import JobOutcome, Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.ports import SessionContext
from headway.wording import say

_ASKING: Final = Requirement(cpu_cores=0.1, memory_mb=32)
_LIMIT_S: Final = 15.0


@runtime_checkable
class _Starting(Protocol):
    """A context that exists before there can be jobs: what begins a start comes before the scheduler."""

    def when_scheduled(self, call: Callable[[], None]) -> None:
        """Call something that submits jobs, as soon as jobs can be submitted."""


class Launchers:
    """Knows what launchers start.

    Args:
        changed: Called when one has answered.
    """

    def __init__(self, context: SessionContext, changed: Callable[[], None]) -> None:
        self._context = context
        self._changed = changed
        self._answers: dict[tuple[Path, int], Path | None] = {}  # by program and its time of change
        self._asked: set[tuple[Path, int]] = set()
        self._closed = False

    def close(self) -> None:
        """What is still being asked is told to nobody."""
        self._closed = True

    def unknown(self, program: Path) -> bool:
        """Return whether it may be asked and has not answered. In an untrusted workspace nothing is."""
        return self._context.trusted and _stamped(program) not in self._answers

    def ask(self, program: Path, cwd: Path) -> None:
        """Run it in a folder to find out; `changed` is called when that is known."""
        key = _stamped(program)
        if key in self._asked or self._closed:
            return
        self._asked.add(key)
        if isinstance(self._context, _Starting):
            self._context.when_scheduled(lambda: self._ask(key, program, cwd))
        else:
            self._ask(key, program, cwd)

    def _ask(self, key: tuple[Path, int], program: Path, cwd: Path) -> None:
        if self._closed:
            return
        handle = self._context.scheduler.run(
            started_prefix,
            os.fspath(program),
            cwd,
            priority=Priority.HIGH,
            name=f"ask {program.name} what it starts",
            kind=TaskKind.COROUTINE,
            requirement=_ASKING,
            timeout=TimeoutPolicy(hard_s=_LIMIT_S),
        )

        def ended(outcome: JobOutcome) -> None:
            self._asked.discard(key)
            self._answers[key] = next((result.value for result in outcome.results.values()), None)
            if not self._closed:
                self._changed()

        handle.add_done_callback(ended)

    def started_by(self, program: Path) -> Environment:
        """Return the environment that a launcher starts.

        Raises:
            InterpreterError: It starts none that has packages, or it was not asked.
        """
        prefix = self._answers.get(_stamped(program))
        found = None if prefix is None else environment_at(prefix)
        if found is None or not has_packages(found):
            raise InterpreterError(str(program), say("has no packages beside it, and starts no Python that has"))
        return found


def _stamped(program: Path) -> tuple[Path, int]:
    try:
        return program, program.stat().st_mtime_ns
    except OSError:
        return program, 0
