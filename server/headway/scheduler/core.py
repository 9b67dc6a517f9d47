"""Decide what runs next: inputs in, commands out. No I/O, no clock, no asyncio, no chance of its own.

The core is one writer's state: `handle` is its only entrance. `flow` moves tasks between waiting, running and their
end; what that means for jobs, for those that depend on them and for those that wait is decided here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final, assert_never

from headway.scheduler.admission import Admission
from headway.scheduler.attempts import Attempts
from headway.scheduler.book import JobBook
from headway.scheduler.config import OnBattery, SchedulerConfig, kept_free, limited
from headway.scheduler.errand import Errand
from headway.scheduler.errands import Errands
from headway.scheduler.executors.base import MachineReport, Pressure, StepResult, Totals
from headway.scheduler.flow import Flow
from headway.scheduler.jobs import Jobs
from headway.scheduler.model import ErrorKind, Failure, Job, JobState, OnTaskFailure, PausedChanged, Priority, TaskState
from headway.scheduler.outbox import Outbox
from headway.scheduler.records import ENDED, JobRecord, Run, TaskRecord
from headway.scheduler.resources import Quota, Slots
from headway.scheduler.stimuli import (
    Closing,
    Command,
    FallbackGiven,
    HeartbeatSeen,
    Input,
    JobCancelled,
    JobPaused,
    JobResumed,
    LevelsPaused,
    LevelsResumed,
    MachineSampled,
    PartialReported,
    PrioritySet,
    Reconfigured,
    StepEnded,
    Submitted,
    TasksFed,
    TimePassed,
    TotalKnown,
    Withdrawn,
)
from headway.scheduler.strategies import DEFAULT, Strategy
from headway.scheduler.timeouts import Timers

_HIGH: Final = Priority.HIGH
_NEVER: Final = math.inf
_NOTHING_TO_DO: Final[list[Command]] = []


class SchedulerCore:
    """All scheduler state, mutated by `handle` alone.

    Args:
        config: Behaviour.
        totals: What the machine gives; `config.cpu_cores` and `memory_mb` go before it.
        slots: Capacities of the counted pools (see `flow.pool_of`).
        draw: Uniform samples in [0, 1), for jitter.
        strategy: Order and shares by priority.
        id_prefix: Starts the ids that are made for jobs.
    """

    def __init__(
        self,
        config: SchedulerConfig,
        *,
        totals: Totals,
        slots: Iterable[int],
        draw: Callable[[], float],
        strategy: Strategy = DEFAULT,
        id_prefix: str = "job-",
    ) -> None:
        self.config = config
        self._machine = totals  # as the machine says, whatever the settings do
        totals = limited(config, totals)
        self.quota = Quota(totals, *kept_free(config, totals))
        self.slots = Slots(tuple(slots))
        self.admission = Admission(config, strategy, self.quota, self.slots)
        self.book = JobBook(config, id_prefix, self.quota, self.slots)
        self.pressure = Pressure()
        self.timers: Timers[Run | TaskRecord] = Timers()
        self._outbox = Outbox()
        self.jobs = Jobs(config, self.book, self.quota, self._outbox)
        self._sweeps = self.jobs.sweeps
        attempts = Attempts(config, draw)
        self.flow = Flow(config, self.admission, attempts, self.timers, self._outbox, self.jobs)
        self.jobs.flow = self.flow
        self.errands = Errands(config, self.book, self.flow, self.admission, self.quota, id_prefix)
        self.flow.errands = self.errands
        self.flow.overload.unfold = self.errands.unfold
        self.book.find_folded = self.errands.find
        self._totals, self._kept_free = totals, kept_free(config, totals)
        self._now_s, self._claim_at_s = -math.inf, _NEVER

    # ---- the entrance -----------------------------------------------------------------------------------------------

    def handle(self, event: Input, now_s: float) -> list[Command]:
        """Take one input at one instant; return what is to be done, in order.

        An instant before an earlier one counts as that one: order and waits do not depend on the clock's mood.

        Raises:
            SubmissionError: jobs were refused; nothing has changed.
        """
        if isinstance(event, StepEnded):
            return self.step_ended(event.run_id, event.result, now_s)
        if isinstance(event, Submitted) and len(event.jobs) == 1 and event.jobs[0].share_key is None:
            return self.submit_one(event.jobs[0], event.tickets[0], event.attempt, now_s)
        if now_s < self._now_s:
            now_s = self._now_s
        else:
            self._now_s = now_s
        self._outbox.commands = []
        self._take(event, now_s)
        return self._answer(now_s)

    def step_ended(self, run_id: int, result: StepResult, now_s: float) -> list[Command]:
        """Take a `StepEnded` as `handle` does, but in parts: one comes with each task."""
        if now_s < self._now_s:
            now_s = self._now_s
        else:
            self._now_s = now_s
        self._outbox.commands = []
        self.flow.run_ended(run_id, result, now_s)
        return self._answer(now_s)

    def submit_one(self, job: Job, ticket: int, attempt: int, now_s: float) -> list[Command]:
        """Take a `Submitted` of one job as `handle` does, but in parts; raises the same."""
        if job.share_key is not None:
            return self.handle(Submitted((job,), (ticket,), attempt), now_s)
        if now_s < self._now_s:
            now_s = self._now_s
        else:
            self._now_s = now_s
        self._outbox.commands = []
        self.jobs.submit_one(job, ticket, attempt, now_s)
        return self._answer(now_s)

    def run_errand(
        self, call: Callable[..., Any], args: tuple[Any, ...], name: str | None, priority: Priority, now_s: float
    ) -> Errand | None:
        """Take a coroutine's call without any wishes; `follow` has to be asked next. None: it has to be submitted."""
        if now_s < self._now_s:
            now_s = self._now_s
        else:
            self._now_s = now_s
        return None if self._sweeps.works else self.errands.submit(call, args, name, priority, now_s)

    def errand_ended(self, errand: Errand, value: Any, ran_s: float, now_s: float) -> Errand | None:
        """Take the end of a folded errand that did well; `follow` has to be asked next. Returns who starts instead."""
        if now_s < self._now_s:
            now_s = self._now_s
        else:
            self._now_s = now_s
        return self.errands.end(errand, value, ran_s, now_s)

    def follow(self) -> list[Command]:
        """Return what else is to be done after an input about an errand: for most of them, nothing."""
        admission, now_s = self.admission, self._now_s
        standback = admission.standback
        if (
            admission.attention
            or now_s >= admission.keep_at_s
            or admission.waiting[_HIGH]
            or self.flow.overload.sheds
            or self._claim_at_s != _NEVER
            or standback.waits
            or standback.pressed is not None
        ):
            self._outbox.commands = []
            return self._answer(now_s)
        return _NOTHING_TO_DO

    @property
    def idle(self) -> bool:
        """Whether no job is in flight."""
        return not self.book.active and not self.errands.in_flight

    def _answer(self, now_s: float) -> list[Command]:
        """Start what may start after an input; return all that is to be done."""
        if self._sweeps.works:  # be called again at once, when the loop has turned
            self.timers.soonest_s = min(self.timers.soonest_s, now_s)
        admission = self.admission
        # A waiting HIGH task can become late by the mere passing of time.
        if admission.attention or now_s >= admission.keep_at_s or admission.waiting[_HIGH] or self.flow.overload.sheds:
            self.flow.dispatch(now_s)
        standback = admission.standback
        if standback.pressed is not None or standback.waits:
            self._note_claim()
        elif self._claim_at_s != _NEVER:
            self._claim_at_s = _NEVER
        return self._outbox.commands

    def _take(self, event: Input, now_s: float) -> None:
        """Take what does not come with each task."""
        match event:
            case Submitted():
                self.jobs.submit(event, now_s)
            case TimePassed():
                self._time_passed(event.stood_still_s, now_s)
            case HeartbeatSeen():
                self.flow.beat(event.run_id, now_s)
            case PartialReported():
                self.flow.partial(event.run_id, event.value)
            case Withdrawn():
                failure = Failure(kind=ErrorKind.CANCELLED, message=event.reason)
                self.jobs.withdraw(event.ticket, failure, now_s)
            case TasksFed():
                self.jobs.fed(event, now_s)
            case FallbackGiven():
                self.flow.endings.fallback_given(event.task_key, event.value, event.failure, now_s)
            case MachineSampled():
                self._sampled(event.report, now_s)
            case Closing():
                self.errands.open = False
                self.errands.unfold_all()
                self.jobs.close(event.reason, now_s)
            case StepEnded():
                raise AssertionError("taken by `handle`")
            case _:
                self._steer(event, now_s)

    def _steer(
        self,
        event: JobCancelled
        | PrioritySet
        | LevelsPaused
        | LevelsResumed
        | JobPaused
        | JobResumed
        | TotalKnown
        | Reconfigured,
        now_s: float,
    ) -> None:
        """Take somebody's word about jobs and levels."""
        match event:
            case JobCancelled():
                record = self.book.in_flight(event.job_id)
                if record is not None:
                    self.jobs.cancel(record, Failure(kind=ErrorKind.CANCELLED, message=event.reason), now_s)
            case PrioritySet():
                self.jobs.set_priority(event.job_id, event.priority, now_s)
            case LevelsPaused():
                self._pause_levels(event.priorities, True, now_s)
            case LevelsResumed():
                self._pause_levels(event.priorities, False, now_s)
                self._resume_failed(event.priorities, now_s)
            case JobPaused():
                record = self.book.in_flight(event.job_id)
                if record is not None:
                    self.jobs.pause(record, now_s)
            case JobResumed():
                self.jobs.resume(event.job_id, now_s)
            case Reconfigured():
                self._reconfigure(event.config, now_s)
            case TotalKnown():
                self.jobs.expect(event.job_id, event.total)
            case _:
                assert_never(event)

    @property
    def submitted(self) -> list[JobRecord]:
        """What each job of the last `Submitted` became, or joined."""
        return self.jobs.submitted

    @property
    def told_at_s(self) -> float:
        """The instant of the last input."""
        return self._now_s

    def next_wake_at_s(self) -> float | None:
        """Return when `TimePassed` has to be said; None: time alone changes nothing."""
        if self._sweeps.works:
            return self._now_s
        at_s = min(self.timers.next_at_s() or math.inf, self._claim_at_s, self.errands.due_at_s)
        return None if at_s == math.inf else at_s

    def observe(self, observed: bool, *, errands: bool = False) -> None:
        """Say whether anybody watches; events are made only then. `errands`: they need not be told step by step."""
        self._outbox.observed = observed
        self.errands.open = (errands or not observed) and not self.jobs.closed

    def _time_passed(self, stood_still_s: float, now_s: float) -> None:
        self.errands.time_passed(now_s)
        if stood_still_s:
            self.errands.unfold_running()
            for run in tuple(self.flow.runs.values()):
                self.flow.limits.excuse(run, stood_still_s, now_s)
        while (owner := self.timers.pop_due(now_s)) is not None:
            self.flow.timer_fired(owner, now_s)
        if self._sweeps.works:
            self._sweeps.go_on(now_s)
        if now_s >= self._claim_at_s:
            self.admission.changed()

    def _note_claim(self) -> None:
        """Note when BATCH work that is held back has a claim again."""
        self._claim_at_s = self.admission.wake_at_s()
        self.timers.soonest_s = min(self.timers.soonest_s, self._claim_at_s)

    def _pause_levels(self, priorities: tuple[Priority, ...], paused: bool, now_s: float) -> None:
        changed = tuple(found for found in priorities if self.admission.paused[found] is not paused)
        if not changed:
            return
        self.admission.pause(changed, paused, now_s)
        if paused:
            self.flow.preempt(changed)
        if self._outbox.observed:
            self._outbox.publish(PausedChanged(at_s=now_s, priorities=self.paused, reason=self.pause_reason))

    def _resume_failed(self, priorities: tuple[Priority, ...], now_s: float) -> None:
        """Let the jobs of these priorities go on that paused themselves when a task failed. O(jobs in flight)."""
        for record in tuple(self.book.active.values()):
            paused_itself = record.job.on_task_failure is OnTaskFailure.PAUSE and record.error is not None
            if paused_itself and record.state is JobState.PAUSED and record.priority in priorities:
                self.jobs.resume(record.job_id, now_s)

    # ---- the machine ------------------------------------------------------------------------------------------------

    @property
    def paused(self) -> tuple[Priority, ...]:
        """The priorities that were paused by somebody's word."""
        return tuple(Priority(level) for level, paused in enumerate(self.admission.paused) if paused)

    @property
    def pause_reason(self) -> str | None:
        """Why something stands still: "user", "battery", "memory" or "cpu"; None: nothing does."""
        if any(self.admission.paused):
            return "user"
        if self.admission.standback.on_battery and self.config.on_battery is OnBattery.PAUSE:
            return "battery"
        return self.admission.standback.pressed

    def _sampled(self, report: MachineReport, now_s: float) -> None:
        before = self.pause_reason
        self._machine = report.totals
        self._press(report.pressure)
        self.quota.others_hold(report.gpu_free_mb)
        self._resize(now_s)
        self._tell_pause(before, now_s)

    def _reconfigure(self, config: SchedulerConfig, now_s: float) -> None:
        """Let other numbers hold; what runs goes on, and what waits is judged by them at once."""
        before = self.pause_reason
        self.config = config
        self.admission.reconfigure(config)
        self.book.reconfigure(config)
        self.jobs.reconfigure(config)
        self.errands.reconfigure(config)
        self.flow.reconfigure(config)
        self._press(self.pressure)
        self._resize(now_s)
        self._tell_pause(before, now_s)

    def _press(self, pressure: Pressure) -> None:
        """Judge how hard the machine is used."""
        self.pressure = pressure
        if self.admission.standback.press(pressure):
            self.admission.changed()

    def _resize(self, now_s: float) -> None:
        """Take over what there is, by the machine's word and the settings'; what no longer fits at all, ends."""
        totals = limited(self.config, self._machine)
        free = kept_free(self.config, totals)
        if totals != self._totals or free != self._kept_free:
            self._totals, self._kept_free = totals, free
            self.quota.resize(totals, *free)
            self.admission.changed()
            self._end_impossible(now_s)

    def _end_impossible(self, now_s: float) -> None:
        """Fail what asks for more than there is since the machine lost something: nothing waits for what cannot be."""
        self.errands.resized()
        for job in tuple(self.book.active.values()):
            for task in tuple(job.listed()):
                if task.state in ENDED or task.run is not None:
                    continue
                error = self.quota.impossible(task.shape, task.task.name, task.priority is Priority.CRITICAL)
                if error is not None:
                    self.flow.hold(task, now_s)
                    failure = Failure(
                        kind=ErrorKind.SERVICE_UNAVAILABLE, message=str(error), type_name=type(error).__name__
                    )
                    self.flow.endings.end(task, TaskState.FAILED, now_s, error=failure)

    def _tell_pause(self, before: str | None, now_s: float) -> None:
        if self._outbox.observed and self.pause_reason != before:
            self._outbox.publish(PausedChanged(at_s=now_s, priorities=self.paused, reason=self.pause_reason))
