"""Alerts: when a reading crosses its limit, when that becomes critical, and when it is over. Pure.

An alert is raised as a warning, becomes critical when it lasts or the reading gets much worse, and is resolved when the
reading has stayed well below the limit for a while: between the two marks nothing is said, so that a value that swings
around its limit makes one alert. What cannot be told (too few samples) counts as below.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headway.scheduler.eventclass import event
from headway.scheduler.measures import Labels
from headway.scheduler.model import Event


class AlertLevel(enum.StrEnum):
    WARNING = "warning"
    CRITICAL = "critical"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """A reading beyond its limit. `alert_id` stays the same from the warning to the end; `value` is the newest said.

    `since_s` is the instant at which the limit was first seen crossed, on the scheduler's clock.
    """

    alert_id: str
    metric: str
    labels: Mapping[str, str]
    level: AlertLevel
    value: float
    threshold: float
    since_s: float
    message: str


@event
class AlertChanged(Event):
    """An alert was raised, became critical or was resolved."""

    alert: Alert


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A limit of a reading.

    `threshold`: above it an alert is raised, once it has been so for `raise_after_s`. `worse`: above it the alert
    becomes critical, as it does after `lasts_s`. `clear`: at or below it for `clear_after_s` the alert is over.
    `message` is formatted with `value`, `threshold` and `where` (the labels' values).
    """

    metric: str
    threshold: float
    worse: float
    clear: float
    message: str
    raise_after_s: float = 0.0
    lasts_s: float = 60.0
    clear_after_s: float = 2.0


# What is judged by the last minute stays bad for a minute after it is over; only what is bad for longer lasts.
_LASTS_IN_WINDOW_S = 120.0

RULES: Sequence[Rule] = (
    Rule(
        metric="response.p95",
        threshold=5.0,
        worse=15.0,
        clear=4.0,
        message="one in twenty {where} tasks takes {value:.1f} s or longer (limit {threshold:g} s)",
        lasts_s=_LASTS_IN_WINDOW_S,
    ),
    Rule(
        metric="response.p99",
        threshold=30.0,
        worse=90.0,
        clear=24.0,
        message="one in a hundred {where} tasks takes {value:.1f} s or longer (limit {threshold:g} s)",
        lasts_s=_LASTS_IN_WINDOW_S,
    ),
    Rule(
        metric="queue.depth",
        threshold=100,
        worse=1000,
        clear=80,
        message="{value:.0f} {where} tasks wait (limit {threshold:g})",
    ),
    Rule(
        metric="queue.longestWait",
        threshold=60.0,
        worse=300.0,
        clear=48.0,
        message="a {where} task has waited for {value:.0f} s (limit {threshold:g} s)",
    ),
    Rule(
        metric="machine.cpu",
        threshold=0.80,
        worse=0.98,
        clear=0.70,
        message="other programs use the processors to {value:.0%} (limit {threshold:.0%}); background work waits",
        raise_after_s=2.0,
    ),
    Rule(
        metric="machine.memory",
        threshold=0.85,
        worse=0.95,
        clear=0.80,
        message="the memory is used to {value:.0%} (limit {threshold:.0%}); close programs or lower scheduler.memoryMb",
        raise_after_s=2.0,
    ),
    Rule(
        metric="machine.gpu",
        threshold=0.90,
        worse=0.99,
        clear=0.80,
        message="a GPU is used to {value:.0%} (limit {threshold:.0%})",
        raise_after_s=2.0,
    ),
    Rule(
        metric="tasks.failures",
        threshold=0.05,
        worse=0.25,
        clear=0.03,
        message="{value:.0%} of the {where} tasks of the last minute failed (limit {threshold:.0%})",
        lasts_s=_LASTS_IN_WINDOW_S,
    ),
    Rule(
        metric="tasks.timeouts",
        threshold=0.10,
        worse=0.30,
        clear=0.06,
        message="{value:.0%} of the {where} attempts of the last minute ran out of time (limit {threshold:.0%})",
        lasts_s=_LASTS_IN_WINDOW_S,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The value of a metric now; None where it cannot be told."""

    metric: str
    value: float | None
    labels: Labels = ()


@dataclass(slots=True)
class _Watched:
    """What is remembered of a reading that is or was over its limit."""

    over_since_s: float
    alert: Alert | None = None
    under_since_s: float | None = None


@dataclass(slots=True)
class Alerts:
    """All alerts that stand; changed by `judge` alone."""

    rules: Sequence[Rule] = RULES
    _watched: dict[tuple[str, Labels], _Watched] = field(default_factory=dict)
    _ids: Iterable[int] = field(default_factory=lambda: itertools.count(1))

    def active(self) -> list[Alert]:
        """Return the alerts that stand, critical ones first, then the oldest."""
        standing = [watched.alert for watched in self._watched.values() if watched.alert is not None]
        return sorted(standing, key=lambda alert: (alert.level is not AlertLevel.CRITICAL, alert.since_s))

    @property
    def watching(self) -> bool:
        """Whether any reading is over its limit or not yet over it: then it must be looked at again."""
        return bool(self._watched)

    def judge(self, readings: Iterable[Reading], now_s: float) -> list[Alert]:
        """Compare readings with their limits and return the alerts that changed, each at most once.

        A reading without a rule is passed over; one that was given before and is missing now counts as not to be told.
        """
        changed: list[Alert] = []
        rules = {rule.metric: rule for rule in self.rules}
        missing = set(self._watched)
        for reading in readings:
            rule = rules.get(reading.metric)
            if rule is None:
                continue
            missing.discard((reading.metric, reading.labels))
            changed += self._look(rule, reading.labels, reading.value, now_s)
        for metric, labels in sorted(missing):
            changed += self._look(rules[metric], labels, None, now_s)
        return changed

    def _look(self, rule: Rule, labels: Labels, value: float | None, now_s: float) -> list[Alert]:
        key = (rule.metric, labels)
        watched = self._watched.get(key)
        if watched is None:
            if value is None or value <= rule.threshold:
                return []
            watched = self._watched[key] = _Watched(now_s)
        alert = watched.alert
        if alert is None:
            return self._not_yet(rule, watched, key, value, now_s)
        if value is None or value <= rule.clear:
            if watched.under_since_s is None:
                watched.under_since_s = now_s
            if now_s - watched.under_since_s < rule.clear_after_s:
                return []
            del self._watched[key]
            return [self._said(rule, alert, AlertLevel.RESOLVED, 0.0 if value is None else value)]
        watched.under_since_s = None
        lasts = value > rule.threshold and now_s - watched.over_since_s >= rule.lasts_s
        if alert.level is AlertLevel.WARNING and (lasts or value > rule.worse):
            watched.alert = self._said(rule, alert, AlertLevel.CRITICAL, value)
            return [watched.alert]
        return []

    def _not_yet(
        self, rule: Rule, watched: _Watched, key: tuple[str, Labels], value: float | None, now_s: float
    ) -> list[Alert]:
        """Raise the warning once the limit has been crossed for long enough, forget it when it no longer is."""
        if value is None or value <= rule.threshold:
            del self._watched[key]
            return []
        if now_s - watched.over_since_s < rule.raise_after_s:
            return []
        draft = Alert(
            alert_id=f"alert-{next(iter(self._ids))}",
            metric=rule.metric,
            labels=dict(key[1]),
            level=AlertLevel.WARNING,
            value=value,
            threshold=rule.threshold,
            since_s=watched.over_since_s,
            message="",
        )
        watched.alert = self._said(rule, draft, AlertLevel.WARNING, value)
        return [watched.alert]

    @staticmethod
    def _said(rule: Rule, alert: Alert, level: AlertLevel, value: float) -> Alert:
        where = " ".join(alert.labels.values())
        message = rule.message.format(value=value, threshold=rule.threshold, where=where)
        if level is AlertLevel.RESOLVED:
            message = f"over: {message}"
        return Alert(
            alert_id=alert.alert_id,
            metric=alert.metric,
            labels=alert.labels,
            level=level,
            value=value,
            threshold=alert.threshold,
            since_s=alert.since_s,
            message=message,
        )
