"""The core's own state of jobs, tasks and runs: mutable, slotted, written by the core alone."""

from __future__ import annotations

import enum
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, Final

from headway.scheduler.executors.base import NOTHING, ROLES, StepContextData, StepRun, role_of
from headway.scheduler.model import (
    Failure,
    Job,
    JobState,
    OnStepFailure,
    OnTimeout,
    Outcome,
    Priority,
    Step,
    StepKind,
    StepState,
    Task,
    TaskKind,
    TaskState,
)
from headway.scheduler.queues import Entry
from headway.scheduler.resources import Grant, Shape
from headway.scheduler.timeouts import Limit, Timer

KIND_OF_CALL: Mapping[TaskKind, StepKind] = {
    TaskKind.CPU_BOUND: StepKind.PROCESS,
    TaskKind.IO_BOUND: StepKind.THREAD,
    TaskKind.MIXED: StepKind.PROCESS,  # a thread that computes would hold the interpreter's lock
    TaskKind.COROUTINE: StepKind.ASYNC,
}
ENDED = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED, TaskState.SKIPPED})
_JOB_PENDING: Final = JobState.PENDING
_TASK_PENDING: Final = TaskState.PENDING
_PROCESS: Final = StepKind.PROCESS
_THREAD: Final = StepKind.THREAD
_ASYNC: Final = StepKind.ASYNC
_HARD: Final = Limit.HARD
_NEVER: Final = -math.inf
_ALWAYS: Final = math.inf
JOB_ENDED = frozenset({JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED})


# Pools by index, for `Slots`: one of threads and one of processes per role. -1 is the loop, which is not counted.
POOLS: Final = 2 * len(ROLES)
_POOL_OF_THREADS: Final = tuple(ROLES.index(role_of(priority)) for priority in Priority)
_POOL_OF_PROCESSES: Final = tuple(len(ROLES) + pool for pool in _POOL_OF_THREADS)


def pool_of(kind: StepKind, priority: Priority) -> int:
    """Return the index of the pool that runs a kind of step for a priority."""
    if kind is _PROCESS:
        return _POOL_OF_PROCESSES[priority]
    return _POOL_OF_THREADS[priority] if kind is _THREAD else -1


class Cause(enum.Enum):
    """Why a run was told to stop."""

    CANCEL = "cancel"
    TIMEOUT = "timeout"


class Wait(enum.Enum):
    """What a timer of a task that does not run stands for."""

    RETRY = "retry"
    QUEUE = "queue"


class JobRecord:
    """A job in flight, or one that is remembered."""

    __slots__ = (
        "attempt",
        "cancel_reason",
        "created_at_s",
        "done",
        "done_weight",
        "error",
        "exhausted",
        "fair_finish",
        "feeding",
        "finished_at_s",
        "foretold",
        "index",
        "job",
        "job_id",
        "names",
        "priority",
        "results",
        "served_at_s",
        "started_at_s",
        "state",
        "stopped",
        "supersede_keys",
        "tasks",
        "tickets",
        "total",
        "total_weight",
        "unended",
        "waiters",
    )

    def __init__(self, job: Job, job_id: str, priority: Priority, created_at_s: float) -> None:
        self.job = job
        self.job_id = job_id
        self.priority = priority
        self.state = _JOB_PENDING
        self.created_at_s = created_at_s
        self.started_at_s: float | None = None
        self.finished_at_s: float | None = None
        self.tasks: Sequence[TaskRecord] = ()
        self.names: dict[str, TaskRecord] | None = None  # None where there is one task only
        self.results: dict[str, Outcome] | None = None  # of a lazily fed job
        self.index = 0  # tasks given so far, for their ids
        self.unended = 0
        self.done = 0
        self.done_weight = 0.0
        self.total: int | None = 0
        self.total_weight = 0.0
        self.foretold = False  # a lazy source said how much it will be in all
        self.exhausted = True  # no more tasks will be fed
        self.feeding = False
        self.error: Failure | None = None
        self.cancel_reason: Failure | None = None
        self.stopped = False  # by its failure policy: nothing new starts
        self.attempt = 1
        self.fair_finish = 0.0
        self.served_at_s = _NEVER  # when a task of it last started, at a level with fair shares
        self.tickets: tuple[int, ...] = ()
        self.waiters: dict[int, Priority] | None = None  # only where the job is shared
        self.supersede_keys: dict[int, Hashable] | None = None  # by ticket

    def without_tasks(self) -> JobRecord:
        """Return what is known of the job itself."""
        made = JobRecord.__new__(JobRecord)
        for name in JobRecord.__slots__:
            setattr(made, name, getattr(self, name))
        made.tasks = ()
        made.names = made.results = None
        return made

    def listed(self) -> Collection[TaskRecord]:
        """Return the tasks that are known: all, or of a lazily fed job those that have not ended long ago."""
        return self.tasks if self.results is None or self.names is None else self.names.values()

    @property
    def progress(self) -> float | None:
        """Return the share that is done, 0 to 1; None where the total is not known yet."""
        if self.state is JobState.COMPLETED:
            return 1.0
        if self.total is None and not self.foretold:
            return None
        if self.total_weight <= 0:
            return 1.0 if self.total is not None and self.done >= self.total else 0.0
        return min(1.0, self.done_weight / self.total_weight)

    @property
    def tally(self) -> tuple[int, int | None]:
        """How much is done, and of how much (None: not known yet): tasks, or weight where the whole was foretold."""
        if not self.foretold:
            return self.done, self.total
        total = round(self.total_weight)
        return total if self.state is JobState.COMPLETED else min(total, int(self.done_weight)), total


class TaskRecord:
    """A task: where it stands, what it waits for, what it has done so far."""

    __slots__ = (
        "attempt",
        "deaths",
        "dependents",
        "deps",
        "doom",
        "entry",
        "error",
        "id_made",
        "in_attempt",
        "index",
        "job",
        "key",
        "kind",
        "level",
        "memory_factor",
        "missing",
        "order",
        "outcome",
        "partial",
        "pid",
        "pool",
        "priority",
        "quanta",
        "quantum_s",
        "ran_s",
        "ready_at_s",
        "run",
        "shape",
        "soft_fired",
        "started_at_s",
        "state",
        "step",
        "step_repeats",
        "step_views",
        "task",
        "timer",
        "value",
        "values",
        "wait",
        "waited_s",
    )

    def __init__(
        self,
        task: Task,
        job: JobRecord,
        key: int,
        index: int,
        priority: Priority,
        shape: Shape,
        *,
        runs: bool = True,
    ) -> None:
        self.id_made: str | None = None  # made when first asked for: only watchers do
        self.task = task
        self.job = job
        self.key = key
        self.index = index
        self.state = _TASK_PENDING
        self.priority = priority  # as the caller means it: pools, pausing and depths go by it
        self.level: int = priority  # as the feedback queue has it: order goes by it
        self.shape = shape
        self.kind = task.steps[0].kind if runs and task.steps else KIND_OF_CALL[task.kind]
        self.pool = -1 if self.kind is _ASYNC else pool_of(self.kind, priority)
        self.order: int | None = None
        self.ready_at_s = 0.0
        self.waited_s = 0.0
        self.started_at_s: float | None = None
        self.missing = 0
        self.deps: tuple[TaskRecord, ...] = ()
        self.dependents: list[TaskRecord] | None = None
        self.entry: Entry[Any] | None = None
        self.run: Run | None = None
        self.timer: Timer | None = None
        self.wait: Wait | None = None
        self.attempt = 0
        self.in_attempt = False  # false between attempts, true also while an attempt waits for its place again
        self.ran_s = 0.0
        self.pid: int | None = None
        self.quantum_s = 0.0
        self.quanta = 0
        self.step = 0
        self.step_repeats = 0
        self.step_views: list[tuple[StepState, float, Failure | None]] | None = None
        self.value: Any = None
        self.values: dict[str, Any] | None = None
        self.partial: tuple[Any] | None = None
        self.soft_fired = False
        self.deaths = 0
        self.memory_factor = 1
        self.error: Failure | None = None
        self.doom: Failure | None = None  # it does not start any more, and will end so
        self.outcome: Outcome | None = None

    @property
    def task_id(self) -> str:
        found = self.id_made
        if found is None:
            found = self.id_made = f"{self.job.job_id}.{self.index}"
        return found

    @property
    def step_name(self) -> str:
        steps = self.task.steps
        return steps[self.step].name if steps else self.task.name

    @property
    def step_timeout_s(self) -> float | None:
        steps = self.task.steps
        return steps[self.step].timeout_s if steps else None

    @property
    def on_step_failure(self) -> OnStepFailure:
        steps = self.task.steps
        return steps[self.step].on_failure if steps else OnStepFailure.FAIL

    @property
    def least_s(self) -> float:
        """The running time that the present attempt, or the next one, still takes at least, by its own word."""
        task = self.task
        least_s = task.timeout.least_s - (self.ran_s if self.in_attempt else 0.0)
        return max(0.0, least_s, sum(step.least_s for step in task.steps[self.step :]))

    @property
    def pays_until_s(self) -> float:
        """The instant from which on the task's deadline cannot be met any more; inf where it has none."""
        deadline_at_s = self.task.deadline_at_s
        return _ALWAYS if deadline_at_s is None else deadline_at_s - self.least_s

    def context_data(self) -> StepContextData:
        """Say what `current_step()` shall show of the run that is being begun."""
        job = self.job
        devices = self.run.grant.device_indices if self.run is not None and self.run.grant is not None else ()
        return StepContextData(
            job_id=job.job_id,
            task_id=self.task_id,
            task_name=self.task.name,
            step_name=self.step_name,
            attempt=self.attempt,
            results={dep.task.name: dep.outcome.value for dep in self.deps if dep.outcome is not None}
            if self.deps
            else NOTHING,
            previous=dict(self.values) if self.values else NOTHING,
            deadline_at_s=self.deadline_at_s(),
            devices=devices,
            device_env={"CUDA_VISIBLE_DEVICES": ",".join(map(str, devices))} if devices else NOTHING,
        )

    def deadline_at_s(self) -> float | None:
        """Return the instant after which the present step is of no use: the deadline or a hard limit, the earlier."""
        deadline = self.task.deadline_at_s
        hard = self.task.timeout.hard_s
        if hard is not None and self.run is not None:
            hard_at = self.run.began_at_s - self.ran_s + hard
            return hard_at if deadline is None else min(deadline, hard_at)
        return deadline


class Run(StepRun):
    """One run of one step, from when it is begun until its executor says that it has ended.

    Executors see in it what is to be run; the rest is the core's alone. One object serves both: one comes with each
    task.
    """

    __slots__ = (
        "_shape",
        "allowed_s",
        "beat_at_s",
        "began_at_s",
        "by_credit",
        "cause",
        "due_at_s",
        "failure",
        "grant",
        "how",
        "limit",
        "pool",
        "record",
        "stuck",
        "timer",
        "urged",
    )

    # From `Limits.arm` on, which follows at once.
    due_at_s: float
    allowed_s: float
    timer: Timer | None
    # Where there is a cause.
    failure: Failure  # why it was told to stop
    how: OnTimeout | None  # what becomes of its task then

    def __init__(self, run_id: int, record: TaskRecord, grant: Grant, began_at_s: float) -> None:
        task = record.task
        what: Task | Step = task.steps[record.step] if task.steps else task
        assert what.call is not None
        self.run_id = run_id
        self.call = what.call
        self.args = what.args
        self.kwargs = what.kwargs
        self.name = what.name
        self.kind = record.kind
        self.priority = record.priority
        self.affinity = task.affinity
        self._context = None
        self._shape = record.shape  # the record's may be another one by its next run
        self.record = record
        self.pool = record.pool
        self.grant: Grant | None = grant
        self.began_at_s = began_at_s
        self.beat_at_s = began_at_s
        self.urged = False  # it was asked to end its step early
        self.by_credit = False  # it runs on BATCH's own share
        self.limit = _HARD  # its next one
        self.cause: Cause | None = None
        self.stuck = False  # its task has ended or gone on without it

    def context_data(self) -> StepContextData:
        return self.record.context_data()

    @property
    def memory_mb(self) -> float:  # type: ignore[override]  # nobody writes it, and few ask
        return self._shape.memory_mb
