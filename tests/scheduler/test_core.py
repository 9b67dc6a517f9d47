"""Jobs, their DAGs, their policies and their ends, by the core alone: inputs in, commands out."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.errors import (
    CycleError,
    DuplicateTaskError,
    ImpossibleRequirementError,
    InvalidJobError,
    QueueFullError,
    SchedulerClosedError,
    UnknownDependencyError,
)
from headway.scheduler.executors.base import Gpu, MachineReport, Pressure, StepResult, Totals
from headway.scheduler.model import (
    ErrorKind,
    Failure,
    Job,
    JobChanged,
    JobProgressed,
    JobState,
    OnStepFailure,
    OnTaskFailure,
    OnTimeout,
    Priority,
    Requirement,
    RetryPolicy,
    Step,
    StepKind,
    StepState,
    Task,
    TaskEnded,
    TaskKind,
    TaskState,
    TaskTimedOut,
    TimeoutPolicy,
)
from headway.scheduler.stimuli import (
    Closing,
    HeartbeatSeen,
    JobCancelled,
    JobPaused,
    JobResumed,
    LevelsPaused,
    LevelsResumed,
    MachineSampled,
    PartialReported,
    PrioritySet,
    StepEnded,
    TasksFed,
    TimePassed,
    TotalKnown,
    Withdrawn,
)
from headway.scheduler.views import job_view
from tests.scheduler.world import RESULTS, Work, World, job, steps, task

ROOM = 1.5  # what ordinary work may take of two cores


def test_a_task_runs_and_its_value_comes_back() -> None:
    """The shortest life: submitted, begun at once, ended, told to who waits."""
    world = World()
    ticket = world.run("a", Work(lasts_s=0.5, value=42))
    assert world.order == ["a"]
    world.settle()
    outcome = world.outcome(ticket)
    assert (outcome.state, outcome.value, outcome.attempts) == (TaskState.COMPLETED, 42, 1)
    assert outcome.ran_s == 0.5
    assert world.outcomes[ticket].state is JobState.COMPLETED
    world.check_empty()


def test_dependents_start_after_and_receive_results() -> None:
    """Nothing starts before all that it depends on has ended, and it is given their values by name."""
    world = World()
    [ticket] = world.submit(
        job(
            task("sum", after=("a", "b"), value=RESULTS),
            task("a", 0.3, value=1),
            task("b", 0.2, value=2, after=("a",)),
        )
    )
    world.settle()
    assert world.order == ["a", "b", "sum"]
    assert dict(world.outcome(ticket, "sum").value) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("tasks", "error", "said"),
    [
        ((task("x", after=("y",)), task("y", after=("x",))), CycleError, ("x", "y")),
        ((task("own", after=("own",)),), CycleError, ("own",)),
        ((task("a"), task("b", after=("ghost",))), UnknownDependencyError, ("b", "ghost")),
        ((task("twin"), task("twin")), DuplicateTaskError, ("twin",)),
        ((task("big", cores=2.1),), ImpossibleRequirementError, ("big", "cpuCores", "2.1", "2")),
        ((task("fat", memory_mb=1e9),), ImpossibleRequirementError, ("fat", "memoryMb")),
        (
            (Task(name="gpu", call=Work(), requirement=Requirement(gpu_count=1)),),
            ImpossibleRequirementError,
            ("gpu", "gpuCount"),
        ),
        (
            (Task(name="gpu", call=Work(), requirement=Requirement(gpu_memory_mb=5)),),
            ImpossibleRequirementError,
            ("gpu", "gpuMemoryMb"),
        ),
        ((Task(name="idle"),), InvalidJobError, ("idle",)),
        ((task("nan", cores=float("nan")),), InvalidJobError, ("nan",)),
        ((task("minus", cores=-1),), InvalidJobError, ("minus",)),
        ((task("never", timeout=TimeoutPolicy(hard_s=0)),), InvalidJobError, ("never",)),
        ((task("odd", timeout=TimeoutPolicy(on_hard=OnTimeout.WARN)),), InvalidJobError, ("odd",)),
        ((task("less", retry=RetryPolicy(max_retries=-1)),), InvalidJobError, ("less",)),
        ((task("light", weight=-1.0),), InvalidJobError, ("light",)),
        (
            (Task(name="timeless", call=Work(), requirement=Requirement(longest_run_s=0)),),
            InvalidJobError,
            ("timeless", "longest run"),
        ),
        (
            (Task(name="same", steps=(Step(name="s", call=Work()), Step(name="s", call=Work()))),),
            InvalidJobError,
            ("same",),
        ),
        (
            (Task(name="both", call=Work(), steps=(Step(name="s", call=Work()),)),),
            InvalidJobError,
            ("both",),
        ),
    ],
)
def test_what_can_never_be_is_refused(tasks: tuple[Task, ...], error: type[Exception], said: tuple[str, ...]) -> None:
    """A refusal names what is wrong, and nothing of the job, nor of those with it, is left behind."""
    world = World()
    with pytest.raises(error) as caught:
        world.submit(job(task("fine")), job(*tasks))
    assert all(word in str(caught.value) for word in said), str(caught.value)
    world.check_empty()
    assert not world.begun


def test_no_place_for_a_kind_is_refused() -> None:
    """A machine without process slots refuses what could only wait for ever."""
    world = World(slots=(4, 4, 4, 0, 0, 0))
    with pytest.raises(ImpossibleRequirementError, match="process slots"):
        world.submit(job(steps("p", [0.1], kind=StepKind.PROCESS)))


def test_the_queue_is_bounded() -> None:
    """A submission that would pass the bound is refused whole, with the numbers."""
    world = World(config=SchedulerConfig(queue_capacity=5))
    world.submit(job(task("block", 1.0, cores=ROOM)))
    world.submit(job(*(task(f"q{n}", cores=ROOM) for n in range(3))))
    with pytest.raises(QueueFullError) as caught:
        world.submit(job(*(task(f"more{n}") for n in range(3))))
    assert (caught.value.queued, caught.value.asked, caught.value.capacity) == (3, 3, 5)
    world.settle()
    assert len(world.begun) == 4
    world.check_empty()


def test_an_empty_job_is_complete() -> None:
    world = World()
    [ticket] = world.submit(job())
    assert world.outcomes[ticket].state is JobState.COMPLETED


def test_a_failure_skips_what_depends_on_it() -> None:
    """Dependents of a failed task are SKIPPED with the reason; independent ones go on; who runs anyway runs."""
    world = World()
    [ticket] = world.submit(
        job(
            task("root", fails=9, kind=ErrorKind.INVALID_INPUT),
            task("mid", after=("root",)),
            task("leaf", after=("mid",)),
            task("clean-up", after=("root",), run_anyway=True),
            task("other"),
        )
    )
    world.settle()
    results = world.outcomes[ticket].results
    assert world.outcomes[ticket].state is JobState.FAILED
    assert {name: found.state for name, found in results.items()} == {
        "root": TaskState.FAILED,
        "mid": TaskState.SKIPPED,
        "leaf": TaskState.SKIPPED,
        "clean-up": TaskState.COMPLETED,
        "other": TaskState.COMPLETED,
    }
    assert results["mid"].error is not None
    assert "root" in results["mid"].error.message
    error = world.outcomes[ticket].error
    assert error is not None
    assert error.message.startswith("root: ")


def test_stop_at_the_first_failure() -> None:
    """With STOP nothing new starts; what runs ends."""
    world = World()
    [ticket] = world.submit(
        job(
            task("bad", 0.1, fails=9, kind=ErrorKind.INVALID_INPUT, cores=0.7),
            task("long", 1.0, cores=0.7),
            task("late", cores=0.7),
            task("later", after=("long",)),
            on_task_failure=OnTaskFailure.STOP,
        )
    )
    world.settle()
    states = {name: found.state for name, found in world.outcomes[ticket].results.items()}
    assert states == {
        "bad": TaskState.FAILED,
        "long": TaskState.COMPLETED,
        "late": TaskState.SKIPPED,
        "later": TaskState.SKIPPED,
    }
    assert world.order == ["bad", "long"]


def test_pause_at_the_first_failure() -> None:
    """With PAUSE the job stands still until somebody resumes it."""
    world = World()
    [ticket] = world.submit(
        job(
            task("bad", 0.1, fails=9, kind=ErrorKind.INVALID_INPUT, cores=ROOM),
            task("next", cores=ROOM),
            on_task_failure=OnTaskFailure.PAUSE,
            job_id="j",
        )
    )
    world.pass_s(10)
    record = world.core.book.active["j"]
    assert record.state is JobState.PAUSED
    assert world.order == ["bad"]
    world.tell(JobResumed("j"))
    world.settle()
    assert world.outcome(ticket, "next").state is TaskState.COMPLETED
    assert world.outcomes[ticket].state is JobState.FAILED


def test_a_long_chain_is_skipped_without_recursion() -> None:
    world = World(check=False)
    count = 5000
    chain = [task("0", fails=1, kind=ErrorKind.INVALID_INPUT)]
    chain += [task(str(n), after=(str(n - 1),)) for n in range(1, count)]
    [ticket] = world.submit(job(*chain))
    world.settle()
    assert sum(found.state is TaskState.SKIPPED for found in world.outcomes[ticket].results.values()) == count - 1


def test_urgency_is_inherited_along_the_dag() -> None:
    """What an urgent task waits for is as urgent as it, or it would wait behind everything."""
    world = World()
    world.submit(job(task("block", 0.5, cores=ROOM), priority=Priority.HIGH))
    world.submit(job(*(task(f"n{n}", cores=ROOM) for n in range(3))))
    world.submit(
        job(
            task("base", cores=ROOM, priority=Priority.LOW),
            task("urgent", cores=ROOM, after=("base",), priority=Priority.HIGH),
            priority=Priority.LOW,
        )
    )
    world.settle()
    assert world.order[:3] == ["block", "base", "urgent"]


# ---- cancelling --------------------------------------------------------------------------------------------------


def test_cancel_of_what_waits_is_immediate_and_final() -> None:
    """A queued task that is cancelled never runs, and who waits hears at once."""
    world = World()
    world.submit(job(task("block", 5.0, cores=ROOM)))
    ticket = world.run("q", requirement=Requirement(cpu_cores=ROOM), job_id="q")
    world.tell(JobCancelled("q", "not wanted"))
    outcome = world.outcomes[ticket]
    assert outcome.state is JobState.CANCELLED
    assert outcome.error is not None
    assert outcome.error.message == "not wanted"
    world.settle()
    assert world.order == ["block"]
    world.check_empty()


def test_cancel_of_what_runs_tells_it_and_frees_its_room() -> None:
    world = World()
    [ticket] = world.submit(job(task("a", 100.0), task("b", after=("a",)), job_id="j"))
    world.pass_s(1)
    world.tell(JobCancelled("j", "stop"))
    assert len(world.cancelled) == 1
    world.settle(0.2)
    states = {found.state for found in world.outcomes[ticket].results.values()}
    assert states == {TaskState.CANCELLED}
    world.check_empty()


def test_a_coroutine_that_will_not_stop_is_abandoned() -> None:
    """After the grace its job ends and its room is free, though it still runs; its late end changes nothing."""
    world = World()
    [ticket] = world.submit(job(task("deaf", 100.0, stubborn_s=50.0), job_id="j"))
    world.tell(JobCancelled("j", "stop"))
    world.pass_s(0.15)
    assert world.outcomes[ticket].state is JobState.CANCELLED
    assert world.abandoned == ["deaf"]
    assert world.core.quota.used_cores == 0
    assert [run.stuck for run in world.core.flow.runs.values()] == [True]
    world.pass_s(100)
    assert not world.core.flow.runs
    world.check_empty()


def test_a_thread_that_will_not_stop_keeps_its_slot() -> None:
    """Its job ends after the grace, but its slot stays taken until it really ends."""
    world = World(slots=(1, 1, 1, 1, 1, 1))
    stubborn = Task(
        name="deaf",
        steps=(Step(name="s", call=Work(lasts_s=100.0, stubborn_s=20.0), kind=StepKind.THREAD),),
        requirement=Requirement(cpu_cores=0.1, memory_mb=1),
    )
    [ticket] = world.submit(job(stubborn, job_id="j"))
    world.tell(JobCancelled("j", "stop"))
    world.pass_s(0.15)
    assert world.outcomes[ticket].state is JobState.CANCELLED
    world.submit(job(steps("next", [0.1], kind=StepKind.THREAD)))
    world.pass_s(10)
    assert world.order == ["deaf"], "there is no second thread"
    world.settle()
    assert world.order == ["deaf", "next"]
    world.check_empty()


def test_room_of_what_never_stops_is_given_back_in_the_end() -> None:
    """After five minutes the cores of a stuck thread are free again; its slot is not."""
    world = World(check=False)
    stuck = Task(
        name="deaf",
        steps=(Step(name="s", call=Work(lasts_s=1e6, stubborn_s=1e6), kind=StepKind.THREAD),),
        requirement=Requirement(cpu_cores=0.5, memory_mb=1),
    )
    world.submit(job(stuck, job_id="j"))
    world.tell(JobCancelled("j", "stop"))
    world.pass_s(100)
    assert world.core.quota.used_cores > 0
    world.pass_s(250)
    assert world.core.quota.used_cores == 0
    assert sum(world.core.slots.used) == 1


def test_a_result_right_after_the_cancel_does_not_count() -> None:
    """A cancel that was accepted is kept, also when the work ends by itself in the same moment."""
    world = World()
    [ticket] = world.submit(job(task("a", 100.0, value=1), job_id="j"))
    run_id = world.begun[0].run.run_id
    world.core.handle(JobCancelled("j", "stop"), world.now_s)
    world.tell(StepEnded(run_id, StepResult(value=1, ran_s=0.1)))
    assert world.outcomes[ticket].state is JobState.CANCELLED
    world.check_empty()


def test_closing_ends_everything_and_accepts_nothing() -> None:
    world = World()
    tickets = [world.run(f"t{n}", Work(lasts_s=50), requirement=Requirement(cpu_cores=1.0)) for n in range(3)]
    world.tell(Closing("closed"))
    world.settle(1.0)
    assert {world.outcomes[ticket].state for ticket in tickets} == {JobState.CANCELLED}
    with pytest.raises(SchedulerClosedError):
        world.run("late")


# ---- sharing and superseding -------------------------------------------------------------------------------------


def test_batch_on_its_share_waits_a_moment_for_half_of_its_place_before_a_quarter_will_do() -> None:
    world = World()
    world.run("long", Work(lasts_s=60), Priority.HIGH, requirement=Requirement(cpu_cores=1.1))
    world.run("next", Work(lasts_s=60), Priority.HIGH, requirement=Requirement(cpu_cores=ROOM))
    share = world.run("share", Work(lasts_s=0.01), Priority.BATCH, requirement=Requirement(cpu_cores=ROOM))
    config = SchedulerConfig()
    due_s = config.batch_due_s / config.batch_share
    for wait_s, begun in ((due_s + 0.01, False), (config.reserve_after_s / 2, False), (config.reserve_after_s, True)):
        world.pass_s(wait_s)
        world.press()
        world.pass_s(0.02)
        assert (share in world.outcomes) is begun


def test_of_jobs_that_come_together_one_may_supersede_what_another_would_join() -> None:
    world = World()
    first = world.run("first", Work(lasts_s=10, value=1), share_key="same", supersede_key="doc")

    def job(name: str, value: int, **more: Any) -> Job:
        task = Task(name=name, call=Work(lasts_s=1, value=value))
        return Job(type="t", title=name, tasks=(task,), **more)

    newer, asking = world.submit(job("newer", 2, supersede_key="doc"), job("asking", 3, share_key="same"))
    world.pass_s(5)
    assert world.outcomes[first].state is JobState.CANCELLED
    assert world.outcomes[newer].results["newer"].value == 2
    assert world.outcomes[asking].results["asking"].value == 3
    world.check_empty()


def test_a_newer_request_supersedes_a_running_and_a_queued_one() -> None:
    world = World()
    first = world.run("one", Work(lasts_s=10), supersede_key="doc")
    second = world.run("two", Work(lasts_s=10), supersede_key="doc", requirement=Requirement(cpu_cores=ROOM))
    third = world.run("three", Work(lasts_s=1), supersede_key="doc")
    world.settle()
    for ticket in (first, second):
        error = world.outcomes[ticket].error
        assert error is not None
        assert error.kind is ErrorKind.SUPERSEDED
    assert world.outcomes[third].state is JobState.COMPLETED
    world.check_empty()


def test_equal_requests_share_one_run() -> None:
    """Two who ask the same get the same answer from one run."""
    world = World()
    one = world.run("a", Work(lasts_s=1, value="x"), share_key="k")
    two = world.run("a", Work(lasts_s=1, value="y"), share_key="k")
    world.settle()
    assert len(world.begun) == 1
    assert world.outcome(one).value == world.outcome(two).value == "x"
    again = world.run("a", Work(value="z"), share_key="k")
    world.settle()
    assert world.outcome(again).value == "z", "what has ended is not shared"


def test_shared_work_inherits_the_highest_priority_of_those_who_wait() -> None:
    """An urgent caller lifts the shared work; when he leaves, it sinks again."""
    world = World()
    world.submit(job(task("block", 1.0, cores=ROOM), priority=Priority.HIGH))
    big = Requirement(cpu_cores=ROOM, memory_mb=1)
    world.run("n", priority=Priority.NORMAL, requirement=big)
    world.run("shared", share_key="k", priority=Priority.BATCH, requirement=big)
    urgent = world.run("shared", share_key="k", priority=Priority.HIGH, requirement=big)
    assert world.core.flow.queued[Priority.HIGH] == 1
    world.tell(Withdrawn(urgent, "gone"))
    assert world.outcomes[urgent].state is JobState.CANCELLED
    assert world.core.flow.queued[Priority.BATCH] == 1
    world.run("shared", share_key="k", priority=Priority.HIGH, requirement=big)
    world.settle()
    assert world.order == ["block", "shared", "n"]


def test_the_last_who_leaves_ends_shared_work() -> None:
    world = World()
    one = world.run("a", Work(lasts_s=100), share_key="k")
    two = world.run("a", Work(lasts_s=100), share_key="k")
    world.tell(Withdrawn(one, "gone"))
    assert not world.cancelled, "the other still waits"
    world.tell(Withdrawn(two, "gone"))
    assert len(world.cancelled) == 1
    world.settle(1)
    world.check_empty()


def test_superseding_one_who_shares_leaves_the_work_to_the_others() -> None:
    world = World()
    one = world.run("a", Work(lasts_s=5, value=1), share_key="k1", supersede_key="doc")
    two = world.run("a", Work(lasts_s=5), share_key="k1")
    three = world.run("b", Work(lasts_s=5, value=3), share_key="k2", supersede_key="doc")
    assert world.outcomes[one].state is JobState.CANCELLED
    world.settle()
    assert world.outcome(two).value == 1
    assert world.outcome(three).value == 3


def test_equal_jobs_in_one_submission_are_shared() -> None:
    world = World()
    jobs = [Job(type="t", title="x", tasks=(task("a", 1.0, value=7),), share_key="k") for _ in range(3)]
    tickets = world.submit(*jobs)
    world.settle()
    assert len(world.begun) == 1
    assert [world.outcome(ticket).value for ticket in tickets] == [7, 7, 7]


# ---- pausing and moving ------------------------------------------------------------------------------------------


def test_paused_levels_start_nothing_and_lose_nothing() -> None:
    world = World()
    world.tell(LevelsPaused((Priority.LOW, Priority.BATCH), "user"))
    held = [world.run(f"{level.name}{n}", priority=level) for level in (Priority.LOW, Priority.BATCH) for n in range(4)]
    world.run("free", priority=Priority.NORMAL)
    world.pass_s(30)
    assert world.order == ["free"]
    assert world.core.flow.queued == [0, 0, 0, 4, 4]
    assert world.core.pause_reason == "user"
    world.tell(LevelsResumed((Priority.LOW, Priority.BATCH)))
    world.settle()
    assert sorted(world.order[1:]) == sorted({found.name for found in world.begun} - {"free"})
    assert all(world.outcome(ticket).attempts == 1 for ticket in held)
    world.check_empty()


def test_pausing_takes_effect_at_the_next_step_and_keeps_finished_steps() -> None:
    world = World()
    [ticket] = world.submit(job(steps("a", [0.1] * 10)))
    world.pass_s(0.25)
    world.tell(LevelsPaused((Priority.NORMAL,), "user"))
    assert world.preempted, "what runs is asked to end its step early"
    world.pass_s(60)
    assert len(world.begun) == 3
    assert world.core.quota.used_cores == 0, "what is paused holds nothing"
    assert world.core.flow.queued[Priority.NORMAL] == 1, "and counts as queued"
    world.tell(LevelsResumed((Priority.NORMAL,)))
    world.settle()
    assert [found.run.name for found in world.begun] == [str(n) for n in range(10)]
    outcome = world.outcome(ticket)
    assert outcome.attempts == 1
    assert outcome.ran_s == pytest.approx(1.0), "pauses are no running time"


def test_a_sunk_task_is_paused_by_its_own_priority() -> None:
    """What the feedback queue moved down is still what the caller called it."""
    world = World()
    world.submit(job(steps("a", [0.06] * 50)))
    world.pass_s(1.0)
    world.tell(LevelsPaused((Priority.NORMAL,), "user"))
    world.pass_s(5)
    assert not world.running


def test_a_job_is_paused_and_resumed_alone() -> None:
    world = World()
    big = Requirement(cpu_cores=ROOM, memory_mb=1)
    world.submit(job(steps("a", [0.1] * 5), task("b", after=("a",)), job_id="j"))
    world.pass_s(0.15)
    world.tell(JobPaused("j"))
    other = world.run("other", requirement=big)
    world.pass_s(10)
    assert world.outcome(other).state is TaskState.COMPLETED
    assert len([name for name in world.order if name == "a"]) == 2
    assert job_view(world.core.book.active["j"], 10, world.now_s).state is JobState.PAUSED
    world.tell(JobResumed("j"))
    world.settle()
    assert world.order.count("a") == 5
    assert world.order[-1] == "b"
    states = [event.state for event in world.of(JobChanged) if event.job_id == "j"]
    assert states == [JobState.PENDING, JobState.RUNNING, JobState.PAUSED, JobState.RUNNING, JobState.COMPLETED]


def test_what_becomes_ready_while_its_job_is_paused_waits() -> None:
    world = World()
    world.submit(job(task("a", 1.0), task("b", after=("a",)), job_id="j"))
    world.tell(JobPaused("j"))
    world.pass_s(5)
    assert world.order == ["a"]
    world.tell(JobResumed("j"))
    world.settle()
    assert world.order == ["a", "b"]


def test_priority_of_what_waits_is_changed_and_its_age_kept() -> None:
    world = World()
    big = Requirement(cpu_cores=ROOM, memory_mb=1)
    world.run("block", Work(lasts_s=1.0), priority=Priority.HIGH, requirement=big)
    for n in range(3):
        world.run(f"n{n}", requirement=big)
    world.run("late", priority=Priority.LOW, requirement=big, job_id="late")
    world.run("early", priority=Priority.NORMAL, requirement=big, job_id="early")
    world.tell(PrioritySet("late", Priority.HIGH))
    world.tell(PrioritySet("early", Priority.LOW))
    world.tell(PrioritySet("early", Priority.NORMAL))
    world.settle()
    assert world.order == ["block", "late", "n0", "n1", "n2", "early"]


# ---- time --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [StepKind.ASYNC, StepKind.THREAD, StepKind.PROCESS])
def test_a_hard_limit_ends_the_work(kind: StepKind) -> None:
    world = World()
    [ticket] = world.submit(
        job(steps("a", [100.0], kind=kind, timeout=TimeoutPolicy(hard_s=0.5), retry=RetryPolicy(max_retries=0)))
    )
    world.settle(0.7)
    outcome = world.outcome(ticket)
    assert outcome.state is TaskState.FAILED
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.TIMEOUT
    assert [event.hard for event in world.of(TaskTimedOut)] == [True]
    world.check_empty()


def test_what_is_not_limited_runs_for_its_longest_time_at_most() -> None:
    world = World()
    ticket = world.run("a", Work(lasts_s=1e9))
    world.settle(301)
    assert world.outcome(ticket).state is TaskState.FAILED


def test_a_limit_counts_running_time_only() -> None:
    """Neither waiting nor being paused is held against a task."""
    world = World()
    world.run("block", Work(lasts_s=2.0), requirement=Requirement(cpu_cores=ROOM, memory_mb=1))
    [ticket] = world.submit(job(steps("a", [0.2] * 4, cores=ROOM, timeout=TimeoutPolicy(hard_s=1.0))))
    world.pass_s(2.3)
    world.tell(LevelsPaused((Priority.NORMAL,), "user"))
    world.pass_s(30)
    world.tell(LevelsResumed((Priority.NORMAL,)))
    world.settle()
    assert world.outcome(ticket).state is TaskState.COMPLETED


@pytest.mark.parametrize("limits", [{"hard_s": 8.0}, {"soft_s": 8.0, "on_soft": OnTimeout.SKIP}, {"heartbeat_s": 8.0}])
def test_a_time_in_which_nothing_could_run_is_held_against_nobody(limits: dict[str, Any]) -> None:
    """The process was stopped for a minute; what runs has as much time left as it had before."""
    world = World()
    ticket = world.run("a", Work(lasts_s=66.0), timeout=TimeoutPolicy(**limits))
    late = world.run("b", Work(lasts_s=66.0), timeout=TimeoutPolicy(**limits))
    dead = world.run("c", Work(lasts_s=66.0), deadline_at_s=30.0)
    world.pass_s(3.0)
    world.now_s += 60.0
    world.tell(TimePassed(stood_still_s=60.0))
    assert [(event.task_id, event.limit_s) for event in world.of(TaskTimedOut)] == [("job-3.0", 30.0)]
    world.pass_s(3.5)
    assert world.outcome(ticket).state is TaskState.COMPLETED
    assert world.outcome(late).state is TaskState.COMPLETED
    assert world.outcome(dead).state is TaskState.FAILED, "deadlines are absolute"
    world.check_empty()


def test_after_a_standstill_limits_count_on() -> None:
    world = World()
    ticket = world.run("a", Work(lasts_s=100.0), timeout=TimeoutPolicy(hard_s=8.0))
    world.pass_s(3.0)
    world.now_s += 60.0
    world.tell(TimePassed(stood_still_s=60.0))
    begun_since = world.run("b", Work(lasts_s=100.0), timeout=TimeoutPolicy(hard_s=8.0))
    world.pass_s(4.9)
    assert ticket not in world.outcomes
    world.pass_s(1.0)
    assert world.outcome(ticket).state is TaskState.FAILED
    world.pass_s(3.0)
    assert world.outcome(begun_since).state is TaskState.FAILED


@pytest.mark.parametrize("limit", ["soft_s", "hard_s"])
def test_skip_by_time(limit: str) -> None:
    world = World()
    how = "on_soft" if limit == "soft_s" else "on_hard"
    policy = TimeoutPolicy(**{limit: 0.3, how: OnTimeout.SKIP})  # type: ignore[arg-type]
    [ticket] = world.submit(job(task("a", 10.0, timeout=policy), task("b", after=("a",)), task("c")))
    world.settle()
    outcome = world.outcomes[ticket]
    assert outcome.state is JobState.COMPLETED
    assert {name: found.state for name, found in outcome.results.items()} == {
        "a": TaskState.SKIPPED,
        "b": TaskState.SKIPPED,
        "c": TaskState.COMPLETED,
    }


@pytest.mark.parametrize("limit", ["soft_s", "hard_s"])
@pytest.mark.parametrize("fallback", [{"answer": 42}, lambda: {"answer": 42}])
def test_fall_back_by_time(limit: str, fallback: object) -> None:
    world = World()
    how = "on_soft" if limit == "soft_s" else "on_hard"
    policy = TimeoutPolicy(**{limit: 0.3, how: OnTimeout.FALLBACK}, fallback=fallback)  # type: ignore[arg-type]
    [ticket] = world.submit(job(task("a", 10.0, timeout=policy), task("b", after=("a",))))
    world.settle()
    outcome = world.outcome(ticket, "a")
    assert (outcome.state, outcome.value, outcome.fallback) == (TaskState.COMPLETED, {"answer": 42}, True)
    assert world.outcome(ticket, "b").state is TaskState.COMPLETED


def test_a_partial_result_may_serve() -> None:
    """With nothing else to fall back on, what was reported so far is the value, and the outcome says so."""
    world = World()
    ticket = world.run("a", Work(lasts_s=10), timeout=TimeoutPolicy(soft_s=1, on_soft=OnTimeout.FALLBACK))
    world.tell(PartialReported(world.begun[0].run.run_id, ["half"]))
    world.settle()
    outcome = world.outcome(ticket)
    assert (outcome.value, outcome.partial, outcome.fallback) == (["half"], True, False)


def test_a_soft_limit_warns_once_per_attempt() -> None:
    world = World()
    [ticket] = world.submit(job(steps("a", [0.3] * 4, timeout=TimeoutPolicy(soft_s=0.2))))
    world.settle()
    assert world.outcome(ticket).state is TaskState.COMPLETED
    assert [event.hard for event in world.of(TaskTimedOut)] == [False]


def test_retry_by_time_counts_as_a_retry() -> None:
    """The soft limit repeats the task while retries are left; then only the hard one ends it."""
    world = World()
    policy = TimeoutPolicy(soft_s=0.3, on_soft=OnTimeout.RETRY, hard_s=2.5)
    ticket = world.run("a", Work(lasts_s=20), timeout=policy, retry=RetryPolicy(max_retries=1))
    world.settle()
    outcome = world.outcome(ticket)
    assert (outcome.state, outcome.attempts) == (TaskState.FAILED, 2)
    assert outcome.ran_s == pytest.approx(2.5)


def test_a_deadline_in_the_past_is_not_paid_for() -> None:
    """What can no longer be of use is not started, and ends at its deadline at the latest."""
    world = World()
    world.run("block", Work(lasts_s=5), requirement=Requirement(cpu_cores=ROOM, memory_mb=1))
    ticket = world.run("a", requirement=Requirement(cpu_cores=ROOM, memory_mb=1), deadline_at_s=2.0)
    world.pass_s(3)
    outcome = world.outcome(ticket)
    assert outcome.state is TaskState.FAILED
    assert outcome.finished_at_s == 2.0
    late = world.run("b", deadline_at_s=1.0)
    assert world.outcome(late).state is TaskState.FAILED
    world.settle()
    assert world.order == ["block"]
    world.check_empty()


def test_a_running_task_ends_at_its_deadline() -> None:
    world = World()
    ticket = world.run("a", Work(lasts_s=50), deadline_at_s=2.0, timeout=TimeoutPolicy(on_hard=OnTimeout.RETRY))
    world.settle(3)
    assert world.outcome(ticket).attempts == 1


def test_the_longest_time_in_the_queue() -> None:
    world = World()
    world.run("block", Work(lasts_s=5), requirement=Requirement(cpu_cores=ROOM, memory_mb=1))
    policy = TimeoutPolicy(queue_s=1.0, on_hard=OnTimeout.FALLBACK, fallback="stale")
    ticket = world.run("a", requirement=Requirement(cpu_cores=ROOM, memory_mb=1), timeout=policy)
    world.pass_s(1.5)
    assert world.outcome(ticket).value == "stale"
    world.settle()
    assert world.order == ["block"]


def test_a_missing_heartbeat_ends_the_run() -> None:
    world = World()
    ticket = world.run("a", Work(lasts_s=50), timeout=TimeoutPolicy(heartbeat_s=1.0))
    run_id = world.begun[0].run.run_id
    for _ in range(5):
        world.pass_s(0.8)
        world.tell(HeartbeatSeen(run_id))
    assert ticket not in world.outcomes
    world.settle(2)
    error = world.outcome(ticket).error
    assert error is not None
    assert "no sign of life" in error.message


def test_a_step_has_a_limit_and_a_policy_of_its_own() -> None:
    world = World()
    task_ = Task(
        name="a",
        steps=(
            Step(name="slow", call=Work(lasts_s=10), timeout_s=0.2, on_failure=OnStepFailure.SKIP),
            Step(name="quick", call=Work(value=5)),
        ),
    )
    [ticket] = world.submit(job(task_, job_id="j"))
    record = world.core.book.active["j"]
    world.settle()
    assert world.outcome(ticket).value == 5
    view = job_view(record, 10, world.now_s)
    assert [found.state for found in view.tasks[0].steps] == [StepState.SKIPPED, StepState.COMPLETED]


# ---- steps -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "state", "begun"),
    [
        (OnStepFailure.FAIL, TaskState.FAILED, 1),
        (OnStepFailure.SKIP, TaskState.COMPLETED, 2),
        (OnStepFailure.RETRY, TaskState.COMPLETED, 3),
    ],
)
def test_policies_of_a_failing_step(policy: OnStepFailure, state: TaskState, begun: int) -> None:
    world = World()
    task_ = Task(
        name="a",
        steps=(Step(name="bad", call=Work(fails=1), on_failure=policy), Step(name="good", call=Work(value=1))),
        retry=RetryPolicy(max_retries=0),
    )
    [ticket] = world.submit(job(task_))
    world.settle()
    assert world.outcome(ticket).state is state
    assert len(world.begun) == begun
    assert world.outcome(ticket).attempts == 1
    world.check_empty()


def test_a_step_is_repeated_twice_at_most() -> None:
    world = World()
    task_ = Task(
        name="a",
        steps=(Step(name="bad", call=Work(fails=9), on_failure=OnStepFailure.RETRY),),
        retry=RetryPolicy(max_retries=0),
    )
    [ticket] = world.submit(job(task_))
    world.settle()
    assert world.outcome(ticket).state is TaskState.FAILED
    assert len(world.begun) == 3


def test_finished_steps_are_not_run_again() -> None:
    """A task that is tried again goes on where it failed, and knows what its finished steps gave."""
    world = World()
    task_ = Task(
        name="a",
        steps=(
            Step(name="first", call=Work(value=1)),
            Step(name="second", call=Work(fails=1, value=2)),
            Step(name="third", call=Work(value=3)),
        ),
    )
    [ticket] = world.submit(job(task_))
    world.settle()
    assert [found.run.name for found in world.begun] == ["first", "second", "second", "third"]
    assert dict(world.begun[-1].run.context.previous) == {"first": 1, "second": 2}
    assert world.outcome(ticket).attempts == 2


def test_a_task_whose_steps_run_in_several_places() -> None:
    world = World(slots=(1, 1, 1, 1, 1, 1))
    task_ = Task(
        name="a",
        steps=tuple(Step(name=kind.value, call=Work(lasts_s=0.1), kind=kind) for kind in StepKind),
        requirement=Requirement(cpu_cores=0.5, memory_mb=1),
    )
    tickets = world.submit(*(job(task_) for _ in range(3)))
    world.settle()
    assert all(world.outcome(ticket).state is TaskState.COMPLETED for ticket in tickets)
    world.check_empty()


# ---- retries -----------------------------------------------------------------------------------------------------


def test_a_waiting_retry_holds_nothing_and_can_be_cancelled() -> None:
    world = World()
    ticket = world.run("a", Work(fails=9), job_id="a", retry=RetryPolicy(max_retries=3))
    world.pass_s(0.5)
    assert world.core.quota.used_cores == 0
    assert world.core.flow.queued[Priority.NORMAL] == 1
    world.tell(JobCancelled("a", "stop"))
    assert world.outcomes[ticket].state is JobState.CANCELLED
    world.pass_s(100)
    assert len(world.begun) == 1
    world.check_empty()


def test_backoff_grows_and_ends() -> None:
    world = World()
    ticket = world.run("a", Work(fails=99, lasts_s=0.0), retry=RetryPolicy(max_retries=4))
    world.settle()
    starts = [found.at_s for found in world.begun]
    gaps = [after - before for before, after in itertools.pairwise(starts)]
    assert gaps == pytest.approx([1, 2, 4, 8])
    assert world.outcome(ticket).attempts == 5


@pytest.mark.parametrize(("priority", "attempts"), [(0, 2), (1, 2), (2, 3), (3, 4), (4, 4)])
def test_retries_by_priority_where_the_caller_says_nothing(priority: int, attempts: int) -> None:
    """Interactive work is tried again once and quickly, background work more often and slowly."""
    world = World()
    ticket = world.run("a", Work(fails=99, lasts_s=0.0), priority=Priority(priority))
    world.settle()
    assert world.outcome(ticket).attempts == attempts
    if priority < 2:
        assert world.begun[1].at_s < 0.25


def test_what_kills_two_workers_is_quarantined() -> None:
    """However many retries were asked for."""
    world = World()
    ticket = world.run("a", Work(fails=99, kind=ErrorKind.WORKER_DIED), retry=RetryPolicy(max_retries=10))
    world.settle()
    outcome = world.outcome(ticket)
    assert outcome.attempts == 2
    assert outcome.error is not None
    assert "not tried again" in outcome.error.message


@pytest.mark.parametrize(("given", "attempts"), [(None, 2), (0, 1), (1, 2)])
def test_a_worker_death_is_tried_again_once(given: int | None, attempts: int) -> None:
    world = World()
    ticket = world.run("a", Work(fails=99, kind=ErrorKind.WORKER_DIED), retry=RetryPolicy(max_retries=given))
    world.settle()
    assert world.outcome(ticket).attempts == attempts


def test_out_of_memory_is_tried_once_more_with_more() -> None:
    world = World()
    ticket = world.run(
        "a",
        Work(fails=99, kind=ErrorKind.OUT_OF_MEMORY),
        requirement=Requirement(cpu_cores=0.1, memory_mb=100),
        retry=RetryPolicy(max_retries=5),
    )
    world.settle()
    assert [found.run.memory_mb for found in world.begun] == [100, 200]
    assert world.outcome(ticket).attempts == 2
    world.check_empty()


def test_the_time_that_the_other_side_names_is_waited_for() -> None:
    world = World()
    world.run("a", Work(fails=1, kind=ErrorKind.RATE_LIMITED, retry_after_s=90.0, lasts_s=0.0))
    world.settle()
    assert world.begun[1].at_s == pytest.approx(90.0)


def test_retries_against_one_dependency_stay_within_a_tenth() -> None:
    """However many fail, retries are at most a tenth of the requests, beside the few that are always possible."""
    world = World(config=SchedulerConfig(breaker_failures=10**9))
    policy = RetryPolicy(max_retries=3, dependency="endpoint")
    count = 200
    for n in range(count):
        world.run(f"r{n}", Work(fails=99), retry=policy)
        world.pass_s(1)
    world.settle()
    retries = len(world.begun) - count
    assert 0 < retries <= count * 0.1 + world.config.retry_budget_floor


def test_a_breaker_leaves_a_failing_dependency_alone_and_tries_it_again() -> None:
    """After five failures in a row nothing asks it; interactive work fails at once; then one try decides."""
    world = World()
    policy = RetryPolicy(max_retries=0, dependency="endpoint")
    for n in range(5):
        world.run(f"bad{n}", Work(fails=99), retry=policy)
    world.pass_s(1)
    quick = world.run("quick", retry=policy, priority=Priority.HIGH)
    patient = world.run("patient", retry=policy, priority=Priority.LOW)
    outcome = world.outcome(quick)
    assert outcome.error is not None
    assert outcome.error.kind is ErrorKind.SERVICE_UNAVAILABLE
    assert "quick" not in world.order
    world.pass_s(10)
    assert "patient" not in world.order
    world.settle()
    assert world.outcome(patient).state is TaskState.COMPLETED
    after = world.run("after", retry=policy, priority=Priority.HIGH)
    world.settle()
    assert world.outcome(after).state is TaskState.COMPLETED


# ---- lazy feeding ------------------------------------------------------------------------------------------------


class Source:
    """Stands for an async iterator; the core only looks at its type."""

    def __aiter__(self) -> Source:
        return self

    async def __anext__(self) -> Task:
        raise StopAsyncIteration


def test_a_lazy_job_has_a_share_done_as_soon_as_its_source_knows_the_whole() -> None:
    world = World()
    world.submit(Job(type="t", title="index", tasks=Source(), window=10, job_id="j"))
    world.feed("j", [task("list", 1.0, weight=0.0)])
    world.pass_s(1.5)
    world.tell(TotalKnown("j", 40.0))
    world.feed("j", [task(f"t{n}", 1.0, weight=10.0) for n in range(2)])
    world.pass_s(1.5)
    record = world.core.book.active["j"]
    assert (record.progress, record.tally) == (0.5, (20, 40))
    world.feed("j", [task("t3", weight=15.0)], exhausted=True)
    world.tell(TotalKnown("j", 99.0))
    world.settle()
    told = [(event.done, event.total, event.progress) for event in world.of(JobProgressed)]
    assert told == [(1, None, None), (10, 40, 0.25), (20, 40, 0.5)]
    assert record.tally == (40, 40), "its end is the whole"


def test_a_lazy_job_holds_a_bounded_number() -> None:
    """However long the source, no more than the window is in the queue."""
    world = World()
    [ticket] = world.submit(Job(type="t", title="index", tasks=Source(), window=10, job_id="j"))
    fed = 0
    most = 0
    while fed < 300:
        count = world.feeds.get("j")
        if count is None:
            assert world.step()
            continue
        count = min(count, 300 - fed)
        world.feed("j", [task(f"t{fed + n}") for n in range(count)])
        fed += count
        most = max(most, sum(world.core.flow.queued) + sum(world.core.flow.running))
    world.feed("j", [], exhausted=True)
    world.settle()
    assert most <= 10
    assert len(set(world.order)) == 300
    assert world.outcomes[ticket].state is JobState.COMPLETED
    world.check_empty()


def test_a_bad_task_of_a_source_fails_alone() -> None:
    """What is wrong with one fed task is that task's failure; the rest of the job goes on."""
    world = World()
    [ticket] = world.submit(Job(type="t", title="index", tasks=Source(), job_id="j"))
    world.feed(
        "j", [task("fine"), task("big", cores=99), task("orphan", after=("ghost",)), task("fine")], exhausted=True
    )
    world.settle()
    states = {name: found.state for name, found in world.outcomes[ticket].results.items()}
    assert states["big"] is states["orphan"] is TaskState.FAILED
    assert world.order == ["fine"]
    world.check_empty()


def test_a_source_that_breaks_fails_its_job_after_what_it_gave() -> None:
    world = World()
    [ticket] = world.submit(Job(type="t", title="index", tasks=Source(), job_id="j"))
    failure = Failure(kind=ErrorKind.NOT_FOUND, message="no such folder")
    world.tell(TasksFed("j", (task("one"),), exhausted=False, failure=failure))
    world.settle()
    assert world.order == ["one"]
    assert world.outcomes[ticket].state is JobState.FAILED
    assert world.outcomes[ticket].error == failure


def test_a_cancelled_source_is_stopped() -> None:
    world = World()
    [ticket] = world.submit(Job(type="t", title="index", tasks=Source(), job_id="j"))
    world.tell(JobCancelled("j", "stop"))
    assert world.stopped_sources == ["j"]
    assert world.outcomes[ticket].state is JobState.CANCELLED
    world.tell(TasksFed("j", (task("late"),), exhausted=False))
    assert not world.begun


def test_fed_tasks_may_depend_on_earlier_ones() -> None:
    world = World()
    [ticket] = world.submit(Job(type="t", title="index", tasks=Source(), job_id="j"))
    world.feed("j", [task("a", value=1)])
    world.pass_s(1)
    world.feed("j", [task("b", after=("a",), value=RESULTS), task("c", after=("b",))], exhausted=True)
    world.settle()
    assert dict(world.outcome(ticket, "b").value) == {"a": 1}
    assert world.order == ["a", "b", "c"]


# ---- the machine -------------------------------------------------------------------------------------------------


def test_a_lost_device_ends_what_waits_for_it() -> None:
    """Nothing waits for ever for what can never be any more."""
    gpu = Gpu(index=0, uuid="g0", total_mb=8000)
    world = World(totals=Totals(cpu_cores=2, memory_mb=8000, gpus=(gpu,)))
    asks = Requirement(cpu_cores=0.1, memory_mb=1, gpu_count=1)
    runs = world.run("runs", Work(lasts_s=5), requirement=asks)
    waits = world.run("waits", requirement=asks)
    assert world.begun[0].run.context.devices == (0,)
    assert dict(world.begun[0].run.context.device_env) == {"CUDA_VISIBLE_DEVICES": "0"}
    world.tell(MachineSampled(MachineReport(totals=Totals(cpu_cores=2, memory_mb=8000), pressure=Pressure())))
    error = world.outcome(waits).error
    assert error is not None
    assert "gpuCount" in error.message
    world.settle()
    assert world.outcome(runs).state is TaskState.COMPLETED
    world.check_empty()


def test_views_say_what_is() -> None:
    world = World()
    world.submit(job(task("a", 1.0, weight=3.0), task("b", 1.0, after=("a",)), job_id="j", title="Two"))
    world.pass_s(0.5)
    view = job_view(world.core.book.active["j"], 200, world.now_s)
    assert (view.state, view.done, view.total, view.progress) == (JobState.RUNNING, 0, 2, 0.0)
    assert [found.state for found in view.tasks] == [TaskState.RUNNING, TaskState.PENDING]
    assert view.tasks[0].ran_s == pytest.approx(0.5)
    assert view.tasks[1].depends_on == ("a",)
    world.pass_s(1.0)
    assert job_view(world.core.book.active["j"], 200, world.now_s).progress == 0.75
    world.settle()
    ended = world.core.book.find("j")
    assert ended is not None
    view = job_view(ended, 1, world.now_s)
    assert (view.progress, view.truncated, len(view.tasks)) == (1.0, True, 1)


def test_every_task_ends_once_in_events() -> None:
    world = World()
    world.submit(job(*(task(f"t{n}", fails=n % 3) for n in range(30))))
    world.settle()
    ended = [event.task_id for event in world.of(TaskEnded)]
    assert len(ended) == len(set(ended)) == 30


@pytest.mark.parametrize("policy", list(OnTaskFailure))
@pytest.mark.parametrize("order", [("bad", "good"), ("good", "bad"), ("bad",), ("bad", "worse")])
def test_the_last_tasks_of_a_source_may_end_at_once(order: tuple[str, ...], policy: OnTaskFailure) -> None:
    """What can never be fails as it is fed: the job ends once, and not before the rest of what came with it."""
    world = World()

    async def source() -> AsyncIterator[Task]:
        yield task("never asked")

    lazy = Job(type="t", title="t", tasks=source(), job_id="lazy", on_task_failure=policy)
    (ticket,) = world.submit(lazy)
    world.feed("lazy", [task(name, cores=0.1 if name == "good" else 99.0) for name in order], exhausted=True)
    if policy is OnTaskFailure.PAUSE:
        world.tell(JobResumed("lazy"))
    world.settle()
    outcome = world.outcomes[ticket]
    assert outcome.state is JobState.FAILED
    assert outcome.results["bad"].error is not None
    if policy is not OnTaskFailure.STOP:
        assert set(outcome.results) == set(order)
    world.check_empty()


@pytest.mark.parametrize("kind", list(Priority))
def test_work_that_asks_for_the_whole_machine_gets_what_is_not_reserved(kind: Priority) -> None:
    """One core on a machine with one: that is what a task asks for that says nothing. Below HIGH it leaves a little."""
    world = World(totals=Totals(cpu_cores=1, memory_mb=8000))
    for name in ("first", "second"):
        world.run(name, Work(lasts_s=1), requirement=Requirement(cpu_cores=1.0, memory_mb=1), priority=kind)
    assert world.running == ["first"] or kind is Priority.CRITICAL
    assert world.core.quota.views()["cpuCores"].used == (1.0, 0.75, 0.65, 0.65, 0.65)[kind]
    world.run("urgent", priority=Priority.CRITICAL)
    assert "urgent" in world.order or kind is Priority.CRITICAL, "it always has room"
    world.settle()
    world.check_empty()


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        (TaskKind.CPU_BOUND, StepKind.PROCESS),
        (TaskKind.IO_BOUND, StepKind.THREAD),
        (TaskKind.MIXED, StepKind.PROCESS),
        (TaskKind.COROUTINE, StepKind.ASYNC),
    ],
)
def test_where_a_bare_call_runs(kind: TaskKind, where: StepKind) -> None:
    """What computes, if only in part, runs in a process: in a thread it would hold up the loop."""
    world = World()
    world.run("a", kind=kind)
    assert world.begun[0].run.kind is where
