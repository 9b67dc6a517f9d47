"""The scheduler as others use it: the tutorial runs as it says, users' programs type-check, nothing else is needed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "server"
TUTORIAL = (ROOT / "docs" / "scheduler.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^## ([^\n]+)|```python\n(.*?)```\n\n```text\n(.*?)```", TUTORIAL, re.DOTALL | re.MULTILINE)


def programs() -> list[tuple[str, str, str]]:
    """(heading, program, output) of each program of the tutorial."""
    found, heading = [], ""
    for title, program, output in PROGRAMS:
        heading = title or heading
        if program:
            found.append((heading, program, output))
    return found


def test_every_program_of_the_tutorial_is_found() -> None:
    assert len(programs()) == TUTORIAL.count("```python") == TUTORIAL.count("```text") >= 8


@pytest.mark.parametrize(
    ("program", "output"),
    [
        pytest.param(program, output, id=f"{number} {heading}")
        for number, (heading, program, output) in enumerate(programs())
    ],
)
def test_the_tutorial_runs_as_it_says(tmp_path: Path, program: str, output: str) -> None:
    file = tmp_path / "program.py"
    file.write_text(program, encoding="utf-8")
    command = [sys.executable, "-W", "error", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)
    assert (ran.stdout, ran.returncode) == (output, 0), ran.stderr
    # The watchdog's remarks tell how busy the machine is, not what the program did.
    assert [line for line in ran.stderr.splitlines() if not line.startswith("the event loop did not turn for")] == []


USER = '''
"""A user's program that touches the public face; strict checkers must be content, and know the types."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import assert_type

from headway.scheduler import (
    Event,
    History,
    Job,
    JobHandle,
    JobOutcome,
    JobView,
    MetricsSnapshot,
    Outcome,
    Priority,
    RememberedJob,
    Requirement,
    RetryPolicy,
    Scheduler,
    SchedulerConfig,
    Snapshot,
    Step,
    Task,
    TaskEnded,
    TaskKind,
    TimeoutPolicy,
    current_step,
)


def double(number: int) -> int:
    return number * 2


async def tasks() -> AsyncIterator[Task]:
    for number in range(3):
        yield Task(name=str(number), call=double, args=(number,), kind=TaskKind.IO_BOUND)


async def steps() -> str:
    context = current_step()
    context.heartbeat()
    assert_type(context.attempt, int)
    return f"{context.cancelled()}"


def heed(event: Event) -> None:
    if isinstance(event, TaskEnded):
        assert_type(event.outcome, Outcome)


async def main() -> None:
    history = History(Path("history.sqlite3"))
    async with Scheduler(SchedulerConfig(cpu_cores=2), history=history) as scheduler:
        unsubscribe = scheduler.subscribe(heed)
        handle = scheduler.submit(Job(type="x", title="x", tasks=tasks(), priority=Priority.BATCH))
        assert_type(handle, JobHandle)
        assert_type(await handle, JobOutcome)
        assert_type(handle.view(), JobView)
        assert_type(scheduler.snapshot(), Snapshot)
        assert_type(scheduler.metrics.snapshot(), MetricsSnapshot)
        assert_type(await history.recent(), list[RememberedJob])
        assert_type(scheduler.submit_many([]), list[JobHandle])
        task = Task(
            name="t",
            steps=(Step(name="s", call=steps),),
            requirement=Requirement(cpu_cores=0.5),
            retry=RetryPolicy(max_retries=1),
            timeout=TimeoutPolicy(hard_s=1.0),
        )
        scheduler.submit(Job(type="x", title="y", tasks=[task]))
        assert_type(scheduler.pause([Priority.LOW]), tuple[Priority, ...])
        unsubscribe()


asyncio.run(main())
'''

WRONG = """
from headway.scheduler import Job, Scheduler, Task

Task(nam="x")
Job(type="x", title="y", tasks=(1,))
Scheduler().submit("job")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "right.py").write_text(USER, encoding="utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    return tmp_path


def test_mypy_is_content_with_users_and_finds_their_mistakes(project: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(project / "cache")]
    right, wrong = (
        subprocess.run([*command, name], cwd=project, capture_output=True, text=True, check=False)
        for name in ("right.py", "wrong.py")
    )
    assert (right.stdout, right.returncode) == ("", 0), right.stderr
    assert wrong.stdout.count("error:") == 3, wrong.stdout


@pytest.mark.skipif(shutil.which("node") is None, reason="pyright runs on node")
def test_pyright_is_content_with_users_and_finds_their_mistakes(project: Path) -> None:
    (project / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}', encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    right, wrong = (
        subprocess.run([*command, name], cwd=project, capture_output=True, text=True, check=False)
        for name in ("right.py", "wrong.py")
    )
    if "nodeenv" in right.stderr or "No module named pyright" in right.stderr:
        pytest.skip("pyright cannot be started here")
    assert "0 errors" in right.stdout, right.stdout
    assert wrong.returncode == 1
    assert len(re.findall(r"wrong\.py:\d+:\d+ - error", wrong.stdout)) >= 3, wrong.stdout


BARE = f"""
import sys
sys.path.insert(0, {str(PACKAGE)!r})
import importlib, importlib.util

class Only:
    '''Finds the standard library, this package and what it may need; everything else is not installed.'''
    allowed = set(sys.stdlib_module_names) | {{"headway", "psutil", "pynvml"}}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in self.allowed:
            raise ModuleNotFoundError(f"{{name}} is not installed", name=name)
        return None

sys.meta_path.insert(0, Only())
import headway.scheduler
for name in headway.scheduler.__all__:
    getattr(headway.scheduler, name)
import asyncio
from headway.scheduler import Scheduler, TaskKind

async def main():
    async with Scheduler() as scheduler:
        print(await scheduler.run(sum, (1, 2), kind=TaskKind.IO_BOUND).value())
        assert scheduler.metrics.prometheus()

asyncio.run(main())
foreign = sorted(m for m in sys.modules if m.partition(".")[0] in ("pygls", "lsprotocol", "cattrs", "tree_sitter"))
ours = sorted(m for m in sys.modules if m.startswith("headway.") and not m.startswith("headway.scheduler"))
print(foreign, ours)
"""


def test_nothing_of_the_editor_is_imported_or_needed() -> None:
    """With only psutil and pynvml beside the standard library the scheduler runs, and loads no other room of ours."""
    ran = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines() == ["3", "[] []"], ran.stderr
