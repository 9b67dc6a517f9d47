"""Watches the scheduler: feeds metrics, timeline and alerts from its events, and looks at the limits while it works.

A look is taken about once a second as long as tasks are alive or alerts stand, by one timer; an idle scheduler has
none. So a limit that is crossed is reported within two seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from headway.scheduler.alerts import AlertChanged, Alerts, Reading
from headway.scheduler.measures import Depths, Labels, Usage
from headway.scheduler.metrics import Metrics
from headway.scheduler.model import Event, LoopStalled, Priority, StepEnded, WorkerChanged
from headway.scheduler.trace import DEPTH_INTERVAL_S, Trace

LOOK_INTERVAL_S = 1.0
# Shares and quantiles are not told from fewer: one failed task of three is no alarm.
FEWEST_SAMPLES = 20
FEWEST_FOR_P99 = 100
FEWEST_BAD = 3
# Of these the response time is a promise to a person; LOW and BATCH work may run for minutes by its nature.
_ANSWERED = (Priority.CRITICAL, Priority.HIGH, Priority.NORMAL)
_LABELS: tuple[Labels, ...] = tuple((("priority", priority.name),) for priority in Priority)


class Timer(Protocol):
    """What `call_later` of an event loop returns."""

    def cancel(self) -> None: ...


class Watch:
    """Subscriber of the scheduler's events that owns metrics, timeline and alerts."""

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        call_later: Callable[[float, Callable[[], None]], Timer],
        depths: Callable[[], Depths],
        usage: Callable[[], Usage],
        emit: Callable[[AlertChanged], None],
    ) -> None:
        """`depths` and `usage` are read at each look, `emit` is told of each alert that changes."""
        self.metrics = Metrics(clock, depths)
        self.trace = Trace(clock)
        self.alerts = Alerts()
        self._clock = clock
        self._call_later = call_later
        self._usage = usage
        self._emit = emit
        self._timer: Timer | None = None
        self._closed = False
        metrics, trace = self.metrics, self.trace
        metrics.due_s, metrics.due = -math.inf, self._sample
        # What to do with each kind of event, for whoever dispatches by itself.
        self.folds: dict[type[Event], Callable[[Any], None]] = {
            **metrics.folds,
            StepEnded: trace.step,
            LoopStalled: _both(metrics.folds[LoopStalled], trace.incident),
            WorkerChanged: _both(metrics.folds[WorkerChanged], trace.incident),
        }

    def observe(self, event: Event) -> None:
        """Take note of an event; to be called for each one, in order."""
        fold = self.folds.get(type(event))
        if fold is not None:
            fold(event)

    def _sample(self, at_s: float) -> None:
        """Note the depths, and see to it that somebody looks while there is work."""
        self.metrics.due_s = at_s + DEPTH_INTERVAL_S
        self.trace.depths(at_s, *self.metrics.depths())
        if self._timer is None and not self._closed:
            self._timer = self._call_later(LOOK_INTERVAL_S, self._look)

    def close(self) -> None:
        """Stop looking. What was measured stays readable."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def look(self) -> None:
        """Compare what is measured with the limits now."""
        now_s = self._clock()
        metrics = self.metrics
        metrics.sample(self._usage())
        self.trace.depths(now_s, *metrics.depths())
        for alert in self.alerts.judge(readings(metrics, now_s), now_s):
            metrics.alert(alert)
            self._emit(AlertChanged(at_s=now_s, alert=alert))

    def _look(self) -> None:
        self._timer = None
        self.look()
        if self.metrics.alive or self.alerts.watching:
            self._timer = self._call_later(LOOK_INTERVAL_S, self._look)
        else:
            self.metrics.due_s = -math.inf  # The next event begins it all again, however soon it comes.
            self.metrics.hurry()


def _both(one: Callable[[Any], None], other: Callable[[Any], None]) -> Callable[[Any], None]:
    def fold(event: Event) -> None:
        one(event)
        other(event)

    return fold


def readings(metrics: Metrics, now_s: float) -> list[Reading]:
    """Return all that alerts are judged by, as it stands now."""
    usage = metrics.usage
    found = [
        # That our own work uses what there is, is what it is for: it gives way, and is no reason to be alarmed.
        Reading(metric="machine.cpu", value=usage.cpu if usage.foreign_cpu is None else usage.foreign_cpu),
        Reading(metric="machine.memory", value=usage.memory),
        Reading(metric="machine.gpu", value=usage.gpu),
    ]
    queued = metrics.depths()[0]
    failures = metrics.recent_failures(now_s)
    timeouts = metrics.recent_timeouts(now_s)
    # Whoever paused a level knows that it waits; pauses for want of room are the scheduler's own and do count.
    asked_to_wait = metrics.paused if metrics.pause_reason in ("user", "battery") else ()
    for priority in Priority:
        labels = _LABELS[priority]
        wait_s = 0.0 if priority in asked_to_wait else metrics.longest_wait_s(priority, now_s)
        found += [
            Reading(metric="queue.depth", value=queued[priority], labels=labels),
            Reading(metric="queue.longestWait", value=wait_s, labels=labels),
            Reading(metric="tasks.failures", value=_share(failures[priority]), labels=labels),
            Reading(metric="tasks.timeouts", value=_share(timeouts[priority]), labels=labels),
        ]
        if priority in _ANSWERED:
            recent = metrics.recent_response(priority, now_s)
            p95_s, p99_s = recent.quantiles_at((0.95, 0.99))
            found += [
                Reading(metric="response.p95", value=p95_s if recent.count >= FEWEST_SAMPLES else None, labels=labels),
                Reading(metric="response.p99", value=p99_s if recent.count >= FEWEST_FOR_P99 else None, labels=labels),
            ]
    return found


def _share(counts: tuple[int, int]) -> float | None:
    """Bad ones of all, where there are enough to tell."""
    bad, all_ = counts
    if all_ < FEWEST_SAMPLES:
        return None
    return bad / all_ if bad >= FEWEST_BAD else 0.0
