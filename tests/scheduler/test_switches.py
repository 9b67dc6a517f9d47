"""For each mechanism a scene that needs it: what it is for comes true with it, and does not with it switched off."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from headway.scheduler.config import OnBattery, RetryDefaults, SchedulerConfig
from headway.scheduler.executors.base import Gpu, Totals
from headway.scheduler.model import (
    ErrorKind,
    Priority,
    Requirement,
    RetryPolicy,
    Step,
    StepKind,
    Task,
    TaskState,
    TimeoutPolicy,
)
from headway.scheduler.strategies import DEFAULT, FIFO, PRIORITY, Strategy
from tests.scheduler.world import Work, World, job, steps, task

ROOM = 1.5
BIG = Requirement(cpu_cores=ROOM, memory_mb=1)
CONFIG = SchedulerConfig(queue_capacity=1_000_000)


def pour(
    world: World,
    name: str,
    priority: Priority,
    lasts_s: float,
    seconds: float,
    cores: float = ROOM,
    abreast: int = 2,
) -> None:
    """Keep a few tasks of a stream in flight for a while, each followed by the next."""
    until_s = world.now_s + seconds
    requirement = Requirement(cpu_cores=cores, memory_mb=1)
    count = 0
    while world.now_s < until_s:
        alive = sum(record.job.title.startswith(name) for record in world.core.book.active.values())
        for _ in range(abreast - alive):
            world.run(f"{name}{count}", Work(lasts_s=lasts_s), priority=priority, requirement=requirement)
            count += 1
        if not world.step(until_s):
            return


def urgent_first(world: World) -> bool:
    """What waits starts by priority, whatever the order of submission."""
    world.run("block", Work(lasts_s=0.1), priority=Priority.HIGH, requirement=BIG)
    for priority in reversed(Priority):
        if priority is not Priority.CRITICAL:
            world.run(priority.name, requirement=BIG, priority=priority)
    world.settle()
    return world.order[1:] == ["HIGH", "NORMAL", "LOW", "BATCH"]


def critical_has_room(world: World) -> bool:
    """CRITICAL work starts though everything else is taken."""
    load = Requirement(cpu_cores=2.0 - reserved(world), memory_mb=1)
    world.run("load", Work(lasts_s=10), priority=Priority.HIGH, requirement=load)
    world.run("urgent", priority=Priority.CRITICAL)
    return "urgent" in world.order


def reserved(world: World) -> float:
    return world.core.quota.views()["cpuCores"].reserved


def batch_is_not_starved(world: World) -> bool:
    """Under an endless stream BATCH gets about 5 % of a core."""
    for n in range(60):
        world.run(f"b{n}", Work(lasts_s=0.05), priority=Priority.BATCH, requirement=Requirement(cpu_cores=1.0))
    pour(world, "s", Priority.HIGH, 0.1, 20.0)
    return sum(name.startswith("b") for name in world.order) * 0.05 >= 0.04 * 20


def late_work_makes_room(world: World) -> bool:
    """With more HIGH work than can be done, what could not be on time makes room for what can."""
    for n in range(400):
        world.run(f"q{n}", Work(lasts_s=0.1), priority=Priority.HIGH, requirement=BIG)
        world.pass_s(0.05)
    on_time = [found for found in world.begun if found.at_s <= 0.05 * int(found.name[1:]) + 1.9]
    return len(on_time) >= 0.9 * 20 / 0.1


def batch_takes_no_whole_place(world: World) -> bool:
    """On its own share BATCH work runs on the cores that are left beside HIGH work, and does not keep it waiting."""
    world.submit(job(*(task(f"b{n}", 0.15, cores=1.0) for n in range(40)), priority=Priority.BATCH))
    pour(world, "s", Priority.HIGH, 0.1, 10.0, cores=1.0, abreast=3)
    starts = [found.at_s for found in world.begun if found.name.startswith("s")]
    together = any(name.startswith("b") for name in world.order[3:])
    return together and max(after - before for before, after in itertools.pairwise(starts)) < 0.11


def background_takes_what_is_left(world: World) -> bool:
    """Beside a task that leaves less than the next one asks for, this goes on what there is: nothing lies idle."""
    world.submit(job(*(task(f"b{n}", 1.0, cores=1.0) for n in range(2)), priority=Priority.BATCH))
    return [found.cores for found in world.begun] == [1.0, 0.4]


def waiting_work_rises(world: World) -> bool:
    """A LOW task gets through a stream of NORMAL ones."""
    world.run("s", Work(lasts_s=0.2), requirement=BIG)
    low = world.run("low", priority=Priority.LOW, requirement=BIG)
    pour(world, "s", Priority.NORMAL, 0.15, 20.0)
    return low in world.outcomes


def served_work_does_not_rise(world: World) -> bool:
    """The tail of a long BATCH job that is being worked off does not go before a LOW task that has just come."""
    world.submit(job(*(task(f"b{n}", 0.2, cores=ROOM) for n in range(200)), priority=Priority.BATCH))
    world.pass_s(20.0)
    low = world.run("low", priority=Priority.LOW, requirement=BIG)
    world.pass_s(1.0)
    return low in world.outcomes


def large_work_finds_room(world: World) -> bool:
    """Small tasks that fill each gap do not keep a large, more important one out."""
    cores = ROOM / 5
    requirement = Requirement(cpu_cores=cores, memory_mb=1)
    streams = [iter(range(10_000)) for _ in range(10)]
    for n, stream in enumerate(streams):
        world.run(f"s{n}.{next(stream)}", Work(lasts_s=0.12 + 0.017 * n), requirement=requirement)
    large = world.run("large", Work(lasts_s=0.05), priority=Priority.HIGH, requirement=BIG)
    until_s = world.now_s + 20.0
    while world.now_s < until_s and large not in world.outcomes:
        alive = {record.job.title.split(".")[0] for record in world.core.book.active.values()}
        for n, stream in enumerate(streams):
            if f"s{n}" not in alive:
                world.run(f"s{n}.{next(stream)}", Work(lasts_s=0.12 + 0.017 * n), requirement=requirement)
        if not world.step(until_s):
            break
    return large in world.outcomes


def urgent_work_preempts(world: World) -> bool:
    """A more urgent task gets the place at the next step, not at the end of the task."""
    world.submit(job(steps("long", [0.05] * 100, cores=ROOM)))
    world.pass_s(0.12)
    world.run("high", priority=Priority.HIGH, requirement=BIG)
    world.pass_s(0.1)
    return "high" in world.order


def hogs_sink(world: World) -> bool:
    """Who uses his quantum up again and again comes behind who does not."""
    world.submit(job(steps("hog", [0.06] * 40, cores=ROOM)))
    world.pass_s(0.5)
    world.submit(job(steps("newcomer", [0.03] * 4, cores=ROOM)))
    world.pass_s(0.25)
    return world.order.count("newcomer") == 4


def jobs_share_fairly(world: World) -> bool:
    """A job that comes later does not wait behind all of an earlier one's tasks."""
    world.run("block", Work(lasts_s=0.1), requirement=BIG)
    world.submit(job(*(task(f"a{n}", 0.1, cores=ROOM) for n in range(40)), priority=Priority.BATCH))
    world.submit(job(*(task(f"b{n}", 0.1, cores=ROOM) for n in range(5)), priority=Priority.BATCH))
    world.settle()
    return world.order.index("b4") < 20


def background_holds_for_critical(world: World) -> bool:
    """While CRITICAL work waits for its place, no background work takes what comes free."""
    world.submit(job(*(task(f"c{n}", 1.0, cores=1.0) for n in range(8)), priority=Priority.CRITICAL))
    world.run("batch", priority=Priority.BATCH, requirement=Requirement(cpu_cores=0.0, memory_mb=1))
    return "batch" not in world.order


def background_holds_while_critical_is_served(world: World) -> bool:
    """What comes for the background while a key is answered waits for that, but not for what answers for ever."""
    world.run("quick", Work(lasts_s=0.03), priority=Priority.CRITICAL)
    world.run("batch", priority=Priority.BATCH)
    held = "batch" not in world.order
    world.pass_s(0.031)
    held = held and "batch" in world.order
    world.run("slow", Work(lasts_s=5.0), priority=Priority.CRITICAL)
    world.run("low", priority=Priority.LOW)
    held = held and "low" not in world.order
    world.pass_s(0.11)
    return held and "low" in world.order


def background_is_asked_to_hurry(world: World) -> bool:
    """Who holds what a HIGH task lacks is told, once; who holds nothing of it only wastes a word."""
    world.run("batch", Work(lasts_s=5.0), priority=Priority.BATCH, requirement=BIG)
    for n in range(3):
        world.run(f"high{n}", priority=Priority.HIGH, requirement=BIG)
    return len(world.preempted) == 1


def pressure_holds_background(world: World) -> bool:
    """Above the high mark background work is not started, and between the marks nothing flaps."""
    world.press(cpu=0.95, foreign_cpu=0.95)
    world.run("low", priority=Priority.LOW)
    held = not world.order and world.core.pause_reason == "cpu"
    world.press(cpu=0.8, foreign_cpu=0.8)
    held = held and not world.order
    world.press(cpu=0.5, foreign_cpu=0.5)
    return held and world.order == ["low"]


def memory_pressure_holds_background(world: World) -> bool:
    """The same by how full the memory is."""
    return holds(world, "memory", memory=0.95) and stays(world, memory=0.85) and goes_on(world, memory=0.7)


def gpu_pressure_holds_who_wants_a_gpu(world: World) -> bool:
    """The same by how busy the devices are, for whoever asks for one; the rest of the background goes on."""
    gpus = (Gpu(index=0, uuid="a", total_mb=1000),)
    world = World(config=world.config, totals=Totals(cpu_cores=2, memory_mb=8000, gpus=gpus))
    world.press(gpu=0.97)
    world.run("low", priority=Priority.LOW, requirement=Requirement(cpu_cores=0.1, memory_mb=1, gpu_count=1))
    world.run("plain", priority=Priority.LOW)
    held = world.order == ["plain"]
    world.press(gpu=0.9)
    held = held and world.order == ["plain"]
    world.press(gpu=0.5)
    return held and world.order == ["plain", "low"]


def stalls_for_memory_hold_background(world: World) -> bool:
    """The same by how long work waited for memory (PSI), though there seems to be enough of it."""
    marks = {"memory": 0.5}
    return (
        holds(world, "memory", memory_stalled=0.3, **marks)
        and stays(world, memory_stalled=0.1, **marks)
        and goes_on(world, memory_stalled=0.01, **marks)
    )


def stalls_for_cores_hold_background(world: World) -> bool:
    """The same by how long all of us waited for a core (PSI), though the machine seems to have idle ones."""
    marks = {"cpu": 0.3, "foreign_cpu": 0.0}
    return (
        holds(world, "cpu", cpu_stalled=0.6, **marks)
        and stays(world, cpu_stalled=0.3, **marks)
        and goes_on(world, cpu_stalled=0.1, **marks)
    )


def holds(world: World, reason: str, **pressure: float) -> bool:
    """Whether a LOW task does not start under this pressure, and why not is said."""
    world.press(**pressure)
    world.run("low", priority=Priority.LOW)
    return not world.order and world.core.pause_reason == reason


def stays(world: World, **pressure: float) -> bool:
    """Whether it still does not, between the marks."""
    world.press(**pressure)
    return not world.order


def goes_on(world: World, **pressure: float) -> bool:
    """Whether it does now, and the next one between the marks, too: nothing flaps."""
    world.press(**pressure)
    return world.order == ["low"] and world.core.pause_reason is None


def background_leaves_a_little(world: World) -> bool:
    """Who asks for little starts beside background work that would take all there is, and need not wait for its end."""
    world.run("batch", Work(lasts_s=5), priority=Priority.BATCH, requirement=Requirement(cpu_cores=2.0, memory_mb=1))
    world.run("low", Work(lasts_s=5), priority=Priority.LOW, requirement=Requirement(cpu_cores=0.1, memory_mb=1))
    world.run("high", priority=Priority.HIGH)
    return world.order == ["batch", "high"]


def battery_slows(world: World) -> bool:
    """On battery background work goes one at a time."""
    world.press(on_battery=True)
    for n in range(3):
        world.run(f"low{n}", Work(lasts_s=1), priority=Priority.LOW)
    return world.order == ["low0"]


def battery_pauses(world: World) -> bool:
    world.press(on_battery=True)
    world.run("low", priority=Priority.LOW)
    held = not world.order and world.core.pause_reason == "battery"
    world.press(on_battery=False)
    return held and world.order == ["low"]


def deaf(world: World, kind: StepKind, **work: Any) -> int:
    """Submit a task that takes all room and does not stop after its second, nor soon after it is told to."""
    made = Step(name="deaf", call=Work(lasts_s=1e6, stubborn_s=1e6, **work), kind=kind)
    limits = TimeoutPolicy(heartbeat_s=1.0)
    return world.submit(job(Task(name="deaf", steps=(made,), requirement=BIG, timeout=limits)))[0]


def what_is_deaf_is_ended_after_a_grace(world: World) -> bool:
    """A process that does not heed its cancel is killed; its task ends, and its room and slot are free."""
    ticket = deaf(world, StepKind.PROCESS)
    world.run("next", requirement=BIG)
    world.pass_s(1.05)
    graced = ticket not in world.outcomes
    world.pass_s(0.1)
    return graced and ticket in world.outcomes and "next" in world.order and not any(world.core.slots.used[3:])


def what_cannot_even_be_killed_is_gone_on_without(world: World) -> bool:
    """A process that hangs in the kernel: its task ends all the same, half a second after the kill."""
    ticket = deaf(world, StepKind.PROCESS, killable=False)
    world.pass_s(1.5)
    waited = ticket not in world.outcomes
    world.pass_s(0.2)
    return waited and ticket in world.outcomes and world.outcome(ticket).state is TaskState.FAILED


def room_of_what_never_ends_is_given_back(world: World) -> bool:
    """A thread cannot be ended: after five minutes others get its room, though its slot stays taken."""
    deaf(world, StepKind.THREAD)
    world.run("next", Work(lasts_s=1.0), requirement=BIG)
    world.pass_s(290)
    kept = world.order == ["deaf"]
    world.pass_s(20)
    return kept and world.order == ["deaf", "next"] and sum(world.core.slots.used[:3]) == 1


def failures_are_retried(world: World) -> bool:
    ticket = world.run("a", Work(fails=1), priority=Priority.LOW)
    world.settle()
    return world.outcome(ticket).state is TaskState.COMPLETED


def storms_are_bounded(world: World) -> bool:
    """Retries against one dependency stay within a tenth of the requests."""
    policy = RetryPolicy(max_retries=3, dependency="d")
    for n in range(100):
        world.run(f"r{n}", Work(fails=99), retry=policy)
        world.pass_s(0.5)
    world.settle()
    return len(world.begun) - 100 <= 13


def a_dead_dependency_is_left_alone(world: World) -> bool:
    policy = RetryPolicy(max_retries=0, dependency="d")
    for n in range(50):
        world.run(f"r{n}", Work(fails=99, lasts_s=0.1), retry=policy, priority=Priority.HIGH)
        world.pass_s(0.2)
    return len(world.begun) <= 6


def killers_are_quarantined(world: World) -> bool:
    world.run("k", Work(fails=99, kind=ErrorKind.WORKER_DIED), retry=RetryPolicy(max_retries=6))
    world.settle()
    return len(world.begun) == 2


def with_config(**changes: Any) -> Callable[[], World]:
    return lambda: World(config=dataclasses.replace(CONFIG, **changes))


def with_strategy(strategy: Strategy) -> Callable[[], World]:
    return lambda: World(config=CONFIG, strategy=strategy)


DEFAULTS = with_config()


@dataclass(frozen=True)
class Mechanism:
    scene: Callable[[World], bool]
    off: Callable[[], World]
    on: Callable[[], World] = DEFAULTS


_LEVELS = DEFAULT.disciplines
_FLAT = Strategy(tuple(dataclasses.replace(found, rank=0.0) for found in _LEVELS))

MECHANISMS = [
    Mechanism(urgent_first, with_strategy(_FLAT)),
    Mechanism(critical_has_room, with_config(reserved_cpu_cores=0.0)),
    Mechanism(batch_is_not_starved, with_config(batch_share=0.0)),
    Mechanism(late_work_makes_room, with_config(shed_after_s=math.inf)),
    Mechanism(batch_takes_no_whole_place, with_config(squeeze_batch=False)),
    Mechanism(background_takes_what_is_left, with_strategy(PRIORITY.guaranteed(Priority.CRITICAL))),
    Mechanism(waiting_work_rises, with_config(rise_after_s=math.inf)),
    Mechanism(served_work_does_not_rise, with_config(rise_by_job=False)),
    Mechanism(large_work_finds_room, with_config(reserve_after_s=math.inf)),
    Mechanism(urgent_work_preempts, with_config(preempt=False)),
    Mechanism(hogs_sink, with_config(sink_after_quanta=10**9, quanta_s=(math.inf,) * 5)),
    Mechanism(jobs_share_fairly, with_config(fair_shares=False)),
    Mechanism(background_holds_for_critical, with_config(hold_background_for_critical=False)),
    Mechanism(background_holds_while_critical_is_served, with_config(hold_for_served_s=0.0)),
    Mechanism(background_is_asked_to_hurry, with_config(preempt=False)),
    Mechanism(pressure_holds_background, with_config(cpu_high=2.0, cpu_low=2.0)),
    Mechanism(memory_pressure_holds_background, with_config(memory_high=2.0, memory_low=2.0)),
    Mechanism(gpu_pressure_holds_who_wants_a_gpu, with_config(gpu_high=2.0, gpu_low=2.0)),
    Mechanism(stalls_for_memory_hold_background, with_config(memory_stalled_high=math.inf)),
    Mechanism(stalls_for_cores_hold_background, with_config(cpu_stalled_high=math.inf)),
    Mechanism(background_leaves_a_little, with_config(spare_cpu_cores=0.0)),
    Mechanism(battery_slows, with_config(on_battery=OnBattery.IGNORE)),
    Mechanism(battery_pauses, with_config(on_battery=OnBattery.IGNORE), with_config(on_battery=OnBattery.PAUSE)),
    Mechanism(what_is_deaf_is_ended_after_a_grace, with_config(cancel_grace_s=math.inf)),
    Mechanism(what_cannot_even_be_killed_is_gone_on_without, with_config(kill_grace_s=math.inf)),
    Mechanism(room_of_what_never_ends_is_given_back, with_config(forced_release_s=math.inf)),
    Mechanism(
        failures_are_retried, with_config(retries=dict.fromkeys(Priority, RetryDefaults(max_retries=0, stretch=1.0)))
    ),
    Mechanism(
        storms_are_bounded,
        with_config(retry_budget_share=math.inf, retry_budget_floor=10**6, breaker_failures=10**9),
        with_config(breaker_failures=10**9),
    ),
    Mechanism(a_dead_dependency_is_left_alone, with_config(breaker_failures=10**9)),
    Mechanism(killers_are_quarantined, with_config(quarantine_after_deaths=10**9)),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda found: found.scene.__name__)
def test_a_mechanism_does_what_it_is_for(mechanism: Mechanism) -> None:
    assert mechanism.scene(mechanism.on())


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda found: found.scene.__name__)
def test_the_scene_fails_with_the_mechanism_off(mechanism: Mechanism) -> None:
    """Otherwise the test above would prove nothing."""
    assert not mechanism.scene(mechanism.off())


def test_on_battery_background_work_goes_one_at_a_time() -> None:
    world = World(config=CONFIG)
    world.press(on_battery=True)
    for n in range(3):
        world.run(f"low{n}", Work(lasts_s=1), priority=Priority.LOW)
    assert world.order == ["low0"]
    assert world.core.pause_reason is None
    world.settle()
    assert world.order == ["low0", "low1", "low2"]


@pytest.mark.parametrize("priority", [Priority.LOW, Priority.BATCH])
def test_background_keeps_a_share_under_foreign_load(priority: Priority) -> None:
    """Held back by a busy machine, background work still gets a few percent, by a timer and not by chance."""
    world = World(config=CONFIG)
    world.press(cpu=1.0, foreign_cpu=0.95)
    for n in range(60):
        world.run(f"b{n}", Work(lasts_s=0.05), priority=priority, requirement=Requirement(cpu_cores=1.0))
    world.pass_s(20)
    assert 0.04 * 20 <= len(world.order) * 0.05 <= 0.12 * 20


def test_what_is_left_is_not_for_the_background_while_urgent_work_waits_for_it() -> None:
    world = World(config=CONFIG)
    world.run("batch", Work(lasts_s=1.0), priority=Priority.BATCH, requirement=Requirement(cpu_cores=1.0))
    world.run("high", Work(lasts_s=1.0), priority=Priority.HIGH, requirement=Requirement(cpu_cores=1.0))
    world.run("normal", Work(lasts_s=1.0), requirement=Requirement(cpu_cores=1.0))
    world.pass_s(1.5)
    assert world.order == ["batch", "high", "normal"]
    assert [found.at_s for found in world.begun] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("foreign", [0.0, 0.95])
def test_a_claim_is_charged_the_place_it_held(foreign: float) -> None:
    """However little it computes, and whoever else loads the machine: a claim goes before HIGH work."""
    world = World(config=CONFIG)
    world.press(cpu=1.0, foreign_cpu=foreign)
    for n in range(200):
        work = Work(lasts_s=0.05, cpu_s=0.001)
        world.run(f"b{n}", work, priority=Priority.BATCH, requirement=Requirement(cpu_cores=1.0))
    pour(world, "s", Priority.HIGH, 0.1, 20.0)
    assert sum(found.cores for found in world.begun if found.name.startswith("b")) * 0.05 <= 0.12 * 20


def test_a_claim_that_lacks_room_wakes_nobody() -> None:
    """Under foreign load, with everything taken: time alone would change nothing, and waking for it would never end."""
    world = World(config=CONFIG)
    world.press(cpu=1.0, foreign_cpu=0.95)
    world.run("high", Work(lasts_s=50), priority=Priority.HIGH, requirement=BIG)
    world.run("batch", priority=Priority.BATCH, requirement=BIG)
    wakes = 0
    while world.step(40.0):
        wakes += 1
        assert wakes < 10, "it wakes without end"
    world.pass_s(60.0)
    assert world.order == ["high", "batch"]


def test_memory_pressure_leaves_no_share() -> None:
    """What is short of memory is not helped by more work."""
    world = World(config=CONFIG)
    world.press(memory=0.95)
    world.run("b", priority=Priority.BATCH)
    world.pass_s(60)
    assert not world.order
    assert world.core.pause_reason == "memory"
    world.press(memory=0.5)
    assert world.order == ["b"]


def test_the_plain_strategies() -> None:
    """FIFO is by arrival alone, PRIORITY by level alone."""

    def starts(strategy: Strategy) -> list[str]:
        world = World(config=dataclasses.replace(CONFIG, batch_share=0.0), strategy=strategy)
        world.run("block", Work(lasts_s=0.1), requirement=BIG)
        for name, priority in (("b", Priority.BATCH), ("n", Priority.NORMAL), ("h", Priority.HIGH)):
            world.run(name, priority=priority, requirement=BIG)
        world.settle()
        return world.order[1:]

    assert starts(FIFO) == ["b", "n", "h"]
    assert starts(PRIORITY) == ["h", "n", "b"]


def test_timeouts_are_a_mechanism_too() -> None:
    world = World(config=CONFIG)
    limited = world.run("a", Work(lasts_s=100), timeout=TimeoutPolicy(hard_s=1))
    free = world.run("b", Work(lasts_s=100))
    world.pass_s(2)
    assert limited in world.outcomes
    assert free not in world.outcomes
