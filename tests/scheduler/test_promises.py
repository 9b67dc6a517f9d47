"""What users are promised whatever happens, judged from outside: by what was submitted, begun and told alone.

Each promise is also broken on purpose, by a core that errs in one thing: a judge who would not notice is no judge.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.core import SchedulerCore
from headway.scheduler.executors.base import Totals
from headway.scheduler.model import (
    Event,
    Job,
    JobChanged,
    JobState,
    Priority,
    Requirement,
    Task,
    TaskEnded,
    TaskQueued,
    TaskStarted,
)
from headway.scheduler.resources import Quota
from headway.scheduler.stimuli import (
    Command,
    Input,
    JobCancelled,
    JobPaused,
    JobResumed,
    LevelsPaused,
    LevelsResumed,
    PrioritySet,
    StepEnded,
    Submitted,
)
from tests import strategies as drawn
from tests.scheduler.world import COMPILED, TOTALS, Begun, Work, World, task
from tests.scheduler.world import job as one_job

CONFIG = SchedulerConfig(queue_capacity=1_000_000)
ROOM = 1.5
BIG = Requirement(cpu_cores=ROOM, memory_mb=1)
ENDED_JOBS = (JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED)
PAUSABLE = st.lists(st.sampled_from([Priority.HIGH, Priority.NORMAL, Priority.LOW, Priority.BATCH]), unique=True)


# ---- a judge and his machine -----------------------------------------------------------------------------------------


class Judge:
    """Knows what was submitted, and compares with it what was begun and told."""

    def __init__(self) -> None:
        self.tasks: dict[tuple[str, str], Task] = {}
        self._job_states: dict[str, JobState] = {}
        self._queued: set[str] = set()
        self._told: dict[tuple[str, str], int] = {}  # the end of each task, as which event
        self._ended: set[str] = set()
        self._heard = 0
        self._seen = 0

    def submitted(self, job_id: str, job: Job) -> None:
        """Note what a job asks for; one that was joined to another's keeps the other's word."""
        for found in listed(job):
            self.tasks.setdefault((job_id, found.name), found)

    def hear(self, events: list[Event]) -> None:
        """States move as they may, and each task ends once, with nothing after it."""
        for number, event in enumerate(events[self._heard :], self._heard):
            match event:
                case JobChanged(job_id=job_id, previous=previous, state=state):
                    assert self._job_states.get(job_id) is previous, f"{job_id} was not {previous}"
                    assert previous not in ENDED_JOBS, f"{job_id} goes on after its end"
                    assert state is not previous
                    self._job_states[job_id] = state
                case TaskQueued(task_id=task_id):
                    assert task_id not in self._ended, f"{task_id} waits after its end"
                    self._queued.add(task_id)
                case TaskStarted(task_id=task_id):
                    assert task_id not in self._ended, f"{task_id} starts after its end"
                    assert task_id in self._queued, f"{task_id} starts without having waited"
                case TaskEnded(task_id=task_id, job_id=job_id, name=name):
                    assert task_id not in self._ended, f"{task_id} ends twice"
                    self._ended.add(task_id)
                    self._told[job_id, name] = number
        self._heard = len(events)

    def look(self, begun: list[Begun]) -> None:
        """Nothing begins before all that it depends on has ended."""
        for found in begun[self._seen :]:
            context = found.run.context
            for need in self.tasks[context.job_id, found.name].depends_on:
                told = self._told.get((context.job_id, need), math.inf)
                assert told < found.after, f"{found.name} began before {need} ended"
        self._seen = len(begun)

    def weigh(self, running: list[Begun]) -> None:
        """What runs, and was not told to stop, has room in the machine. CRITICAL work may get by with fewer cores."""
        cores = memory_mb = 0.0
        for found in running:
            requirement = self.tasks[found.run.context.job_id, found.name].requirement
            memory_mb += found.run.memory_mb
            cores += 0.0 if found.run.priority is Priority.CRITICAL else requirement.cpu_cores
        assert cores <= TOTALS.cpu_cores + 1e-6, "more cores are used than there are"
        assert memory_mb <= TOTALS.memory_mb + 1e-6, "more memory is used than there is"


def listed(job: Job) -> tuple[Task, ...]:
    assert isinstance(job.tasks, tuple)
    return job.tasks


class Meddled:
    """A core that errs in one thing, and is asked like one that does not."""

    def __init__(self, core: SchedulerCore) -> None:
        self._core = core

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def handle(self, event: Input, now_s: float) -> list[Command]:
        return self.told(self._core.handle(self.heard(event), now_s))

    def heard(self, event: Input) -> Input:
        return event

    def told(self, commands: list[Command]) -> list[Command]:
        return commands


class PromisesMachine(RuleBasedStateMachine):
    """Random jobs, cancels, pauses, moves, failures, retries and steps of the clock, before a judge."""

    core: Callable[[SchedulerCore], Any] = staticmethod(lambda core: core)
    totals: Totals = TOTALS

    def __init__(self) -> None:
        super().__init__()
        self.world = World(config=CONFIG, totals=self.totals, slots=(3, 2, 2, 1, 2, 1), check=False)
        self.world.core = self.core(self.world.core)
        self.judge = Judge()
        self.tickets: list[int] = []

    @rule(submitted=st.lists(drawn.jobs(), min_size=1, max_size=3))
    def submit(self, submitted: list[Job]) -> None:
        self.tickets += self.world.submit(*submitted)
        for record, job in zip(self.world.core.submitted, submitted, strict=True):
            self.judge.submitted(record.job_id, job)

    @rule(duration_s=st.sampled_from([0.001, 0.02, 0.15, 1.0, 6.0]))
    def time_passes(self, duration_s: float) -> None:
        self.world.pass_s(duration_s)

    @rule(back_s=st.sampled_from([0.5, 100.0]))
    def the_clock_steps_back(self, back_s: float) -> None:
        now_s, self.world.now_s = self.world.now_s, self.world.now_s - back_s
        self.world.press()
        self.world.now_s = now_s

    @rule(data=st.data(), what=st.sampled_from([JobCancelled, JobPaused, JobResumed, PrioritySet]))
    def somebody_steers_a_job(self, data: st.DataObject, what: type[Any]) -> None:
        active = sorted(self.world.core.book.active)
        if active:
            job_id = data.draw(st.sampled_from(active))
            more = {JobCancelled: ("enough",), PrioritySet: (data.draw(drawn.priorities),)}.get(what, ())
            self.world.tell(what(job_id, *more))

    @rule(levels=PAUSABLE, paused=st.booleans())
    def somebody_pauses_levels(self, levels: list[Priority], paused: bool) -> None:
        self.world.tell(LevelsPaused(tuple(levels), "user") if paused else LevelsResumed(tuple(levels)))

    @invariant()
    def all_is_as_promised(self) -> None:
        world = self.world
        self.judge.hear(world.events)
        self.judge.look(world.begun)
        self.judge.weigh([run for run in world.runs if run.run.run_id not in world.cancelled])

    def teardown(self) -> None:
        """At last everything ends, everybody has been told, and all the room there is can be had."""
        world = self.world
        world.resume_all()
        self.all_is_as_promised()
        assert set(world.outcomes) >= set(self.tickets), "somebody was never told"
        world.pass_s(400)
        free = world.run("all of it", requirement=Requirement(cpu_cores=ROOM, memory_mb=6000), priority=Priority.HIGH)
        world.pass_s(1)
        assert free in world.outcomes, "room was lost"


PromisesMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestPromises = PromisesMachine.TestCase


class EndsTwice(Meddled):
    def told(self, commands: list[Command]) -> list[Command]:
        return [twin for found in commands for twin in (found,) * (2 if isinstance(found, TaskEnded) else 1)]


class ForgetsAnEnd(Meddled):
    """Every seventh word of an executor is lost, and its run was the last that anybody hears of."""

    def heard(self, event: Input) -> Input:
        if isinstance(event, StepEnded) and event.run_id % 7 == 3:
            return dataclasses.replace(event, run_id=10**9)
        return event


class ForgetsTheOrder(Meddled):
    def heard(self, event: Input) -> Input:
        if not isinstance(event, Submitted):
            return event
        loose = tuple(
            dataclasses.replace(job, tasks=tuple(dataclasses.replace(one, depends_on=()) for one in listed(job)))
            for job in event.jobs
        )
        return dataclasses.replace(event, jobs=loose)


class TellsBackwards(Meddled):
    def told(self, commands: list[Command]) -> list[Command]:
        return commands[::-1]


def lose_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every third release of room be forgotten."""
    release, count = Quota.release, iter(range(10**9))

    def forgetful(quota: Quota, grant: Any) -> bool:
        return True if next(count) % 3 == 2 else release(quota, grant)

    monkeypatch.setattr(Quota, "release", forgetful)


BREAKS: dict[str, tuple[dict[str, Any], str]] = {
    "ends a task twice": ({"core": EndsTwice}, "ends twice"),
    "forgets that a run ended": ({"core": ForgetsAnEnd}, "never told|room was lost"),
    "forgets the order of a job": ({"core": ForgetsTheOrder}, "began before"),
    "tells what happened backwards": ({"core": TellsBackwards}, "was not|without having waited|after its end"),
    "takes the machine for a larger one": ({"totals": Totals(cpu_cores=8.0, memory_mb=8000.0)}, "more cores"),
    "loses room": ({}, "never told|room was lost"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_core_that_breaks_a_promise_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the machine above would prove nothing."""
    if COMPILED and name == "loses room":
        pytest.skip("what is compiled cannot be broken from outside")
    changes, said = BREAKS[name]
    broken = type("Broken", (PromisesMachine,), changes)
    if name == "loses room":
        lose_room(monkeypatch)
    trial = settings(
        PromisesMachine.TestCase.settings,
        max_examples=100,
        derandomize=True,
        database=None,
        phases=(Phase.generate,),
        report_multiple_bugs=False,
        print_blob=False,
    )
    with pytest.raises(AssertionError, match=said):
        run_state_machine_as_test(broken, settings=trial)


# ---- first in, first out ---------------------------------------------------------------------------------------------

BATCHES = st.lists(
    st.tuples(
        st.lists(
            st.tuples(
                st.sampled_from([Priority.CRITICAL, Priority.HIGH, Priority.NORMAL]),
                st.sampled_from([0.01, 0.3, 2.0]),
            ),
            min_size=1,
            max_size=4,
        ),
        st.sampled_from([0.0, 0.05, 0.5, -3.0]),  # how far the clock goes on, or back, afterwards
        st.sampled_from([None, Priority.HIGH, Priority.NORMAL]),  # what is paused, or resumed, then
        st.booleans(),  # whether the newest job is cancelled then
    ),
    min_size=1,
    max_size=8,
)
Batches = list[tuple[list[tuple[Priority, float]], float, Priority | None, bool]]


def out_of_order(batches: Batches, core: Callable[[SchedulerCore], Any]) -> list[str]:
    """Submit batches of equal tasks; return those that began before an older one of their level."""
    world = World(config=CONFIG)
    world.core = core(world.core)
    paused: set[Priority] = set()
    count = 0
    for batch, passes_s, level, cancels in batches:
        jobs = []
        for priority, lasts_s in batch:
            jobs.append(one_job(task(f"{priority.name} {count}", lasts_s, cores=ROOM), priority=priority))
            count += 1
        world.submit(*jobs)
        if level is not None:
            world.tell((LevelsResumed if level in paused else lambda of: LevelsPaused(of, "user"))((level,)))
            paused ^= {level}
        if cancels and world.core.book.active:
            world.tell(JobCancelled(max(world.core.book.active, key=lambda found: int(found.split("-")[-1])), "no"))
        if passes_s >= 0:
            world.pass_s(passes_s)
        else:
            world.now_s += passes_s
    world.tell(LevelsResumed(tuple(Priority)))
    world.settle()
    late = []
    for priority in Priority:
        numbers = [int(name.split()[1]) for name in world.order if name.split()[0] == priority.name]
        late += [
            f"{priority.name} {number}" for number, before in zip(numbers[1:], numbers, strict=False) if number < before
        ]
    return late


@given(BATCHES)
@settings(deadline=None, max_examples=60)
def test_equal_work_begins_in_the_order_in_which_it_came(batches: Batches) -> None:
    """Whatever the clock does, who is cancelled and what is paused in between."""
    assert out_of_order(batches, lambda core: core) == []


class TakesTheNewestFirst(Meddled):
    def heard(self, event: Input) -> Input:
        if isinstance(event, Submitted):
            return dataclasses.replace(event, jobs=event.jobs[::-1], tickets=event.tickets[::-1])
        return event


def test_a_core_that_takes_the_newest_first_is_found_out() -> None:
    batches: Batches = [([(Priority.HIGH, 0.3)] * 3, 0.5, None, False)]
    assert out_of_order(batches, TakesTheNewestFirst)
    assert not out_of_order(batches, lambda core: core)


# ---- nothing starves -------------------------------------------------------------------------------------------------

STREAMS = st.lists(
    st.tuples(
        st.sampled_from([0.02, 0.1, 0.4]),  # how long a task of the stream takes
        st.sampled_from([0.4, 1.0, ROOM]),  # on how many cores
    ),
    min_size=3,
    max_size=6,
)
Streams = list[tuple[float, float]]


def flood(world: World, priority: Priority, streams: Streams, seconds: float) -> None:
    """Let each stream follow each of its tasks by the next, so that there is always more than the machine can take."""
    until_s = world.now_s + seconds
    alive: dict[int, int] = {}
    while True:
        for number, (lasts_s, cores) in enumerate(streams):
            if number not in alive or alive[number] in world.outcomes:
                room = Requirement(cpu_cores=cores, memory_mb=1)
                alive[number] = world.run(f"s{number}", Work(lasts_s=lasts_s), priority=priority, requirement=room)
        if not world.step(until_s):
            return


def batch_share(config: SchedulerConfig, streams: Streams) -> float:
    """Return what BATCH gets of one core in the worst ten seconds of a minute of endless HIGH work."""
    world = World(config=config, check=False)
    for number in range(200):
        room = Requirement(cpu_cores=1.0, memory_mb=1)
        world.run(f"b{number}", Work(lasts_s=0.05), priority=Priority.BATCH, requirement=room)
    flood(world, Priority.HIGH, [(lasts_s, ROOM) for lasts_s, _ in streams], 40.0)
    runs = [(found.at_s, found.ended_at_s or world.now_s) for found in world.begun if found.name.startswith("b")]
    return min(
        sum(max(0.0, min(end, start_s + 10) - max(begin, start_s)) for begin, end in runs) / 10
        for start_s in range(5, 30)
    )


@given(STREAMS)
@settings(deadline=None, max_examples=6)
def test_batch_work_gets_its_share_of_any_ten_seconds(streams: Streams) -> None:
    assert batch_share(CONFIG, streams) >= 0.05


def low_waits_s(config: SchedulerConfig, streams: Streams) -> float:
    """Return how long a LOW task waits beside endless NORMAL work."""
    world = World(config=config, check=False)
    world.run("s0", Work(lasts_s=0.1), requirement=BIG)
    low = world.run("low", priority=Priority.LOW, requirement=BIG)
    flood(world, Priority.NORMAL, streams, 15.0)
    return world.started_at("low") if low in world.outcomes else math.inf


@given(STREAMS)
@example([(0.005, 0.4)] * 3)  # always room for the small that come, so that none of them ever waits
@settings(deadline=None, max_examples=6)
def test_waiting_work_rises_in_time(streams: Streams) -> None:
    """Two ranks up to the front, and room is made for it by then."""
    assert low_waits_s(CONFIG, streams) <= 2 * CONFIG.rise_after_s + 1.0


def test_a_core_that_lets_work_starve_is_found_out() -> None:
    streams: Streams = [(0.1, ROOM)] * 3
    assert batch_share(dataclasses.replace(CONFIG, batch_share=0.0), streams) < 0.05
    assert low_waits_s(dataclasses.replace(CONFIG, rise_after_s=math.inf), streams) == math.inf
