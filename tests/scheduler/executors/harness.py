"""Runs steps in real executors and waits for what they report; nothing here waits by the clock."""

import asyncio
import contextlib
import ctypes
import itertools
import os
import select
import struct
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import pytest

from headway.scheduler.executors.base import Executor, Running, StepContextData, StepResult, StepRun
from headway.scheduler.executors.memory import MemoryLimits
from headway.scheduler.executors.pool import PoolSettings
from headway.scheduler.executors.process import ProcessExecutor, ProcessSettings
from headway.scheduler.executors.spawn import PriorityClass
from headway.scheduler.executors.worker_process import WorkerSettings
from headway.scheduler.model import Priority, StepKind, WorkerChanged

PATIENCE_S = 60.0  # a bound for what is broken, never met by what works

_run_ids = itertools.count(1)


class Sink:
    """Takes what a run reports."""

    def __init__(self) -> None:
        self.result: asyncio.Future[StepResult] = asyncio.get_running_loop().create_future()
        self.answers = 0
        self.beats = 0
        self.partials: asyncio.Queue[Any] = asyncio.Queue()

    def done(self, result: StepResult) -> None:
        self.answers += 1
        if not self.result.done():
            self.result.set_result(result)

    def heartbeat(self) -> None:
        self.beats += 1

    def partial(self, value: Any) -> None:
        self.partials.put_nowait(value)


class Bench:
    """An executor that was started, and the reports about its workers."""

    def __init__(self, executor: Executor, kind: StepKind) -> None:
        self.executor = executor
        self._kind = kind
        self.changes: list[WorkerChanged] = []
        self._changed = asyncio.Event()

    def report(self, change: WorkerChanged) -> None:
        self.changes.append(change)
        self._changed.set()

    async def changed(self, change: str, pid: int | None = None) -> WorkerChanged:
        """Wait for a report about a worker."""
        return await self._told((change,), pid)

    async def left(self, pid: int) -> WorkerChanged:
        """Wait until a worker that was sent away has gone; by force where the machine was too busy for it to go."""
        return await self._told(("ended", "killed"), pid)

    async def _told(self, changes: tuple[str, ...], pid: int | None) -> WorkerChanged:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for one in self.changes:
                    if one.change in changes and pid in (None, one.pid):
                        return one
                self._changed.clear()
                await self._changed.wait()

    def begin(
        self,
        call: Callable[..., Any],
        *args: Any,
        priority: Priority = Priority.NORMAL,
        affinity: str | None = None,
        memory_mb: float = 256.0,
        device_env: Mapping[str, str] | None = None,
        results: Mapping[str, Any] | None = None,
    ) -> tuple[Running, Sink]:
        sink = Sink()
        context = StepContextData(
            job_id="job",
            task_id="task",
            task_name="a task",
            step_name="a step",
            attempt=2,
            results=results or {},
            deadline_at_s=99.0,
            device_env=device_env or {},
        )
        run = StepRun(
            run_id=next(_run_ids),
            call=call,
            args=args,
            kwargs={},
            kind=self._kind,
            priority=priority,
            affinity=affinity,
            name=getattr(call, "__name__", "step"),
            context=context,
            memory_mb=memory_mb,
        )
        return self.executor.begin(run, sink), sink

    async def run(self, call: Callable[..., Any], *args: Any, **options: Any) -> StepResult:
        return await ended(self.begin(call, *args, **options)[1])

    async def value(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        result = await self.run(call, *args, **options)
        assert result.error is None, result.error
        assert not result.cancelled
        return result.value


async def ended(sink: Sink) -> StepResult:
    async with asyncio.timeout(PATIENCE_S):
        return await asyncio.shield(sink.result)


async def begun(sink: Sink) -> Any:
    """Wait until the step says so; return what it said."""
    async with asyncio.timeout(PATIENCE_S):
        return await sink.partials.get()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what only can be looked at."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def pools(
    *,
    size: int = 2,
    warm: int = 0,
    warm_after_s: float = 0.0,
    idle_s: float = 60.0,
    memory: MemoryLimits | None = None,
    **worker: Any,
) -> ProcessSettings:
    """Three pools of the same size."""

    def pool(priority_class: PriorityClass) -> PoolSettings:
        settings = WorkerSettings(priority_class=priority_class, memory=memory or MemoryLimits(), **worker)
        return PoolSettings(size=size, warm=warm, warm_after_s=warm_after_s, idle_s=idle_s, worker=settings)

    return ProcessSettings(
        critical=pool(PriorityClass.INTERACTIVE),
        standard=pool(PriorityClass.NORMAL),
        background=pool(PriorityClass.BACKGROUND),
    )


@contextlib.asynccontextmanager
async def processes(**settings: Any) -> AsyncIterator[Bench]:
    executor = ProcessExecutor(pools(**settings))
    bench = Bench(executor, StepKind.PROCESS)
    await executor.start(bench.report)
    try:
        yield bench
    finally:
        await executor.close(1.0)


def children_of(pid: int) -> dict[int, str]:
    """Direct children with their state letter; zombies are "Z"."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{name}/stat") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
                if int(parent) == pid:
                    found[int(name)] = state
    return found


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def wait_until_gone(pids: Iterable[int]) -> set[int]:
    """Block until the processes, which need not be our children, have ended; return those that have not."""
    left: dict[int, int] = {}
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            left[os.pidfd_open(pid)] = pid
    poll = select.poll()
    for fd in left:
        poll.register(fd, select.POLLIN)
    while left:
        ready = poll.poll(PATIENCE_S * 1000)
        if not ready:
            break
        for fd, _ in ready:
            poll.unregister(fd)
            os.close(fd)
            del left[fd]
    return set(left.values())


def pids_of(bench: Bench) -> list[int]:
    return [view.pid for view in bench.executor.workers()]


def slice_ns(pid: int) -> int:
    """Return how long a process may run at a time, in nanoseconds; 0 where the kernel does not tell."""
    number = {"x86_64": 315, "aarch64": 275}[os.uname().machine]
    attributes = ctypes.create_string_buffer(48)
    if ctypes.CDLL(None, use_errno=True).syscall(number, pid, attributes, len(attributes), 0) != 0:
        raise OSError(ctypes.get_errno(), "sched_getattr")
    return int(struct.unpack_from("=IIQiIQ", attributes)[-1])


SLICES_ARE_TOLD = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64") or slice_ns(0) == 0,
    reason="this kernel knows no slices of a process's own",
)
