"""Encodes what is answered by name where no engine can (`session/by_name.py`). Imported with the first such answer."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final

from headway.lsp.capabilities import ClientCapabilities
from headway.lsp.convert import Json
from headway.lsp.negotiation import Encoding
from headway.lsp.tongue import Tongue
from headway.session.arguments import Arguments
from headway.session.by_name import ByName, Told
from headway.session.indexing import Indexing
from headway.session.session import Session
from headway.wording import say
from headway.workspace.documents import Document
from headway.workspace.index import Wide
from headway.workspace.occurrences import Use
from headway.workspace.symbols import Found
from headway.workspace.text import Position

_READ: Final = 2  # DocumentHighlightKind
_WRITE: Final = 3


class ByNameRequests:
    """Answers of one session's requests, by method.

    Args:
        location: Writes where the name of a symbol is, `uri_of` which URI a file has for the client.
    """

    def __init__(
        self,
        session: Session,
        indexing: Indexing,
        capabilities: ClientCapabilities,
        *,
        location: Callable[[Found], Json],
        uri_of: Callable[[str], str],
        tongue: Tongue,
    ) -> None:
        self._session = session
        self._by_name = ByName(session, indexing)
        self._encoding = capabilities.encoding
        self._markdown = capabilities.markup.hover
        self._location = location
        self._uri_of = uri_of
        self._tongue = tongue
        self._answers: Mapping[str, Callable[[Document, Position, Arguments], Coroutine[Any, Any, Any]]] = {
            "textDocument/definition": self._definitions,
            "textDocument/declaration": self._definitions,
            "textDocument/typeDefinition": self._types,
            "textDocument/references": self._references,
            "textDocument/documentHighlight": self._highlights,
            "textDocument/foldingRange": self._folds,
            "textDocument/hover": self._hover,
        }

    async def answer(
        self, method: str, document: Document | None, params: Mapping[str, Any], position: Position
    ) -> Any:
        """Return the result of a request; None for a method whose answers need an engine.

        Args:
            document: The text that it is about.

        Raises:
            RequestSupersededError, RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        answer = self._answers.get(method)
        return None if answer is None or document is None else await answer(document, position, Arguments(params))

    async def _definitions(self, document: Document, position: Position, params: Arguments) -> list[Json]:
        bound, found = await self._by_name.definitions(document, position)
        return [*({"uri": document.uri, "range": self._range(use)} for use in bound), *map(self._location, found)]

    async def _types(self, document: Document, position: Position, params: Arguments) -> list[Json]:
        return [self._location(found) for found in await self._by_name.types(document, position)]

    async def _references(self, document: Document, position: Position, params: Arguments) -> list[Json]:
        with_bindings = params.inner("context").flag("includeDeclaration", True) if params.has("context") else True
        found = await self._by_name.references(document, position, with_bindings=with_bindings)
        return [{"uri": self._uri(file.path), "range": self._range(use)} for file in found for use in file.uses]

    async def _highlights(self, document: Document, position: Position, params: Arguments) -> list[Json]:
        uses = await self._by_name.highlights(document, position)
        return [{"range": self._range(use), "kind": _WRITE if use.binds else _READ} for use in uses]

    async def _folds(self, document: Document, position: Position, params: Arguments) -> list[Json] | None:
        folds = await self._by_name.folds(document)
        if folds is None:
            return None
        return [
            {"startLine": fold.start_line, "endLine": fold.end_line, **({"kind": fold.kind} if fold.kind else {})}
            for fold in folds
        ]

    async def _hover(self, document: Document, position: Position, params: Arguments) -> Json | None:
        told = await self._by_name.hover(document, position)
        if told is None:
            return None
        parts = self._said(told, document.language)
        value = "\n\n".join(parts)
        use = Use(told.range, wide=Wide.of([_before(document.line, place) for place in _ends(told)]))
        kind = "markdown" if self._markdown else "plaintext"
        return {"contents": {"kind": kind, "value": value}, "range": self._range(use)}

    def _said(self, told: Told, language: str) -> Sequence[str]:
        if not told.definitions:
            return [
                self._code(told.line, language),
                self._note(say("By name, from this text: no engine can tell more.")),
            ]
        parts: list[str] = []
        for found, definition in told.definitions:
            code, doc = definition.detail or definition.name, definition.doc
            parts += [self._code(code, language), *([doc] if doc else []), self._note(found.symbol.path)]
        if told.more:
            parts.append(self._note(say("{count} more of this name", count=told.more)))
        parts.append(self._note(say("By name, from the index: no engine can tell more.")))
        return parts

    def _code(self, text: str, language: str) -> str:
        return f"```{language}\n{text}\n```" if self._markdown else text

    def _note(self, text: str) -> str:
        told = self._tongue.tell(text)
        return f"*{told}*" if self._markdown else told

    def _uri(self, path: str) -> str:
        return path if self._session.documents.get(path) is not None else self._uri_of(path)

    def _range(self, use: Use) -> Json:
        start, end = use.range.start, use.range.end
        more: Sequence[int] = (0, 0, 0, 0)
        if use.wide is not None and self._encoding is not Encoding.UTF32:
            read = Wide.read(use.wide)
            more = read.utf16 if self._encoding is Encoding.UTF16 else read.utf8
        return {
            "start": {"line": start.line, "character": start.column + more[0]},
            "end": {"line": end.line, "character": end.column + more[1]},
        }


def _ends(told: Told) -> tuple[Position, ...]:
    return (told.range.start, told.range.end) * 2


def _before(line: Callable[[int], str], place: Position) -> str:
    return line(place.line)[: place.column]
