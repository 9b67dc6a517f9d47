"""Test runs as LOW jobs: pytest in the workspace's interpreter, one run at a time for each root.

Only in a trusted workspace: a test run is the workspace's code. In another one the job fails and says so.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.engines.environment import InterpreterError, workspace_environment
from headway.engines.errors import EngineError
from headway.engines.pytest_run import run_pytest
from headway.features.testing import TestReport, arguments, news_of, problem, result_of, targets_of
from headway.scheduler.context import current_step
from headway.scheduler.errors import StepError
from headway.scheduler.executors.children import ProgramMissingError, clean_environment
from headway.scheduler.model import (
    ErrorKind,
    Job,
    JobOutcome,
    Priority,
    Requirement,
    RetryPolicy,
    Task,
    TaskKind,
    TaskState,
    TimeoutPolicy,
)
from headway.session.arguments import Arguments
from headway.session.ports import Folder, Parts, Room, SessionContext, Submission
from headway.wording import say

_COST = Requirement(cpu_cores=0.5, memory_mb=128)
_NEVER_AGAIN = RetryPolicy(max_retries=0)  # A test run has effects: repeating it is the person's decision.
_UNTRUSTED = "the workspace is not trusted: its tests are its own code and are not run before trust is given"
_NO_FOLDER = "no folder is open: open the folder whose tests are to be run"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What one submission asks for, and where what happens is told."""

    targets: Sequence[str]
    extra: Sequence[str]
    collect: bool
    coverage: bool
    debugger: str
    parts: Parts


class Testing(Room):
    """Makes the jobs of `headway/submit` type "tests"."""

    __test__ = False

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._turns: dict[Path, asyncio.Lock] = {}

    def submission(self, given: Mapping[str, Any], *, title: str | None, priority: Priority | None) -> Submission:
        """Describe a run of all tests, or of `targets`, or a look at which there are; see `JobSource`.

        Its parts are (folder, `TestNews`) pairs.
        """
        read = Arguments(given, "arguments")
        read.only(("targets", "extraArgs", "collect", "coverage", "debugger"))
        asked = _Asked(
            targets=read.texts("targets", most=10_000),
            extra=read.texts("extraArgs", most=1000),
            collect=read.flag("collect", False),
            coverage=read.flag("coverage", False),
            debugger=read.optional_text("debugger") or "",
            parts=Parts(),
        )
        job = Job(
            type="tests",
            title=title or (say("Find tests") if asked.collect else say("Run tests")),
            tasks=self._tasks(asked),
            priority=Priority.LOW if priority is None else priority,
        )
        return Submission(job=job, result=_result, parts=asked.parts)

    def _tasks(self, asked: _Asked) -> list[Task]:
        limit_s = self._context.settings.tests.timeout_s
        folders = [folder for folder in self._context.folders if folder.path is not None and folder.path.is_dir()]
        if not self._context.trusted or not folders:
            why = _NO_FOLDER if self._context.trusted else _UNTRUSTED
            return [Task(name="pytest", call=_refuse, args=(why,), requirement=_COST, retry=_NEVER_AGAIN)]
        return [
            Task(
                name=f"pytest {folder.name}" if len(folders) > 1 else "pytest",
                call=self._run,
                args=(folder, asked, limit_s),
                kind=TaskKind.COROUTINE,
                requirement=_COST,
                retry=_NEVER_AGAIN,
                timeout=TimeoutPolicy(),
            )
            for folder in folders
            if not asked.targets or len(folders) == 1 or targets_of(_path(folder), asked.targets)
        ]

    async def _run(self, folder: Folder, asked: _Asked, limit_s: float) -> TestReport:
        root = _path(folder)
        report = TestReport()
        step = current_step()

        def take(line: bytes) -> None:
            event = report.take(line)
            news = news_of(event, root) if asked.parts.wanted else None
            if news is not None:
                asked.parts.tell((folder, news))
            step.report_partial(report)

        async with self._turns.setdefault(root, asyncio.Lock()):
            if not self._context.trusted:
                raise StepError(ErrorKind.PERMISSION_DENIED, _UNTRUSTED)
            settings = self._context.settings.tests
            chosen = targets_of(root, asked.targets) if len(self._context.folders) > 1 else asked.targets
            python = self._interpreter(root)
            try:
                code, words = await run_pytest(
                    python,
                    arguments(root, chosen, settings.args, asked.extra, collect=asked.collect),
                    cwd=root,
                    env=clean_environment(),
                    # Somebody who debugs thinks between two steps.
                    timeout_s=None if asked.debugger else limit_s,
                    line=take,
                    reported=lambda: report.finished,
                    coverage=asked.coverage and not asked.collect,
                    debugger="" if asked.collect else asked.debugger,
                )
            except (EngineError, ProgramMissingError) as error:
                raise StepError(ErrorKind.NOT_FOUND, str(error)) from error
        why = problem(report, code, words, collect=asked.collect)
        if why is not None:
            begun = report.collected is not None or report.done
            raise StepError(ErrorKind.INVALID_INPUT, why if begun else f"{why}. It was to be run by {python}")
        return report

    def _interpreter(self, root: Path) -> str:
        """Return the interpreter for a root's tests.

        Raises:
            StepError: there is none that has pytest, as far as can be told.
        """
        settings = self._context.settings
        setting = "headway.tests.python" if settings.tests.python else "headway.python.interpreter"
        try:
            found = workspace_environment([root], interpreter=settings.tests.python or settings.python.interpreter)
        except InterpreterError as error:
            why = f"{error}. Mend it, or choose another one (setting {setting})"
            raise StepError(ErrorKind.NOT_FOUND, why) from error
        if found is not None and found.python is not None:
            return str(found.python)
        if importlib.util.find_spec("pytest") is not None:
            return sys.executable
        raise StepError(
            ErrorKind.NOT_FOUND,
            f"no Python environment was found in {root}. Make one there (python -m venv .venv) and install pytest in "
            "it, or set headway.tests.python",
        )


async def _refuse(why: str) -> None:
    raise StepError(ErrorKind.PERMISSION_DENIED, why)


def _path(folder: Folder) -> Path:
    if folder.path is None:
        raise ValueError(f"{folder.uri} is no folder on this machine")
    return folder.path


def _result(outcome: JobOutcome) -> Mapping[str, Any] | None:
    tasks = outcome.results.values()
    reports = [task.value for task in tasks if task.state is TaskState.COMPLETED and isinstance(task.value, TestReport)]
    return result_of(reports) if reports else None
