"""The server's life around one connection: initialize, serve, shutdown, and the ends that nobody asked for.

`initialize` is answered when the server can serve, not at once: an editor shows names of its own as long as no server
offers any, and waits for one that does; and who types right away is not to wait for a server that is still importing.
What comes before it can waits in line. Most of a start is importing, so ty is started first and the rest imported while
it reads (`groundwork`).
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import gc
import logging
import os
import signal
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from headway.lsp.capabilities import ClientCapabilities, client_capabilities, server_capabilities
from headway.lsp.connection import Connection
from headway.lsp.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    SERVER_NOT_INITIALIZED,
    RpcError,
    answer_async,
)
from headway.lsp.streams import Streams
from headway.lsp.transport import Inbox, Outbox

if TYPE_CHECKING:
    from headway.lsp.assembly import Assembly
    from headway.lsp.collecting import Collecting
    from headway.lsp.editor import EditorWatch
    from headway.lsp.groundwork import Groundwork

_VERSION = "0.1.0"
# An orderly end takes well under a second; after this much nobody waits for it any longer.
_LAST_RESORT_S = 4.0
_FLUSH_S = 0.5
_LAST_WORDS_S = 1.0
_JOB_TYPES = ("analysis", "index", "tests")

_log = logging.getLogger(__name__)


class _Phase(enum.Enum):
    NEW = enum.auto()
    SERVING = enum.auto()
    SHUT_DOWN = enum.auto()


class Server:
    """One client, from its first byte to its last."""

    def __init__(self, streams: Streams, tasks: asyncio.TaskGroup, *, probes: bool, log_level_is_set: bool) -> None:
        self._probes = probes
        self._log_level_is_set = log_level_is_set
        self._tasks = tasks
        self._loop = asyncio.get_running_loop()
        self._phase = _Phase.NEW
        self._ended: asyncio.Future[int] = self._loop.create_future()
        self._starting: asyncio.Task[None] | None = None
        self._groundwork: Groundwork | None = None
        self._assembly: Assembly | None = None
        self._initialized = False
        self._closing: asyncio.Task[None] | None = None
        self._editor: EditorWatch | None = None
        self._collecting: Collecting | None = None
        self._outbox = Outbox(streams.write_fd, on_drained=self._drained, on_lost=self._lost)
        self._connection = Connection(
            outbox=self._outbox, tasks=tasks, gate=self._gate, on_broken=self._broken, on_pressure=self._pressure
        )
        self._inbox = Inbox(streams.read_fd, on_data=self._connection.receive, on_end=self._end_of_input)
        self._connection.read_more = self._inbox.read_more
        self._connection.requests.update({"initialize": self._initialize, "shutdown": self._shutdown})
        self._connection.notifications.update({"initialized": self._on_initialized, "exit": self._exit})

    async def run(self) -> int:
        """Serve until the end, whichever it is, and return the exit code."""
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            signum = getattr(signal, name, None)
            # Where the loop takes no signals (Windows), they end the process as they always do.
            with contextlib.suppress(NotImplementedError):
                if signum is not None:
                    self._loop.add_signal_handler(signum, self._end, 128 + signum, name)
        self._inbox.start()
        code = await self._ended
        _last_resort(code)
        self._inbox.close()
        if self._editor is not None:
            self._editor.close()
        if self._collecting is not None:
            self._collecting.close()
        if self._phase is not _Phase.SHUT_DOWN:
            self._connection.cancel_all()
        await self._close()
        self._connection.give_up()
        # A shutdown whose exit came right behind it is answered now.
        await asyncio.sleep(0)
        await self._outbox.flush(_FLUSH_S)
        return code

    # -- messages of the life cycle -----------------------------------------------------------------------------------

    def _gate(self, method: str, is_request: bool) -> RpcError | None:
        if method == "exit" and not is_request:
            return None
        if self._phase is _Phase.SHUT_DOWN:
            return RpcError(INVALID_REQUEST, "the server is shutting down; only exit is taken")
        if self._phase is _Phase.NEW and method != "initialize":
            return RpcError(SERVER_NOT_INITIALIZED, "initialize must come first")
        return None

    def _initialize(self, params: object) -> Coroutine[Any, Any, dict[str, Any]]:
        if self._phase is not _Phase.NEW:
            raise RpcError(INVALID_REQUEST, "initialize came twice")
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "params: must be an object")
        capabilities = client_capabilities(params.get("capabilities"))
        self._phase = _Phase.SERVING
        self._connection.hold()
        return self._start(params, capabilities)

    async def _start(self, params: dict[str, Any], capabilities: ClientCapabilities) -> dict[str, Any]:
        self._watch_editor(params)
        ready: asyncio.Future[None] = self._loop.create_future()
        self._starting = self._tasks.create_task(self._assemble(params, capabilities, ready))
        self._starting.add_done_callback(lambda _: self._connection.release())
        await ready
        job_types = (*_JOB_TYPES, "probe") if self._probes else _JOB_TYPES
        groundwork = self._groundwork
        whole = groundwork is not None and groundwork.session.settings.diagnostics.workspace
        return {
            "capabilities": server_capabilities(
                capabilities, job_types=job_types, probes=self._probes, whole_workspace=whole
            ),
            "serverInfo": {"name": "headway", "version": _VERSION},
        }

    def _watch_editor(self, params: dict[str, Any]) -> None:
        pid = params.get("processId")
        if isinstance(pid, int) and not isinstance(pid, bool) and pid > 0:
            from headway.lsp.editor import EditorWatch

            self._editor = EditorWatch(pid, lambda: self._end(1, "the client's process has ended"))
            self._editor.start()

    async def _assemble(
        self, params: dict[str, Any], capabilities: ClientCapabilities, ready: asyncio.Future[None]
    ) -> None:
        """Make the server able to serve, or end it; then `ready` is done and, a turn later, this."""
        result = await answer_async(self._build(params, capabilities), "the start of the server")
        if result.error is not None:
            text = f"Headway cannot start: {result.error.message}"
            self._connection.notify("window/showMessage", {"type": 1, "message": text})
            self._end(1, text)
        else:
            _log.info("the server is ready")
        if not ready.done():  # Its request may have been cancelled.
            ready.set_result(None)
        await asyncio.sleep(0)  # the answer goes out before what came behind its request is handled

    async def _build(self, params: dict[str, Any], capabilities: ClientCapabilities) -> None:
        # What is imported stays: looking for garbage in it, now or later, would only keep the loop from turning.
        gc.disable()
        from headway.lsp.groundwork import Groundwork

        self._groundwork = Groundwork(self._connection, capabilities, params, probes=self._probes)
        await self._groundwork.start()
        from headway.lsp.assembly import Assembly
        from headway.lsp.collecting import Collecting

        self._collecting = Collecting(self._connection.silent_s)
        self._collecting.start()
        self._assembly = Assembly(
            groundwork=self._groundwork,
            connection=self._connection,
            capabilities=capabilities,
            tasks=self._tasks,
            log_level_is_set=self._log_level_is_set,
        )
        await self._assembly.start()

    def _on_initialized(self, params: object) -> None:
        if self._assembly is None or self._initialized:
            return
        self._initialized = True
        self._assembly.client_is_ready()

    def _shutdown(self, params: object) -> Coroutine[Any, Any, None]:
        self._phase = _Phase.SHUT_DOWN
        self._connection.cancel_all_running()  # What came behind it is refused by the gate.
        return self._close()

    def _exit(self, params: object) -> None:
        self._end(0 if self._phase is _Phase.SHUT_DOWN else 1, "exit")

    async def _close(self) -> None:
        """End open progress, jobs and children, once; who comes second waits for the same end."""
        if self._closing is None:
            self._closing = self._tasks.create_task(self._close_assembly())
        await asyncio.shield(self._closing)

    async def _close_assembly(self) -> None:
        if self._starting is not None:
            await asyncio.wait([self._starting])  # What is half begun could not be ended.
        if self._assembly is not None:
            await self._assembly.close()
        elif self._groundwork is not None:
            await self._groundwork.close()

    # -- ends ---------------------------------------------------------------------------------------------------------

    def _end(self, code: int, why: str) -> None:
        if not self._ended.done():
            _log.info("the server ends: %s", why)
            self._ended.set_result(code)

    def _end_of_input(self) -> None:
        # What came before the end counts, an exit above all; but nobody waits long for a client that has gone.
        self._connection.when_idle(lambda: self._end(1, "the input has ended"))
        self._hear_last_words()

    def _hear_last_words(self, started: object = None) -> None:
        self._loop.call_later(_LAST_WORDS_S, self._last_words_are_heard)

    def _last_words_are_heard(self) -> None:
        if self._starting is not None and not self._starting.done():
            self._starting.add_done_callback(self._hear_last_words)  # What waits in line for it is still to be heard.
        else:
            self._end(1, "the input has ended")

    def _lost(self) -> None:
        self._end(1, "the client has closed its end")

    def _broken(self, why: str) -> None:
        _log.error("the client's stream cannot be read any further: %s", why)
        self._end(1, "the stream is broken")

    # -- flow ---------------------------------------------------------------------------------------------------------

    def _drained(self) -> None:
        self._connection.drained()
        if self._assembly is not None:
            self._assembly.drained()

    def _pressure(self, high: bool) -> None:
        if high:
            _log.warning("the client does not take its answers; nothing more is read until it does")
            self._inbox.pause()
        else:
            self._inbox.resume()


def _last_resort(code: int) -> None:
    """If the orderly end hangs, the process ends all the same; its children notice and follow."""
    timer = threading.Timer(_LAST_RESORT_S, os._exit, (code,))
    timer.daemon = True
    timer.start()


async def serve(streams: Streams, *, probes: bool, log_level_is_set: bool = False) -> int:
    """Serve one client and return the exit code of the process.

    Args:
        probes: Whether clients may submit probes.
        log_level_is_set: The command line or the environment decides how much is logged, not the client's settings.
    """
    async with asyncio.TaskGroup() as tasks:
        code = await Server(streams, tasks, probes=probes, log_level_is_set=log_level_is_set).run()
    _log.info("the server has ended with code %d", code)
    return code
