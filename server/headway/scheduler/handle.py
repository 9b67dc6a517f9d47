"""What a caller holds of a job: awaits, watches, cancels it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator
from typing import TYPE_CHECKING, Any

from headway.scheduler.errand import Errand
from headway.scheduler.errors import OverloadedError, TaskFailedError
from headway.scheduler.model import ErrorKind, Event, Failure, JobOutcome, JobView
from headway.scheduler.records import JobRecord
from headway.scheduler.stimuli import Withdrawn
from headway.scheduler.views import job_view

if TYPE_CHECKING:
    from headway.scheduler.engine import Engine


class JobHandle:
    """A submitted job, as one caller sees it. Awaiting it gives its `JobOutcome` and never raises for failure.

    Cancelling whoever awaits does not cancel the job; `cancel` does, unless others share the job.
    """

    __slots__ = ("_callbacks", "_engine", "_futures", "_outcome", "_ticket", "of")

    of: JobRecord | Errand  # set by the engine: which job this is a handle of

    def __init__(self, engine: Engine, ticket: int, errand: Errand | None = None) -> None:
        self._engine = engine
        self._ticket = ticket
        if errand is not None:
            self.of = errand
        self._outcome: JobOutcome | Errand | None = None  # an errand says how it ended each time that it is asked
        self._futures: list[asyncio.Future[None]] | None = None
        self._callbacks: list[Callable[[JobOutcome], None]] | None = None

    @property
    def record(self) -> JobRecord:
        """The core's record of the job, made for this where it is an errand."""
        if isinstance(self.of, Errand):
            self.of = self._engine.errands.unfold(self.of).job
        return self.of

    @property
    def job_id(self) -> str:
        return self._engine.errands.id_of(self.of.number) if isinstance(self.of, Errand) else self.of.job_id

    def done(self) -> bool:
        return self._outcome is not None

    def view(self, limit: int = 200) -> JobView:
        """Return the job as it stands, with at most `limit` of its tasks."""
        return job_view(self.record, limit, self._engine.now_s())

    def cancel(self, reason: str = "cancelled") -> bool:
        """Give the job up. Shared work goes on for the others; the last one's cancel ends it. False: it had ended."""
        if self._outcome is not None:
            return False
        if isinstance(self.of, Errand):
            self._engine.errands.unfold(self.of)
        self._engine.handle(Withdrawn(self._ticket, reason))
        return True

    def add_done_callback(self, callback: Callable[[JobOutcome], None]) -> None:
        """Call back on the loop when the job has ended; soon, where it already has."""
        if self._outcome is not None:
            self._engine.call_soon(callback, self._told())
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    async def events(self) -> AsyncIterator[Event]:
        """Yield the job's events from now on until its end."""
        waiting: asyncio.Queue[Event | None] = asyncio.Queue()
        if self._outcome is not None:
            return

        def heed(event: Event) -> None:
            if getattr(event, "job_id", None) == self.job_id:
                waiting.put_nowait(event)

        unsubscribe = self._engine.subscribe(heed)
        self.add_done_callback(lambda _: waiting.put_nowait(None))
        try:
            while (event := await waiting.get()) is not None:
                yield event
        finally:
            unsubscribe()

    def __await__(self) -> Generator[Any, None, JobOutcome]:
        if self._outcome is None:
            # One future for each who waits: cancelling one of them is nobody else's matter.
            future: asyncio.Future[None] = self._engine.new_future()
            if self._futures is None:
                self._futures = [future]
            else:
                self._futures.append(future)
            yield from future
        return self._told()

    async def value(self) -> Any:
        """Return the value of the job's only task.

        Raises:
            TaskFailedError: it did not succeed.
            OverloadedError: it was given up, as it could not be done in time.
            ValueError: the job has not exactly one task.
        """
        outcome = await self
        if len(outcome.results) > 1:
            raise ValueError(f"job {self.job_id!r} has {len(outcome.results)} tasks; ask its outcome for their results")
        if outcome.error is not None:
            raise _error(self.record.job.title, outcome.error)
        for name, result in outcome.results.items():
            if result.error is not None and not (result.fallback or result.partial):
                raise _error(name, result.error)
            return result.value
        raise ValueError(f"job {self.job_id!r} has no task")

    # ---- from the engine --------------------------------------------------------------------------------------------

    def resolve(self, outcome: JobOutcome | Errand) -> None:
        """Take the end of the job, as it is for this caller."""
        self._outcome = outcome
        if self._futures is not None:
            futures, self._futures = self._futures, None
            for future in futures:
                if not future.done():
                    future.set_result(None)
        if self._callbacks is not None:
            callbacks, self._callbacks = self._callbacks, None
            for callback in callbacks:
                self._engine.call_soon(callback, self._told())

    def _told(self) -> JobOutcome:
        outcome = self._outcome
        assert outcome is not None
        if isinstance(outcome, Errand):
            return self._engine.errands.outcome(outcome)  # not kept: of ten thousand that nobody asks twice
        return outcome


def _error(name: str, failure: Failure) -> TaskFailedError:
    kind = OverloadedError if failure.kind is ErrorKind.OVERLOADED else TaskFailedError
    return kind(name, failure)
