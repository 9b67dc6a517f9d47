"""Drives the core through requests in virtual time and notes what became of every task.

The machine: a step runs on exactly the cores that it was given; with those that its task asked for it takes as long as
its `Fate` says. The quotas of the core are all that keeps the machine from being over-committed, which is checked. A
step that is told to stop does so within a millisecond, as a killed worker would. What the operating system adds (idle
priority of background workers) is left out.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from headway.scheduler.alerts import AlertChanged, AlertLevel
from headway.scheduler.core import SchedulerCore
from headway.scheduler.errors import QueueFullError
from headway.scheduler.executors.base import StepResult, StepRun, Totals
from headway.scheduler.executors.process import ProcessSettings
from headway.scheduler.measures import Usage
from headway.scheduler.metrics import Metrics
from headway.scheduler.model import (
    ErrorKind,
    Event,
    Failure,
    Job,
    Priority,
    TaskEnded,
    TaskQueued,
    TaskState,
)
from headway.scheduler.simulator.crossings import Crossings
from headway.scheduler.simulator.policies import Policy
from headway.scheduler.simulator.work import Fate, Fed, Request
from headway.scheduler.stimuli import (
    CancelRun,
    Command,
    Feed,
    Input,
    JobCancelled,
    StepEnded,
    Submitted,
    TasksFed,
    TimePassed,
)
from headway.scheduler.views import admitted_cores
from headway.scheduler.watch import Watch

STOPS_WITHIN_S = 0.001
THREADS = 16
SHARE_WINDOW_S = 10.0


class OverCommittedError(Exception):
    """The steps that run hold more cores than the machine has: a fault of the core."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A task that ended: its class, times, and how."""

    priority: Priority
    state: TaskState
    kind: ErrorKind | None  # of its failure
    waited_s: float
    response_s: float


@dataclass(slots=True)
class Result:
    """What a policy made of the requests. Instants are seconds of virtual time."""

    ended: list[Ended] = field(default_factory=list)
    alerts: list[AlertChanged] = field(default_factory=list)
    batch_shares: list[float] = field(default_factory=list)  # of one core, in each window in which BATCH always waited
    refused: Counter[Priority] = field(default_factory=Counter)  # jobs for which the queue had no room
    alerted: float | None = None  # of the times that a level was too deep, how many were said in time
    lasted_s: float = 0.0
    metrics: Metrics | None = None
    commands: int = 0


@dataclass(slots=True)
class _Running:
    """A step that runs."""

    run: StepRun
    started_at_s: float
    cores: float
    ends: Callable[[], None]
    stopped: bool = False


class _Call:
    __slots__ = ("cancelled", "function")

    def __init__(self, function: Callable[[], None]) -> None:
        self.function = function
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Simulation:
    """One policy, one machine, one list of requests."""

    def __init__(self, policy: Policy, cores: float, requests: Iterable[Request], *, seed: int = 0) -> None:
        self._now_s = 0.0
        self._cores = cores
        memory_mb = max(8.0, 4.0 * cores) * 1024
        workers = ProcessSettings.for_machine(cores, memory_mb)
        self._core = SchedulerCore(
            policy.config,
            totals=Totals(cpu_cores=cores, memory_mb=memory_mb),
            slots=(THREADS,) * 3 + tuple(p.size for p in (workers.critical, workers.standard, workers.background)),
            draw=random.Random(seed).random,
            strategy=policy.strategy,
        )
        self._core.observe(True)
        self._calendar: list[tuple[float, int, _Call]] = []
        self._order = itertools.count()
        self._tickets = itertools.count(1)
        self._running: dict[int, _Running] = {}
        self._attempts: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._fed: dict[str, Fed] = {}
        self._arrived: dict[str, tuple[float, Priority]] = {}
        self._wake_s: float | None = None
        self._used = 0.0
        self.result = Result()
        self._share = BatchShare()
        self._crossings = Crossings()
        self._watch = Watch(
            clock=lambda: self._now_s,
            call_later=self._call_later,
            depths=lambda: (self._core.flow.queued, self._core.flow.running),
            usage=self._usage,
            emit=self._alerted,
        )
        self.result.metrics = self._watch.metrics
        for found in requests:
            self._call_at(found.at_s, self._submitting(found))

    def run(self, until_s: float | None = None) -> Result:
        """Let everything happen, up to an instant or to the last end; return what became of it."""
        while self._calendar:
            at_s, _, call = heapq.heappop(self._calendar)
            if call.cancelled:
                continue
            if until_s is not None and at_s > until_s:
                break
            self._now_s = max(self._now_s, at_s)
            call.function()
        self.result.lasted_s = self._now_s
        self.result.batch_shares = self._share.windows(self._now_s)
        self.result.alerted = self._crossings.share(self._now_s)
        return self.result

    # ---- the calendar

    def _call_at(self, at_s: float, function: Callable[[], None]) -> _Call:
        call = _Call(function)
        heapq.heappush(self._calendar, (at_s, next(self._order), call))
        return call

    def _call_later(self, delay_s: float, function: Callable[[], None]) -> _Call:
        return self._call_at(self._now_s + delay_s, function)

    def _submitting(self, found: Request) -> Callable[[], None]:
        def submit() -> None:
            job = found.make()
            if isinstance(job.tasks, Fed) or found.cancel_after_s is not None:
                job_id = f"known-{next(self._order)}"
                job = _with_id(job, job_id)
                if isinstance(job.tasks, Fed):
                    self._fed[job_id] = job.tasks
                if found.cancel_after_s is not None:
                    self._call_later(
                        found.cancel_after_s, lambda: self._tell(JobCancelled(job_id, "nobody wants it any more"))
                    )
            try:
                self._tell(Submitted((job,), (next(self._tickets),)))
            except QueueFullError:
                self.result.refused[found.priority] += 1

        return submit

    # ---- the core

    def _tell(self, event: Input) -> None:
        commands = self._core.handle(event, self._now_s)
        self.result.commands += len(commands)
        for command in commands:
            self._obey(command)
        self._share.note(self._core.admission.waiting[Priority.BATCH] > 0, self._now_s)
        self._crossings.note(self._core.flow.queued, self._now_s)
        wake_s = self._core.next_wake_at_s()
        if wake_s is not None and (self._wake_s is None or wake_s < self._wake_s):
            self._wake_s = wake_s
            self._call_at(wake_s, self._wake)

    def _wake(self) -> None:
        if self._wake_s is not None and self._now_s >= self._wake_s:
            self._wake_s = None
            self._tell(TimePassed())

    def _obey(self, command: Command) -> None:
        match command:
            case StepRun():
                self._begin(command)
            case CancelRun(run_id, _):
                self._cancel(run_id)
            case Feed(job_id, count):
                tasks, last = self._fed[job_id].take(count)
                self._call_later(0.0, lambda: self._tell(TasksFed(job_id, tuple(tasks), last)))
            case Event():
                self._observe(command)
            case _:
                return  # nobody waits for outcomes here, and steps have no code that could be told to hurry

    def _begin(self, run: StepRun) -> None:
        fate: Fate = run.args[0]
        step = (run.context.task_id, run.name)
        self._attempts[step] += 1
        held = self._core.flow.runs[run.run_id]
        cores, asked = held.grant.cpu_cores if held.grant is not None else 0.0, held.record.shape.cpu_cores
        self._used += cores
        if self._used > self._cores + 1e-9:
            raise OverCommittedError(f"{self._used:g} of {self._cores:g} cores at {self._now_s:g} s")
        error = Failure(kind=fate.kind, message="simulated") if self._attempts[step] <= fate.fails else None
        started_at_s = self._now_s

        def ends() -> None:
            self._end(run.run_id, StepResult(error=error, started_at_s=started_at_s, ran_s=self._now_s - started_at_s))

        # Who got fewer cores than asked for takes as much longer.
        call = self._call_later(fate.runs_s * (asked / cores if cores else 1.0), ends)
        self._running[run.run_id] = _Running(run, started_at_s, cores, call.cancel)

    def _cancel(self, run_id: int) -> None:
        running = self._running.get(run_id)
        if running is None or running.stopped:
            return
        running.stopped = True
        running.ends()

        def stops() -> None:
            ran_s = self._now_s - running.started_at_s
            self._end(run_id, StepResult(cancelled=True, started_at_s=running.started_at_s, ran_s=ran_s))

        self._call_later(STOPS_WITHIN_S, stops)

    def _end(self, run_id: int, result: StepResult) -> None:
        running = self._running.pop(run_id)
        self._used -= running.cores
        if running.run.priority is Priority.BATCH:
            self._share.ran(running.started_at_s, self._now_s, running.cores)
        self._tell(StepEnded(run_id, result))

    # ---- what became of it

    def _observe(self, event: Event) -> None:
        self._watch.observe(event)
        if isinstance(event, TaskQueued):
            self._arrived.setdefault(event.task_id, (event.at_s, event.priority))
        elif isinstance(event, TaskEnded):
            arrived_s, priority = self._arrived.pop(event.task_id, (event.at_s, event.priority))
            outcome = event.outcome
            self.result.ended.append(
                Ended(
                    priority,
                    outcome.state,
                    None if outcome.error is None else outcome.error.kind,
                    outcome.waited_s,
                    event.at_s - arrived_s,
                )
            )

    def _alerted(self, event: AlertChanged) -> None:
        self.result.alerts.append(event)
        alert = event.alert
        if alert.metric == "queue.depth":
            priority = Priority[alert.labels["priority"]]
            if alert.level is AlertLevel.WARNING:
                self._crossings.raised(priority, event.at_s)
            elif alert.level is AlertLevel.RESOLVED:
                self._crossings.resolved(priority)

    def _usage(self) -> Usage:
        return Usage(
            cpu=self._used / self._cores,
            foreign_cpu=0.0,
            cores_used=self._used,
            cores_admitted=admitted_cores(self._core),
        )


class BatchShare:
    """How much of a core BATCH work got in each stretch of ten seconds in which some of it always waited."""

    def __init__(self) -> None:
        self._waits_since_s: float | None = None
        self._backlogs: list[tuple[float, float]] = []
        self._runs: list[tuple[float, float, float]] = []  # (start, end, cores), by end

    def note(self, waits: bool, now_s: float) -> None:
        """Say whether BATCH work waits from now on."""
        if waits and self._waits_since_s is None:
            self._waits_since_s = now_s
        elif not waits and self._waits_since_s is not None:
            self._backlogs.append((self._waits_since_s, now_s))
            self._waits_since_s = None

    def ran(self, started_at_s: float, ended_at_s: float, cores: float) -> None:
        """Say that a BATCH step held cores."""
        self._runs.append((started_at_s, ended_at_s, cores))

    def windows(self, now_s: float) -> list[float]:
        """Return the share of one core for each whole window of a backlog, in order of time."""
        self.note(False, now_s)
        shares: list[float] = []
        runs = sorted(self._runs)
        first = 0
        for began_s, ended_s in self._backlogs:
            for number in range(int((ended_s - began_s) / SHARE_WINDOW_S)):
                start_s = began_s + number * SHARE_WINDOW_S
                end_s = start_s + SHARE_WINDOW_S
                # A step is never longer than a window, so what began two windows ago is over.
                while first < len(runs) and runs[first][0] < start_s - 2 * SHARE_WINDOW_S:
                    first += 1
                got = 0.0
                for run_start_s, run_end_s, cores in runs[first:]:
                    if run_start_s >= end_s:
                        break
                    got += cores * max(0.0, min(run_end_s, end_s) - max(run_start_s, start_s))
                shares.append(got / SHARE_WINDOW_S)
        return shares


def _with_id(job: Job, job_id: str) -> Job:
    return dataclasses.replace(job, job_id=job_id)
