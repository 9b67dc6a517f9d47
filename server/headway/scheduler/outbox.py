"""The core's answers: commands of the present input, and events about jobs and tasks for whoever watches. Pure."""

from __future__ import annotations

from headway.scheduler.executors.base import StepResult
from headway.scheduler.model import (
    Event,
    Failure,
    JobChanged,
    JobProgressed,
    JobState,
    Priority,
    StepEnded,
    StepState,
    TaskEnded,
    TaskMoved,
    TaskQueued,
    TaskRetrying,
    TaskStarted,
    TaskTimedOut,
)
from headway.scheduler.records import JobRecord, TaskRecord
from headway.scheduler.stimuli import Command


class Outbox:
    """Commands of the present input. Events are only made while `observed`."""

    __slots__ = ("commands", "observed")

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.observed = False

    def publish(self, event: Event) -> None:
        self.commands.append(event)

    def step_ended(
        self, record: TaskRecord, state: StepState, result: StepResult, failure: Failure | None, now_s: float
    ) -> None:
        self.commands.append(
            StepEnded(
                now_s,
                record.job.job_id,
                record.id_made or record.task_id,
                record.task.name,
                record.step_name,
                record.priority,
                state,
                result.started_at_s,
                result.ran_s,
                result.slot,
                result.pid,
                failure,
            )
        )

    def task_queued(self, record: TaskRecord, now_s: float) -> None:
        job = record.job
        self.commands.append(
            TaskQueued(
                now_s,
                job.job_id,
                record.id_made or record.task_id,
                record.task.name,
                record.priority,
                job.job.visible,
            )
        )

    def task_started(self, record: TaskRecord, waited_s: float, now_s: float) -> None:
        job = record.job
        self.commands.append(
            TaskStarted(
                now_s,
                job.job_id,
                record.id_made or record.task_id,
                record.task.name,
                record.priority,
                record.attempt,
                waited_s,
                job.job.visible,
            )
        )

    def task_ended(self, record: TaskRecord, now_s: float) -> None:
        job = record.job
        assert record.outcome is not None
        self.commands.append(
            TaskEnded(
                now_s,
                job.job_id,
                record.id_made or record.task_id,
                record.task.name,
                record.priority,
                record.outcome,
                job.job.visible,
            )
        )

    def task_retrying(self, record: TaskRecord, delay_s: float, failure: Failure, now_s: float) -> None:
        self.commands.append(
            TaskRetrying(
                at_s=now_s,
                job_id=record.job.job_id,
                task_id=record.task_id,
                priority=record.priority,
                attempt=record.attempt,
                delay_s=delay_s,
                error=failure,
            )
        )

    def task_timed_out(self, record: TaskRecord, hard: bool, limit_s: float, now_s: float) -> None:
        self.commands.append(
            TaskTimedOut(
                at_s=now_s,
                job_id=record.job.job_id,
                task_id=record.task_id,
                priority=record.priority,
                hard=hard,
                limit_s=limit_s,
            )
        )

    def task_moved(self, record: TaskRecord, previous: Priority, priority: Priority, reason: str, now_s: float) -> None:
        self.commands.append(
            TaskMoved(
                at_s=now_s,
                job_id=record.job.job_id,
                task_id=record.task_id,
                previous=previous,
                priority=priority,
                reason=reason,
            )
        )

    def job_changed(self, job: JobRecord, previous: JobState | None, now_s: float) -> None:
        self.commands.append(JobChanged(now_s, job.job_id, job.state, previous))

    def job_progressed(self, job: JobRecord, now_s: float) -> None:
        done, total = job.tally
        self.commands.append(
            JobProgressed(at_s=now_s, job_id=job.job_id, done=done, total=total, progress=job.progress)
        )
