"""`headway/jobUpdated` and `headway/alert`: what became of jobs and of the scheduler's health, as it happens."""

from __future__ import annotations

import asyncio
import dataclasses

from headway.lsp import payloads
from headway.lsp.connection import Connection
from headway.lsp.protocol import ALERT, JOB_UPDATED, JobInfo
from headway.lsp.tongue import Tongue
from headway.scheduler import Scheduler
from headway.scheduler.alerts import AlertChanged
from headway.scheduler.model import Event, JobChanged, JobProgressed, JobState

ENDED = frozenset({JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED})
_INTERVAL_S = 0.25
# While the client does not read, at most so many jobs' newest states are kept for it.
_MOST_HELD = 2_000


class JobReporter:
    """Sends changes of state at once and progress at most four times a second for each job.

    While the client does not take what is written, only the newest state of each job is kept.
    """

    def __init__(self, connection: Connection, scheduler: Scheduler, tongue: Tongue) -> None:
        self._connection = connection
        self._tongue = tongue
        self._scheduler = scheduler
        self._loop = asyncio.get_running_loop()
        self._open = False
        self._held: dict[str, JobInfo] = {}
        self._due_at_s: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._unsubscribe = scheduler.subscribe(self._on_event)

    def open(self) -> None:
        """The client is ready. Jobs that are in flight already are told now."""
        self._open = True
        for view in self._scheduler.snapshot().jobs:
            self._tell(view.job_id)

    def close(self) -> None:
        """Say nothing more."""
        self._open = False
        self._unsubscribe()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def drained(self) -> None:
        """The client reads again: tell it what was held back."""
        held, self._held = self._held, {}
        for info in held.values():
            self._send(info)

    def _on_event(self, event: Event) -> None:
        if not self._open:
            return
        match event:
            case JobChanged():
                self._changed(event)
            case JobProgressed():
                self._progressed(event.job_id)
            case AlertChanged():
                self._connection.notify(ALERT, payloads.alert(event.alert, self._scheduler.wall_ms, self._tongue))

    def _changed(self, event: JobChanged) -> None:
        if event.state in ENDED:
            self._forget(event.job_id)
        self._tell(event.job_id, event.state)

    def _progressed(self, job_id: str) -> None:
        if job_id in self._timers:
            return
        due_at_s = self._due_at_s.get(job_id, 0.0)
        now_s = self._loop.time()
        if now_s < due_at_s:
            self._timers[job_id] = self._loop.call_at(due_at_s, self._progress_due, job_id)
            return
        self._due_at_s[job_id] = now_s + _INTERVAL_S
        self._tell(job_id)

    def _progress_due(self, job_id: str) -> None:
        self._timers.pop(job_id, None)
        self._tell(job_id)

    def _tell(self, job_id: str, state: JobState | None = None) -> None:
        view = self._scheduler.job(job_id)
        if view is None or (state is None and view.state in ENDED):
            return  # Of an ended job the change of its state is the last thing that is told.
        if state is not None and view.state is not state:
            # Several changes came at once; each is told, in order, as it was.
            view = dataclasses.replace(view, state=state)
        if view.state not in ENDED:
            view = dataclasses.replace(view, finished_at_s=None)
        self._send(payloads.job_info(view, self._scheduler.wall_ms, self._tongue))

    def _send(self, info: JobInfo) -> None:
        if not self._connection.congested:
            self._connection.notify(JOB_UPDATED, info)
            return
        self._held.pop(info["jobId"], None)
        self._held[info["jobId"]] = info
        if len(self._held) > _MOST_HELD:
            del self._held[next(iter(self._held))]

    def _forget(self, job_id: str) -> None:
        self._due_at_s.pop(job_id, None)
        timer = self._timers.pop(job_id, None)
        if timer is not None:
            timer.cancel()
