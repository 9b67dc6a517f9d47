"""Shedding: what can no longer be on time makes room under overload; who is told what, and what is never given up."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from headway.scheduler import OverloadedError, Priority, Requirement, Scheduler, SchedulerConfig
from headway.scheduler.executors.base import Totals
from headway.scheduler.executors.inline import inline_executors
from headway.scheduler.executors.process import ProcessSettings
from headway.scheduler.machine import FixedMachine
from headway.scheduler.metrics import Metrics
from headway.scheduler.model import ErrorKind, OnTimeout, Task, TaskState, TimeoutPolicy
from headway.scheduler.prometheus import exposition
from tests.scheduler.world import Work, World, job, steps

BIG = Requirement(cpu_cores=1.5, memory_mb=1)
HIGH = Priority.HIGH


def flooded(world: World, count: int = 100, **more: object) -> list[int]:
    """Twice as much HIGH work as can be done."""
    tickets = []
    for n in range(count):
        tickets.append(world.run(f"q{n}", Work(lasts_s=0.2), priority=HIGH, requirement=BIG, **more))
        world.pass_s(0.1)
    world.settle()
    world.check_empty()
    return tickets


def test_a_task_that_is_given_up_says_so() -> None:
    world = World()
    ends = [world.outcome(ticket) for ticket in flooded(world)]
    given_up = [end for end in ends if end.state is TaskState.FAILED]
    assert 20 < len(given_up) < 60
    for end in given_up:
        assert end.error is not None
        assert end.error.kind is ErrorKind.OVERLOADED
        assert end.error.retry_after_s == 2.0
        assert "was given up after" in end.error.message
        assert end.attempts == 0, "it was begun"


def test_nobody_who_could_be_on_time_is_given_up() -> None:
    world = World()
    tickets = flooded(world)
    for n, ticket in enumerate(tickets):
        end = world.outcome(ticket)
        if end.state is TaskState.FAILED:
            assert end.finished_at_s is not None
            assert end.finished_at_s - 0.1 * n > 1.5


def test_a_burst_is_answered_late_but_whole() -> None:
    """Ten seconds of work at once and nothing after it: giving some up would help nobody."""
    world = World()
    tickets = [world.run(f"q{n}", Work(lasts_s=0.2), priority=HIGH, requirement=BIG) for n in range(50)]
    world.settle()
    assert {world.outcome(ticket).state for ticket in tickets} == {TaskState.COMPLETED}


def test_who_waits_for_something_else_is_not_given_up() -> None:
    """One that lacks memory waits long while others come and go: that is no overload."""
    world = World()
    world.run("holds", Work(lasts_s=30), requirement=Requirement(cpu_cores=0.1, memory_mb=5000))
    large = world.run("large", priority=HIGH, requirement=Requirement(cpu_cores=0.1, memory_mb=4000))
    for n in range(100):
        world.run(f"q{n}", Work(lasts_s=0.1), priority=HIGH)
        world.pass_s(0.2)
    world.settle()
    assert world.outcome(large).state is TaskState.COMPLETED


def test_what_was_begun_is_finished() -> None:
    world = World()
    begun = world.submit(job(steps("long", [0.3, 0.3], cores=1.5), priority=HIGH))
    world.pass_s(0.1)
    flooded(world, 60)
    assert world.outcome(begun[0]).state is TaskState.COMPLETED


def test_paused_work_is_kept() -> None:
    world = World()
    world.core.admission.pause((HIGH,), True, 0.0)
    tickets = []
    for n in range(50):
        tickets.append(world.run(f"q{n}", priority=HIGH))
        world.pass_s(0.1)
    assert not world.outcomes
    world.core.admission.pause((HIGH,), False, world.now_s)
    world.press()
    world.pass_s(5)
    assert {world.outcome(ticket).state for ticket in tickets} == {TaskState.COMPLETED}


def test_a_fallback_answers_for_what_is_given_up() -> None:
    world = World()
    limit = TimeoutPolicy(on_hard=OnTimeout.FALLBACK, fallback="what we had")
    ends = [world.outcome(ticket) for ticket in flooded(world, timeout=limit)]
    answered = [end for end in ends if end.fallback]
    assert answered
    assert {end.value for end in answered} == {"what we had"}
    assert {end.state for end in ends} == {TaskState.COMPLETED}


@pytest.mark.parametrize("priority", [Priority.CRITICAL, Priority.NORMAL, Priority.LOW, Priority.BATCH])
def test_only_high_work_is_given_up(priority: Priority) -> None:
    """What a person types is always answered; what nobody waits for is delayed, and lost never."""
    world = World()
    tickets = []
    for n in range(60):
        tickets.append(world.run(f"q{n}", Work(lasts_s=0.4), priority=priority, requirement=BIG))
        world.pass_s(0.1)
    world.settle()
    assert {world.outcome(ticket).state for ticket in tickets} == {TaskState.COMPLETED}


def test_it_is_counted() -> None:
    world = World()
    tickets = flooded(world)
    metrics = Metrics(lambda: world.now_s, lambda: (world.core.flow.queued, world.core.flow.running))
    for event in world.events:
        metrics.observe(event)
    level = metrics.snapshot().levels[HIGH]
    assert level.shed == sum(world.outcome(ticket).state is TaskState.FAILED for ticket in tickets) > 0
    assert f'headway_tasks_shed_total{{priority="HIGH"}} {level.shed}' in exposition(metrics.snapshot())


def test_the_caller_gets_an_error_of_its_own(run_virtual: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    async def hold(lasts_s: float) -> float:
        await asyncio.sleep(lasts_s)
        return lasts_s

    async def main() -> None:
        config = SchedulerConfig(stall_report_s=math.inf)
        machine = FixedMachine(Totals(cpu_cores=2, memory_mb=1000))
        async with Scheduler(config, executors=inline_executors(), machine=machine) as scheduler:
            scheduler.run(hold, 3.0, priority=HIGH, requirement=BIG)
            late = scheduler.run(hold, 0.1, priority=HIGH, requirement=BIG, name="search")
            waits = [scheduler.run(hold, 1.0, priority=HIGH, requirement=BIG) for _ in range(2)]
            await asyncio.sleep(2.5)
            new = scheduler.run(hold, 0.2, priority=HIGH, requirement=BIG)
            await asyncio.sleep(0.3)
            fresh = scheduler.run(hold, 0.2, priority=HIGH, requirement=BIG)
            with pytest.raises(OverloadedError, match=r"search was given up after 2\.8 s") as caught:
                await late.value()
            assert caught.value.failure.retry_after_s == 2.0
            assert [await handle.value() for handle in (new, fresh)] == [0.2, 0.2]
            assert not [handle for handle in waits if (await handle).error is None]

    run_virtual(main())


@pytest.mark.parametrize(
    ("cores", "memory_mb", "critical", "others"),
    [(1, 8_000, 2, 4), (8, 32_000, 8, 16), (64, 256_000, 64, 128), (64, 1_024, 8, 8), (2, 10, 2, 2)],
)
def test_pools_follow_cores_and_memory(cores: float, memory_mb: float, critical: int, others: int) -> None:
    """A large machine is used whole; a small memory is not filled with workers that do nothing."""
    pools = ProcessSettings.for_machine(cores, memory_mb)
    assert (pools.critical.size, pools.standard.size, pools.background.size) == (critical, others, others)
    assert pools.background.worker.memory.data_mb == pytest.approx(0.8 * memory_mb)


@pytest.mark.parametrize("durations_s", [(), (0.1, 0.1)], ids=["one call", "two steps"])
def test_how_long_work_takes_is_learnt_from_all_that_completes(durations_s: tuple[float, ...]) -> None:
    """Who waits for nearly all of the promised time is too late already, by as long as it would run."""
    world = World()
    tickets = []
    for n in range(100):
        if durations_s:
            task = steps(f"q{n}", durations_s, requirement=BIG)
        else:
            task = Task(name=f"q{n}", call=Work(lasts_s=0.2), requirement=BIG)
        tickets.append(world.submit(job(task, priority=HIGH))[0])
        world.pass_s(0.1)
    world.settle()
    ends = [world.outcome(ticket) for ticket in tickets]
    assert any(end.state is TaskState.FAILED for end in ends)
    late_s = [
        (end.finished_at_s or math.inf) - 0.1 * n
        for n, end in enumerate(ends)
        if end.state is TaskState.COMPLETED and n >= 50
    ]
    assert max(late_s) <= SchedulerConfig().high_promise_s
