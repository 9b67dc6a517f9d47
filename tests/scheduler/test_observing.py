"""What a real scheduler says of itself, on the virtual clock: alerts, metrics, timeline; silence when it is idle."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

import pytest

from headway.scheduler import (
    Alert,
    AlertChanged,
    AlertLevel,
    Event,
    Job,
    Priority,
    Requirement,
    RetryPolicy,
    Scheduler,
    SchedulerConfig,
    Step,
    Task,
    TimeoutPolicy,
)
from headway.scheduler.executors.base import Pressure
from headway.scheduler.executors.inline import inline_executors
from tests.scheduler.machines import StillMachine

WARNING, CRITICAL, RESOLVED = AlertLevel.WARNING, AlertLevel.CRITICAL, AlertLevel.RESOLVED


class RunVirtual(Protocol):
    def __call__(self, coroutine: Coroutine[Any, Any, None]) -> None: ...


def scheduler(machine: StillMachine | None = None, **config: Any) -> Scheduler:
    return Scheduler(
        SchedulerConfig(**config), executors=inline_executors(), machine=machine or StillMachine(), draw=lambda: 0.5
    )


def alerts_of(one: Scheduler) -> list[Alert]:
    """The alerts that a scheduler says from now on."""
    said: list[Alert] = []

    def heed(event: Event) -> None:
        if isinstance(event, AlertChanged):
            said.append(event.alert)

    one.subscribe(heed)
    return said


def levels(said: list[Alert], metric: str) -> list[AlertLevel]:
    return [alert.level for alert in said if alert.metric == metric]


async def nothing() -> None:
    return None


async def fails() -> None:
    raise ValueError("wrong")


async def deep() -> None:
    async with scheduler() as one:
        said = alerts_of(one)
        one.pause([Priority.NORMAL])
        handles = [one.run(nothing) for _ in range(140)]
        await asyncio.sleep(5)
        (alert,) = said
        assert (alert.metric, alert.labels, alert.level) == ("queue.depth", {"priority": "NORMAL"}, WARNING)
        assert (alert.value, alert.threshold) == (140, 100)
        assert one.alerts.active() == [alert]
        one.resume([Priority.NORMAL])
        for handle in handles:
            await handle
        await asyncio.sleep(10)
        assert levels(said, "queue.depth") == [WARNING, RESOLVED]
        assert len({found.alert_id for found in said}) == 1
        assert one.alerts.active() == []


def test_a_deep_level_is_said_within_five_seconds_and_resolved_when_it_is_over(run_virtual: RunVirtual) -> None:
    run_virtual(deep())


def test_a_few_waiting_are_no_alert(run_virtual: RunVirtual) -> None:
    async def body() -> None:
        async with scheduler() as one:
            said = alerts_of(one)
            one.pause([Priority.NORMAL])
            for _ in range(60):
                one.run(nothing)
            await asyncio.sleep(30)
            assert said == []

    run_virtual(body())


def test_tasks_that_wait_for_others_of_their_job_count_as_the_snapshot_counts_them(run_virtual: RunVirtual) -> None:
    """One number for one thing: alert, metrics and snapshot agree on the depth."""

    async def body() -> None:
        async with scheduler() as one:
            said = alerts_of(one)
            one.pause([Priority.NORMAL])
            chain = tuple(Task(name=f"t{i}", call=nothing, depends_on=(f"t{i - 1}",) if i else ()) for i in range(120))
            one.submit(Job(type="x", title="x", tasks=chain))
            await asyncio.sleep(5)
            depth = one.snapshot().depths[Priority.NORMAL].queued
            assert depth == one.metrics.snapshot().levels[Priority.NORMAL].queued == 120
            assert [alert.value for alert in said] == [120]

    run_virtual(body())


def test_many_failures_are_said(run_virtual: RunVirtual) -> None:
    async def body() -> None:
        async with scheduler() as one:
            said = alerts_of(one)
            for i in range(40):
                await one.run(fails if i % 4 == 0 else nothing, priority=Priority.HIGH)
            await asyncio.sleep(3)
            assert levels(said, "tasks.failures") == [WARNING]
            assert said[0].labels == {"priority": "HIGH"}
            await asyncio.sleep(90)
            assert levels(said, "tasks.failures") == [WARNING, RESOLVED]

    run_virtual(body())


def test_a_pressed_machine_is_said_while_there_is_work(run_virtual: RunVirtual) -> None:
    async def body() -> None:
        machine = StillMachine()
        async with scheduler(machine) as one:
            said = alerts_of(one)
            one.pause([Priority.BATCH])
            one.run(nothing, priority=Priority.BATCH)
            machine.press(Pressure(cpu=0.5, memory=0.9))
            await asyncio.sleep(4.9)
            assert [alert.metric for alert in said] == ["machine.memory"]
            machine.press(Pressure(cpu=0.5, memory=0.5))
            await asyncio.sleep(5)
            assert levels(said, "machine.memory") == [WARNING, RESOLVED]

    run_virtual(body())


def test_an_idle_scheduler_sets_no_timers(run_virtual: RunVirtual) -> None:
    """After work, and after its last alert, nothing is looked at: an hour passes in one step."""

    async def body() -> None:
        async with scheduler(stall_report_s=float("inf")) as one:
            await one.run(nothing)
            await asyncio.sleep(400)  # the core's appointments for work that has ended come to nothing, once
            loop = asyncio.get_running_loop()
            timers = [timer for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
            assert timers == []

    run_virtual(body())


def test_waiting_is_counted_anew_after_each_wait(run_virtual: RunVirtual) -> None:
    """A task that waited a minute, ran, and waits for its retry has not waited since the beginning."""

    async def body() -> None:
        async with scheduler() as one:
            one.pause([Priority.NORMAL])
            handle = one.run(flaky, retry=RetryPolicy(max_retries=1, base_s=5.0))
            await asyncio.sleep(50)
            assert one.metrics.snapshot().levels[Priority.NORMAL].longest_wait_s == 50.0
            one.resume([Priority.NORMAL])
            await asyncio.sleep(1)
            one.pause([Priority.NORMAL])
            await asyncio.sleep(14)
            waits_s = one.metrics.snapshot().levels[Priority.NORMAL].longest_wait_s
            assert 0 < waits_s < 15
            one.resume([Priority.NORMAL])
            await handle
            assert one.metrics.snapshot().levels[Priority.NORMAL].longest_wait_s == 0.0

    flaky_attempts.clear()
    run_virtual(body())


flaky_attempts: list[int] = []


async def flaky() -> None:
    flaky_attempts.append(1)
    if len(flaky_attempts) == 1:
        raise ConnectionError("no answer")


def test_what_a_fallback_answers_in_the_queue_waits_no_more(run_virtual: RunVirtual) -> None:
    async def body() -> None:
        async with scheduler() as one:
            one.pause([Priority.NORMAL])
            await one.run(nothing, timeout=TimeoutPolicy(queue_s=2.0))
            level = one.metrics.snapshot().levels[Priority.NORMAL]
            assert (level.longest_wait_s, level.queued) == (0.0, 0)
            assert one.metrics.alive == 0

    run_virtual(body())


@pytest.mark.parametrize("how", ["steps", "calls"])
def test_the_timeline_has_a_slice_per_step(run_virtual: RunVirtual, how: str) -> None:
    async def body() -> None:
        async with scheduler() as one:
            steps = tuple(Step(name=f"s{i}", call=asyncio.sleep, args=(0.1,)) for i in range(3))
            tasks = (
                (Task(name="t", steps=steps),)
                if how == "steps"
                else tuple(Task(name=f"t{i}", call=asyncio.sleep, args=(0.1,)) for i in range(3))
            )
            await one.submit(Job(type="x", title="x", tasks=tasks))
            events = one.trace.export(since_s=60)
            slices = [event for event in events if event["ph"] == "X"]
            wanted = ["t: s0", "t: s1", "t: s2"] if how == "steps" else ["t0", "t1", "t2"]
            assert sorted(event["name"] for event in slices) == wanted
            assert all(event["dur"] == pytest.approx(1e5) for event in slices)
            assert any(event["ph"] == "C" for event in events)

    run_virtual(body())


def test_the_timeline_forgets_what_is_older_than_asked_for(run_virtual: RunVirtual) -> None:
    async def body() -> None:
        async with scheduler() as one:
            await one.run(nothing, name="old")
            await asyncio.sleep(10)
            await one.run(nothing, name="new")
            assert {e["name"] for e in one.trace.export(since_s=2) if e["ph"] == "X"} == {"new"}
            assert {e["name"] for e in one.trace.export(since_s=60) if e["ph"] == "X"} == {"old", "new"}

    run_virtual(body())


def test_the_share_of_allocated_cores_is_judged_under_backlog(run_virtual: RunVirtual) -> None:
    async def body() -> None:
        async with scheduler() as one:
            half = Requirement(cpu_cores=0.5, memory_mb=1.0)
            for handle in [one.run(asyncio.sleep, 1.0, requirement=half) for _ in range(60)]:
                await handle
            allocated = one.metrics.indicators().allocated
            assert allocated is not None
            assert allocated > 0.8

    run_virtual(body())


def test_without_watching_nothing_is_measured_until_it_is_asked_for(run_virtual: RunVirtual) -> None:
    async def body() -> None:
        async with scheduler(watch=False) as one:
            await one.run(nothing)
            assert one.metrics.snapshot().levels[Priority.NORMAL].submitted == 0
            await one.run(nothing)
            assert one.metrics.snapshot().levels[Priority.NORMAL].submitted == 1

    run_virtual(body())


def test_what_measures_goes_on_when_the_last_subscriber_leaves_and_hears_before_him(run_virtual: RunVirtual) -> None:
    async def body() -> None:
        async with scheduler(watch=True) as one:
            seen: list[int] = []

            def heed(event: Event) -> None:
                seen.append(one.metrics.snapshot().levels[Priority.NORMAL].submitted)

            leave = one.subscribe(heed)
            await one.run(nothing)
            leave()
            heard = len(seen)
            await one.run(nothing)
            assert seen[0] == 1
            assert len(seen) == heard
            level = one.metrics.snapshot().levels[Priority.NORMAL]
            assert (level.submitted, level.completed) == (2, 2)

    run_virtual(body())
