"""Other numbers at run time: what waits is judged by them at once, what runs goes on, and nothing is held twice."""

from __future__ import annotations

import asyncio
import dataclasses
import math
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from headway.scheduler import Priority, Requirement, Scheduler, SchedulerConfig
from headway.scheduler.config import OnBattery, RetryDefaults
from headway.scheduler.errors import ImpossibleRequirementError
from headway.scheduler.executors.base import Totals
from headway.scheduler.executors.inline import inline_executors
from headway.scheduler.machine import FixedMachine
from headway.scheduler.model import ErrorKind, PausedChanged, TaskState
from headway.scheduler.stimuli import Reconfigured
from tests.scheduler.world import Work, World, job, steps, task

CORE = Requirement(cpu_cores=1.0, memory_mb=1.0)


def change(world: World, **changes: Any) -> None:
    world.tell(Reconfigured(dataclasses.replace(world.core.config, **changes)))


def cores(world: World) -> tuple[float, float]:
    view = world.core.quota.views()["cpuCores"]
    return view.total, view.reserved


def test_more_cores_let_more_run_at_once() -> None:
    world = World(config=SchedulerConfig(cpu_cores=1.0, reserved_cpu_cores=0.0))
    for n in range(3):
        world.run(f"t{n}", Work(lasts_s=5), requirement=CORE)
    assert world.running == ["t0"]
    change(world, cpu_cores=3.0)
    assert world.running == ["t0", "t1", "t2"]
    world.settle()
    change(world, cpu_cores=None)
    assert cores(world) == (2.0, 0.0), "None: what the machine has"
    world.check_empty()


def test_fewer_cores_end_nothing_that_runs() -> None:
    world = World(config=SchedulerConfig(reserved_cpu_cores=0.0), check=False)
    tickets = [world.run(f"t{n}", Work(lasts_s=1), requirement=CORE) for n in range(4)]
    assert len(world.running) == 2
    change(world, cpu_cores=1.0)
    assert len(world.running) == 2
    world.settle()
    assert {world.outcome(ticket).state for ticket in tickets} == {TaskState.COMPLETED}
    assert [world.started_at(f"t{n}") for n in range(4)] == [0, 0, 1, 2]
    world.check_empty()


def test_the_reserve_follows_the_cores() -> None:
    world = World(totals=Totals(cpu_cores=8, memory_mb=8000))
    assert cores(world) == (8.0, 1.0)
    change(world, cpu_cores=2.0)
    assert cores(world) == (2.0, 0.5)
    change(world, reserved_cpu_cores=0.25)
    assert cores(world) == (2.0, 0.25)


def test_what_no_longer_fits_at_all_fails_and_says_what_it_asked_for() -> None:
    world = World(check=False)  # what runs holds more than there is, until it ends
    world.run("block", Work(lasts_s=1), requirement=Requirement(cpu_cores=1.5, memory_mb=1))
    large = world.run("large", requirement=Requirement(cpu_cores=1.5, memory_mb=1))
    change(world, cpu_cores=1.0)
    outcome = world.outcome(large)
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.SERVICE_UNAVAILABLE
    assert "asks for 1.5 cpuCores" in outcome.error.message
    with pytest.raises(ImpossibleRequirementError):
        world.run("again", requirement=Requirement(cpu_cores=1.5, memory_mb=1))


def test_marks_are_judged_at_once_by_what_was_last_measured() -> None:
    world = World()
    world.press(memory=0.85)
    world.run("low", priority=Priority.LOW)
    assert world.order == ["low"]
    change(world, memory_high=0.8, memory_low=0.7)
    world.run("held", priority=Priority.LOW)
    assert world.order == ["low"]
    assert [event.reason for event in world.of(PausedChanged)] == ["memory"]
    change(world, memory_high=0.95, memory_low=0.9)
    assert world.order == ["low", "held"]
    assert [event.reason for event in world.of(PausedChanged)] == ["memory", None]


def test_what_to_do_on_battery() -> None:
    world = World()
    world.press(on_battery=True)
    for n in range(3):
        world.run(f"low{n}", Work(lasts_s=1), priority=Priority.LOW)
    assert world.order == ["low0"], "slowly"
    change(world, on_battery=OnBattery.IGNORE)
    assert world.order == ["low0", "low1", "low2"]
    change(world, on_battery=OnBattery.PAUSE)
    world.run("low3", priority=Priority.LOW)
    world.pass_s(5)
    assert "low3" not in world.order
    assert world.core.pause_reason == "battery"


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"queue_capacity": 3}, "refuses"),
        ({"retries": dict.fromkeys(Priority, RetryDefaults(max_retries=0, stretch=1.0))}, "tries once"),
        ({"cancel_grace_s": 5.0}, "waits"),
        ({"preempt": False}, "keeps its place"),
    ],
)
def test_other_numbers_hold_too(changes: dict[str, Any], wanted: str) -> None:
    """For each part of the core one number that it reads."""

    def seen(world: World) -> bool:
        if wanted == "refuses":
            world.config = world.core.config
            try:
                world.submit(job(*(task(f"t{n}") for n in range(4))))
            except Exception as error:  # noqa: BLE001  # the kind is what is looked at
                return type(error).__name__ == "QueueFullError"
            return False
        if wanted == "tries once":
            ticket = world.run("t", Work(fails=1))
            world.settle()
            return world.outcome(ticket).state is TaskState.FAILED
        if wanted == "waits":
            world.run("t", Work(lasts_s=100, stubborn_s=1.0), job_id="t", supersede_key="k")
            newer = world.run("t2", supersede_key="k")
            world.pass_s(3)
            return newer in world.outcomes and not world.abandoned
        world.submit(job(steps("long", [0.05] * 20, cores=1.5)))
        world.pass_s(0.01)
        world.run("high", priority=Priority.HIGH, requirement=Requirement(cpu_cores=1.5, memory_mb=1))
        world.pass_s(0.5)
        return "high" not in world.order

    assert not seen(World())
    changed = World()
    change(changed, **changes)
    assert seen(changed)


def test_shares_and_promises_hold_too() -> None:
    world = World()
    change(world, batch_share=0.0, fair_shares=False, shed_after_s=math.inf)
    core = world.core
    assert core.admission.credit.due_at_s() == math.inf
    assert core.admission._fair == [None] * 5


def test_the_public_face(run_virtual: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    async def work() -> None:
        await asyncio.sleep(1)

    async def main() -> None:
        config = SchedulerConfig(stall_report_s=math.inf, reserved_cpu_cores=0.0, cpu_cores=1.0)
        machine = FixedMachine(Totals(cpu_cores=2, memory_mb=1000))
        async with Scheduler(config, executors=inline_executors(), machine=machine) as scheduler:
            began_s = asyncio.get_running_loop().time()
            handles = [scheduler.run(work, requirement=CORE) for _ in range(2)]
            scheduler.reconfigure(dataclasses.replace(config, cpu_cores=2.0))
            assert scheduler.config.cpu_cores == 2.0
            for handle in handles:
                await handle.value()
            assert asyncio.get_running_loop().time() - began_s == pytest.approx(1.0)

    run_virtual(main())
