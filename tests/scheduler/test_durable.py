"""Durable jobs go on after a restart where they stopped; history of real runs, in real SQLite."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from headway.scheduler import (
    InvalidJobError,
    Job,
    JobState,
    OnTimeout,
    Priority,
    Requirement,
    Scheduler,
    StepContext,
    Task,
    TaskState,
    TimeoutPolicy,
    current_step,
)
from headway.scheduler.durable import resumed_job
from headway.scheduler.executors.inline import inline_executors
from headway.scheduler.history import History
from headway.scheduler.keeper import MOST_RESUMES
from headway.scheduler.remembered import DurableJob, StoredValue, UnfinishedJob
from tests.scheduler.machines import StillMachine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.sqlite3"


class Work:
    """Tasks that note that they ran; `gate` holds those that are named in it."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.more = asyncio.Event()

    async def step(self, name: str, value: Any) -> Any:
        self.ran.append(name)
        self.more.set()
        gate = self.gates.get(name)
        if gate is not None:
            await gate.wait()
        return value

    async def until(self, count: int) -> None:
        """Return when that many have run."""
        while len(self.ran) < count:
            self.more.clear()
            await self.more.wait()

    def task(self, name: str, value: Any = None, after: tuple[str, ...] = ()) -> Task:
        return Task(name=name, call=self.step, args=(name, value), depends_on=after)


def scheduler(path: Path | None, factories: dict[str, Callable[..., Job]]) -> Scheduler:
    return Scheduler(executors=inline_executors(), machine=StillMachine(), history=History(path), factories=factories)


def unfinished(**finished: StoredValue) -> UnfinishedJob:
    job = DurableJob(job_id="d1", factory="chain", args={"n": 3}, priority=Priority.LOW, submitted_at_ms=1.0)
    return UnfinishedJob(job=job, finished=finished, resumed=0)


async def ended(one: Scheduler, job_id: str) -> JobState:
    """Wait until a job has ended."""
    while True:
        view = one.job(job_id)
        if view is not None and view.finished_at_s is not None:
            return view.state
        await asyncio.sleep(0.001)


# ---- the job that is made anew


async def chained(context: StepContext) -> None:
    raise NotImplementedError


def chain(n: int) -> Job:
    tasks = tuple(
        Task(name=f"t{i}", call=chained, depends_on=(f"t{i - 1}",) if i else (), weight=2.0) for i in range(n)
    )
    return Job(type="chain", title="chain", tasks=tasks, durable="chain", durable_args={"n": n})


def test_finished_tasks_answer_from_history_and_the_rest_is_as_it_was() -> None:
    job = resumed_job(unfinished(t0=StoredValue(value={"x": 1}, kept=True)), chain)
    first, second, third = job.tasks  # type: ignore[misc]  # a sequence here
    assert (job.job_id, job.priority, job.durable, job.durable_args) == ("d1", Priority.LOW, "chain", {"n": 3})
    assert (first.args, first.requirement.cpu_cores, first.weight) == (({"x": 1},), 0.0, 2.0)
    assert (second, third) == chain(3).tasks[1:]  # type: ignore[index]


def test_a_finished_task_without_a_value_runs_again_where_it_is_needed() -> None:
    lost = StoredValue(value=None, kept=False)
    job = resumed_job(unfinished(t0=lost, t2=lost), chain)
    first, _, last = job.tasks  # type: ignore[misc]
    assert first.call is chained
    assert last.call is not chained


# ---- restarts


def test_a_job_goes_on_after_a_restart_from_its_last_finished_task(path: Path) -> None:
    """Two of four tasks had finished: they do not run again, and the others get their results."""
    work = Work()

    async def with_results(name: str) -> Any:
        work.ran.append(name)
        return dict(current_step().results)

    def index(root: str) -> Job:
        tasks = (
            work.task("a", {"files": [1, 2]}),
            work.task("b", "text", after=("a",)),
            Task(name="c", call=with_results, args=("c",), depends_on=("a", "b")),
            work.task("d", root, after=("c",)),
        )
        return Job(type="index", title="Index", tasks=tasks, durable="index", durable_args={"root": root})

    async def run() -> None:
        one = scheduler(path, {"index": index})
        await one.start()
        work.gates["c"] = asyncio.Event()
        stopped = asyncio.Event()

        async def stop(name: str) -> Any:
            work.ran.append("c, stopped")
            stopped.set()
            await asyncio.Event().wait()

        job = index("/w")
        held = Job(
            type=job.type,
            title=job.title,
            durable=job.durable,
            durable_args=job.durable_args,
            tasks=tuple(
                Task(name="c", call=stop, args=("c",), depends_on=("a", "b")) if task.name == "c" else task
                for task in job.tasks  # type: ignore[union-attr]
            ),
        )
        job_id = one.submit(held).job_id
        await stopped.wait()
        await one.close()
        assert work.ran == ["a", "b", "c, stopped"]
        work.ran.clear()

        two = scheduler(path, {"index": index})
        async with two:
            assert await ended(two, job_id) is JobState.COMPLETED
            assert work.ran == ["c", "d"]
            assert two.history is not None
            remembered = await two.history.job(job_id)
            assert remembered is not None
            assert {task.name: task.value for task in remembered.tasks} == {
                "a": {"files": [1, 2]},
                "b": "text",
                "c": {"a": {"files": [1, 2]}, "b": "text"},
                "d": "/w",
            }
        async with scheduler(path, {"index": index}) as three:
            assert three.history is not None
            assert await three.history.unfinished() == []

    asyncio.run(run())


def test_a_lazily_fed_job_goes_on(path: Path) -> None:
    work = Work()

    def feed(count: int) -> Job:
        async def tasks() -> AsyncIterator[Task]:
            for i in range(count):
                yield work.task(f"t{i}", i)

        return Job(type="feed", title="Feed", tasks=tasks(), window=4, durable="feed", durable_args={"count": count})

    async def run() -> None:
        one = scheduler(path, {"feed": feed})
        await one.start()
        work.gates["t5"] = asyncio.Event()
        job_id = one.submit(feed(12)).job_id
        await work.until(8)
        await one.close()
        work.gates.clear()
        before = set(work.ran)
        work.ran.clear()
        async with scheduler(path, {"feed": feed}) as two:
            assert await ended(two, job_id) is JobState.COMPLETED
        assert "t5" in work.ran
        assert set(work.ran) | before == {f"t{i}" for i in range(12)}
        assert not set(work.ran) & {"t0", "t1", "t2", "t3"}

    asyncio.run(run())


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
def test_a_job_that_ended_is_not_resumed(path: Path, end: str) -> None:
    work = Work()

    async def fail() -> None:
        raise ValueError("wrong")

    def make() -> Job:
        tasks = (Task(name="a", call=fail),) if end == "failed" else (work.task("a"),)
        return Job(type="x", title="x", tasks=tasks, durable="x")

    async def run() -> None:
        async with scheduler(path, {"x": make}) as one:
            if end == "cancelled":
                work.gates["a"] = asyncio.Event()
            handle = one.submit(make())
            if end == "cancelled":
                await asyncio.sleep(0)
                one.cancel(handle.job_id)
            await handle
        async with scheduler(path, {"x": make}) as two:
            assert two.history is not None
            assert await two.history.unfinished() == []

    asyncio.run(run())


def test_a_durable_job_that_others_joined_stays_durable_for_them(path: Path) -> None:
    """The first one who asked gives it up; the work goes on for the second, and is resumed if it must be."""
    work = Work()

    def make() -> Job:
        return Job(type="x", title="x", tasks=(work.task("a"),), durable="x", share_key="x")

    async def run() -> None:
        one = scheduler(path, {"x": make})
        await one.start()
        work.gates["a"] = asyncio.Event()
        first, _second = one.submit(make()), one.submit(make())
        first.cancel()
        await first
        await asyncio.sleep(0)
        await one.close()
        history = History(path)
        history.start()
        assert len(await history.unfinished()) == 1
        await history.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("durable", "args", "said"),
    [("unknown", {}, "no factory is named 'unknown'"), ("x", {"a": object()}, "no JSON values")],
)
def test_a_durable_job_that_could_not_be_made_anew_is_refused(
    path: Path, durable: str, args: dict[str, Any], said: str
) -> None:
    work = Work()

    async def run() -> None:
        async with scheduler(path, {"x": chain}) as one:
            job = Job(type="x", title="x", tasks=(work.task("a"),), durable=durable, durable_args=args)
            with pytest.raises(InvalidJobError, match=said):
                one.submit(job)
        assert work.ran == []

    asyncio.run(run())


def test_a_factory_that_breaks_or_is_gone_stops_nothing(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    work = Work()

    def broken() -> Job:
        raise OSError("no such folder")

    async def run() -> None:
        history = History(path)
        history.start()
        for number, name in enumerate(("broken", "gone", "good")):
            history.submitted(
                DurableJob(job_id=name, factory=name, args={}, priority=Priority.LOW, submitted_at_ms=float(number))
            )
        await history.close()
        good = Job(type="x", title="x", tasks=(work.task("a"),), durable="good")
        async with scheduler(path, {"broken": broken, "good": lambda: good}) as one:
            assert await ended(one, "good") is JobState.COMPLETED
        assert "no such folder" in caplog.text
        assert "no factory is named 'gone'" in caplog.text

    asyncio.run(run())


def test_a_job_that_never_ends_is_given_up(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It may be what kills the program: after a few starts it is not tried any more."""
    work = Work()

    def make() -> Job:
        return Job(type="x", title="x", tasks=(work.task("a"),), durable="x")

    async def run() -> None:
        work.gates["a"] = asyncio.Event()
        one = scheduler(path, {"x": make})
        await one.start()
        one.submit(make())
        await one.close()
        for _ in range(MOST_RESUMES):
            before = len(work.ran)
            one = scheduler(path, {"x": make})
            await one.start()
            await work.until(before + 1)
            await one.close()
        async with scheduler(path, {"x": make}) as last:
            assert last.history is not None
            await last.history.flush()
            await asyncio.sleep(0.01)
            assert last.recent_jobs() == []
            assert await last.history.unfinished() == []
        assert "given up" in caplog.text

    asyncio.run(run())


PROGRAM = """
import asyncio, pathlib, sys
from headway.scheduler import *
from headway.scheduler.history import History
from headway.scheduler.executors.inline import inline_executors
sys.path.insert(0, sys.argv[2])
from tests.scheduler.machines import StillMachine

history = History(pathlib.Path(sys.argv[1]))

async def work(i):
    print(i, flush=True)
    if i == 60 and sys.argv[3] == "hang":
        await history.flush()
        print("flushed", flush=True)
        await asyncio.Event().wait()
    return i

def make(count):
    after = lambda i: (f"t{i - 1}",) if i else ()
    tasks = tuple(Task(name=f"t{i}", call=work, args=(i,), depends_on=after(i)) for i in range(count))
    return Job(type="x", title="x", job_id="the-job", tasks=tasks, durable="make", durable_args={"count": count})

async def main():
    places = dict(executors=inline_executors(), machine=StillMachine())
    async with Scheduler(**places, history=history, factories={"make": make}) as one:
        if sys.argv[3] == "hang":
            await one.submit(make(80))
        while (view := one.job("the-job")) is None or view.finished_at_s is None:
            await asyncio.sleep(0.001)
        print(view.state.value)

asyncio.run(main())
"""


def test_after_kill_9_what_had_finished_does_not_run_again(path: Path) -> None:
    root = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", PROGRAM, str(path), root]
    with subprocess.Popen([*command, "hang"], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert "flushed\n" in iter(first.stdout.readline, "")
        first.send_signal(signal.SIGKILL)
    second = subprocess.run([*command, "go on"], capture_output=True, text=True, check=True)
    ran = second.stdout.split()
    assert ran[-1] == "COMPLETED"
    assert ran[:-1] == [str(i) for i in range(60, 80)]


def test_a_job_that_the_machine_can_no_longer_run_is_given_up(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It was submitted on a larger machine: it is refused once, said, and not tried again."""

    async def run() -> None:
        history = History(path)
        history.start()
        history.submitted(
            DurableJob(job_id="large", factory="large", args={}, priority=Priority.LOW, submitted_at_ms=1.0)
        )
        await history.close()
        task = Task(name="t", call=chained, requirement=Requirement(cpu_cores=64.0))
        large = Job(type="x", title="x", tasks=(task,), durable="large")
        for _ in range(2):
            async with scheduler(path, {"large": lambda: large}) as one:
                assert one.history is not None
                await one.history.flush()
                await asyncio.sleep(0.01)
                assert one.recent_jobs() == []
        assert caplog.text.count("cannot be resumed") == 1

    asyncio.run(run())


def test_what_a_fallback_answered_is_asked_again_after_a_restart(path: Path) -> None:
    """A value for want of a better one is not the task's result."""
    work = Work()

    def make() -> Job:
        limit = TimeoutPolicy(hard_s=0.02, on_hard=OnTimeout.FALLBACK, fallback="old")
        slow = Task(name="slow", call=asyncio.Event().wait, timeout=limit)
        return Job(type="x", title="x", tasks=(slow, work.task("next", after=("slow",))), durable="x")

    async def run() -> None:
        work.gates["next"] = asyncio.Event()
        one = scheduler(path, {"x": make})
        await one.start()
        one.submit(make())
        await work.until(1)
        await one.close()
        history = History(path)
        history.start()
        (left,) = await history.unfinished()
        assert left.finished == {}
        await history.close()

    asyncio.run(run())


# ---- history of ordinary jobs


def test_visible_jobs_are_kept_with_results_and_times(path: Path) -> None:
    work = Work()

    async def fail() -> None:
        raise ValueError("wrong")

    async def run() -> None:
        async with scheduler(path, {}) as one:
            done = await one.submit(Job(type="x", title="good", tasks=(work.task("a", [1, 2]),)))
            bad = await one.submit(Job(type="x", title="bad", tasks=(Task(name="b", call=fail),)))
            await one.run(work.step, "hidden", None)
        async with scheduler(path, {}) as two:
            assert two.history is not None
            newest = await two.history.recent()
            assert [(job.job_id, job.title, job.state) for job in newest] == [
                (bad.job_id, "bad", JobState.FAILED),
                (done.job_id, "good", JobState.COMPLETED),
            ]
            assert newest[1].tasks[0].value == [1, 2]
            assert newest[0].tasks[0].state is TaskState.FAILED
            assert newest[0].error is not None
            assert "wrong" in newest[0].error.message
            assert abs(newest[0].finished_at_ms / 1000 - time.time()) < 60

    asyncio.run(run())
