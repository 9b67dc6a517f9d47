"""Puts the server's parts together once the client has said who it is: scheduler, session, handlers, reporters."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from typing import TextIO

from headway.lsp import logs
from headway.lsp.capabilities import ClientCapabilities
from headway.lsp.commands import Commands
from headway.lsp.connection import Connection
from headway.lsp.errors import answer, answer_async
from headway.lsp.groundwork import Groundwork
from headway.lsp.headway_requests import HeadwayRequests
from headway.lsp.job_updates import JobReporter
from headway.lsp.language_requests import LanguageRequests
from headway.lsp.latency import Latencies
from headway.lsp.progress import ProgressReporter
from headway.lsp.protocol import Indexed
from headway.lsp.queue_state import QueueStateReporter
from headway.lsp.search_requests import SearchRequests
from headway.lsp.workspace_sync import WorkspaceSync
from headway.scheduler import Scheduler
from headway.scheduler.history import History
from headway.scheduler.remembered import HistoryProblem
from headway.session.limits import scheduler_config
from headway.session.ports import MessageLevel, Room, SessionContext
from headway.session.rooms import FIRST_KEYS_S, build_rooms
from headway.settings import Settings
from headway.wording import say

# Jobs that a person waits for or wonders about, and that are shown without having been asked for.
_SHOWN_TYPES = frozenset({"index", "analysis", "tests"})
_COUNTED_TYPES = frozenset({"index"})
_CLOSE_S = 2.0
# Names a file that what work comes is written to, for `python -m headway.scheduler.simulator --recorded`.
_RECORDING = "HEADWAY_RECORD_WORK"

_log = logging.getLogger(__name__)


class Assembly:
    """Everything behind the connection. Made before `initialize` is answered, on the event loop."""

    def __init__(
        self,
        *,
        groundwork: Groundwork,
        connection: Connection,
        capabilities: ClientCapabilities,
        tasks: asyncio.TaskGroup,
        log_level_is_set: bool,
    ) -> None:
        converter, tongue = groundwork.converter, groundwork.tongue
        self._tasks = tasks
        self._starting: asyncio.Task[None] | None = None
        self._recording: TextIO | None = None
        self._capabilities = capabilities
        self._client = groundwork.client
        self._session = groundwork.session
        history = History(self._session.cache_dir / "history.sqlite3", on_problem=self._history_problem)
        self._scheduler = Scheduler(scheduler_config(self._session.settings.scheduler), history=history)
        self._session.schedule_with(self._scheduler)
        latencies = Latencies(asyncio.get_running_loop().time)
        connection.on_answer = latencies.answered
        self._queue_state = QueueStateReporter(
            connection,
            self._scheduler,
            trouble=lambda: self._session.trouble,
            latency=latencies.current,
            indexed=self._indexed,
            tongue=tongue,
        )
        self._jobs = JobReporter(connection, self._scheduler, tongue)
        self._progress = ProgressReporter(
            connection,
            self._scheduler,
            own_types=_SHOWN_TYPES,
            counted_types=_COUNTED_TYPES,
            may_create=capabilities.progress,
            tongue=tongue,
        )
        groundwork.on_trouble = self._queue_state.poke
        rooms = build_rooms(self._session, groundwork.engine, capabilities.encoding.value)
        if not log_level_is_set:
            self._session.rooms.append(_LogLevel(self._session))
        headway_requests = HeadwayRequests(self._session, self._queue_state, self._progress, tongue, latencies)
        headway_requests.register(connection)
        Commands(self._session, headway_requests).register(connection)
        search_requests = SearchRequests(self._session, rooms.searching, capabilities)
        search_requests.register(connection)
        LanguageRequests(
            self._session,
            rooms,
            client=self._client,
            capabilities=capabilities,
            converter=converter,
            location=search_requests.location,
            uri_of=search_requests.uri_of,
            tongue=tongue,
        ).register(connection)
        WorkspaceSync(self._session, converter, self._pull_settings).register(connection)
        if capabilities.notebooks:
            from headway.lsp.notebook_sync import NotebookSync  # only where a client may tell of any

            NotebookSync(self._session, converter).register(connection)
        connection.notifications["window/workDoneProgress/cancel"] = self._progress_cancelled

    async def start(self) -> None:
        """Requests can be served from here on."""
        await self._scheduler.start()
        if path := os.environ.get(_RECORDING):
            self._recording = _recording(path)
            if self._recording is not None:
                self._scheduler.record(self._recording.write)

    def client_is_ready(self) -> None:
        """`initialized` came: the client may be told and asked things, and background work may begin."""
        for room in self._session.rooms:
            room.announce()
        self._client.register()
        self._queue_state.open()
        self._jobs.open()
        self._progress.open()
        self._pull_settings()
        self._starting = self._tasks.create_task(self._start_session())

    async def _start_session(self) -> None:
        self._session.begin()
        for room in self._session.rooms:
            # One room that cannot start leaves the others to serve, and says so.
            result = await answer_async(room.start(), f"starting {type(room).__name__}")
            if result.error is not None:
                self._session.degraded(type(room).__name__, result.error.message)
        if len(self._session.documents):
            await asyncio.sleep(FIRST_KEYS_S)  # and then there is something to do: no idle in between is told
        self._queue_state.started()

    def drained(self) -> None:
        """The client has read what waited for it."""
        self._client.drained()
        self._jobs.drained()
        self._queue_state.poke()

    async def close(self) -> None:
        """End progress, jobs and children; takes a bounded time."""
        if self._starting is not None:
            self._starting.cancel()
        self._queue_state.close()
        self._progress.close()
        self._jobs.close()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._session.close()
                await self._scheduler.close(grace_s=0.5)
        except TimeoutError:
            _log.warning("the session did not end within %g s; what is left is killed", _CLOSE_S)
        if self._recording is not None:
            self._recording.close()

    def _indexed(self) -> Indexed:
        info = self._session.index_info()
        return {"files": info["files"], "symbols": info["symbols"], "state": info["state"]}

    def _history_problem(self, problem: HistoryProblem) -> None:
        # It costs the past, not the present: worth a word, but the server is not degraded by it. That another window
        # keeps the history is not even worth that: there is nothing to mend.
        if not problem.in_use:
            self._client.show(MessageLevel.WARNING, say("History of jobs: {problem}", problem=problem.message))

    def _pull_settings(self) -> bool:
        if not self._capabilities.configuration:
            return False
        self._tasks.create_task(self._pull())
        return True

    async def _pull(self) -> None:
        tree = await self._client.configuration()
        answer(lambda: self._session.configure(tree, whole=True), "workspace/configuration")

    def _progress_cancelled(self, params: object) -> None:
        self._progress.cancel(params.get("token") if isinstance(params, Mapping) else None)


def _recording(path: str) -> TextIO | None:
    try:
        return open(path, "w", encoding="utf-8", buffering=1)  # a line at a time: a kill loses none
    except OSError as error:
        _log.warning("the work is not recorded (%s): %s", _RECORDING, error)
        return None


class _LogLevel(Room):
    """Lets the setting `log.level` decide how much is logged."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        logs.set_level(context.settings.log.level)

    def settings_changed(self, previous: Settings) -> None:
        logs.set_level(self._context.settings.log.level)
