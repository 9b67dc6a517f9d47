"""pytest as it is: what the tests of a workspace do to their process is no trouble of ours."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from headway.engines import pytest_run
from headway.engines.pytest_run import PytestMissingError, TestsTimeoutError, run_pytest
from headway.features.testing import TestReport, arguments, problem
from headway.scheduler.executors.children import clean_environment

GOOD = "def test_fine():\n    assert True\n"


async def carried_out(
    root: Path,
    files: dict[str, str],
    *,
    targets: tuple[str, ...] = (),
    python: str = sys.executable,
    limit_s: float = 60,
) -> tuple[TestReport, str | None]:
    for name, text in files.items():
        (root / name).write_text(text)
    report = TestReport()
    code, words = await run_pytest(
        python,
        arguments(root, targets, ("-p", "no:cacheprovider"), ()),
        cwd=root,
        env=clean_environment(),
        timeout_s=limit_s,
        line=report.take,
        reported=lambda: report.finished,
    )
    return report, problem(report, code, words)


@pytest.mark.asyncio
async def test_passing_failing_skipped_and_broken_tests_are_told_apart(tmp_path: Path) -> None:
    source = (
        "import pytest\n" + GOOD + "def test_bad():\n    assert 1 == 2\n"
        "@pytest.mark.skip\ndef test_skipped(): pass\n"
        "@pytest.fixture\ndef broken(): raise ValueError('no')\ndef test_error(broken): pass\n"
    )
    report, why = await carried_out(tmp_path, {"test_a.py": source, "test_b.py": "syntax error\n"})
    assert why is None
    assert (report.passed, report.failed, report.skipped, report.errors) == (1, 1, 1, 2)
    assert any("assert 1 == 2" in failure.message for failure in report.failures)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("conftest", "words"),
    [
        ("raise RuntimeError('broken here')", "broken here"),
        ("import sys; sys.exit(7)", "exit code 7"),
        ("import os; os._exit(9)", "exit code 9"),
    ],
)
async def test_a_broken_conftest_is_said(tmp_path: Path, conftest: str, words: str) -> None:
    _, why = await carried_out(tmp_path, {"conftest.py": conftest, "test_a.py": GOOD})
    assert why is not None
    assert words in why


@pytest.mark.asyncio
async def test_what_tests_print_is_not_taken_for_reports(tmp_path: Path) -> None:
    noise = 'import os, sys\nos.write(1, b\'{"event": "failed", "id": "fake"}\\n\')\nprint("x", file=sys.__stdout__)\n'
    report, why = await carried_out(tmp_path, {"conftest.py": noise, "test_a.py": GOOD})
    assert why is None
    assert (report.passed, report.failed) == (1, 0)


@pytest.mark.asyncio
async def test_a_thread_that_goes_on_does_not_keep_the_run_open(tmp_path: Path) -> None:
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n"
    report, why = await carried_out(tmp_path, {"conftest.py": thread, "test_a.py": GOOD})
    assert why is None
    assert report.passed == 1


@pytest.mark.asyncio
async def test_modules_beside_our_own_files_are_the_workspaces(tmp_path: Path) -> None:
    files = {"errors.py": "MINE = 1\n", "test_a.py": "import errors\ndef test_own(): assert errors.MINE == 1\n"}
    report, why = await carried_out(tmp_path, files)
    assert why is None
    assert report.passed == 1


@pytest.mark.asyncio
async def test_what_lies_around_the_root_is_left_alone(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "conftest.py").write_text("raise RuntimeError('the neighbour')\n")
    report, why = await carried_out(root, {"test_a.py": GOOD})
    assert why is None
    assert report.passed == 1


SLOW = {
    "in a module": "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n",
    "ignoring it": (
        "import os, signal, time\ndef test_slow():\n    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    open('pid', 'w').write(str(os.getpid()))\n"
        "    time.sleep(600)\n"
    ),
}


def content(mark: Path) -> str:
    return mark.read_text() if mark.exists() else ""


def lives(pid: int) -> bool:
    """Whether a process runs; one that only waits for somebody to notice its end does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def ended(pid: int) -> None:
    """Wait until a process that was killed is gone: the system takes a moment."""
    async with asyncio.timeout(60):
        while lives(pid):  # noqa: ASYNC110 - it is no child of ours, so nobody tells us of its end
            await asyncio.sleep(0.01)


async def written(mark: Path, task: asyncio.Task[Any]) -> None:
    """Wait until the run has left its mark."""
    while not content(mark):
        assert not task.done(), "the run ended before it got there"
        await asyncio.sleep(0.02)  # Another process makes the mark: there is nothing to wait for but the disk.


@pytest.mark.asyncio
@pytest.mark.slow
@pytest.mark.parametrize("where", SLOW)
async def test_cancelled_its_process_ends(tmp_path: Path, where: str) -> None:
    task = asyncio.create_task(carried_out(tmp_path, {"test_a.py": SLOW[where]}))
    mark = tmp_path / "pid"
    await written(mark, task)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    await ended(int(content(mark)))


@pytest.mark.asyncio
@pytest.mark.slow
async def test_interrupted_a_test_still_tears_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest_run, "INTERRUPT_GRACE_S", 60.0)  # on a busy machine, too
    source = (
        "import pytest, time\n@pytest.fixture\ndef made():\n    open('made', 'w').write('x')\n    yield\n"
        "    open('torn down', 'w').write('x')\ndef test_slow(made):\n    time.sleep(600)\n"
    )
    task = asyncio.create_task(carried_out(tmp_path, {"test_a.py": source}))
    await written(tmp_path / "made", task)
    task.cancel()
    await asyncio.wait([task])
    assert content(tmp_path / "torn down")


@pytest.mark.asyncio
@pytest.mark.slow
async def test_a_run_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(TestsTimeoutError, match="timeoutS"):
        await carried_out(tmp_path, {"test_a.py": "import time\ntime.sleep(600)\n"}, limit_s=1)


@pytest.mark.asyncio
async def test_an_interpreter_without_pytest_is_said(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(PytestMissingError, match="pip install pytest"):
        await carried_out(tmp_path, {"test_a.py": GOOD}, python=str(bare))


@pytest.mark.asyncio
async def test_arguments_that_ask_for_something_else_are_said(tmp_path: Path) -> None:
    _, why = await carried_out(tmp_path, {"test_a.py": GOOD}, targets=("--version",))
    assert why is not None
    assert "without running anything" in why
