"""The words of the scheduler: priorities, states, kinds, and what to do when something fails."""

from __future__ import annotations

import enum


class _Word(enum.StrEnum):
    """Words that are looked up for each task: an `Enum` hashes by a call of its own, a string by itself."""

    __hash__ = str.__hash__


class Priority(enum.IntEnum):
    """How urgent work is; lower is more urgent. On the wire it is the name."""

    __hash__ = int.__hash__

    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3
    BATCH = 4


class TaskKind(_Word):
    """What a task mostly does; decides where a bare `call` runs: worker process, thread, worker process, loop."""

    CPU_BOUND = "cpu_bound"
    IO_BOUND = "io_bound"
    MIXED = "mixed"
    COROUTINE = "coroutine"


class StepKind(_Word):
    """Where a step runs: inline on the loop, as a coroutine, in a thread, in a worker process."""

    SYNC = "sync"
    ASYNC = "async"
    THREAD = "thread"
    PROCESS = "process"


class JobState(_Word):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class TaskState(_Word):
    PENDING = "PENDING"
    READY = "READY"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"


class StepState(_Word):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"


class ErrorKind(_Word):
    """Classes of failure by what a caller can do about them; see `retry.classify`."""

    NETWORK = "network_error"
    TIMEOUT = "timeout"
    SERVICE_UNAVAILABLE = "service_unavailable"
    RATE_LIMITED = "rate_limited"
    RESOURCE_BUSY = "resource_busy"
    UNKNOWN = "unknown"
    INVALID_INPUT = "invalid_input"
    AUTH_FAILED = "auth_failed"
    PERMISSION_DENIED = "permission_denied"
    NOT_FOUND = "not_found"
    DATA_CORRUPTION = "data_corruption"
    OUT_OF_MEMORY = "out_of_memory"
    WORKER_DIED = "worker_died"
    SUPERSEDED = "superseded"
    OVERLOADED = "overloaded"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class OnTaskFailure(_Word):
    """A job's policy: go on with what does not depend on it, start nothing new, or pause the job."""

    CONTINUE = "continue"
    STOP = "stop"
    PAUSE = "pause"


class OnStepFailure(_Word):
    FAIL = "fail"
    SKIP = "skip"
    RETRY = "retry"


class OnTimeout(_Word):
    """WARN is for soft timeouts only, FAIL for hard ones only."""

    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"
    RETRY = "retry"
    FALLBACK = "fallback"


class Jitter(_Word):
    PROPORTIONAL = "proportional"
    FULL = "full"
