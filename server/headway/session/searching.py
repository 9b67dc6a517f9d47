"""Search by name and by words, symbols of the workspace and of a document: HIGH jobs over the index as it is.

Reading the index on disk is I/O and runs in a thread; a document is parsed in a worker process. What was found says how
much of the workspace was looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from headway.features.search import Hit, Texts, fused
from headway.features.symbols import Outline, outline
from headway.scheduler.model import Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.indexing import Indexing
from headway.session.jobs import value_of
from headway.session.ports import SessionContext
from headway.workspace.database import StoreError
from headway.workspace.index import Definition, index_text
from headway.workspace.listing import glob_rules
from headway.workspace.store import Store
from headway.workspace.symbols import Found, IndexView
from headway.workspace.uris import identity, uri_to_path
from headway.workspace.words import query_words

_log = logging.getLogger(__name__)

MOST_HITS: Final = 200
MOST_SYMBOLS: Final = 200
# Reading takes no core that it would have to wait for: it goes on while lesser work fills all of them.
_READING: Final = Requirement(cpu_cores=0.0, memory_mb=1)
_PARSING: Final = Requirement(cpu_cores=0.1, memory_mb=150)
_LIMIT_S: Final = 20.0
_LONGEST_QUERY: Final = 4_000
_LONGEST_OUTLINED: Final = 4_000_000
# Fuzzy matches by single letters are worth showing only where nothing better was found.
_ENOUGH_NAMES: Final = 5
_MOST_NEAR: Final = 20  # open files by whose nearness symbols of one name are ordered


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What to look for. `path` is a glob as in `.gitignore`, relative to the roots; `kinds` are LSP's numbers."""

    text: str
    limit: int = 20
    path: str | None = None
    kinds: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """Hits, best first, and how much of the workspace the index held when they were found."""

    hits: Sequence[Hit]
    state: Literal["complete", "indexing"]
    coverage: float


class Searching:
    """Answers searches from what `Indexing` keeps."""

    def __init__(self, context: SessionContext, indexing: Indexing) -> None:
        self._context = context
        self._indexing = indexing
        self._outlines: dict[str, tuple[int, list[Outline]]] = {}

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """Return definitions that answer a query; any string is one, and an empty one has no hits.

        Raises:
            RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        hits: Sequence[Hit] = ()
        text = query.text.strip()[:_LONGEST_QUERY]
        if text and query.limit > 0:
            handle = self._context.scheduler.run(
                find,
                self._indexing.view,
                dict(self._indexing.databases),
                query,
                priority=Priority.HIGH,
                name=f"search {text[:40]!r}",
                kind=TaskKind.IO_BOUND,
                requirement=_READING,
                timeout=TimeoutPolicy(hard_s=_LIMIT_S),
            )
            hits = await value_of(handle)
        state = self._indexing.state
        return SearchAnswer(
            hits=hits,
            state="complete" if state in ("complete", "off") else "indexing",
            coverage=0.0 if state == "off" else self._indexing.coverage,
        )

    async def workspace_symbols(self, query: str) -> Sequence[Found]:
        """Return symbols of all roots by name; none for an empty query.

        Raises:
            RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        if not query.strip():
            return ()
        handle = self._context.scheduler.run(
            self._indexing.view.symbols,
            query,
            MOST_SYMBOLS,
            self._open_paths(),
            priority=Priority.HIGH,
            name=f"symbols {query[:40]!r}",
            kind=TaskKind.IO_BOUND,
            requirement=_READING,
            timeout=TimeoutPolicy(hard_s=_LIMIT_S),
        )
        found: Sequence[Found] = await value_of(handle)
        return found

    def _open_paths(self) -> list[str]:
        paths = (uri_to_path(document.uri) for document in self._context.documents.snapshot().values())
        return [path for path in paths if path is not None][:_MOST_NEAR]

    async def document_symbols(self, uri: str) -> Sequence[Outline]:
        """Return the outline of an open document; none where it is not open, or longer than anybody reads.

        Raises:
            RequestSupersededError: it was asked for again, with a newer text.
            RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        document = self._context.documents.get(uri)
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


def find(view: IndexView, databases: Mapping[str, str], query: SearchQuery) -> list[Hit]:
    """Search, in a thread.

    Args:
        databases: Path of the index of each root.
    """
    rules = glob_rules([query.path]) if query.path else None

    def accepts(path: str) -> bool:
        return rules is None or rules.match_file(path)

    limit = min(query.limit, MOST_HITS)
    # Where paths or kinds are wanted, more has to be looked at to find enough.
    wide = limit if rules is None and not query.kinds else MOST_HITS * 5
    named = [found for found in view.symbols(query.text, wide) if accepts(found.symbol.path)]
    words = query_words(query.text)
    texts = []
    for root, database in databases.items():
        try:
            with Store(database, readonly=True) as store:
                hits = store.search(words, wide, accepts if rules is not None else None)
                paths = [found.symbol.path for found in named[:MOST_HITS] if found.root == root]
                texts.append(Texts(root=root, hits=hits, definitions=store.definitions(paths)))
        except StoreError as error:
            _log.info("the index of %s cannot be searched at the moment: %s", root, error)
    if any(text.hits for text in texts) or len(named) > _ENOUGH_NAMES:
        named = [found for found in named if found.how != "letters"]
    return fused(named[:MOST_HITS], texts, query.kinds, limit)
