"""The handlers of quick fixes and formatting: decode, call the session, encode. Imported with the first of them."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any

from headway.lsp.capabilities import ClientCapabilities
from headway.lsp.convert import Json
from headway.session.arguments import Arguments
from headway.session.mending import EditAbilities, Mending
from headway.session.other_edits import OtherEdits
from headway.session.rooms import Rooms
from headway.session.session import Session
from headway.session.type_fixes import TypeFixes


class MendingRequests:
    """Handlers of one session's requests for edits.

    What a request is about is settled when it is read: by the time its work begins, later changes may have been taken.
    """

    def __init__(self, session: Session, rooms: Rooms, capabilities: ClientCapabilities) -> None:
        self._session = session
        abilities = EditAbilities(versions=capabilities.versioned_edits, later=capabilities.resolves_actions)
        types = rooms.diagnosing.types
        fixes = None if types is None else TypeFixes(session, rooms.navigating.engine, types)
        self._mending = Mending(session, rooms.diagnosing.ruff, abilities, fixes)
        encoding = capabilities.encoding.value
        self._others = OtherEdits(session, rooms.others, encoding, later=capabilities.resolves_actions)

    def format(self, method: str, params: object) -> Coroutine[Any, Any, list[Json] | None]:
        read = Arguments(params)
        if method == "textDocument/rangeFormatting":
            _range(read)
        uri = read.inner("textDocument").text("uri")
        document = self._session.documents.get(uri)
        if document is not None and document.language != "python":
            return self._others.format(method, document, read.mapping)
        return self._mending.format(method, uri, read.mapping, document)

    def actions(self, params: object) -> Coroutine[Any, Any, list[Json]]:
        read = Arguments(params)
        _range(read)
        _context(read)
        uri = read.inner("textDocument").text("uri")
        document = self._session.documents.get(uri)
        if document is not None and document.language != "python":
            return self._others.actions(document, read.mapping)
        return self._mending.actions(uri, read.mapping, document)

    def resolve(self, params: object) -> Coroutine[Any, Any, Json]:
        read = Arguments(params)
        read.text("title")
        return self._resolve(read.mapping)

    async def _resolve(self, action: Mapping[str, Any]) -> Json:
        others = await self._others.resolve(action)
        return await self._mending.resolve(action) if others is None else others


def _range(read: Arguments) -> None:
    """See that a request is about a range; its numbers go on to ruff, which counts as the client does."""
    for end in ("start", "end"):
        place = read.inner("range").inner(end)
        place.integer("line")
        place.integer("character")


def _context(read: Arguments) -> None:
    """See that what a client says about its question, if it does, is of LSP's types: it goes on to ruff and ty."""
    if not read.has("context"):
        return
    context = read.inner("context")
    context.texts("only")
    context.integer("triggerKind", 1)
    for finding in context.each("diagnostics"):
        _range(finding)
