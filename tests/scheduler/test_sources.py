"""Sources of jobs that are fed lazily: code of others, which may be slow, deaf, broken, or of the plainest kind."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from headway.scheduler import Job, JobState, Priority, Requirement, Scheduler, SchedulerConfig, Task
from headway.scheduler.executors.base import Totals
from headway.scheduler.executors.inline import inline_executors
from headway.scheduler.machine import FixedMachine

Run = Callable[[Coroutine[Any, Any, Any]], Any]


def scheduler() -> Scheduler:
    machine = FixedMachine(Totals(cpu_cores=2, memory_mb=8000))
    config = SchedulerConfig(stall_report_s=math.inf)
    return Scheduler(config, executors=inline_executors(), machine=machine)


def unit(name: str, call: Any = asyncio.sleep, *args: Any) -> Task:
    return Task(name=name, call=call, args=args or (1.0,), requirement=Requirement(cpu_cores=0.1, memory_mb=1))


def job(source: AsyncIterator[Task], window: int = 2) -> Job:
    return Job(type="index", title="index", tasks=source, window=window, priority=Priority.BATCH)


class Plain:
    """What an iterator has to have and nothing else: it cannot be closed."""

    def __init__(self, count: int, waits_s: float = 0.0) -> None:
        self.left = count
        self.waits_s = waits_s
        self.asked = 0
        self.told = 0

    def __aiter__(self) -> AsyncIterator[Task]:
        return self

    async def __anext__(self) -> Task:
        self.asked += 1
        try:
            await asyncio.sleep(self.waits_s)
        except asyncio.CancelledError:
            self.told += 1
            raise
        if not self.left:
            raise StopAsyncIteration
        self.left -= 1
        return unit(f"t{self.left}")


@pytest.mark.parametrize(("waits_s", "told"), [(0.0, 0), (1000.0, 1)])
def test_a_source_that_cannot_be_closed_is_left_or_told(
    run_virtual: Run, waits_s: float, told: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Between two questions there is nothing to end; in the middle of one it is told, and asked no more."""

    async def main() -> None:
        source = Plain(10, waits_s)
        async with scheduler() as runs:
            handle = runs.submit(job(source))
            await asyncio.sleep(0.5)
            asked = source.asked
            assert asked > 0
            handle.cancel()
            assert (await handle).state is JobState.CANCELLED
            await asyncio.sleep(2000)
            assert (source.asked, source.told) == (asked, told)
            whole = runs.submit(job(Plain(10)))
            assert (await whole).state is JobState.COMPLETED
            assert len((await whole).results) == 10

    run_virtual(main())
    assert caplog.text == "", "what it has not was called"


def test_a_source_whose_end_fails_fails_nothing_else_and_is_said(
    run_virtual: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def breaks() -> AsyncIterator[Task]:
        try:
            while True:
                yield unit("t")
                await asyncio.sleep(5)
        finally:
            raise LookupError("the list could not be closed")

    async def main() -> None:
        async with scheduler() as runs:
            handle = runs.submit(job(breaks(), window=1))
            await asyncio.sleep(0.5)
            handle.cancel()
            assert (await handle).state is JobState.CANCELLED
            await asyncio.sleep(1)
            assert await runs.run(asyncio.sleep, 1.0, "fine").value() == "fine"

    with caplog.at_level(logging.ERROR, "headway"):
        run_virtual(main())
    assert "failed while it was closed" in caplog.text
    assert "the list could not be closed" in caplog.text


class Deaf:
    """Swallows being told, and answers when it thinks fit."""

    def __init__(self, late_s: float, answer: str = "a task") -> None:
        self.late_s = late_s
        self.answer = answer
        self.answered = False

    def __aiter__(self) -> AsyncIterator[Task]:
        return self

    async def __anext__(self) -> Task:
        until_s = asyncio.get_running_loop().time() + self.late_s
        while asyncio.get_running_loop().time() < until_s:
            try:
                await asyncio.sleep(self.late_s)
            except asyncio.CancelledError:
                continue
        self.answered = True
        if self.answer == "its end":
            raise StopAsyncIteration
        if self.answer == "a failure":
            raise LookupError("the list was cut short")
        return unit("late")


@pytest.mark.parametrize("answer", ["a task", "its end", "a failure"])
def test_what_a_source_gives_after_the_end_of_its_job_means_nothing(
    run_virtual: Run, answer: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        source = Deaf(30.0, answer)
        async with scheduler() as runs:
            heard: list[str] = []
            handle = runs.submit(job(source))
            runs.subscribe(lambda event: heard.append(getattr(event, "name", "")))
            await asyncio.sleep(0.5)
            handle.cancel()
            assert (await handle).state is JobState.CANCELLED
            await asyncio.sleep(100)
            assert source.answered
            assert "late" not in heard
            assert handle.view().tasks == ()

    run_virtual(main())
    gc.collect()
    assert caplog.text == "", "somebody's asyncio.Task broke at it"


def test_a_deaf_source_holds_the_close_up_for_a_second(run_virtual: Run) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        runs = scheduler()
        await runs.start()
        handle = runs.submit(job(Deaf(30.0)))
        await asyncio.sleep(0.5)
        began_s = loop.time()
        await runs.close()
        assert loop.time() - began_s == pytest.approx(1.0, abs=0.5)
        assert (await handle).state is JobState.CANCELLED
        await asyncio.sleep(60)  # so that nothing of it is left when the loop ends

    run_virtual(main())


def test_a_source_that_waits_is_told_before_the_close_is_over(run_virtual: Run) -> None:
    ended: list[str] = []

    async def waits() -> AsyncIterator[Task]:
        try:
            yield unit("first")
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.2)
            ended.append("cleaned up")

    async def main() -> None:
        async with scheduler() as runs:
            handle = runs.submit(job(waits()))
            await asyncio.sleep(0.5)
        assert ended == ["cleaned up"]
        assert (await handle).state is JobState.CANCELLED

    run_virtual(main())
