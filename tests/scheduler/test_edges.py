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
from headway.scheduler.model import Priority, Requirement, TimeoutPolicy
from headway.scheduler.queues import LevelQueue
from headway.scheduler.resources import GPU_MEMORY, Quota, Shape
from headway.scheduler.retry import Breaker, RetryBudget
from headway.scheduler.stimuli import LevelsPaused, LevelsResumed
from headway.scheduler.strategies import PRIORITY
from headway.scheduler.timeouts import Due, Limit, next_due
from tests.scheduler.world import World, job, steps

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
