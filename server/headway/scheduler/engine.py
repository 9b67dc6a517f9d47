"""The asyncio shell around the core: inputs from executors, sources and timers in; commands out to them.

Time alone wakes it by one `call_later` for the core's next appointment; nothing is polled. All of this runs on the
event loop. Exceptions of callbacks, sources and fallbacks are caught here, and named, so that they end nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar, assert_never

from headway.scheduler.core import SchedulerCore
from headway.scheduler.courier import Courier, Tallying
from headway.scheduler.errand import Errand
from headway.scheduler.executors.base import Executors, MachineReport, Running, StepResult, StepRun
from headway.scheduler.executors.failures import failure_of
from headway.scheduler.executors.loop import clock_of
from headway.scheduler.feeders import Feeders
from headway.scheduler.foreign import name_of
from headway.scheduler.handle import JobHandle
from headway.scheduler.model import Event, Failure, Job, JobOutcome
from headway.scheduler.stimuli import (
    AbandonRun,
    CallFallback,
    CancelRun,
    Command,
    FallbackGiven,
    Feed,
    HeartbeatSeen,
    Input,
    MachineSampled,
    PartialReported,
    PreemptRun,
    Resolve,
    StopFeeding,
    Submitted,
    TimePassed,
)

_log = logging.getLogger(__name__)

# A timer that is so late was kept from firing by nothing of ours: the process was stopped, or the machine slept.
_STOOD_STILL_S = 1.0
_HEAR_FIRST_S = 0.05

T = TypeVar("T")
Subscriber = Callable[[Event], None]


class _Sink:
    """Where one run reports; `done` counts once."""

    __slots__ = ("_engine", "_run_id")

    def __init__(self, engine: Engine, run_id: int) -> None:
        self._engine = engine
        self._run_id = run_id

    def done(self, result: StepResult) -> None:
        engine = self._engine
        if engine.running.pop(self._run_id, None) is not None:
            engine.step_ended(self._run_id, result)

    def heartbeat(self) -> None:
        self._engine.handle(HeartbeatSeen(self._run_id))

    def partial(self, value: Any) -> None:
        self._engine.handle(PartialReported(self._run_id, value))


class Engine:
    """Carries out what the core decides.

    Args:
        core: Decides.
        executors: Run steps.
    """

    _loop: asyncio.AbstractEventLoop

    def __init__(self, core: SchedulerCore, executors: Executors) -> None:
        self.waiters: dict[int, JobHandle] = {}  # by ticket
        self._core = core
        self._executors = executors
        self.clock = time.monotonic
        self.running: dict[int, Running] = {}
        self._feeders = Feeders(self.handle, self._start_task)
        self._subscribers: list[Subscriber] = []
        self._folds: Mapping[type[Event], Subscriber] = {}
        self._later: deque[Command] = deque()
        self._applying = False
        self.timers = core.timers
        self.errands = core.errands
        self.courier = Courier(self, core, executors)
        self._timer: asyncio.TimerHandle | None = None
        self.armed_at_s = math.inf
        self._due_at_s = math.inf
        self._sampled_at_s = (-math.inf, -math.inf)  # the last two times that the machine was measured
        self._drained: asyncio.Future[None] | None = None

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Live on a loop, by its clock, from now on."""
        self._loop = loop
        self.clock = clock_of(loop)

    def now_s(self) -> float:
        """Return the instant by the loop's clock, or before `attach` by the one that loops usually have."""
        return self.clock()

    def call_later(self, delay_s: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_later(delay_s, call)

    def _start_task(self, coroutine: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        return self._loop.create_task(coroutine, name=name)

    def new_future(self) -> asyncio.Future[None]:
        return self._loop.create_future()

    # ---- in ---------------------------------------------------------------------------------------------------------

    def handle(self, event: Input) -> None:
        """Tell the core, and do what it says.

        Raises:
            SubmissionError: the core refused; nothing has changed.
        """
        commands = self._core.handle(event, self.clock())
        if commands:
            self.apply(commands)
        self.look_at_time()

    def step_ended(self, run_id: int, result: StepResult) -> None:
        """Tell the core that a run has ended, as `handle` does."""
        commands = self._core.step_ended(run_id, result, self.clock())
        if commands:
            self.apply(commands)
        self.look_at_time()

    def sampled(self, report: MachineReport) -> None:
        """Tell the core how the machine is; comes about once a second, and is a sign of life."""
        self._sampled_at_s = (self._sampled_at_s[1], self.clock())
        self.handle(MachineSampled(report))

    def submit(self, event: Submitted, waiters: Sequence[JobHandle]) -> None:
        """Hand jobs in; each waiter learns its job before anything else happens.

        Raises:
            SubmissionError: the core refused; nothing has changed.
        """
        commands = self._core.handle(event, self.clock())
        for waiter, record in zip(waiters, self._core.jobs.submitted, strict=True):
            waiter.of = record
        if commands:
            self.apply(commands)
        self.look_at_time()

    def submit_one(self, job: Job, ticket: int, attempt: int, waiter: JobHandle) -> None:
        """Hand one job in, as `submit` does several; raises the same."""
        commands = self._core.submit_one(job, ticket, attempt, self.clock())
        waiter.of = self._core.jobs.submitted[0]
        if commands:
            self.apply(commands)
        self.look_at_time()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call `subscriber` with each event from now on; return what ends that."""
        self._subscribers = [*self._subscribers, subscriber]
        self._core.observe(True)

        def unsubscribe() -> None:
            self._subscribers = [found for found in self._subscribers if found is not subscriber]
            self._core.observe(bool(self._subscribers or self._folds), errands=not self._subscribers)

        return unsubscribe

    def measure(self, folds: Mapping[type[Event], Subscriber], tally: Tallying) -> None:
        """Call what stands by the kind of an event with it from now on, before any subscriber; once only.

        `tally` is told of errands, which have no events unless somebody subscribes.
        """
        self._folds = folds
        self.courier.tally = tally
        self._core.observe(True, errands=not self._subscribers)

    def emit(self, event: Event) -> None:
        """Tell whoever measures, and all subscribers, of an event."""
        fold = self._folds.get(type(event))
        for subscriber in self._subscribers if fold is None else (fold, *self._subscribers):
            try:
                subscriber(event)
            # A subscriber is foreign code; one that breaks must not keep others from hearing, nor stop the work.
            except Exception:
                _log.exception("subscriber %s failed at %s", name_of(subscriber), type(event).__name__)

    async def close(self) -> None:
        """End the timer and the sources. The core must have been told `Closing`, and executors be closed, before."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self._feeders.close()

    # ---- out --------------------------------------------------------------------------------------------------------

    def apply(self, commands: list[Command]) -> None:
        """Do what the core asked for, in order, also where one command leads to the next input."""
        if self._applying:
            self._later.extend(commands)
            return
        self._applying = True
        try:
            for command in commands:
                if isinstance(command, StepRun):
                    self._begin(command)
                elif isinstance(command, Resolve):
                    self._resolve(command)
                elif isinstance(command, Errand):
                    self.courier.begin(command)
                elif not isinstance(command, Event):
                    self._do(command)
                elif self._subscribers:
                    self.emit(command)
                elif (fold := self._folds.get(type(command))) is not None:
                    try:  # several of these come with each task
                        fold(command)
                    except Exception:  # as in `emit`
                        _log.exception("the fold of %s failed", type(command).__name__)
                # What this one led to comes before the next: its events are older.
                while self._later:
                    self._do(self._later.popleft())
        finally:
            self._applying = False

    def _do(self, command: Command) -> None:
        match command:
            case StepRun():
                self._begin(command)
            case Errand():
                self.courier.begin(command)
            case Resolve():
                self._resolve(command)
            case Event():
                self.emit(command)
            case CancelRun():
                running = self.running.get(command.run_id)
                if running is not None:
                    running.cancel(command.grace_s)
            case PreemptRun():
                running = self.running.get(command.run_id)
                if running is not None:
                    running.preempt()
            case AbandonRun():
                _log.warning("%s ignores its cancellation; it is left running and counts as stuck", command.name)
            case Feed():
                self._feeders.feed(command)
            case StopFeeding():
                self._feeders.stop(command.job_id)
            case CallFallback():
                self._call_fallback(command)
            case _:
                assert_never(command)

    def _begin(self, run: StepRun) -> None:
        run_id = run.run_id
        try:
            self.running[run_id] = self._executors.of(run.kind).begin(run, _Sink(self, run_id))
        # Whatever keeps a run from being begun ends that run: its room must not leak.
        except Exception as error:
            _log.exception("%s could not be started", run.name)
            now_s = self._loop.time()
            self.step_ended(run_id, StepResult(error=failure_of(error), started_at_s=now_s))

    def _resolve(self, command: Resolve) -> None:
        self._feeders.forget(command.outcome.job_id)
        for ticket in command.tickets:
            waiter = self.waiters.pop(ticket, None)
            if waiter is not None:
                waiter.resolve(command.outcome)
        if self._drained is not None and self._core.idle and not self._drained.done():
            self._drained.set_result(None)

    async def drained(self, grace_s: float) -> None:
        """Wait until no job is in flight, at most `grace_s`."""
        if not self._core.idle:
            self._drained = self._loop.create_future()
            await asyncio.wait((self._drained,), timeout=grace_s)

    def call_soon(self, callback: Callable[[JobOutcome], None], outcome: JobOutcome) -> None:
        """Call what was registered for a job's end in the next turn of the loop."""
        self._loop.call_soon(self._call_back, callback, outcome)

    def _call_back(self, callback: Callable[[JobOutcome], None], outcome: JobOutcome) -> None:
        try:
            callback(outcome)
        # As with subscribers: foreign code, and the job has ended whatever it does.
        except Exception:
            _log.exception("callback %s failed at the end of job %s", name_of(callback), outcome.job_id)

    def call(self, call: Callable[[], T], what: str) -> T | None:
        """Call foreign code that makes something; None where it fails, which is logged as the failure of `what`."""
        try:
            return call()
        # Foreign code again: what it was to make is missing, and nothing else.
        except Exception:
            _log.exception("%s failed", what)
            return None

    def _call_fallback(self, command: CallFallback) -> None:
        value: Any = None
        failure: Failure | None = None
        try:
            value = command.call()
        # The fallback is user code; its failure is the task's.
        except Exception as error:
            failure = failure_of(error)
        self.handle(FallbackGiven(command.task_key, value, failure))

    # ---- time -------------------------------------------------------------------------------------------------------

    def look_at_time(self) -> None:
        """Set the timer anew where the core has an earlier appointment."""
        if self.timers.soonest_s < self.armed_at_s:
            self._set_timer()

    def _set_timer(self) -> None:
        """Let the loop wake the core at its next appointment; one that is voided later fires for nothing, once."""
        at_s = self._core.next_wake_at_s()
        if at_s is None or at_s >= self.armed_at_s:
            return
        if self._timer is not None:
            self._timer.cancel()
        self.armed_at_s = at_s
        self._due_at_s = max(at_s, self._core.told_at_s)
        self._timer = self._loop.call_at(at_s, self._time_passed)

    def _time_passed(self) -> None:
        now_s, due_s = self.clock(), self._due_at_s
        if now_s - due_s < _STOOD_STILL_S:
            self._wake(0.0)
            return
        # Whatever was later than the appointment has come since we go on.
        alive_s = max((at for at in (self._core.told_at_s, *self._sampled_at_s) if at <= due_s), default=due_s)
        stood_still_s = now_s - alive_s
        _log.info("the process stood still, for up to %.0f s; nothing is ended for that", stood_still_s)
        # What came in meanwhile counts first: to a loop that is woken by SIGCONT, timers come before input. Until then
        # no timer is set.
        self.armed_at_s = -math.inf
        self._timer = self._loop.call_later(_HEAR_FIRST_S, self._wake, stood_still_s)

    def _wake(self, stood_still_s: float) -> None:
        self._timer = None
        self.armed_at_s = math.inf
        self.handle(TimePassed(stood_still_s))
        self._set_timer()
