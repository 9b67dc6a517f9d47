"""Tells history what happens: finished jobs, and how far durable ones have come; and makes those anew after a restart.

A durable job that ends because the scheduler is closed has not ended: it goes on next time. One that was resumed
`MOST_RESUMES` times without ever ending is given up, as it may be what ends the program each time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Protocol

from headway.scheduler.durable import Factory, resumed_job
from headway.scheduler.errors import InvalidJobError, SubmissionError
from headway.scheduler.history import History
from headway.scheduler.model import Event, Job, JobChanged, JobOutcome, TaskEnded, TaskState
from headway.scheduler.records import JOB_ENDED
from headway.scheduler.remembered import DurableJob, FinishedJob, UnfinishedJob

log = logging.getLogger(__name__)

MOST_RESUMES = 3


class Handle(Protocol):
    """What the keeper needs of a `JobHandle`."""

    @property
    def job_id(self) -> str: ...

    def add_done_callback(self, callback: Callable[[JobOutcome], None]) -> None: ...


class HistoryKeeper:
    """Subscriber of the scheduler's events that writes history.

    Args:
        history: Where it is written.
        factories: Make durable jobs anew, by name.
        finished: Gives a visible job that ended, by id; None: forgotten already.
        wall_ms: Gives Unix milliseconds now.
    """

    def __init__(
        self,
        history: History,
        factories: Mapping[str, Factory],
        finished: Callable[[str], FinishedJob | None],
        wall_ms: Callable[[], float],
    ) -> None:
        self.history = history
        self._factories = factories
        self._finished = finished
        self._wall_ms = wall_ms
        self._durable: set[str] = set()
        self.closed = False

    def check(self, job: Job) -> None:
        """Refuse a durable job that could not be made anew.

        Raises:
            InvalidJobError: no factory has its name, or its arguments are no JSON values.
        """
        if job.durable is None:
            return
        if job.durable not in self._factories:
            known = ", ".join(sorted(self._factories)) or "none"
            raise InvalidJobError(f"job {job.title!r}", f"no factory is named {job.durable!r} (there are: {known})")
        if not self.history.can_keep(job.durable_args):
            raise InvalidJobError(f"job {job.title!r}", "its durable_args are no JSON values of at most 1 MiB")

    def submitted(self, job: Job, handle: Handle) -> None:
        """Note a job that was checked and taken, where it is durable."""
        if job.durable is None:
            return
        handle.add_done_callback(self._given_up_or_ended)
        if handle.job_id not in self._durable:
            self._durable.add(handle.job_id)
            self.history.submitted(
                DurableJob(
                    job_id=handle.job_id,
                    factory=job.durable,
                    args=job.durable_args,
                    priority=job.priority,
                    submitted_at_ms=self._wall_ms(),
                )
            )

    def observe(self, event: Event) -> None:
        """Take note of an event."""
        if isinstance(event, TaskEnded):
            outcome = event.outcome
            # What a fallback gave, or a part, is an answer for today; after a restart the task may do better.
            real = outcome.state is TaskState.COMPLETED and not outcome.fallback and not outcome.partial
            if real and event.job_id in self._durable:
                self.history.task_completed(event.job_id, event.name, outcome.value)
        elif isinstance(event, JobChanged) and event.state in JOB_ENDED:
            finished = self._finished(event.job_id)
            if finished is not None:
                self.history.finished(finished)

    def close(self) -> None:
        """From now on jobs end because the scheduler does: durable ones stay unfinished."""
        for job_id in tuple(self._durable):
            self._settle(job_id)
        self.closed = True

    def job_of(self, unfinished: UnfinishedJob) -> Job | None:
        """Return a durable job made anew; None where it runs already, is given up, or cannot be made: logged.

        Raises: whatever its factory raises.
        """
        stored = unfinished.job
        if stored.job_id in self._durable:
            return None  # it was submitted in this run, before history could be read
        if unfinished.resumed >= MOST_RESUMES:
            log.warning(
                "durable job %s (%s) is given up: it was resumed %d times and never ended",
                stored.job_id,
                stored.factory,
                unfinished.resumed,
            )
            self.history.ended(stored.job_id)
            return None
        factory = self._factories.get(stored.factory)
        if factory is None:
            log.warning("durable job %s waits: no factory is named %r", stored.job_id, stored.factory)
            return None
        self.history.resumed(stored.job_id)
        return resumed_job(unfinished, factory)

    def refused(self, unfinished: UnfinishedJob, error: SubmissionError) -> None:
        """Give up a durable job that the scheduler did not take again."""
        log.warning("durable job %s cannot be resumed: %s", unfinished.job.job_id, error)
        self.history.ended(unfinished.job.job_id)

    def _given_up_or_ended(self, outcome: JobOutcome) -> None:
        if not self.closed and outcome.job_id in self._durable:
            self._settle(outcome.job_id)

    def _settle(self, job_id: str) -> None:
        """Note the end of a durable job, if it has ended: it may go on for others than the one who gave it up."""
        found = self._finished(job_id)
        if found is None or found.view.state in JOB_ENDED:
            self._durable.discard(job_id)
            self.history.ended(job_id)
