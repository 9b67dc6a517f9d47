"""When something must be looked at again: timers, and which limit of a run is next. Pure.

Limits count running time: what a task spends paused, waiting for a place or for a retry is not held against it.
Deadlines are absolute.
"""

from __future__ import annotations

import enum
import heapq
import math
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from headway.scheduler.model import Requirement, TimeoutPolicy

T = TypeVar("T")


class Limit(enum.Enum):
    """Which limit was reached."""

    SOFT = "soft"
    HARD = "hard"
    STEP = "step"
    HEARTBEAT = "heartbeat"
    DEADLINE = "deadline"


class Due(NamedTuple):
    """The next limit of a run: the instant, which one, and how long it allowed (for messages)."""

    at_s: float
    limit: Limit
    allowed_s: float


def hard_limit_s(policy: TimeoutPolicy, requirement: Requirement) -> float:
    """Return the longest running time of an attempt: the policy's, at most the requirement's longest run."""
    longest = requirement.longest_run_s
    return longest if policy.hard_s is None else min(policy.hard_s, longest)


def next_due(
    policy: TimeoutPolicy,
    requirement: Requirement,
    *,
    began_at_s: float,
    ran_s: float,
    soft_fired: bool,
    step_timeout_s: float | None,
    beat_at_s: float,
    deadline_at_s: float | None,
) -> Due:
    """Return the limit that a step which began at `began_at_s` reaches first.

    Args:
        policy: Limits of the task.
        requirement: Its longest run.
        began_at_s: Start of the step.
        ran_s: Running time of the attempt before this step.
        soft_fired: The soft limit has fired in this attempt.
        step_timeout_s: The step's own limit.
        beat_at_s: Last heartbeat, or the start.
        deadline_at_s: Absolute end.

    Of limits that fall together the one that ends the work wins over the soft one.
    """
    allowed = hard_limit_s(policy, requirement)
    due_at, limit = began_at_s - ran_s + allowed, Limit.HARD
    if deadline_at_s is not None and deadline_at_s < due_at:
        due_at, limit, allowed = deadline_at_s, Limit.DEADLINE, deadline_at_s - began_at_s + ran_s
    if step_timeout_s is not None and began_at_s + step_timeout_s < due_at:
        due_at, limit, allowed = began_at_s + step_timeout_s, Limit.STEP, step_timeout_s
    if policy.heartbeat_s is not None and beat_at_s + policy.heartbeat_s < due_at:
        due_at, limit, allowed = beat_at_s + policy.heartbeat_s, Limit.HEARTBEAT, policy.heartbeat_s
    if policy.soft_s is not None and not soft_fired and began_at_s - ran_s + policy.soft_s < due_at:
        due_at, limit, allowed = began_at_s - ran_s + policy.soft_s, Limit.SOFT, policy.soft_s
    return Due(due_at, limit, allowed)


# One appointment: its instant, its number, its owner; the owner of a void one is None. It is its own place in the heap,
# as in the notes on priority queues in the documentation of `heapq`: one is made for each run.
Timer: TypeAlias = list[Any]


class Timers(Generic[T]):
    """Appointments by time. All operations O(log n) amortised; void ones never outnumber the rest for long."""

    __slots__ = ("_heap", "_sequence", "_void", "soonest_s")

    def __init__(self) -> None:
        # No appointment is before this; it may be too early after a `cancel`, until `next_at_s` is asked.
        self.soonest_s = math.inf
        self._heap: list[Timer] = []
        self._sequence = 0
        self._void = 0

    def __len__(self) -> int:
        return len(self._heap) - self._void

    def set(self, at_s: float, owner: T) -> Timer:
        self._sequence += 1
        timer: Timer = [at_s, self._sequence, owner]
        if at_s < self.soonest_s:
            self.soonest_s = at_s
        heapq.heappush(self._heap, timer)
        return timer

    def cancel(self, timer: Timer) -> None:
        if timer[2] is None:
            return
        timer[2] = None
        self._void += 1
        if self._void > 256 and self._void * 2 > len(self._heap):
            self._heap = [found for found in self._heap if found[2] is not None]
            heapq.heapify(self._heap)
            self._void = 0

    def next_at_s(self) -> float | None:
        heap = self._heap
        while heap:
            if heap[0][2] is not None:
                at_s: float = heap[0][0]
                self.soonest_s = at_s
                return at_s
            heapq.heappop(heap)
            self._void -= 1
        self.soonest_s = math.inf
        return None

    def pop_due(self, now_s: float) -> T | None:
        """Return the owner of the next appointment that is due, once; None when none is."""
        at_s = self.next_at_s()
        if at_s is None or at_s > now_s:
            return None
        timer = heapq.heappop(self._heap)
        owner: T = timer[2]
        timer[2] = None
        return owner
