"""What the core decides depends neither on who watches it nor on words that come too late to mean anything."""

from __future__ import annotations

import dataclasses
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from headway.scheduler.executors.base import StepResult
from headway.scheduler.model import (
    ErrorKind,
    Failure,
    JobOutcome,
    JobState,
    OnTimeout,
    Priority,
    Requirement,
    RetryPolicy,
    TaskKind,
    TimeoutPolicy,
)
from headway.scheduler.stimuli import (
    CallFallback,
    FallbackGiven,
    HeartbeatSeen,
    Input,
    JobCancelled,
    JobPaused,
    JobResumed,
    LevelsPaused,
    LevelsResumed,
    PartialReported,
    PrioritySet,
    Reconfigured,
    StepEnded,
    TasksFed,
    TimePassed,
    TotalKnown,
    Withdrawn,
)
from tests import strategies as drawn
from tests.scheduler.world import Work, World, job, steps, task

BIG = Requirement(cpu_cores=1.5, memory_mb=1)
LEVELS = st.sets(st.sampled_from([Priority.HIGH, Priority.NORMAL, Priority.LOW, Priority.BATCH]), max_size=3)
WHICH = st.integers(0, 5)
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.lists(drawn.jobs(), min_size=1, max_size=2)),
        st.tuples(st.just("pass"), st.sampled_from([0.001, 0.02, 0.15, 1.0, 6.0])),
        st.tuples(st.just("cancel"), WHICH),
        st.tuples(st.just("pause"), WHICH),
        st.tuples(st.just("resume"), WHICH),
        st.tuples(st.just("move"), WHICH, drawn.priorities),
        st.tuples(st.just("pause levels"), LEVELS),
        st.tuples(st.just("resume levels"), LEVELS),
        st.tuples(st.just("press"), st.sampled_from([0.3, 0.95])),
        st.tuples(
            st.just("numbers"), st.sampled_from([{"preempt": False}, {"cancel_grace_s": 2.0}, {"step_retries": 0}])
        ),
    ),
    min_size=1,
    max_size=14,
)


def lived(moves: list[tuple[Any, ...]], *, watched: bool) -> tuple[Any, ...]:
    """Do the same things in a world of its own; return all that could be seen without listening to events."""
    world = World(check=False, slots=(3, 2, 2, 1, 2, 1))
    world.core.observe(watched)
    for what, *how in moves:
        active = sorted(world.core.book.active)
        of = active[how[0] % len(active)] if active and isinstance(how[0], int) else "nobody's"
        if what == "submit":
            world.submit(*how[0])
        elif what == "pass":
            world.pass_s(how[0])
        elif what == "press":
            world.press(memory=how[0])
        elif what == "numbers":
            world.tell(Reconfigured(dataclasses.replace(world.config, **how[0])))
        elif what == "move":
            world.tell(PrioritySet(of, how[1]))
        elif what == "pause levels":
            world.tell(LevelsPaused(tuple(sorted(how[0])), "user"))
        elif what == "resume levels":
            world.tell(LevelsResumed(tuple(sorted(how[0]))))
        else:
            made: dict[str, Input] = {
                "cancel": JobCancelled(of, "enough"), "pause": JobPaused(of), "resume": JobResumed(of)
            }  # fmt: skip
            world.tell(made[what])
    world.press(memory=0.3)
    world.resume_all()
    assert watched or not world.events
    begun = [(found.name, found.at_s, found.cores, found.ended_at_s) for found in world.begun]
    return begun, world.outcomes, world.cancelled, world.preempted, world.abandoned


SUNK = job(steps("sinks", [0.3] * 9, cores=1.0), priority=Priority.NORMAL)
LATE = job(
    task("late", 9.0, timeout=TimeoutPolicy(soft_s=0.1, hard_s=1.0, on_hard=OnTimeout.FALLBACK, fallback=7)),
    task("again", fails=2, retry=RetryPolicy(max_retries=3)),
    task("waits", cores=1.5, timeout=TimeoutPolicy(queue_s=0.5, on_hard=OnTimeout.SKIP)),
)


@given(MOVES)
@example([("submit", [SUNK, LATE]), ("pass", 1.0), ("move", 0, Priority.LOW)])
@example([("numbers", {"cancel_grace_s": 2.0}), ("submit", [job(task("deaf", 9.0, stubborn_s=5.0))]), ("cancel", 0)])
@settings(deadline=None, max_examples=60)
def test_it_goes_the_same_way_where_nobody_watches(moves: list[tuple[Any, ...]]) -> None:
    """Every task, at the same instants on as many cores, to the same end."""
    assert lived(moves, watched=False) == lived(moves, watched=True)


BROKEN = Failure(kind=ErrorKind.NETWORK, message="no answer")
LATE_WORDS: dict[str, list[Input]] = {
    "a job": [
        JobCancelled("job-1", "too late"),
        JobPaused("job-1"),
        JobResumed("job-1"),
        PrioritySet("job-1", Priority.HIGH),
        TotalKnown("job-1", 5.0),
        TasksFed("job-1", (task("more"),), False),
        TasksFed("job-1", (), True, BROKEN),
        Withdrawn(0, "gone"),
    ],
    "a run": [
        StepEnded(1, StepResult(value="again")),
        StepEnded(1, StepResult(error=BROKEN)),
        HeartbeatSeen(1),
        PartialReported(1, "half"),
    ],
    "a fallback": [
        FallbackGiven(1, "stale", None),
        FallbackGiven(1, None, Failure(kind=ErrorKind.UNKNOWN, message="")),
    ],
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("about", LATE_WORDS)
def test_a_word_about_what_has_ended_or_never_was_changes_nothing(about: str, known: bool) -> None:
    """It ended between the word and its arrival: nothing is done or said, and others go on as they were."""
    world = World()
    if known:
        assert world.run("ended", job_id="job-1") == 0
        world.settle()
    runs, waits = world.run("runs", Work(lasts_s=1.0), requirement=BIG), world.run("waits", requirement=BIG)
    said, held = len(world.events), world.core.quota.views()
    words = LATE_WORDS[about]
    if not known:
        fields = {"job_id": "nobody's", "run_id": 10**9, "task_key": 10**9, "ticket": 10**9}
        words = [
            dataclasses.replace(word, **{name: new for name, new in fields.items() if hasattr(word, name)})  # type: ignore[arg-type]
            for word in words
        ]
    for word in words:
        assert list(world.core.handle(word, world.now_s)) == []
    assert (len(world.events), world.core.quota.views(), world.running) == (said, held, ["runs"])
    world.settle()
    assert [world.outcomes[ticket].state for ticket in (runs, waits)] == [JobState.COMPLETED] * 2
    if known:
        assert isinstance(world.outcomes[0], JobOutcome)
        assert world.outcomes[0].state is JobState.COMPLETED
    world.check_empty()


def test_a_sign_of_life_of_what_was_told_to_stop_gives_it_no_more_time() -> None:
    """Nor is it told a second time, and its grace is not begun anew, when it is cancelled as well."""
    world = World()
    work = Work(lasts_s=100.0, stubborn_s=100.0)
    ticket = world.run("deaf", work, timeout=TimeoutPolicy(hard_s=1.0, heartbeat_s=50.0), kind=TaskKind.IO_BOUND)
    run_id = world.begun[0].run.run_id
    world.pass_s(1.05)
    assert list(world.cancelled.values()) == [1.0]
    world.tell(HeartbeatSeen(run_id))
    world.tell(JobCancelled(next(iter(world.core.book.active)), "enough"))
    assert list(world.cancelled.values()) == [1.0]
    world.pass_s(0.1)
    assert world.outcomes[ticket].state is JobState.CANCELLED
    world.tell(HeartbeatSeen(run_id))
    world.tell(PartialReported(run_id, "half"))
    assert world.outcome(ticket).partial is False


def test_whoever_is_cancelled_while_its_fallback_is_made_gets_none() -> None:
    world = World()
    policy = TimeoutPolicy(hard_s=1.0, on_hard=OnTimeout.FALLBACK, fallback=lambda: "stale")
    ticket = world.run("slow", Work(lasts_s=9.0), timeout=policy)
    [found] = world.begun
    world.core.handle(TimePassed(), 1.0)
    [asked] = [
        command
        for command in world.core.handle(StepEnded(found.run.run_id, StepResult(cancelled=True)), 1.0)
        if isinstance(command, CallFallback)
    ]
    world.now_s = 1.0
    world.tell(JobCancelled(found.run.context.job_id, "enough"))
    assert world.outcomes[ticket].state is JobState.CANCELLED
    assert list(world.core.handle(FallbackGiven(asked.task_key, asked.call(), None), 1.0)) == []
    world.check_empty()
