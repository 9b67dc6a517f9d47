"""Asking ty before the person does: what is likely to be completed next is in hand when the key comes.

Two guesses, each about one place of a document: behind a name that was just written in full, a call, an index or a
string, a dot may follow; behind a space, a bracket, a new line or the quote that opens a string, a name may begin. A
guess that comes true saves the whole wait; one that does not costs ty some milliseconds, and is made only while ty has
nothing else to do but an older guess, which then no longer counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from headway.engines.errors import EngineError
from headway.engines.mirror import LONGEST_TEXT, common_ends
from headway.engines.server import EngineState
from headway.engines.ty import TyEngine
from headway.scheduler.model import Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.ports import SessionContext
from headway.session.typed_word import LONGEST_READ, Surroundings, TypedWord
from headway.workspace import python_scope
from headway.workspace.documents import Document
from headway.workspace.python_text import PlaceKind, place_at
from headway.workspace.text import Edit, Position, Range
from headway.workspace.uris import identity

_AFTER_ANSWER_S = 0.002  # when the answer is on its way
_AFTER_CHANGE_S = 0.005  # a request for completions that comes with the change goes first
_LONGEST_INSERTION = 400
_NAME_MAY_FOLLOW = frozenset(" \t\n(=[,{:+-*/<>|&!@")
_QUOTES = frozenset("\"'")
_DOT_MAY_FOLLOW = frozenset(")]}") | _QUOTES
_BEGINS = frozenset({PlaceKind.NAME, PlaceKind.IMPORTED, PlaceKind.MODULE})
_COST = Requirement(cpu_cores=0.0, memory_mb=1)  # others compute; nothing is to wait for a core here
_WARM_LIMIT_S = 30.0
# How long the loop is held at a time by reading: ahead of any wish, and for somebody who waits.
_TURN_S = 0.0005
_URGENT_TURN_S = 0.004


class Guesses:
    """How guessing goes.

    `made`: what ty was asked ahead of any wish. `came_true`: guesses that somebody then wanted. `saved_s`: how much
    less they waited in all: the time for which ty had been at work on it, as far as it was done.
    """

    __slots__ = ("came_true", "made", "saved_s")

    def __init__(self) -> None:
        self.made = 0
        self.came_true = 0
        self.saved_s = 0.0

    def exposition(self) -> str:
        """Return these numbers in the Prometheus text format."""
        from headway.scheduler.prometheus import PREFIX, Family, render  # when somebody asks

        told = (
            ("guesses_total", "Completions that were prepared before they were asked for.", self.made),
            ("hits_total", "Of these, the ones that were asked for.", self.came_true),
            ("saved_seconds_total", "How much less people waited for these.", self.saved_s),
        )
        return render(
            Family(name=f"{PREFIX}speculation_{name}", kind="counter", help=text, samples=[("", (), value)])
            for name, text, value in told
        )


class Lookahead:
    """The words that may be typed next, one for each document.

    Args:
        ask: Asks ty for a word.
        answered: Is told of a guess that ty has answered.
    """

    def __init__(
        self,
        context: SessionContext,
        ty: TyEngine,
        ask: Callable[[TypedWord], None],
        answered: Callable[[TypedWord], None] = lambda word: None,
    ) -> None:
        self._context = context
        self._ty = ty
        self._ask = ask
        self._answered = answered
        self._words: dict[str, TypedWord] = {}
        self._texts: dict[str, str] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._read: set[str] = set()
        self._unread: dict[str, str] = {}  # by document: its URI; in the order in which they were opened
        self._touched: dict[str, None] = {}  # of these, the ones that were changed, in the order of that
        self._reading = asyncio.Lock()
        self._urgent = 0  # texts that somebody waits for and that are being read
        self._nothing_urgent = asyncio.Event()
        self._nothing_urgent.set()
        self._warming = asyncio.Lock()
        self._begun: dict[TypedWord, float] = {}  # guesses that may come true, and when ty was asked for them
        self._took: dict[TypedWord, float] = {}  # of these, how long ty took
        self.guesses = Guesses()

    def wanted(self, word: TypedWord) -> None:
        """Somebody asks for a word; where it was guessed, the guess has come true."""
        began_s = self._begun.pop(word, None)
        if began_s is not None:
            self.guesses.came_true += 1
            took_s = self._took.pop(word, None)
            self.guesses.saved_s += asyncio.get_running_loop().time() - began_s if took_s is None else took_s

    def word(self, key: str) -> TypedWord | None:
        """Return the guess for a document."""
        return self._words.get(key)

    def drop(self, key: str) -> None:
        """Forget the guess; ty need not go on with it."""
        word = self._words.pop(key, None)
        if word is None:
            return
        self._begun.pop(word, None)
        self._took.pop(word, None)
        word.drop()

    def close(self) -> None:
        """Guess no more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def closed(self, key: str) -> None:
        """A document was closed."""
        self.drop(key)
        self._texts.pop(key, None)
        self._read.discard(key)
        self._unread.pop(key, None)
        self._touched.pop(key, None)
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()

    # ---- the members of a name --------------------------------------------------------------------------------------

    def written(self, document: Document, position: Position) -> None:
        """A name was written in full up to a position."""
        asyncio.get_running_loop().call_later(_AFTER_ANSWER_S, self._guess_members, document, position)

    def _guess_members(self, document: Document, position: Position) -> None:
        if not self._can_guess(document) or len(document.content) > LONGEST_READ:
            return
        content = document.content.apply([Edit(Range(position, position), ".")])
        dotted = Document(uri=document.uri, language=document.language, version=document.version, text=content)
        place = place_at(content, Position(position.line, position.column + 1))
        if place.kind not in (PlaceKind.MEMBER, PlaceKind.MODULE):
            return
        text, offset = document.text, document.offset_at(position)
        self._guess(TypedWord(dotted, place, f"{text[:offset]}.", text[offset:], Surroundings(content, 0)))

    # ---- a new name -------------------------------------------------------------------------------------------------

    def changed(self, document: Document) -> None:
        """A document has a new text."""
        if document.language != "python" or len(document.content) > LONGEST_READ:
            return
        key = identity(document.uri)
        if key in self._unread:
            self._touched.setdefault(key)
        text = document.text
        previous, self._texts[key] = self._texts.get(key), text
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        if previous is None:
            return
        start, tail = common_ends(previous, text)
        end = len(text) - tail
        if 0 < end - start <= _LONGEST_INSERTION and text[end - 1] in _NAME_MAY_FOLLOW | _DOT_MAY_FOLLOW:
            loop = asyncio.get_running_loop()
            self._timers[key] = loop.call_later(_AFTER_CHANGE_S, self._guess_next, key, document, end)

    def _guess_next(self, key: str, document: Document, offset: int) -> None:
        self._timers.pop(key, None)
        if not self._can_guess(document):
            return
        text = document.text
        if text[offset : offset + 1].isalnum():
            return
        position = document.position_at(offset)
        place = place_at(document.content, position)
        last = text[offset - 1]
        if last in _DOT_MAY_FOLLOW and place.kind is not PlaceKind.STRING:
            self._guess_members(document, position)
        elif not place.prefix and (place.kind in _BEGINS or (place.kind is PlaceKind.STRING and last in _QUOTES)):
            around = Surroundings(document.content, 0)
            self._guess(TypedWord(document, place, text[:offset], text[offset:], around))

    # ---- both -------------------------------------------------------------------------------------------------------

    def _can_guess(self, document: Document) -> bool:
        if self._context.documents.get(document.uri) is not document or self._ty.state is not EngineState.READY:
            return False
        older = self._words.get(identity(document.uri))
        guessing = older is not None and older.first_request_s is None and older.waits
        return self._ty.pending <= guessing

    def _guess(self, word: TypedWord) -> None:
        key = identity(word.document.uri)
        self.drop(key)
        self._words[key] = word
        self._ask(word)
        if word.reply is None:
            return
        self.guesses.made += 1
        loop = asyncio.get_running_loop()
        began_s = self._begun[word] = loop.time()

        def answered(_: object) -> None:
            if word in self._begun:
                self._took[word] = loop.time() - began_s
            if self._words.get(key) is word:
                self._answered(word)

        word.reply.add_done_callback(answered)

    # ---- at the start -----------------------------------------------------------------------------------------------

    def opened(self, document: Document) -> None:
        """A document was opened: it is read, by us and by ty, before the first key."""
        if document.language != "python" or len(document.content) > LONGEST_TEXT:
            return
        key = identity(document.uri)
        if len(document.content) <= LONGEST_READ:
            self._texts[key] = document.text
            self._unread[key] = document.uri
        self._context.scheduler.run(
            self._warm,
            document,
            priority=Priority.NORMAL,
            name="read the opened document",
            kind=TaskKind.COROUTINE,
            requirement=_COST,
            supersede_key=("warm", key),
            timeout=TimeoutPolicy(hard_s=_WARM_LIMIT_S),
        )

    async def read(self, document: Document) -> None:
        """Read a text that somebody waits for; afterwards only what changes is read anew."""
        if self.has_read(document):
            return
        self._urgent += 1
        self._nothing_urgent.clear()
        try:
            await self._read_in_turns(document, _URGENT_TURN_S)
        finally:
            self._urgent -= 1
            if not self._urgent:
                self._nothing_urgent.set()

    def has_read(self, document: Document) -> bool:
        """Return whether nothing of a document is left to be read, changes aside; one too long is not read."""
        known = identity(document.uri) in self._read
        return known or document.language != "python" or len(document.content) > LONGEST_READ

    async def _read_in_turns(self, document: Document, turn_s: float) -> None:
        """Read a text into the memory of `python_scope`, in turns with the rest of the loop."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        for _ in python_scope.warm(document.content):
            if loop.time() - began_s > turn_s:
                await asyncio.sleep(0)
                if turn_s < _URGENT_TURN_S:
                    await self._nothing_urgent.wait()
                began_s = loop.time()
        if self._context.documents.get(document.uri) is not None:
            self._read.add(identity(document.uri))

    def _next_to_read(self) -> Document | None:
        """Return the text in which the next key is likeliest: one that was changed since it was opened."""
        while self._unread:
            key = next(iter(self._touched or self._unread))
            uri = self._unread.pop(key)
            self._touched.pop(key, None)
            document = self._context.documents.get(uri)
            if document is not None and not self.has_read(document):
                return document
        return None

    async def _warm(self, document: Document) -> None:
        async with self._reading:  # One after the other, so that they do not share the loop with the first key.
            if (next_ := self._next_to_read()) is not None:
                await self._read_in_turns(next_, _TURN_S)
        if not self._ty.coming:
            return
        await self._ty.ready()
        async with self._warming:  # Ten documents opened at once must not stand in the way of the first key.
            await self._ty.idle()  # A person's question must not find it at work on this.
            if self._context.documents.get(document.uri) is not document:
                return
            last = document.position_at(len(document.content))
            try:
                await self._ty.complete(identity(document.uri), document, last, word_end=last)
            except EngineError:
                return  # Nothing depends on it: the first key will ask again.
