"""Everything that watches one scheduler: its metrics, timeline and alerts, and its history."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from headway.scheduler.core import SchedulerCore
from headway.scheduler.durable import Factory
from headway.scheduler.engine import Engine
from headway.scheduler.errors import SubmissionError
from headway.scheduler.handle import JobHandle
from headway.scheduler.measures import Usage
from headway.scheduler.model import Job
from headway.scheduler.remembered import FinishedJob, UnfinishedJob
from headway.scheduler.tally import Tally
from headway.scheduler.views import admitted_cores, job_view
from headway.scheduler.watch import Watch

if TYPE_CHECKING:
    from headway.scheduler.history import History
    from headway.scheduler.keeper import HistoryKeeper


class Observing:
    """The observers of one scheduler, between its core and its engine.

    Args:
        core: Is looked at.
        engine: Gives the events and the time.
        history: Where finished jobs go, None: nowhere.
        factories: Make durable jobs anew.
        wall_ms: Turns an instant into Unix milliseconds.
        submit: Takes a job that is resumed.
    """

    def __init__(
        self,
        core: SchedulerCore,
        engine: Engine,
        history: History | None,
        factories: Mapping[str, Factory],
        wall_ms: Callable[[float], float],
        submit: Callable[[Job], JobHandle],
    ) -> None:
        self._core = core
        self._engine = engine
        self._wall_ms = wall_ms
        self._submit = submit
        self._watch: Watch | None = None
        self._keeper: HistoryKeeper | None = None
        if history is not None:
            # Imported where it is used: SQLite is not for those who keep no history.
            from headway.scheduler.keeper import HistoryKeeper

            self._keeper = HistoryKeeper(history, factories, self._finished, self._now_ms)

    def start(self, watch: bool) -> None:
        """Begin to watch (otherwise that begins when it is first asked for), to keep history, and to resume."""
        if watch:
            self.watch()
        keeper = self._keeper
        if keeper is not None:
            keeper.history.start()
            self._engine.subscribe(keeper.observe)
            keeper.history.when_unfinished(self._resume)

    def watch(self) -> Watch:
        """Return what measures; it measures from the first call on."""
        if self._watch is None:
            flow = self._core.flow
            self._watch = Watch(
                clock=self._engine.now_s,
                call_later=self._engine.call_later,
                depths=lambda: (flow.queued, flow.running),
                usage=self._usage,
                emit=self._engine.emit,
            )
            self._engine.measure(self._watch.folds, Tally(self._watch.metrics, self._watch.trace, self._core.errands))
        return self._watch

    def check(self, jobs: Sequence[Job]) -> None:
        """Refuse durable jobs that could not be made anew.

        Raises:
            InvalidJobError: see `HistoryKeeper.check`.
        """
        if self._keeper is not None:
            for job in jobs:
                self._keeper.check(job)

    def submitted(self, jobs: Sequence[Job], handles: Sequence[JobHandle]) -> None:
        """Note the durable ones of the jobs that were taken."""
        if self._keeper is not None:
            for job, handle in zip(jobs, handles, strict=True):
                self._keeper.submitted(job, handle)

    def closing(self) -> None:
        """Note that jobs end from now on because the scheduler does."""
        if self._keeper is not None:
            self._keeper.close()

    async def close(self) -> None:
        """End, when all jobs have; what is pending is written."""
        if self._watch is not None:
            self._watch.close()
        if self._keeper is not None:
            await self._keeper.history.close()

    def _resume(self, found: list[UnfinishedJob]) -> None:
        """Submit durable jobs of an earlier run again, without what they had finished."""
        keeper = self._keeper
        if keeper is None or keeper.closed:
            return
        for unfinished in found:
            what = f"factory {unfinished.job.factory!r} of durable job {unfinished.job.job_id}"
            job = self._engine.call(functools.partial(keeper.job_of, unfinished), what)
            if job is None:
                continue
            try:
                self._submit(job)
            except SubmissionError as error:
                keeper.refused(unfinished, error)

    def _finished(self, job_id: str) -> FinishedJob | None:
        record = self._core.book.find(job_id)
        if record is None:
            return None
        results = record.results
        if results is None:
            results = {task.task.name: task.outcome for task in record.tasks if task.outcome is not None}
        view = job_view(record, 200, self._engine.now_s())
        return FinishedJob(view=view, results=results, offset_ms=self._wall_ms(0.0))

    def _now_ms(self) -> float:
        return self._wall_ms(self._engine.now_s())

    def _usage(self) -> Usage:
        pressure = self._core.pressure
        return Usage(
            cpu=pressure.cpu,
            foreign_cpu=pressure.foreign_cpu,
            memory=pressure.memory,
            gpu=pressure.gpu,
            cores_used=self._core.quota.used_cores / 1e6,
            cores_admitted=admitted_cores(self._core),
        )
