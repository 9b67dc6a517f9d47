"""What the scheduler measured, as frozen values, and the service levels that it is measured by.

Nothing here counts; `metrics` does, and `prometheus` writes these values down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from headway.scheduler.model import JobState, Priority
from headway.scheduler.sketch import Quantiles

Labels: TypeAlias = tuple[tuple[str, str], ...]  # sorted (name, value)

Depths: TypeAlias = tuple[Sequence[int], Sequence[int]]  # tasks that wait, tasks that run; each by priority

SLA_S: Mapping[Priority, float | None] = {
    Priority.CRITICAL: 0.1,
    Priority.HIGH: 2.0,
    Priority.NORMAL: 10.0,
    Priority.LOW: 60.0,
    Priority.BATCH: None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How used the machine and its quotas were at one moment; shares are within 0 and 1, None where nothing tells."""

    cpu: float | None = None
    foreign_cpu: float | None = None  # by other programs
    memory: float | None = None
    gpu: float | None = None
    cores_used: float = 0.0
    cores_admitted: float = 0.0  # what the work that waits could have at most


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelMetrics:
    """One priority. Counts and durations are for the whole life, rates (a second) for the recent past."""

    queued: int
    running: int
    longest_wait_s: float
    submitted: int
    completed: int
    failed: int
    cancelled: int
    skipped: int
    soft_timeouts: int
    hard_timeouts: int
    retries: int
    shed: int
    sla_s: float | None
    sla_kept: int
    sla_broken: int
    submission_rate: float
    completion_rate: float
    waiting: Quantiles
    running_time: Quantiles
    response: Quantiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Indicators:
    """The key indicators of the whole, each a share within 0 and 1; None while there is nothing to judge by.

    `allocated`: of the cores that admission allowed, those in use while something waited. `timeouts`: attempts that
    ended by a hard timeout. `retries_succeeded`: of the tasks that were tried again and have ended within their
    budget, those that completed.
    """

    allocated: float | None
    timeouts: float | None
    retries_succeeded: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSnapshot:
    """All numbers at one moment. `workers` counts changes by (role, change), `jobs` visible jobs by final state."""

    at_s: float
    levels: Mapping[Priority, LevelMetrics]
    usage: Usage
    indicators: Indicators
    jobs: Mapping[JobState, int]
    workers: Mapping[tuple[str, str], int]
    stalls: Quantiles
    paused: tuple[Priority, ...]
    pause_reason: str | None
    alerts: Mapping[tuple[str, str], int]  # ever raised, by (metric, level)
    counts: Mapping[tuple[str, Labels], int]  # the host's own, see `Metrics.count`
    durations: Mapping[tuple[str, Labels], Quantiles]  # see `Metrics.record`
