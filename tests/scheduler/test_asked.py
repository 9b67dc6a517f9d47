"""For each mechanism that a caller asks for a scene: it comes true when asked for, and does not otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headway.scheduler.alerts import Alerts, Reading
from headway.scheduler.kinds import OnStepFailure, OnTaskFailure, OnTimeout
from headway.scheduler.model import (
    ErrorKind,
    Job,
    JobState,
    Priority,
    Requirement,
    RetryPolicy,
    Step,
    Task,
    TaskState,
    TimeoutPolicy,
)
from headway.scheduler.queues import LevelQueue
from headway.scheduler.stimuli import HeartbeatSeen, JobPaused, PartialReported, PrioritySet
from tests.scheduler.world import RESULTS, Work, World, job, steps, task

BIG = Requirement(cpu_cores=1.5, memory_mb=1)
HIGH, NORMAL, BATCH = Priority.HIGH, Priority.NORMAL, Priority.BATCH


def a_newer_request_ends_the_older(world: World, asked: bool) -> bool:
    key = "document" if asked else None
    older = world.run("older", Work(lasts_s=10), supersede_key=key)
    world.run("newer", Work(lasts_s=1), supersede_key=key)
    world.pass_s(2)
    return older in world.outcomes and world.outcomes[older].state is JobState.CANCELLED


def equal_requests_are_run_once(world: World, asked: bool) -> bool:
    key = "query" if asked else None
    both = [world.run("search", Work(value=7), share_key=key) for _ in range(2)]
    world.settle()
    return len(world.begun) == 1 and {world.outcome(ticket).value for ticket in both} == {7}


def shared_work_inherits_the_highest_priority(world: World, asked: bool) -> bool:
    world.run("block", Work(lasts_s=0.3), requirement=BIG)
    world.run("normal", requirement=BIG)
    world.run("shared", priority=BATCH, share_key="k", requirement=BIG)
    world.run("shared", priority=HIGH if asked else BATCH, share_key="k", requirement=BIG)
    world.settle()
    return world.order.index("shared") < world.order.index("normal")


def what_an_urgent_task_waits_for_inherits_its_priority(world: World, asked: bool) -> bool:
    world.run("block", Work(lasts_s=0.3), requirement=BIG)
    world.run("normal", requirement=BIG)
    urgent = task("urgent", after=("first",), cores=1.5, priority=HIGH if asked else BATCH)
    world.submit(job(task("first", cores=1.5, priority=BATCH), urgent, priority=BATCH))
    world.settle()
    return world.order.index("first") < world.order.index("normal")


def a_hard_limit_ends_the_work(world: World, asked: bool) -> bool:
    ticket = world.run("a", Work(lasts_s=100), timeout=TimeoutPolicy(hard_s=1.0 if asked else None))
    world.pass_s(2)
    return ticket in world.outcomes and bool(world.cancelled)


def a_soft_limit_gives_what_there_is(world: World, asked: bool) -> bool:
    limit = TimeoutPolicy(soft_s=1.0, on_soft=OnTimeout.FALLBACK if asked else OnTimeout.WARN, fallback="stale")
    ticket = world.run("a", Work(lasts_s=100), timeout=limit)
    world.pass_s(2)
    return ticket in world.outcomes and world.outcome(ticket).fallback


def a_partial_result_serves(world: World, asked: bool) -> bool:
    limit = TimeoutPolicy(hard_s=1.0, on_hard=OnTimeout.FALLBACK)
    ticket = world.run("a", Work(lasts_s=100), timeout=limit)
    if asked:
        world.tell(PartialReported(world.begun[0].run.run_id, "half"))
    world.pass_s(2)
    return world.outcome(ticket).partial and world.outcome(ticket).value == "half"


def a_wait_is_limited(world: World, asked: bool) -> bool:
    world.run("block", Work(lasts_s=100), requirement=BIG)
    ticket = world.run("a", requirement=BIG, timeout=TimeoutPolicy(queue_s=1.0 if asked else None))
    world.pass_s(2)
    return ticket in world.outcomes


def what_gives_no_sign_of_life_is_ended(world: World, asked: bool) -> bool:
    ticket = world.run("a", Work(lasts_s=100), timeout=TimeoutPolicy(heartbeat_s=1.0 if asked else None))
    world.pass_s(0.9)
    world.tell(HeartbeatSeen(world.begun[0].run.run_id))
    world.pass_s(0.9)
    lives = ticket not in world.outcomes
    world.pass_s(0.3)
    return lives and ticket in world.outcomes


def nothing_is_started_after_its_deadline(world: World, asked: bool) -> bool:
    world.run("block", Work(lasts_s=2), requirement=BIG)
    world.run("late", requirement=BIG, deadline_at_s=1.0 if asked else None)
    world.settle()
    return "late" not in world.order


def what_cannot_be_paid_for_is_refused_at_once(world: World, asked: bool) -> bool:
    """Though there is time left: less than it takes at least."""
    limit = TimeoutPolicy(least_s=3.0 if asked else 0.0)
    ticket = world.run("a", Work(lasts_s=1), deadline_at_s=2.0, timeout=limit)
    return ticket in world.outcomes and not world.order


def what_waits_is_given_up_when_its_deadline_is_out_of_reach(world: World, asked: bool) -> bool:
    world.run("block", Work(lasts_s=10), requirement=BIG)
    limit = TimeoutPolicy(least_s=3.0 if asked else 0.0)
    ticket = world.run("a", requirement=BIG, deadline_at_s=5.0, timeout=limit)
    world.pass_s(1.9)
    waits = ticket not in world.outcomes
    world.pass_s(0.2)
    return waits and ticket in world.outcomes


def a_step_that_cannot_be_paid_for_is_not_started(world: World, asked: bool) -> bool:
    made = tuple(Step(name=str(n), call=Work(lasts_s=1.0), least_s=1.0 if asked else 0.0) for n in range(3))
    (ticket,) = world.submit(job(Task(name="a", steps=made[:1] + made[2:], deadline_at_s=2.5)))
    world.submit(job(Task(name="b", steps=made, deadline_at_s=2.5)))
    world.settle()
    return world.outcome(ticket).state is TaskState.COMPLETED and world.order.count("b") == 0


def a_step_has_a_limit_of_its_own(world: World, asked: bool) -> bool:
    made = (Step(name="1", call=Work(lasts_s=100), timeout_s=1.0 if asked else None),)
    (ticket,) = world.submit(job(Task(name="a", steps=made, retry=RetryPolicy(max_retries=0))))
    world.pass_s(2)
    return ticket in world.outcomes and bool(world.cancelled)


def a_failing_step_is_repeated_by_itself(world: World, asked: bool) -> bool:
    policy = OnStepFailure.RETRY if asked else OnStepFailure.FAIL
    made = (Step(name="1", call=Work(fails=2), on_failure=policy),)
    (ticket,) = world.submit(job(Task(name="a", steps=made, retry=RetryPolicy(max_retries=0))))
    world.settle()
    return world.outcome(ticket).state is TaskState.COMPLETED and world.outcome(ticket).attempts == 1


def a_job_pauses_at_its_first_failure(world: World, asked: bool) -> bool:
    policy = OnTaskFailure.PAUSE if asked else OnTaskFailure.CONTINUE
    tasks = [task("a", cores=1.5, fails=9, kind=ErrorKind.NOT_FOUND), task("b", cores=1.5)]
    world.submit(job(*tasks, on_task_failure=policy, job_id="j"))
    world.pass_s(60)
    return "b" not in world.order and world.core.book.active["j"].state is JobState.PAUSED


def who_asks_for_patience_gets_twice_the_wait(world: World, asked: bool) -> bool:
    kind = ErrorKind.RESOURCE_BUSY if asked else ErrorKind.NETWORK
    world.run("a", Work(fails=1, kind=kind, lasts_s=0.0), retry=RetryPolicy(max_retries=1))
    world.settle()
    return world.begun[1].at_s >= 1.9


def a_deadline_is_passed_down(world: World, asked: bool) -> bool:
    world.submit(job(steps("a", [1.0, 5.0], deadline_at_s=2.0 if asked else None)))
    world.pass_s(3)
    return world.begun[-1].run.context.deadline_at_s == 2.0 and bool(world.cancelled)


def a_failed_attempt_is_made_again(world: World, asked: bool) -> bool:
    ticket = world.run("a", Work(fails=1), retry=RetryPolicy(max_retries=1 if asked else 0))
    world.settle()
    return world.outcome(ticket).state is TaskState.COMPLETED


def the_time_that_the_other_side_names_is_honoured(world: World, asked: bool) -> bool:
    work = Work(fails=1, kind=ErrorKind.RATE_LIMITED, retry_after_s=30.0 if asked else None)
    world.run("a", work, retry=RetryPolicy(max_retries=1))
    world.settle()
    return world.begun[1].at_s >= 30.0


def what_ran_out_of_memory_gets_more(world: World, asked: bool) -> bool:
    kind = ErrorKind.OUT_OF_MEMORY if asked else ErrorKind.NETWORK
    need = Requirement(cpu_cores=0.1, memory_mb=100)
    world.run("a", Work(fails=1, kind=kind), requirement=need, retry=RetryPolicy(max_retries=1))
    world.settle()
    return [found.run.memory_mb for found in world.begun] == [100, 200]


def a_failing_step_is_skipped(world: World, asked: bool) -> bool:
    policy = OnStepFailure.SKIP if asked else OnStepFailure.FAIL
    made = (
        Step(name="1", call=Work(fails=9, kind=ErrorKind.NOT_FOUND), on_failure=policy),
        Step(name="2", call=Work()),
    )
    (ticket,) = world.submit(job(Task(name="a", steps=made, requirement=Requirement(cpu_cores=0.1))))
    world.settle()
    return world.outcome(ticket).state is TaskState.COMPLETED


def what_depends_on_a_failure_runs_anyway(world: World, asked: bool) -> bool:
    failing = task("a", fails=9, kind=ErrorKind.NOT_FOUND)
    (ticket,) = world.submit(job(failing, task("b", after=("a",), run_anyway=asked)))
    world.settle()
    return world.outcome(ticket, "b").state is TaskState.COMPLETED


def a_dependent_gets_results(world: World, asked: bool) -> bool:
    (ticket,) = world.submit(job(task("a", value=7), task("b", after=("a",) if asked else (), value=RESULTS)))
    world.settle()
    return bool(world.outcome(ticket, "b").value == {"a": 7})


def a_job_stops_at_its_first_failure(world: World, asked: bool) -> bool:
    policy = OnTaskFailure.STOP if asked else OnTaskFailure.CONTINUE
    tasks = [task("a", cores=1.5, fails=9, kind=ErrorKind.NOT_FOUND), task("b", cores=1.5)]
    world.submit(job(*tasks, on_task_failure=policy))
    world.settle()
    return "b" not in world.order


def a_paused_job_stands_still(world: World, asked: bool) -> bool:
    world.submit(job(steps("a", [0.1] * 10), job_id="j"))
    if asked:
        world.tell(JobPaused("j"))
    world.pass_s(5)
    return len(world.begun) == 1


def somebody_s_word_moves_what_waits(world: World, asked: bool) -> bool:
    world.run("block", Work(lasts_s=1), requirement=BIG)
    world.run("first", requirement=BIG)
    world.run("second", requirement=BIG, job_id="j")
    if asked:
        world.tell(PrioritySet("j", HIGH))
    world.settle()
    return world.order.index("second") < world.order.index("first")


def a_lazy_job_keeps_a_bounded_number_waiting(world: World, asked: bool) -> bool:
    made = [task(f"t{n}", cores=1.5) for n in range(1000)]

    async def source() -> Any:
        for one in made:
            yield one

    if not asked:
        world.submit(job(*made))
    else:
        world.submit(Job(type="t", title="t", tasks=source(), window=8, job_id="lazy"))
        world.feed("lazy", made[: world.feeds["lazy"]])
    return sum(world.core.flow.queued) <= 8


def a_gpu_is_for_who_asks_for_one(world: World, asked: bool) -> bool:
    from headway.scheduler.executors.base import Gpu, Totals

    world = World(totals=Totals(cpu_cores=2, memory_mb=8000, gpus=(Gpu(index=0, uuid="a", total_mb=1000),)))
    need = Requirement(cpu_cores=0.1, memory_mb=1, gpu_count=int(asked))
    world.run("a", Work(lasts_s=5), requirement=need)
    world.run("b", Work(lasts_s=5), requirement=need)
    return world.order == ["a"] and world.begun[0].run.context.device_env == {"CUDA_VISIBLE_DEVICES": "0"}


def a_queue_has_a_bound(world: World, asked: bool) -> bool:
    queue: LevelQueue[int] = LevelQueue(capacity=3 if asked else None)
    try:
        queue.extend(range(5), 2, 0.0)
    except Exception as error:  # noqa: BLE001  # its kind is what is looked at
        return type(error).__name__ == "QueueFullError" and len(queue) == 0
    return False


def an_alert_does_not_flap(world: World, asked: bool) -> bool:
    """Between its marks a reading says nothing new; a reading that is well below ends the alert, for the next one."""
    alerts, said = Alerts(), 0
    for at_s in range(0, 60, 3):
        value = 150.0 if at_s % 9 == 0 else 90.0 if asked else 10.0
        reading = Reading(metric="queue.depth", value=value, labels=(("priority", "LOW"),))
        said += len(alerts.judge([reading], float(at_s)))
    return said == 1


SCENES: list[Callable[[World, bool], bool]] = [
    a_newer_request_ends_the_older,
    equal_requests_are_run_once,
    shared_work_inherits_the_highest_priority,
    what_an_urgent_task_waits_for_inherits_its_priority,
    a_hard_limit_ends_the_work,
    a_soft_limit_gives_what_there_is,
    a_partial_result_serves,
    a_wait_is_limited,
    what_gives_no_sign_of_life_is_ended,
    nothing_is_started_after_its_deadline,
    what_cannot_be_paid_for_is_refused_at_once,
    what_waits_is_given_up_when_its_deadline_is_out_of_reach,
    a_step_that_cannot_be_paid_for_is_not_started,
    a_step_has_a_limit_of_its_own,
    a_failing_step_is_repeated_by_itself,
    a_job_pauses_at_its_first_failure,
    who_asks_for_patience_gets_twice_the_wait,
    a_deadline_is_passed_down,
    a_failed_attempt_is_made_again,
    the_time_that_the_other_side_names_is_honoured,
    what_ran_out_of_memory_gets_more,
    a_failing_step_is_skipped,
    what_depends_on_a_failure_runs_anyway,
    a_dependent_gets_results,
    a_job_stops_at_its_first_failure,
    a_paused_job_stands_still,
    somebody_s_word_moves_what_waits,
    a_lazy_job_keeps_a_bounded_number_waiting,
    a_gpu_is_for_who_asks_for_one,
    a_queue_has_a_bound,
    an_alert_does_not_flap,
]


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_it_comes_true_when_asked_for(scene: Callable[[World, bool], bool]) -> None:
    assert scene(World(), True)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_and_does_not_otherwise(scene: Callable[[World, bool], bool]) -> None:
    assert not scene(World(), False)
