"""A language server as a child of ours: started, greeted, given our texts just before it is asked, started again.

It is started once and again with growing delays when it ends by itself. What it is asked and what its answers mean is
the business of `ty` and `ruff`.
"""

from __future__ import annotations

import asyncio
import enum
import logging
import math
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from headway.engines.client import FramingError, LspClient, Reply
from headway.engines.errors import EngineAnswerError, EngineUnavailableError
from headway.engines.mirror import Encoding, Mirror
from headway.engines.stillness import LIMITS_S, Stillness
from headway.scheduler.executors.children import Child, PriorityClass, ProgramMissingError, RestartDelay
from headway.wording import say
from headway.workspace.documents import Document
from headway.workspace.notebooks import Notebook
from headway.workspace.text import Text
from headway.workspace.uris import is_unicode, names_something

_log = logging.getLogger(__name__)
_READ_BYTES = 1 << 18
# Who gives way to others is kept from starting for as long as they are busy: it is given up later.
HANDSHAKE_LIMITS_S: Mapping[PriorityClass, float] = {
    PriorityClass.INTERACTIVE: 20.0,
    PriorityClass.POLITE: 60.0,
    PriorityClass.BACKGROUND: 300.0,
}
_GRACE_S = 0.5
_STOOD_STILL_S = 1.0
_LONGEST_WORDS = 500
_PING = "headway/ping"  # which no server knows: it answers that it does not
_WORTH_WAITING_S = 1.0  # nobody waits for a restart that is further away


class EngineState(enum.StrEnum):
    """`OFF`: not started or closed. `FAILED`: it cannot be started, or ended; it may come back (see `message`)."""

    OFF = "off"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLaunch:
    """How a server is started. `roots`: file URIs of the workspace's folders; `options`: its initializationOptions."""

    argv: tuple[str, ...]
    roots: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    encoding: Encoding = "utf-16"
    options: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=dict)  # of its client, by LSP section
    priority_class: PriorityClass = PriorityClass.INTERACTIVE


class LanguageServer:
    """One server of the sidecar. All methods are called on the event loop.

    Args:
        name: What messages call it.
        documents: Gives the open documents by identity, at any time.
        state_changed: Is told when `state` or `message` is new.
        without: What a person has to do without while it is away, as a sentence.
        language: Of the documents that it is given, as the editor calls it.
    """

    def __init__(
        self,
        name: str,
        documents: Callable[[], Mapping[str, Document]],
        state_changed: Callable[[], None] | None = None,
        *,
        without: str = "",
        language: str = "python",
    ) -> None:
        self.name = name
        self.language = language
        self.state = EngineState.OFF
        self.message: str | None = None
        self.missing: str | None = None  # why it cannot be started, as a sentence without its end
        self.coming = False  # whether waiting for `ready` may be of use
        self.capabilities: Mapping[str, Any] = {}
        self.restarts = 0
        self._documents = documents
        self.notebooks: Callable[[], Sequence[Notebook]] = tuple  # the open ones; for who has any
        self._state_changed = state_changed
        self._without = without
        self._client: LspClient | None = None
        self._child: Child | None = None
        self._mirror: Mirror | None = None
        self.hangs_after_s = LIMITS_S  # by class: for how long it may owe an answer without a sign of life
        self._stillness: Stillness | None = None
        self._became_ready = asyncio.Event()
        self._asked_about: Counter[str] = Counter()  # documents that requests in flight are about

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._child.pid if self._child is not None and self._child.running else None

    @property
    def pending(self) -> int:
        """Requests that it has not answered."""
        return self._client.pending if self._client is not None else 0

    def expect(self) -> None:
        """Say that `run` is about to be called, so that who asks meanwhile knows to wait."""
        self.coming = True
        self._set_state(EngineState.STARTING)

    async def run(self, launch: ServerLaunch, *, missing_s: float = 20.0) -> None:
        """Keep it running until this is cancelled; then its process is gone when this returns.

        A program that cannot be started is tried again every `missing_s`: it may be installed meanwhile, its folder be
        back, or the machine have room for a process again.
        """
        delay = RestartDelay(first_s=0.2)
        self.coming = True
        try:
            while True:
                self._set_state(EngineState.STARTING)
                try:
                    ran_s = await self._live_once(launch)
                except ProgramMissingError as error:
                    self.coming = False
                    self.missing = _missing(error)
                    self._set_state(
                        EngineState.FAILED, say("{problem}. {without}", problem=self.missing, without=self._without)
                    )
                    await asyncio.sleep(missing_s)
                    continue
                wait_s = delay.ended(ran_s)
                self.restarts += 1
                self.coming = wait_s < _WORTH_WAITING_S
                self._set_state(
                    EngineState.FAILED,
                    say(
                        "{name} ended unexpectedly and is started again in {wait_s:.1f} s. {without}",
                        name=self.name,
                        wait_s=wait_s,
                        without=self._without,
                    ),
                )
                await asyncio.sleep(wait_s)
                self.coming = True
        except asyncio.CancelledError:
            self.missing = None
            self._set_state(EngineState.OFF)
            raise
        finally:
            self.coming = False

    async def _live_once(self, launch: ServerLaunch) -> float:
        """Start it, speak to it until it ends, and return how long it lived."""
        loop = asyncio.get_running_loop()
        child = Child(launch.argv, name=self.name, cwd=launch.cwd, env=launch.env, priority_class=launch.priority_class)
        began_s = loop.time()
        try:
            await child.start()
        except asyncio.CancelledError:
            await child.terminate(0)
            child.close()
            raise
        self.missing = None
        self._child = child
        client = LspClient(self.name, child.stdin.write, answer=self._answer, notified=self._notified)
        self._client = client
        handshake = client.request("initialize", _initialize_params(launch))
        handshake.add_done_callback(self._greeted)
        limit_s = HANDSHAKE_LIMITS_S[launch.priority_class]
        due_s = began_s + limit_s
        limit = loop.call_at(due_s, self._give_up_waiting, child, due_s, limit_s)
        still_s = self.hangs_after_s[launch.priority_class]
        stillness = Stillness(child, self.name, still_s, lambda: _ping(client))
        self._stillness = stillness
        reason = "it ended"
        try:
            try:
                while data := await child.stdout.read(_READ_BYTES):
                    stillness.heard()
                    client.feed(data)
            except FramingError as error:
                reason = str(error)
                _log.warning("%s wrote what is no message: %s", self.name, error)
            # Who waits for an answer hears of the end below, and shall not find a server that calls itself well.
            self._set_state(
                EngineState.FAILED, say("{name} ended unexpectedly. {without}", name=self.name, without=self._without)
            )
        finally:
            limit.cancel()
            stillness.close()
            self._stillness = None
            self._became_ready.clear()
            self._client = None
            self._mirror = None
            client.closed(reason)
            await self._end(child)
        for line in child.stderr_tail[-20:]:
            _log.warning("%s: %s", self.name, line)
        return loop.time() - began_s

    async def _end(self, child: Child) -> None:
        try:
            await child.terminate(_GRACE_S)
        except asyncio.CancelledError:
            await child.terminate(0)  # whoever cancels us counts on its process being gone
            raise
        finally:
            child.close()
            self._child = None

    def _give_up_waiting(self, child: Child, due_s: float, limit_s: float) -> None:
        loop = asyncio.get_running_loop()
        if self.state is not EngineState.STARTING or self._child is not child:
            return
        if loop.time() > due_s + _STOOD_STILL_S:
            # We stood still, not the server; its greeting may be there and only be unread.
            loop.call_later(_GRACE_S, self._give_up_waiting, child, math.inf, limit_s)
        else:
            _log.warning("%s did not answer initialize within %.0f s and is ended", self.name, limit_s)
            child.kill()

    def _greeted(self, reply: asyncio.Future[Any]) -> None:
        client = self._client
        if client is None or reply.cancelled() or reply.exception() is not None:
            return  # `_live_once` sees the end of the output and says so.
        result = reply.result() if isinstance(reply.result(), dict) else {}
        self.capabilities = result.get("capabilities") or {}
        encoding = self.capabilities.get("positionEncoding", "utf-16")
        self._mirror = Mirror(encoding if encoding in ("utf-8", "utf-16", "utf-32") else "utf-16")
        client.notify("initialized", {})
        self.warm_up(client)
        self._set_state(EngineState.READY)
        self._became_ready.set()

    def warm_up(self, client: LspClient) -> None:
        """Ask for what each first answer needs, now that it has nothing else to do. For those that can."""

    def _answer(self, method: str, params: Any) -> Any:
        """Answer its own requests."""
        match method:
            case "workspace/configuration":
                return [None for _ in (params or {}).get("items", ())]
            case "client/registerCapability" | "client/unregisterCapability" | "window/workDoneProgress/create":
                return None
            case "workspace/diagnostic/refresh" | "workspace/semanticTokens/refresh" | "workspace/inlayHint/refresh":
                return None
        raise LookupError(method)

    def _notified(self, method: str, params: Any) -> None:
        """Keep what it would tell a person; our own state says what matters of it."""
        if method in ("window/showMessage", "window/logMessage") and isinstance(params, dict):
            _log.warning("%s says: %s", self.name, str(params.get("message"))[:_LONGEST_WORDS])

    def _set_state(self, state: EngineState, message: str | None = None) -> None:
        if (state, message) == (self.state, self.message):
            return
        self.state, self.message = state, message
        if self._state_changed is not None:
            self._state_changed()

    # ---- asking -----------------------------------------------------------------------------------------------------

    async def ready(self) -> None:
        """Wait until it can be asked; without end where it cannot be started, so give it a time limit."""
        await self._became_ready.wait()

    async def idle(self) -> None:
        """Wait until it has answered everything."""
        if self._client is not None:
            await self._client.idle()

    @property
    def encoding(self) -> Encoding:
        """The encoding of positions in what it answers."""
        return self._mirror.encoding if self._mirror is not None else "utf-16"

    def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        about: str | None = None,
        instead: tuple[str, Text] | None = None,
        decoder: msgspec.json.Decoder[Any] | None = None,
    ) -> Reply:
        """Bring its texts up to ours and send a request; cancelling the reply cancels the work.

        Texts that earlier requests are about stay as they are until those are answered, as a change would make the
        server begin anew; only the text that this request is about is always the newest.

        Args:
            about: The identity of the document that it is about.
            instead: See `Mirror.update`.

        Raises:
            EngineUnavailableError: it does not run or is not ready yet.
            EngineAnswerError: it is not one to be asked about this document (`takes`).
        """
        client, mirror = self._client, self._mirror
        if client is None or mirror is None:
            raise EngineUnavailableError(self.name, self.message or "it is being started")
        if about is not None and not self.takes(about):
            raise EngineAnswerError(self.name, method, 0, f"it is not asked about {about!a}")
        held = [key for key in self._asked_about if key != about]
        # One that does not know notebooks is given each cell as a text of its own.
        notebooks = self.notebooks() if self.capabilities.get("notebookDocumentSync") else ()
        documents = {key: document for key, document in self._documents().items() if self.takes(key)}
        messages = mirror.update(documents, instead=instead, held=held, language=self.language, notebooks=notebooks)
        for name, body in messages:
            client.notify(name, body)
        reply = client.request(method, params, decoder=decoder)
        if self._stillness is not None:
            self._stillness.asked()
        if about is not None and not reply.done():
            self._watch(reply, about, mirror)
        return reply

    def takes(self, key: str) -> bool:
        """Return whether it can be told of a document, going by its identity.

        A single name that a server cannot take ends many of them, and again each time that they are started.
        """
        return names_something(key) and is_unicode(key)

    def _watch(self, reply: Reply, about: str, mirror: Mirror) -> None:
        asked_version = mirror.version(about)
        self._asked_about[about] += 1

        def answered() -> None:
            reply.disturbed = mirror.version(about) != asked_version

        def ended(_: object) -> None:
            self._asked_about[about] -= 1
            if self._asked_about[about] <= 0:
                del self._asked_about[about]

        reply.before_done = answered
        reply.add_done_callback(ended)

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification; nothing happens where it is not ready."""
        if self._client is not None and self._mirror is not None:
            self._client.notify(method, params)


def _ping(client: LspClient) -> None:
    reply = client.request(_PING, {})
    reply.add_done_callback(lambda told: told.cancelled() or told.exception())  # Whatever it says, it lives.


def _missing(error: ProgramMissingError) -> str:
    return say("cannot start {program!r}: {reason}", program=error.program, reason=error.reason)


def _initialize_params(launch: ServerLaunch) -> dict[str, Any]:
    folders = [{"uri": uri, "name": uri.rstrip("/").rpartition("/")[2]} for uri in launch.roots]
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "headway"},
        "rootUri": launch.roots[0] if launch.roots else None,
        "workspaceFolders": folders or None,
        "capabilities": {
            "general": {"positionEncodings": list(dict.fromkeys([launch.encoding, "utf-16"]))},
            **launch.capabilities,
            "workspace": {
                "workspaceFolders": True,
                "didChangeWatchedFiles": {"dynamicRegistration": True},
                **launch.capabilities.get("workspace", {}),
            },
        },
        "initializationOptions": launch.options,
    }
