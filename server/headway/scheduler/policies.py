"""What a task may ask for: room, repetitions, time. Values only.

Units: seconds (`_s`), MiB (`_mb`), cores as fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from headway.scheduler.kinds import Jitter, OnTimeout


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """What a task holds while one of its steps runs."""

    cpu_cores: float = 1.0
    memory_mb: float = 256.0
    gpu_count: int = 0
    gpu_memory_mb: float = 0.0
    longest_run_s: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When and how often a failed task is tried again. `max_retries` None: by priority."""

    max_retries: int | None = None
    base_s: float = 1.0
    factor: float = 2.0
    cap_s: float = 60.0
    jitter: Jitter = Jitter.PROPORTIONAL
    jitter_share: float = 0.1
    # The outside thing that fails (an endpoint, a tool): retry budget and circuit breaker are kept per dependency.
    dependency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutPolicy:
    """Limits of one attempt, counted from its start (`queue_s` from when the task became ready).

    `least_s` is what an attempt takes at least: a task that cannot meet its deadline any more is refused as soon as
    that is certain, and not begun. `fallback` is a value, or a function without arguments that gives one.
    """

    soft_s: float | None = None
    hard_s: float | None = None
    queue_s: float | None = None
    heartbeat_s: float | None = None
    least_s: float = 0.0
    on_soft: OnTimeout = OnTimeout.WARN
    on_hard: OnTimeout = OnTimeout.FAIL
    fallback: Any = None


# One object each, so that a hundred thousand tasks share them, and the usual case is known by identity.
ONE_CORE: Final = Requirement()
RETRY_BY_PRIORITY: Final = RetryPolicy()
NO_LIMITS: Final = TimeoutPolicy()
