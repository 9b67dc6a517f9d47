"""One test for each known trap of simple schedulers (the specification's list); each fails in a core that falls in."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from headway.scheduler import Scheduler
from headway.scheduler.config import SchedulerConfig
from headway.scheduler.executors.base import Pressure, Totals
from headway.scheduler.executors.inline import inline_executors
from headway.scheduler.kinds import ErrorKind
from headway.scheduler.machine import FixedMachine
from headway.scheduler.metrics import Metrics
from headway.scheduler.model import (
    Failure,
    JobOutcome,
    Priority,
    Requirement,
    RetryPolicy,
    TaskMoved,
    TaskState,
    TimeoutPolicy,
)
from headway.scheduler.queues import LevelQueue
from headway.scheduler.resources import CPU, Quota, Shape
from headway.scheduler.retry import kind_of, may_retry
from headway.scheduler.stimuli import JobCancelled, PrioritySet, TimePassed
from headway.scheduler.strategies import DEFAULT, risen_rank
from tests.scheduler.world import COMPILED, Work, World, job, steps

ROOM = 1.5
BIG = Requirement(cpu_cores=ROOM, memory_mb=1)


def test_lazy_deletion_does_not_drop_the_new_entry() -> None:
    """Lazy deletion by id alone drops an entry whose priority was changed."""
    queue: LevelQueue[str] = LevelQueue()
    entry = queue.push("job", 2, 0.0)
    for level in (1, 3, 1, 2, 1):
        entry = queue.move(entry, level)
    assert [queue.pop(), queue.pop()] == ["job", None]


def test_the_old_entry_is_not_run_beside_the_new_one() -> None:
    """The same trap from outside: moved up and down, a job runs once."""
    world = World()
    world.run("block", Work(lasts_s=1), requirement=BIG)
    world.run("moved", requirement=BIG, job_id="m")
    for priority in (1, 3, 1, 4, 1, 3, 2, 3):
        world.tell(PrioritySet("m", Priority(priority)))
    world.run("other", requirement=BIG)
    world.settle()
    assert world.order == ["block", "other", "moved"]


def test_the_scan_that_promotes_does_not_skip_whom_it_promoted() -> None:
    """A promoted task is skipped by the same scan that promotes it."""
    world = World()
    world.run("block", Work(lasts_s=5.5), priority=Priority.HIGH, requirement=BIG)
    world.run("aged", priority=Priority.LOW, requirement=BIG)
    world.pass_s(5.2)
    for n in range(3):
        world.run(f"fresh{n}", priority=Priority.LOW, requirement=BIG)
        world.run(f"normal{n}", priority=Priority.NORMAL, requirement=BIG)
    world.settle()
    # Risen to NORMAL's rank, and older than all of NORMAL: the first scan after the block must pick it.
    assert world.order[1] == "aged"


def test_demotion_leaves_one_copy() -> None:
    """Demotion appends a second copy."""
    world = World()
    tickets = world.submit(job(steps("hog", [0.06] * 12, cores=ROOM)), job(steps("twin", [0.06] * 12, cores=ROOM)))
    world.settle()
    assert [move.reason for move in world.of(TaskMoved)].count("quantum") >= 2, "nobody sank"
    assert world.order.count("hog") == world.order.count("twin") == 12
    assert all(world.outcome(ticket).attempts == 1 for ticket in tickets)
    world.check_empty()


def test_the_wait_starts_anew_when_it_ends() -> None:
    """Waiting time is not reset: a task that has just run would count as one that waits since its submission."""
    world = World()
    world.submit(job(steps("worked", [6.0] + [0.3] * 3, cores=ROOM), priority=Priority.LOW))
    world.pass_s(5.9)
    world.run("normal", Work(lasts_s=0.1), requirement=BIG)
    world.settle()
    # After its first step it gives way to NORMAL work: six seconds of running are no six seconds of waiting.
    assert world.order == ["worked", "normal", "worked", "worked", "worked"]


def test_ties_never_compare_what_waits() -> None:
    """Ties compare payloads: entries of equal rank, also one that left and came back, are never compared."""
    queue: LevelQueue[object] = LevelQueue()
    items = [object() for _ in range(50)]
    entries = [queue.push(item, 1, 0.0, order=7) for item in items]
    for entry in entries[::2]:
        queue.remove(entry)
        queue.push(entry.item, 1, 0.0, order=7)
    assert {queue.pop() for _ in items} == set(items)


def test_peek_costs_nothing_like_a_copy() -> None:
    """`peek` copies what waits. Counted, not timed: looking at the head touches one entry, whatever waits behind it."""
    queue: LevelQueue[int] = LevelQueue()
    for item in range(10_000):
        queue.push(item, 2, 0.0)
    [line] = queue.lines()
    row = line.row
    head = queue.peek()
    assert head is not None
    assert head.item == 0
    assert line.row is row
    assert len(row) == 10_000


def test_the_reservation_check_can_say_no() -> None:
    """A reservation check that is always true."""
    quota = Quota(Totals(cpu_cores=2, memory_mb=1000), 0.5, 100)
    held = quota.acquire(Shape(1.5, 10, 0, 0), critical=False)
    assert quota.lacking(Shape(0.1, 10, 0, 0), critical=False) == CPU
    assert quota.lacking(Shape(0.1, 10, 0, 0), critical=True) == 0
    quota.release(held)
    assert quota.lacking(Shape(1.5, 10, 0, 0), critical=False) == 0


def test_not_every_completion_breaks_its_promise() -> None:
    """Every completion counted as an SLA breach."""
    world = World()
    metrics = Metrics(lambda: world.now_s, lambda: (world.core.flow.queued, world.core.flow.running))
    world.run("quick", Work(lasts_s=0.01), priority=Priority.CRITICAL)
    world.run("slow", Work(lasts_s=5.0), priority=Priority.CRITICAL)
    world.settle()
    for event in world.events:
        metrics.observe(event)
    level = metrics.snapshot().levels[Priority.CRITICAL]
    assert (level.sla_kept, level.sla_broken) == (1, 1)


def test_failures_are_classified_by_type() -> None:
    """Retry classes compared with messages."""

    class OddError(ConnectionResetError):
        pass

    assert kind_of(OddError("invalid input: permission denied, not found")) is ErrorKind.NETWORK
    assert kind_of(ValueError("connection reset, timeout")) is ErrorKind.INVALID_INPUT
    lies = Failure(kind=ErrorKind.INVALID_INPUT, message="timeout")
    defaults = SchedulerConfig().retries[Priority.BATCH]
    assert not may_retry(lies, 1, RetryPolicy(max_retries=5), defaults)


def test_a_time_limit_counts_from_the_start() -> None:
    """The timeout of a task measured from registration and not from its start."""
    world = World()
    world.run("block", Work(lasts_s=10), requirement=BIG)
    ticket = world.run("a", Work(lasts_s=0.5), requirement=BIG, timeout=TimeoutPolicy(hard_s=1.0))
    world.settle()
    assert world.outcome(ticket).state is TaskState.COMPLETED


def test_nothing_is_polled() -> None:
    """A dispatch loop that polls every 10 ms: with nothing due, time alone never wakes the core."""
    world = World()
    assert world.core.next_wake_at_s() is None
    world.run("a", Work(lasts_s=100))
    world.run("b", Work(lasts_s=100), requirement=BIG)
    world.run("c", Work(lasts_s=100), requirement=BIG)
    wakes = 0
    while world.core.book.active and world.step():
        wakes += 1
    assert wakes <= 2 * 3, f"{wakes} events for three tasks"


def test_nothing_leaks_when_dispatch_fails() -> None:
    """Resources leaked when dispatch fails: a start that comes to nothing gives its room back."""
    world = World()
    world.run("late", requirement=BIG, deadline_at_s=0.0)
    policy = RetryPolicy(max_retries=0, dependency="gone")
    for n in range(5):
        world.run(f"bad{n}", Work(fails=1), retry=policy)
    world.pass_s(1)
    world.run("refused", requirement=BIG, retry=policy, priority=Priority.HIGH)
    world.check_empty()


def test_one_wait_does_not_block_the_queues_head_for_everyone() -> None:
    """A task that lacks memory does not hold up one behind it that has all it needs."""
    world = World()
    memory = Requirement(cpu_cores=0.1, memory_mb=4000)
    world.run("a", Work(lasts_s=10), requirement=memory)
    world.run("b", requirement=memory)
    small = world.run("small")
    assert world.order == ["a", "small"]
    world.pass_s(1)
    assert world.outcome(small).state is TaskState.COMPLETED


def test_a_cancelled_body_never_runs() -> None:
    """Cancelled requests behind slow work are not worked off one by one."""
    world = World()
    world.run("slow", Work(lasts_s=10), requirement=BIG)
    for n in range(100):
        world.run(f"q{n}", requirement=BIG, job_id=f"q{n}")
    for n in range(100):
        world.tell(JobCancelled(f"q{n}", "gone"))
    world.settle()
    assert world.order == ["slow"]


def test_a_clock_that_steps_back_changes_no_order() -> None:
    """First in, first out within a level, whatever the clock does."""
    world = World()
    world.now_s = 100.0
    world.run("block", Work(lasts_s=1), requirement=BIG)
    for n, now_s in enumerate((90.0, 10.0, 99.0, 0.0)):
        world.now_s = now_s
        world.run(f"q{n}", requirement=BIG)
    world.now_s = 100.0
    world.settle()
    assert world.order == ["block", "q0", "q1", "q2", "q3"]


def test_ageing_never_reaches_critical() -> None:
    for level in range(5):
        assert risen_rank(DEFAULT.disciplines[level], 1e9, 5.0) > Priority.CRITICAL or level == Priority.CRITICAL


def test_time_that_says_nothing_new_changes_nothing() -> None:
    world = World()
    world.run("block", Work(lasts_s=5), requirement=BIG)
    world.run("waits", requirement=BIG)
    before = len(world.events)
    for _ in range(5):
        world.tell(TimePassed())
        world.press(cpu=0.1, foreign_cpu=0.0, memory=0.1)
    assert len(world.events) == before
    assert world.core.pressure == Pressure(cpu=0.1, foreign_cpu=0.0, memory=0.1)


@pytest.mark.skipif(COMPILED, reason="what is compiled cannot be looked into")
@pytest.mark.parametrize("count", [100, 5_000])
def test_work_per_event_does_not_grow_with_the_queue(count: int) -> None:
    """Counted: with one line of waiting tasks, a pass looks at two entries, whatever their number."""
    world = World(check=False)
    for n in range(count):
        world.run(f"q{n}", requirement=BIG)
    queue = world.core.admission.queue
    looked = 0
    plain = queue.lines

    def counted() -> list[object]:
        nonlocal looked
        found = plain()
        looked += len(found)
        return list(found)

    queue.lines = counted  # type: ignore[method-assign,assignment]
    world.pass_s(0.05)
    assert 0 < looked <= 10


def test_labels_arrive() -> None:
    """Labels accepted nowhere: what a host says with its counts is in what scrapers read."""
    metrics = Metrics(lambda: 0.0, lambda: ([0] * 5, [0] * 5))
    metrics.count("requests", 2, {"tool": "ruff"})
    assert 'headway_host_requests_total{tool="ruff"} 2' in metrics.prometheus()


def test_a_callback_that_breaks_is_named(run_virtual: Callable[[Coroutine[Any, Any, None]], None], caplog: Any) -> None:
    """A callback's exception swallowed in silence."""

    def breaks(outcome: JobOutcome) -> None:
        raise RuntimeError("callback broke")

    async def main() -> None:
        config = SchedulerConfig(stall_report_s=math.inf)
        machine = FixedMachine(Totals(cpu_cores=2, memory_mb=1000))
        async with Scheduler(config, executors=inline_executors(), machine=machine) as scheduler:
            handle = scheduler.run(asyncio.sleep, 0.1)
            handle.add_done_callback(breaks)
            await handle.value()
            await asyncio.sleep(0)

    run_virtual(main())
    assert "breaks" in caplog.text
    assert "callback broke" in caplog.text
