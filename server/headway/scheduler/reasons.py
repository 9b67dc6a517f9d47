"""Why tasks are skipped and jobs fail, as failures that name the task it began with. Pure."""

from __future__ import annotations

from headway.scheduler.model import ErrorKind, Failure, TaskState
from headway.scheduler.records import TaskRecord


def blocks(record: TaskRecord) -> bool:
    """Return whether an ended task keeps those that depend on it from running."""
    return record.state is not TaskState.COMPLETED


def skipped_after(record: TaskRecord) -> Failure:
    return Failure(
        kind=ErrorKind.SKIPPED,
        message=f"it depends on {record.task.name}, which was {record.state.value.lower()}",
    )


def failure_of_job(record: TaskRecord, failure: Failure) -> Failure:
    """Return the failure of a job whose task failed first."""
    return Failure(
        kind=failure.kind,
        message=f"{record.task.name}: {failure.message}",
        type_name=failure.type_name,
        traceback=failure.traceback,
        retry_after_s=failure.retry_after_s,
    )
