"""What `metrics` counts of one priority, and remembers of the tasks that are alive."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, field
from typing import Protocol

from headway.scheduler.model import Priority, TaskQueued
from headway.scheduler.sketch import Sampler, WindowedSketch


@dataclass(slots=True)
class Past:
    """What is remembered of a task that was queued more than once or moved; of all others `TaskQueued` says all."""

    arrived_s: float
    asked: Priority  # that of its promise
    retried: bool = False


@dataclass(slots=True)
class Level:
    """What is counted of one priority. `waits` holds the tasks that wait now, oldest first but for moved ones."""

    submitted: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    soft_timeouts: int = 0
    hard_timeouts: int = 0
    retries: int = 0
    shed: int = 0  # given up under overload
    sla_kept: int = 0
    sla_broken: int = 0
    attempts: int = 0
    waits: dict[str, TaskQueued] = field(default_factory=dict)
    moved: dict[str, TaskQueued] = field(default_factory=dict)  # waiting, too, in no order
    sampler: Sampler = field(default_factory=Sampler)
    waiting: WindowedSketch = field(default_factory=WindowedSketch)
    running: WindowedSketch = field(default_factory=WindowedSketch)
    response: WindowedSketch = field(default_factory=WindowedSketch)

    def took(self, weight: int, at_s: float, waited_s: float, ran_s: float, response_s: float) -> None:
        """Count the times of one that stands for `weight`."""
        self.waiting.add(waited_s, at_s, weight)
        self.running.add(ran_s, at_s, weight)
        self.response.add(response_s, at_s, weight)


class Others(Protocol):
    """Tasks that are alive and known to nobody by events."""

    @property
    def in_flight(self) -> Sized: ...
    def oldest_s(self, priority: Priority, now_s: float) -> float:
        """Return since when the oldest waits; `now_s` where none does."""


def nothing_due(at_s: float) -> None:
    """Nobody samples."""


def nothing_left() -> None:
    """All is counted at once."""


def longest_s(level: Level, now_s: float) -> float:
    """Return how long the oldest task of a level has waited: the first of those in order, or one that was moved."""
    since_s = min((queued.at_s for queued in level.moved.values()), default=now_s)
    for queued in level.waits.values():
        since_s = min(since_s, queued.at_s)
        break
    return now_s - since_s
