"""What is told to the core (inputs) and what it asks for (commands). Values only.

Inputs and commands are small frozen values; those that come with each task are kept lean.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.errand import Errand
from headway.scheduler.eventclass import message
from headway.scheduler.executors.base import MachineReport, StepResult, StepRun
from headway.scheduler.model import Event, Failure, Job, JobOutcome, Priority, Task

# ---- inputs ---------------------------------------------------------------------------------------------------------


@message
class Submitted:
    """Jobs were handed in. A ticket stands for one who waits for the job; equal jobs in flight are shared."""

    jobs: tuple[Job, ...]
    tickets: tuple[int, ...]
    attempt: int = 1


@message
class StepEnded:
    run_id: int
    result: StepResult


@dataclass(frozen=True, slots=True)
class HeartbeatSeen:
    run_id: int


@dataclass(frozen=True, slots=True)
class PartialReported:
    run_id: int
    value: Any


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """One who waited gives the job up; the last one's withdrawal ends it."""

    ticket: int
    reason: str


@dataclass(frozen=True, slots=True)
class JobCancelled:
    """The job is to end for all who wait."""

    job_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class PrioritySet:
    job_id: str
    priority: Priority


@dataclass(frozen=True, slots=True)
class LevelsPaused:
    priorities: tuple[Priority, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class LevelsResumed:
    priorities: tuple[Priority, ...]


@dataclass(frozen=True, slots=True)
class JobPaused:
    job_id: str


@dataclass(frozen=True, slots=True)
class JobResumed:
    job_id: str


@dataclass(frozen=True, slots=True)
class TotalKnown:
    """A lazily fed job will be this much in all, by the weights of its tasks."""

    job_id: str
    total: float


@dataclass(frozen=True, slots=True)
class TasksFed:
    """More of a lazily fed job; `exhausted`: there is nothing more; `failure`: the source broke.

    `more`: the answer to the last `Feed` goes on.
    """

    job_id: str
    tasks: tuple[Task, ...]
    exhausted: bool
    failure: Failure | None = None
    more: bool = False


@dataclass(frozen=True, slots=True)
class FallbackGiven:
    """What a policy's fallback function returned, or how it failed."""

    task_key: int
    value: Any
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class MachineSampled:
    report: MachineReport


@dataclass(frozen=True, slots=True)
class Reconfigured:
    """Other numbers hold from now on."""

    config: SchedulerConfig


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The instant of `SchedulerCore.next_wake_at_s` has come.

    `stood_still_s`: so long before it the whole process was stopped or suspended, and no run could do anything.
    """

    stood_still_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Closing:
    """All jobs are to end; nothing new is accepted."""

    reason: str


Input: TypeAlias = (
    Submitted
    | StepEnded
    | HeartbeatSeen
    | PartialReported
    | Withdrawn
    | JobCancelled
    | PrioritySet
    | LevelsPaused
    | LevelsResumed
    | JobPaused
    | JobResumed
    | TasksFed
    | FallbackGiven
    | MachineSampled
    | Reconfigured
    | TimePassed
    | TotalKnown
    | Closing
)

# ---- commands -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CancelRun:
    run_id: int
    grace_s: float


@dataclass(frozen=True, slots=True)
class PreemptRun:
    run_id: int


@dataclass(frozen=True, slots=True)
class AbandonRun:
    """A coroutine did not stop within its grace; forget it, and say who it was."""

    run_id: int
    name: str


@message
class Resolve:
    """Tell those who wait under `tickets` how the job ended for them."""

    tickets: tuple[int, ...]
    outcome: JobOutcome


@dataclass(frozen=True, slots=True)
class Feed:
    """Ask the job's source for up to `count` more tasks."""

    job_id: str
    count: int
    source: AsyncIterator[Task]


@dataclass(frozen=True, slots=True)
class StopFeeding:
    job_id: str


@dataclass(frozen=True, slots=True)
class CallFallback:
    """Call the policy's fallback function and say what it gave."""

    task_key: int
    name: str
    call: Callable[[], Any]


# An event is its own command: to tell whoever watches. An errand is one, too: to begin it.
Command: TypeAlias = (
    StepRun | Errand | CancelRun | PreemptRun | AbandonRun | Resolve | Feed | StopFeeding | CallFallback | Event
)
