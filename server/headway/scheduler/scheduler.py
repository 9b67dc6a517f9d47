"""The public face: submit, cancel, pause, watch. Everything is called on the event loop, except `submit_threadsafe`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import dataclasses
import random
import time
import uuid
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from headway.scheduler.alerts import Alerts
from headway.scheduler.calls import job_of_call
from headway.scheduler.config import SchedulerConfig
from headway.scheduler.core import SchedulerCore
from headway.scheduler.engine import Engine
from headway.scheduler.errors import NotRetryableError, SchedulerClosedError, SubmissionError
from headway.scheduler.executors.base import NOTHING, ROLES, Executors, Machine
from headway.scheduler.handle import JobHandle
from headway.scheduler.here import own_executors, this_machine
from headway.scheduler.metrics import Metrics
from headway.scheduler.model import (
    NO_LIMITS,
    RETRY_BY_PRIORITY,
    Event,
    Job,
    JobOutcome,
    JobState,
    JobView,
    Priority,
    Requirement,
    RetryPolicy,
    Snapshot,
    TaskKind,
    TimeoutPolicy,
)
from headway.scheduler.observing import Observing
from headway.scheduler.records import JOB_ENDED
from headway.scheduler.stimuli import (
    Closing,
    JobCancelled,
    JobPaused,
    JobResumed,
    LevelsPaused,
    LevelsResumed,
    PrioritySet,
    Reconfigured,
    Submitted,
    TotalKnown,
)
from headway.scheduler.strategies import BACKGROUND, DEFAULT, Strategy
from headway.scheduler.trace import Trace
from headway.scheduler.views import job_view, snapshot
from headway.scheduler.watchdog import Watchdog

if TYPE_CHECKING:
    from headway.scheduler.durable import Factory
    from headway.scheduler.history import History

_COROUTINE: Final = TaskKind.COROUTINE


class Scheduler:
    """Runs jobs under limits, the most urgent first. Use it as `async with Scheduler() as scheduler`.

    Args:
        config: Behaviour; the defaults suit an editor on a laptop.
        executors: Where steps run; None: the loop, threads and supervised worker processes.
        machine: What there is and how pressed it is; None: this machine, sampled about once a second.
        strategy: Order and shares by priority.
        draw: Uniform samples in [0, 1), for the jitter of retries.
        history: Where finished jobs are kept and durable ones resumed from; started and closed with the scheduler.
        factories: Make durable jobs anew after a restart, by the name in `Job.durable`.
    """

    def __init__(
        self,
        config: SchedulerConfig = SchedulerConfig(),  # noqa: B008  # frozen
        *,
        executors: Executors | None = None,
        machine: Machine | None = None,
        strategy: Strategy = DEFAULT,
        draw: Callable[[], float] = random.random,
        history: History | None = None,
        factories: Mapping[str, Factory] = NOTHING,
    ) -> None:
        self.config = config
        self._machine = this_machine() if machine is None else machine
        totals = self._machine.totals()
        self._executors = own_executors(config, totals) if executors is None else executors
        self._core = SchedulerCore(
            config,
            totals=totals,
            slots=[
                *(self._executors.thread.capacity(role) for role in ROLES),
                *(self._executors.process.capacity(role) for role in ROLES),
            ],
            draw=draw,
            strategy=strategy,
            id_prefix=f"{uuid.uuid4().hex[:8]}-",
        )
        self._wall_offset_s = time.time() - time.monotonic()
        self._engine = Engine(self._core, self._executors)
        self._watchdog = Watchdog(config.stall_report_s, self._engine.emit)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False
        self._next_ticket = 0
        self.history = history
        self._observing = Observing(self._core, self._engine, history, factories, self.wall_ms, self.submit)

    # ---- life -------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start executors and sampling. Jobs can be submitted when this has returned.

        Raises:
            SchedulerClosedError: it was closed before; make a new one.
            OSError: no worker process can be started.
        """
        if self._closed:
            raise SchedulerClosedError
        if self._loop is not None:
            return
        loop = asyncio.get_running_loop()
        self._wall_offset_s = time.time() - loop.time()
        self._engine.attach(loop)
        for executor in (self._executors.loop, self._executors.thread, self._executors.process):
            await executor.start(self._engine.emit)
        await self._machine.start(self._engine.sampled)
        self._watchdog.start()
        self._loop = loop
        self._observing.start(self.config.watch)

    async def close(self, grace_s: float = 1.0) -> None:
        """Cancel all jobs, give them `grace_s` to end, and end all workers. Closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._loop is None:
            return
        self._observing.closing()
        self._engine.handle(Closing("the scheduler was closed"))
        await self._engine.drained(grace_s)
        self._watchdog.close()
        await self._machine.close()
        executors = (self._executors.process, self._executors.thread, self._executors.loop)
        await asyncio.gather(*(executor.close(grace_s) for executor in executors))
        await self._engine.close()
        await self._observing.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # ---- submitting -------------------------------------------------------------------------------------------------

    def submit(self, job: Job) -> JobHandle:
        """Take a job and return its handle; it may run from the next turn of the loop on.

        Raises:
            SubmissionError: it was refused (see the subclasses in `errors`); nothing was enqueued.
        """
        return self._submit_one(job, 1)

    def submit_many(self, jobs: Iterable[Job]) -> list[JobHandle]:
        """Take several jobs, or none of them; what is most urgent among them starts first.

        Raises:
            SubmissionError: one was refused; nothing was enqueued.
        """
        return self._submit(tuple(jobs), 1)

    def submit_threadsafe(self, job: Job) -> concurrent.futures.Future[JobOutcome]:
        """Submit from another thread. The future gives the outcome, or the SubmissionError.

        Cancelling the future gives the job up.

        Raises:
            SchedulerClosedError: the scheduler does not run.
        """
        loop = self._loop
        if loop is None or self._closed:
            raise SchedulerClosedError
        future: concurrent.futures.Future[JobOutcome] = concurrent.futures.Future()

        def hand_in() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                handle = self.submit(job)
            except SubmissionError as error:
                future.set_exception(error)
            else:
                handle.add_done_callback(future.set_result)

        loop.call_soon_threadsafe(hand_in)
        return future

    def run(
        self,
        call: Callable[..., Any],
        *args: Any,
        priority: Priority = Priority.NORMAL,
        name: str | None = None,
        kind: TaskKind = TaskKind.COROUTINE,
        requirement: Requirement | None = None,
        supersede_key: Hashable | None = None,
        share_key: Hashable | None = None,
        timeout: TimeoutPolicy = NO_LIMITS,
        retry: RetryPolicy = RETRY_BY_PRIORITY,
        deadline_at_s: float | None = None,
        affinity: Hashable | None = None,
        visible: bool = False,
    ) -> JobHandle:
        """Submit a job of one task that calls `call(*args)`; its `value()` is what that returns.

        `requirement` None: next to nothing for a coroutine, a core and 256 MiB for all else.

        Raises:
            SubmissionError: as `submit`.
        """
        plain = requirement is None and kind is _COROUTINE and timeout is NO_LIMITS and retry is RETRY_BY_PRIORITY
        keyless = supersede_key is None and share_key is None and deadline_at_s is None and affinity is None
        if plain and keyless and not visible and self._loop is not None and not self._closed:
            handle = self._engine.courier.run(call, args, name, priority)
            if handle is not None:
                return handle
        limits = (timeout, retry, deadline_at_s)
        keys = (affinity, supersede_key, share_key)
        job = job_of_call(call, args, name, priority, kind, requirement, *limits, *keys, visible)
        return self._submit_one(job, 1)

    def retry(self, job_id: str) -> JobHandle:
        """Submit a job that FAILED or was CANCELLED once more, whole and under a new id.

        Raises:
            NotRetryableError: it is unknown, ended well, still runs, or its tasks came from a source that is used up.
            SubmissionError: as `submit`.
        """
        record = self._core.book.find(job_id)
        if record is None:
            raise NotRetryableError(job_id, "it is unknown, or forgotten")
        if record.state not in JOB_ENDED:
            raise NotRetryableError(job_id, "it has not ended")
        if record.state is JobState.COMPLETED:
            raise NotRetryableError(job_id, "it ended well")
        if record.results is not None:
            raise NotRetryableError(job_id, "its tasks came from a source that is used up")
        job = dataclasses.replace(record.job, job_id=None)
        return self._submit_one(job, record.attempt + 1)

    def _submit_one(self, job: Job, attempt: int) -> JobHandle:
        if self._loop is None or self._closed or self.history is not None:
            return self._submit((job,), attempt)[0]
        ticket = self._next_ticket
        self._next_ticket = ticket + 1
        engine = self._engine
        handle = engine.waiters[ticket] = JobHandle(engine, ticket)
        try:
            engine.submit_one(job, ticket, attempt, handle)
        except BaseException:
            engine.waiters.pop(ticket, None)
            raise
        return handle

    def _submit(self, jobs: tuple[Job, ...], attempt: int) -> list[JobHandle]:
        if self._loop is None or self._closed:
            raise SchedulerClosedError
        engine = self._engine
        self._observing.check(jobs)
        first = self._next_ticket
        self._next_ticket = end = first + len(jobs)
        handles: list[JobHandle] = []
        for ticket in range(first, end):
            handle = engine.waiters[ticket] = JobHandle(engine, ticket)
            handles.append(handle)
        try:
            engine.submit(Submitted(jobs, tuple(range(first, end)), attempt), handles)
        except BaseException:  # whatever refused them: nobody waits for an end that cannot come
            for ticket in range(first, end):
                engine.waiters.pop(ticket, None)
            raise
        self._observing.submitted(jobs, handles)
        return handles

    # ---- steering ---------------------------------------------------------------------------------------------------

    def cancel(self, job_id: str, reason: str = "cancelled") -> bool:
        """End a job for all who wait for it. False: it has ended, is being ended, or is unknown."""
        record = self._core.book.in_flight(job_id)
        if record is None or record.cancel_reason is not None:
            return False
        self._engine.handle(JobCancelled(job_id, reason))
        return True

    def set_priority(self, job_id: str, priority: Priority) -> bool:
        """Move what is queued of a job; it keeps its place by age. What runs goes on. False: ended or unknown."""
        if self._core.book.in_flight(job_id) is None:
            return False
        self._engine.handle(PrioritySet(job_id, priority))
        return True

    def expect(self, job_id: str, total: float) -> None:
        """Say how much a lazily fed job will be in all, by the weights of its tasks, once its source knows."""
        self._engine.handle(TotalKnown(job_id, total))

    def pause(self, priorities: Collection[Priority] = BACKGROUND, reason: str = "user") -> tuple[Priority, ...]:
        """Start nothing more of these priorities, from the next step boundary on. Returns all that are paused now.

        Raises:
            ValueError: CRITICAL is among them; it cannot be paused.
        """
        if Priority.CRITICAL in priorities:
            raise ValueError("CRITICAL work cannot be paused")
        self._engine.handle(LevelsPaused(tuple(priorities), reason))
        return self._core.paused

    def resume(self, priorities: Collection[Priority] = BACKGROUND) -> tuple[Priority, ...]:
        """Let these priorities run again, and their jobs that paused at a failure. Returns what is still paused."""
        self._engine.handle(LevelsResumed(tuple(priorities)))
        return self._core.paused

    def pause_job(self, job_id: str) -> bool:
        """Start nothing more of a job, from the next step boundary on. False: it has ended, is paused, or unknown."""
        record = self._core.book.in_flight(job_id)
        if record is None or record.state is JobState.PAUSED or record.cancel_reason is not None:
            return False
        self._engine.handle(JobPaused(job_id))
        return True

    def resume_job(self, job_id: str) -> bool:
        """Let a paused job run on. False: it is not paused."""
        record = self._core.book.in_flight(job_id)
        if record is None or record.state is not JobState.PAUSED:
            return False
        self._engine.handle(JobResumed(job_id))
        return True

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold from now on: totals, marks, shares, waits, retries. What runs goes on.

        A task that asks for more than there is from now on fails. `watch`, `stall_report_s` and
        `spares_after_s` count at the start only.
        """
        self.config = config
        self._engine.handle(Reconfigured(config))

    # ---- looking ----------------------------------------------------------------------------------------------------

    def job(self, job_id: str, limit: int = 200) -> JobView | None:
        """Return a job in flight, or one of the newest visible ones that ended; None: unknown."""
        record = self._core.book.find(job_id)
        return None if record is None else job_view(record, limit, self._engine.now_s())

    def recent_jobs(self, limit: int = 50) -> list[JobView]:
        """Return visible jobs, newest first."""
        now_s = self._engine.now_s()
        return [job_view(record, 200, now_s) for record in self._core.book.recent(limit)]

    def snapshot(self) -> Snapshot:
        """Return the scheduler as it stands; cheap, also with a hundred thousand tasks waiting."""
        return snapshot(self._core, self._executors.process.workers(), self._engine.now_s())

    def subscribe(self, callback: Callable[[Event], None]) -> Callable[[], None]:
        """Call back with each event from now on, on the loop and in order. Returns what ends that."""
        return self._engine.subscribe(callback)

    def record(self, write: Callable[[str], object]) -> Callable[[], None]:
        """Write down what work comes and what it costs, for the simulator (see `recorder`). Returns what ends that."""
        from headway.scheduler.recorder import Recorder  # most never record

        return self._engine.subscribe(Recorder(self._core, write, self._engine.now_s()).observe)

    def wall_ms(self, at_s: float) -> float:
        """Return an instant of the monotonic clock as Unix milliseconds; changes of the wall clock do nothing to it."""
        return (at_s + self._wall_offset_s) * 1000

    @property
    def metrics(self) -> Metrics:
        return self._observing.watch().metrics

    @property
    def trace(self) -> Trace:
        return self._observing.watch().trace

    @property
    def alerts(self) -> Alerts:
        return self._observing.watch().alerts
