"""Runs steps that block on I/O in threads of our own. Nothing that computes belongs here: it would take the loop's GIL.

A thread cannot be ended. A step that is cancelled is told; its slot stays taken, and `done` waits, until it returns.
The threads are daemons, so that a stuck one never holds up the exit of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headway.scheduler.context import CURRENT, StepContext
from headway.scheduler.executors.base import Role, Running, RunSink, StepResult, StepRun, WorkerReport
from headway.scheduler.executors.failures import failure_of
from headway.scheduler.model import WorkerView

_log = logging.getLogger(__name__)

SIZES: Mapping[Role, int] = {"critical": 4, "standard": 8, "background": 4}
_IDLE_S = 30.0  # then an unused thread ends


class ThreadRun:
    """A step in a thread, until it has returned. Implements `base.Running`."""

    def __init__(self, run: StepRun, sink: RunSink, tell_loop: Callable[..., None]) -> None:
        self.run = run
        self._sink = sink
        self._tell_loop = tell_loop
        self._ended = False
        self.cancelled = False
        self.preempted = False

    @property
    def pid(self) -> int | None:
        return None  # Ours: nobody should think that it can be killed.

    def cancel(self, grace_s: float) -> None:
        self.cancelled = True

    def preempt(self) -> None:
        self.preempted = True

    def work(self, slot: str) -> StepResult:
        """Run the step; called in the thread."""
        context = StepContext(
            self.run.context,
            cancelled=lambda: self.cancelled,
            heartbeat=lambda: self._tell_loop(self._heartbeat),
            report_partial=lambda value: self._tell_loop(self._partial, value),
            preempted=lambda: self.preempted,
        )
        started_at_s, cpu_s = time.monotonic(), time.thread_time()
        value, error = None, None
        token = CURRENT.set(context)
        try:
            value = self.run.call(*self.run.args, **self.run.kwargs)
        # User code may raise anything, SystemExit included; all of it is an answer.
        except BaseException as raised:  # noqa: BLE001
            error = failure_of(raised)
        finally:
            CURRENT.reset(token)
        return StepResult(
            value=None if self.cancelled else value,
            error=None if self.cancelled else error,
            cancelled=self.cancelled,
            started_at_s=started_at_s,
            ran_s=time.monotonic() - started_at_s,
            cpu_s=time.thread_time() - cpu_s,
            slot=slot,
        )

    def finish(self, result: StepResult) -> None:
        """Report the end; to be called once."""
        self._ended = True
        self._sink.done(result)

    def _heartbeat(self) -> None:
        if not self._ended:
            self._sink.heartbeat()

    def _partial(self, value: Any) -> None:
        if not self._ended:
            self._sink.partial(value)


class _Lane:
    """A thread that runs one step after the other."""

    def __init__(self, name: str, on_free: Callable[[_Lane, ThreadRun, StepResult], None]) -> None:
        self.name = name
        self._runs: queue.SimpleQueue[ThreadRun | None] = queue.SimpleQueue()
        self._on_free = on_free
        threading.Thread(target=self._serve, name=f"headway-{name}", daemon=True).start()

    def give(self, run: ThreadRun | None) -> None:
        """Hand over a step, or None to end the thread."""
        self._runs.put(run)

    def _serve(self) -> None:
        while (run := self._runs.get()) is not None:
            self._on_free(self, run, run.work(self.name))
            del run  # What the step held is not kept until the next one comes.


class ThreadExecutor:
    """Implements `base.Executor` for StepKind.THREAD. Threads are started on demand and reused, last in first out."""

    def __init__(self, sizes: Mapping[Role, int] = SIZES, *, idle_s: float = _IDLE_S) -> None:
        """Start nothing yet.

        Args:
            sizes: How many steps of each role may run at once.
            idle_s: A thread that was not needed for so long ends.
        """
        self._sizes = dict(sizes)
        self._idle_s = idle_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[_Lane] = []
        self._busy: dict[ThreadRun, _Lane] = {}
        self._numbers = itertools.count(1)
        self._retire: asyncio.TimerHandle | None = None
        self._all_free = asyncio.Event()
        self._least_idle = 0

    async def start(self, report: WorkerReport) -> None:
        self._loop = asyncio.get_running_loop()

    async def close(self, grace_s: float) -> None:
        """Tell all steps; wait for them for `grace_s`, then answer for those that are stuck and leave their threads."""
        if self._retire is not None:
            self._retire.cancel()
        for run in self._busy:
            run.cancel(grace_s)
        if self._busy:
            self._all_free.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await self._all_free.wait()
        for run, lane in list(self._busy.items()):
            _log.warning("step %r is stuck in thread %s; it is left behind", run.run.name, lane.name)
            lane.give(None)  # For when it returns after all.
            run.finish(StepResult(cancelled=True, slot=lane.name))
        self._busy.clear()
        for lane in self._idle:
            lane.give(None)
        self._idle.clear()

    def capacity(self, role: Role) -> int:
        return self._sizes[role]

    def begin(self, run: StepRun, sink: RunSink) -> Running:
        if self._loop is None:
            raise RuntimeError("the thread executor was not started")
        running = ThreadRun(run, sink, self._tell_loop)
        lane = self._idle.pop() if self._idle else _Lane(f"thread-{next(self._numbers)}", self._freed_in_thread)
        self._least_idle = min(self._least_idle, len(self._idle))
        self._busy[running] = lane
        lane.give(running)
        return running

    def workers(self) -> Sequence[WorkerView]:
        return ()

    def _freed_in_thread(self, lane: _Lane, run: ThreadRun, result: StepResult) -> None:
        self._tell_loop(self._freed, lane, run, result)

    def _tell_loop(self, call: Callable[..., None], *args: Any) -> None:
        assert self._loop is not None, "a step was begun before the start"
        with contextlib.suppress(RuntimeError):  # The loop was closed; a stuck step has come back too late.
            self._loop.call_soon_threadsafe(call, *args)

    def _freed(self, lane: _Lane, run: ThreadRun, result: StepResult) -> None:
        if self._busy.pop(run, None) is None:
            return  # Answered for at the close.
        self._idle.append(lane)
        if not self._busy:
            self._all_free.set()
        self._retire_later()
        run.finish(result)

    def _retire_later(self) -> None:
        if self._retire is None and self._loop is not None:
            self._least_idle = len(self._idle)
            self._retire = self._loop.call_later(self._idle_s, self._retire_idle)

    def _retire_idle(self) -> None:
        """End as many threads as were never needed in the last while."""
        self._retire = None
        for lane in self._idle[: self._least_idle]:
            lane.give(None)
        del self._idle[: self._least_idle]
        if self._idle:
            self._retire_later()
