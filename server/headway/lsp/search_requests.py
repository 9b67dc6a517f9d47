"""The handlers of search and of symbols: decode, call the session, encode."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from headway.features.search import Hit
from headway.features.symbols import Outline
from headway.lsp import protocol as wire
from headway.lsp.capabilities import ClientCapabilities
from headway.lsp.connection import Connection
from headway.lsp.convert import Json
from headway.lsp.errors import INVALID_PARAMS, RpcError
from headway.lsp.headway_requests import progress_token
from headway.lsp.negotiation import Encoding
from headway.lsp.progress import Token
from headway.session.arguments import Arguments
from headway.session.searching import MOST_HITS, Searching, SearchQuery
from headway.session.session import Session
from headway.workspace.documents import Document
from headway.workspace.index import Wide
from headway.workspace.scope import KNOWN_LANGUAGES
from headway.workspace.symbols import Found
from headway.workspace.text import Range
from headway.workspace.uris import path_identity, path_to_uri, quoted_path

# SymbolKind of the protocol, by number.
KINDS: Final = (
    *("File", "Module", "Namespace", "Package", "Class", "Method", "Property", "Field", "Constructor", "Enum"),
    *("Interface", "Function", "Variable", "Constant", "String", "Number", "Boolean", "Array", "Object", "Key"),
    *("Null", "EnumMember", "Struct", "Event", "Operator", "TypeParameter"),
)
KIND_NUMBERS: Final = {name: number for number, name in enumerate(KINDS, 1)}
_DEFAULT_LIMIT: Final = 20


class _Parts:
    """What of an answer is sent ahead of it: each hit when it is found, and again where its score has changed."""

    def __init__(self, send: Callable[[Sequence[Hit]], None]) -> None:
        self._send = send
        self._sent: dict[tuple[str, Range, str], Hit] = {}

    @property
    def has_begun(self) -> bool:
        return bool(self._sent)

    def add(self, hits: Sequence[Hit]) -> None:
        """Take what is known by now."""
        news = [hit for hit in hits if self._sent.get((hit.path, hit.selection_range, hit.name)) != hit]
        self._sent.update({(hit.path, hit.selection_range, hit.name): hit for hit in news})
        if news:
            self._send(news)


class SearchRequests:
    """Handlers of one session's searches."""

    def __init__(self, session: Session, searching: Searching, capabilities: ClientCapabilities) -> None:
        self._session = session
        self._searching = searching
        self._encoding = capabilities.encoding
        self._hierarchical = capabilities.hierarchical_symbols
        self._connection: Connection | None = None  # where parts of answers go

    def register(self, connection: Connection) -> None:
        """Make these the handlers of a connection."""
        self._connection = connection
        connection.requests.update(
            {
                wire.SEARCH: self.search,
                "workspace/symbol": self.workspace_symbols,
                "textDocument/documentSymbol": self.document_symbols,
            }
        )

    def search(self, params: object) -> Coroutine[Any, Any, wire.SearchResult]:
        read = Arguments(params)
        token = progress_token(read, "partialResultToken")
        kinds = read.texts("kinds", most=len(KINDS))
        unknown = [kind for kind in kinds if kind not in KIND_NUMBERS]
        if unknown:
            raise RpcError(INVALID_PARAMS, f"kinds: {unknown[0][:60]!r} is none of {', '.join(KINDS)}")
        languages = read.texts("languages", most=len(KNOWN_LANGUAGES))
        if strange := [language for language in languages if language not in KNOWN_LANGUAGES]:
            known = ", ".join(KNOWN_LANGUAGES)
            raise RpcError(INVALID_PARAMS, f"languages: {strange[0][:60]!r} is none of {known}")
        query = SearchQuery(
            text=read.text("query"),
            limit=min(read.integer("limit", _DEFAULT_LIMIT), MOST_HITS),
            path=read.optional_text("path"),
            kinds=frozenset(KIND_NUMBERS[kind] for kind in kinds),
            languages=frozenset(languages),
        )
        return self._search(query, token)

    async def _search(self, query: SearchQuery, token: Token | None) -> wire.SearchResult:
        parts = None if token is None else _Parts(lambda hits: self._send_part(token, hits))
        answer = await self._searching.search(query, None if parts is None else parts.add)
        hits = answer.hits
        if parts is not None and parts.has_begun:
            parts.add(hits)
            hits = ()
        meaning: wire.MeaningInfo = {"state": answer.meaning.state, "coverage": answer.meaning.coverage}
        return {"hits": self._hits(hits), "state": answer.state, "coverage": answer.coverage, "meaning": meaning}

    def _send_part(self, token: Token, hits: Sequence[Hit]) -> None:
        assert self._connection is not None  # only a handler comes here
        self._connection.notify("$/progress", {"token": token, "value": {"hits": self._hits(hits)}})

    def _hits(self, hits: Sequence[Hit]) -> list[wire.SearchHit]:
        return [
            {
                "uri": self.uri_of(hit.path),
                "range": self._ranges(hit.range, hit.selection_range, hit.wide)[0],
                "selectionRange": self._ranges(hit.range, hit.selection_range, hit.wide)[1],
                "name": hit.name,
                "kind": KINDS[hit.kind - 1],
                "container": hit.container or None,
                "score": hit.score,
                "snippet": hit.snippet,
                "why": hit.why,
            }
            for hit in hits
        ]

    def workspace_symbols(self, params: object) -> Coroutine[Any, Any, Sequence[Json]]:
        return self._symbols(Arguments(params).text("query"))

    async def _symbols(self, query: str) -> Sequence[Json]:
        return [
            {
                "name": found.symbol.name,
                "kind": found.symbol.kind,
                "containerName": found.symbol.container or found.module,
                "location": self.location(found),
            }
            for found in await self._searching.workspace_symbols(query)
        ]

    def location(self, found: Found) -> Json:
        """Return where the name of a symbol is, as a Location."""
        symbol = found.symbol
        name = self._ranges(symbol.range, symbol.selection_range, symbol.wide)[1]
        return {"uri": self.uri_of(found.path), "range": name}

    def document_symbols(self, params: object) -> Coroutine[Any, Any, Sequence[Json]]:
        uri = Arguments(params).inner("textDocument").text("uri")
        # The text is settled when the request is read: later changes may be taken before its work begins.
        return self._outline(uri, self._session.documents.get(uri))

    async def _outline(self, uri: str, document: Document | None) -> Sequence[Json]:
        found = await self._searching.document_symbols(uri, document)
        if self._hierarchical:
            return [self._symbol(outline) for outline in found]
        return self._flat(found, uri)

    def _symbol(self, outline: Outline) -> Json:
        definition = outline.definition
        whole, name = self._ranges(definition.range, definition.selection_range, definition.wide)
        return {
            "name": definition.name,
            "kind": definition.kind,
            "detail": definition.detail,
            "range": whole,
            "selectionRange": name,
            "children": [self._symbol(child) for child in outline.children],
        }

    def _flat(self, outlines: Sequence[Outline], uri: str) -> list[Json]:
        flat: list[Json] = []
        waiting = list(reversed(outlines))
        while waiting:
            outline = waiting.pop()
            definition = outline.definition
            whole, _ = self._ranges(definition.range, definition.selection_range, definition.wide)
            flat.append(
                {
                    "name": definition.name,
                    "kind": definition.kind,
                    "containerName": definition.container,
                    "location": {"uri": uri, "range": whole},
                }
            )
            waiting += reversed(outline.children)
        return flat

    # ---- places -----------------------------------------------------------------------------------------------------

    def uri_of(self, path: str) -> str:
        """Return the URI of a file as the client would spell it: of an open document as it did."""
        document = self._session.documents.at_path(path_identity(path))
        if document is not None:
            return document.uri
        for folder in self._session.folders:
            root = f"{folder.path}/" if folder.path is not None else ""
            if root and path.startswith(root):
                return f"{folder.uri.rstrip('/')}/{quoted_path(path[len(root) :])}"
        return path_to_uri(path)

    def _ranges(self, whole: Range, name: Range, wide: Sequence[int] | None) -> tuple[Json, Json]:
        """Return two ranges in the client's encoding; where their text is not at hand, `wide` says what is needed."""
        more: Sequence[int] = (0, 0, 0, 0)
        if wide is not None and self._encoding is not Encoding.UTF32:
            read = Wide.read(wide)
            more = read.utf16 if self._encoding is Encoding.UTF16 else read.utf8
        return _range(whole, more[0], more[1]), _range(name, more[2], more[3])


def _range(range_: Range, more_at_start: int, more_at_end: int) -> Json:
    return {
        "start": {"line": range_.start.line, "character": range_.start.column + more_at_start},
        "end": {"line": range_.end.line, "character": range_.end.column + more_at_end},
    }
