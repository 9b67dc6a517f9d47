"""Finished jobs on disk, in real SQLite: bounded, one owner, never in the way, and sound after sudden death."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from headway.scheduler.history import History
from headway.scheduler.history_store import APPLICATION_ID, MOST_ASIDE, SCHEMA_VERSION, open_store
from headway.scheduler.model import ErrorKind, Failure, JobState, JobView, Outcome, Priority, TaskState, TaskView
from headway.scheduler.remembered import DurableJob, FinishedJob, HistoryLimits, HistoryProblem

BROKEN = Failure(kind=ErrorKind.NETWORK, message="no answer", type_name="OSError", traceback="Traceback …")


def task_view(name: str, error: Failure | None = None) -> TaskView:
    return TaskView(
        task_id=f"{name}-id",
        job_id="j",
        name=name,
        priority=Priority.LOW,
        state=TaskState.COMPLETED if error is None else TaskState.FAILED,
        depends_on=(),
        waited_s=0.25,
        ran_s=1.5,
        attempt=1,
        error=error,
        steps=(),
    )


def finished(job_id: str = "j1", *, at_s: float = 100.0, offset_ms: float | None = None, **values: Any) -> FinishedJob:
    """A job that ended at `at_s`; `values` are those of its tasks, by name."""
    view = JobView(
        job_id=job_id,
        type="tests",
        title=f"title of {job_id}",
        priority=Priority.LOW,
        state=JobState.COMPLETED,
        progress=1.0,
        done=len(values),
        total=len(values),
        created_at_s=at_s - 2,
        started_at_s=at_s - 1,
        finished_at_s=at_s,
        attempt=1,
        error=None,
        tasks=tuple(task_view(name) for name in values),
        truncated=False,
    )
    results = {name: Outcome(state=TaskState.COMPLETED, value=value) for name, value in values.items()}
    return FinishedJob(view=view, results=results, offset_ms=time.time() * 1000 if offset_ms is None else offset_ms)


def durable(job_id: str = "d1", at_ms: float = 1.0, **args: Any) -> DurableJob:
    return DurableJob(
        job_id=job_id, factory="index", args=args or {"root": "/w"}, priority=Priority.BATCH, submitted_at_ms=at_ms
    )


@contextlib.asynccontextmanager
async def opened(path: Path | None, limits: HistoryLimits | None = None):  # type: ignore[no-untyped-def]
    """A history and the problems that it says."""
    problems: list[HistoryProblem] = []
    history = History(path, limits=limits or HistoryLimits(), on_problem=problems.append)
    history.start()
    try:
        yield history, problems
    finally:
        await history.close()


def check(use: Callable[[History, list[HistoryProblem]], Awaitable[None]], path: Path | None) -> None:
    """Use a history on a loop of its own."""

    async def run() -> None:
        async with opened(path) as (history, problems):
            await use(history, problems)

    asyncio.run(run())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "history.sqlite3"


def size_of(path: Path) -> int:
    """Bytes on disk, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


def scribble(path: Path) -> None:
    """Overwrite all pages but the first, and empty the write-ahead log."""
    path.with_name(path.name + "-wal").write_bytes(b"")
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size_of(path) - 4096))


def aside(path: Path) -> list[Path]:
    return sorted(path.parent.glob("*.aside-*"))


# ---- what is kept


def test_a_finished_job_comes_back_after_a_restart(path: Path) -> None:
    async def write(history: History, _: list[HistoryProblem]) -> None:
        history.finished(finished("j1", at_s=50.0, offset_ms=1000.0, a={"x": [1, 2.5, None, "ü"]}, b="text"))

    async def read(history: History, problems: list[HistoryProblem]) -> None:
        job = await history.job("j1")
        assert job is not None
        assert (job.type, job.title, job.priority, job.state) == (
            "tests",
            "title of j1",
            Priority.LOW,
            JobState.COMPLETED,
        )
        assert (job.created_at_ms, job.started_at_ms, job.finished_at_ms) == (49_000.0, 50_000.0, 51_000.0)
        first, second = job.tasks
        assert (first.name, first.value, first.value_kept) == ("a", {"x": [1, 2.5, None, "ü"]}, True)
        assert (second.value, second.waited_s, second.ran_s) == ("text", 0.25, 1.5)
        assert await history.job("other") is None
        assert problems == []

    limits = HistoryLimits(max_age_s=1e12)

    async def both() -> None:
        async with opened(path, limits) as (history, problems):
            await write(history, problems)
        async with opened(path, limits) as (history, problems):
            await read(history, problems)

    asyncio.run(both())


def test_failures_come_back_whole(path: Path) -> None:
    async def use(history: History, _: list[HistoryProblem]) -> None:
        made = finished("j1")
        view = JobView(
            **{
                **{f: getattr(made.view, f) for f in made.view.__slots__},
                "tasks": (task_view("a", BROKEN),),
                "error": BROKEN,
                "state": JobState.FAILED,
            }
        )
        history.finished(FinishedJob(view=view, results={}, offset_ms=made.offset_ms))
        job = await history.job("j1")
        assert job is not None
        assert job.error == BROKEN
        assert job.tasks[0].error == BROKEN
        assert job.tasks[0].value_kept is False

    check(use, path)


def test_the_newest_come_first(path: Path) -> None:
    async def use(history: History, _: list[HistoryProblem]) -> None:
        for i in (3, 1, 2):
            history.finished(finished(f"j{i}", at_s=100.0 + i))
        assert [job.job_id for job in await history.recent(2)] == ["j3", "j2"]

    check(use, path)


def test_a_job_that_ends_again_replaces_itself(path: Path) -> None:
    async def use(history: History, _: list[HistoryProblem]) -> None:
        history.finished(finished("j1", at_s=1.0))
        history.finished(finished("j1", at_s=2.0, a=1))
        (job,) = await history.recent()
        assert len(job.tasks) == 1

    check(use, path)


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, {1: "a"}, float("nan"), "x" * 100_000, [[]] * 200_000, "\ud800", b"bytes"]
)
def test_what_cannot_be_kept_does_not_cost_the_job(path: Path, value: Any) -> None:
    async def use(history: History, problems: list[HistoryProblem]) -> None:
        history.finished(finished("j1", a=value, b=2))
        job = await history.job("j1")
        assert job is not None
        assert [(task.value, task.value_kept) for task in job.tasks] == [(None, False), (2, True)]
        assert problems == []

    check(use, path)


def test_names_that_are_no_text_can_be_kept(path: Path) -> None:
    """File names may hold bytes that are no UTF-8; Python shows them as lone surrogates."""

    async def use(history: History, problems: list[HistoryProblem]) -> None:
        history.finished(finished("j\udcff", **{"index \udce9.py": 1}))
        history.submitted(durable("d\udcff"))
        history.task_completed("d\udcff", "a\udcff", 1)
        job = await history.job("j\udcff")
        assert job is not None
        assert job.tasks[0].name == "index \\udce9.py"
        (left,) = await history.unfinished()
        assert list(left.finished) == ["a\\udcff"]
        assert problems == []

    check(use, path)


# ---- bounds


def test_old_jobs_are_dropped(path: Path) -> None:
    async def run() -> None:
        now_ms = time.time() * 1000
        async with opened(path) as (history, _):
            history.finished(finished("old", at_s=0.0, offset_ms=now_ms - 31 * 86_400_000))
            history.finished(finished("new", at_s=0.0, offset_ms=now_ms - 29 * 86_400_000))
        async with opened(path) as (history, _):
            history.finished(finished("now", at_s=0.0, offset_ms=now_ms))
            await history.flush()
            assert {job.job_id for job in await history.recent()} == {"new", "now"}

    asyncio.run(run())


def test_the_file_stays_within_its_size(path: Path) -> None:
    """Ten times as much as fits: the file is not larger than allowed, and the newest are there."""

    async def run() -> None:
        async with opened(path, HistoryLimits(max_mb=1.0)) as (history, problems):
            for i in range(400):
                history.finished(finished(f"j{i}", at_s=float(i), a="x" * 25_000))
                await asyncio.sleep(0)
            await history.flush()
            assert problems == []
            newest = await history.recent(5)
            assert [job.job_id for job in newest] == [f"j{i}" for i in range(399, 394, -1)]

    asyncio.run(run())
    # What came since the last look may lie above the limit.
    assert size_of(path) < 3 * 2**20


def test_pending_records_are_bounded(path: Path) -> None:
    async def run() -> None:
        async with opened(path, HistoryLimits(max_pending=10)) as (history, problems):
            for i in range(10_000):
                history.finished(finished(f"j{i}"))
            await history.flush()
            assert len(await history.recent(20_000)) < 10_000
            assert len(problems) == 1
            assert "cannot keep up" in problems[0].message

    asyncio.run(run())


# ---- durable jobs


def test_unfinished_durable_jobs_come_back_with_what_they_finished(path: Path) -> None:
    async def run() -> None:
        async with opened(path) as (history, _):
            history.submitted(durable("d2", at_ms=2.0, root="/two"))
            history.submitted(durable("d1", at_ms=1.0, root="/one"))
            history.submitted(durable("d3", at_ms=3.0))
            history.task_completed("d1", "parse", {"files": 3})
            history.task_completed("d1", "link", object())
            history.task_completed("unknown", "a", 1)
            history.ended("d3")
            history.resumed("d1")
        async with opened(path) as (history, _):
            first, second = await history.unfinished()
        assert (first.job, first.resumed) == (durable("d1", at_ms=1.0, root="/one"), 1)
        assert {name: (it.value, it.kept) for name, it in first.finished.items()} == {
            "parse": ({"files": 3}, True),
            "link": (None, False),
        }
        assert (second.job.job_id, second.finished, second.resumed) == ("d2", {}, 0)

    asyncio.run(run())


def test_a_durable_job_that_ended_leaves_nothing(path: Path) -> None:
    async def use(history: History, _: list[HistoryProblem]) -> None:
        history.submitted(durable("d1"))
        history.task_completed("d1", "a", 1)
        history.ended("d1")
        history.submitted(durable("d1"))
        (left,) = await history.unfinished()
        assert left.finished == {}

    check(use, path)


def test_arguments_that_cannot_be_stored_are_refused(path: Path) -> None:
    async def use(history: History, _: list[HistoryProblem]) -> None:
        with pytest.raises(ValueError, match="JSON values"):
            history.submitted(durable("d1", root=object()))

    check(use, path)


def test_pruning_spares_durable_jobs(path: Path) -> None:
    async def run() -> None:
        async with opened(path, HistoryLimits(max_age_s=0.0, max_mb=0.0)) as (history, _):
            history.submitted(durable("d1"))
            for i in range(200):
                history.finished(finished(f"j{i}"))
        async with opened(path, HistoryLimits(max_age_s=0.0, max_mb=0.0)) as (history, _):
            await history.flush()
            assert len(await history.unfinished()) == 1

    asyncio.run(run())


WRITER = """
import asyncio, sys
from pathlib import Path
from headway.scheduler.history import History
from headway.scheduler.model import Priority
from headway.scheduler.remembered import DurableJob

async def main():
    history = History(Path(sys.argv[1]))
    history.start()
    history.submitted(DurableJob(job_id="d1", factory="f", args={}, priority=Priority.BATCH, submitted_at_ms=1.0))
    for i in range(10**9):
        history.task_completed("d1", f"t{i}", i)
        if i % 100 == 0:
            await history.flush()
            print(i, flush=True)

asyncio.run(main())
"""


def test_a_writer_killed_in_mid_write_loses_nothing_that_was_flushed(path: Path) -> None:
    """kill -9 while it writes: the file opens clean, has every flushed task, and no value is torn."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        flushed = 0
        while flushed < 1000:
            flushed = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        flushed = max([flushed, *(int(line) for line in writer.stdout.read().splitlines())])

    async def use(history: History, problems: list[HistoryProblem]) -> None:
        (left,) = await history.unfinished()
        assert {f"t{i}" for i in range(flushed + 1)} <= set(left.finished)
        assert all(stored.value == int(name[1:]) for name, stored in left.finished.items())
        assert problems == []

    check(use, path)


# ---- files that cannot be used


def damaged(path: Path) -> None:
    path.write_bytes(b"no database at all" * 1000)


def torn(path: Path) -> None:
    """A sound file whose pages were overwritten."""
    store, _ = open_store(path, HistoryLimits())
    with store.batch():
        for i in range(300):
            store.add_finished(finished(f"j{i}", a="x" * 1000))
    store.close()
    scribble(path)


def newer(path: Path) -> None:
    open_store(path, HistoryLimits())[0].close()
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")


def foreign(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (x)")


def folder(path: Path) -> None:
    path.mkdir()
    (path / "file").write_text("x")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (damaged, "not a database"),
        (torn, "damaged"),
        (newer, "newer"),
        (foreign, "another program"),
        (folder, "unable to open"),
    ],
)
def test_a_file_that_cannot_be_used_is_set_aside_and_said(path: Path, spoil: Callable[[Path], None], said: str) -> None:
    path.parent.mkdir()
    spoil(path)

    async def use(history: History, problems: list[HistoryProblem]) -> None:
        history.finished(finished("j1"))
        await history.flush()
        await asyncio.sleep(0)
        (problem,) = problems
        assert said in problem.message or "malformed" in problem.message
        assert problem.aside is not None
        assert [problem.aside] == [str(found) for found in aside(path)]
        assert len(await history.recent()) == 1

    check(use, path)
    assert path.is_file()
    assert len(aside(path)) == 1

    async def again(history: History, problems: list[HistoryProblem]) -> None:
        assert len(await history.recent()) == 1
        assert problems == []

    check(again, path)


def test_the_log_of_a_file_goes_with_it(path: Path) -> None:
    """A new file beside another one's log would be damaged from birth."""
    path.mkdir(parents=True)
    path.with_name(path.name + "-wal").write_bytes(b"old log" * 1000)

    async def use(history: History, problems: list[HistoryProblem]) -> None:
        history.finished(finished("j1"))
        assert len(await history.recent()) == 1

    check(use, path)
    assert sorted(found.name.endswith("-wal") for found in aside(path)) == [False, True]


def test_only_the_newest_few_are_kept_aside(path: Path) -> None:
    path.parent.mkdir()
    for _ in range(MOST_ASIDE + 3):
        damaged(path)
        open_store(path, HistoryLimits())[0].close()
    assert len(aside(path)) == MOST_ASIDE


def test_a_file_in_use_is_left_alone_and_history_lives_in_memory(path: Path) -> None:
    """Two windows on one folder: the second one has no file, says so, and resumes nothing that the first one runs."""

    async def run() -> None:
        async with opened(path) as (first, _):
            first.submitted(durable("d1"))
            await first.flush()
            async with opened(path) as (second, problems):
                assert await second.unfinished() == []
                await asyncio.sleep(0)
                assert "in use by another process" in problems[0].message
                second.finished(finished("j1"))
                assert len(await second.recent()) == 1
            assert await first.recent() == []
        assert aside(path) == []

    asyncio.run(run())


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs a folder that nobody can write to")
def test_where_nothing_can_be_written_history_lives_in_memory() -> None:
    async def use(history: History, problems: list[HistoryProblem]) -> None:
        history.finished(finished("j1"))
        assert len(await history.recent()) == 1
        await asyncio.sleep(0)
        assert "stays in memory" in problems[0].message

    check(use, Path("/proc/headway/history.sqlite3"))


READER = """
import asyncio, os, sys
from pathlib import Path
from headway.scheduler.history import History

async def main():
    problems = []
    history = History(Path(sys.argv[1]), on_problem=problems.append)
    history.start()
    await history.flush()
    await asyncio.sleep(0)
    await history.close()
    print(len(problems), *(problem.aside is not None for problem in problems))

if os.geteuid() == 0:  # Nothing is read-only for root.
    os.setegid(65534)
    os.seteuid(65534)
asyncio.run(main())
"""


@pytest.mark.parametrize(("what", "expected"), [("file", "1 True"), ("folder", "1 False")])
def test_what_is_read_only_is_set_aside_or_left(tmp_path: Path, what: str, expected: str) -> None:
    """As an ordinary user: a read-only file is set aside; in a read-only folder history lives in memory."""
    with tempfile.TemporaryDirectory() as public:  # the user must be able to reach it; tmp_path is the owner's only
        place = Path(public) / "cache"
        place.mkdir()
        path = place / "history.sqlite3"
        open_store(path, HistoryLimits())[0].close()
        path.chmod(0o444)
        place.chmod(0o555 if what == "folder" else 0o755)
        if os.geteuid() == 0:
            Path(public).chmod(0o755)
            os.chown(place, 65534, 65534)
        ran = subprocess.run(
            [sys.executable, "-c", READER, str(path)], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        place.chmod(0o755)
    assert ran.stdout.strip() == expected, ran.stderr


FULL = """
import asyncio, resource, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.scheduler.test_history import finished
from headway.scheduler.history import History

async def main():
    problems = []
    history = History(Path(sys.argv[1]), on_problem=problems.append)
    history.start()
    await history.flush()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    for i in range(40):
        history.finished(finished(f"j{i}", a="x" * 60_000))
        await history.flush()
    await asyncio.sleep(0)
    print(len(problems), 0 < len(await history.recent(100)) < 40)
    await history.close()

asyncio.run(main())
"""


def test_a_full_disk_costs_records_and_is_said_once(path: Path) -> None:
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(root)], capture_output=True, text=True, check=False
    )
    assert ran.stdout.strip() == "1 True", ran.stderr


@pytest.mark.parametrize("by", ["reading", "writing"])
def test_a_file_that_breaks_while_it_is_used_is_replaced(path: Path, by: str) -> None:
    """Whoever asked gets an answer from the new file, and what was to be written is in it."""

    async def run() -> None:
        async with opened(path, HistoryLimits(max_mb=6.0)) as (history, problems):
            for i in range(150):
                history.finished(finished(f"j{i}", at_s=float(i), a="x" * 30_000))
                if i % 10 == 0:
                    await history.flush()
            await history.flush()
            scribble(path)
            if by == "reading":
                assert await history.recent(1000) == []
            for i in range(150, 300):
                history.finished(finished(f"j{i}", at_s=float(i), a="x" * 30_000))
            assert (await history.job("j299")) is not None
            assert "malformed" in problems[0].message

    asyncio.run(run())
    assert len([found for found in aside(path) if not found.name.endswith("-wal")]) == 1


# ---- its face


def test_reading_before_it_is_open_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="not open"):
        asyncio.run(History().recent())


def test_it_opens_and_closes_once(path: Path) -> None:
    async def run() -> None:
        history = History(path)
        history.start()
        history.start()
        await history.close()
        await history.close()

    asyncio.run(run())


def test_nothing_is_written_on_the_loop(path: Path) -> None:
    """Handing over a job with a value of many MiB takes no time that depends on it."""

    async def use(history: History, _: list[HistoryProblem]) -> None:
        history.finished(finished("big", a=["x" * 1000] * 100_000))
        assert size_of(path) < 2**20
        job = await history.job("big")
        assert job is not None
        assert job.tasks[0].value_kept is False

    check(use, path)


def test_the_application_is_named_in_the_file(path: Path) -> None:
    open_store(path, HistoryLimits())[0].close()
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
