"""Counts errands for metrics and timeline, a few hundred at a time: as their events would be counted, without events.

Whatever asks `Metrics` for something has what came since counted first. Errands that are unfolded are handed over to
the folds of events, which hear of all that follows.
"""

from __future__ import annotations

import math
from typing import Final

from headway.scheduler.errand import Errand
from headway.scheduler.errands import Errands
from headway.scheduler.metrics import ATTEMPTS, COMPLETED, SUBMITTED, Metrics
from headway.scheduler.model import Priority, TaskQueued, TaskState
from headway.scheduler.trace import Trace

_READY: Final = TaskState.READY
_PRIORITIES: Final = tuple(Priority)


class Tally:
    """Notes what becomes of errands. Who tells it puts each where it belongs, as a call for each would cost too much.

    Attributes:
        queued, started, ended: Those that have not been counted yet.
        turn_s: From this instant on `turn` comes first; also where `courier.AT_ONCE` are queued, or have ended.

    Args:
        metrics: Counts them; asks for what has not been counted yet.
        trace: Shows them.
        errands: Gives those in flight.
    """

    def __init__(self, metrics: Metrics, trace: Trace, errands: Errands) -> None:
        self._metrics = metrics
        self._recent = metrics.recent
        self._trace = trace
        self._errands = errands
        self.queued: list[Errand] = []
        self.started: list[Errand] = []
        self.ended: list[Errand] = []
        self.turn_s = -math.inf
        metrics.catch_up = trace.catch_up = self.count
        metrics.hurry = self._hurry
        metrics.others = errands
        trace.id_of = errands.id_of

    def turn(self, now_s: float) -> None:
        """Count what has come; begin another slice of time, or let whoever samples do so, where that is due."""
        metrics, recent = self._metrics, self._recent
        self.count()  # what came before is of the slice before; the first that comes begins the next one
        if now_s >= recent.until_s:
            recent.at(now_s)
        if now_s >= metrics.due_s:
            metrics.due(now_s)
        self.turn_s = min(recent.until_s, metrics.due_s)

    def _hurry(self) -> None:
        self.turn_s = -math.inf

    def count(self) -> None:
        """Count all that has come, started and ended since, as `Metrics` does by their events."""
        levels = self._metrics.levels
        if queued := self.queued:
            for priority, count in self._recently(SUBMITTED, queued):
                levels[priority].submitted += count
            queued.clear()
        if started := self.started:
            for priority, count in self._recently(ATTEMPTS, started):
                levels[priority].attempts += count
            started.clear()
        if ended := self.ended:
            for priority, count in self._recently(COMPLETED, ended):
                levels[priority].completed += count
                alike = count == len(ended)
                self._judge(priority, ended if alike else [it for it in ended if it.priority is priority])
            self._trace.errands([(it.number, it.name, it.priority, it.finished_at_s, it.ran_s) for it in ended])
            ended.clear()

    def _judge(self, priority: Priority, ended: list[Errand]) -> None:
        """Judge the times of errands of a priority as `Metrics.ended` does; at high rates most are passed over."""
        level, limit_s = self._metrics.levels[priority], self._metrics.sla_s[priority]
        if limit_s is not None:
            kept = [errand.finished_at_s - errand.since_s <= limit_s for errand in ended].count(True)
            level.sla_kept += kept
            level.sla_broken += len(ended) - kept
        sampler, last_at_s = level.sampler, ended[-1].finished_at_s
        position = sampler.pass_over(len(ended), last_at_s)
        while position < len(ended):
            errand = ended[position]
            at_s = errand.finished_at_s
            weight = sampler.weigh(at_s)
            if weight:
                level.took(weight, at_s, errand.waited_s, errand.ran_s, at_s - errand.since_s)
            position += 1
            position += sampler.pass_over(len(ended) - position, last_at_s)

    def _recently(self, kind: int, errands: list[Errand]) -> list[tuple[Priority, int]]:
        """Count errands by priority, in the recent past, too; return how many there were of each that there were."""
        priorities = [errand.priority for errand in errands]
        first = priorities[0]
        counts = [(first, priorities.count(first))]
        if counts[0][1] < len(priorities):
            counts = [(priority, count) for priority in _PRIORITIES if (count := priorities.count(priority))]
        newest = self._recent.newest
        for priority, count in counts:
            newest[kind + priority] += count
        return counts

    def unfolded(self, errand: Errand) -> None:
        """Let events say from now on what becomes of an errand."""
        self.count()
        record = self._errands.unfold(errand)
        job = record.job
        told = TaskQueued(
            record.ready_at_s, job.job_id, record.task_id, record.task.name, record.priority, job.job.visible
        )
        self._metrics.adopt(told, waits=record.state is _READY)
