"""What a caller holds, and the words about jobs by their ids: each is true, or refused with the reason."""

from __future__ import annotations

import asyncio
import concurrent.futures
import math
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from headway.scheduler import (
    ErrorKind,
    Job,
    JobOutcome,
    JobState,
    NotRetryableError,
    OnTaskFailure,
    Priority,
    Requirement,
    Scheduler,
    SchedulerClosedError,
    SchedulerConfig,
    Step,
    StepError,
    StepState,
    Task,
    TaskFailedError,
)
from headway.scheduler.executors.base import Totals
from headway.scheduler.executors.inline import inline_executors
from headway.scheduler.machine import FixedMachine

Run = Callable[[Coroutine[Any, Any, Any]], Any]
WHOLE = Requirement(cpu_cores=1.5, memory_mb=1)


def scheduler() -> Scheduler:
    machine = FixedMachine(Totals(cpu_cores=2, memory_mb=8000))
    return Scheduler(SchedulerConfig(stall_report_s=math.inf), executors=inline_executors(), machine=machine)


async def work(lasts_s: float = 1.0, fails: bool = False) -> str:
    await asyncio.sleep(lasts_s)
    if fails:
        raise StepError(ErrorKind.NOT_FOUND, "no such thing")
    return "done"


def job(*tasks: Task, **more: Any) -> Job:
    return Job(type="t", title="the job", tasks=tasks, **more)


def test_a_value_is_asked_of_jobs_that_have_one(run_virtual: Run) -> None:
    async def main() -> None:
        async with scheduler() as runs:
            two = runs.submit(job(Task(name="a", call=work), Task(name="b", call=work)))
            with pytest.raises(ValueError, match="has 2 tasks"):
                await two.value()
            with pytest.raises(ValueError, match="has no task"):
                await runs.submit(job()).value()
            bad = Task(name="bad", call=work, args=(0.1, True))
            goes_on = runs.submit(job(bad, on_task_failure=OnTaskFailure.CONTINUE))
            with pytest.raises(TaskFailedError, match="no such thing"):
                await goes_on.value()

    run_virtual(main())


def test_a_callback_that_comes_after_the_end_is_called_all_the_same(run_virtual: Run) -> None:
    heard: list[JobOutcome] = []

    async def main() -> None:
        async with scheduler() as runs:
            handle = runs.run(work)
            await handle
            handle.add_done_callback(heard.append)
            assert heard == [], "it was called before the registration had returned"
            await asyncio.sleep(0)
            assert [outcome.state for outcome in heard] == [JobState.COMPLETED]

    run_virtual(main())


def test_the_events_of_a_job_are_its_own(run_virtual: Run) -> None:
    async def main() -> None:
        async with scheduler() as runs:
            handle = runs.submit(job(Task(name="a", call=work, args=(5.0,))))
            noise = [runs.run(work, 0.5 * n, name=f"noise {n}") for n in range(6)]
            events = [event async for event in handle.events()]
            assert {getattr(event, "job_id", None) for event in events} == {handle.job_id}
            assert [type(event).__name__ for event in events][-1] == "JobChanged"
            assert all(other.done() for other in noise)

    run_virtual(main())


def test_a_job_is_paused_and_resumed_by_its_id(run_virtual: Run) -> None:
    async def main() -> None:
        async with scheduler() as runs:
            steps = tuple(Step(name=str(n), call=work) for n in range(2))
            handle = runs.submit(job(Task(name="a", steps=steps), job_id="mine"))
            await asyncio.sleep(0.5)
            assert runs.pause_job("mine")
            assert not runs.pause_job("mine"), "it is paused already"
            await asyncio.sleep(100)
            view = handle.view()
            assert view.state is JobState.PAUSED
            assert [step.state for step in view.tasks[0].steps] == [StepState.COMPLETED, StepState.PENDING]
            assert runs.resume_job("mine")
            assert not runs.resume_job("mine"), "it runs"
            await asyncio.sleep(0.5)
            assert [step.state for step in handle.view().tasks[0].steps] == [StepState.COMPLETED, StepState.RUNNING]
            assert (await handle).state is JobState.COMPLETED
            assert not runs.pause_job("mine"), "it has ended"

    run_virtual(main())


def test_the_steps_that_a_failed_task_never_reached_are_shown_as_skipped(run_virtual: Run) -> None:
    async def main() -> None:
        async with scheduler() as runs:
            steps = (Step(name="bad", call=work, args=(0.1, True)), Step(name="never", call=work))
            handle = runs.submit(job(Task(name="a", steps=steps)))
            assert (await handle).state is JobState.FAILED
            assert [step.state for step in handle.view().tasks[0].steps] == [StepState.FAILED, StepState.SKIPPED]

    run_virtual(main())


def test_a_job_whose_source_is_used_up_cannot_be_retried(run_virtual: Run) -> None:
    async def breaks() -> AsyncIterator[Task]:
        yield Task(name="fine", call=work)
        raise LookupError("the list was cut short")

    async def main() -> None:
        async with scheduler() as runs:
            handle = runs.submit(Job(type="t", title="t", tasks=breaks()))
            assert (await handle).state is JobState.FAILED
            with pytest.raises(NotRetryableError, match="a source that is used up"):
                runs.retry(handle.job_id)

    run_virtual(main())


def test_starting_twice_starts_once_and_what_was_closed_before_does_not_start(run_virtual: Run) -> None:
    async def main() -> None:
        async with scheduler() as runs:
            handle = runs.run(work)
            await runs.start()
            assert await handle.value() == "done"
            assert runs.snapshot().depths[Priority.NORMAL].running == 0
        never = scheduler()
        await never.close()
        with pytest.raises(SchedulerClosedError):
            await never.start()

    run_virtual(main())


def test_a_submission_from_a_thread_can_be_given_up_before_and_after_it_was_taken() -> None:
    async def main() -> None:
        async with scheduler() as runs:
            began: list[str] = []
            left: list[concurrent.futures.Future[JobOutcome]] = []

            async def noted(name: str) -> None:
                began.append(name)
                await asyncio.Event().wait()

            def elsewhere(name: str) -> None:
                left.append(runs.submit_threadsafe(job(Task(name=name, call=noted, args=(name,)), job_id=name)))

            elsewhere("never")
            assert left[0].cancel()
            await asyncio.to_thread(elsewhere, "taken")
            async with asyncio.timeout(60):
                while began != ["taken"]:  # noqa: ASYNC110  # that it began is seen by nothing else
                    await asyncio.sleep(0)
            assert runs.job("never") is None
            assert runs.cancel("taken")
            async with asyncio.timeout(60):
                outcome = await asyncio.wrap_future(left[1])
            assert outcome.state is JobState.CANCELLED
            assert began == ["taken"]

    asyncio.run(main())
