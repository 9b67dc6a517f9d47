"""One word that is being typed, and the names that may stand there: gathered once, ranked anew with each letter."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headway.engines.client import Reply
from headway.engines.errors import EngineAnswerError
from headway.engines.ty import TyItem, listed
from headway.features.completion import Candidate, CandidateKind, Source, Tier
from headway.features.importing import importable
from headway.workspace import python_scope as scope
from headway.workspace.documents import Document
from headway.workspace.index import SymbolKind
from headway.workspace.python_members import STRING, known_members
from headway.workspace.python_text import Place, PlaceKind, place_at
from headway.workspace.symbols import Found, IndexView
from headway.workspace.text import Position, Text

if TYPE_CHECKING:
    from headway.scheduler import JobHandle

# Where ty is asked at the word's beginning: its whole list then serves the word, however it is typed on or taken back.
ASKED_WHOLE = frozenset({PlaceKind.MEMBER, PlaceKind.IMPORTED, PlaceKind.MODULE})
# A longer text is read around the cursor only; all of it would hold the loop up for too long.
LONGEST_READ = 300_000
_LINES_BEFORE, _LINES_BEHIND = 1_500, 300
_STALE_ANSWERS = 3  # how often ty is asked again when texts changed while it was working
_LEAST_PREFIX = 2  # letters before names are offered that need an import first
_MOST_IMPORTS = 40
_PYTHON = (".py", ".pyi", ".pyw")
_KINDS = {
    scope.NameKind.FUNCTION: CandidateKind.FUNCTION,
    scope.NameKind.METHOD: CandidateKind.METHOD,
    scope.NameKind.CLASS: CandidateKind.CLASS,
    scope.NameKind.VARIABLE: CandidateKind.VARIABLE,
    scope.NameKind.FIELD: CandidateKind.FIELD,
    scope.NameKind.MODULE: CandidateKind.MODULE,
}
# A member that this text uses already is nearer than one that it does not.
_USED = (Tier.LOCAL, Tier.MODULE, Tier.ENGINE)
_IMPORTABLE_KINDS = {
    SymbolKind.CLASS: CandidateKind.CLASS,
    SymbolKind.ENUM: CandidateKind.ENUM,
    SymbolKind.FUNCTION: CandidateKind.FUNCTION,
    SymbolKind.CONSTANT: CandidateKind.CONSTANT,
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The part of a text that is read for one place in it: the whole, or of a long text the lines around the place."""

    text: Text
    first_line: int  # of the part, in the whole

    @classmethod
    def of(cls, whole: Text, line: int) -> Surroundings:
        """Return what is read of a text for a place in a line."""
        if len(whole) <= LONGEST_READ:
            return cls(whole, 0)
        first = max(line - _LINES_BEFORE, 0)
        last = min(line + _LINES_BEHIND, whole.line_count)
        return cls(Text("\n".join(whole.line(number) for number in range(first, last))), first)

    def inside(self, position: Position) -> Position:
        """Return a position of the whole text within the part."""
        return Position(position.line - self.first_line, position.column)

    def outside(self, position: Position) -> Position:
        """Return a position within the part in the whole text."""
        return Position(position.line + self.first_line, position.column)

    def place(self, position: Position) -> Place:
        """Return what stands at a position of the whole text."""
        found = place_at(self.text, self.inside(position))
        return replace(found, start=self.outside(found.start), end=self.outside(found.end))


class TypedWord:
    """What may stand at one place.

    Args:
        document: The text when the word was begun.
        around: What of it is read, see `Surroundings`.
        before, after: The text around the word: as long as they are the same, so is the place.
    """

    def __init__(self, document: Document, place: Place, before: str, after: str, around: Surroundings) -> None:
        self.document = document
        self.place = place
        self._around = around
        self.reply: Reply | None = None
        self.engine_items: Sequence[TyItem] = ()
        self.first_request_s: float | None = None  # when somebody first waited for it, on the loop's clock
        self._before = before
        self._after = after
        self._asked_prefix = "" if place.kind in ASKED_WHOLE else place.prefix
        self._times_asked = 0
        self._own: tuple[Source, ...] | None = None
        self.all_here = False  # all names that may stand here stand in this text; known with `own_sources`
        self.modules: asyncio.Future[Sequence[tuple[str, scope.NameKind]]] | None = None  # of a MODULE, from the disk
        self.module: str | None = None  # whose names may stand here; known with `own_sources`
        self.told: asyncio.Future[Sequence[tuple[str, scope.NameKind]] | None] | None = None  # by that module's text
        self._engine: Source | None = None
        self.inference: JobHandle | None = None  # looks for the members that ty does not know
        self.inferences = 0  # how often it was begun
        self.inferred = False  # it has ended, whatever it found

    def serves(self, before: str, after: str, prefix: str) -> bool:
        """Return whether this is the same word, with nothing changed around it."""
        return prefix.startswith(self._asked_prefix) and self._before == before and self._after == after

    # ---- ty ---------------------------------------------------------------------------------------------------------

    def asked(self, reply: Reply | None) -> None:
        """Note that ty was asked, or could not be."""
        self.reply = reply
        self._times_asked += reply is not None

    def requested(self) -> None:
        """Note that somebody waits for it anew: answers that fell to changes for an earlier request do not count."""
        if self.reply is not None and self.reply.done() and self.engine_source() is None:
            self._times_asked = 0

    @property
    def waits(self) -> bool:
        """Whether ty was asked and has not answered yet."""
        return self.reply is not None and not self.reply.done()

    @property
    def to_be_asked(self) -> bool:
        """Whether ty is still to be asked, or again, as its answer fell to a change of texts."""
        if self.reply is None or self.reply.cancelled():
            return True
        if not self.reply.done() or self._times_asked > _STALE_ANSWERS:
            return False
        error = self.reply.exception()
        return self.reply.disturbed if error is None else isinstance(error, EngineAnswerError) and error.stale

    def engine_source(self) -> Source | None:
        """Return what ty offers, None as long as it has not answered or where it cannot."""
        reply = self.reply
        if self._engine is not None or reply is None or not reply.done():
            return self._engine
        if not reply.cancelled() and reply.exception() is None and not reply.disturbed:
            self.engine_items = listed(reply.result())
            self._engine = _engine_source(self.engine_items, self.place, self._around.text)
        return self._engine

    @property
    def nothing_known(self) -> bool:
        """Whether ty has answered that it does not know what stands before the dot: what every object has is there."""
        source = self.engine_source() if self.place.kind is PlaceKind.MEMBER else None
        return source is not None and bool(source.labels) and all(label.startswith("__") for label in source.labels)

    def found(self, items: Sequence[TyItem]) -> None:
        """Note the members that were found where ty by itself knows none."""
        if items:
            self.engine_items = items
            self._engine = _engine_source(items, self.place, self._around.text)

    def drop(self) -> None:
        """Nobody wants it any more: nothing need go on for it."""
        if self.reply is not None:
            self.reply.cancel()
        if self.inference is not None:
            self.inference.cancel("another word is typed")

    def with_calls(self, items: tuple[Candidate, ...], after: str) -> tuple[Candidate, ...]:
        """Return candidates, those marked that are likely to be called here; `after` follows the word on its line."""
        from headway.features.calling import Calls  # Only who wants it pays for it.

        calls = Calls(self._around.text, self._around.inside(self.place.start), after)
        # What others than ty name is known by the text alone: a method may be a property.
        return tuple(
            replace(item, call=calls.of(item.kind, item.detail))
            if item.source == "ty" and not item.insert.endswith(")")
            else item
            for item in items
        )

    # ---- the text itself --------------------------------------------------------------------------------------------

    def own_sources(self) -> tuple[Source, ...]:
        """Return what the open text, the language and the folders of the workspace offer at the place."""
        if self.place.kind is PlaceKind.MODULE:
            known = self.modules is not None and self.modules.done() and not self.modules.cancelled()
            return (_known_source(self.modules.result()),) if known and self.modules is not None else ()
        if self._own is None:
            self._own = tuple(self._own_names())
        # Once: then no module is left to be read.
        if self.module and self.told is not None and self.told.done() and (told := self.told.result()):
            self._own, self.module = (*self._own, _known_source(told)), None
        return self._own

    def _own_names(self) -> Iterable[Source]:
        outline = scope.Outline(self._around.text, self._around.inside(self.place.start))
        if self.place.kind is PlaceKind.NAME:
            yield _scope_source(outline.names())
            yield _language_source()
        elif self.place.kind is PlaceKind.IMPORT_WORD:
            yield _word_source("import")
        elif self.place.kind is PlaceKind.MEMBER:
            receiver = self.place.receiver
            members = outline.members(receiver)
            if members is not None:
                self.all_here = self._around.text is self.document.content and outline.all_here(receiver)
                yield _scope_source(members)
            elif (known := _known(outline, receiver)) is not None:
                yield _known_source(known)
            else:
                self.module = outline.origin(receiver)
        elif self.place.kind is PlaceKind.IMPORTED:
            self.module = self.place.module


def import_source(view: IndexView, prefix: str, own_path: str | None) -> Source | None:
    """Return names of the workspace that can be imported; None where too little is written to tell."""
    if len(prefix) < _LEAST_PREFIX:
        return None
    found = view.complete(prefix, _MOST_IMPORTS, _PYTHON)
    usable = [symbol for symbol in found if _can_be_imported(symbol) and symbol.path != own_path]
    return Source(
        name="index",
        labels=[item.symbol.name for item in usable],
        tiers=[Tier.ELSEWHERE] * len(usable),
        make=lambda index: _to_import(usable[index]),
        final=len(found) < _MOST_IMPORTS,
    )


def _can_be_imported(found: Found) -> bool:
    symbol = found.symbol
    return not symbol.container and symbol.kind in _IMPORTABLE_KINDS and importable(found.module, symbol.name)


def _to_import(found: Found) -> Candidate:
    kind = _IMPORTABLE_KINDS[SymbolKind(found.symbol.kind)]
    return Candidate(label=found.symbol.name, kind=kind, import_from=found.module, source="index")


def _scope_source(names: Sequence[scope.ScopeName]) -> Source:
    tiers = (Tier.LOCAL, Tier.ENCLOSING, Tier.MODULE)
    return Source(
        name="text",
        labels=[name.name for name in names],
        tiers=[tiers[min(name.distance, 2)] for name in names],
        make=lambda index: Candidate(label=names[index].name, kind=_KINDS[names[index].kind], source="text"),
    )


def _known(outline: scope.Outline, receiver: str) -> Sequence[tuple[str, scope.NameKind]] | None:
    origin = STRING if receiver == STRING else outline.origin(receiver)
    return None if origin is None else known_members(origin)


def _known_source(members: Sequence[tuple[str, scope.NameKind]]) -> Source:
    return Source(
        name="python",
        labels=[name for name, _ in members],
        tiers=[Tier.ENGINE] * len(members),
        make=lambda index: Candidate(label=members[index][0], kind=_KINDS[members[index][1]], source="python"),
    )


def _word_source(word: str) -> Source:
    return Source(
        name="python",
        labels=[word],
        tiers=[Tier.LANGUAGE],
        make=lambda _: Candidate(label=word, kind=CandidateKind.KEYWORD, source="python"),
    )


def _language_source() -> Source:
    words = [(word, CandidateKind.KEYWORD) for word in scope.keywords()]
    words += [(name, _KINDS[kind]) for name, kind in scope.builtin_names()]
    return Source(
        name="python",
        labels=[name for name, _ in words],
        tiers=[Tier.LANGUAGE] * len(words),
        make=lambda index: Candidate(label=words[index][0], kind=words[index][1], source="python"),
    )


def _engine_source(items: Sequence[TyItem], place: Place, text: Text) -> Source:
    if place.kind is PlaceKind.MEMBER:
        uses = scope.Uses(text)
        tiers = [_USED[uses.distance(place.receiver, item.label)] for item in items]
    else:
        tiers = [_tier(item, place) for item in items]
    return Source(
        name="ty",
        labels=[item.label for item in items],
        tiers=tiers,
        make=lambda index: _of_engine(items[index]),
    )


def _tier(item: TyItem, place: Place) -> Tier:
    if item.label.endswith("="):
        return Tier.ARGUMENT
    if place.kind is PlaceKind.NAME and item.kind == CandidateKind.KEYWORD:
        return Tier.LANGUAGE
    return Tier.ENGINE


def _of_engine(item: TyItem) -> Candidate:
    kinds = CandidateKind._value2member_map_
    return Candidate(
        label=item.label,
        kind=CandidateKind(item.kind) if item.kind in kinds else CandidateKind.TEXT,
        insert=item.insertText or "",
        detail=item.detail,
        deprecated=bool(item.tags and 1 in item.tags),
        source="ty",
    )


def written_before(line: str, column: int) -> int:
    """Return how many letters of a word stand before a column."""
    at = column
    while at > 0 and (line[at - 1].isalnum() or line[at - 1] == "_"):
        at -= 1
    return column - at


def word_length(line: str, column: int) -> int:
    """Return how many letters of a word stand behind a column."""
    at = column
    while at < len(line) and (line[at].isalnum() or line[at] == "_"):
        at += 1
    return at - column
