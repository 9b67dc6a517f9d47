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
from headway.scheduler.model import Priority, TaskQueued, TaskState
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
            self.count()  # what came before is of the slice before; the first that comes begins the next one
            metrics.recent.at(now_s)
        if now_s >= metrics.due_s:
            metrics.due(now_s)
        self._queued.append(errand)
        if len(self._queued) >= _AT_ONCE:
            self.count()

    def ended(self, errand: Errand, now_s: float) -> None:
        metrics = self._metrics
        if now_s >= metrics.recent.until_s:
            self.count()  # what came before is of the slice before
            metrics.recent.at(now_s)
        if now_s >= metrics.due_s:
            metrics.due(now_s)
        self._ended.append(errand)
        if len(self._ended) >= _AT_ONCE:
            self.count()

    def count(self) -> None:
        """Count all that has come, started and ended since, as `Metrics` does by their events."""
        queued, started, ended = self._queued, self._started, self._ended
        if not (queued or started or ended):
            return
        for level, submitted in zip(self._metrics.levels, self._recently(SUBMITTED, queued), strict=True):
            level.submitted += submitted
        queued.clear()
        for level, attempts in zip(self._metrics.levels, self._recently(ATTEMPTS, started), strict=True):
            level.attempts += attempts
        started.clear()
        for level, completed in zip(self._metrics.levels, self._recently(COMPLETED, ended), strict=True):
            level.completed += completed
        for priority in {errand.priority for errand in ended}:
            self._judge(priority, [errand for errand in ended if errand.priority is priority])
        self._trace.errands([(it.number, it.name, it.priority, it.finished_at_s, it.ran_s) for it in ended])
        ended.clear()

    def _judge(self, priority: Priority, ended: list[Errand]) -> None:
        """Judge the times of errands of a priority as `Metrics.ended` does; at high rates most are passed over."""
        level, limit_s = self._metrics.levels[priority], self._metrics.sla_s[priority]
        if limit_s is not None:
            kept = sum([errand.finished_at_s - errand.ready_at_s <= limit_s for errand in ended])
            level.sla_kept += kept
            level.sla_broken += len(ended) - kept
        sampler, last_at_s = level.sampler, ended[-1].finished_at_s
        position = sampler.pass_over(len(ended), last_at_s)
        while position < len(ended):
            errand = ended[position]
            at_s = errand.finished_at_s
            weight = sampler.weigh(at_s)
            if weight:
                level.took(weight, at_s, errand.waited_s, errand.ran_s, at_s - errand.ready_at_s)
            position += 1
            position += sampler.pass_over(len(ended) - position, last_at_s)

    def _recently(self, kind: int, errands: list[Errand]) -> list[int]:
        """Count errands by priority, in the recent past, too; return how many of each there were."""
        counts = [0] * len(Priority)
        for errand in errands:
            counts[errand.priority] += 1
        newest = self._metrics.recent.newest
        for priority, count in enumerate(counts, kind):
            newest[priority] += count
        return counts

    def unfolded(self, errand: Errand) -> None:
        """Let events say from now on what becomes of an errand."""
        self.count()
        job = errand.job
        told = TaskQueued(
            errand.ready_at_s, job.job_id, errand.task_id, errand.task.name, errand.priority, job.job.visible
        )
        self._metrics.adopt(told, waits=errand.state is _READY)
