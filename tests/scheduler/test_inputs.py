"""What goes into the core: instants that go back, errands by hand, what is said of pauses, which numbers hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from headway.scheduler.config import OnBattery, SchedulerConfig
from headway.scheduler.errors import QueueFullError, SchedulerClosedError, SubmissionError
from headway.scheduler.model import (
    ErrorKind,
    Job,
    JobState,
    OnTaskFailure,
    PausedChanged,
    Priority,
    Requirement,
    Task,
    TaskEnded,
    TaskQueued,
    TaskState,
    TimeoutPolicy,
)
from headway.scheduler.stimuli import (
    Closing,
    HeartbeatSeen,
    JobCancelled,
    LevelsPaused,
    LevelsResumed,
    PrioritySet,
    Reconfigured,
    Submitted,
    TimePassed,
    Withdrawn,
)
from headway.scheduler.sweeps import AT_ONCE
from tests.scheduler.world import Work, World, job, task

LOW, BATCH, HIGH = Priority.LOW, Priority.BATCH, Priority.HIGH


async def call() -> None:
    """Nothing: the core never calls it."""


def unobserved() -> World:
    world = World()
    world.core.observe(False)
    return world


# ---- instants


def test_an_instant_before_an_earlier_one_counts_as_that_one() -> None:
    world = World()
    world.now_s = 10.0
    first = world.run("first", Work(lasts_s=1.0))
    assert world.core.told_at_s == 10.0
    world.now_s = 4.0
    world.run("second", Work(lasts_s=1.0))
    world.tell(HeartbeatSeen(world.begun[0].run.run_id))
    assert world.core.told_at_s == 10.0
    assert [event.at_s for event in world.of(TaskQueued)] == [10.0, 10.0]
    world.pass_s(20.0)
    assert world.outcomes[first].state is JobState.COMPLETED
    assert world.core.told_at_s > 10.0


def test_so_it_does_for_what_goes_the_short_ways() -> None:
    core = unobserved().core
    errand = core.run_errand(call, (), None, Priority.NORMAL, 3.0)
    assert errand is not None
    assert core.told_at_s == 3.0
    late = core.run_errand(call, (), None, Priority.NORMAL, 1.0)
    assert late is not None
    assert core.told_at_s == 3.0
    core.errand_ended(errand, None, 0.1, 5.0)
    assert core.told_at_s == 5.0
    core.errand_ended(late, None, 0.1, 2.0)
    assert core.told_at_s == 5.0
    core.submit_one(job(task("t")), 1, 1, 7.0)
    core.submit_one(job(task("t")), 2, 1, 6.0)
    assert core.told_at_s == 7.0


def test_what_may_be_joined_is_joined_however_it_comes() -> None:
    world = World()
    for ticket in (100, 101):
        found = world.core.submit_one(job(task("shared", 1.0), share_key="k"), ticket, 1, 0.0)
        assert (found != []) is (ticket == 100)
    assert len(world.core.book.active) == 1


# ---- errands


def test_while_an_errand_is_in_flight_the_core_is_not_idle() -> None:
    core = unobserved().core
    seen = [core.idle]
    errand = core.run_errand(call, (), None, Priority.NORMAL, 0.0)
    assert errand is not None
    seen.append(core.idle)
    core.errand_ended(errand, None, 0.1, 1.0)
    seen.append(core.idle)
    core.submit_one(job(task("t")), 1, 1, 2.0)
    seen.append(core.idle)
    assert seen == [True, False, True, False]


def test_after_most_errands_there_is_nothing_to_do() -> None:
    core = unobserved().core
    assert core.run_errand(call, (), None, Priority.NORMAL, 0.0) is not None
    assert list(core.follow()) == []


@pytest.mark.parametrize(
    ("observed", "errands", "goes"), [(False, False, True), (True, False, False), (True, True, True)]
)
def test_whoever_watches_each_step_sees_no_errands(observed: bool, errands: bool, goes: bool) -> None:
    core = World().core
    core.observe(observed, errands=errands)
    assert (core.run_errand(call, (), None, Priority.NORMAL, 0.0) is not None) is goes
    core.handle(Closing("the end"), 1.0)
    core.observe(observed, errands=errands)
    assert core.run_errand(call, (), None, Priority.NORMAL, 2.0) is None, "nothing is taken any more"


# ---- what is said of pauses


def said(world: World) -> list[tuple[tuple[Priority, ...], str | None]]:
    return [(event.priorities, event.reason) for event in world.of(PausedChanged)]


def test_a_pause_is_said_once() -> None:
    world = World()
    world.tell(LevelsPaused((LOW, BATCH), "user"))
    assert world.core.paused == (LOW, BATCH)
    world.tell(LevelsPaused((LOW,), "user"))
    world.tell(LevelsResumed((LOW,)))
    world.tell(LevelsResumed((BATCH,)))
    assert said(world) == [((LOW, BATCH), "user"), ((BATCH,), "user"), ((), None)]


def test_what_the_machine_pauses_is_said_once() -> None:
    world = World()
    world.press(memory=0.95)
    world.press(memory=0.96)
    world.press(memory=0.5)
    assert said(world) == [((), "memory"), ((), None)]


def test_what_other_numbers_pause_is_said() -> None:
    world = World()
    world.press(on_battery=True)
    assert said(world) == []
    world.tell(Reconfigured(dataclasses.replace(world.config, on_battery=OnBattery.PAUSE)))
    assert said(world) == [((), "battery")]


def test_nothing_is_said_where_nobody_listens() -> None:
    world = unobserved()
    for event in (LevelsPaused((LOW,), "user"), LevelsResumed((LOW,))):
        assert world.core.handle(event, 0.0) == []
    world.press(memory=0.95)
    assert world.events == []


# ---- a machine that changes


def test_what_no_longer_fits_ends_and_the_rest_goes_on() -> None:
    """One that runs, one that is done, and CRITICAL work that may use what is kept free: none of them ends."""
    world = World(check=False)  # for a while more is used than there is
    runs = world.run("runs", Work(lasts_s=1.0), requirement=Requirement(cpu_cores=1.5, memory_mb=100))
    waits = world.run("waits", requirement=Requirement(cpu_cores=1.5, memory_mb=1))
    fits = world.run("fits", requirement=Requirement(cpu_cores=1.0, memory_mb=1))
    urgent = world.run("urgent", requirement=Requirement(cpu_cores=1.0, memory_mb=6350), priority=Priority.CRITICAL)
    config = dataclasses.replace(world.config, cpu_cores=1.0)
    world.tell(Reconfigured(config))
    assert waits in world.outcomes
    world.settle()
    states = [world.outcomes[ticket].state for ticket in (runs, waits, fits, urgent)]
    assert states == [JobState.COMPLETED, JobState.FAILED, JobState.COMPLETED, JobState.COMPLETED]


@pytest.mark.parametrize("priority", [Priority.CRITICAL, HIGH])
def test_a_queue_full_of_background_keeps_out_nothing_urgent(priority: Priority) -> None:
    """What is urgent is refused only where it fills as much by itself, alone or several jobs at once."""
    world = World(config=SchedulerConfig(queue_capacity=3))
    whole = Requirement(cpu_cores=1.5, memory_mb=1)
    all_of_it = Requirement(cpu_cores=2.0, memory_mb=1)
    world.run("runs", Work(lasts_s=1.0), requirement=all_of_it, priority=Priority.CRITICAL)
    for n in range(3):
        world.run(f"batch{n}", requirement=whole, priority=BATCH)
    with pytest.raises(QueueFullError, match="3 of at most 3"):
        world.run("normal", requirement=whole)
    world.submit(*(job(task("urgent", cores=1.5), priority=priority) for _ in range(2)))
    with pytest.raises(QueueFullError):
        world.submit(*(job(task("mixed", cores=1.5), priority=found) for found in (priority, BATCH)))
    world.run("urgent", requirement=whole, priority=priority)
    with pytest.raises(QueueFullError):
        world.run("urgent", requirement=whole, priority=priority)
    with pytest.raises(QueueFullError):
        world.submit(*(job(task("urgent", cores=1.5), priority=priority) for _ in range(2)))
    world.settle()
    assert sorted(world.order) == ["batch0", "batch1", "batch2", "runs", *["urgent"] * 3]


def test_several_may_come_at_once() -> None:
    world = World()
    world.tell(Submitted((job(task("a")), job(task("b"))), (1, 2)))
    assert [record.title for record in (found.job for found in world.core.submitted)] == ["job", "job"]
    assert world.order == ["a", "b"]


# ---- jobs that come, and tasks that follow


class Source:
    """A source that only a test asks."""

    def __aiter__(self) -> Source:
        return self

    async def __anext__(self) -> Task:
        raise StopAsyncIteration


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ({"job_id": "taken"}, "taken"),
        ({"tasks": Source(), "window": 0}, "window is below 1"),
        ({"tasks": 5}, "neither a sequence nor an async iterator"),
    ],
)
def test_a_job_that_cannot_be_is_refused_with_all_that_came_with_it(what: dict[str, Any], said: str) -> None:
    world = World()
    world.run("first", Work(lasts_s=1.0), job_id="taken")
    with pytest.raises(SubmissionError, match=said):
        world.submit(job(task("fine")), dataclasses.replace(job(task("bad")), **what))
    assert world.order == ["first"]
    world.settle()
    assert len(world.outcomes) == 1
    world.check_empty()


def test_a_closed_scheduler_takes_neither_one_nor_several() -> None:
    world = World()
    world.tell(Closing("the end"))
    for jobs in ((job(task("a")),), (job(task("a")), job(task("b"))), (job(task("a"), share_key="k"),)):
        with pytest.raises(SchedulerClosedError):
            world.submit(*jobs)
    world.check_empty()


def test_an_id_may_be_used_again_when_its_job_has_ended_and_the_newer_one_is_remembered() -> None:
    world = World()
    for title in ("older", "newer"):
        world.submit(job(task("t"), title=title, job_id="mine"))
        world.settle()
    found = world.core.book.find("mine")
    assert found is not None
    assert found.job.title == "newer"
    assert [record.job.title for record in world.core.book.recent(10)] == ["newer"]


@pytest.mark.parametrize("anyway", [False, True])
def test_what_a_source_gives_behind_a_failure_is_skipped_unless_it_runs_anyway(anyway: bool) -> None:
    world = World()
    ticket = world.submit(
        Job(type="t", title="fed", tasks=Source(), job_id="fed", on_task_failure=OnTaskFailure.CONTINUE)
    )
    world.feed("fed", [task("bad", fails=9, kind=ErrorKind.NOT_FOUND)])
    world.pass_s(1.0)
    world.feed("fed", [task("after", after=("bad",), run_anyway=anyway)], exhausted=True)
    world.settle()
    found = world.outcome(ticket[0], "after")
    assert found.state is (TaskState.COMPLETED if anyway else TaskState.SKIPPED)
    assert (found.error is None) is anyway
    assert found.error is None or "bad" in found.error.message


def test_what_a_source_gives_when_its_job_is_being_cancelled_is_not_taken() -> None:
    """What runs has its grace, so that the job is still there."""
    world = World()
    ticket = world.submit(Job(type="t", title="fed", tasks=Source(), job_id="fed"))
    world.feed("fed", [task("deaf", 9.0, stubborn_s=0.05)])
    world.tell(JobCancelled("fed", "enough"))
    world.feed("fed", [task("more")])
    world.settle()
    assert world.order == ["deaf"]
    assert set(world.outcomes[ticket[0]].results) == {"deaf"}
    world.check_empty()


def test_somebodys_word_goes_for_all_who_share() -> None:
    """Nor does it count any more who among them was more urgent."""
    world = World()
    world.run("all of it", Work(lasts_s=1.0), requirement=Requirement(cpu_cores=1.5, memory_mb=1))
    want: dict[str, Any] = {"share_key": "k", "requirement": Requirement(cpu_cores=1.5, memory_mb=1)}
    tickets = [world.run("shared", priority=priority, **want) for priority in (LOW, HIGH)]
    [record] = [found for found in world.core.book.active.values() if found.waiters is not None]
    assert record.priority is HIGH
    world.tell(PrioritySet(record.job_id, BATCH))
    assert record.priority is BATCH
    world.tell(Withdrawn(tickets[1], "gone"))
    assert record.priority is BATCH
    world.settle()
    assert world.outcomes[tickets[0]].state is JobState.COMPLETED
    world.check_empty()


def test_a_sweep_that_is_slower_than_a_limit_ends_nobody_twice() -> None:
    """Thousands are being cancelled, a few at a time, when the longest time in the queue of all of them is over."""
    world = World()
    many = [task(f"t{n}", 9.0, cores=1.5, timeout=TimeoutPolicy(queue_s=1.0)) for n in range(10 * AT_ONCE)]
    ticket = world.submit(job(*many, job_id="crowd"))[0]
    while world.core.jobs.sweeps.works:
        world.tell(TimePassed())
    world.tell(JobCancelled("crowd", "enough"))
    world.now_s = 2.0
    world.settle()
    states = {found.state for found in world.outcomes[ticket].results.values()}
    assert states == {TaskState.CANCELLED}
    assert len(world.of(TaskEnded)) == len(many)
    world.check_empty()
