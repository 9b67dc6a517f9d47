"""Decide what runs next: inputs in, commands out. No I/O, no clock, no asyncio, no chance of its own.

The core is one writer's state: `handle` is its only entrance. `flow` moves tasks between waiting, running and their
end; what that means for jobs, for those that depend on them and for those that wait is decided here.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import assert_never

from headway.scheduler.admission import Admission
from headway.scheduler.attempts import Attempts
from headway.scheduler.book import JobBook, priorities_of
from headway.scheduler.config import OnBattery, SchedulerConfig
from headway.scheduler.errors import QueueFullError, SchedulerClosedError, SchedulerError
from headway.scheduler.executors.base import MachineReport, Pressure, Totals
from headway.scheduler.flow import Flow
from headway.scheduler.model import (
    ErrorKind,
    Failure,
    Job,
    JobChanged,
    JobOutcome,
    JobProgressed,
    JobState,
    OnTaskFailure,
    PausedChanged,
    Priority,
    Task,
    TaskState,
)
from headway.scheduler.outbox import Outbox
from headway.scheduler.records import ENDED, JOB_ENDED, JobRecord, Run, TaskRecord
from headway.scheduler.resources import Quota, Slots
from headway.scheduler.stimuli import (
    Closing,
    Command,
    FallbackGiven,
    Feed,
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
    Resolve,
    StepEnded,
    StopFeeding,
    Submitted,
    TasksFed,
    TimePassed,
    Withdrawn,
)
from headway.scheduler.strategies import DEFAULT, Strategy
from headway.scheduler.timeouts import Timers


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
        totals = limited(config, totals)
        self.quota = Quota(totals, *reserve(config, totals))
        self.slots = Slots(tuple(slots))
        self.admission = Admission(config, strategy, self.quota, self.slots)
        self.book = JobBook(config, id_prefix, self.quota, self.slots)
        self.pressure = Pressure()
        self._timers: Timers[Run | TaskRecord] = Timers()
        self._outbox = Outbox()
        self.flow = Flow(config, self.admission, Attempts(config, draw), self._timers, self._outbox, self)
        self._totals = totals
        self._now_s = -math.inf
        self._closed = False
        self._ended: deque[TaskRecord] = deque()
        self._ending = False
        self._memory_pressed = False
        self._cpu_pressed = False
        self.submitted: list[JobRecord] = []  # what each job of the last `Submitted` became, or joined

    # ---- the entrance -----------------------------------------------------------------------------------------------

    def handle(self, event: Input, now_s: float) -> list[Command]:
        """Take one input at one instant; return what is to be done, in order.

        An instant before an earlier one counts as that one: order and waits do not depend on the clock's mood.

        Raises:
            SubmissionError: jobs were refused; nothing has changed.
        """
        if now_s < self._now_s:
            now_s = self._now_s
        else:
            self._now_s = now_s
        outbox = self._outbox
        outbox.commands = []
        match event:
            case StepEnded():
                self.flow.run_ended(event.run_id, event.result, now_s)
            case Submitted():
                self._submit(event.jobs, event.tickets, event.attempt, now_s)
            case TimePassed():
                while (owner := self._timers.pop_due(now_s)) is not None:
                    self.flow.timer_fired(owner, now_s)
                if now_s >= self.admission.wake_at_s():
                    self.admission.changed()
            case HeartbeatSeen():
                self.flow.beat(event.run_id, now_s)
            case PartialReported():
                self.flow.partial(event.run_id, event.value)
            case Withdrawn():
                self._withdraw(event.ticket, Failure(kind=ErrorKind.CANCELLED, message=event.reason), now_s)
            case JobCancelled():
                record = self.book.active.get(event.job_id)
                if record is not None:
                    self._cancel(record, Failure(kind=ErrorKind.CANCELLED, message=event.reason), now_s)
            case PrioritySet():
                self._set_priority(event.job_id, event.priority, now_s)
            case LevelsPaused():
                self._pause_levels(event.priorities, True, now_s)
            case LevelsResumed():
                self._pause_levels(event.priorities, False, now_s)
            case JobPaused():
                record = self.book.active.get(event.job_id)
                if record is not None:
                    self._pause_job(record, now_s)
            case JobResumed():
                self._resume_job(event.job_id, now_s)
            case TasksFed():
                self._fed(event, now_s)
            case FallbackGiven():
                self.flow.fallback_given(event.task_key, event.value, event.failure, now_s)
            case MachineSampled():
                self._sampled(event.report, now_s)
            case Closing():
                self._closed = True
                for record in tuple(self.book.active.values()):
                    self._cancel(record, Failure(kind=ErrorKind.CANCELLED, message=event.reason), now_s)
            case _:
                assert_never(event)
        self.flow.dispatch(now_s)
        return outbox.commands

    def next_wake_at_s(self) -> float | None:
        """Return when `TimePassed` has to be said; None: time alone changes nothing."""
        timer_at_s = self._timers.next_at_s()
        claim_at_s = self.admission.wake_at_s()
        if claim_at_s == math.inf:
            return timer_at_s
        return claim_at_s if timer_at_s is None else min(timer_at_s, claim_at_s)

    def observe(self, observed: bool) -> None:
        """Say whether anybody watches; events are made only then."""
        self._outbox.observed = observed

    # ---- jobs come --------------------------------------------------------------------------------------------------

    def _submit(self, jobs: tuple[Job, ...], tickets: tuple[int, ...], attempt: int, now_s: float) -> None:
        if self._closed:
            raise SchedulerClosedError
        book = self.book
        made: list[JobRecord | None] = []
        new_tasks = 0
        for job in jobs:
            # A job that joins another is recognised again below, when those before it have been entered.
            if job.share_key is not None and (
                book.shared(job) is not None
                or any(found is not None and found.job.share_key == job.share_key for found in made)
            ):
                made.append(None)
            else:
                record = book.make(job, now_s)
                record.attempt = attempt
                new_tasks += record.unended
                made.append(record)
        queued = sum(self.flow.queued)
        if queued + new_tasks > self.config.queue_capacity:
            raise QueueFullError(queued, new_tasks, self.config.queue_capacity)
        self.submitted = submitted = []
        for job, entered, ticket in zip(jobs, made, tickets, strict=True):
            if entered is None:
                shared = book.shared(job)
                assert shared is not None
                submitted.append(shared)
                self._supersede(job, shared, now_s)
                book.join(shared, job, ticket)
                self._weigh_waiters(shared, now_s)
            else:
                submitted.append(entered)
                self._supersede(job, None, now_s)
                book.enter(entered, ticket)
                self._enter(entered, now_s)

    def _enter(self, record: JobRecord, now_s: float) -> None:
        if self._outbox.observed and record.job.visible:
            self._job_changed(record, None, now_s)
        flow = self.flow
        for task in record.tasks:
            flow.add(task)
        for task in record.tasks:
            if not task.missing:
                flow.ready(task, now_s)
        if not record.exhausted:
            self._feed(record)
        elif not record.unended:
            self._finish(record, now_s)

    def _supersede(self, job: Job, joined: JobRecord | None, now_s: float) -> None:
        older = self.book.superseded_by(job)
        if older is None or older[0] is joined:
            return
        failure = Failure(kind=ErrorKind.SUPERSEDED, message="a newer request took its place")
        self._withdraw(older[1], failure, now_s)

    def _feed(self, record: JobRecord) -> None:
        """Ask for more tasks of a lazily fed job when half of its window is empty."""
        window, source = record.job.window, record.job.tasks
        if record.exhausted or record.feeding or record.stopped or record.state is JobState.PAUSED:
            return
        assert isinstance(source, AsyncIterator)
        if record.unended * 2 <= window:
            record.feeding = True
            self._outbox.commands.append(Feed(record.job_id, window - record.unended, source))

    def _fed(self, event: TasksFed, now_s: float) -> None:
        record = self.book.active.get(event.job_id)
        if record is None:
            return
        record.feeding = event.more
        if record.exhausted:  # it was cancelled or stopped meanwhile
            return
        record.exhausted = event.exhausted or event.failure is not None
        if event.failure is not None:
            record.error = record.error or event.failure
        for task in event.tasks:
            self._add_fed(record, task, now_s)
        if record.exhausted:
            record.total = record.done + record.unended
            if not record.unended:
                self._finish(record, now_s)
        else:
            self._feed(record)

    def _add_fed(self, record: JobRecord, task: Task, now_s: float) -> None:
        if not record.job.total:
            record.total_weight += task.weight
        made = self.book.add_fed(record, task)
        if isinstance(made, SchedulerError):
            refused = self.book.add_refused(record, task)
            self.flow.add(refused)
            failure = Failure(kind=ErrorKind.INVALID_INPUT, message=str(made), type_name=type(made).__name__)
            self.flow.end(refused, TaskState.FAILED, now_s, error=failure)
            return
        self.flow.add(made)
        blocker = next((dep for dep in made.deps if dep.state in ENDED and _blocks(dep)), None)
        if blocker is not None and not task.run_anyway:
            self.flow.end(made, TaskState.SKIPPED, now_s, error=_skipped_after(blocker))
        elif not made.missing:
            self.flow.ready(made, now_s)

    # ---- tasks start and end (Listener) -----------------------------------------------------------------------------

    def task_started(self, record: TaskRecord, now_s: float) -> None:
        job = record.job
        if job.state is JobState.PENDING:
            job.started_at_s = now_s
            self._set_state(job, JobState.RUNNING, now_s)

    def task_ended(self, record: TaskRecord, now_s: float) -> None:
        """Draw the consequences of an end; those of the ends that follow from it come after, one by one."""
        self._ended.append(record)
        if self._ending:
            return
        self._ending = True
        try:
            while self._ended:
                self._one_ended(self._ended.popleft(), now_s)
        finally:
            self._ending = False

    def _one_ended(self, record: TaskRecord, now_s: float) -> None:
        job = record.job
        job.unended -= 1
        job.done += 1
        job.done_weight += record.task.weight
        if record.state is TaskState.FAILED:
            self._task_failed(record, now_s)
        if record.dependents is not None:
            self._release_dependents(record, now_s)
        if job.results is not None:
            self._remember_result(job, record)
        if not job.unended and job.exhausted:
            self._finish(job, now_s)
            return
        if self._outbox.observed and job.job.visible:
            self._progressed(job, now_s)
        if not job.exhausted:
            self._feed(job)

    def _task_failed(self, record: TaskRecord, now_s: float) -> None:
        job = record.job
        failure = record.error
        assert failure is not None
        if job.error is None:
            job.error = Failure(
                kind=failure.kind,
                message=f"{record.task.name}: {failure.message}",
                type_name=failure.type_name,
                traceback=failure.traceback,
                retry_after_s=failure.retry_after_s,
            )
        policy = job.job.on_task_failure
        if policy is OnTaskFailure.STOP and not job.stopped:
            job.stopped = True
            self._stop_feeding(job)
            reason = Failure(kind=ErrorKind.SKIPPED, message=f"the job stopped when {record.task.name} failed")
            for other in tuple(job.listed()):
                if other.state not in ENDED and other.run is None:
                    self.flow.hold(other, now_s)
                    self.flow.end(other, TaskState.SKIPPED, now_s, error=reason)
        elif policy is OnTaskFailure.PAUSE:
            self._pause_job(job, now_s)

    def _release_dependents(self, record: TaskRecord, now_s: float) -> None:
        dependents, record.dependents = record.dependents, None
        blocks = _blocks(record)
        for dependent in dependents or ():
            dependent.missing -= 1
            if dependent.state is not TaskState.PENDING:
                continue
            if blocks and not dependent.task.run_anyway and record.job.cancel_reason is None:
                self.flow.end(dependent, TaskState.SKIPPED, now_s, error=_skipped_after(record))
            elif not dependent.missing and record.job.cancel_reason is None:
                self.flow.ready(dependent, now_s)

    def _remember_result(self, job: JobRecord, record: TaskRecord) -> None:
        """Keep the newest results of a lazily fed job, and forget tasks that nobody can depend on any more."""
        results, names = job.results, job.names
        assert results is not None
        assert names is not None
        assert record.outcome is not None
        results[record.task.name] = record.outcome
        if len(results) > self.config.remembered_results:
            oldest = next(iter(results))
            del results[oldest]
            known = names.get(oldest)
            if known is not None and known.state in ENDED:
                del names[oldest]

    def _finish(self, job: JobRecord, now_s: float) -> None:
        if job.state in JOB_ENDED:
            raise AssertionError(f"job {job.job_id} ended twice")
        error = job.cancel_reason or job.error
        if job.cancel_reason is not None:
            state = JobState.CANCELLED
        else:
            state = JobState.COMPLETED if error is None else JobState.FAILED
        job.error = error
        job.finished_at_s = now_s
        self._set_state(job, state, now_s)
        results = job.results
        if results is None:
            results = {task.task.name: task.outcome for task in job.tasks if task.outcome is not None}
        tickets = self.book.leave(job)
        self._outbox.commands.append(
            Resolve(tickets, JobOutcome(job_id=job.job_id, state=state, results=results, error=error))
        )

    # ---- jobs are ended, moved, paused ------------------------------------------------------------------------------

    def _withdraw(self, ticket: int, failure: Failure, now_s: float) -> None:
        record = self.book.by_ticket.get(ticket)
        if record is None:
            return
        if len(record.tickets) == 1:
            self._cancel(record, failure, now_s)
            return
        self.book.part(record, ticket)
        outcome = JobOutcome(job_id=record.job_id, state=JobState.CANCELLED, results={}, error=failure)
        self._outbox.commands.append(Resolve((ticket,), outcome))
        self._weigh_waiters(record, now_s)

    def _cancel(self, record: JobRecord, failure: Failure, now_s: float) -> None:
        if record.cancel_reason is not None or record.state in JOB_ENDED:
            return
        record.cancel_reason = failure
        self.book.forget_share(record)
        self._stop_feeding(record)
        for task in tuple(record.listed()):
            self.flow.stop(task, failure, now_s)
        if not record.unended and record.state not in JOB_ENDED:
            self._finish(record, now_s)

    def _stop_feeding(self, record: JobRecord) -> None:
        if not record.exhausted:
            record.exhausted = True
            self._outbox.commands.append(StopFeeding(record.job_id))

    def _set_priority(self, job_id: str, priority: Priority, now_s: float) -> None:
        record = self.book.active.get(job_id)
        if record is None:
            return
        if record.waiters is not None:
            record.waiters = dict.fromkeys(record.waiters, priority)
        self._move_job(record, priority, "set", now_s)

    def _weigh_waiters(self, record: JobRecord, now_s: float) -> None:
        """Give shared work the highest priority of those who wait for it now."""
        assert record.waiters is not None
        self._move_job(record, min(record.waiters.values()), "inherited", now_s)

    def _move_job(self, record: JobRecord, priority: Priority, reason: str, now_s: float) -> None:
        if record.priority is priority:
            return
        record.priority = priority
        for task, wanted in tuple(priorities_of(record)):
            self.flow.reprioritize(task, wanted, reason, now_s)
        if self._outbox.observed and record.job.visible:
            self._progressed(record, now_s)

    def _pause_job(self, record: JobRecord, now_s: float) -> None:
        if record.state is JobState.PAUSED or record.state in JOB_ENDED or record.cancel_reason is not None:
            return
        self._set_state(record, JobState.PAUSED, now_s)
        for task in record.listed():
            self.flow.hold(task, now_s)

    def _resume_job(self, job_id: str, now_s: float) -> None:
        record = self.book.active.get(job_id)
        if record is None or record.state is not JobState.PAUSED:
            return
        self._set_state(record, JobState.PENDING if record.started_at_s is None else JobState.RUNNING, now_s)
        for task in tuple(record.listed()):
            self.flow.unhold(task, now_s)
        self._feed(record)

    def _pause_levels(self, priorities: tuple[Priority, ...], paused: bool, now_s: float) -> None:
        changed = tuple(found for found in priorities if self.admission.paused[found] is not paused)
        if not changed:
            return
        self.admission.pause(changed, paused, now_s)
        if paused:
            self.flow.preempt(changed)
        if self._outbox.observed:
            self._outbox.publish(PausedChanged(at_s=now_s, priorities=self.paused, reason=self.pause_reason))

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
        if self.admission.on_battery and self.config.on_battery is OnBattery.PAUSE:
            return "battery"
        return self.admission.pressed

    def _sampled(self, report: MachineReport, now_s: float) -> None:
        before = self.pause_reason
        pressure, config = report.pressure, self.config
        self.pressure = pressure
        self._memory_pressed = hysteresis(self._memory_pressed, pressure.memory, config.memory_low, config.memory_high)
        self._cpu_pressed = hysteresis(self._cpu_pressed, pressure.foreign_cpu, config.cpu_low, config.cpu_high)
        admission = self.admission
        gpu_pressed = hysteresis(admission.gpu_pressed, pressure.gpu, config.gpu_low, config.gpu_high)
        pressed = "memory" if self._memory_pressed else "cpu" if self._cpu_pressed else None
        if (pressed, gpu_pressed, pressure.on_battery) != (
            admission.pressed,
            admission.gpu_pressed,
            admission.on_battery,
        ):
            admission.pressed, admission.gpu_pressed = pressed, gpu_pressed
            admission.on_battery = pressure.on_battery
            admission.changed()
        self.quota.others_hold(report.gpu_free_mb)
        totals = limited(config, report.totals)
        if totals != self._totals:
            self._totals = totals
            self.quota.resize(totals)
            admission.changed()
            self._end_impossible(now_s)
        if self._outbox.observed and self.pause_reason != before:
            self._outbox.publish(PausedChanged(at_s=now_s, priorities=self.paused, reason=self.pause_reason))

    def _end_impossible(self, now_s: float) -> None:
        """Fail what asks for more than there is since the machine lost something: nothing waits for what cannot be."""
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
                    self.flow.end(task, TaskState.FAILED, now_s, error=failure)

    # ---- events -----------------------------------------------------------------------------------------------------

    def _set_state(self, job: JobRecord, state: JobState, now_s: float) -> None:
        previous, job.state = job.state, state
        if self._outbox.observed and job.job.visible:
            self._job_changed(job, previous, now_s)

    def _job_changed(self, job: JobRecord, previous: JobState | None, now_s: float) -> None:
        self._outbox.publish(JobChanged(at_s=now_s, job_id=job.job_id, state=job.state, previous=previous))

    def _progressed(self, job: JobRecord, now_s: float) -> None:
        self._outbox.publish(
            JobProgressed(at_s=now_s, job_id=job.job_id, done=job.done, total=job.total, progress=job.progress)
        )


def hysteresis(pressed: bool, value: float | None, low: float, high: float) -> bool:
    """Return whether a measure counts as pressed: from the high mark on, until it is below the low one."""
    if value is None:
        return False
    return value > low if pressed else value >= high


def limited(config: SchedulerConfig, totals: Totals) -> Totals:
    """Return what may be used of a machine: what the settings say, else the cores and most of the memory."""
    return Totals(
        cpu_cores=totals.cpu_cores if config.cpu_cores is None else config.cpu_cores,
        memory_mb=totals.memory_mb * config.memory_share if config.memory_mb is None else config.memory_mb,
        gpus=totals.gpus,
    )


def reserve(config: SchedulerConfig, totals: Totals) -> tuple[float, float]:
    """Return the cores and the memory that are kept free for CRITICAL work."""
    cores, memory = config.reserved_cpu_cores, config.reserved_memory_mb
    if cores is None:
        cores = min(1.0, max(0.25, totals.cpu_cores / 4), totals.cpu_cores / 2)
    if memory is None:
        memory = min(256.0, totals.memory_mb / 10)
    return cores, memory


def _blocks(record: TaskRecord) -> bool:
    return record.state is not TaskState.COMPLETED


def _skipped_after(record: TaskRecord) -> Failure:
    return Failure(
        kind=ErrorKind.SKIPPED,
        message=f"it depends on {record.task.name}, which was {record.state.value.lower()}",
    )
