"""Answers about code from the text and the index, for the time in which no engine can give any.

By names and scopes only (`workspace/bindings.py`): what a receiver is, or which of several definitions is meant, is not
known here, and nobody is told otherwise. Renaming is left alone for that reason. A text is parsed in a worker process;
files that may use a name are read there, some at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headway.scheduler.model import Requirement, TaskKind, TimeoutPolicy
from headway.session.indexing import Indexing
from headway.session.jobs import value_of
from headway.session.navigating import WAYS
from headway.session.ports import SessionContext
from headway.workspace.database import StoreError
from headway.workspace.documents import Document
from headway.workspace.index import Definition, SymbolKind, file_name, suffixes_of
from headway.workspace.occurrences import FileUses, Fold, Meant, Sort, Use, folds_of, meant_at, uses_in
from headway.workspace.python_text import place_at
from headway.workspace.store import Store
from headway.workspace.symbols import Found
from headway.workspace.text import Position, Range
from headway.workspace.uris import identity, uri_to_path

_log = logging.getLogger(__name__)

MOST_TOLD: Final = 3  # definitions of one name that a hover shows
_MOST_BY_NAME: Final = 20
_MOST_REFERENCES: Final = 10_000
_FILES_AT_A_TIME: Final = 100
_LONGEST_TEXT: Final = 2_000_000
_PARSING: Final = Requirement(cpu_cores=0.1, memory_mb=150)
_READING: Final = Requirement(cpu_cores=0.0, memory_mb=1)
_TYPES: Final = frozenset({SymbolKind.CLASS, SymbolKind.STRUCT, SymbolKind.INTERFACE, SymbolKind.ENUM})


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a hover says: definitions of the name with the files they stand in, or the line that binds it.

    `more`: so many further definitions of the same name there are, at least.
    """

    range: Range
    line: str = ""
    definitions: tuple[tuple[Found, Definition], ...] = ()
    more: int = 0


class ByName:
    """Answers by name, as jobs of their methods' classes. Documents are the texts that requests are about."""

    def __init__(self, context: SessionContext, indexing: Indexing) -> None:
        self._context = context
        self._indexing = indexing

    async def highlights(self, document: Document, position: Position) -> Sequence[Use]:
        """Return the uses of what is meant at a place in its document."""
        meant = await self._meant("textDocument/documentHighlight", document, position)
        return () if meant is None else meant.uses

    async def folds(self, document: Document) -> Sequence[Fold] | None:
        """Return what can be folded; None where that cannot be told."""
        if len(document.content) > _LONGEST_TEXT:
            return None
        way = "textDocument/foldingRange"
        found: Sequence[Fold] | None = await self._run(
            way, folds_of, _name(document), document.text, document.language, key=identity(document.uri)
        )
        return found

    async def definitions(self, document: Document, position: Position) -> tuple[Sequence[Use], Sequence[Found]]:
        """Return where a name is bound in its document, where it is a local one, or else what the index has by it."""
        meant = await self._meant("textDocument/definition", document, position)
        bound = () if meant is None else tuple(use for use in meant.uses if use.binds)
        if meant is not None and meant.sort is Sort.LOCAL and bound:
            return bound, ()
        found = self._named(document, position)
        return (() if found else bound), found

    async def types(self, document: Document, position: Position) -> Sequence[Found]:
        """Return the types that the bindings of a name say it has, or the type that it names."""
        meant = await self._meant("textDocument/typeDefinition", document, position)
        if meant is None:
            return ()
        suffixes = suffixes_of(document.language)
        for name in (*meant.types, meant.name):
            found = [
                one for one in self._indexing.view.named(name, _MOST_BY_NAME, suffixes) if one.symbol.kind in _TYPES
            ]
            if found:
                return found
        return ()

    async def references(self, document: Document, position: Position, *, with_bindings: bool) -> Sequence[FileUses]:
        """Return where a name is used: in its document if it is a local one, or else in all files of its language.

        Args:
            with_bindings: Also where it gets its value or its meaning.
        """
        way = "textDocument/references"
        meant = await self._meant(way, document, position)
        if meant is None:
            return ()
        own = _key(document)
        found = [FileUses(own, meant.uses)]
        if meant.sort is not Sort.LOCAL:
            suffixes = suffixes_of(document.language)
            texts = self._open_texts(suffixes)
            paths = [path for path in dict.fromkeys((*texts, *self._indexing.view.files(suffixes))) if path != own]
            owners = self._owners(document, position)
            for first in range(0, len(paths), _FILES_AT_A_TIME):
                some = paths[first : first + _FILES_AT_A_TIME]
                open_ones = {path: texts[path] for path in some if path in texts}
                args = (some, meant.name, meant.sort, owners, self._indexing.read_options, open_ones)
                found += await self._run(way, uses_in, *args)
                if sum(len(file.uses) for file in found) > _MOST_REFERENCES:
                    break
        if with_bindings:
            return found
        return [FileUses(file.path, tuple(use for use in file.uses if not use.binds)) for file in found]

    async def hover(self, document: Document, position: Position) -> Told | None:
        """Return what is known of a name; None where it is none, or nothing is."""
        way = "textDocument/hover"
        meant = await self._meant(way, document, position)
        if meant is None:
            return None
        here = next((use.range for use in meant.uses if use.range.start <= position <= use.range.end), None)
        here = here or Range(position, position)
        if meant.sort is not Sort.LOCAL:
            named = self._named(document, position)
            databases = dict(self._indexing.databases)
            told = (
                await self._run(way, _described, named[:MOST_TOLD], databases, kind=TaskKind.IO_BOUND) if named else ()
            )
            if told:
                return Told(range=here, definitions=tuple(told), more=max(len(named) - MOST_TOLD, 0))
        return Told(range=here, line=meant.line) if meant.line else None

    # ---- parts ------------------------------------------------------------------------------------------------------

    async def _meant(self, method: str, document: Document, position: Position) -> Meant | None:
        if len(document.content) > _LONGEST_TEXT:
            return None
        args = (_name(document), document.text, document.language, position, self._owners(document, position))
        found: Meant | None = await self._run(method, meant_at, *args, key=identity(document.uri))
        return found

    async def _run(
        self,
        method: str,
        call: Callable[..., Any],
        *args: Any,
        key: str | None = None,
        kind: TaskKind = TaskKind.CPU_BOUND,
    ) -> Any:
        way = WAYS[method]
        handle = self._context.scheduler.run(
            call,
            *args,
            priority=way.priority,
            name=f"{method.partition('/')[2]} by name",
            kind=kind,
            requirement=_PARSING if kind is TaskKind.CPU_BOUND else _READING,
            supersede_key=(method, "by name", key) if way.newest_only and key is not None else None,
            timeout=TimeoutPolicy(hard_s=way.limit_s),
        )
        return await value_of(handle)

    def _named(self, document: Document, position: Position) -> Sequence[Found]:
        """Return what the workspace defines under the name at a place, that of the same file first."""
        place = place_at(document.content, position)
        name = document.slice(Range(place.start, place.end))
        suffixes = suffixes_of(document.language)
        if not name or not suffixes:
            return ()
        own = uri_to_path(document.uri)
        found = self._indexing.view.named(name, _MOST_BY_NAME, suffixes)
        return sorted(found, key=lambda one: one.path != own)

    def _owners(self, document: Document, position: Position) -> frozenset[str]:
        """Return the modules that define what the name at a place may be."""
        return frozenset(
            file_name(one.symbol.path) for one in self._named(document, position) if not one.symbol.container
        )

    def _open_texts(self, suffixes: tuple[str, ...]) -> dict[str, tuple[str, str]]:
        documents = self._context.documents.snapshot().values()
        return {_key(one): (one.language, one.text) for one in documents if suffixes_of(one.language) == suffixes}


def _key(document: Document) -> str:
    """Return the path of a document, or its URI where it is no file."""
    return uri_to_path(document.uri) or document.uri


def _name(document: Document) -> str:
    return document.uri.rpartition("/")[2]


def _described(found: Sequence[Found], databases: Mapping[str, str]) -> list[tuple[Found, Definition]]:
    """Return symbols with what the index on disk says of each; in a thread. One that changed meanwhile is left out."""
    told = []
    for one in found:
        database = databases.get(one.root)
        if database is None:
            continue
        try:
            with Store(database, readonly=True) as store:
                known = store.definitions([one.symbol.path]).get(one.symbol.path, ())
        except StoreError as error:
            _log.info("the index of %s cannot be read at the moment: %s", one.root, error)
            continue
        line = one.symbol.selection_range.start.line
        told += [(one, found) for found in known if found.name == one.symbol.name and found.name_line == line][:1]
    return told
