"""Which waiting task is next: disciplines by priority that combine into a strategy. Pure.

A discipline says how one priority is treated; a strategy has one for each. FIFO, PRIORITY, guaranteed, best-effort and
shared are disciplines or changes of them, so that they combine freely:

>>> DEFAULT == PRIORITY.guaranteed(Priority.CRITICAL).best_effort(*BACKGROUND).shared(*BACKGROUND).feedback(*FEEDBACK)
True
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from headway.scheduler.model import Priority

BACKGROUND = (Priority.LOW, Priority.BATCH)
FEEDBACK = (Priority.NORMAL, Priority.LOW, Priority.BATCH)
BEHIND_HIGH = Priority.HIGH + 0.5  # as far as waiting brings anybody


@dataclass(frozen=True, slots=True, kw_only=True)
class Discipline:
    """How tasks of one priority are treated.

    Attributes:
        rank: Smaller goes first.
        guaranteed: May use what is reserved, and is never held up by room that is kept for others.
        best_effort: Takes only what is idle: held back under pressure and while guaranteed work waits.
        shared: Fair shares between jobs instead of pure order of arrival.
        ages: Rises a rank for each `rise_after_s` of waiting (where `shared`, since its job last got a turn), and sinks
            when it uses its quantum up.
    """

    rank: float
    guaranteed: bool = False
    best_effort: bool = False
    shared: bool = False
    ages: bool = False


@dataclass(frozen=True, slots=True)
class Strategy:
    """A discipline per priority, in the order of `Priority`."""

    disciplines: tuple[Discipline, ...]

    def guaranteed(self, *priorities: Priority) -> Strategy:
        return self._with(priorities, guaranteed=True)

    def best_effort(self, *priorities: Priority) -> Strategy:
        return self._with(priorities, best_effort=True)

    def shared(self, *priorities: Priority) -> Strategy:
        return self._with(priorities, shared=True)

    def feedback(self, *priorities: Priority) -> Strategy:
        """Return this strategy with a multilevel feedback queue over `priorities`."""
        return self._with(priorities, ages=True)

    def _with(self, priorities: tuple[Priority, ...], **changes: bool) -> Strategy:
        return Strategy(
            tuple(
                dataclasses.replace(found, **changes) if Priority(level) in priorities else found
                for level, found in enumerate(self.disciplines)
            )
        )


FIFO = Strategy(tuple(Discipline(rank=0.0) for _ in Priority))
PRIORITY = Strategy(tuple(Discipline(rank=float(level)) for level in Priority))
DEFAULT = PRIORITY.guaranteed(Priority.CRITICAL).best_effort(*BACKGROUND).shared(*BACKGROUND).feedback(*FEEDBACK)


def risen_rank(discipline: Discipline, waited_s: float, rise_after_s: float) -> float:
    """Return the rank after a wait: one better for each `rise_after_s`, up to just behind HIGH.

    Not among HIGH, let alone CRITICAL: under overload everything waits long, and what has aged would then take the
    place of those for whom a person waits, when it should be delayed first.
    """
    if not discipline.ages or waited_s < rise_after_s:
        return discipline.rank
    return max(min(discipline.rank, BEHIND_HIGH), discipline.rank - math.floor(waited_s / rise_after_s))


class FairShares:
    """Start-time fair queueing between jobs at one level: a tag for each task by which the level is sorted.

    A job that has got much lately gets later tags; one that comes new starts at the level's present, so that it neither
    waits behind a backlog of another job nor claims the past. O(1).

    Source: P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queueing", 1997.
    """

    __slots__ = ("_now",)

    def __init__(self) -> None:
        self._now = 0.0

    def tag(self, finish: float) -> float:
        """Return the tag of a job's next task; `finish` is where the job's last task ended (tag plus its cost)."""
        return max(self._now, finish)

    def started(self, tag: float) -> None:
        self._now = max(self._now, tag)
