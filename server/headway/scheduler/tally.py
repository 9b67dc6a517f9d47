"""Counts errands for metrics and timeline, a few hundred at a time: as their events would be counted, without events.

Whatever asks `Metrics` for something has what came since counted first. Errands that are unfolded are handed over to
the folds of events, which hear of all that follows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headway.scheduler.errand import Errand
from headway.scheduler.errands import Errands
from headway.scheduler.metrics import ATTEMPTS, COMPLETED, SUBMITTED, Metrics
from headway.scheduler.model import TaskQueued, TaskState
from headway.scheduler.trace import Trace

_AT_ONCE: Final = 200  # is counted within a third of a millisecond
_READY: Final = TaskState.READY


class Tally:
    """Notes what becomes of errands.

    Args:
        metrics: Counts them; asks for what has not been counted yet.
        trace: Shows them.
        errands: Gives those in flight.
    """

    def __init__(self, metrics: Metrics, trace: Trace, errands: Errands) -> None:
        self._metrics = metrics
        self._trace = trace
        self._errands = errands
        self._queued: list[Errand] = []
        self._started: list[Errand] = []
        self._ended: list[Errand] = []
        self.started: Callable[[Errand], None] = self._started.append
        metrics.catch_up = trace.catch_up = self.count
        metrics.others = errands
        trace.id_of = errands.id_of

    def queued(self, errand: Errand, now_s: float) -> None:
        metrics = self._metrics
        if now_s >= metrics.recent.until_s:
            metrics.recent.at(now_s)  # a slice of the past begins with the first that comes, not with its counting
        if now_s >= metrics.due_s:
            metrics.due(now_s)
        self._queued.append(errand)
        if len(self._queued) >= _AT_ONCE:
            self.count()

    def ended(self, errand: Errand, now_s: float) -> None:
        if now_s >= self._metrics.due_s:
            self._metrics.due(now_s)
        self._ended.append(errand)
        if len(self._ended) >= _AT_ONCE:
            self.count()

    def count(self) -> None:
        """Count all that has come, started and ended since, as `Metrics` does by their events."""
        queued, started, ended = self._queued, self._started, self._ended
        if not (queued or started or ended):
            return
        metrics = self._metrics
        levels, recent = metrics.levels, metrics.recent
        for errand in queued:
            levels[errand.priority].submitted += 1
            recent.at(errand.ready_at_s)[SUBMITTED + errand.priority] += 1
        queued.clear()
        for errand in started:
            levels[errand.priority].attempts += 1
            recent.at(errand.started_at_s or 0.0)[ATTEMPTS + errand.priority] += 1
        started.clear()
        for errand in ended:
            asked, at_s = errand.priority, errand.finished_at_s
            levels[asked].completed += 1
            recent.at(at_s)[COMPLETED + asked] += 1
            metrics.ended(asked, True, at_s, errand.waited_s, errand.ran_s, at_s - errand.ready_at_s)
        self._trace.errands(
            (found.number, found.title, found.priority, found.finished_at_s, found.ran_s) for found in ended
        )
        ended.clear()

    def unfolded(self, errand: Errand) -> None:
        """Let events say from now on what becomes of an errand."""
        self.count()
        job = errand.job
        told = TaskQueued(
            errand.ready_at_s, job.job_id, errand.task_id, errand.task.name, errand.priority, job.job.visible
        )
        self._metrics.adopt(told, waits=errand.state is _READY)
