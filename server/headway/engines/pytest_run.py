"""One run of pytest as a child: started, read line by line, interrupted and then killed when it is no longer wanted."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from headway.engines import pytest_child
from headway.engines.errors import EngineError
from headway.scheduler.executors.children import Child, PriorityClass, describe_exit

# Interrupted, pytest still runs the teardown of what it is in; then it is killed with all that it started.
INTERRUPT_GRACE_S = 3.0
# A thread that a test left behind may hold the interpreter when everything has been reported.
_AFTER_REPORT_S = 3.0
_LONGEST_LINE_BYTES = 1 << 20


class PytestMissingError(EngineError):
    """The interpreter has no pytest. Install it there, or set another interpreter."""

    def __init__(self, python: str) -> None:
        super().__init__(python)
        self.python = python

    def __str__(self) -> str:
        return (
            f"pytest is not installed in {self.python}. Install it there ({self.python} -m pip install pytest), or set "
            "headway.tests.python to an interpreter that has it"
        )


class CoverageMissingError(EngineError):
    """The interpreter has no pytest-cov. Install it there, or run without coverage."""

    def __init__(self, python: str) -> None:
        super().__init__(python)
        self.python = python

    def __str__(self) -> str:
        return (
            f"pytest-cov is not installed in {self.python}. Install it there ({self.python} -m pip install "
            "pytest-cov), or run the tests without coverage"
        )


class DebuggerMissingError(EngineError):
    """No debugpy for the interpreter was found where it was said to be. Install the Python Debugger extension anew."""

    def __init__(self, python: str, folder: str) -> None:
        super().__init__(python, folder)
        self.python = python
        self.folder = folder

    def __str__(self) -> str:
        return (
            f"there is no debugpy in {self.folder} that {self.python} can use. Update or reinstall the Python Debugger "
            "extension (ms-python.debugpy), or run the tests without debugging"
        )


class TestsTimeoutError(EngineError):
    """The run took longer than it may, and was ended. Raise `headway.tests.timeoutS`, or run less."""

    __test__ = False

    def __init__(self, limit_s: float) -> None:
        super().__init__(limit_s)
        self.limit_s = limit_s

    def __str__(self) -> str:
        return f"the test run took longer than {self.limit_s:g} s (headway.tests.timeoutS) and was ended"


async def run_pytest(
    python: str,
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float | None,
    line: Callable[[bytes], object],
    reported: Callable[[], bool],
    coverage: bool = False,
    debugger: str = "",
) -> tuple[int, tuple[str, ...]]:
    """Run pytest to its end; return its exit code and the last lines that it wrote.

    Cancelling this interrupts pytest, gives it `INTERRUPT_GRACE_S`, and kills its group; it returns after that.

    Args:
        line: Is given each line of its reports.
        reported: Whether everything was reported; the process then has little time left to end.
        timeout_s: None for a run that may take as long as it likes.
        coverage: Report, too, which lines were executed.
        debugger: The folder with the debugpy that waits for a debugger before the run; empty for none.

    Raises:
        PytestMissingError: the interpreter has no pytest.
        CoverageMissingError: it has no pytest-cov, and coverage is wanted.
        DebuggerMissingError: it can use no debugpy of that folder.
        TestsTimeoutError: it took longer than `timeout_s`.
        ProgramMissingError: there is no such interpreter.
    """
    with tempfile.TemporaryDirectory(prefix="headway-coverage-") if coverage else contextlib.nullcontext() as folder:
        # pytest-cov keeps what it measures in files, of which none is to be left in the workspace.
        measured = [f"--headway-coverage={folder}/coverage.json"] if folder else []
        watched = [f"--headway-debugger={debugger}"] if debugger else []
        kept = {"COVERAGE_FILE": f"{folder}/data"} if folder else {}
        command = [python, pytest_child.__file__, *watched, *measured, *arguments]
        code, words = await _run(command, cwd, {**env, **kept}, timeout_s, line, reported)
    if code == pytest_child.NO_DEBUGGER and debugger:
        raise DebuggerMissingError(python, debugger)
    return code, words


async def _run(
    command: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float | None,
    line: Callable[[bytes], object],
    reported: Callable[[], bool],
) -> tuple[int, tuple[str, ...]]:
    # POLITE: the person waits for these tests, but whoever types comes first.
    child = Child(
        command,
        name="pytest",
        cwd=cwd,
        env=env,
        priority_class=PriorityClass.POLITE,
        guarded=True,
    )
    await child.start()
    child.stdin.close()
    try:
        async with asyncio.timeout(timeout_s):
            await _read(child.stdout, line, reported)
            await _end_of(child, reported)
            code = await child.wait()
    except TimeoutError:
        await _interrupt(child)
        raise TestsTimeoutError(timeout_s or 0.0) from None
    except asyncio.CancelledError:
        await _interrupt(child)
        raise
    finally:
        child.kill()
        child.close()
    if code == pytest_child.NO_PYTEST:
        raise PytestMissingError(command[0])
    if code == pytest_child.NO_COVERAGE:
        raise CoverageMissingError(command[0])
    words = child.stderr_tail or (() if code >= 0 else (describe_exit(code),))
    return code, words


async def _read(stdout: asyncio.StreamReader, line: Callable[[bytes], object], reported: Callable[[], bool]) -> None:
    """Give the complete lines of a stream, until it ends or everything was reported."""
    held = b""
    while not reported() and (data := await stdout.read(1 << 16)):
        *lines, held = (held + data).split(b"\n")
        for one in lines:
            line(one)
        if len(held) > _LONGEST_LINE_BYTES:
            held = b""  # No line of ours is so long.


async def _end_of(child: Child, reported: Callable[[], bool]) -> None:
    """Wait for the process to end by itself, a while only where it has reported everything."""
    if not reported():
        await child.wait()
        return
    try:
        async with asyncio.timeout(_AFTER_REPORT_S):
            await child.wait()
    except TimeoutError:
        child.kill()


async def _interrupt(child: Child) -> None:
    """Interrupt the group as Ctrl-C would, then kill it; it is gone when this returns."""
    if child.pid is not None and child.running and sys.platform != "win32":
        child.send_signal(signal.SIGINT)
        try:
            async with asyncio.timeout(INTERRUPT_GRACE_S):
                await child.wait()
        except TimeoutError:
            child.kill()
    else:
        child.kill()
    await child.wait()
