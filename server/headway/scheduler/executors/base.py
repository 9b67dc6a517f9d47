"""What the engine asks of the places where steps run, and of the machine. Protocols and values only.

The engine calls everything here on the event loop; executors call their `RunSink` and reports on the loop, too.
Nothing here blocks. Times ending in `_at_s` are instants of the loop's clock (`loop.time()`, that is CLOCK_MONOTONIC,
which worker processes on the same machine share).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, Protocol, TypeAlias

from headway.scheduler.eventclass import message
from headway.scheduler.model import Failure, Priority, StepKind, WorkerChanged, WorkerView

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
_PROCESS: Final = StepKind.PROCESS
_THREAD: Final = StepKind.THREAD

Role: TypeAlias = Literal["critical", "standard", "background"]
ROLES: Final[tuple[Role, ...]] = ("critical", "standard", "background")
_ROLE_OF: Final[tuple[Role, ...]] = ("critical", "standard", "standard", "background", "background")


def role_of(priority: Priority) -> Role:
    """Return the pool that serves a priority: CRITICAL its own, HIGH and NORMAL one, LOW and BATCH one."""
    return _ROLE_OF[priority]


def priority_of(role: Role) -> Priority:
    """Return the most urgent priority that a pool serves."""
    return Priority(_ROLE_OF.index(role))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContextData:
    """What `current_step()` tells the code inside a step. Travels to worker processes by pickle.

    `results`: values of the tasks that this one depends on, by name. `previous`: values of the task's earlier steps, by
    name. `devices`: indices of the GPUs that the step may use, `device_env` what makes it see only those.
    """

    job_id: str
    task_id: str
    task_name: str
    step_name: str
    attempt: int
    results: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    previous: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    deadline_at_s: float | None = None
    devices: tuple[int, ...] = ()
    device_env: Mapping[str, str] = field(default_factory=lambda: NOTHING)

    def __reduce__(self) -> tuple[Any, ...]:
        # A MappingProxyType cannot be pickled; plain dicts travel instead.
        return _context_data, (
            (self.job_id, self.task_id, self.task_name, self.step_name, self.attempt),
            dict(self.results),
            dict(self.previous),
            self.deadline_at_s,
            self.devices,
            dict(self.device_env),
        )


def _context_data(
    names: tuple[str, str, str, str, int],
    results: dict[str, Any],
    previous: dict[str, Any],
    deadline_at_s: float | None,
    devices: tuple[int, ...],
    device_env: dict[str, str],
) -> StepContextData:
    job_id, task_id, task_name, step_name, attempt = names
    return StepContextData(
        job_id=job_id,
        task_id=task_id,
        task_name=task_name,
        step_name=step_name,
        attempt=attempt,
        results=results,
        previous=previous,
        deadline_at_s=deadline_at_s,
        devices=devices,
        device_env=device_env,
    )


class StepRun:
    """One run of one step: what an executor is asked to do. Not to be written to.

    `priority` chooses the pool (`role_of`). `memory_mb` is the quota that the task was admitted with; a process
    executor watches it. `affinity` prefers the worker that last ran the same.
    """

    __slots__ = (
        "_context",  # None: made when first asked for
        "affinity",
        "args",
        "call",
        "kind",
        "kwargs",
        "memory_mb",
        "name",
        "priority",
        "run_id",
    )

    def __init__(
        self,
        run_id: int,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        kind: StepKind,
        priority: Priority,
        affinity: Hashable | None,
        name: str,
        context: StepContextData | None,
        memory_mb: float = 256.0,
    ) -> None:
        self.run_id = run_id
        self.call = call
        self.args = args
        self.kwargs = kwargs
        self.kind = kind
        self.priority = priority
        self.affinity = affinity
        self.name = name
        self._context = context
        self.memory_mb = memory_mb

    @property
    def context(self) -> StepContextData:
        found = self._context
        if found is None:
            found = self._context = self.context_data()
        return found

    def context_data(self) -> StepContextData:
        """Return what it is, where it is made late: most coroutines never ask for it, and one run comes with each."""
        raise AssertionError("made late, but nobody says how")


@message
class StepResult:
    """How a run ended. Exactly one of: a value, an `error`, or `cancelled` (it ended because it was told to).

    `slot` names the place for a timeline: "loop", "thread-3", "background-1". `ran_s` is 0 for what never started.
    """

    value: Any = None
    error: Failure | None = None
    cancelled: bool = False
    started_at_s: float = 0.0
    ran_s: float = 0.0
    cpu_s: float | None = None  # what it computed, where the executor can tell
    slot: str = ""
    pid: int | None = None


class RunSink(Protocol):
    """Where a run reports. `done` is called exactly once per run, whatever happens; never from within `begin`."""

    def done(self, result: StepResult) -> None: ...
    def heartbeat(self) -> None: ...
    def partial(self, value: Any) -> None: ...


class Running(Protocol):
    """A run that was begun."""

    @property
    def pid(self) -> int | None: ...

    def cancel(self, grace_s: float) -> None:
        """Tell the code to stop; what can be ended by force is, `grace_s` later. Repeating it does nothing.

        A coroutine is cancelled; a worker process is told and, after the grace, killed and replaced; a thread is only
        told (`current_step().cancelled()` becomes true) and `done` comes when it really ends.
        """

    def preempt(self) -> None:
        """Tell the code that something more urgent waits; it may end its step early. Never forces anything."""


WorkerReport: TypeAlias = Callable[[WorkerChanged], None]


class Executor(Protocol):
    """A place where steps run. The core counts its slots, so `begin` is never called without a free one."""

    async def start(self, report: WorkerReport) -> None:
        """Get ready. `report` is told of each worker that starts, ends, dies or is killed."""

    async def close(self, grace_s: float) -> None:
        """End all runs (each `done` is still called) and all workers, by force after `grace_s`."""

    def capacity(self, role: Role) -> int:
        """Return how many steps of this role may run here at once; constant after `start`."""

    def begin(self, run: StepRun, sink: RunSink) -> Running:
        """Start a run. Never blocks; never raises for what user code does: that is a `StepResult`."""

    def workers(self) -> Sequence[WorkerView]:
        """Return the worker processes as they are now; empty for executors without any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executors:
    """One executor per kind of step. The scheduler starts and closes them."""

    loop: Executor  # StepKind.SYNC and StepKind.ASYNC
    thread: Executor
    process: Executor

    def of(self, kind: StepKind) -> Executor:
        if kind is _PROCESS:
            return self.process
        return self.thread if kind is _THREAD else self.loop


# ---- the machine ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A device as the driver numbers it; `total_mb` is its memory."""

    index: int
    uuid: str
    total_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What this process may really use: affinity and cgroup limits count, not the bare machine."""

    cpu_cores: float
    memory_mb: float
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressure:
    """How hard the machine is used, as shares 0..1; None where it cannot be told.

    `cpu`: busy share of the cores that we may use. `foreign_cpu`: the part of it that is neither ours nor our
    children's; admission follows this one. `gpu`: the busiest device. `cpu_stalled`, `memory_stalled`: how long work
    waited of the last ten seconds (see `stalls`).
    """

    cpu: float | None = None
    foreign_cpu: float | None = None
    memory: float | None = None
    gpu: float | None = None
    on_battery: bool = False
    cpu_stalled: float | None = None
    memory_stalled: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineReport:
    """A sample. `totals` may change: a device is lost, a cgroup limit is moved."""

    totals: Totals
    pressure: Pressure
    gpu_free_mb: tuple[tuple[int, float], ...] = ()  # (device index, what others left of its memory)


class Machine(Protocol):
    """What the machine has and how pressed it is. Samples on its own timer between `start` and `close`."""

    def totals(self) -> Totals:
        """Return what there is; may be called before `start`. Fast (no driver initialisation on later calls)."""

    async def start(self, report: Callable[[MachineReport], None]) -> None:
        """Begin to sample; `report` is called on the loop, about once a second."""

    async def close(self) -> None: ...
