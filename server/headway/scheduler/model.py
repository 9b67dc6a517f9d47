"""What the scheduler speaks about: jobs, tasks, steps, outcomes and events.

Descriptions (`Job`, `Task`, `Step`) are frozen and say what is wanted; they hold no state. Views and outcomes say what
became of it. This room knows no clock, no asyncio and no executor.

Units: seconds (`_s`), MiB (`_mb`), cores as fractions. Instants named `_at_s` are on the scheduler's monotonic clock.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from headway.scheduler.eventclass import description, event, message
from headway.scheduler.kinds import (
    ErrorKind,
    Jitter,
    JobState,
    OnStepFailure,
    OnTaskFailure,
    OnTimeout,
    Priority,
    StepKind,
    StepState,
    TaskKind,
    TaskState,
)
from headway.scheduler.policies import NO_LIMITS, ONE_CORE, RETRY_BY_PRIORITY, Requirement, RetryPolicy, TimeoutPolicy

# Imported from here by everybody; what is defined below needs no mention.
__all__ = [
    "ErrorKind",
    "Jitter",
    "JobState",
    "OnStepFailure",
    "OnTaskFailure",
    "OnTimeout",
    "Priority",
    "StepKind",
    "StepState",
    "TaskKind",
    "TaskState",
    "NO_LIMITS",
    "ONE_CORE",
    "RETRY_BY_PRIORITY",
    "Requirement",
    "RetryPolicy",
    "TimeoutPolicy",
]

# One shared empty mapping: a hundred thousand queued tasks do not carry an empty dict each.
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def _nothing() -> Mapping[str, Any]:
    return _NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An atomic action. `call(*args, **kwargs)`; `current_step()` inside gives its `StepContext`.

    For `StepKind.PROCESS` the call must be importable by name and its arguments picklable.
    """

    name: str
    call: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=_nothing)
    kind: StepKind = StepKind.ASYNC
    timeout_s: float | None = None
    least_s: float = 0.0  # what it takes at least: with less time until the task's deadline it is not started
    on_failure: OnStepFailure = OnStepFailure.FAIL


@description
class Task:
    """A part of a job that can be scheduled alone: either `steps`, or one bare `call`."""

    name: str
    call: Callable[..., Any] | None = None
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=_nothing)
    steps: tuple[Step, ...] = ()
    kind: TaskKind = TaskKind.COROUTINE
    depends_on: tuple[str, ...] = ()  # names of tasks of the same job
    requirement: Requirement = ONE_CORE
    priority: Priority | None = None  # None: the job's
    retry: RetryPolicy = RETRY_BY_PRIORITY
    timeout: TimeoutPolicy = NO_LIMITS
    deadline_at_s: float | None = None  # absolute; what cannot be paid for any more (`least_s`) is not started
    run_anyway: bool = False  # also when something it depends on failed
    affinity: Hashable | None = None  # prefers the worker that last ran this
    weight: float = 1.0  # share of the job's progress


TaskSource: TypeAlias = Sequence[Task] | AsyncIterator[Task]


@description
class Job:
    """A person's whole intent. `tasks` may be an async iterator: then they are fed lazily, `window` at a time."""

    type: str
    title: str
    tasks: TaskSource
    priority: Priority = Priority.NORMAL
    job_id: str | None = None  # None: one is made
    context: Mapping[str, Any] = field(default_factory=_nothing)
    on_task_failure: OnTaskFailure = OnTaskFailure.CONTINUE
    supersede_key: Hashable | None = None  # a newer job with the same key ends this one
    share_key: Hashable | None = None  # an equal job in flight is joined instead of run again
    total: float | None = None  # weight of all tasks, where a lazy source knows it
    window: int = 64
    durable: str | None = None  # name of a registered factory that makes the job anew after a restart
    durable_args: Mapping[str, Any] = field(default_factory=_nothing)  # JSON values
    visible: bool = True  # False: the host's own short work; no JobChanged/JobProgressed events


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why something did not succeed, as data: it travels between processes and to disk."""

    kind: ErrorKind
    message: str
    type_name: str = ""
    traceback: str = ""
    retry_after_s: float | None = None


@message
class Outcome:
    """How a task ended. `fallback`: the value is the policy's; `partial`: the value is what was reported so far."""

    state: TaskState
    value: Any = None
    error: Failure | None = None
    fallback: bool = False
    partial: bool = False
    attempts: int = 0
    waited_s: float = 0.0
    ran_s: float = 0.0  # last attempt, without pauses
    started_at_s: float | None = None  # first attempt
    finished_at_s: float | None = None
    pid: int | None = None  # process that ran its last step


@message
class JobOutcome:
    """How a job ended; `results` by task name (of a lazily fed job the newest 1,000)."""

    job_id: str
    state: JobState
    results: Mapping[str, Outcome]
    error: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    name: str
    state: StepState
    ran_s: float | None = None
    error: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    task_id: str
    job_id: str
    name: str
    priority: Priority
    state: TaskState
    depends_on: tuple[str, ...]
    waited_s: float | None
    ran_s: float | None
    attempt: int
    error: Failure | None
    steps: tuple[StepView, ...]
    truncated: bool = False  # it has more steps: those around the present one are listed


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A job as it stands. At most `limit` tasks are listed; `truncated` says that there are more."""

    job_id: str
    type: str
    title: str
    priority: Priority
    state: JobState
    progress: float | None  # 0..1, None where the total is not known
    done: int  # tasks; weight where a lazy source has said how much it will be in all
    total: int | None
    created_at_s: float
    started_at_s: float | None
    finished_at_s: float | None
    attempt: int
    error: Failure | None
    tasks: tuple[TaskView, ...]
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """How many tasks of a priority wait (ready, paused or waiting for a retry) and how many run."""

    queued: int = 0
    running: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceView:
    """Of a resource: what there is, what running tasks hold, and what is kept free for CRITICAL work."""

    total: float
    used: float
    reserved: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningView:
    """A running task; `stuck` when it was ended but what it runs will not stop."""

    task_id: str
    job_id: str
    name: str
    priority: Priority
    elapsed_s: float
    visible: bool
    stuck: bool = False
    pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """A worker process. `restarts` counts its predecessors on the same slot that died or were killed."""

    pid: int
    role: str
    busy: bool
    rss_mb: float | None
    restarts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PressureView:
    """How hard the machine is used, as shares 0..1; None where it cannot be told."""

    cpu: float | None = None
    memory: float | None = None
    gpu: float | None = None
    on_battery: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The scheduler as it stands. `running`: at most 20, most urgent first; `jobs`: at most 101 visible ones in flight.

    `resources`: "cpuCores", "memoryMb", "gpuCount", "gpuMemoryMb". `stuck` counts ended runs that will not stop.
    """

    at_s: float
    depths: Mapping[Priority, Depth]
    running: tuple[RunningView, ...]
    jobs: tuple[JobView, ...]
    resources: Mapping[str, ResourceView]
    paused: tuple[Priority, ...]
    pause_reason: str | None
    pressure: PressureView
    workers: tuple[WorkerView, ...]
    stuck: int


# ---- events ---------------------------------------------------------------------------------------------------------
# Emitted by the engine after each change, in order. Subscribers run on the loop and must return at once.


@event
class Event:
    at_s: float


@event
class JobChanged(Event):
    """A visible job was created or changed its state (`previous` None at creation)."""

    job_id: str
    state: JobState
    previous: JobState | None


@event
class JobProgressed(Event):
    job_id: str
    done: int
    total: int | None
    progress: float | None


@event
class TaskQueued(Event):
    job_id: str
    task_id: str
    name: str
    priority: Priority
    visible: bool


@event
class TaskStarted(Event):
    job_id: str
    task_id: str
    name: str
    priority: Priority
    attempt: int
    waited_s: float
    visible: bool


@event
class StepEnded(Event):
    """`slot` names the executor's slot for a timeline: "loop", "thread-3", "background-1"."""

    job_id: str
    task_id: str
    task_name: str
    name: str
    priority: Priority
    state: StepState
    started_at_s: float
    ran_s: float
    slot: str
    pid: int | None
    error: Failure | None


@event
class TaskRetrying(Event):
    job_id: str
    task_id: str
    priority: Priority
    attempt: int
    delay_s: float
    error: Failure


@event
class TaskTimedOut(Event):
    job_id: str
    task_id: str
    priority: Priority
    hard: bool
    limit_s: float


@event
class TaskEnded(Event):
    job_id: str
    task_id: str
    name: str
    priority: Priority
    outcome: Outcome
    visible: bool


@event
class TaskMoved(Event):
    """A waiting task's level changed: by the caller, by age, by demotion or by inheritance."""

    job_id: str
    task_id: str
    previous: Priority
    priority: Priority
    reason: str


@event
class PausedChanged(Event):
    priorities: tuple[Priority, ...]
    reason: str | None  # "user", "battery", "memory", "cpu"


@event
class WorkerChanged(Event):
    """A worker process was started, ended as asked, died, or was killed."""

    pid: int
    role: str
    change: str  # "started" | "ended" | "died" | "killed"
    detail: str = ""


@event
class LoopStalled(Event):
    """The event loop did not turn for `stalled_s`; `culprit` names what ran."""

    stalled_s: float
    culprit: str
