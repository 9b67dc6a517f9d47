"""What concerns very many tasks: done a few at a time, complete in the end, and nothing of it seen half done."""

import collections

import pytest

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.model import ErrorKind, JobState, OnTaskFailure, Priority, TaskEnded, TaskStarted, TaskState
from headway.scheduler.stimuli import Closing, JobCancelled, JobPaused, JobResumed, PrioritySet, TimePassed
from headway.scheduler.sweeps import AT_ONCE
from tests.scheduler.world import Work, World, job, task

MANY = 20 * AT_ONCE


def crowd(world: World) -> int:
    """Submit a job of very many tasks, of which a few run, and let all of them come in."""
    ticket = world.submit(job(*(task(f"t{number}", 1.0) for number in range(MANY)), job_id="crowd"))[0]
    while world.core.jobs.sweeps.works:
        world.tell(TimePassed())
    return ticket


def ends(world: World) -> collections.Counter[str]:
    return collections.Counter(event.task_id for event in world.of(TaskEnded))


def test_a_cancel_ends_a_few_at_a_time_and_each_once() -> None:
    world = World()
    ticket = crowd(world)
    begun = len(world.begun)
    assert begun > 10
    world.tell(JobCancelled("crowd", "enough"))
    assert ticket not in world.outcomes
    assert world.core.next_wake_at_s() == world.now_s
    world.tell(TimePassed())
    assert 0 < len(ends(world)) <= AT_ONCE
    # Whoever comes now is served at once, from the places that the cancelled runs leave.
    other = world.run("other", priority=Priority.HIGH)
    world.settle()
    assert world.outcomes[ticket].state is JobState.CANCELLED
    assert world.outcomes[other].state is JobState.COMPLETED
    assert set(ends(world).values()) == {1}
    assert len(ends(world)) == MANY + 1
    assert len(world.begun) == begun + 1, "something of a cancelled job was started"
    assert {found.state for found in world.outcomes[ticket].results.values()} == {TaskState.CANCELLED}
    world.check_empty()


def test_between_two_slices_nothing_doomed_starts_though_there_is_room() -> None:
    world = World()
    ticket = crowd(world)
    equal = world.run("equal")  # waits in the same line, behind them all
    begun = len(world.begun)
    world.tell(JobCancelled("crowd", "enough"))
    turns = 0
    while equal not in world.outcomes:
        assert world.step()
        turns += 1
        assert turns < MANY
    assert [found.name for found in world.begun[begun:]] == ["equal"]
    world.settle()
    assert world.outcomes[ticket].state is JobState.CANCELLED
    world.check_empty()


def test_a_failure_that_stops_the_job_skips_the_rest_in_slices() -> None:
    world = World()
    tasks = [
        task("bad", 0.5, fails=99, kind=ErrorKind.INVALID_INPUT),
        *(task(f"t{number}", 1.0) for number in range(MANY)),
    ]
    ticket = world.submit(job(*tasks, on_task_failure=OnTaskFailure.STOP))[0]
    world.settle()
    states = collections.Counter(found.state for found in world.outcomes[ticket].results.values())
    assert world.outcomes[ticket].state is JobState.FAILED
    assert states[TaskState.FAILED] == 1
    assert states[TaskState.SKIPPED] > MANY - 50
    assert set(ends(world).values()) == {1}
    world.check_empty()


def test_a_job_that_is_cancelled_while_it_comes_in_never_runs_the_rest() -> None:
    world = World()
    ticket = world.submit(job(*(task(f"t{number}", 1.0) for number in range(MANY)), job_id="crowd"))[0]
    world.tell(TimePassed())
    assert 0 < len(world.of(TaskStarted)) <= AT_ONCE
    world.tell(JobCancelled("crowd", "enough"))
    begun = len(world.begun)
    world.settle()
    assert len(world.begun) == begun
    assert len(ends(world)) == MANY
    assert world.outcomes[ticket].state is JobState.CANCELLED
    world.check_empty()


def test_who_comes_while_a_large_job_comes_in_is_behind_all_of_it() -> None:
    world = World()
    world.submit(job(*(task(f"t{number}", 0.01) for number in range(MANY))))
    world.run("later")
    world.settle()
    assert world.order == [*(f"t{number}" for number in range(MANY)), "later"]


def test_a_paused_job_that_still_comes_in_waits_whole_and_resumes_whole() -> None:
    world = World()
    ticket = world.submit(job(*(task(f"t{number}", 0.01) for number in range(MANY)), job_id="crowd"))[0]
    world.tell(JobPaused("crowd"))
    world.pass_s(60.0)
    assert len(world.begun) < AT_ONCE
    world.tell(JobResumed("crowd"))
    world.settle()
    assert world.outcomes[ticket].state is JobState.COMPLETED
    assert world.order == [f"t{number}" for number in range(MANY)]


def test_a_large_job_is_moved_in_slices_and_whole() -> None:
    world = World()
    ticket = crowd(world)
    world.tell(PrioritySet("crowd", Priority.HIGH))
    while world.core.jobs.sweeps.works:
        world.tell(TimePassed())
    assert world.core.flow.queued[Priority.NORMAL] == 0
    assert world.core.flow.running[Priority.NORMAL] == 0
    world.settle()
    assert world.outcomes[ticket].state is JobState.COMPLETED


@pytest.mark.parametrize("cancelled_before", [False, True])
def test_closing_waits_for_no_slice(cancelled_before: bool) -> None:
    world = World()
    ticket = crowd(world)
    if cancelled_before:
        world.tell(JobCancelled("crowd", "enough"))
    world.tell(Closing("the end"))
    assert not world.core.jobs.sweeps.works
    assert sum(world.core.flow.queued) == 0
    world.settle()
    assert world.outcomes[ticket].state is JobState.CANCELLED
    world.check_empty()


def test_what_starts_too_late_ends_the_others_that_were_about_to_start() -> None:
    """Of tasks that get their room together the first is past its deadline, and its failure stops the job."""
    world = World()
    world.run("holds it all", Work(lasts_s=5.0), requirement=task("x", cores=1.5).requirement)
    first = task("late", 1.0, deadline_at_s=5.0, cores=0.3)
    ticket = world.submit(job(first, *(task(f"t{n}", cores=0.3) for n in range(3)), on_task_failure=OnTaskFailure.STOP))
    world.settle()
    assert set(ends(world).values()) == {1}
    assert world.outcomes[ticket[0]].state is JobState.FAILED
    assert world.order == ["holds it all"]
    world.check_empty()


def test_what_depends_on_a_failure_is_skipped_in_slices_and_what_waited_for_it_is_freed_in_slices() -> None:
    for fails, state in ((99, TaskState.SKIPPED), (0, TaskState.COMPLETED)):
        world = World()
        first = task("first", 0.5, fails=fails, kind=ErrorKind.INVALID_INPUT)
        ticket = world.submit(job(first, *(task(f"t{n}", 0.01, after=["first"]) for n in range(MANY))))[0]
        most = 0
        while ticket not in world.outcomes:
            before = len(world.events)
            assert world.step()
            most = max(most, len(world.events) - before)
        assert most < 6 * AT_ONCE  # an end is at most a few events
        assert collections.Counter(found.state for found in world.outcomes[ticket].results.values())[state] >= MANY
        assert set(ends(world).values()) == {1}
        world.check_empty()


def test_a_job_of_very_many_is_forgotten_in_slices() -> None:
    world = World(config=SchedulerConfig(remembered_jobs=1))
    crowd(world)
    world.settle()
    record = world.core.book.find("crowd")
    assert record is not None
    world.run("next")
    while world.core.book.find("crowd") is not None:
        assert world.step()
    turns = 0
    while any(found.job is record for found in record.tasks):
        assert world.core.next_wake_at_s() == world.now_s
        world.tell(TimePassed())
        turns += 1
    assert turns == MANY / AT_ONCE
