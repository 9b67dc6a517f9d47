"""The public face on a loop with virtual time: submit, await, share, cancel, feed, watch, close."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from headway.scheduler import (
    ErrorKind,
    Event,
    Job,
    JobOutcome,
    JobState,
    NoCurrentStepError,
    NotRetryableError,
    OnTimeout,
    Outcome,
    Priority,
    Requirement,
    RetryPolicy,
    Scheduler,
    SchedulerClosedError,
    SchedulerConfig,
    Step,
    StepError,
    StepKind,
    Task,
    TaskEnded,
    TaskFailedError,
    TaskKind,
    TaskState,
    TimeoutPolicy,
    UnknownDependencyError,
    current_step,
)
from headway.scheduler.calls import job_of_call
from headway.scheduler.executors.base import Executors, MachineReport, Pressure, RunSink, StepRun, Totals
from headway.scheduler.executors.inline import InlineExecutor, inline_executors
from headway.scheduler.executors.loop import LoopExecutor, LoopRunning
from headway.scheduler.machine import FixedMachine
from headway.scheduler.records import TaskRecord

Run = Callable[[Coroutine[Any, Any, Any]], Any]
# The watchdog looks at the real clock, from a thread of its own: not for virtual time.
CONFIG = SchedulerConfig(stall_report_s=float("inf"))


def scheduler(config: SchedulerConfig = CONFIG, executors: Executors | None = None) -> Scheduler:
    machine = FixedMachine(Totals(cpu_cores=2, memory_mb=8000))
    return Scheduler(config, executors=executors or inline_executors(), machine=machine, draw=lambda: 0.5)


def test_a_coroutine_that_has_ended_is_gone_without_the_garbage_collector(run_virtual: Run) -> None:
    class Held:
        """As long as the context of its coroutine."""

    holds: contextvars.ContextVar[Held] = contextvars.ContextVar("holds")
    left: list[weakref.ref[Held]] = []

    async def remembered(lasts_s: float) -> None:
        held = Held()
        holds.set(held)
        left.append(weakref.ref(held))
        await asyncio.sleep(lasts_s)

    async def scenario() -> None:
        async with scheduler() as runs:
            gc.disable()
            try:
                for lasts_s in (0, 1, 2):
                    limit = TimeoutPolicy(hard_s=60)
                    await runs.run(remembered, lasts_s, kind=TaskKind.COROUTINE, timeout=limit).value()
                await asyncio.sleep(1)
                assert [held() for held in left] == [None, None, None]
            finally:
                gc.enable()

    run_virtual(scenario())


async def add(one: int, two: int, lasts_s: float = 1.0) -> int:
    await asyncio.sleep(lasts_s)
    return one + two


def test_what_came_while_the_process_stood_still_counts_before_its_time_limit(run_virtual: Run) -> None:
    """Stopped for a minute with 2 s of work and 4 s of limit left: all is answered, nothing is ended by time."""

    async def main() -> None:
        async with scheduler() as found:
            limits = TimeoutPolicy(hard_s=8.0)
            answers = [found.run(add, 1, n, 6.0, timeout=limits) for n in range(3)]
            await asyncio.sleep(4.0)
            asyncio.get_running_loop()._virtual.now_s += 60.0  # type: ignore[attr-defined]
            assert [await answer.value() for answer in answers] == [1, 2, 3]
            again = await found.run(add, 1, 1, 20.0, timeout=limits)
            assert again.error is not None
            assert again.error.kind is ErrorKind.TIMEOUT, "limits hold as before"

    run_virtual(main())


def test_work_whose_handle_nobody_keeps_is_not_lost(run_virtual: Run) -> None:
    """Coroutines in mid-run, waiting ones, and jobs with callbacks, while garbage is collected again and again."""
    done: list[int] = []

    async def noted(n: int) -> None:
        await asyncio.sleep(0.01 * (n % 7))
        if n % 10 == 0:
            gc.collect()
        done.append(n)

    async def main() -> None:
        ended: list[Event] = []
        all_ended = asyncio.Event()

        def note(event: Event) -> None:
            if isinstance(event, TaskEnded):
                ended.append(event)
                if len(ended) == 100:
                    all_ended.set()

        async with scheduler() as found:
            found.subscribe(note)
            for n in range(100):
                found.run(noted, n, requirement=Requirement(cpu_cores=0.2, memory_mb=1))
                if n % 10 == 0:
                    gc.collect()
            await all_ended.wait()

    run_virtual(main())
    assert sorted(done) == list(range(100))


def test_run_gives_the_value(run_virtual: Run) -> None:
    async def main() -> None:
        async with scheduler() as found:
            assert await found.run(add, 1, 2).value() == 3
            assert await found.run(lambda: 5, kind=TaskKind.IO_BOUND).value() == 5
            assert await found.run(lambda: 6, kind=TaskKind.CPU_BOUND).value() == 6
            assert await found.run(lambda: 7).value() == 7, "a plain function is called on the loop"

    run_virtual(main())


def test_a_failure_is_an_outcome_and_value_raises_it(run_virtual: Run) -> None:
    async def fail() -> None:
        raise StepError(ErrorKind.NOT_FOUND, "no such thing")

    async def main() -> None:
        async with scheduler() as found:
            handle = found.run(fail)
            outcome = await handle
            assert outcome.state is JobState.FAILED
            with pytest.raises(TaskFailedError, match="no such thing") as caught:
                await handle.value()
            assert caught.value.failure.kind is ErrorKind.NOT_FOUND

    run_virtual(main())


def test_sys_exit_in_a_coroutine_ends_the_task_only(run_virtual: Run) -> None:
    async def leave() -> None:
        raise SystemExit(3)

    async def main() -> None:
        async with scheduler() as found:
            outcome = await found.run(leave)
            assert outcome.error is not None
            assert "sys.exit(3)" in outcome.error.message
            assert await found.run(add, 1, 1).value() == 2

    run_virtual(main())


def test_cancelling_who_awaits_leaves_the_job_alone(run_virtual: Run) -> None:
    async def main() -> None:
        async with scheduler() as found:
            handle = found.run(add, 1, 2)
            waiter = asyncio.ensure_future(_wait(handle))
            other = asyncio.ensure_future(_wait(handle))
            await asyncio.sleep(0.1)
            waiter.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiter
            assert (await other).state is JobState.COMPLETED

    run_virtual(main())


async def _wait(handle: Any) -> JobOutcome:
    outcome = await handle
    assert isinstance(outcome, JobOutcome)
    return outcome


def test_cancel_ends_the_coroutine_and_tells_it(run_virtual: Run) -> None:
    ended: list[str] = []

    async def body() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append("cleaned up")

    async def main() -> None:
        async with scheduler() as found:
            handle = found.run(body)
            await asyncio.sleep(1)
            assert found.snapshot().resources["cpuCores"].used > 0
            assert handle.cancel("not wanted")
            outcome = await handle
            assert outcome.state is JobState.CANCELLED
            assert ended == ["cleaned up"]
            assert found.snapshot().resources["cpuCores"].used == 0
            assert not handle.cancel()

    run_virtual(main())


def test_a_coroutine_that_swallows_its_cancel_is_left_behind(
    run_virtual: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """Its outcome comes after the grace; it is shown as stuck until it ends, and said to the log."""

    async def deaf() -> None:
        until_s = asyncio.get_running_loop().time() + 30
        while asyncio.get_running_loop().time() < until_s:
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                continue

    async def main() -> None:
        async with scheduler() as found:
            loop = asyncio.get_running_loop()
            began_s = loop.time()
            outcome = await found.run(deaf, timeout=TimeoutPolicy(hard_s=1.0), retry=RetryPolicy(max_retries=0))
            assert outcome.state is JobState.FAILED
            assert loop.time() - began_s == pytest.approx(1.1)
            shown = found.snapshot()
            assert shown.stuck == 1
            assert [run.stuck for run in shown.running] == [True]
            await asyncio.sleep(100)
            assert found.snapshot().stuck == 0

    with caplog.at_level(logging.WARNING, "headway"):
        run_virtual(main())
    assert any("deaf" in record.getMessage() for record in caplog.records)


def test_the_fallback_of_a_function_that_fails(run_virtual: Run) -> None:
    def broken() -> int:
        raise LookupError("nothing to fall back on")

    async def main() -> None:
        async with scheduler() as found:
            policy = TimeoutPolicy(soft_s=1, on_soft=OnTimeout.FALLBACK, fallback=broken)
            outcome = await found.run(asyncio.sleep, 100, timeout=policy)
            assert outcome.state is JobState.FAILED
            assert outcome.error is not None
            assert "nothing to fall back on" in outcome.error.message

    run_virtual(main())


def test_current_step_knows_where_it_runs(run_virtual: Run) -> None:
    seen: list[Any] = []

    async def look() -> str:
        step = current_step()
        seen.append((step.attempt, dict(step.results), dict(step.previous), step.cancelled()))
        step.report_partial("so far")
        step.heartbeat()
        # What the step starts by itself belongs to it, too.
        return await asyncio.ensure_future(_inner())

    async def _inner() -> str:
        return current_step().data.step_name

    async def main() -> None:
        async with scheduler() as found:
            job = Job(
                type="t",
                title="t",
                tasks=(
                    Task(name="base", call=add, args=(1, 1)),
                    Task(
                        name="looks",
                        depends_on=("base",),
                        steps=(Step(name="one", call=add, args=(2, 2)), Step(name="two", call=look)),
                    ),
                ),
            )
            outcome = await found.submit(job)
            assert outcome.results["looks"].value == "two"
        assert seen == [(1, {"base": 2}, {"one": 4}, False)]

    run_virtual(main())
    with pytest.raises(NoCurrentStepError):
        current_step()


def test_callbacks_that_break_are_named_and_break_nothing(run_virtual: Run, caplog: pytest.LogCaptureFixture) -> None:
    """A callback's exception swallowed in silence: here it is in the log with the culprit, and others still hear."""
    heard: list[str] = []

    def bad_subscriber(event: Event) -> None:
        raise RuntimeError("subscriber broke")

    def bad_callback(outcome: JobOutcome) -> None:
        raise RuntimeError("callback broke")

    async def main() -> None:
        async with scheduler() as found:
            found.subscribe(bad_subscriber)
            unsubscribe = found.subscribe(lambda event: heard.append(type(event).__name__))
            handle = found.run(add, 1, 1)
            handle.add_done_callback(bad_callback)
            handle.add_done_callback(lambda outcome: heard.append(outcome.state.value))
            assert await handle.value() == 2
            await asyncio.sleep(0)
            unsubscribe()
            before = len(heard)
            await found.run(add, 1, 1)
            assert len(heard) == before

    with caplog.at_level(logging.ERROR, "headway"):
        run_virtual(main())
    assert heard[:1] == ["TaskQueued"]
    assert "COMPLETED" in heard
    said = caplog.text
    assert "bad_subscriber" in said
    assert "bad_callback" in said
    assert "subscriber broke" in said


def test_what_cannot_be_begun_holds_nothing(run_virtual: Run, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(LoopExecutor):
        def begin(self, run: StepRun, sink: RunSink) -> LoopRunning:
            raise OSError("no more processes")

    async def main() -> None:
        executors = Executors(loop=LoopExecutor(), thread=InlineExecutor(), process=Broken())
        async with scheduler(executors=executors) as found:
            outcome = await found.run(print, kind=TaskKind.CPU_BOUND, retry=RetryPolicy(max_retries=0))
            assert outcome.error is not None
            assert "no more processes" in outcome.error.message
            assert found.snapshot().resources["cpuCores"].used == 0
            assert await found.run(add, 1, 1).value() == 2

    run_virtual(main())
    assert "could not be started" in caplog.text


def test_a_lazy_job_from_an_async_generator(run_virtual: Run) -> None:
    most_ahead = 0
    made = ended = 0
    closed: list[bool] = []

    async def source() -> AsyncIterator[Task]:
        nonlocal made, most_ahead
        try:
            for n in range(300):
                made += 1
                most_ahead = max(most_ahead, made - ended)
                if n % 50 == 0:
                    await asyncio.sleep(3)
                yield Task(name=f"t{n}", call=work, requirement=Requirement(cpu_cores=0.1, memory_mb=1))
        finally:
            closed.append(True)

    async def work() -> None:
        nonlocal ended
        await asyncio.sleep(0.01)
        ended += 1

    async def main() -> None:
        async with scheduler() as found:
            job = Job(type="index", title="index", tasks=source(), window=16, total=300, priority=Priority.BATCH)
            handle = found.submit(job)
            await asyncio.sleep(1)
            progress = handle.view().progress
            assert progress is not None
            assert progress < 1
            outcome = await handle
            assert outcome.state is JobState.COMPLETED
            assert (made, ended) == (300, 300)
            assert most_ahead <= 17
            with pytest.raises(NotRetryableError):
                found.retry(handle.job_id)

    run_virtual(main())
    assert closed == [True]


def test_a_slow_source_hands_on_what_it_has(run_virtual: Run) -> None:
    """The first task does not wait for the second to be made."""

    async def source() -> AsyncIterator[Task]:
        yield Task(name="first", call=add, args=(1, 1, 0.0))
        await asyncio.sleep(1000)
        yield Task(name="second", call=add, args=(1, 1, 0.0))

    async def main() -> None:
        async with scheduler() as found:
            ends: list[tuple[str, float]] = []
            loop = asyncio.get_running_loop()
            began_s = loop.time()
            found.subscribe(
                lambda event: ends.append((event.name, event.at_s - began_s)) if isinstance(event, TaskEnded) else None
            )
            await found.submit(Job(type="t", title="t", tasks=source()))
            assert [name for name, _ in ends] == ["first", "second"]
            assert ends[0][1] < 1

    run_virtual(main())


def test_a_source_is_closed_when_its_job_is_cancelled_or_breaks(run_virtual: Run) -> None:
    closed: list[str] = []

    async def endless() -> AsyncIterator[Task]:
        try:
            n = 0
            while True:
                yield Task(name=f"t{n}", call=add, args=(1, 1))
                n += 1
        finally:
            closed.append("endless")

    async def breaks() -> AsyncIterator[Task]:
        yield Task(name="fine", call=add, args=(1, 1))
        raise LookupError("the list was cut short")

    async def main() -> None:
        async with scheduler() as found:
            handle = found.submit(Job(type="t", title="t", tasks=endless()))
            await asyncio.sleep(5)
            assert found.cancel(handle.job_id)
            assert not found.cancel(handle.job_id), "it is being ended already"
            assert (await handle).state is JobState.CANCELLED
            await asyncio.sleep(1)
            assert closed == ["endless"]
            outcome = await found.submit(Job(type="t", title="t", tasks=breaks()))
            assert outcome.state is JobState.FAILED
            assert outcome.results["fine"].state is TaskState.COMPLETED
            assert outcome.error is not None
            assert "cut short" in outcome.error.message

    run_virtual(main())


def test_events_of_one_job(run_virtual: Run) -> None:
    async def main() -> None:
        async with scheduler() as found:
            noise = found.run(add, 1, 1, 5.0)
            handle = found.submit(Job(type="t", title="t", tasks=(Task(name="a", call=add, args=(1, 2)),)))
            names = [type(event).__name__ async for event in handle.events()]
            assert names == ["StepEnded", "TaskEnded", "JobChanged"]
            assert [event async for event in handle.events()] == []
            await noise

    run_virtual(main())


def test_retry_of_jobs(run_virtual: Run) -> None:
    async def flaky() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("gone")
        return "there"

    tries: list[int] = []

    async def main() -> None:
        async with scheduler() as found:
            once = RetryPolicy(max_retries=0)
            first = found.submit(
                Job(type="t", title="t", tasks=(Task(name="a", call=flaky, retry=once),), job_id="mine")
            )
            with pytest.raises(NotRetryableError, match="not ended"):
                found.retry("mine")
            assert (await first).state is JobState.FAILED
            again = found.retry("mine")
            assert again.job_id != "mine"
            assert await again.value() == "there"
            assert again.view().attempt == 2
            with pytest.raises(NotRetryableError, match="ended well"):
                found.retry(again.job_id)
            with pytest.raises(NotRetryableError, match="unknown"):
                found.retry("never")

    run_virtual(main())


def test_steering_of_what_is_unknown(run_virtual: Run) -> None:
    async def main() -> None:
        async with scheduler() as found:
            assert not found.cancel("never")
            assert not found.set_priority("never", Priority.HIGH)
            assert not found.pause_job("never")
            assert not found.resume_job("never")
            assert found.job("never") is None
            with pytest.raises(ValueError, match="CRITICAL"):
                found.pause([Priority.CRITICAL, Priority.LOW])
            assert found.pause() == (Priority.LOW, Priority.BATCH)
            assert found.pause([]) == (Priority.LOW, Priority.BATCH)
            assert found.resume([Priority.LOW]) == (Priority.BATCH,)
            assert found.resume() == ()

    run_virtual(main())


def test_jobs_are_remembered_newest_first_and_not_for_ever(run_virtual: Run) -> None:
    async def main() -> None:
        config = SchedulerConfig(stall_report_s=float("inf"), remembered_jobs=5)
        async with scheduler(config) as found:
            handles = [
                found.submit(Job(type="t", title=f"j{n}", tasks=(Task(name="a", call=add, args=(n, 0)),)))
                for n in range(8)
            ]
            await found.run(add, 0, 0)
            for handle in handles:
                await handle
            assert [view.title for view in found.recent_jobs(3)] == ["j7", "j6", "j5"]
            assert found.job(handles[0].job_id) is None
            assert found.job(handles[7].job_id) is not None
            assert handles[0].view().state is JobState.COMPLETED, "who holds it still sees it"

    run_virtual(main())


def test_a_job_that_is_forgotten_is_gone_without_the_garbage_collector(run_virtual: Run) -> None:
    """One that has tasks, which know it; what is left for pauses, and older than the last one, would stay for long."""

    def records() -> int:
        return sum(isinstance(found, TaskRecord) for found in gc.get_objects())

    async def main() -> None:
        config = SchedulerConfig(stall_report_s=float("inf"), remembered_jobs=5)
        async with scheduler(config) as found:
            before = records()
            tasks = (Task(name="a", call=add, args=(1, 1)), Task(name="b", call=add, args=(1, 1), depends_on=("a",)))
            kept = found.submit(Job(type="t", title="kept", tasks=tasks))
            for n in range(50):
                assert (await found.submit(Job(type="t", title=f"j{n}", tasks=tasks))).state is JobState.COMPLETED
            assert records() - before <= 2 * (5 + 1)
            assert found.job(kept.job_id) is None
            view = kept.view()
            assert [(task.name, task.state) for task in view.tasks] == [(n, TaskState.COMPLETED) for n in "ab"]
            assert [task.task_id for task in view.tasks] == [f"{kept.job_id}.{n}" for n in range(2)]

    gc.collect()
    gc.disable()
    try:
        run_virtual(main())
    finally:
        gc.enable()


def test_jobs_are_remembered_only_as_far_as_their_tasks_are_not_too_many(run_virtual: Run) -> None:
    async def main() -> None:
        config = SchedulerConfig(stall_report_s=float("inf"), remembered_tasks=10)
        async with scheduler(config) as found:

            async def run(title: str, count: int) -> None:
                tasks = tuple(Task(name=f"t{k}", call=add, args=(1, 1)) for k in range(count))
                await found.submit(Job(type="t", title=title, tasks=tasks))

            for n in range(4):
                await run(f"j{n}", 4)
            assert [view.title for view in found.recent_jobs()] == ["j3", "j2"]
            await run("large", 30)
            assert [view.title for view in found.recent_jobs()] == ["large"]
            await run("small", 10)
            assert [view.title for view in found.recent_jobs()] == ["small"]

    run_virtual(main())


def test_many_are_taken_together_or_not_at_all(run_virtual: Run) -> None:
    async def main() -> None:
        async with scheduler() as found:
            good = Job(type="t", title="good", tasks=(Task(name="a", call=add, args=(1, 1)),))
            bad = Job(type="t", title="bad", tasks=(Task(name="a", call=add, depends_on=("ghost",)),))
            with pytest.raises(UnknownDependencyError):
                found.submit_many([good, bad])
            assert found.recent_jobs() == []
            handles = found.submit_many([good, good])
            assert [await handle.value() for handle in handles] == [2, 2]

    run_virtual(main())


def test_close_ends_all_and_refuses_more(run_virtual: Run) -> None:
    async def main() -> None:
        found = scheduler()
        with pytest.raises(SchedulerClosedError):
            found.run(add, 1, 1)
        await found.start()
        handles = [found.run(asyncio.sleep, 1000) for _ in range(40)]
        await asyncio.sleep(1)
        await found.close()
        await found.close()
        assert {(await handle).state for handle in handles} == {JobState.CANCELLED}
        with pytest.raises(SchedulerClosedError):
            found.run(add, 1, 1)
        with pytest.raises(SchedulerClosedError):
            found.submit_threadsafe(Job(type="t", title="t", tasks=()))
        with pytest.raises(SchedulerClosedError):
            await found.start()
        # The task of this test is the only one left.
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1

    run_virtual(main())


def test_submit_from_another_thread() -> None:
    """On a real loop: another thread waits for the outcome, or gets the refusal."""

    async def main() -> None:
        async with scheduler() as found:
            got: list[Any] = []

            def elsewhere() -> None:
                job = Job(type="t", title="t", tasks=(Task(name="a", call=add, args=(1, 2, 0.0)),))
                got.append(found.submit_threadsafe(job).result(10).results["a"])
                bad = Job(type="t", title="t", tasks=(Task(name="a", call=add, depends_on=("ghost",)),))
                got.append(found.submit_threadsafe(bad).exception(10))

            await asyncio.to_thread(elsewhere)
            assert isinstance(got[0], Outcome)
            assert got[0].value == 3
            assert isinstance(got[1], UnknownDependencyError)
            assert threading.active_count() < 10

    asyncio.run(main())


def test_the_machine_speaks_and_the_snapshot_shows_it(run_virtual: Run) -> None:
    async def main() -> None:
        machine = FixedMachine(Totals(cpu_cores=2, memory_mb=8000))
        async with Scheduler(CONFIG, executors=inline_executors(), machine=machine) as found:
            report = MachineReport(
                totals=Totals(cpu_cores=2, memory_mb=8000),
                pressure=Pressure(cpu=0.99, foreign_cpu=0.95, memory=0.3, on_battery=True),
            )
            machine.report(report)
            shown = found.snapshot()
            assert (shown.pressure.cpu, shown.pressure.on_battery, shown.pause_reason) == (0.99, True, "cpu")
            assert shown.paused == ()

    run_virtual(main())


def test_places_of_threads_and_processes_are_counted(run_virtual: Run) -> None:
    """No more steps run in a pool than it has slots, whatever the cores allow."""
    together = most = 0

    async def body() -> None:
        nonlocal together, most
        together += 1
        most = max(most, together)
        await asyncio.sleep(1)
        together -= 1

    async def main() -> None:
        async with scheduler(executors=inline_executors(slots=2)) as found:
            light = Requirement(cpu_cores=0.01, memory_mb=1)
            handles = [found.run(body, kind=TaskKind.CPU_BOUND, requirement=light) for _ in range(7)]
            for handle in handles:
                assert (await handle).state is JobState.COMPLETED
        assert most == 2

    run_virtual(main())


def test_wall_time_is_monotonic_time_moved(run_virtual: Run) -> None:
    async def main() -> None:
        async with scheduler() as found:
            now_s = asyncio.get_running_loop().time()
            assert found.wall_ms(now_s + 1) - found.wall_ms(now_s) == pytest.approx(1000)

    run_virtual(main())


@pytest.mark.parametrize("kind", list(StepKind))
def test_steps_of_every_kind(run_virtual: Run, kind: StepKind) -> None:
    async def main() -> None:
        async with scheduler() as found:
            job = Job(
                type="t", title="t", tasks=(Task(name="a", steps=(Step(name="s", call=max, args=(3, 4), kind=kind),)),)
            )
            outcome = await found.submit(job)
            assert outcome.results["a"].value == 4

    run_virtual(main())


def test_a_call_is_the_job_that_its_arguments_say() -> None:
    """It is put together by position, for speed; here by name."""
    policies = TimeoutPolicy(hard_s=3.0), RetryPolicy(max_retries=1)
    args = (print, (1, 2), "name", Priority.LOW, TaskKind.MIXED, None, *policies, 7.0, "a", "b", "c", True)
    task = Task(
        name="name",
        call=print,
        args=(1, 2),
        kind=TaskKind.MIXED,
        timeout=policies[0],
        retry=policies[1],
        deadline_at_s=7.0,
        affinity="a",
    )
    same = Job(
        type="run", title="name", tasks=(task,), priority=Priority.LOW, supersede_key="b", share_key="c", visible=True
    )
    assert job_of_call(*args) == same
