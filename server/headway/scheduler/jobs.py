"""What becomes of jobs: they come, their tasks end, they are moved, paused, shared, ended. Pure; part of the core."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from headway.scheduler.book import JobBook, priorities_of
from headway.scheduler.config import SchedulerConfig
from headway.scheduler.errors import QueueFullError, SchedulerClosedError, SchedulerError
from headway.scheduler.flow import Flow
from headway.scheduler.model import (
    ErrorKind,
    Failure,
    Job,
    JobOutcome,
    JobState,
    OnTaskFailure,
    Priority,
    Task,
    TaskState,
)
from headway.scheduler.outbox import Outbox
from headway.scheduler.reasons import blocks, failure_of_job, skipped_after
from headway.scheduler.records import ENDED, JOB_ENDED, JobRecord, TaskRecord
from headway.scheduler.resources import Quota
from headway.scheduler.stimuli import Feed, Resolve, StopFeeding, Submitted, TasksFed
from headway.scheduler.sweeps import AT_ONCE

_HIGH: Final = Priority.HIGH
_PENDING: Final = TaskState.PENDING
_FAILED: Final = TaskState.FAILED
_JOB_RUNNING: Final = JobState.RUNNING
_JOB_COMPLETED: Final = JobState.COMPLETED


class Jobs:
    """All jobs in flight. Each ends exactly once, when its last task has ended and no more will come.

    `flow` is set by who makes both: each needs the other.
    """

    flow: Flow

    def __init__(self, config: SchedulerConfig, book: JobBook, quota: Quota, outbox: Outbox) -> None:
        self.book = book
        self.submitted: list[JobRecord] = []  # what each job of the last `Submitted` became, or joined
        self._config = config
        self._quota = quota
        self._outbox = outbox
        self.sweeps = book.sweeps
        self.closed = False
        self._ended: deque[TaskRecord] = deque()
        self._ending = False

    def close(self, reason: str, now_s: float) -> None:
        """End all jobs and accept no more."""
        self.closed = True
        self.sweeps.finish(now_s)
        for record in tuple(self.book.active.values()):
            self.cancel(record, Failure(kind=ErrorKind.CANCELLED, message=reason), now_s)

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold."""
        self._config = config

    # ---- jobs come --------------------------------------------------------------------------------------------------

    def submit(self, event: Submitted, now_s: float) -> None:
        """Enter jobs, or let them join equal ones.

        Raises:
            SubmissionError: one was refused; nothing has changed.
        """
        if self.closed:
            raise SchedulerClosedError
        book = self.book
        jobs, tickets = event.jobs, event.tickets
        made: list[JobRecord | None] = []
        new_tasks = 0
        supersedes = False
        for job in jobs:
            # What a job joins is found again below, as one of those before it may have superseded that.
            joins = job.share_key is not None and (
                book.shared(job) is not None
                or any(found is not None and found.job.share_key == job.share_key for found in made)
            )
            if joins and not supersedes:
                made.append(None)
            else:
                record = book.make(job, now_s)
                record.attempt = event.attempt
                new_tasks += record.unended
                made.append(record)
            supersedes = supersedes or job.supersede_key is not None
        self._check_room(new_tasks, all(job.priority <= Priority.HIGH for job in jobs))
        self.submitted = submitted = []
        for job, entered, ticket in zip(jobs, made, tickets, strict=True):
            if job.share_key is not None and (shared := book.shared(job)) is not None:
                submitted.append(shared)
                self._supersede(job, shared, now_s)
                book.join(shared, job, ticket)
                self._weigh_waiters(shared, now_s)
            else:
                assert entered is not None  # only what joins for certain was not made
                submitted.append(entered)
                if job.supersede_key is not None:
                    self._supersede(job, None, now_s)
                book.enter(entered, ticket)
                self._enter(entered, now_s)

    def submit_one(self, job: Job, ticket: int, attempt: int, now_s: float) -> None:
        """Enter one job that joins no other; raises as `submit`."""
        if self.closed:
            raise SchedulerClosedError
        book = self.book
        record = book.make(job, now_s)
        record.attempt = attempt
        self._check_room(record.unended, job.priority <= _HIGH)
        if job.supersede_key is not None:
            self._supersede(job, None, now_s)
        self.submitted = [record]
        book.enter(record, ticket)
        self._enter(record, now_s)

    def _check_room(self, new_tasks: int, urgent: bool) -> None:
        # However much waits in the background, it does not keep out that for which a person waits.
        queued = sum(self.flow.queued[: _HIGH + 1] if urgent else self.flow.queued)
        if queued + new_tasks > self._config.queue_capacity:
            raise QueueFullError(queued, new_tasks, self._config.queue_capacity)

    def _enter(self, record: JobRecord, now_s: float) -> None:
        if self._outbox.observed and record.job.visible:
            self._outbox.job_changed(record, None, now_s)
        flow, tasks = self.flow, record.tasks
        if len(tasks) == 1 and not self.sweeps.works:  # the usual case
            task = tasks[0]
            flow.queued[task.priority] += 1
            flow.ready(task, now_s)
            return
        for task in tasks:
            flow.add(task)
        # Tasks that start here may end others of the job only later: starting is a command, its result another input.
        if len(tasks) > AT_ONCE:
            for task in tasks:
                if not task.missing:
                    task.order = flow.new_order()
        # Who comes after a large job of its own priority that still comes in waits for his turn to do so.
        self.sweeps.over(tasks, flow.first_ready, now_s, line=record.priority)
        if not record.exhausted:
            self._feed(record)
        elif not tasks:
            self._finish(record, now_s)

    def _supersede(self, job: Job, joined: JobRecord | None, now_s: float) -> None:
        older = self.book.superseded_by(job)
        if older is None or older[0] is joined:
            return
        failure = Failure(kind=ErrorKind.SUPERSEDED, message="a newer request took its place")
        self.withdraw(older[1], failure, now_s)

    def _feed(self, record: JobRecord) -> None:
        """Ask for more tasks of a lazily fed job when half of its window is empty."""
        window, source = record.job.window, record.job.tasks
        if record.exhausted or record.feeding or record.stopped or record.state is JobState.PAUSED:
            return
        assert isinstance(source, AsyncIterator)
        if record.unended * 2 <= window:
            record.feeding = True
            self._outbox.commands.append(Feed(record.job_id, window - record.unended, source))

    def fed(self, event: TasksFed, now_s: float) -> None:
        """Take more tasks of a lazily fed job, or the end of its source."""
        record = self.book.in_flight(event.job_id)
        if record is None:
            return
        if record.exhausted:  # it was cancelled or stopped meanwhile
            record.feeding = event.more
            return
        if event.failure is not None:
            record.error = record.error or event.failure
        # Some may end at once; that neither ends the job nor asks for more before all of these are in.
        record.feeding = True
        for task in event.tasks:
            self._add_fed(record, task, now_s)
            if record.stopped:  # by its failure policy
                return
        record.feeding = event.more
        if event.exhausted or event.failure is not None:
            record.exhausted = True
            record.total = record.done + record.unended
            if not record.unended:
                self._finish(record, now_s)
        else:
            self._feed(record)

    def expect(self, job_id: str, total: float) -> None:
        """Note how much a lazily fed job will be in all."""
        record = self.book.in_flight(job_id)
        if record is not None and not record.exhausted:
            record.foretold = True
            record.total_weight = total

    def _add_fed(self, record: JobRecord, task: Task, now_s: float) -> None:
        if not record.foretold:
            record.total_weight += task.weight
        made = self.book.add_fed(record, task)
        if isinstance(made, SchedulerError):
            refused = self.book.add_refused(record, task)
            self.flow.add(refused)
            failure = Failure(kind=ErrorKind.INVALID_INPUT, message=str(made), type_name=type(made).__name__)
            self.flow.endings.end(refused, TaskState.FAILED, now_s, error=failure)
            return
        self.flow.add(made)
        blocker = next((dep for dep in made.deps if dep.state in ENDED and blocks(dep)), None)
        if blocker is not None and not task.run_anyway:
            self.flow.endings.end(made, TaskState.SKIPPED, now_s, error=skipped_after(blocker))
        elif not made.missing:
            self.flow.ready(made, now_s)

    # ---- tasks start and end (Listener) -----------------------------------------------------------------------------

    def job_started(self, record: TaskRecord, now_s: float) -> None:
        """Note that the first task of a job starts."""
        job = record.job
        job.started_at_s = now_s
        self._set_state(job, _JOB_RUNNING, now_s)

    def task_ended(self, record: TaskRecord, now_s: float) -> None:
        """Draw the consequences of an end; those of the ends that follow from it come after, one by one."""
        if self._ending:
            self._ended.append(record)
            return
        self._ending = True
        try:
            self._one_ended(record, now_s)
            while self._ended:
                self._one_ended(self._ended.popleft(), now_s)
        finally:
            self._ending = False

    def _one_ended(self, record: TaskRecord, now_s: float) -> None:
        job = record.job
        job.unended -= 1
        job.done += 1
        job.done_weight += record.task.weight
        if record.state is _FAILED:
            self._task_failed(record, now_s)
        if record.dependents is not None:
            self._release_dependents(record, now_s)
        if job.results is not None:
            self.book.remember_result(job, record)
        if not job.unended and job.exhausted:
            self._finish(job, now_s)
            return
        if self._outbox.observed and job.job.visible:
            self._outbox.job_progressed(job, now_s)
        if not job.exhausted:
            self._feed(job)

    def _task_failed(self, record: TaskRecord, now_s: float) -> None:
        job = record.job
        failure = record.error
        assert failure is not None
        if job.error is None:
            job.error = failure_of_job(record, failure)
        policy = job.job.on_task_failure
        if policy is OnTaskFailure.STOP and not job.stopped:
            job.stopped = True
            self._stop_feeding(job)
            reason = Failure(kind=ErrorKind.SKIPPED, message=f"the job stopped when {record.task.name} failed")
            self._doom(job, reason, now_s)
        elif policy is OnTaskFailure.PAUSE:
            self.pause(job, now_s)

    def _release_dependents(self, record: TaskRecord, now_s: float) -> None:
        dependents, record.dependents = record.dependents, None
        why = skipped_after(record) if blocks(record) else None
        doomed, freed = [], []
        for dependent in dependents or ():
            dependent.missing -= 1
            if dependent.state is not _PENDING or dependent.doom is not None:
                continue
            if why is not None and not dependent.task.run_anyway and record.job.cancel_reason is None:
                dependent.doom = why
                doomed.append(dependent)
            elif not dependent.missing and record.job.cancel_reason is None:
                freed.append(dependent)
        self.sweeps.over(doomed, self.flow.endings.end_doomed, now_s)
        self.sweeps.over(freed, self.flow.first_ready, now_s)

    def _finish(self, job: JobRecord, now_s: float) -> None:
        if job.finished_at_s is not None:
            raise AssertionError(f"job {job.job_id} ended twice")
        error = job.cancel_reason or job.error
        if job.cancel_reason is not None:
            state = JobState.CANCELLED
        else:
            state = _JOB_COMPLETED if error is None else JobState.FAILED
        job.error = error
        job.finished_at_s = now_s
        self._set_state(job, state, now_s)
        results = job.results
        if results is None:
            tasks = job.tasks
            if len(tasks) == 1 and (outcome := tasks[0].outcome) is not None:
                results = {tasks[0].task.name: outcome}
            else:
                results = {task.task.name: task.outcome for task in tasks if task.outcome is not None}
        tickets = self.book.leave(job, now_s)
        self._outbox.commands.append(Resolve(tickets, JobOutcome(job.job_id, state, results, error)))

    # ---- jobs are ended, moved, paused ------------------------------------------------------------------------------

    def withdraw(self, ticket: int, failure: Failure, now_s: float) -> None:
        """Let one who waits for a job give it up; the last one's word ends it."""
        record = self.book.by_ticket.get(ticket)
        if record is None:
            return
        if len(record.tickets) == 1:
            self.cancel(record, failure, now_s)
            return
        self.book.part(record, ticket)
        outcome = JobOutcome(job_id=record.job_id, state=JobState.CANCELLED, results={}, error=failure)
        self._outbox.commands.append(Resolve((ticket,), outcome))
        self._weigh_waiters(record, now_s)

    def cancel(self, record: JobRecord, failure: Failure, now_s: float) -> None:
        """End a job for all who wait for it: at once what waits, within the grace what runs."""
        if record.cancel_reason is not None or record.state in JOB_ENDED:
            return
        record.cancel_reason = failure
        self.book.forget_share(record)
        self._stop_feeding(record)
        for task in record.listed():
            if task.run is not None:
                self.flow.limits.cancel(task.run, failure, now_s)
        self._doom(record, failure, now_s)
        if not record.unended and record.state not in JOB_ENDED:
            self._finish(record, now_s)

    def _doom(self, record: JobRecord, failure: Failure, now_s: float) -> None:
        """End what does not run; nothing of it starts from now on, however long it takes to end all."""
        doomed = [task for task in record.listed() if task.run is None and task.state not in ENDED]
        for task in doomed:
            task.doom = failure
        self.sweeps.over(doomed, self.flow.endings.end_doomed, now_s)

    def _stop_feeding(self, record: JobRecord) -> None:
        if not record.exhausted:
            record.exhausted = True
            self._outbox.commands.append(StopFeeding(record.job_id))

    def set_priority(self, job_id: str, priority: Priority, now_s: float) -> None:
        """Move a job to another priority by somebody's word."""
        record = self.book.in_flight(job_id)
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
        wanted = dict(priorities_of(record))
        move = self.flow.reprioritize
        self.sweeps.over(wanted, lambda task, at_s: move(task, wanted[task], reason, at_s), now_s)
        if self._outbox.observed and record.job.visible:
            self._outbox.job_progressed(record, now_s)

    def pause(self, record: JobRecord, now_s: float) -> None:
        """Start nothing more of a job; what runs gives its place up at its next step boundary."""
        if record.state is JobState.PAUSED or record.state in JOB_ENDED or record.cancel_reason is not None:
            return
        self._set_state(record, JobState.PAUSED, now_s)
        for task in record.listed():
            self.flow.hold(task, now_s)

    def resume(self, job_id: str, now_s: float) -> None:
        """Let a paused job run on from where it was."""
        record = self.book.in_flight(job_id)
        if record is None or record.state is not JobState.PAUSED:
            return
        self._set_state(record, JobState.PENDING if record.started_at_s is None else JobState.RUNNING, now_s)
        for task in tuple(record.listed()):
            self.flow.unhold(task, now_s)
        self._feed(record)

    def _set_state(self, job: JobRecord, state: JobState, now_s: float) -> None:
        previous, job.state = job.state, state
        if self._outbox.observed and job.job.visible:
            self._outbox.job_changed(job, previous, now_s)
