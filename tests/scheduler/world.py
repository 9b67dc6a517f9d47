"""A world around the pure core: runs take the time that their task says, and time jumps from one event to the next."""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.core import SchedulerCore
from headway.scheduler.executors.base import MachineReport, Pressure, StepResult, StepRun, Totals
from headway.scheduler.model import (
    ErrorKind,
    Event,
    Failure,
    Job,
    JobOutcome,
    Outcome,
    Priority,
    Requirement,
    Step,
    StepKind,
    Task,
)
from headway.scheduler.stimuli import (
    AbandonRun,
    CallFallback,
    CancelRun,
    FallbackGiven,
    Feed,
    Input,
    JobResumed,
    LevelsResumed,
    MachineSampled,
    PreemptRun,
    Resolve,
    StepEnded,
    StopFeeding,
    Submitted,
    TasksFed,
    TimePassed,
)
from headway.scheduler.strategies import DEFAULT, Strategy

COMPILED = not str(sys.modules[SchedulerCore.__module__].__file__).endswith(".py")  # by `make compiled`
TOTALS = Totals(cpu_cores=2.0, memory_mb=8000.0)
SMALL = Requirement(cpu_cores=0.1, memory_mb=1.0)


@dataclass(frozen=True)
class Work:
    """What a run does: takes `lasts_s`, then gives `value`, or fails the first `fails` times with `kind`.

    `stubborn_s`: it ignores being told to stop for so long; a process is killed after its grace, if it is `killable`.
    """

    lasts_s: float = 0.01
    value: Any = None
    fails: int = 0
    kind: ErrorKind = ErrorKind.NETWORK
    stubborn_s: float = 0.0
    killable: bool = True
    partial: Any = None
    retry_after_s: float | None = None
    cpu_s: float | None = None

    def __call__(self) -> None:
        raise AssertionError("the core never calls anything")


@dataclass
class Begun:
    """A run as it was begun, on so many cores; `after`: how many events had been told by then."""

    run: StepRun
    at_s: float
    name: str
    after: int
    cores: float
    ended_at_s: float | None = None


@dataclass
class World:
    """Drives a `SchedulerCore` and keeps what it did."""

    config: SchedulerConfig = field(default_factory=lambda: SchedulerConfig(queue_capacity=1_000_000))
    totals: Totals = TOTALS
    slots: Sequence[int] = (4, 4, 4, 4, 4, 4)
    strategy: Strategy = DEFAULT
    draw: Callable[[], float] = lambda: 0.5
    check: bool = True

    def __post_init__(self) -> None:
        self.core = SchedulerCore(
            self.config, totals=self.totals, slots=self.slots, draw=self.draw, strategy=self.strategy
        )
        self.core.observe(True)
        self.now_s = 0.0
        self.begun: list[Begun] = []
        self.events: list[Event] = []
        self.outcomes: dict[int, JobOutcome] = {}
        self.cancelled: dict[int, float] = {}
        self.preempted: list[int] = []
        self.abandoned: list[str] = []
        self.stopped_sources: list[str] = []
        self.feeds: dict[str, int] = {}
        self.sources: dict[str, list[Task]] = {}
        self._runs: dict[int, Begun] = {}
        self._ends: list[tuple[float, int, int, StepResult]] = []
        self._counter = itertools.count()
        self._tickets = itertools.count()
        self._failures: dict[tuple[str, str], int] = {}

    # ---- telling ----------------------------------------------------------------------------------------------------

    def tell(self, event: Input) -> None:
        for command in self.core.handle(event, self.now_s):
            match command:
                case StepRun():
                    self._begin(command)
                case CancelRun(run_id, grace_s):
                    self._cancel(run_id, grace_s)
                case PreemptRun(run_id):
                    self.preempted.append(run_id)
                case AbandonRun(_, name):
                    self.abandoned.append(name)
                case Resolve(tickets, outcome):
                    for ticket in tickets:
                        assert ticket not in self.outcomes, "a job ended twice"
                        self.outcomes[ticket] = outcome
                case Feed(job_id, count, _):
                    self.feeds[job_id] = count
                case StopFeeding(job_id):
                    self.stopped_sources.append(job_id)
                case CallFallback(key, _, call):
                    self.tell(FallbackGiven(key, call(), None))
                case Event() as found:
                    self.events.append(found)
        if self.check:
            self.check_quotas()

    def submit(self, *jobs: Job) -> list[int]:
        tickets = tuple(next(self._tickets) for _ in jobs)
        self.tell(Submitted(jobs, tickets))
        return list(tickets)

    def run(self, name: str, work: Work | None = None, priority: Priority = Priority.NORMAL, **more: Any) -> int:
        """Submit a job of one task."""
        job_more = {key: more.pop(key) for key in ("share_key", "supersede_key", "job_id") if key in more}
        task = Task(name=name, call=work or Work(), **{"requirement": SMALL, **more})
        return self.submit(Job(type="t", title=name, tasks=(task,), priority=priority, **job_more))[0]

    def press(self, **pressure: Any) -> None:
        """Let the machine report how it is used."""
        self.tell(MachineSampled(MachineReport(totals=self.totals, pressure=Pressure(**pressure))))

    def feed(self, job_id: str, tasks: Iterable[Task], exhausted: bool = False) -> None:
        self.feeds.pop(job_id, None)
        self.tell(TasksFed(job_id, tuple(tasks), exhausted))

    # ---- time -------------------------------------------------------------------------------------------------------

    def step(self, until_s: float = float("inf")) -> bool:
        """Go to the next event. False: there is none by then."""
        while self._ends and self._ends[0][2] not in self._runs:
            heapq.heappop(self._ends)
        end_at_s = self._ends[0][0] if self._ends else float("inf")
        wake_at_s = self.core.next_wake_at_s()
        at_s = min(end_at_s, float("inf") if wake_at_s is None else wake_at_s)
        if at_s > until_s or at_s == float("inf"):
            return False
        self.now_s = max(self.now_s, at_s)
        if end_at_s <= at_s:
            self._end()
        else:
            self.tell(TimePassed())
        return True

    def pass_s(self, duration_s: float) -> None:
        """Let time pass, and all that happens in it."""
        until_s = self.now_s + duration_s
        while self.step(until_s):
            pass
        self.now_s = until_s

    def settle(self, most_s: float = 3600.0) -> None:
        """Let time pass until no job is in flight."""
        until_s = self.now_s + most_s
        while self.core.book.active:
            assert self.step(until_s), f"jobs wait for what never comes: {list(self.core.book.active)}"

    def resume_all(self) -> None:
        """Resume whatever is paused, also what a failure pauses again, until no job is in flight or an hour is over."""
        self.tell(LevelsResumed(tuple(Priority)))
        for _ in range(60):
            for job_id in tuple(self.core.book.active):
                self.tell(JobResumed(job_id))
            self.pass_s(60)
            if not self.core.book.active:
                return

    # ---- looking ----------------------------------------------------------------------------------------------------

    @property
    def order(self) -> list[str]:
        """Names of tasks in the order in which their runs were begun."""
        return [found.name for found in self.begun]

    @property
    def running(self) -> list[str]:
        return [found.name for found in self._runs.values()]

    @property
    def runs(self) -> list[Begun]:
        """What runs now, also what was told to stop and has not yet."""
        return list(self._runs.values())

    def outcome(self, ticket: int, name: str | None = None) -> Outcome:
        results = self.outcomes[ticket].results
        return results[name if name is not None else next(iter(results))]

    def started_at(self, name: str) -> float:
        return next(found.at_s for found in self.begun if found.name == name)

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if type(event) is kind]

    def check_quotas(self) -> None:
        """What runs never exceeds what there is, and what nobody runs nobody holds."""
        views = self.core.quota.views()
        for view in views.values():
            assert 0 <= view.used <= view.total + 1e-9
        runs = self.core.flow.runs.values()
        held = sum(run.grant.cores for run in runs if run.grant is not None and run.grant.open)
        assert self.core.quota.used_cores == held
        assert self.core.slots.used == [
            sum(run.pool == pool and run.grant is not None for run in runs) for pool in range(len(self.slots))
        ]
        assert sum(self.core.flow.running) >= 0
        assert min(self.core.flow.queued) >= 0

    def check_empty(self) -> None:
        """Nothing is held, nothing waits, nothing runs."""
        assert not self.core.book.active
        assert not self.core.book.by_ticket
        assert self.core.flow.queued == [0] * len(Priority)
        assert self.core.flow.running == [0] * len(Priority)
        assert not len(self.core.admission.queue)
        assert {view.used for view in self.core.quota.views().values()} == {0}
        assert not any(self.core.slots.used)

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _begin(self, run: StepRun) -> None:
        name = run.context.task_name
        grant = self.core.flow.runs[run.run_id].grant
        begun = Begun(run, self.now_s, name, len(self.events), 0.0 if grant is None else grant.cpu_cores)
        self.begun.append(begun)
        self._runs[run.run_id] = begun
        work = run.call
        assert isinstance(work, Work)
        key = (run.context.task_id, run.name)
        failed = self._failures.get(key, 0)
        if failed < work.fails:
            self._failures[key] = failed + 1
            error = Failure(kind=work.kind, message=f"{name} failed", retry_after_s=work.retry_after_s)
            result = StepResult(error=error, started_at_s=self.now_s, ran_s=work.lasts_s, slot="world")
        else:
            value = run.context.results if work.value is RESULTS else work.value
            result = StepResult(
                value=value, started_at_s=self.now_s, ran_s=work.lasts_s, cpu_s=work.cpu_s, slot="world"
            )
        heapq.heappush(self._ends, (self.now_s + work.lasts_s, next(self._counter), run.run_id, result))

    def _cancel(self, run_id: int, grace_s: float) -> None:
        begun = self._runs.get(run_id)
        if begun is None:
            return
        self.cancelled[run_id] = self.now_s
        work = begun.run.call
        assert isinstance(work, Work)
        late_s = work.stubborn_s
        if begun.run.kind is StepKind.PROCESS and work.killable:
            late_s = min(late_s, grace_s)
        self._ends = [found for found in self._ends if found[2] != run_id]
        heapq.heapify(self._ends)
        result = StepResult(cancelled=True, started_at_s=begun.at_s, ran_s=self.now_s + late_s - begun.at_s)
        heapq.heappush(self._ends, (self.now_s + late_s, next(self._counter), run_id, result))

    def _end(self) -> None:
        _, _, run_id, result = heapq.heappop(self._ends)
        begun = self._runs.pop(run_id)
        begun.ended_at_s = self.now_s
        self.tell(StepEnded(run_id, result))


RESULTS = object()  # as a Work's value: what it was given of those it depends on


def task(name: str, lasts_s: float = 0.01, *, after: Iterable[str] = (), cores: float = 0.1, **more: Any) -> Task:
    """A task that takes `lasts_s` and `cores`."""
    work_fields = {found.name for found in dataclasses.fields(Work)}
    work = {key: more.pop(key) for key in list(more) if key in work_fields}
    requirement = Requirement(cpu_cores=cores, memory_mb=more.pop("memory_mb", 1.0))
    return Task(
        name=name,
        call=Work(lasts_s=lasts_s, **work),
        depends_on=tuple(after),
        **{"requirement": requirement, **more},
    )


def steps(
    name: str, durations_s: Iterable[float], *, cores: float = 0.1, kind: StepKind = StepKind.ASYNC, **more: Any
) -> Task:
    """A task of steps "0", "1", … that take so long."""
    return Task(
        name=name,
        steps=tuple(
            Step(name=str(index), call=Work(lasts_s=lasts_s), kind=kind) for index, lasts_s in enumerate(durations_s)
        ),
        **{"requirement": Requirement(cpu_cores=cores, memory_mb=1.0), **more},
    )


def job(*tasks: Task, priority: Priority = Priority.NORMAL, title: str = "job", **more: Any) -> Job:
    return Job(type="t", title=title, tasks=tasks, priority=priority, **more)
