"""The handlers of the language features: decode, call the session's rooms, encode."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from headway.lsp.capabilities import ClientCapabilities
from headway.lsp.client import Client
from headway.lsp.completion import completion_list, resolved_item
from headway.lsp.connection import Connection
from headway.lsp.convert import Converter, Json, Lines
from headway.lsp.messages import Encoded, encoded
from headway.lsp.tongue import Tongue
from headway.session.arguments import Arguments
from headway.session.navigating import POSITIONED, WAYS
from headway.session.rooms import Rooms
from headway.session.session import Session
from headway.workspace.documents import Document
from headway.workspace.symbols import Found
from headway.workspace.text import Position

if TYPE_CHECKING:
    from headway.lsp.by_name_requests import ByNameRequests
    from headway.lsp.mending_requests import MendingRequests
    from headway.lsp.workspace_diagnostic import WorkspaceDiagnostic


class LanguageRequests:
    """Handlers of one session's language requests.

    What a request is about is settled when it is read: by the time its work begins, later changes may have been taken.
    """

    def __init__(
        self,
        session: Session,
        rooms: Rooms,
        *,
        client: Client,
        capabilities: ClientCapabilities,
        converter: Converter,
        location: Callable[[Found], Json],
        uri_of: Callable[[str], str],
        tongue: Tongue,
    ) -> None:
        self._session = session
        self._rooms = rooms
        self._client = client
        self._capabilities = capabilities
        self._converter = converter
        self._location = location
        self._uri_of = uri_of
        self._tongue = tongue
        self._by_name: ByNameRequests | None = None
        self._mends: MendingRequests | None = None
        self._whole: WorkspaceDiagnostic | None = None

    def register(self, connection: Connection) -> None:
        """Make these the handlers of a connection."""
        connection.requests.update(
            {
                "textDocument/completion": lambda params: self.completion(params, connection.came_at_s),
                "completionItem/resolve": self.resolve,
            }
        )
        for method in WAYS:
            connection.requests[method] = partial(self._navigate, method)
        connection.requests.update(
            {
                "textDocument/codeAction": lambda params: self._mending().actions(params),
                "codeAction/resolve": lambda params: self._mending().resolve(params),
            }
        )
        for method in ("textDocument/formatting", "textDocument/rangeFormatting"):
            connection.requests[method] = partial(self._format, method)
        if self._capabilities.pulls_diagnostics:
            connection.requests["textDocument/diagnostic"] = self.diagnostic
            connection.requests["workspace/diagnostic"] = lambda params: self._workspace(connection).answer(params)

    def completion(self, params: object, asked_s: float) -> Coroutine[Any, Any, Encoded]:
        uri, position, lines = self._place(params)
        return self._complete(uri, self._session.documents.get(uri), position, lines, asked_s)

    async def _complete(
        self, uri: str, document: Document | None, position: Position, lines: Lines, asked_s: float
    ) -> Encoded:
        found = await self._rooms.completing.complete(uri, position, asked_s=asked_s, sent_for=document)
        return encoded(completion_list(found, uri, lines, self._capabilities, self._converter))

    def resolve(self, params: object) -> Coroutine[Any, Any, Json] | Json:
        read = Arguments(params)
        read.text("label")
        item = dict(read.mapping)
        match item.get("data"):
            case [int(list_id), int(index), *rest]:
                uri = rest[0] if rest and isinstance(rest[0], str) else None
                return self._resolve(item, list_id, index, uri)
            case _:
                return item

    async def _resolve(self, item: dict[str, Any], list_id: int, index: int, uri: str | None) -> Json:
        found = await self._rooms.completing.resolve(list_id, index)
        lines = _no_lines if uri is None else self._lines(uri)
        return resolved_item(item, found, lines, self._capabilities, self._converter)

    def _navigate(self, method: str, params: object) -> Coroutine[Any, Any, Encoded]:
        read = Arguments(params)
        uri = read.inner("textDocument").text("uri")
        place = Position(0, 0)
        if method in POSITIONED:
            place = self._converter.position_in(read.inner("position"), self._lines(uri))
        return self._navigated(method, uri, self._session.documents.get(uri), read.mapping, place)

    async def _navigated(
        self, method: str, uri: str, document: Document | None, params: Mapping[str, Any], place: Position
    ) -> Encoded:
        body = await self._rooms.navigating.ask(method, uri, params, document)
        if body is not None:
            return Encoded(body)
        if self._by_name is None:
            # Not before an engine is away: a start is felt as the wait for the first list.
            from headway.lsp.by_name_requests import ByNameRequests

            self._by_name = ByNameRequests(
                self._session,
                self._rooms.indexing,
                self._capabilities,
                location=self._location,
                uri_of=self._uri_of,
                tongue=self._tongue,
            )
        return encoded(await self._by_name.answer(method, document, params, place))

    def _mending(self) -> MendingRequests:
        if self._mends is None:
            # Not before somebody asks for it: a start is felt as the wait for the first list.
            from headway.lsp.mending_requests import MendingRequests

            self._mends = MendingRequests(self._session, self._rooms, self._capabilities)
        return self._mends

    def _format(self, method: str, params: object) -> Coroutine[Any, Any, list[Json] | None]:
        return self._mending().format(method, params)

    def diagnostic(self, params: object) -> Coroutine[Any, Any, Json]:
        uri = Arguments(params).inner("textDocument").text("uri")
        return self._pull(uri, self._session.documents.get(uri))

    async def _pull(self, uri: str, document: Document | None) -> Json:
        findings = await self._rooms.diagnosing.pull(uri, document)
        return {"kind": "full", "items": self._client.diagnostics(document, findings)}

    def _workspace(self, connection: Connection) -> WorkspaceDiagnostic:
        if self._whole is None:
            # Not before somebody asks for it, as above.
            from headway.lsp.workspace_diagnostic import WorkspaceDiagnostic
            from headway.session.workspace_pull import WorkspacePull

            diagnosing = self._rooms.diagnosing
            pull = WorkspacePull(self._session, diagnosing.elsewhere, diagnosing.program)
            self._whole = WorkspaceDiagnostic(connection, self._client, pull)
        return self._whole

    def _place(self, params: object) -> tuple[str, Position, Lines]:
        """Read the document and the position that a request is about."""
        read = Arguments(params)
        uri = read.inner("textDocument").text("uri")
        lines = self._lines(uri)
        return uri, self._converter.position_in(read.inner("position"), lines), lines

    def _lines(self, uri: str) -> Lines:
        document = self._session.documents.get(uri)
        return _no_lines if document is None else document.line


def _no_lines(number: int) -> str:
    return ""
