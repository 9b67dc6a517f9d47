"""What history keeps, as frozen values: finished jobs, and durable ones that have not ended.

Instants ending in `_at_ms` are Unix milliseconds: history outlives the scheduler's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.scheduler.model import Failure, JobState, JobView, Outcome, Priority, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLimits:
    """How much is kept. The oldest finished jobs go first; durable jobs that have not ended never do.

    Sizes are of JSON text. A value that is no JSON or too large is not kept; its task is.
    """

    max_age_s: float = 30 * 86_400.0
    max_mb: float = 32.0
    max_value_kb: float = 64.0
    max_job_kb: float = 512.0  # all values of a job together
    max_pending: int = 10_000  # records that wait to be written; what comes beyond is dropped and said


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedJob:
    """A job as it ended, for `History.finished`. `offset_ms` turns its instants (in ms) into Unix milliseconds."""

    view: JobView
    results: Mapping[str, Outcome]
    offset_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedTask:
    """A task of a finished job. `value` is None also where `value_kept` is false: it was no JSON, or too large."""

    name: str
    state: TaskState
    priority: Priority
    waited_s: float | None
    ran_s: float | None
    attempt: int
    error: Failure | None
    value: Any
    value_kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedJob:
    """A finished job, read from history. `truncated`: it had more tasks than are kept."""

    job_id: str
    type: str
    title: str
    priority: Priority
    state: JobState
    attempt: int
    created_at_ms: float
    started_at_ms: float | None
    finished_at_ms: float
    error: Failure | None
    tasks: tuple[RememberedTask, ...]
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DurableJob:
    """A durable job as it was submitted: `factory` is called with `args` to make it anew."""

    job_id: str
    factory: str
    args: Mapping[str, Any]
    priority: Priority
    submitted_at_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredValue:
    """What a finished task of a durable job returned; `kept` false: it could not be stored."""

    value: Any
    kept: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedJob:
    """A durable job that has not ended, and the tasks of it that have, by name."""

    job: DurableJob
    finished: Mapping[str, StoredValue]
    resumed: int  # how often it was resumed before


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryProblem:
    """Something about the file that a person should know; the scheduler works on."""

    message: str
    aside: str | None = None  # where the unusable file lies now
    in_use: bool = False  # by another scheduler: nothing is wrong with it
