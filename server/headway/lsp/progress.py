"""`$/progress` of jobs: one begin, calm reports, exactly one end, whatever becomes of the job."""

from __future__ import annotations

import asyncio
import itertools
import logging
from dataclasses import dataclass
from typing import TypeAlias

from headway.lsp.connection import Connection
from headway.lsp.errors import RpcError
from headway.lsp.job_updates import ENDED
from headway.lsp.tongue import Tongue
from headway.scheduler import Scheduler
from headway.scheduler.model import Event, JobChanged, JobProgressed, JobState
from headway.wording import say

Token: TypeAlias = int | str

_INTERVAL_S = 0.25
_ENDINGS = {JobState.COMPLETED: say("done"), JobState.FAILED: say("failed"), JobState.CANCELLED: say("cancelled")}

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Shown:
    token: Token
    job_id: str
    begun: bool = False
    told_at_s: float = 0.0
    percentage: int = 0


class ProgressReporter:
    """Shows jobs in the client's progress bars.

    `follow` is for a token that the client gave. Jobs of the types in `own_types` that came without one get a token of
    ours, where the client can be asked to create it (`may_create`). Jobs of `counted_types` begin at 0 %, though their
    total is found out only a little later: a client may ignore the percentages of what begins without one.
    """

    def __init__(
        self,
        connection: Connection,
        scheduler: Scheduler,
        *,
        own_types: frozenset[str],
        counted_types: frozenset[str],
        may_create: bool,
        tongue: Tongue,
    ) -> None:
        self._connection = connection
        self._scheduler = scheduler
        self._own_types = own_types
        self._counted_types = counted_types
        self._may_create = may_create
        self._tongue = tongue
        self._loop = asyncio.get_running_loop()
        self._open = False
        self._by_job: dict[str, _Shown] = {}
        self._by_token: dict[Token, _Shown] = {}
        self._numbers = itertools.count(1)
        self._unsubscribe = scheduler.subscribe(self._on_event)

    def open(self) -> None:
        """The client is ready to be asked for tokens."""
        self._open = True
        for view in self._scheduler.snapshot().jobs:
            self._offer(view.job_id)

    def close(self) -> None:
        """End everything that is open and show nothing more."""
        self._unsubscribe()
        for shown in [*self._by_job.values()]:
            self._end(shown, say("the server ends"))

    def follow(self, job_id: str, token: Token) -> None:
        """Show a job under a token that the client gave; a token in use already stays with its first job."""
        if token in self._by_token:
            return
        self._forget(self._by_job.get(job_id))
        shown = _Shown(token=token, job_id=job_id)
        self._by_job[job_id] = shown
        self._by_token[token] = shown
        self._begin(shown)

    def cancel(self, token: object) -> None:
        """The person pressed cancel: end the job behind the bar."""
        shown = self._by_token.get(token) if isinstance(token, int | str) else None
        if shown is not None:
            self._scheduler.cancel(shown.job_id, "cancelled from the progress bar")

    def _on_event(self, event: Event) -> None:
        match event:
            case JobChanged():
                if event.state in ENDED:
                    shown = self._by_job.get(event.job_id)
                    if shown is not None:
                        self._end(shown, _ENDINGS[event.state])
                elif event.previous is None:
                    # In a moment: whoever submits the job may have a token for it.
                    self._loop.call_soon(self._offer, event.job_id)
            case JobProgressed():
                shown = self._by_job.get(event.job_id)
                if shown is not None and shown.begun:
                    self._report(shown, event)

    def _offer(self, job_id: str) -> None:
        """Ask for a token of ours, where this job should have one."""
        if not self._open or not self._may_create or job_id in self._by_job:
            return
        view = self._scheduler.job(job_id, limit=0)
        if view is None or view.type not in self._own_types:
            return
        shown = _Shown(token=f"headway-progress-{next(self._numbers)}", job_id=job_id)
        self._by_job[job_id] = shown
        created = self._connection.ask("window/workDoneProgress/create", {"token": shown.token})
        created.add_done_callback(lambda future: self._created(shown, future))

    def _created(self, shown: _Shown, future: asyncio.Future[object]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        if self._by_job.get(shown.job_id) is not shown:
            return  # The job has ended, or got a token of the client's, in the meantime.
        if error is not None:
            _log.info("the client shows no progress: %s", error if isinstance(error, RpcError) else repr(error))
            self._forget(shown)
            return
        self._by_token[shown.token] = shown
        self._begin(shown)

    def _begin(self, shown: _Shown) -> None:
        view = self._scheduler.job(shown.job_id, limit=0)
        if view is None or view.state in ENDED:
            self._forget(shown)
            return
        shown.begun = True
        value: dict[str, object] = {"kind": "begin", "title": self._tongue.tell(view.title), "cancellable": True}
        if view.progress is not None or view.type in self._counted_types:
            shown.percentage = int((view.progress or 0.0) * 100)
            value["percentage"] = shown.percentage
        self._send(shown, value)

    def _report(self, shown: _Shown, event: JobProgressed) -> None:
        now_s = self._loop.time()
        # Reports are optional: too early, or with a client that does not read, they are left out.
        if self._connection.congested or now_s < shown.told_at_s + _INTERVAL_S:
            return
        shown.told_at_s = now_s
        value: dict[str, object] = {"kind": "report", "message": self._tongue.tell(_done_of(event.done, event.total))}
        if event.progress is not None:
            # LSP: the percentage never falls.
            shown.percentage = max(shown.percentage, int(event.progress * 100))
            value["percentage"] = shown.percentage
        self._send(shown, value)

    def _end(self, shown: _Shown, message: str) -> None:
        self._forget(shown)
        if shown.begun:
            self._send(shown, {"kind": "end", "message": self._tongue.tell(message)})

    def _forget(self, shown: _Shown | None) -> None:
        if shown is not None:
            self._by_job.pop(shown.job_id, None)
            self._by_token.pop(shown.token, None)

    def _send(self, shown: _Shown, value: dict[str, object]) -> None:
        self._connection.notify("$/progress", {"token": shown.token, "value": value})


def _done_of(done: int, total: int | None) -> str:
    return f"{done:,}" if total is None else say("{done:,} of {total:,}", done=done, total=total)
