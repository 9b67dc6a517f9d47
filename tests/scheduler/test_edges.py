"""The edges of the pure parts: cases in which one step more or less, or a moment before, makes the difference.

Each was found by a mutant of the core that no other test noticed (`make mutation`).
"""

from __future__ import annotations

import dataclasses
import math

import pytest

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.credit import BatchCredit
from headway.scheduler.executors.base import Gpu, Totals
from headway.scheduler.model import (
    ErrorKind,
    OnTaskFailure,
    OnTimeout,
    Priority,
    Requirement,
    Step,
    StepKind,
    Task,
    TaskState,
    TimeoutPolicy,
)
from headway.scheduler.queues import Entry, LevelQueue
from headway.scheduler.resources import CPU, GPU_MEMORY, Quota, Shape
from headway.scheduler.retry import Breaker, RetryBudget
from headway.scheduler.stimuli import JobPaused, LevelsPaused, LevelsResumed, Reconfigured, TimePassed
from headway.scheduler.strategies import PRIORITY
from headway.scheduler.timeouts import Due, Limit, next_due
from tests.scheduler.world import Work, World, job, steps, task

ROOM = 1.5
BIG = Requirement(cpu_cores=ROOM, memory_mb=1)


def test_who_comes_back_to_the_queue_has_his_old_place() -> None:
    queue: LevelQueue[str] = LevelQueue()
    first = queue.push("first", 2, 0.0)
    queue.push("second", 2, 0.0)
    queue.remove(first)
    queue.push("first", 2, 0.0, order=first.order)
    assert [queue.pop(), queue.pop()] == ["first", "second"]


def test_who_gives_way_keeps_its_place_among_its_equals() -> None:
    """The time of arrival is kept: between its steps a task lets HIGH go first, but not its younger equals."""
    world = World()
    world.submit(job(steps("old", [0.01, 0.01], cores=ROOM)))
    world.run("young", requirement=BIG)
    world.run("urgent", requirement=BIG, priority=Priority.HIGH)
    world.settle()
    assert world.order == ["old", "urgent", "old", "young"]


def test_a_level_that_was_paused_goes_on_in_its_old_order() -> None:
    world = World()
    world.submit(job(steps("old", [0.02, 0.02], cores=ROOM)))
    world.run("young", requirement=BIG)
    world.tell(LevelsPaused((Priority.NORMAL,), "user"))
    world.pass_s(1)
    assert world.running == []
    world.tell(LevelsResumed((Priority.NORMAL,)))
    world.settle()
    assert world.order == ["old", "old", "young"]


def test_requests_earn_retries() -> None:
    """What the floor gave is used up; ten requests more are worth one retry more, and no hoard is made of thousands."""
    budget = RetryBudget(0.1, 2)
    assert [budget.spend() for _ in range(3)] == [True, True, False]
    for _ in range(10):
        assert budget.spend() is False
        budget.request()
    assert [budget.spend() for _ in range(2)] == [True, False]
    for _ in range(10_000):
        budget.request()
    assert [budget.spend() for _ in range(11)] == [True] * 10 + [False]


def test_a_cancelled_probe_lets_the_next_one_through() -> None:
    breaker = Breaker(1, 10.0)
    breaker.failed(0.0)
    assert (breaker.wait_s(4.0), breaker.wait_s(10.0)) == (6.0, 0.0)
    breaker.sent()
    assert breaker.wait_s(11.0) == 10.0, "the one that is out decides"
    breaker.given_up()
    assert breaker.wait_s(11.0) == 0.0


def test_batch_work_has_no_claim_from_before_it_waited() -> None:
    credit = BatchCredit(SchedulerConfig())
    credit.update(100.0, True)
    assert (credit.saved_s, credit.is_due) == (0.0, False)


def test_when_a_claim_is_due_depends_on_what_is_saved() -> None:
    credit = BatchCredit(SchedulerConfig(batch_share=0.1, batch_due_s=0.05))
    credit.update(10.0, True)
    credit.update(10.2, True)
    assert credit.due_at_s() == pytest.approx(10.5)
    credit.running += 1
    assert credit.due_at_s() == math.inf
    credit.charge(0.07)
    assert credit.due_at_s() == pytest.approx(11.2)


def test_without_a_share_nothing_is_ever_due() -> None:
    credit = BatchCredit(SchedulerConfig(batch_share=0.0))
    credit.update(0.0, True)
    credit.update(1e6, True)
    assert (credit.due_at_s(), credit.is_due) == (math.inf, False)


@pytest.mark.parametrize(
    ("policy", "step_timeout_s", "expected"),
    [
        (TimeoutPolicy(hard_s=7), 3.0, Due(13.0, Limit.HARD, 7.0)),
        (TimeoutPolicy(hard_s=7), 5.0, Due(13.0, Limit.HARD, 7.0)),
        (TimeoutPolicy(soft_s=15, hard_s=20), None, Due(21.0, Limit.SOFT, 15.0)),
        (TimeoutPolicy(soft_s=1, hard_s=20), None, Due(7.0, Limit.SOFT, 1.0)),
    ],
)
def test_limits_that_fall_together_or_were_reached_before(
    policy: TimeoutPolicy, step_timeout_s: float | None, expected: Due
) -> None:
    """A step that began at 10 s, of an attempt that has run for 4 s before."""
    due = next_due(
        policy,
        Requirement(),
        began_at_s=10.0,
        ran_s=4.0,
        soft_fired=False,
        step_timeout_s=step_timeout_s,
        beat_at_s=10.0,
        deadline_at_s=None,
    )
    assert due == expected


def test_what_we_use_of_a_device_is_not_taken_for_another_program() -> None:
    quota = Quota(Totals(cpu_cores=2, memory_mb=1000, gpus=(Gpu(index=0, uuid="a", total_mb=8000),)))
    quota.acquire(Shape(0, 0, 0, 3000), critical=False)
    quota.others_hold([(0, 5000.0)])
    assert quota.lacking(Shape(0, 0, 0, 5000), critical=False) == 0
    quota.others_hold([(0, 4000.0)])
    assert quota.lacking(Shape(0, 0, 0, 5000), critical=False) == GPU_MEMORY


def test_who_shares_a_device_gets_one_with_room() -> None:
    gpus = (Gpu(index=0, uuid="a", total_mb=4000), Gpu(index=1, uuid="b", total_mb=9000))
    quota = Quota(Totals(cpu_cores=2, memory_mb=1000, gpus=gpus))
    assert quota.acquire(Shape(0, 0, 0, 5000), critical=False).device_indices == (1,)


@pytest.mark.parametrize(("reserved_mb", "shown_mb"), [(100, 100), (5000, 1000)])
def test_no_more_is_shown_as_reserved_than_there_is(reserved_mb: float, shown_mb: float) -> None:
    assert Quota(Totals(cpu_cores=2, memory_mb=1000), 0.5, reserved_mb).views()["memoryMb"].reserved == shown_mb


def test_strategies_are_made_of_disciplines() -> None:
    """Each word changes the priorities that it names, in what it says, and nothing else."""
    made = PRIORITY.guaranteed(Priority.HIGH).best_effort(Priority.LOW).shared(Priority.LOW).feedback(Priority.BATCH)
    plain = PRIORITY.disciplines
    assert made.disciplines == (
        plain[0],
        dataclasses.replace(plain[1], guaranteed=True),
        plain[2],
        dataclasses.replace(plain[3], best_effort=True, shared=True),
        dataclasses.replace(plain[4], ages=True),
    )


def test_batch_work_that_runs_has_its_share_and_claims_no_more() -> None:
    """What it gets without a claim counts: otherwise HIGH work would wait for a claim that is met already."""
    world = World()
    batch = Requirement(cpu_cores=1.1, memory_mb=1)
    for n in range(2):
        world.run(f"batch{n}", Work(lasts_s=10), priority=Priority.BATCH, requirement=batch)
    world.pass_s(5)
    world.run("high", Work(lasts_s=1), priority=Priority.HIGH, requirement=Requirement(cpu_cores=0.4, memory_mb=1))
    assert world.order == ["batch0", "high"]


def test_batch_work_that_holds_next_to_nothing_leaves_the_claim() -> None:
    world = World()
    world.run("idle", Work(lasts_s=100), priority=Priority.BATCH, requirement=Requirement(cpu_cores=0.06, memory_mb=1))
    world.run("block", Work(lasts_s=2), priority=Priority.HIGH, requirement=Requirement(cpu_cores=1.4, memory_mb=1))
    world.run("batch", priority=Priority.BATCH, requirement=BIG)
    world.run("high", priority=Priority.HIGH, requirement=Requirement(cpu_cores=1.4, memory_mb=1))
    world.pass_s(3)
    assert world.order == ["idle", "block", "batch", "high"]


def test_what_batch_work_used_pays_for_claims_but_makes_no_debts() -> None:
    credit = BatchCredit(SchedulerConfig(batch_share=0.1, batch_due_s=0.05, batch_credit_cap_s=10.0))
    credit.update(0.0, True)
    credit.running += 1
    credit.ran(0.03, 1.0)
    assert credit.saved_s == pytest.approx(0.07), "what was saved while it ran is counted first"
    credit.running += 1
    credit.ran(5.0, 2.0)
    assert credit.saved_s == 0.0
    assert credit.due_at_s() == pytest.approx(2.5)
    credit.running += 1
    credit.charge(0.2)
    credit.running += 1
    credit.ran(5.0, 1.0)
    assert credit.saved_s == pytest.approx(-0.2), "nor are those of claims forgiven"
    assert credit.running == 0


def test_a_claim_leaves_a_little_where_there_is_enough() -> None:
    """Also when whoever is next wants more than that."""
    quota = Quota(Totals(cpu_cores=2, memory_mb=1000), 0.5, 0.0, 0.1)
    whole = Shape(2.0, 1, 0, 0)
    assert quota.squeezed(whole, leave=5_000_000, parts=2).cpu_cores == 1.4
    assert quota.squeezed(whole, leave=300_000, parts=2).cpu_cores == 1.2
    assert quota.squeezed(Shape(3.0, 1, 0, 0), leave=0, parts=2).cpu_cores == 1.5, "half of it at least"


def test_work_below_high_is_content_with_a_little_less_but_not_with_less_than_half() -> None:
    quota = Quota(Totals(cpu_cores=2, memory_mb=1000), 0.5, 0.0, 0.3)
    assert quota.acquire(Shape(1.0, 1, 0, 0), critical=False, background=True).cpu_cores == 1.0
    half, most = Shape(0.4, 1, 0, 0), Shape(0.41, 1, 0, 0)
    assert quota.lacking(most, critical=False, background=True) == CPU
    assert quota.lacking(most, critical=False) == 0
    assert quota.lacking(half, critical=False, background=True) == 0
    assert quota.acquire(half, critical=False, background=True).cpu_cores == 0.2
    assert quota.lacking(Shape(0.3, 1, 0, 0), critical=False) == 0


@pytest.mark.parametrize(("asked", "left"), [(0.1, 0.1), (5.0, 0.375), (0.0, 0.0)])
def test_what_is_left_is_at_most_a_quarter(asked: float, left: float) -> None:
    quota = Quota(Totals(cpu_cores=2, memory_mb=1000), 0.5, 0.0, asked)
    assert quota.acquire(Shape(1.5, 1, 0, 0), critical=False, background=True).cpu_cores == pytest.approx(1.5 - left)


def test_what_is_left_can_be_set_anew() -> None:
    world = World()
    world.tell(Reconfigured(dataclasses.replace(world.config, spare_cpu_cores=0.3)))
    world.run("batch", Work(lasts_s=5), priority=Priority.BATCH, requirement=BIG)
    assert world.core.quota.views()["cpuCores"].used == 1.2


@pytest.mark.parametrize("policy", [OnTaskFailure.PAUSE, OnTaskFailure.CONTINUE])
def test_resuming_a_level_lets_its_jobs_go_on_that_paused_at_a_failure(policy: OnTaskFailure) -> None:
    """Not those that somebody paused, and not those of other levels."""
    world = World()
    bad, rest = task("bad", fails=9, kind=ErrorKind.NOT_FOUND, cores=ROOM), task("rest", cores=ROOM)
    world.submit(job(bad, rest, on_task_failure=policy, job_id="j"))
    if policy is OnTaskFailure.CONTINUE:
        world.tell(JobPaused("j"))
    world.pass_s(1)
    world.tell(LevelsResumed((Priority.HIGH, Priority.LOW)))
    world.pass_s(1)
    assert world.order == ["bad"]
    world.tell(LevelsResumed((Priority.NORMAL,)))
    world.pass_s(1)
    assert world.order == (["bad", "rest"] if policy is OnTaskFailure.PAUSE else ["bad"])


def test_the_least_that_a_task_takes_counts_what_it_did() -> None:
    """A later step, or an attempt after a pause, has only the rest to pay for; a new attempt has all of it."""
    world = World()
    made = tuple(Step(name=str(n), call=Work(lasts_s=1.0)) for n in range(3))
    limit = TimeoutPolicy(least_s=3.0)
    paid = world.submit(job(Task(name="paid", steps=made, deadline_at_s=3.5, timeout=limit)))[0]
    world.settle()
    assert world.outcome(paid).state is TaskState.COMPLETED
    work = Work(lasts_s=1.0, fails=1)
    again = world.run("again", work, deadline_at_s=8.0, timeout=TimeoutPolicy(least_s=4.0))
    world.settle()
    assert (world.outcome(again).state, world.outcome(again).attempts) == (TaskState.FAILED, 1)
    error = world.outcome(again).error
    assert error is not None
    assert error.kind is ErrorKind.NETWORK, "why it failed, and not that there is no time for another attempt"


def test_what_is_refused_for_its_deadline_says_why_and_falls_back() -> None:
    world = World()
    limit = TimeoutPolicy(least_s=3.0, on_hard=OnTimeout.FALLBACK, fallback="stale")
    ticket = world.run("a", deadline_at_s=2.0, timeout=limit)
    outcome = world.outcome(ticket)
    assert (outcome.value, outcome.fallback, outcome.attempts) == ("stale", True, 0)
    assert outcome.error is not None
    assert outcome.error.message == "a was not started: it takes 3 s at least, and its deadline is in 2 s"
    world.check_empty()


def test_a_step_is_not_gone_on_with_when_the_rest_cannot_be_paid_for() -> None:
    """The first step took longer than it said."""
    world = World()
    made = (Step(name="0", call=Work(lasts_s=2.0), least_s=1.0), Step(name="1", call=Work(lasts_s=1.0), least_s=1.0))
    ticket = world.submit(job(Task(name="a", steps=made, deadline_at_s=2.5)))[0]
    world.settle()
    outcome = world.outcome(ticket)
    assert (outcome.state, outcome.finished_at_s) == (TaskState.FAILED, 2.0)
    assert outcome.error is not None
    assert outcome.error.message.startswith("1 was not started")
    assert len(world.begun) == 1
    world.check_empty()


def test_on_a_busy_machine_low_work_goes_before_batch_work() -> None:
    """Both live on the same share then; neither is kept waiting for ever by the other."""
    world = World()
    world.press(cpu=1.0, foreign_cpu=0.95)
    for n in range(3):
        world.run(f"batch{n}", Work(lasts_s=0.04), priority=Priority.BATCH, requirement=BIG)
    for n in range(3):
        world.run(f"low{n}", Work(lasts_s=0.04), priority=Priority.LOW, requirement=BIG)
    world.pass_s(30)
    assert world.order == ["low0", "low1", "low2", "batch0", "batch1", "batch2"]
    world.run("batch", priority=Priority.BATCH, requirement=BIG)
    for n in range(100):
        world.run(f"more{n}", Work(lasts_s=0.04), priority=Priority.LOW, requirement=BIG)
    world.pass_s(9.9)
    assert "batch" not in world.order
    world.pass_s(2)
    assert "batch" in world.order


def test_what_came_out_of_order_is_listed_and_taken_in_order() -> None:
    """Many that left and came back: they wait beside the row, and of those that left again nothing stays behind."""
    queue: LevelQueue[int] = LevelQueue()
    entries = [queue.push(number, 2, 0.0, order=number) for number in reversed(range(200))]
    assert queue.by_level(2) == list(range(200))
    assert queue.by_level(1) == []
    [line] = queue.lines()
    for entry in entries:
        if entry.item % 10 and entry.item != 199:
            assert queue.remove(entry) is True
            assert queue.remove(entry) is False
    assert len(line.row) + len(line.heap) < 64
    left = [*range(0, 200, 10), 199]
    assert [found.item for found in line] == queue.by_level(2) == left
    assert queue.waiting(2) == len(queue) == len(left)
    assert [queue.pop() for _ in left] == left
    assert queue.pop() is None


def test_a_few_dead_entries_are_left_until_they_come_up() -> None:
    """To sweep for each of them would cost the length of the line each time."""
    queue: LevelQueue[int] = LevelQueue()
    entries = [queue.push(number, 0, 0.0) for number in range(65)]
    [line] = queue.lines()
    row = line.row
    for entry in entries[33:]:
        queue.remove(entry)
    assert line.row is row
    queue.remove(entries[32])
    assert line.row is not row
    assert len(line.row) == 32


def test_exactly_as_many_as_there_is_room_for_are_taken() -> None:
    queue: LevelQueue[int] = LevelQueue(capacity=3)
    queue.push(0, 0, 0.0)
    assert [entry.item for entry in queue.extend([1, 2], 0, 0.0)] == [1, 2]
    assert queue.by_level(0) == [0, 1, 2]


def test_numbers_of_arrival_are_given_out_once() -> None:
    queue: LevelQueue[str] = LevelQueue()
    first = queue.new_order()
    assert queue.push("a", 0, 0.0).order == first + 1
    assert queue.new_order() == first + 2


def test_a_line_knows_since_when_its_newest_waits() -> None:
    queue: LevelQueue[str] = LevelQueue()
    queue.push("a", 0, 5.0)
    queue.push("b", 0, 7.0)
    [line] = queue.lines()
    assert line.newest_s == 7.0


def test_who_joins_a_line_at_its_end_stands_there_as_who_was_pushed() -> None:
    """The short ways into a line and out of it, beside the long ones: nothing tells afterwards which was taken."""
    pushed: LevelQueue[int] = LevelQueue()
    joined: LevelQueue[int] = LevelQueue()
    for number in range(3):
        pushed.push(number, 2, float(number), key="k")
    first = joined.push(0, 2, 0.0, key="k")
    entries = [Entry(number, 0.0, -1, float(number)) for number in (1, 2)]
    assert not any(entry.live for entry in entries), "nobody waits before he does"
    for entry in entries:
        joined.append(first.line, entry)
        assert entry.live
        assert entry.line is first.line
    for out in (0, 1):
        [one], [other] = pushed.lines(), joined.lines()
        assert [(found.item, found.order, found.since_s) for found in one] == [
            (found.item, found.order, found.since_s) for found in other
        ]
        assert (one.live, one.newest_s, len(one.row)) == (other.live, other.newest_s, len(other.row))
        assert (len(pushed), pushed.waiting(2)) == (len(joined), joined.waiting(2)) == (3 - out, 3 - out)
        assert pushed.statistics() == joined.statistics()
        head = pushed.peek()
        assert head is not None
        pushed.remove(head)
        leaves = joined.peek()
        joined.take_first(first.line)
        assert leaves is not None
        assert not leaves.live
    assert joined.new_order() == pushed.new_order() == 4


def test_one_line_is_told_from_none_and_from_several() -> None:
    queue: LevelQueue[str] = LevelQueue()
    assert queue.only_line() is None
    entry = queue.push("a", 1, 0.0)
    assert queue.only_line() is entry.line
    other = queue.push("b", 1, 0.0, key="another")
    assert queue.only_line() is None
    queue.remove(entry)
    assert queue.only_line() is other.line


def test_one_who_left_and_came_back_out_of_order_has_his_number_twice() -> None:
    """Once dead, beside each other; what tells them apart is when they came, never what they are."""
    queue: LevelQueue[str] = LevelQueue()
    queue.push("newest", 0, 0.0, order=9)
    for _ in range(3):
        queue.remove(queue.push("back", 0, 0.0, order=3))
    queue.push("back", 0, 0.0, order=3)
    queue.push("older", 0, 0.0, order=2)
    assert [queue.pop() for _ in range(3)] == ["older", "back", "newest"]


def test_lines_are_swept_once_more_than_sixty_four_stand_in_them() -> None:
    for count, swept in ((64, False), (65, True)):
        queue: LevelQueue[int] = LevelQueue()
        entries = [queue.push(number, 0, 0.0) for number in range(count)]
        [line] = queue.lines()
        for entry in reversed(entries[1:]):
            queue.remove(entry)
        assert (len(line.row) < count) is swept


def test_background_that_runs_gives_way_to_a_key_that_waits() -> None:
    """At its next step boundary, and comes back when the key has its place."""
    world = World(slots=(4, 4, 4, 4, 4, 4))
    world.submit(job(steps("batch", [0.2] * 3, cores=1.0), priority=Priority.BATCH))
    world.submit(job(*(task(f"key{n}", 0.3, cores=1.0) for n in range(3)), priority=Priority.CRITICAL))
    world.settle()
    assert world.order == ["batch", "key0", "key1", "key2", "batch", "batch"]


def test_nobody_gives_way_to_a_level_that_is_paused() -> None:
    world = World()
    world.submit(job(steps("normal", [0.1] * 3, cores=ROOM)))
    world.tell(LevelsPaused((Priority.HIGH,), "user"))
    world.run("high", requirement=BIG, priority=Priority.HIGH)
    world.pass_s(1.0)
    assert world.order == ["normal"] * 3
    world.tell(LevelsResumed((Priority.HIGH,)))
    assert world.order == [*["normal"] * 3, "high"]


@pytest.mark.parametrize(("own", "gives_way"), [(StepKind.THREAD, True), (StepKind.ASYNC, False)])
def test_a_slot_is_given_up_by_who_has_it(own: StepKind, gives_way: bool) -> None:
    """Who waits for a thread is not helped by one who has none."""
    world = World(slots=(1, 1, 1, 1, 1, 1))
    world.submit(job(steps("normal", [0.1] * 3, kind=own)))
    if own is StepKind.ASYNC:
        world.submit(job(steps("thread", [1.0], kind=StepKind.THREAD)))
    world.submit(job(steps("high", [0.1], kind=StepKind.THREAD), priority=Priority.HIGH))
    world.pass_s(0.25)
    assert (world.order.index("high") < 2 if "high" in world.order else False) is gives_way


def test_a_grace_is_not_over_while_nothing_can_run() -> None:
    """Told to stop, and then the process stood still: the time is not counted against what was told."""
    world = World()
    ticket = world.run("deaf", Work(lasts_s=100.0, stubborn_s=100.0), timeout=TimeoutPolicy(hard_s=1.0))
    world.pass_s(1.05)
    world.now_s += 60.0
    world.tell(TimePassed(stood_still_s=60.0))
    assert ticket not in world.outcomes
    world.pass_s(0.1)
    assert ticket in world.outcomes
