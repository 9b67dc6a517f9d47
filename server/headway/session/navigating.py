"""Requests about code that ty answers: hover, signatures, definitions, references, renaming, highlighting.

Each is a job of its class. ty was asked to count columns as the client does, so parameters and answers are LSP's own
JSON and pass through as they are: a list of 5,000 references is neither decoded nor encoded on the loop.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from headway.engines.errors import EngineAnswerError, EngineError, EngineUnavailableError
from headway.engines.legend import TOKEN_MODIFIERS, TOKEN_TYPES
from headway.engines.server import LanguageServer
from headway.scheduler.model import Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.jobs import RequestSupersededError, value_of
from headway.session.other_engines import OtherEngines
from headway.session.ports import Room, SessionContext
from headway.session.python_engine import PythonEngine
from headway.workspace.documents import Document
from headway.workspace.uris import identity

_COST = Requirement(cpu_cores=0.0, memory_mb=1)  # others compute; nothing is to wait for a core here
_RAW = msgspec.json.Decoder(msgspec.Raw)
_STALE_ANSWERS = 4


class _Stale(enum.Enum):
    """The texts kept changing while ty was working."""

    STALE = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How a request is treated. `newest_only`: a newer one for the same document takes its place.

    `provider`: what a server's capabilities call it, where another engine than ty may be asked.
    """

    priority: Priority
    limit_s: float
    newest_only: bool = False
    searches: bool = False  # looks through the whole workspace
    provider: str | None = None
    edits: bool = False  # an answer for another text than the present one would do damage


_CRITICAL, _HIGH = Priority.CRITICAL, Priority.HIGH
WAYS: Mapping[str, _Way] = {
    "textDocument/hover": _Way(priority=_CRITICAL, limit_s=5, newest_only=True, provider="hoverProvider"),
    "textDocument/signatureHelp": _Way(
        priority=_CRITICAL, limit_s=5, newest_only=True, provider="signatureHelpProvider"
    ),
    "textDocument/definition": _Way(priority=_HIGH, limit_s=10, provider="definitionProvider"),
    "textDocument/declaration": _Way(priority=_HIGH, limit_s=10, provider="declarationProvider"),
    "textDocument/typeDefinition": _Way(priority=_HIGH, limit_s=10, provider="typeDefinitionProvider"),
    "textDocument/implementation": _Way(priority=_HIGH, limit_s=60, searches=True, provider="implementationProvider"),
    "textDocument/references": _Way(priority=_HIGH, limit_s=60, searches=True, provider="referencesProvider"),
    "textDocument/prepareRename": _Way(priority=_HIGH, limit_s=10, provider="renameProvider", edits=True),
    "textDocument/rename": _Way(priority=_HIGH, limit_s=60, searches=True, provider="renameProvider", edits=True),
    "textDocument/documentHighlight": _Way(
        priority=_HIGH, limit_s=5, newest_only=True, provider="documentHighlightProvider"
    ),
    "textDocument/foldingRange": _Way(priority=_HIGH, limit_s=5, newest_only=True, provider="foldingRangeProvider"),
    "textDocument/selectionRange": _Way(priority=_HIGH, limit_s=5, provider="selectionRangeProvider"),
    "textDocument/semanticTokens/full": _Way(priority=_HIGH, limit_s=10, newest_only=True),
    "textDocument/semanticTokens/range": _Way(priority=_HIGH, limit_s=10, newest_only=True),
}
# Those that are about a place: a position without line and character is the caller's mistake.
POSITIONED = frozenset(WAYS) - {
    "textDocument/foldingRange",
    "textDocument/selectionRange",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/range",
}


class Navigating(Room):
    """Passes such requests to the right ty, as jobs.

    Args:
        others: The language servers of other languages.
    """

    def __init__(
        self,
        context: SessionContext,
        engine: PythonEngine,
        others: OtherEngines | None = None,
    ) -> None:
        self._context = context
        self.engine = engine
        self._others = others
        self._encoding = engine.encoding

    async def ask(
        self, method: str, uri: str, params: Mapping[str, Any], sent_for: Document | None = None
    ) -> bytes | None:
        """Return the result of a request of `WAYS` as JSON; None where ty is away or the document is no Python.

        Args:
            uri: The document that it is about.
            params: As the client sent them.
            sent_for: The text that they are about; None: the present one.

        Raises:
            RequestSupersededError: a newer request took its place, or the text that it is about is another by now and
                was so before there was an answer.
            RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        way = WAYS[method]
        document = sent_for or self._context.documents.get(uri)
        server: LanguageServer | None
        if document is not None and document.language != "python":
            server = None if self._others is None else self._others.engine(document.language)
            if server is None:
                return None
        elif way.searches:
            self.engine.need_searcher()
            server = self.engine.searcher
        else:
            server = self.engine.ty
        handle = self._context.scheduler.run(
            self._answer,
            server,
            method,
            identity(uri),
            document,
            params,
            priority=way.priority,
            name=method.partition("/")[2],
            kind=TaskKind.COROUTINE,
            requirement=_COST,
            supersede_key=(method, identity(uri)) if way.newest_only else None,
            timeout=TimeoutPolicy(hard_s=way.limit_s + 2),
        )
        result: bytes | _Stale | None = await value_of(handle)
        if isinstance(result, _Stale):
            raise RequestSupersededError(f"the text changed while {method} was being answered")
        return result

    async def _answer(
        self, server: LanguageServer, method: str, key: str, document: Document | None, params: Mapping[str, Any]
    ) -> bytes | _Stale | None:
        try:
            async with asyncio.timeout(WAYS[method].limit_s):
                return await self._asked(server, method, key, document, params)
        except (TimeoutError, EngineError):
            return None

    def _can(self, server: LanguageServer, method: str) -> bool:
        """Whether a server that is ready can be asked, and its answer passed on as it is."""
        if server.encoding != self._encoding:
            return False
        provider = WAYS[method].provider
        if provider is None:
            tokens = server.capabilities.get("semanticTokensProvider")
            # Ranges are asked for by who can do with less; the whole is then asked for as well.
            return isinstance(tokens, dict) and bool(tokens.get(method.rpartition("/")[2]))
        return bool(server.capabilities.get(provider))

    async def _asked(
        self, server: LanguageServer, method: str, key: str, document: Document | None, params: Mapping[str, Any]
    ) -> bytes | _Stale | None:
        way = WAYS[method]
        sent_for = None if document is None else (key, document.content)
        has_died = False  # whenever it was asked last
        for attempt in range(_STALE_ANSWERS):
            if not server.coming:
                return None
            await server.ready()
            if not self._can(server, method):
                return None
            # What the editor asks again by itself, and what has to do with edits, is not answered for a text that has
            # passed; the rest is, once: putting the old text before the engine again and again would hold up the new.
            if self._has_changed(key, document) and (attempt or way.newest_only or way.edits):
                return _Stale.STALE
            try:
                reply = server.ask(method, params, about=key, instead=sent_for, decoder=_RAW)
                raw: msgspec.Raw = await reply
            except EngineUnavailableError:
                has_died = True  # If it is on its way back within a moment, it is asked again.
                continue
            except EngineAnswerError as error:
                has_died = False
                if not error.stale:
                    raise
            else:
                has_died = False
                if reply.disturbed:
                    continue  # It is about a text that came later.
                if way.edits and self._has_changed(key, document):
                    return _Stale.STALE
                return bytes(raw) if way.provider is not None else _in_our_legend(bytes(raw), server)
        return None if has_died else _Stale.STALE

    def _has_changed(self, key: str, document: Document | None) -> bool:
        current = self._context.documents.at_path(key)
        return document is not None and current is not None and current.content is not document.content


def _in_our_legend(body: bytes, server: LanguageServer) -> bytes:
    """Return semantic tokens in the numbers that the client was told, which are those of ty's legend."""
    legend = server.capabilities["semanticTokensProvider"].get("legend") or {}
    types, modifiers = legend.get("tokenTypes") or (), legend.get("tokenModifiers") or ()
    if list(types) == list(TOKEN_TYPES) and list(modifiers) == list(TOKEN_MODIFIERS):
        return body
    from headway.features.tokens import translated  # Who has ty alone needs none of it.

    tokens = msgspec.json.decode(body)
    data = tokens.get("data") if isinstance(tokens, dict) else None
    if not isinstance(data, list):
        return b"null"
    return msgspec.json.encode({"data": translated(data, types, modifiers, TOKEN_TYPES, TOKEN_MODIFIERS)})
