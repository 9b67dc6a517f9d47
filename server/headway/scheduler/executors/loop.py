"""Steps on the event loop: coroutines, and calls that take less than a millisecond.

Each run is an `asyncio.Task`, kept by reference until it has ended. A coroutine that ignores its cancellation is the
engine's to give up on; here it is kept until it ends by itself.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

from headway.scheduler.context import CURRENT, StepContext
from headway.scheduler.errors import StepError
from headway.scheduler.executors.base import Role, RunSink, StepResult, StepRun, WorkerReport
from headway.scheduler.executors.failures import failure_of
from headway.scheduler.model import ErrorKind, StepKind, WorkerView

_UNBOUNDED = 1_000_000


class LoopRunning:
    """One coroutine, or one call, on the loop."""

    __slots__ = ("_context", "_executor", "_loop", "_run", "_sink", "_started_at_s", "_task", "_told", "_urged")

    def __init__(self, executor: LoopExecutor, run: StepRun, sink: RunSink, loop: asyncio.AbstractEventLoop) -> None:
        self._executor = executor
        self._run = run
        self._sink = sink
        self._loop = loop
        self._started_at_s: float | None = None
        self._told = False
        self._urged = False
        token = CURRENT.set(LazyContext(self))
        # The task copies the present context, in which the step's own is current.
        self._task = loop.create_task(self._drive(), name=run.name)
        CURRENT.reset(token)
        self._task.add_done_callback(self._ended)

    @property
    def pid(self) -> int | None:
        return None

    def cancel(self, grace_s: float) -> None:
        if not self._told:
            self._told = True
            self._task.cancel("the scheduler ended this step")

    def preempt(self) -> None:
        self._urged = True

    def told(self) -> bool:
        return self._told

    def urged(self) -> bool:
        return self._urged

    @property
    def run(self) -> StepRun:
        return self._run

    @property
    def sink(self) -> RunSink:
        return self._sink

    async def _drive(self) -> Any:
        self._started_at_s = self._loop.time()
        run = self._run
        try:
            value = run.call(*run.args, **run.kwargs)
            if (run.kind is StepKind.ASYNC or self._executor.awaits_everything) and inspect.isawaitable(value):
                value = await value
        except SystemExit as error:
            # asyncio would end the whole loop for it.
            raise StepError(ErrorKind.UNKNOWN, f"the step called sys.exit({error.code!r})") from error
        return value

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._executor.forget(self)
        now_s = self._loop.time()
        started_at_s = self._started_at_s
        if started_at_s is None:
            started_at_s = now_s
        if task.cancelled():
            result = StepResult(cancelled=True, started_at_s=started_at_s, ran_s=now_s - started_at_s, slot="loop")
        elif (error := task.exception()) is not None:
            result = StepResult(
                error=failure_of(error), started_at_s=started_at_s, ran_s=now_s - started_at_s, slot="loop"
            )
        else:
            result = StepResult(value=task.result(), started_at_s=started_at_s, ran_s=now_s - started_at_s, slot="loop")
        self._sink.done(result)


class LazyContext(StepContext):
    """The context of a step on the loop; what it says is only put together when somebody asks."""

    __slots__ = ("_running",)

    def __init__(self, running: LoopRunning) -> None:
        self._running = running

    def __getattr__(self, name: str) -> Any:
        # Slots of the base that were not set yet arrive here; they are made on first use.
        if name == "data":
            self.data = self._running.run.context
            return self.data
        raise AttributeError(name)

    def cancelled(self) -> bool:
        return self._running.told()

    def preempted(self) -> bool:
        return self._running.urged()

    def heartbeat(self) -> None:
        self._running.sink.heartbeat()

    def report_partial(self, value: Any) -> None:
        self._running.sink.partial(value)


class LoopExecutor:
    """Runs SYNC and ASYNC steps. It has no slots to count: the quota of cores bounds what runs."""

    def __init__(self, *, awaits_everything: bool = False) -> None:
        """`awaits_everything`: also what a step of another kind than ASYNC returns."""
        self.awaits_everything = awaits_everything
        self._running: set[LoopRunning] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self, report: WorkerReport) -> None:
        self._loop = asyncio.get_running_loop()

    async def close(self, grace_s: float) -> None:
        running = tuple(self._running)
        for run in running:
            run.cancel(grace_s)
        tasks = [run._task for run in running]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)

    def capacity(self, role: Role) -> int:
        return _UNBOUNDED

    def begin(self, run: StepRun, sink: RunSink) -> LoopRunning:
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        running = LoopRunning(self, run, sink, loop)
        self._running.add(running)
        return running

    def forget(self, running: LoopRunning) -> None:
        self._running.discard(running)

    def workers(self) -> Sequence[WorkerView]:
        return ()
