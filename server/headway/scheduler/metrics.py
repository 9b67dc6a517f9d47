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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headway.scheduler.alerts import Alert
from headway.scheduler.measures import SLA_S, Depths, Indicators, LevelMetrics, MetricsSnapshot, Usage
from headway.scheduler.model import (
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
from headway.scheduler.sketch import Sketch, WindowedSketch
from headway.scheduler.windows import CountWindow, WaitingAges

# What `CountWindow` counts: for each kind one count by priority.
_SUBMITTED, _ENDED, _COMPLETED, _FAILED, _TIMED_OUT, _ATTEMPTS = (kind * len(Priority) for kind in range(6))
_KINDS = 6 * len(Priority)


@dataclass(slots=True)
class _Live:
    """A task that has not ended. `level`: its priority now; `asked`: that of its promise; `state`: see below."""

    level: Priority
    asked: Priority
    arrived_s: float
    since_s: float
    state: int = 0
    retried: bool = False


_HELD, _QUEUED, _RUNNING = range(3)  # held: it waits for its next attempt
_OF_THE_QUEUE = frozenset({"quantum", "age"})  # moves within the feedback queue, which leave the priority as it is


@dataclass(slots=True)
class _Level:
    """What is counted of one priority."""

    submitted: int = 0
    by_end: dict[TaskState, int] = field(default_factory=lambda: dict.fromkeys(TaskState, 0))
    soft_timeouts: int = 0
    hard_timeouts: int = 0
    retries: int = 0
    sla_kept: int = 0
    sla_broken: int = 0
    attempts: int = 0
    ages: WaitingAges = field(default_factory=WaitingAges)
    waiting: WindowedSketch = field(default_factory=WindowedSketch)
    running: WindowedSketch = field(default_factory=WindowedSketch)
    response: WindowedSketch = field(default_factory=WindowedSketch)


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
        self._sla_s = [sla_s.get(priority) for priority in Priority]
        self._levels = [_Level() for _ in Priority]
        self._live: dict[str, _Live] = {}
        self._recent = CountWindow(_KINDS)
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
        self._folds: dict[type[Event], Callable[..., None]] = {
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
        fold = self._folds.get(type(event))
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
        return len(self._live)

    @property
    def usage(self) -> Usage:
        """The newest sample."""
        return self._usage

    def snapshot(self) -> MetricsSnapshot:
        """Return all numbers as they stand."""
        now_s = self._clock()
        depths = self.depths()
        recent = self._recent.totals(now_s)
        span_s = self._recent.span_s(now_s)
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
        used, admitted = self._backlog
        attempts = sum(level.attempts for level in self._levels)
        timed_out = sum(level.hard_timeouts for level in self._levels)
        completed, failed = self._retried
        return Indicators(
            allocated=used / admitted if admitted else None,
            timeouts=timed_out / attempts if attempts else None,
            retries_succeeded=completed / (completed + failed) if completed + failed else None,
        )

    def longest_wait_s(self, priority: Priority, now_s: float) -> float:
        """Return how long the oldest queued task of a level has waited."""
        return self._levels[priority].ages.longest_s(now_s)

    def recent_waiting(self, priority: Priority, now_s: float) -> Sketch:
        """Return the waiting times of the last minute."""
        return self._levels[priority].waiting.window(now_s)

    def recent_response(self, priority: Priority, now_s: float) -> Sketch:
        """Return the response times of the last minute."""
        return self._levels[priority].response.window(now_s)

    def recent_failures(self, now_s: float) -> list[tuple[int, int]]:
        """Return by priority how many tasks failed, of how many that completed or failed, in the last minute."""
        totals = self._recent.totals(now_s)
        return [(totals[_FAILED + p], totals[_FAILED + p] + totals[_COMPLETED + p]) for p in Priority]

    def recent_timeouts(self, now_s: float) -> list[tuple[int, int]]:
        """Return by priority how many attempts hit a hard limit, of how many that were started, in the last minute."""
        totals = self._recent.totals(now_s)
        return [(totals[_TIMED_OUT + p], totals[_ATTEMPTS + p]) for p in Priority]

    # ---- folds: one for each kind of event. They run for every task, so they are written flat.

    def _task_queued(self, event: TaskQueued) -> None:
        level, at_s = event.priority, event.at_s
        live = self._live.get(event.task_id)
        if live is None:
            live = self._live[event.task_id] = _Live(level, level, at_s, at_s)
            self._levels[level].submitted += 1
            self._recent.add(_SUBMITTED + level, at_s)
        elif live.state == _QUEUED:
            self._levels[live.level].ages.remove(live.since_s)
        live.level, live.since_s, live.state = level, at_s, _QUEUED
        self._levels[level].ages.add(at_s)

    def _task_started(self, event: TaskStarted) -> None:
        at_s = event.at_s
        live = self._live.get(event.task_id)
        if live is None:
            live = self._live[event.task_id] = _Live(event.priority, event.priority, at_s - event.waited_s, at_s)
        elif live.state == _QUEUED:
            self._levels[live.level].ages.remove(live.since_s)
        live.state = _RUNNING
        asked = self._levels[live.asked]
        asked.waiting.add(event.waited_s, at_s)
        asked.attempts += 1
        self._recent.add(_ATTEMPTS + live.asked, at_s)

    def _task_ended(self, event: TaskEnded) -> None:
        at_s, outcome = event.at_s, event.outcome
        live = self._live.pop(event.task_id, None)
        if live is None:  # It was never ready: what it depends on failed, or its job was cancelled before.
            self._levels[event.priority].by_end[outcome.state] += 1
            return
        if live.state == _QUEUED:
            self._levels[live.level].ages.remove(live.since_s)
        asked, state = live.asked, outcome.state
        level = self._levels[asked]
        level.by_end[state] += 1
        self._recent.add(_ENDED + asked, at_s)
        completed = state is TaskState.COMPLETED
        if not completed and state is not TaskState.FAILED:
            return
        self._recent.add((_COMPLETED if completed else _FAILED) + asked, at_s)
        response_s = at_s - live.arrived_s
        level.running.add(outcome.ran_s, at_s)
        level.response.add(response_s, at_s)
        limit_s = self._sla_s[asked]
        if limit_s is not None:
            if completed and response_s <= limit_s:
                level.sla_kept += 1
            else:
                level.sla_broken += 1
        if live.retried:
            self._retried[0 if completed else 1] += 1

    def _task_retrying(self, event: TaskRetrying) -> None:
        live = self._live.get(event.task_id)
        self._levels[live.asked if live else event.priority].retries += 1
        if live is not None:
            if live.state == _QUEUED:
                self._levels[live.level].ages.remove(live.since_s)
            live.state, live.retried = _HELD, True

    def _task_timed_out(self, event: TaskTimedOut) -> None:
        live = self._live.get(event.task_id)
        asked = live.asked if live else event.priority
        if event.hard:
            self._levels[asked].hard_timeouts += 1
            self._recent.add(_TIMED_OUT + asked, event.at_s)
        else:
            self._levels[asked].soft_timeouts += 1

    def _task_moved(self, event: TaskMoved) -> None:
        live = self._live.get(event.task_id)
        if live is None or event.reason in _OF_THE_QUEUE:
            return
        if live.state == _QUEUED:
            self._levels[live.level].ages.remove(live.since_s)
            self._levels[event.priority].ages.add(live.since_s)
        live.level = event.priority
        if event.reason == "set":  # A person asked for it: from now on the promise is that of the new class.
            live.asked = event.priority

    def _job_changed(self, event: JobChanged) -> None:
        if event.state in self._jobs:
            self._jobs[event.state] += 1

    def _paused_changed(self, event: PausedChanged) -> None:
        self.paused, self.pause_reason = event.priorities, event.reason

    def _worker_changed(self, event: WorkerChanged) -> None:
        key = (event.role, event.change)
        self._workers[key] = self._workers.get(key, 0) + 1

    def _loop_stalled(self, event: LoopStalled) -> None:
        self._stalls.add(event.stalled_s)

    def _level(
        self, priority: Priority, now_s: float, depths: Depths, recent: list[int], span_s: float
    ) -> LevelMetrics:
        level = self._levels[priority]
        return LevelMetrics(
            queued=depths[0][priority],
            running=depths[1][priority],
            longest_wait_s=level.ages.longest_s(now_s),
            submitted=level.submitted,
            completed=level.by_end[TaskState.COMPLETED],
            failed=level.by_end[TaskState.FAILED],
            cancelled=level.by_end[TaskState.CANCELLED],
            skipped=level.by_end[TaskState.SKIPPED],
            soft_timeouts=level.soft_timeouts,
            hard_timeouts=level.hard_timeouts,
            retries=level.retries,
            sla_s=self._sla_s[priority],
            sla_kept=level.sla_kept,
            sla_broken=level.sla_broken,
            submission_rate=recent[_SUBMITTED + priority] / span_s,
            completion_rate=recent[_COMPLETED + priority] / span_s,
            waiting=level.waiting.lifetime().summary(),
            running_time=level.running.lifetime().summary(),
            response=level.response.lifetime().summary(),
        )
