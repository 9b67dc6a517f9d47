"""Steps on the event loop: coroutines, and calls that take less than a millisecond.

Runs take place in lanes. A lane is an `asyncio.Task` that begins what is ready, one run after another; a run that ends
without waiting costs no task of its own. One that waits keeps its lane for itself, and another lane goes on with the
rest. So `asyncio.current_task()` is a task whose cancellation is the run's alone, and each run has its own context.
After a slice of time a lane lets the loop turn. (As asyncio's eager tasks of Python 3.12, for any Python.)

A coroutine that ignores its cancellation is the engine's to give up on; here it is kept until it ends by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import sys
import time
import types
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from headway.scheduler.context import CURRENT, StepContext
from headway.scheduler.errors import StepError
from headway.scheduler.executors.base import NOTHING, Role, RunSink, StepContextData, StepResult, StepRun, WorkerReport
from headway.scheduler.executors.failures import failure_of
from headway.scheduler.model import ErrorKind, Failure, Priority, StepKind, WorkerView

_UNBOUNDED = 1_000_000
_MOST_PASS = 16  # CRITICAL ones that begin before another one, before it is its turn: endless ones starve nobody
SLICE_S: Final = 0.002
_ASYNC: Final = StepKind.ASYNC
_ENDED: Final = object()


def clock_of(loop: asyncio.AbstractEventLoop) -> Callable[[], float]:
    """Return what reads the loop's clock, without its detour where that is known to lead to the same."""
    return time.monotonic if getattr(type(loop), "time", None) is asyncio.BaseEventLoop.time else loop.time


class LoopRunning(StepContext):
    """One coroutine, or one call, on the loop; to the code inside it is its own context.

    What `current_step()` says is only put together when somebody asks: most coroutines never do.
    """

    __slots__ = (
        "_args",
        "_awaits",
        "_call",
        "_context",
        "_coroutine",
        "_failure",
        "_kwargs",
        "_run",
        "_sink",
        "_started_at_s",
        "_told",
        "_urged",
        "_value",
        "_was_cancelled",
        "fatal",
        "lane",
    )

    _coroutine: Coroutine[Any, Any, Any]

    def __init__(self, run: StepRun, sink: RunSink, awaits: bool) -> None:
        self._run = run
        self._call, self._args, self._kwargs = run.call, run.args, run.kwargs
        self._sink = sink
        self._awaits = awaits
        self._context = contextvars.copy_context()
        self._started_at_s = 0.0
        self._told = False
        self._urged = False
        self._was_cancelled = False
        self._value: Any = None
        self._failure: Failure | None = None
        self.lane: asyncio.Task[None] | None = None  # in which it runs now
        self.fatal: BaseException | None = None  # what must not end here

    @property
    def data(self) -> StepContextData:  # type: ignore[override]  # made late, where the base is given it
        return self._run.context

    @property
    def pid(self) -> int | None:
        return None

    def cancel(self, grace_s: float) -> None:
        """Cancel the coroutine, once; what it does then is its own matter. One that has not begun never will."""
        if not self._told:
            self._told = True
            if self.lane is not None:
                self.lane.cancel("the scheduler ended this step")

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

    # ---- from its lane ----------------------------------------------------------------------------------------------

    def begin(self, lane: asyncio.Task[None], now_s: float) -> Any:
        """Run up to the first wait. Returns what is waited for, or `_ENDED`."""
        self._started_at_s = now_s
        if self._told:
            self._was_cancelled = True
            return _ENDED
        self.lane = lane
        try:
            awaited = self._context.run(self._first_step)
        # Whatever user code raises is how its step ended.
        except BaseException as error:  # noqa: BLE001
            self._failed(error)
            awaited = _ENDED
        if awaited is _ENDED:
            self.lane = None
            if lane.cancelling() and self._failure is None:  # it was cancelled, and ended before it heard of that
                self._was_cancelled = True
        return awaited

    def _first_step(self) -> Any:
        CURRENT.set(self)
        kwargs = self._kwargs
        value = self._call(*self._args, **kwargs) if kwargs else self._call(*self._args)
        if not self._awaits:
            self._value = value
            return _ENDED
        if type(value) is not types.CoroutineType:
            if not inspect.isawaitable(value):
                self._value = value
                return _ENDED
            value = _waiting(value)
        try:
            awaited = value.send(None)
        except StopIteration as stop:
            self._value = stop.value
            return _ENDED
        self._coroutine = value
        return awaited

    @types.coroutine
    def go_on(self, awaited: Any) -> Generator[Any, Any, None]:
        """Run from the first wait to the end, in the run's own context; `awaited` is what `begin` returned."""
        enter, coroutine = self._context.run, self._coroutine
        while True:
            thrown: BaseException | None = None
            try:
                sent = yield awaited
            # It is for the coroutine; what the lane is told is told to its run.
            except BaseException as error:  # noqa: BLE001
                thrown = error
            try:
                awaited = enter(coroutine.send, sent) if thrown is None else enter(coroutine.throw, thrown)
            except StopIteration as stop:
                self._value = stop.value
                return
            # As in `begin`.
            except BaseException as error:
                if isinstance(thrown, GeneratorExit):
                    raise  # It is this generator that is closed.
                self._failed(error)
                return

    def report(self, now_s: float) -> None:
        """Tell the end; nothing runs here any more."""
        del self._context  # It holds this: with the result they would be garbage that only the collector finds.
        began_at_s, ran_s = self._started_at_s, now_s - self._started_at_s
        self._tell(StepResult(self._value, self._failure, self._was_cancelled, began_at_s, ran_s, None, "loop"))

    def _tell(self, result: StepResult) -> None:
        self._sink.done(result)

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._was_cancelled = True
            return
        if isinstance(error, SystemExit):
            # asyncio would end the whole loop for it.
            stopped = StepError(ErrorKind.UNKNOWN, f"the step called sys.exit({error.code!r})")
            stopped.__cause__ = error
            error = stopped
        self._failure = failure_of(error)
        if not isinstance(error, Exception):
            self.fatal = error


class Called(Protocol):
    """A call that is nobody's step: its run needs nothing but this."""

    @property
    def call(self) -> Callable[..., Any]: ...
    @property
    def args(self) -> tuple[Any, ...]: ...
    @property
    def priority(self) -> Priority: ...


C = TypeVar("C", bound=Called)
ToC = TypeVar("ToC", bound=Called, contravariant=True)


class CallSink(Protocol[ToC]):
    """Where calls report, one for all: either `succeeded` or `ended`, once for each and never within `begin_call`."""

    def succeeded(self, call: ToC, value: Any, began_at_s: float, now_s: float) -> None: ...
    def ended(self, call: ToC, result: StepResult) -> None: ...
    def heartbeat(self, call: ToC) -> None: ...
    def partial(self, call: ToC, value: Any) -> None: ...
    def context_data(self, call: ToC) -> StepContextData: ...


class CallRunning(LoopRunning, Generic[C]):
    """As `LoopRunning`, without a run and a sink of its own."""

    __slots__ = ("_called", "_to")

    def __init__(self, call: C, sink: CallSink[C]) -> None:
        self._call, self._args, self._kwargs = call.call, call.args, NOTHING
        self._called = call
        self._to = sink
        self._awaits = True
        self._context = contextvars.copy_context()
        self._told = self._urged = self._was_cancelled = False
        self._value = self._failure = self.lane = self.fatal = None

    @property
    def data(self) -> StepContextData:  # type: ignore[override]  # as there
        return self._to.context_data(self._called)

    def heartbeat(self) -> None:
        self._to.heartbeat(self._called)

    def report_partial(self, value: Any) -> None:
        self._to.partial(self._called, value)

    def report(self, now_s: float) -> None:
        if self._failure is not None or self._was_cancelled:
            super().report(now_s)
            return
        del self._context  # as there
        self._to.succeeded(self._called, self._value, self._started_at_s, now_s)

    def _tell(self, result: StepResult) -> None:
        self._to.ended(self._called, result)


async def _waiting(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


class LoopExecutor:
    """Runs SYNC and ASYNC steps. It has no slots to count: the quota of cores bounds what runs."""

    _loop: asyncio.AbstractEventLoop

    def __init__(self, *, awaits_everything: bool = False, slice_s: float = SLICE_S) -> None:
        """Begin nothing yet.

        Args:
            awaits_everything: Also what a step of another kind than ASYNC returns.
            slice_s: For so long a lane begins runs before it lets the loop turn.
        """
        self._slice_s = slice_s
        self.awaits_everything = awaits_everything
        self.running: set[LoopRunning] = set()
        self._ready: deque[LoopRunning] = deque()
        self._urgent: deque[LoopRunning] = deque()  # CRITICAL ones: each that begins before them may take a turn
        self._passed = 0  # so many of them have begun before what is ready
        self._lane: asyncio.Task[None] | None = None  # which begins what is ready; None: nothing is
        self._clock: Callable[[], float] | None = None

    async def start(self, report: WorkerReport) -> None:
        self._attach()

    async def close(self, grace_s: float) -> None:
        for run in tuple(self.running):
            run.cancel(grace_s)
        until_s = self._attach()() + grace_s
        while self.running:
            lanes = {run.lane for run in self.running if run.lane is not None}
            if self._lane is not None:
                lanes.add(self._lane)
            left_s = until_s - self._attach()()
            if not lanes or left_s <= 0:
                return
            await asyncio.wait(lanes, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)

    def capacity(self, role: Role) -> int:
        return _UNBOUNDED

    def begin(self, run: StepRun, sink: RunSink) -> LoopRunning:
        running = LoopRunning(run, sink, self.awaits_everything or run.kind is _ASYNC)
        self.running.add(running)
        (self._urgent if run.priority is Priority.CRITICAL else self._ready).append(running)
        if self._lane is None:
            self._attach()
            self._open_lane()
        return running

    def begin_call(self, call: C, sink: CallSink[C]) -> LoopRunning:
        """Begin what `begin` begins as an ASYNC step, at less expense."""
        running = CallRunning(call, sink)
        self.running.add(running)
        (self._urgent if call.priority is Priority.CRITICAL else self._ready).append(running)
        if self._lane is None:
            self._attach()
            self._open_lane()
        return running

    def workers(self) -> Sequence[WorkerView]:
        return ()

    # ---- lanes ------------------------------------------------------------------------------------------------------

    def _attach(self) -> Callable[[], float]:
        if self._clock is None:
            self._loop = asyncio.get_running_loop()
            self._clock = clock_of(self._loop)
        return self._clock

    def _open_lane(self) -> None:
        lane = self._lane = self._loop.create_task(self._serve(), name="steps on the loop")
        lane.add_done_callback(self._lane_ended)

    def _pass_on(self, lane: asyncio.Task[None]) -> None:
        """Let another lane begin what is ready, if that was the task of `lane`."""
        if self._lane is lane:
            self._lane = None
            if self._ready or self._urgent:
                self._open_lane()

    def _lane_ended(self, lane: asyncio.Task[None]) -> None:
        self._pass_on(lane)
        error = None if lane.cancelled() else lane.exception()
        if isinstance(error, Exception):  # of whoever is told of ends; an interrupt has gone through the loop by now
            self._loop.call_exception_handler({"message": "an end could not be told", "exception": error, "task": lane})

    def _most_urgent(self) -> LoopRunning:
        """Take a CRITICAL one, unless too many of them have passed one that is ready."""
        if self._ready and self._passed == _MOST_PASS:
            self._passed = 0
            return self._ready.popleft()
        self._passed = self._passed + 1 if self._ready else 0
        return self._urgent.popleft()

    async def _serve(self) -> None:
        """Begin what is ready, until one waits (it then has this lane for itself) or the loop should turn."""
        lane = asyncio.current_task()
        assert lane is not None
        clock = self._attach()
        ready, urgent = self._ready, self._urgent
        now_s = clock()
        until_s = now_s + self._slice_s
        references, cancelling = sys.getrefcount, lane.cancelling
        held = references(lane)
        while ready or urgent:
            running = self._most_urgent() if urgent else ready.popleft()
            awaited = running.begin(lane, now_s)
            waits = awaited is not _ENDED
            if waits:
                self._pass_on(lane)
                await running.go_on(awaited)
                running.lane = None
            self.running.discard(running)
            now_s = clock()
            running.report(now_s)
            if running.fatal is not None:
                raise running.fatal
            # Who kept the task, or cancelled it, meant the run that has ended; no other is to suffer for that.
            if waits or now_s >= until_s or cancelling() or references(lane) > held:
                break
        self._pass_on(lane)
