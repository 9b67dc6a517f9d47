"""Completion in other languages than Python: by the language server that a person has named, by words and index else.

Behind what asks for a member only that server is believed, since nothing else knows members: a wrong one is worse than
none. Like ty it is asked once a word, and each later letter ranks its list anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.engines.errors import EngineError
from headway.features.completion import Candidate, CandidateKind, Ranked, ResolvedCandidate, Source, Tier, merge
from headway.session import plain_words
from headway.session.ports import SessionContext
from headway.session.typed_word import Surroundings, word_length, written_before
from headway.workspace.documents import Document
from headway.workspace.index import suffixes_of
from headway.workspace.symbols import IndexView
from headway.workspace.text import Position
from headway.workspace.uris import identity

if TYPE_CHECKING:
    from headway.engines.client import Reply
    from headway.engines.other import OtherItem, OtherServer
    from headway.session.other_engines import OtherEngines

_ASK_AGAIN_S = 0.05  # where texts changed while it was working, or it has not read them yet
_TAKEN_LIMIT_S = 2.0  # what is chosen is put in without more than this of waiting for its details


class OtherWord:
    """A word that is being typed, and what a server offers for it.

    Args:
        start: Where the word begins.
        before, after: The text around the word: as long as they are the same, so is the place.
        prefix: What was written of it when it was begun.
    """

    def __init__(
        self, document: Document, server: OtherServer, start: Position, before: str, after: str, prefix: str
    ) -> None:
        self.document = document
        self.server = server
        self.items: Sequence[OtherItem] = ()
        self.source: Source | None = None
        self.reply: Reply | None = None
        self._start = start
        self._around = (before, after)
        self._prefix = prefix

    def serves(self, server: OtherServer, before: str, after: str, prefix: str) -> bool:
        """Return whether this is the same word, and its list holds whatever it may become."""
        if self.server is not server or self._around != (before, after) or not prefix.startswith(self._prefix):
            return False
        return self.source is None or self.source.final or prefix == self._prefix

    async def wait(self, position: Position, until_s: float) -> None:
        """Have the server asked, and wait for its answer until an instant of the loop's clock."""
        loop = asyncio.get_running_loop()
        if self.source is not None:
            return
        try:
            async with asyncio.timeout_at(max(until_s, loop.time())):
                while self.server.coming:
                    await self.server.ready()
                    if await self._answered(position):
                        return
                    await asyncio.sleep(_ASK_AGAIN_S)
        except TimeoutError:
            return

    async def _answered(self, position: Position) -> bool:
        """Ask, unless that was done, and wait for the answer; return whether it can be used."""
        try:
            if self.reply is None:
                self.reply = self.server.complete(identity(self.document.uri), self.document, position)
            await asyncio.wait([self.reply])
        except EngineError:
            self.reply = None  # it went just now
            return False
        self._take(self.reply)
        self.reply = None
        return self.source is not None

    def look(self) -> None:
        """Take an answer that came when nobody waited any more."""
        if self.source is None and self.reply is not None and self.reply.done():
            self._take(self.reply)

    def _take(self, reply: Reply) -> None:
        from headway.engines.other import listed

        if reply.cancelled() or reply.disturbed or reply.exception() is not None:
            return
        found, incomplete = listed(reply.result())
        if plain_words.asks_for_member(self.document.line(self._start.line)[: self._start.column]):
            # Words of the text, as some servers give them until they have read it: nobody knows them as members.
            members = [item for item in found if item.kind != CandidateKind.TEXT]
            if found and not members:
                return
            found = members
        self.items = [item for item in found if self._text(item) is not None]
        self.source = Source(
            name=self.server.name,
            labels=[_name(item) for item in self.items],
            tiers=[Tier.ENGINE] * len(self.items),
            make=lambda index: self._candidate(self.items[index]),
            final=not incomplete,
        )

    def _text(self, item: OtherItem) -> str | None:
        """Return what an item writes in place of the word; None where it would change what stands before the word."""
        edit = item.textEdit
        if item.insertTextFormat != 1:
            return None  # A snippet, although none was asked for.
        if edit is None or edit.range is None:
            return item.insertText or (edit.newText if edit is not None else _name(item))
        begins = self.server.range_of(self.document, edit.range).start
        if begins.line != self._start.line or begins.column > self._start.column:
            return edit.newText if begins == self._start else None
        kept = self.document.line(begins.line)[begins.column : self._start.column]
        return edit.newText.removeprefix(kept) if edit.newText.startswith(kept) else None

    def _candidate(self, item: OtherItem) -> Candidate:
        kinds = CandidateKind._value2member_map_
        name = _name(item)
        return Candidate(
            label=item.label.strip(),
            kind=CandidateKind(item.kind) if item.kind in kinds else CandidateKind.TEXT,
            insert=self._text(item) or name,
            filter_text=name,
            detail=item.detail,
            deprecated=item.deprecated or bool(item.tags and 1 in item.tags),
            source=self.server.name,
        )

    async def resolve(self, label: str) -> ResolvedCandidate | None:
        """Return what more the server tells of what was shown under a label."""
        from headway.engines.ty import documentation_of

        item = next((item for item in self.items if item.label.strip() == label), None)
        if item is None:
            return None
        if (self.server.capabilities.get("completionProvider") or {}).get("resolveProvider"):
            try:
                async with asyncio.timeout(_TAKEN_LIMIT_S):
                    item = await self.server.resolve(item) or item
            except (TimeoutError, EngineError):
                pass  # What came with the list is known all the same.
        edits = [
            (self.server.range_of(self.document, edit.range), edit.newText)
            for edit in item.additionalTextEdits or ()
            if edit.range is not None
        ]
        return ResolvedCandidate(
            detail=item.detail, documentation=documentation_of(item.documentation), edits=tuple(edits)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherAnswer:
    """A list, the range of the word that it is for, and the word where a server was asked about it."""

    start: Position
    end: Position
    ranked: Ranked
    word: OtherWord | None = None


class OtherLanguages:
    """Answers completion requests of documents in other languages.

    Args:
        engines: The servers that were named; None where none ever are.
        view: Gives the symbols of the workspace.
    """

    def __init__(self, context: SessionContext, engines: OtherEngines | None, view: Callable[[], IndexView]) -> None:
        self._context = context
        self._engines = engines
        self._view = view
        self._words: dict[str, OtherWord] = {}  # by document

    def closed(self, key: str) -> None:
        """A document was closed."""
        self._words.pop(key, None)

    async def complete(self, document: Document, position: Position, asked_s: float) -> OtherAnswer:
        """Return what may be written at a position; the deadlines count from `asked_s`, on the loop's clock."""
        line = document.line(position.line)
        start = Position(position.line, position.column - written_before(line, position.column))
        end = Position(position.line, position.column + word_length(line, position.column))
        prefix = line[start.column : position.column]
        around = Surroundings.of(document.content, position.line)
        text = str(around.text)
        cursor = around.text.offset_at(around.inside(position))
        fallback = self._plain(document, text, cursor, prefix)
        settings = self._context.settings.completion
        word = self._word(
            document, start, prefix, (text[: cursor - len(prefix)], text[cursor + end.column - position.column :])
        )
        sources: Sequence[Source] = fallback
        cut_short = False
        if word is not None:
            await word.wait(position, asked_s + settings.soft_deadline_ms / 1000)
            if word.source is None and not merge(fallback, prefix, 1).items:
                await word.wait(position, asked_s + settings.hard_deadline_ms / 1000)
            cut_short = word.source is None
            if word.source is not None and word.items:
                sources = (word.source,)
        ranked = merge(sources, prefix, settings.max_items)
        ranked = Ranked(items=ranked.items, incomplete=ranked.incomplete or cut_short)
        return OtherAnswer(start=start, end=end, ranked=ranked, word=word)

    def _word(self, document: Document, start: Position, prefix: str, around: tuple[str, str]) -> OtherWord | None:
        from headway.engines.mirror import LONGEST_TEXT

        server = self._engines.engine(document.language) if self._engines is not None else None
        if server is None or len(document.content) > LONGEST_TEXT:
            return None
        key = identity(document.uri)
        known = self._words.get(key)
        if known is not None and known.serves(server, *around, prefix):
            known.look()
            return known
        if known is not None and known.reply is not None:
            known.reply.cancel()
        word = self._words[key] = OtherWord(document, server, start, *around, prefix)
        return word

    def _plain(self, document: Document, text: str, cursor: int, prefix: str) -> tuple[Source, ...]:
        """Return the words around and the names of the index, where neither can be wrong."""
        if not prefix or not plain_words.offers(document.language, text[:cursor]):
            return ()
        found = self._view().complete(prefix, plain_words.MOST_NAMES, suffixes_of(document.language))
        return (
            plain_words.index_source(found, final=len(found) < plain_words.MOST_NAMES),
            plain_words.word_source(text, cursor),
        )


def _name(item: OtherItem) -> str:
    return item.filterText or item.label.strip()
