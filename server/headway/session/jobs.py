"""Awaiting jobs for a request: the request's end and the job's end are tied together here, and nowhere else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from headway.scheduler.model import ErrorKind, Failure, JobOutcome, JobState, TaskState

if TYPE_CHECKING:
    from headway.scheduler import JobHandle


class RequestSupersededError(Exception):
    """A newer request of the same kind took this one's place; the newer one's answer is the one that counts."""


class RequestCancelledError(Exception):
    """The job behind a request was cancelled from elsewhere (`headway/cancelJob`, shutdown)."""


class RequestFailedError(Exception):
    """The job behind a request failed; `failure` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure

    def __str__(self) -> str:
        return self.failure.message


async def finished(handle: JobHandle) -> JobOutcome:
    """Wait for a job's end, whatever it is. When the waiting coroutine is cancelled, the job is cancelled too."""
    try:
        return await handle
    except asyncio.CancelledError:
        handle.cancel("the request was cancelled")
        raise


async def value_of(handle: JobHandle) -> Any:
    """Return the value of a job's only task; a cancel of the waiting coroutine cancels the job.

    Raises:
        RequestSupersededError: A newer job with the same key ended it.
        RequestCancelledError: It was cancelled from elsewhere.
        RequestFailedError: It failed.
    """
    outcome = await finished(handle)
    if len(outcome.results) == 1:
        (task,) = outcome.results.values()
        if task.state is TaskState.COMPLETED:
            return task.value
        raise _error(task.error or outcome.error, cancelled=task.state is TaskState.CANCELLED)
    raise _error(outcome.error, cancelled=outcome.state is JobState.CANCELLED)


def _error(failure: Failure | None, *, cancelled: bool) -> Exception:
    if failure is not None and failure.kind is ErrorKind.SUPERSEDED:
        return RequestSupersededError(failure.message)
    if cancelled or failure is None:
        return RequestCancelledError(failure.message if failure else "the work was cancelled")
    return RequestFailedError(failure)
