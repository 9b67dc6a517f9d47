"""The handlers of `headway/*`: decode, call, encode."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import Coroutine, Mapping
from functools import cache
from typing import Any, cast

from headway.lsp import payloads
from headway.lsp import protocol as wire
from headway.lsp.connection import Connection
from headway.lsp.errors import INVALID_PARAMS, RpcError
from headway.lsp.latency import Latencies
from headway.lsp.messages import Encoded, encoded
from headway.lsp.progress import ProgressReporter, Token
from headway.lsp.queue_state import QueueStateReporter
from headway.lsp.told_tests import ToldTests
from headway.lsp.tongue import Tongue
from headway.scheduler import Priority
from headway.session.arguments import Arguments
from headway.session.jobs import finished
from headway.session.ports import Submitted
from headway.session.session import Session

_MOST_RECENT = 50
_MOST_TASKS = 200
_BACKGROUND = (Priority.LOW, Priority.BATCH)
_TOLD = ("headway", "ty", "ruff")
_INSTALLED = re.compile(rf"({'|'.join(_TOLD)})-(\w[^-]*)\.dist-info")
_LONGEST_TIMELINE_MS = 3_600_000.0


class HeadwayRequests:
    """Handlers of one session's `headway/*` requests."""

    def __init__(
        self,
        session: Session,
        queue_state: QueueStateReporter,
        progress: ProgressReporter,
        tongue: Tongue,
        latencies: Latencies,
    ) -> None:
        self._session = session
        self._tongue = tongue
        self._scheduler = session.scheduler
        self._queue_state = queue_state
        self._progress = progress
        self._latencies = latencies
        self._connection: Connection | None = None  # where parts of answers go

    def register(self, connection: Connection) -> None:
        """Make these the handlers of a connection."""
        self._connection = connection
        connection.requests.update(
            {
                wire.SNAPSHOT: self.snapshot,
                wire.SUBMIT: self.submit,
                wire.CANCEL_JOB: self.cancel_job,
                wire.RETRY_JOB: self.retry_job,
                wire.SET_PRIORITY: self.set_priority,
                wire.PAUSE: self.pause,
                wire.RESUME: self.resume,
                wire.TIMELINE: self.timeline,
                wire.METRICS: self.metrics,
            }
        )

    def snapshot(self, params: object) -> Encoded:
        snapshot = self._scheduler.snapshot()
        wall_ms, tongue = self._scheduler.wall_ms, self._tongue
        found: wire.Snapshot = {
            **self._queue_state.current(),
            "recentJobs": [
                payloads.job_info(view, wall_ms, tongue) for view in self._scheduler.recent_jobs(limit=_MOST_RECENT)
            ],
            "activeAlerts": [payloads.alert(alert, wall_ms, tongue) for alert in self._scheduler.alerts.active()],
            "workers": [payloads.worker(view) for view in snapshot.workers],
            "index": cast("wire.IndexInfo", self._session.index_info()),
            "versions": versions(),
        }
        return encoded(found)

    def submit(self, params: object) -> Coroutine[Any, Any, wire.JobInfo]:
        read = Arguments(params)
        token = progress_token(read, "workDoneToken")
        parts = progress_token(read, "partialResultToken")
        submitted = self._session.submit(
            read.text("type"),
            read.inner("arguments").mapping,
            title=read.optional_text("title"),
            priority=read.choice("priority", Priority, by_name=True) if read.has("priority") else None,
        )
        return self.ended(submitted, token, parts)

    async def ended(
        self, submitted: Submitted | asyncio.Future[Submitted], token: Token | None, parts: Token | None = None
    ) -> wire.JobInfo:
        """Wait for the end of a job and return its view with its result.

        Args:
            token: Under which its progress is shown.
            parts: Under which what it finds is told before the answer, where its type tells anything.
        """
        if isinstance(submitted, asyncio.Future):
            submitted = await _entered(submitted)
        handle = submitted.handle
        if token is not None:
            self._progress.follow(handle.job_id, token)
        with self._told(submitted, parts):
            outcome = await finished(handle)
        info = payloads.job_info(handle.view(limit=_MOST_TASKS), self._scheduler.wall_ms, self._tongue)
        info["result"] = submitted.submission.result(outcome)
        return info

    def _told(self, submitted: Submitted, token: Token | None) -> contextlib.AbstractContextManager[object]:
        parts, connection = submitted.submission.parts, self._connection
        if token is None or parts is None or connection is None:
            return contextlib.nullcontext()
        return ToldTests(parts, lambda value: connection.notify("$/progress", {"token": token, "value": value}))

    def cancel_job(self, params: object) -> Mapping[str, bool]:
        job_id = Arguments(params).text("jobId")
        return {"cancelled": self._scheduler.cancel(job_id, "cancelled by the client")}

    def retry_job(self, params: object) -> Mapping[str, str]:
        job_id = Arguments(params).text("jobId")
        return {"jobId": self._scheduler.retry(job_id).job_id}

    def set_priority(self, params: object) -> Mapping[str, bool]:
        read = Arguments(params)
        priority = read.choice("priority", Priority, by_name=True)
        return {"changed": self._scheduler.set_priority(read.text("jobId"), priority)}

    def pause(self, params: object) -> Mapping[str, list[wire.PriorityName]]:
        priorities = _priorities(params)
        if Priority.CRITICAL in priorities:
            raise RpcError(INVALID_PARAMS, "priorities: CRITICAL cannot be paused")
        return _paused(self._scheduler.pause(priorities) if priorities else self._scheduler.snapshot().paused)

    def resume(self, params: object) -> Mapping[str, list[wire.PriorityName]]:
        priorities = _priorities(params)
        return _paused(self._scheduler.resume(priorities) if priorities else self._scheduler.snapshot().paused)

    async def timeline(self, params: object) -> Encoded:
        asked_ms = Arguments({} if params is None else params).number("sinceMs", 60_000)
        since_s = min(asked_ms, _LONGEST_TIMELINE_MS) / 1000  # more than what is kept is all that is kept
        scheduler, wall_ms = self._scheduler, self._scheduler.wall_ms
        sla_s = scheduler.metrics.sla_s[Priority.CRITICAL]
        found: wire.Timeline = {
            "traceEvents": await scheduler.trace.exported(since_s),
            "originAt": wall_ms(scheduler.trace.origin_s),
            "queueState": self._queue_state.current(),
            "workers": [payloads.worker(view) for view in scheduler.snapshot().workers],
            "completions": [
                {"at": wall_ms(at_s), "tookMs": took_s * 1000} for at_s, took_s in self._latencies.completions(since_s)
            ],
            "completionSlaMs": None if sla_s is None else sla_s * 1000,
        }
        return encoded(found)

    def metrics(self, params: object) -> Mapping[str, str]:
        return {"text": self._scheduler.metrics.prometheus() + self._session.more_metrics()}


async def _entered(entering: asyncio.Future[Submitted]) -> Submitted:
    try:
        return await entering
    except asyncio.CancelledError:
        if entering.done() and not entering.cancelled() and entering.exception() is None:  # in the same moment
            entering.result().handle.cancel("the request was cancelled")
        raise


def _priorities(params: object) -> tuple[Priority, ...]:
    given = Arguments({} if params is None else params).choices("priorities", Priority, by_name=True)
    return _BACKGROUND if given is None else given


def _paused(priorities: tuple[Priority, ...]) -> Mapping[str, list[wire.PriorityName]]:
    return {"pausedPriorities": [payloads.priority_name(priority) for priority in priorities]}


def progress_token(read: Arguments, key: str) -> Token | None:
    """Return a progress token of a request, None where it has none.

    Raises:
        InvalidArgumentError: It is neither a string nor a whole number.
    """
    token = read.mapping.get(key)
    if token is not None and (isinstance(token, bool) or not isinstance(token, int | str)):
        raise read.fail(key, "must be a string or a whole number")
    return token


@cache
def versions() -> dict[str, str]:
    """Return the versions of Headway, of Python and of what answers for it."""
    found = {"python": sys.version.split()[0], **dict.fromkeys(_TOLD, "missing")}
    # By the names of what is installed: importing importlib.metadata and asking it would hold the loop for 0.1 s.
    for folder in reversed(sys.path):
        with contextlib.suppress(OSError):
            matches = filter(None, map(_INSTALLED.fullmatch, os.listdir(folder)))
            found.update({match[1]: match[2] for match in matches})
    return found
