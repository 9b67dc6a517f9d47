"""What the scheduler does, in numbers: a fold over its events.

`Metrics.observe` takes every event in order. Only the queue depths are asked for: they belong to the core, and two
counts of the same thing would differ one day. Memory is bounded by the number of tasks that are alive, not by how many
there were. Durations are kept as sketches (see `sketch`), in
windows of about a minute for alerts and for the whole life for export.

Service levels (SLA) are judged by the response time, from when a task first became ready to its end, against the
priority it was submitted with; ageing and demotion change neither. A task that failed broke its level, one that was
cancelled or skipped counts as neither kept nor broken.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Final

from headway.scheduler.alerts import Alert
from headway.scheduler.levels import Level, Others, Past, longest_s, nothing_due, nothing_left
from headway.scheduler.measures import SLA_S, Depths, Indicators, LevelMetrics, MetricsSnapshot, Usage
from headway.scheduler.model import (
    ErrorKind,
    Event,
    JobChanged,
    JobState,
    LoopStalled,
    PausedChanged,
    Priority,
    TaskEnded,
    TaskMoved,
    TaskQueued,
    TaskRetrying,
    TaskStarted,
    TaskState,
    TaskTimedOut,
    WorkerChanged,
)
from headway.scheduler.prometheus import exposition
from headway.scheduler.series import Series
from headway.scheduler.sketch import Sketch
from headway.scheduler.windows import CountWindow

# What `CountWindow` counts: for each kind one count by priority.
SUBMITTED, COMPLETED, FAILED, TIMED_OUT, ATTEMPTS = (kind * len(Priority) for kind in range(5))
_KINDS = 5 * len(Priority)
_TASK_COMPLETED: Final = TaskState.COMPLETED
_TASK_FAILED: Final = TaskState.FAILED
_OF_THE_QUEUE = frozenset({"quantum", "age"})  # moves within the feedback queue, which leave the priority as it is


class Metrics:
    """Counters and distributions folded from events; changed by `observe` and `sample` alone."""

    def __init__(
        self,
        clock: Callable[[], float],
        depths: Callable[[], Depths],
        *,
        sla_s: Mapping[Priority, float | None] = SLA_S,
    ) -> None:
        """Start from nothing.

        Args:
            clock: Gives instants on the clock of the events; read by `snapshot` only.
            depths: Gives how many tasks wait and run, each by priority.
            sla_s: Longest response time by priority; None: no promise.
        """
        self._clock = clock
        self.depths = depths
        self.sla_s = [sla_s.get(priority) for priority in Priority]
        self.levels = [Level() for _ in Priority]
        self._live: dict[str, TaskQueued] = {}  # tasks that have become ready and not ended, as last queued
        self._past: dict[str, Past] = {}
        self.recent = CountWindow(_KINDS)
        self._usage = Usage()
        self._backlog = [0.0, 0.0]  # cores in use, cores admitted: summed over samples while something waited
        self._retried = [0, 0]  # tasks that were tried again and completed, failed
        self._jobs: dict[JobState, int] = {JobState.COMPLETED: 0, JobState.FAILED: 0, JobState.CANCELLED: 0}
        self._workers: dict[tuple[str, str], int] = {}
        self._stalls = Sketch()
        self._alerts: dict[tuple[str, str], int] = {}
        self._series = Series()
        # For the host's own numbers: `count(name, by=1, labels={})` and `record(name, seconds, labels={})`.
        self.count = self._series.count
        self.record = self._series.record
        self.paused: tuple[Priority, ...] = ()
        self.pause_reason: str | None = None
        # For whoever samples: `due` is called with the instant of what comes first from `due_s` on.
        self.due_s = math.inf
        self.hurry: Callable[[], None] = nothing_left  # called where `due_s` has come nearer
        self.due: Callable[[float], None] = nothing_due
        # For whoever counts tasks without events: `catch_up` is called before anything is told, `others` live so.
        self.catch_up: Callable[[], None] = nothing_left
        self.others: Others | None = None
        self.folds: dict[type[Event], Callable[..., None]] = {  # what `observe` does, for whoever dispatches itself
            TaskQueued: self._task_queued,
            TaskStarted: self._task_started,
            TaskEnded: self._task_ended,
            TaskRetrying: self._task_retrying,
            TaskTimedOut: self._task_timed_out,
            TaskMoved: self._task_moved,
            JobChanged: self._job_changed,
            PausedChanged: self._paused_changed,
            WorkerChanged: self._worker_changed,
            LoopStalled: self._loop_stalled,
        }

    def observe(self, event: Event) -> None:
        """Count an event. Kinds that say nothing new are passed over."""
        fold = self.folds.get(type(event))
        if fold is not None:
            fold(event)

    def sample(self, usage: Usage) -> None:
        """Take note of how used the machine is; for whoever watches it, about once a second while work is there."""
        self._usage = usage
        if usage.cores_admitted > 0 and any(self.depths()[0]):
            self._backlog[0] += min(usage.cores_used, usage.cores_admitted)
            self._backlog[1] += usage.cores_admitted

    def alert(self, alert: Alert) -> None:
        """Count an alert that changed; for whoever judges them."""
        key = (alert.metric, alert.level.value)
        self._alerts[key] = self._alerts.get(key, 0) + 1

    @property
    def alive(self) -> int:
        """How many tasks have become ready and not ended."""
        return len(self._live) + (0 if self.others is None else len(self.others.in_flight))

    @property
    def usage(self) -> Usage:
        """The newest sample."""
        return self._usage

    def snapshot(self) -> MetricsSnapshot:
        """Return all numbers as they stand."""
        self.catch_up()
        now_s = self._clock()
        depths = self.depths()
        recent = self.recent.totals(now_s)
        span_s = self.recent.span_s(now_s)
        return MetricsSnapshot(
            at_s=now_s,
            levels={priority: self._level(priority, now_s, depths, recent, span_s) for priority in Priority},
            usage=self._usage,
            indicators=self.indicators(),
            jobs=dict(self._jobs),
            workers=dict(self._workers),
            stalls=self._stalls.summary(),
            paused=self.paused,
            pause_reason=self.pause_reason,
            alerts=dict(self._alerts),
            counts=self._series.counts(),
            durations=self._series.durations(),
        )

    def prometheus(self) -> str:
        """Return all numbers in the Prometheus text format."""
        return exposition(self.snapshot())

    def indicators(self) -> Indicators:
        """Return the key indicators of the whole life."""
        self.catch_up()
        used, admitted = self._backlog
        attempts = sum(level.attempts for level in self.levels)
        timed_out = sum(level.hard_timeouts for level in self.levels)
        completed, failed = self._retried
        return Indicators(
            allocated=used / admitted if admitted else None,
            timeouts=timed_out / attempts if attempts else None,
            retries_succeeded=completed / (completed + failed) if completed + failed else None,
        )

    def longest_wait_s(self, priority: Priority, now_s: float) -> float:
        """Return how long the oldest queued task of a level has waited."""
        longest = longest_s(self.levels[priority], now_s)
        return longest if self.others is None else max(longest, now_s - self.others.oldest_s(priority, now_s))

    def recent_waiting(self, priority: Priority, now_s: float) -> Sketch:
        """Return the waiting times of the last minute."""
        self.catch_up()
        return self.levels[priority].waiting.window(now_s)

    def recent_response(self, priority: Priority, now_s: float) -> Sketch:
        """Return the response times of the last minute."""
        self.catch_up()
        return self.levels[priority].response.window(now_s)

    def recent_failures(self, now_s: float) -> list[tuple[int, int]]:
        """Return by priority how many tasks failed, of how many that completed or failed, in the last minute."""
        self.catch_up()
        totals = self.recent.totals(now_s)
        return [(totals[FAILED + p], totals[FAILED + p] + totals[COMPLETED + p]) for p in Priority]

    def recent_timeouts(self, now_s: float) -> list[tuple[int, int]]:
        """Return by priority how many attempts hit a hard limit, of how many that were started, in the last minute."""
        self.catch_up()
        totals = self.recent.totals(now_s)
        return [(totals[TIMED_OUT + p], totals[ATTEMPTS + p]) for p in Priority]

    # ---- folds: one for each kind of event. They run for every task, so they are written flat.

    def _task_queued(self, event: TaskQueued) -> None:
        task_id, priority = event.task_id, event.priority
        live, level = self._live, self.levels[priority]
        if task_id in live:
            self._queued_again(live[task_id])
        else:
            level.submitted += 1
            recent = self.recent
            (recent.newest if event.at_s < recent.until_s else recent.at(event.at_s))[SUBMITTED + priority] += 1
        live[task_id] = level.waits[task_id] = event
        if event.at_s >= self.due_s:
            self.due(event.at_s)

    def _queued_again(self, before: TaskQueued) -> None:
        if before.task_id not in self._past:
            self._past[before.task_id] = Past(before.at_s, before.priority)
        self._no_longer_waits(before)

    def _task_started(self, event: TaskStarted) -> None:
        queued = self._live.get(event.task_id)
        if queued is None:
            return  # it became ready before anybody watched
        if self.levels[queued.priority].waits.pop(event.task_id, None) is None:
            self._no_longer_waits(queued)
        past = self._past.get(event.task_id)
        asked = queued.priority if past is None else past.asked
        self.levels[asked].attempts += 1
        recent = self.recent
        (recent.newest if event.at_s < recent.until_s else recent.at(event.at_s))[ATTEMPTS + asked] += 1

    def _task_ended(self, event: TaskEnded) -> None:
        at_s, outcome, task_id = event.at_s, event.outcome, event.task_id
        if at_s >= self.due_s:
            self.due(at_s)
        state = outcome.state
        queued = self._live.pop(task_id, None)
        if queued is None:  # It was never ready: what it depends on failed, or its job was cancelled before.
            self._count_end(self.levels[event.priority], state)
            return
        asked, arrived_s, retried = queued.priority, queued.at_s, False
        level = self.levels[asked]
        if task_id in level.waits:  # it ended in the queue, perhaps answered by a fallback
            del level.waits[task_id]
        if task_id in self._past:
            self._no_longer_waits(queued)
            past = self._past.pop(task_id)
            asked, arrived_s, retried = past.asked, past.arrived_s, past.retried
            level = self.levels[asked]
        if outcome.error is not None and outcome.error.kind is ErrorKind.OVERLOADED:
            level.shed += 1
        completed = state is _TASK_COMPLETED
        if completed:
            level.completed += 1
        else:
            self._count_end(level, state)
            if state is not _TASK_FAILED:
                return
        recent = self.recent
        (recent.newest if at_s < recent.until_s else recent.at(at_s))[(COMPLETED if completed else FAILED) + asked] += 1
        self.ended(asked, completed, at_s, outcome.waited_s, outcome.ran_s, at_s - arrived_s)
        if retried:
            self._retried[0 if completed else 1] += 1

    def ended(
        self, asked: Priority, completed: bool, at_s: float, waited_s: float, ran_s: float, response_s: float
    ) -> None:
        """Judge the times of a task that completed or failed; `asked` is the priority of its promise."""
        level = self.levels[asked]
        weight = level.sampler.weigh(at_s)
        if weight:
            level.took(weight, at_s, waited_s, ran_s, response_s)
        limit_s = self.sla_s[asked]
        if limit_s is not None:
            if completed and response_s <= limit_s:
                level.sla_kept += 1
            else:
                level.sla_broken += 1

    def adopt(self, queued: TaskQueued, *, waits: bool) -> None:
        """Hear by events from now on what becomes of a task whose coming was counted without one."""
        self._live[queued.task_id] = queued
        if waits:
            self.levels[queued.priority].moved[queued.task_id] = queued
            self._past[queued.task_id] = Past(queued.at_s, queued.priority)  # as of all that are not in order

    @staticmethod
    def _count_end(level: Level, state: TaskState) -> None:
        if state is TaskState.COMPLETED:
            level.completed += 1
        elif state is TaskState.FAILED:
            level.failed += 1
        elif state is TaskState.CANCELLED:
            level.cancelled += 1
        else:
            level.skipped += 1

    def _task_retrying(self, event: TaskRetrying) -> None:
        if event.at_s >= self.due_s:
            self.due(event.at_s)
        queued = self._live.get(event.task_id)
        if queued is None:
            self.levels[event.priority].retries += 1
            return
        past = self._past.get(event.task_id)
        if past is None:
            past = self._past[event.task_id] = Past(queued.at_s, queued.priority)
        past.retried = True
        self.levels[past.asked].retries += 1
        self._no_longer_waits(queued)

    def _task_timed_out(self, event: TaskTimedOut) -> None:
        past, queued = self._past.get(event.task_id), self._live.get(event.task_id)
        asked = past.asked if past is not None else event.priority if queued is None else queued.priority
        if event.hard:
            self.levels[asked].hard_timeouts += 1
            self.recent.at(event.at_s)[TIMED_OUT + asked] += 1
        else:
            self.levels[asked].soft_timeouts += 1

    def _task_moved(self, event: TaskMoved) -> None:
        task_id = event.task_id
        queued = self._live.get(task_id)
        if queued is None or event.reason in _OF_THE_QUEUE:
            return
        past = self._past.get(task_id)
        if past is None:
            past = self._past[task_id] = Past(queued.at_s, queued.priority)
        if event.reason == "set":  # A person asked for it: from now on the promise is that of the new class.
            past.asked = event.priority
        waits = self._no_longer_waits(queued)
        moved = self._live[task_id] = dataclasses.replace(queued, priority=event.priority)
        if waits:
            self.levels[event.priority].moved[task_id] = moved

    def _no_longer_waits(self, queued: TaskQueued) -> bool:
        """Take a task off those that wait, if it does; return whether it did."""
        level = self.levels[queued.priority]
        return level.waits.pop(queued.task_id, None) is not None or level.moved.pop(queued.task_id, None) is not None

    def _job_changed(self, event: JobChanged) -> None:
        if event.state in self._jobs:
            self._jobs[event.state] += 1

    def _paused_changed(self, event: PausedChanged) -> None:
        self.paused, self.pause_reason = event.priorities, event.reason
        if event.at_s >= self.due_s:
            self.due(event.at_s)

    def _worker_changed(self, event: WorkerChanged) -> None:
        key = (event.role, event.change)
        self._workers[key] = self._workers.get(key, 0) + 1

    def _loop_stalled(self, event: LoopStalled) -> None:
        self._stalls.add(event.stalled_s)

    def _level(
        self, priority: Priority, now_s: float, depths: Depths, recent: list[int], span_s: float
    ) -> LevelMetrics:
        level = self.levels[priority]
        return LevelMetrics(
            queued=depths[0][priority],
            running=depths[1][priority],
            longest_wait_s=self.longest_wait_s(priority, now_s),
            submitted=level.submitted,
            completed=level.completed,
            failed=level.failed,
            cancelled=level.cancelled,
            skipped=level.skipped,
            soft_timeouts=level.soft_timeouts,
            hard_timeouts=level.hard_timeouts,
            retries=level.retries,
            shed=level.shed,
            sla_s=self.sla_s[priority],
            sla_kept=level.sla_kept,
            sla_broken=level.sla_broken,
            submission_rate=recent[SUBMITTED + priority] / span_s,
            completion_rate=recent[COMPLETED + priority] / span_s,
            waiting=level.waiting.lifetime().summary(),
            running_time=level.running.lifetime().summary(),
            response=level.response.lifetime().summary(),
        )
