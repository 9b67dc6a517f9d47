"""`ty server` as a child: the engine that knows types.

It is started once, is given our texts just before it is asked (`mirror`), and is started again with growing delays when
it ends by itself. It reads the workspace and its environment as data; `untrustedWorkspace` is set so that it runs no
other program of it either. Its own search for importable names is off: it looks through every module for each key.
"""

from __future__ import annotations

import asyncio
import enum
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from headway.engines.client import FramingError, LspClient, Reply
from headway.engines.errors import EngineError, EngineUnavailableError
from headway.engines.mirror import LONGEST_TEXT, Encoding, Mirror, own_position, wire_position
from headway.scheduler.executors.children import Child, PriorityClass, ProgramMissingError, RestartDelay
from headway.workspace.documents import Document
from headway.workspace.text import Position, Text

_log = logging.getLogger(__name__)
_READ_BYTES = 1 << 18
_HANDSHAKE_LIMIT_S = 20.0
_GRACE_S = 0.5
_WORTH_WAITING_S = 1.0  # nobody waits for a restart that is further away
_NAME = "ty"


class EngineState(enum.StrEnum):
    """`OFF`: not started or closed. `FAILED`: it cannot be started, or ended; it may come back (see `message`)."""

    OFF = "off"
    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


class TyItem(msgspec.Struct, frozen=True):
    """One completion as ty gives it; what we do not use is skipped while decoding."""

    label: str
    kind: int = 1
    detail: str | None = None
    documentation: msgspec.Raw = msgspec.Raw()
    insertText: str | None = None  # noqa: N815 - LSP's name
    tags: list[int] | None = None


class TyList(msgspec.Struct, frozen=True):
    """A completion list of ty, best first."""

    items: list[TyItem] = []


_COMPLETIONS = msgspec.json.Decoder(TyList | None)


class _Markup(msgspec.Struct):
    value: str = ""


_DOCUMENTATION = msgspec.json.Decoder(str | _Markup)


def documentation(item: TyItem) -> str | None:
    """Return an item's documentation as Markdown."""
    if not bytes(item.documentation):
        return None
    try:
        found = _DOCUMENTATION.decode(item.documentation)
    except msgspec.DecodeError:
        return None
    return found.value if isinstance(found, _Markup) else found


@dataclass(frozen=True, slots=True, kw_only=True)
class TyLaunch:
    """How ty is started. `python`: the environment whose packages it reads, as data; `parallelism`: its threads."""

    program: str
    roots: tuple[str, ...]  # file URIs of the workspace's folders
    cwd: Path
    env: Mapping[str, str]
    python: str | None = None
    encoding: Encoding = "utf-16"
    parallelism: int | None = None


class TyEngine:
    """The one ty of the sidecar. All methods are called on the event loop.

    Args:
        documents: Gives the open documents by identity, at any time.
        state_changed: Is told when `state` or `message` is new.
    """

    def __init__(
        self, documents: Callable[[], Mapping[str, Document]], state_changed: Callable[[], None] | None = None
    ) -> None:
        self._documents = documents
        self._state_changed = state_changed
        self.state = EngineState.OFF
        self.message: str | None = None
        self.capabilities: Mapping[str, Any] = {}
        self._client: LspClient | None = None
        self._child: Child | None = None
        self._mirror: Mirror | None = None
        self._became_ready = asyncio.Event()
        self.restarts = 0
        self.coming = False  # whether waiting for `ready` may be of use

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

    async def run(self, launch: TyLaunch) -> None:
        """Keep ty running until this is cancelled; then its process is gone when this returns.

        Returns early only where the program cannot be started at all: `message` says why.
        """
        delay = RestartDelay(first_s=0.2)
        self.coming = True
        try:
            while True:
                self._set_state(EngineState.STARTING)
                try:
                    ran_s = await self._live_once(launch)
                except ProgramMissingError as error:
                    self._set_state(EngineState.FAILED, f"{error}. Completions come from the index and the open text.")
                    return
                wait_s = delay.ended(ran_s)
                self.restarts += 1
                self.coming = wait_s < _WORTH_WAITING_S
                self._set_state(
                    EngineState.FAILED,
                    f"ty ended unexpectedly and is started again in {wait_s:.1f} s. See the log for its last words.",
                )
                await asyncio.sleep(wait_s)
                self.coming = True
        except asyncio.CancelledError:
            self._set_state(EngineState.OFF)
            raise
        finally:
            self.coming = False

    async def _live_once(self, launch: TyLaunch) -> float:
        """Start it, speak to it until it ends, and return how long it lived."""
        loop = asyncio.get_running_loop()
        env = {**launch.env, "TY_LOG": "warn"}
        if launch.parallelism is not None:
            env["TY_MAX_PARALLELISM"] = str(launch.parallelism)
        child = Child(
            [launch.program, "server"], name=_NAME, cwd=launch.cwd, env=env, priority_class=PriorityClass.INTERACTIVE
        )
        began_s = loop.time()
        await child.start()
        self._child = child
        client = LspClient(_NAME, child.stdin.write, answer=self._answer)
        self._client = client
        handshake = client.request("initialize", _initialize_params(launch))
        handshake.add_done_callback(lambda reply: self._greeted(reply, launch))
        limit = loop.call_later(_HANDSHAKE_LIMIT_S, self._give_up_waiting, child)
        reason = "it ended"
        try:
            while data := await child.stdout.read(_READ_BYTES):
                client.feed(data)
        except FramingError as error:
            reason = str(error)
            _log.warning("ty wrote what is no message: %s", error)
        finally:
            limit.cancel()
            self._became_ready.clear()
            self._client = None
            self._mirror = None
            client.closed(reason)
            await child.terminate(_GRACE_S)
            self._child = None
        for line in child.stderr_tail[-20:]:
            _log.warning("ty: %s", line)
        return loop.time() - began_s

    def _give_up_waiting(self, child: Child) -> None:
        if self.state is EngineState.STARTING:
            _log.warning("ty did not answer initialize within %.0f s and is ended", _HANDSHAKE_LIMIT_S)
            child.kill()

    def _greeted(self, reply: asyncio.Future[Any], launch: TyLaunch) -> None:
        client = self._client
        if client is None or reply.cancelled() or reply.exception() is not None:
            return  # `_live_once` sees the end of the output and says so.
        result = reply.result() if isinstance(reply.result(), dict) else {}
        self.capabilities = result.get("capabilities") or {}
        encoding = self.capabilities.get("positionEncoding", "utf-16")
        self._mirror = Mirror(encoding if encoding in ("utf-8", "utf-16", "utf-32") else "utf-16")
        client.notify("initialized", {})
        self._set_state(EngineState.READY)
        self._became_ready.set()

    def _answer(self, method: str, params: Any) -> Any:
        """Answer ty's own requests."""
        match method:
            case "workspace/configuration":
                return [None for _ in (params or {}).get("items", ())]
            case "client/registerCapability" | "client/unregisterCapability" | "window/workDoneProgress/create":
                return None
            case "workspace/diagnostic/refresh" | "workspace/semanticTokens/refresh" | "workspace/inlayHint/refresh":
                return None
        raise LookupError(method)

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

    @property
    def encoding(self) -> Encoding:
        """The encoding of positions in what it answers."""
        return self._mirror.encoding if self._mirror is not None else "utf-16"

    def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        instead: tuple[str, Text] | None = None,
        decoder: msgspec.json.Decoder[Any] | None = None,
    ) -> Reply:
        """Bring its texts up to ours and send a request; cancelling the reply cancels the work.

        Raises:
            EngineUnavailableError: it does not run or is not ready yet.
        """
        client, mirror = self._client, self._mirror
        if client is None or mirror is None:
            raise EngineUnavailableError(_NAME, self.message or "it is being started")
        for name, body in mirror.update(self._documents(), instead=instead):
            client.notify(name, body)
        return client.request(method, params, decoder=decoder)

    def complete(self, key: str, document: Document, position: Position, *, word_end: Position) -> Reply:
        """Ask for completions; the result is a `TyList` or None.

        What stands between the cursor and the end of its word is left out of the text that ty sees, as it gives
        nothing for a cursor inside of a member's name.

        Raises:
            EngineUnavailableError: it does not run or is not ready yet.
        """
        text = document.content
        if word_end > position:
            cut, end = text.offset_at(position), text.offset_at(word_end)
            whole = str(text)
            text = Text(whole[:cut] + whole[end:])
        params = {
            "textDocument": {"uri": document.uri},
            "position": wire_position(document, position, self.encoding),
            "context": {"triggerKind": 1},
        }
        if len(text) > LONGEST_TEXT:
            raise EngineUnavailableError(_NAME, "the text is too long for it")
        return self.ask("textDocument/completion", params, instead=(key, text), decoder=_COMPLETIONS)

    def files_changed(self, changes: Sequence[tuple[str, int]]) -> None:
        """Tell it of files that were created (1), changed (2) or deleted (3) on disk, by URI."""
        if self._client is not None and self._mirror is not None and changes:
            events = [{"uri": uri, "type": kind} for uri, kind in changes]
            self._client.notify("workspace/didChangeWatchedFiles", {"changes": events})

    def position(self, document: Document, line: int, character: int) -> Position:
        """Return a position in one of its answers as one of ours."""
        return own_position(document, line, character, self.encoding)


def _initialize_params(launch: TyLaunch) -> dict[str, Any]:
    options: dict[str, Any] = {
        "completions": {"autoImport": False},
        "diagnosticMode": "off",
        "untrustedWorkspace": True,
    }
    if launch.python is not None:
        options["configuration"] = {"environment": {"python": launch.python}}
    folders = [{"uri": uri, "name": uri.rstrip("/").rpartition("/")[2]} for uri in launch.roots]
    text_document = {
        "completion": {"completionItem": {"documentationFormat": ["markdown"], "tagSupport": {"valueSet": [1]}}},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "signatureHelp": {
            "signatureInformation": {
                "documentationFormat": ["markdown", "plaintext"],
                "parameterInformation": {"labelOffsetSupport": False},
                "activeParameterSupport": True,
            }
        },
        "definition": {"linkSupport": False},
        "declaration": {"linkSupport": False},
        "typeDefinition": {"linkSupport": False},
        "rename": {"prepareSupport": True},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "semanticTokens": {
            "requests": {"full": True, "range": True},
            "formats": ["relative"],
            "tokenTypes": [],
            "tokenModifiers": [],
        },
        "foldingRange": {},
    }
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "headway"},
        "rootUri": launch.roots[0] if launch.roots else None,
        "workspaceFolders": folders or None,
        "capabilities": {
            "general": {"positionEncodings": list(dict.fromkeys([launch.encoding, "utf-16"]))},
            "workspace": {"workspaceFolders": True, "didChangeWatchedFiles": {"dynamicRegistration": True}},
            "textDocument": text_document,
        },
        "initializationOptions": options,
    }


__all__ = ["EngineError", "EngineState", "TyEngine", "TyItem", "TyLaunch", "TyList", "documentation"]
