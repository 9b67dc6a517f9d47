"""Completion requests: a CRITICAL job each, over a snapshot, answered by what is known at the soft deadline.

The names that fit a word's place do not change while the word is typed. So they are gathered once, when its first
letter or the dot before it is there, and each later letter only ranks them anew: no engine is asked, and an answer that
comes too late for one letter is there for the next.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headway.engines.errors import EngineError
from headway.engines.ty import TyEngine
from headway.features.completion import CompletionList, ResolvedCandidate, Source, fits_any, merge
from headway.scheduler.model import Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.inferring import Inferring
from headway.session.jobs import value_of
from headway.session.looking_ahead import Guesses, Lookahead
from headway.session.module_names import ModuleNames
from headway.session.other_engines import OtherEngines
from headway.session.ports import Room, SessionContext
from headway.session.shown_lists import ShownLists, known_of
from headway.session.typed_word import (
    ASKED_WHOLE,
    Surroundings,
    TypedWord,
    import_source,
    word_length,
    written_before,
)
from headway.workspace.documents import Document
from headway.workspace.python_text import PlaceKind
from headway.workspace.symbols import IndexView
from headway.workspace.text import Position
from headway.workspace.uris import identity, uri_to_path

if TYPE_CHECKING:
    from headway.session.other_languages import OtherLanguages

_COST = Requirement(cpu_cores=0.0, memory_mb=1)  # others compute; nothing is to wait for a core here
_NOTHING_FITS = frozenset({PlaceKind.COMMENT, PlaceKind.NEW_NAME, PlaceKind.LITERAL})
_CALLED_AT = frozenset({PlaceKind.NAME, PlaceKind.MEMBER})
_OWN = frozenset({"self", "cls"})
_KNOWN_WITHOUT_ENGINE = frozenset({PlaceKind.NAME, PlaceKind.MODULE, PlaceKind.STRING})
# Keys that come faster than hands are a flood (a program types, or what waited in a pipe): each is held for a moment,
# in which its cancel is there or it is the last one. What it would have set going, ty too, would only be in the way.
_HURRY_S = 0.025
_HELD_S = 0.002
_VERY_LATE = 3  # soft deadlines: then a module's own text is better than nothing
_SHARE_OF_NAMES = 16  # of the soft deadline: so much of it is waited for ty where others know what fits


class Completing(Room):
    """Answers completion requests.

    Args:
        ty: The engine that is asked; another room keeps it running.
        view: Gives the symbols of the workspace.
        others: The language servers of other languages.
    """

    def __init__(
        self,
        context: SessionContext,
        ty: TyEngine,
        view: Callable[[], IndexView],
        others: OtherEngines | None = None,
    ) -> None:
        self._context = context
        self._ty = ty
        self._view = view
        self._modules = ModuleNames(context)
        self._inferring = Inferring(context, ty, self._is_wanted)
        self._ahead = Lookahead(context, ty, self._ask, self._inferring.prepare)
        self._engines = others
        self._others: OtherLanguages | None = None
        self._current: dict[str, TypedWord] = {}  # by document: the word that was asked about last
        self._asked_s: dict[str, float] = {}  # by document: when the last question came
        self._shown = ShownLists()

    @property
    def guesses(self) -> Guesses:
        """How looking ahead goes."""
        return self._ahead.guesses

    async def close(self) -> None:
        self._ahead.close()

    def document_opened(self, document: Document) -> None:
        self._ahead.opened(document)

    def document_changed(self, document: Document) -> None:
        self._ahead.changed(document)

    def document_closed(self, uri: str) -> None:
        self._drop(identity(uri))
        self._asked_s.pop(identity(uri), None)
        self._ahead.closed(identity(uri))
        if self._others is not None:
            self._others.closed(identity(uri))

    def notebook_changed(self, others: Sequence[Document]) -> None:
        for document in others:
            self._drop(identity(document.uri))

    async def complete(
        self, uri: str, position: Position, *, asked_s: float | None = None, sent_for: Document | None = None
    ) -> CompletionList:
        """Return what may be written at a position of an open document; an empty list where it is not open.

        Args:
            asked_s: When the question came, on the loop's clock; the deadlines count from then. None: now.
            sent_for: The text that it is about; None: the present one.

        Raises:
            RequestSupersededError: a newer request for the same document took its place.
            RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        document = sent_for or self._context.documents.get(uri)
        if document is None:
            return self._shown.list(None, position, position, (), incomplete=False)
        hard_s = self._context.settings.completion.hard_deadline_ms / 1000
        key, now_s = identity(uri), asyncio.get_running_loop().time()
        in_flood = now_s - self._asked_s.get(key, -math.inf) < _HURRY_S
        self._asked_s[key] = now_s
        handle = self._context.scheduler.run(
            self._answer,
            document,
            position,
            now_s if asked_s is None else asked_s,
            in_flood,
            priority=Priority.CRITICAL,
            name="completion",
            kind=TaskKind.COROUTINE,
            requirement=_COST,
            supersede_key=("completion", key),
            timeout=TimeoutPolicy(hard_s=hard_s + 2),
        )
        found: CompletionList = await value_of(handle)
        return found

    async def _answer(self, document: Document, position: Position, asked_s: float, in_flood: bool) -> CompletionList:
        if in_flood:
            await asyncio.sleep(_HELD_S)
        settings = self._context.settings.completion
        position = document.position_at(document.offset_at(position))  # Clients ask beyond the end, too.
        if document.language != "python":
            return await self._other(document, position, asked_s)
        await self._ahead.read(document)
        word = self._word(document, position)
        if word is None:
            return self._shown.list(document, position, position, (), incomplete=False)
        column, line = word.place.start.column, document.line(position.line)
        start = Position(position.line, column)
        prefix = line[column : position.column]
        end = Position(position.line, position.column + word_length(line, position.column))
        needs_engine = word.place.kind is not PlaceKind.IMPORT_WORD
        if needs_engine:
            # Counted from the word's first letter: who types on while ty is slow sees a list with the next one.
            if word.first_request_s is None:
                word.first_request_s = asked_s
            word.requested()
            soft_s = settings.soft_deadline_ms / 1000
            await self._wait(word, word.first_request_s + soft_s / _SHARE_OF_NAMES)
            if not self._enough_without_engine(word, prefix):
                await self._wait(word, word.first_request_s + soft_s)
            if word.engine_source() is None and not self._good_without_engine(word, prefix):
                await self._wait_long(word, prefix, asked_s)
            await self._inferring.wait(word, word.first_request_s + soft_s)
        engine = word.engine_source()
        ranked = merge(self._sources(word, engine, prefix), prefix, settings.max_items)
        items = ranked.items
        if settings.call_parentheses and word.place.kind in _CALLED_AT:
            items = word.with_calls(items, line[end.column :])
        if prefix and items and items[0].label == prefix and end == position:
            self._ahead.written(document, position)
        return self._shown.list(
            document,
            start,
            position,
            items,
            incomplete=ranked.incomplete or (engine is None and needs_engine) or self._inferring.goes_on(word),
            end=end,
            word=word,
        )

    async def _wait_long(self, word: TypedWord, prefix: str, asked_s: float) -> None:
        """Wait for ty, which knows more than anybody; when it is very late, for what the module's own text says."""
        settings = self._context.settings.completion
        hard_s = asked_s + settings.hard_deadline_ms / 1000
        self._modules.read_module(word)
        await self._wait(word, min(asked_s + _VERY_LATE * settings.soft_deadline_ms / 1000, hard_s))
        if word.engine_source() is None and word.told is not None:
            await asyncio.wait([word.told], timeout=max(hard_s - asyncio.get_running_loop().time(), 0.0))
        if word.engine_source() is None and not self._good_without_engine(word, prefix):
            await self._wait(word, hard_s)

    async def _other(self, document: Document, position: Position, asked_s: float) -> CompletionList:
        if self._others is None:
            # Not before there is such a document: a start is felt as the wait for the first list.
            from headway.session.other_languages import OtherLanguages

            self._others = OtherLanguages(self._context, self._engines, self._view)
        found = await self._others.complete(document, position, asked_s)
        items, incomplete = found.ranked.items, found.ranked.incomplete
        return self._shown.list(
            document, found.start, position, items, incomplete=incomplete, end=found.end, word=found.word
        )

    def _sources(self, word: TypedWord, engine: Source | None, prefix: str) -> list[Source]:
        sources = [] if engine is None else [engine]
        if engine is None or not engine.labels or word.place.kind is PlaceKind.NAME or word.place.receiver in _OWN:
            # Also where ty names nothing: code that it takes for unreachable has no types. What a class's own text
            # says that `self` has is right in any case.
            sources.extend(word.own_sources())
        if word.place.kind is PlaceKind.NAME:
            imports = import_source(self._view(), prefix, uri_to_path(word.document.uri))
            if imports is not None:
                sources.append(imports)
        return sources

    def _enough_without_engine(self, word: TypedWord, prefix: str) -> bool:
        """Whether the list is near enough to ty's without ty that the few names more are not worth a longer wait.

        Nearly all that fits where a name begins stands in the text, in the index or in the language; ty adds arguments
        and what star imports bring, and they come with the next letter. What members there are only ty knows, but for
        those of `self` in a class that has nothing from elsewhere: they are all written here.
        """
        if word.engine_source() is not None:
            return True
        kind, documents = word.place.kind, self._context.documents
        if kind is PlaceKind.MEMBER:
            return self._good_without_engine(word, prefix) and word.all_here
        # What the cells of a notebook before this one define is written elsewhere.
        known = bool(prefix) and kind in _KNOWN_WITHOUT_ENGINE and not documents.in_notebook(word.document.uri)
        return known and self._good_without_engine(word, prefix)

    def _good_without_engine(self, word: TypedWord, prefix: str) -> bool:
        if word.place.kind is PlaceKind.STRING:
            return True  # There is seldom anything: nobody is made to wait for it.
        return any(fits_any(source, prefix) for source in word.own_sources())

    # ---- the word ---------------------------------------------------------------------------------------------------

    def _word(self, document: Document, position: Position) -> TypedWord | None:
        """Return the word at the position, known or new; None where nothing can be offered."""
        around = Surroundings.of(document.content, position.line)
        text = str(around.text)
        offset = around.text.offset_at(around.inside(position))
        line = document.line(position.line)
        written = written_before(line, position.column)
        after = text[offset + word_length(line, position.column) :]
        before = text[: offset - written]
        prefix = text[offset - written : offset]
        key = identity(document.uri)
        for known in (self._current.get(key), self._ahead.word(key)):
            if known is not None and known.serves(before, after, prefix):
                self._ahead.wanted(known)
                self._current[key] = known
                return known
        self._drop(key)
        place = around.place(position)
        if place.kind in _NOTHING_FITS or document.language != "python":
            return None
        word = TypedWord(document, place, before, after, around)
        self._current[key] = word
        return word

    def _drop(self, key: str) -> None:
        self._ahead.drop(key)
        word = self._current.pop(key, None)
        if word is not None:
            word.drop()

    def _is_wanted(self, word: TypedWord) -> bool:
        key = identity(word.document.uri)
        return word in (self._current.get(key), self._ahead.word(key))

    def _ask(self, word: TypedWord) -> None:
        """Ask ty for the word, unless it was asked or cannot be now."""
        self._modules.list_modules(word)
        if not word.to_be_asked:
            return
        place, document = word.place, word.document
        asked_at = place.start if place.kind in ASKED_WHOLE else place.cursor
        try:
            word.asked(self._ty.complete(identity(document.uri), document, asked_at, word_end=place.end))
        except EngineError:
            word.asked(None)

    async def _wait(self, word: TypedWord, until_s: float) -> None:
        """Wait for ty's answer until an instant of the loop's clock; not at all where none can come."""
        loop = asyncio.get_running_loop()
        self._ask(word)
        while (left_s := until_s - loop.time()) > 0:
            self._ask(word)
            if word.reply is not None:
                if not word.reply.done():
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

    # ---- answers -----------------------------------------------------------------------------------------------------

    def word(self, uri: str) -> TypedWord | None:
        """Return the word of a document that was asked about last."""
        return self._current.get(identity(uri))

    async def resolve(self, list_id: int, index: int) -> ResolvedCandidate | None:
        """Return what more is known of a candidate of a list that was answered lately, None where it is forgotten.

        A list that was answered before ty could is resolved when ty has answered, as only ty knows more of its names.

        Raises:
            RequestSupersededError: a newer one took its place.
            RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        shown = self._shown.get(list_id, index)
        if shown is None:
            return None
        if not isinstance(shown.word, TypedWord):
            return await shown.word.resolve(shown.items[index].label)
        if shown.items[index].import_from is None and self._still_asked(shown.uri, shown.word):
            await value_of(
                self._context.scheduler.run(
                    self._until_ty_knows,
                    shown.word,
                    priority=Priority.CRITICAL,
                    name="completion details",
                    kind=TaskKind.COROUTINE,
                    requirement=_COST,
                    supersede_key=("completion details", identity(shown.uri)),
                )
            )
        return known_of(shown, shown.word, index, self._context.documents.get(shown.uri))

    def _still_asked(self, uri: str, word: TypedWord) -> bool:
        current = self._current.get(identity(uri)) is word
        return current and word.place.kind is not PlaceKind.IMPORT_WORD and word.engine_source() is None

    async def _until_ty_knows(self, word: TypedWord) -> None:
        hard_s = self._context.settings.completion.hard_deadline_ms / 1000
        await self._wait(word, asyncio.get_running_loop().time() + hard_s)
