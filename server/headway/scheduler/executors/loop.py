"""Steps on the event loop: coroutines, and calls that take less than a millisecond.

Each run is an `asyncio.Task`, kept by reference until it has ended. A coroutine that ignores its cancellation is the
engine's to give up on; here it is kept until it ends by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Sequence
from typing import Any

from headway.scheduler.context import CURRENT, StepContext
from headway.scheduler.errors import StepError
from headway.scheduler.executors.base import Role, RunSink, StepContextData, StepResult, StepRun, WorkerReport
from headway.scheduler.executors.failures import failure_of
from headway.scheduler.model import ErrorKind, Failure, StepKind, WorkerView

_UNBOUNDED = 1_000_000


class LoopRunning(StepContext):
    """One coroutine, or one call, on the loop; to the code inside it is its own context.

    What `current_step()` says is only put together when somebody asks: most coroutines never do.
    """

    __slots__ = ("_executor", "_loop", "_run", "_sink", "_started_at_s", "_task", "_told", "_urged")

    def __init__(self, executor: LoopExecutor, run: StepRun, sink: RunSink, loop: asyncio.AbstractEventLoop) -> None:
        self._executor = executor
        self._run = run
        self._sink = sink
        self._loop = loop
        self._started_at_s: float | None = None
        self._told = False
        self._urged = False
        # The task copies the present context, in which this is the current step.
        token = CURRENT.set(self)
        self._task = task = loop.create_task(self._drive())
        CURRENT.reset(token)
        task.add_done_callback(self._ended)

    @property
    def data(self) -> StepContextData:  # type: ignore[override]  # made late, where the base is given it
        return self._run.context

    @property
    def pid(self) -> int | None:
        return None

    @property
    def task(self) -> asyncio.Task[Any]:
        return self._task

    def cancel(self, grace_s: float) -> None:
        """Cancel the coroutine, once; what it does then is its own matter."""
        if not self._told:
            self._told = True
            self._task.cancel("the scheduler ended this step")

    def preempt(self) -> None:
        self._urged = True

    def cancelled(self) -> bool:
        return self._told

    def preempted(self) -> bool:
        return self._urged

    def interruptible(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def heartbeat(self) -> None:
        self._sink.heartbeat()

    def report_partial(self, value: Any) -> None:
        self._sink.partial(value)

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
        self._executor.running.discard(self)
        now_s = self._loop.time()
        began_at_s = self._started_at_s
        if began_at_s is None:
            began_at_s = now_s
        value: Any = None
        failure: Failure | None = None
        cancelled = task.cancelled()
        if not cancelled:
            error = task.exception()
            if error is None:
                value = task.result()
            else:
                failure = failure_of(error)
        self._sink.done(
            StepResult(
                value=value,
                error=failure,
                cancelled=cancelled,
                started_at_s=began_at_s,
                ran_s=now_s - began_at_s,
                slot="loop",
            )
        )


class LoopExecutor:
    """Runs SYNC and ASYNC steps. It has no slots to count: the quota of cores bounds what runs."""

    def __init__(self, *, awaits_everything: bool = False) -> None:
        """`awaits_everything`: also what a step of another kind than ASYNC returns."""
        self.awaits_everything = awaits_everything
        self.running: set[LoopRunning] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def start(self, report: WorkerReport) -> None:
        self._loop = asyncio.get_running_loop()

    async def close(self, grace_s: float) -> None:
        running = tuple(self.running)
        for run in running:
            run.cancel(grace_s)
        tasks = [run.task for run in running]
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)

    def capacity(self, role: Role) -> int:
        return _UNBOUNDED

    def begin(self, run: StepRun, sink: RunSink) -> LoopRunning:
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        running = LoopRunning(self, run, sink, loop)
        self.running.add(running)
        return running

    def workers(self) -> Sequence[WorkerView]:
        return ()
