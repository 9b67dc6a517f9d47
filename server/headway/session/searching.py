"""Search by name and by words, symbols of the workspace and of a document: HIGH jobs over the index as it is.

Reading the index on disk is I/O and runs in a thread; a document is parsed in a worker process. What was found says how
much of the workspace was looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from headway.features.search import Hit, Texts, fused
from headway.features.symbols import Outline, outline
from headway.scheduler.model import Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.indexing import Indexing
from headway.session.jobs import value_of
from headway.session.meaning import OFF, Meaning, Standing
from headway.session.ports import Room, SessionContext
from headway.workspace.database import StoreError
from headway.workspace.documents import Document
from headway.workspace.index import Definition, index_text
from headway.workspace.nearest import Near
from headway.workspace.scope import Scope
from headway.workspace.store import Store, TextHit
from headway.workspace.symbols import Found, IndexView
from headway.workspace.uris import identity, uri_to_path
from headway.workspace.words import query_words, question_words

_log = logging.getLogger(__name__)

MOST_HITS: Final = 200
MOST_SYMBOLS: Final = 128  # as many as rust-analyzer gives: nobody reads more, and each costs
MOST_NEIGHBOURS: Final = 50
# Reading takes no core that it would have to wait for: it goes on while lesser work fills all of them.
_READING: Final = Requirement(cpu_cores=0.0, memory_mb=1)
_PARSING: Final = Requirement(cpu_cores=0.1, memory_mb=150)
_LIMIT_S: Final = 20.0
_LONGEST_QUERY: Final = 4_000
_LONGEST_OUTLINED: Final = 4_000_000
# Fuzzy matches by single letters are worth showing only where nothing better was found.
_ENOUGH_NAMES: Final = 5
_MOST_NEAR: Final = 20  # open files by whose nearness symbols of one name are ordered
_MOST_USED: Final = 50  # files whose symbols come first since they were worked on lately


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What to look for.

    Args:
        path: A glob as in `.gitignore`, relative to the roots; None: everywhere.
        kinds: LSP's numbers; empty: all.
        languages: As `scope.Scope` takes them; empty: all.
    """

    text: str
    limit: int = 20
    path: str | None = None
    kinds: frozenset[int] = frozenset()
    languages: frozenset[str] = frozenset()

    @property
    def scope(self) -> Scope:
        """The files that it is about."""
        return Scope(path=self.path, languages=self.languages)

    @property
    def looked_at(self) -> int:
        """How many hits of one kind to look at: where some may not count, more, to find enough."""
        limit = min(self.limit, MOST_HITS)
        return limit if self.scope.is_everything and not self.kinds else MOST_HITS * 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """Hits, best first, and how much of the workspace the index held when they were found."""

    hits: Sequence[Hit]
    state: Literal["complete", "indexing"]
    coverage: float
    meaning: Standing = OFF


class Searching(Room):
    """Answers searches from what `Indexing` and, where it is on, `Meaning` keep."""

    def __init__(self, context: SessionContext, indexing: Indexing, meaning: Meaning | None = None) -> None:
        self._context = context
        self._indexing = indexing
        self._meaning = meaning
        self._outlines: dict[str, tuple[int, list[Outline]]] = {}
        self._used: dict[str, None] = {}  # paths of files that were opened or edited, the last one last

    def document_opened(self, document: Document) -> None:
        self._uses(document)

    def document_changed(self, document: Document) -> None:
        self._uses(document)

    def _uses(self, document: Document) -> None:
        path = uri_to_path(document.uri)
        if path is not None:
            self._used.pop(path, None)
            self._used[path] = None
            if len(self._used) > _MOST_USED:
                del self._used[next(iter(self._used))]

    async def search(self, query: SearchQuery, part: Callable[[Sequence[Hit]], None] | None = None) -> SearchAnswer:
        """Return definitions that answer a query; any string is one, and an empty one has no hits.

        Args:
            part: Is given what is known by then, best first, as soon as something is: a later list, or the answer,
                may hold the same hits with higher scores, and more of them.

        Raises:
            RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        text = query.text.strip()[:_LONGEST_QUERY]
        hits = await self._hits(text, query, part) if text and query.limit > 0 else ()
        state = self._indexing.state
        meaning = OFF if self._meaning is None else self._meaning.standing
        settled = state in ("complete", "off") and meaning.state != "building"
        return SearchAnswer(
            hits=hits,
            state="complete" if settled else "indexing",
            coverage=0.0 if state == "off" else self._indexing.coverage,
            meaning=meaning,
        )

    async def _hits(self, text: str, query: SearchQuery, part: Callable[[Sequence[Hit]], None] | None) -> Sequence[Hit]:
        wanted = min(query.limit, MOST_NEIGHBOURS)
        question = None if self._meaning is None else self._meaning.begin(text, wanted, query.scope, query.kinds)
        try:
            databases = dict(self._indexing.databases)
            named: Named = await self._read(
                f"names like {text[:40]!r}", find_names, self._indexing.view, databases, query
            )
            if part is not None and (early := named.hits(query)):
                part(early)
            worded: Worded = await self._read(f"search {text[:40]!r}", find, named, databases, query)
            if question is None:
                return await self._fused(text, query, worded)
            if part is not None:
                part(await self._fused(text, query, worded))
            near = await question.near()
            question = None
        finally:
            if question is not None:
                question.drop()
        return await self._fused(text, query, worded, near)

    async def _fused(self, text: str, query: SearchQuery, worded: Worded, near: Sequence[Near] = ()) -> Sequence[Hit]:
        hits: Sequence[Hit] = await self._read(f"fuse {text[:40]!r}", worded.hits, query, near)
        return hits

    async def _read(self, name: str, call: Callable[..., Any], *args: Any) -> Any:
        handle = self._context.scheduler.run(
            call,
            *args,
            priority=Priority.HIGH,
            name=name,
            kind=TaskKind.IO_BOUND,
            requirement=_READING,
            timeout=TimeoutPolicy(hard_s=_LIMIT_S),
        )
        return await value_of(handle)

    async def workspace_symbols(self, query: str) -> Sequence[Found]:
        """Return symbols of all roots by name; none for an empty query.

        Raises:
            RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        if not query.strip():
            return ()
        found: Sequence[Found] = await self._read(
            f"symbols {query[:40]!r}",
            *(self._indexing.view.symbols, query, MOST_SYMBOLS),
            *(self._open_paths(), tuple(reversed(self._used))),
        )
        return found

    def _open_paths(self) -> list[str]:
        paths = (uri_to_path(document.uri) for document in self._context.documents.snapshot().values())
        return [path for path in paths if path is not None][:_MOST_NEAR]

    async def document_symbols(self, uri: str, sent_for: Document | None = None) -> Sequence[Outline]:
        """Return the outline of an open document; none where it is not open, or longer than anybody reads.

        Args:
            sent_for: The text that it is about; None: the present one.

        Raises:
            RequestSupersededError: it was asked for again, with a newer text.
            RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        document = sent_for or self._context.documents.get(uri)
        if document is None or len(document.content) > _LONGEST_OUTLINED:
            return ()
        key = identity(uri)
        version, known = self._outlines.get(key, (None, ()))
        if version == document.version:
            return known
        handle = self._context.scheduler.run(
            definitions_of,
            document.uri.rpartition("/")[2],
            document.text,
            document.language,
            priority=Priority.HIGH,
            name=f"outline {document.uri.rpartition('/')[2][:60]}",
            kind=TaskKind.CPU_BOUND,
            requirement=_PARSING,
            supersede_key=("outline", key),
            timeout=TimeoutPolicy(hard_s=_LIMIT_S),
        )
        found = outline(await value_of(handle))
        for closed in [other for other in self._outlines if self._context.documents.at_path(other) is None]:
            del self._outlines[closed]
        self._outlines[key] = (document.version, found)
        return found


def definitions_of(name: str, text: str, language: str) -> Sequence[Definition]:
    """Return the definitions of a text, in a worker process."""
    return index_text(name, text, language).definitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What was found by name, best first, and the definitions of the files in which that was, by root and path."""

    found: Sequence[Found]
    definitions: Mapping[str, Mapping[str, Sequence[Definition]]]

    def hits(self, query: SearchQuery) -> list[Hit]:
        """Return what will be among the hits whatever else is found: names that fit by more than single letters."""
        sure = [found for found in self.found if found.how != "letters"]
        texts = [Texts(root=root, hits=(), definitions=known) for root, known in self.definitions.items()]
        return fused(sure, texts, query.kinds, min(query.limit, MOST_HITS))


def find_names(view: IndexView, databases: Mapping[str, str], query: SearchQuery) -> Named:
    """Look names up, in a thread.

    Args:
        databases: Path of the index of each root.
    """
    accepts = query.scope.accepting()
    named = [found for found in view.symbols(query.text, query.looked_at) if accepts(found.symbol.path)][:MOST_HITS]
    definitions: dict[str, Mapping[str, Sequence[Definition]]] = {}
    for root, database in databases.items():
        paths = [found.symbol.path for found in named if found.root == root]
        if paths and (store := _opened(root, database)) is not None:
            with store:
                definitions[root] = store.definitions(paths)
    return Named(found=named, definitions=definitions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Worded:
    """What was found by name and by words."""

    found: Sequence[Found]
    texts: Sequence[Texts]

    def hits(self, query: SearchQuery, near: Sequence[Near] = ()) -> list[Hit]:
        """Return the best hits, with what is near in meaning."""
        return fused(self.found, self.texts, query.kinds, min(query.limit, MOST_HITS), near)


def find(named: Named, databases: Mapping[str, str], query: SearchQuery) -> Worded:
    """Search by words, in a thread."""
    scope = query.scope
    question = question_words(query.text)
    words = question or query_words(query.text)
    accepts = None if scope.is_everything else scope.accepting()
    texts = []
    for root, database in databases.items():
        hits: Sequence[TextHit] = ()
        if (store := _opened(root, database)) is not None:
            with store:
                hits = store.search(words, query.looked_at, accepts, asks=bool(question))
        texts.append(Texts(root=root, hits=hits, definitions=named.definitions.get(root, {})))
    found = named.found
    if any(text.hits for text in texts) or len(found) > _ENOUGH_NAMES:
        found = [one for one in found if one.how != "letters"]
    return Worded(found=found, texts=texts)


def _opened(root: str, database: str) -> Store | None:
    try:
        return Store(database, readonly=True)
    except StoreError as error:
        _log.info("the index of %s cannot be searched at the moment: %s", root, error)
        return None
