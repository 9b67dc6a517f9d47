"""Completion requests: a CRITICAL job each, over a snapshot, answered by what is known at the soft deadline.

The names that fit a word's place do not change while the word is typed. So they are gathered once, when its first
letter or the dot before it is there, and each later letter only ranks them anew: no engine is asked, and an answer that
comes too late for one letter is there for the next.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headway.engines.client import Reply
from headway.engines.errors import EngineAnswerError, EngineError
from headway.engines.server import EngineState
from headway.engines.ty import TyEngine, TyItem, TyList, documentation
from headway.features.completion import (
    Candidate,
    CandidateKind,
    CompletionList,
    ResolvedCandidate,
    Source,
    Tier,
    fits_any,
    merge,
)
from headway.scheduler.model import Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.jobs import value_of
from headway.session.ports import Room, SessionContext
from headway.workspace import python_scope as scope
from headway.workspace.documents import Document
from headway.workspace.python_text import Place, PlaceKind, place_at
from headway.workspace.text import Edit, Position, Range
from headway.workspace.uris import identity

_COST = Requirement(cpu_cores=0.05, memory_mb=1)
_NOTHING_FITS = frozenset({PlaceKind.COMMENT, PlaceKind.NEW_NAME, PlaceKind.LITERAL})
# Where ty is asked at the word's beginning: its whole list then serves the word, however it is typed on or taken back.
_ASKED_WHOLE = frozenset({PlaceKind.MEMBER, PlaceKind.IMPORTED, PlaceKind.MODULE})
_KINDS = {
    scope.NameKind.FUNCTION: CandidateKind.FUNCTION,
    scope.NameKind.METHOD: CandidateKind.METHOD,
    scope.NameKind.CLASS: CandidateKind.CLASS,
    scope.NameKind.VARIABLE: CandidateKind.VARIABLE,
    scope.NameKind.FIELD: CandidateKind.FIELD,
    scope.NameKind.MODULE: CandidateKind.MODULE,
}
_REMEMBERED_LISTS = 8
_LOOK_AHEAD_AFTER_S = 0.002  # when the answer is on its way
_STALE_ANSWERS = 3  # how often ty is asked again when texts changed while it was working


class _Word:
    """One word that is being typed: what may stand there, gathered once."""

    def __init__(self, document: Document, place: Place, before: str, after: str) -> None:
        self.document = document
        self.place = place
        self.before = before
        self.after = after
        self.reply: Reply | None = None
        self.asked_prefix = "" if place.kind in _ASKED_WHOLE else place.prefix
        self._times_asked = 0
        self._outline: scope.Outline | None = None
        self._own: tuple[Source, ...] | None = None
        self._engine: Source | None = None
        self.engine_items: Sequence[TyItem] = ()

    def serves(self, before: str, after: str, prefix: str) -> bool:
        """Return whether this is the same word, with nothing changed around it."""
        return prefix.startswith(self.asked_prefix) and self.before == before and self.after == after

    def asked(self, reply: Reply | None) -> None:
        """Note that ty was asked, or could not be."""
        self.reply = reply
        self._times_asked += reply is not None

    @property
    def to_be_asked(self) -> bool:
        """Whether ty is still to be asked, or again, as its answer fell to a change of texts."""
        if self.reply is None or self.reply.cancelled():
            return True
        if not self.reply.done() or self._times_asked > _STALE_ANSWERS:
            return False
        error = self.reply.exception()
        return isinstance(error, EngineAnswerError) and error.stale

    def own_sources(self) -> tuple[Source, ...]:
        """Return what the open text and the language offer at the place."""
        if self._own is None:
            self._own = tuple(self._own_names())
        return self._own

    def _own_names(self) -> Iterable[Source]:
        outline = scope.Outline(self.document.content, self.place.start)
        if self.place.kind is PlaceKind.NAME:
            yield _scope_source(outline.names())
            yield _language_source()
        elif self.place.kind is PlaceKind.MEMBER and (members := outline.members(self.place.receiver)) is not None:
            yield _scope_source(members)

    def engine_source(self) -> Source | None:
        """Return what ty offers, None as long as it has not answered or where it cannot."""
        reply = self.reply
        if self._engine is not None or reply is None or not reply.done():
            return self._engine
        if not reply.cancelled() and reply.exception() is None:
            answer = reply.result()
            self.engine_items = answer.items if isinstance(answer, TyList) else ()
            self._engine = _engine_source(self.engine_items, self.place)
        return self._engine


def _scope_source(names: Sequence[scope.ScopeName]) -> Source:
    tiers = (Tier.LOCAL, Tier.ENCLOSING, Tier.MODULE)
    return Source(
        name="text",
        labels=[name.name for name in names],
        tiers=[tiers[min(name.distance, 2)] for name in names],
        make=lambda index: Candidate(label=names[index].name, kind=_KINDS[names[index].kind], source="text"),
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


def _engine_source(items: Sequence[TyItem], place: Place) -> Source:
    return Source(
        name="ty",
        labels=[item.label for item in items],
        tiers=[_tier(item, place) for item in items],
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


@dataclass(frozen=True, slots=True)
class _Shown:
    """A list that was answered, for `resolve`."""

    items: tuple[Candidate, ...]
    engine_items: Sequence[TyItem]
    uri: str


class Completing(Room):
    """Answers completion requests.

    Args:
        ty: The engine that is asked; another room keeps it running.
    """

    def __init__(self, context: SessionContext, ty: TyEngine) -> None:
        self._context = context
        self._ty = ty
        self._current: dict[str, _Word] = {}  # by document: the word that was asked about last
        self._ahead: dict[str, _Word] = {}  # and the one that may be next
        self._shown: OrderedDict[int, _Shown] = OrderedDict()
        self._ids = itertools.count(1)

    def document_closed(self, uri: str) -> None:
        self._drop(identity(uri))

    async def complete(self, uri: str, position: Position) -> CompletionList:
        """Return what may be written at a position of an open document; an empty list where it is not open.

        Raises:
            RequestSupersededError: a newer request for the same document took its place.
            RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        document = self._context.documents.get(uri)
        if document is None:
            return self._list(None, position, position, (), incomplete=False)
        hard_s = self._context.settings.completion.hard_deadline_ms / 1000
        handle = self._context.scheduler.run(
            self._answer,
            document,
            position,
            priority=Priority.CRITICAL,
            name="completion",
            kind=TaskKind.COROUTINE,
            requirement=_COST,
            supersede_key=("completion", identity(uri)),
            timeout=TimeoutPolicy(hard_s=hard_s + 2),
        )
        result: CompletionList = await value_of(handle)
        return result

    async def _answer(self, document: Document, position: Position) -> CompletionList:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        settings = self._context.settings.completion
        word = self._word(document, position)
        if word is None:
            return self._list(document, position, position, (), incomplete=False)
        column = word.place.start.column
        start = Position(position.line, column)
        line = document.line(position.line)
        prefix = line[column : position.column]
        end = Position(position.line, position.column + _word_length(line, position.column))
        await self._wait(word, began_s + settings.soft_deadline_ms / 1000)
        if word.engine_source() is None and not self._good_without_engine(word, prefix):
            await self._wait(word, began_s + settings.hard_deadline_ms / 1000)
        engine = word.engine_source()
        sources = [engine] if engine is not None else []
        if engine is None or word.place.kind is PlaceKind.NAME:
            sources.extend(word.own_sources())
        ranked = merge(sources, prefix, settings.max_items)
        cut_short = engine is None and word.place.kind is not PlaceKind.STRING
        found = self._list(
            document,
            start,
            position,
            ranked.items,
            incomplete=ranked.incomplete or cut_short,
            end=end,
            engine_items=word.engine_items,
        )
        if prefix and ranked.items and ranked.items[0].label == prefix and end == position:
            loop.call_later(_LOOK_AHEAD_AFTER_S, self._look_ahead, word, document, position)
        return found

    def _good_without_engine(self, word: _Word, prefix: str) -> bool:
        return any(fits_any(source, prefix) for source in word.own_sources())

    # ---- the word ---------------------------------------------------------------------------------------------------

    def _word(self, document: Document, position: Position) -> _Word | None:
        """Return the word at the position, known or new; None where nothing can be offered."""
        text = document.text
        offset = document.offset_at(position)
        line = document.line(position.line)
        written = _written_before(line, position.column)
        after = text[offset + _word_length(line, position.column) :]
        before = text[: offset - written]
        prefix = text[offset - written : offset]
        key = identity(document.uri)
        for known in (self._current.get(key), self._ahead.get(key)):
            if known is not None and known.serves(before, after, prefix):
                self._current[key] = known
                return known
        self._drop(key)
        place = place_at(document.content, position)
        if place.kind in _NOTHING_FITS or document.language != "python":
            return None
        word = _Word(document, place, before, after)
        self._current[key] = word
        return word

    def _drop(self, key: str) -> None:
        for words in (self._current, self._ahead):
            word = words.pop(key, None)
            if word is not None and word.reply is not None:
                word.reply.cancel()

    def _ask(self, word: _Word) -> None:
        """Ask ty for the word, unless it was asked or cannot be now."""
        if not word.to_be_asked:
            return
        place, document = word.place, word.document
        asked_at = place.start if place.kind in _ASKED_WHOLE else place.cursor
        try:
            word.asked(self._ty.complete(identity(document.uri), document, asked_at, word_end=place.end))
        except EngineError:
            word.asked(None)

    async def _wait(self, word: _Word, until_s: float) -> None:
        """Wait for ty's answer until an instant of the loop's clock; not at all where none can come."""
        loop = asyncio.get_running_loop()
        while (left_s := until_s - loop.time()) > 0:
            self._ask(word)
            if word.reply is not None:
                await asyncio.wait([word.reply], timeout=left_s)
                if not word.to_be_asked:
                    return
            elif not self._ty.coming:
                return
            else:
                try:
                    async with asyncio.timeout(left_s):
                        await self._ty.ready()
                except TimeoutError:
                    return

    # ---- looking ahead ----------------------------------------------------------------------------------------------

    def _look_ahead(self, word: _Word, document: Document, position: Position) -> None:
        """Ask ty for the members of the name that was just completed by hand: a dot is often what comes next."""
        key = identity(document.uri)
        if self._current.get(key) is not word or self._context.documents.get(document.uri) is not document:
            return
        if self._ty.state is not EngineState.READY or self._ty.pending:
            return
        content = document.content.apply([Edit(Range(position, position), ".")])
        dotted = Document(uri=document.uri, language=document.language, version=document.version, text=content)
        behind = Position(position.line, position.column + 1)
        place = place_at(content, behind)
        if place.kind is not PlaceKind.MEMBER:
            return
        text, offset = document.text, document.offset_at(position)
        ahead = _Word(dotted, place, f"{text[:offset]}.", text[offset:])
        self._ahead[key] = ahead
        self._ask(ahead)

    # ---- answers ----------------------------------------------------------------------------------------------------

    def _list(
        self,
        document: Document | None,
        start: Position,
        position: Position,
        items: tuple[Candidate, ...],
        *,
        incomplete: bool,
        end: Position | None = None,
        engine_items: Sequence[TyItem] = (),
    ) -> CompletionList:
        list_id = next(self._ids)
        if document is not None and items:
            self._shown[list_id] = _Shown(items, engine_items, document.uri)
            while len(self._shown) > _REMEMBERED_LISTS:
                self._shown.popitem(last=False)
        return CompletionList(
            list_id=list_id,
            items=items,
            incomplete=incomplete,
            insert_range=Range(start, position),
            replace_range=Range(start, end or position),
        )

    def resolve(self, list_id: int, index: int) -> ResolvedCandidate | None:
        """Return what more is known of a candidate of a list that was answered lately, None where it is forgotten."""
        shown = self._shown.get(list_id)
        if shown is None or not 0 <= index < len(shown.items):
            return None
        candidate = shown.items[index]
        found = candidate.documentation
        if found is None and candidate.source == "ty":
            item = next((item for item in shown.engine_items if item.label == candidate.label), None)
            found = documentation(item) if item is not None else None
        return ResolvedCandidate(detail=candidate.detail, documentation=found)


def _written_before(line: str, column: int) -> int:
    at = column
    while at > 0 and (line[at - 1].isalnum() or line[at - 1] == "_"):
        at -= 1
    return column - at


def _word_length(line: str, column: int) -> int:
    at = column
    while at < len(line) and (line[at].isalnum() or line[at] == "_"):
        at += 1
    return at - column
