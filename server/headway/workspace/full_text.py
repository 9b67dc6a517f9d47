"""The full-text table of definitions: what is a column of it, what counts how much, and how it is asked.

It holds no texts: to forget a row it is told which words the row had.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from itertools import islice
from typing import Final

from headway.workspace.index import Chunk

TABLE: Final = "chunks"
# How much a word counts by where it stands: body and context (containers and path), name, docstring. What stands first
# is told in two bytes less for each word of a definition, and these are most words: it takes a fifth of the table less.
_WEIGHTS: Final = "1.0, 10.0, 4.0"
# In a question a word of a name is one of several that count: what is asked for often has another name. Weights as in
# BM25F (Robertson, Zaragoza and Taylor, "Simple BM25 extension to multiple weighted fields", CIKM 2004), found with
# `make bench ARGS=quality` and tried on code that they were not found with.
_QUESTION_WEIGHTS: Final = "1.0, 4.0, 4.0"
# What a file says beside its definitions, and tests, say much of what the code says that they are about: of two that
# answer about equally well, the code comes first.
_ASIDE: Final = 0.8
_MOST_WEIGHED: Final = 200
_TESTS: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)(?:test_|conftest\.)[^/]*$|[._](?:test|spec)\.\w+$"
)
_ABOUT_TESTS: Final = frozenset({"test", "tests", "testing"})
# The table's own blocks fill four pages of the store, where they are full.
_BLOCK_BYTES: Final = 4_035
FULL_TEXT_SCHEMA: Final = f"""
CREATE VIRTUAL TABLE {TABLE} USING fts5(
    body, name, doc, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO {TABLE} ({TABLE}, rank) VALUES ('pgsz', {_BLOCK_BYTES});
"""


def add(db: sqlite3.Connection, first_row: int, chunks: Iterable[Chunk]) -> None:
    """Add the texts of a file; `first_row` is the number of the row that its first definition has or would have."""
    db.executemany(f"INSERT INTO {TABLE} (rowid, name, doc, body) VALUES (?, ?, ?, ?)", _rows(first_row, chunks))


def remove(db: sqlite3.Connection, first_row: int, chunks: Iterable[Chunk]) -> None:
    """Remove what was added, told in the same words in any order."""
    db.executemany(
        f"INSERT INTO {TABLE} ({TABLE}, rowid, name, doc, body) VALUES ('delete', ?, ?, ?, ?)", _rows(first_row, chunks)
    )


def matching(
    db: sqlite3.Connection, words: Sequence[str], limit: int, place_of: Callable[[int], tuple[str, int]] | None = None
) -> Generator[tuple[int, float]]:
    """Yield rows that hold any of some words as (row, rank), best first; the last word also counts as a beginning.

    Args:
        place_of: The words are those of a question, see `words.question_words`; tells of a row the path of its file,
            and the file's own row.
    """
    terms = [f'"{word}"' for word in words]
    if not terms:
        return
    if place_of is None:
        yield from _ranked(db, [*terms, f"{terms[-1]}*"], _WEIGHTS, limit)
        return
    terms[-1] += "*"  # as a whole word it would count twice, and that is only right for a name
    is_about_tests = not _ABOUT_TESTS.isdisjoint(words)
    weighed = min(3 * limit, _MOST_WEIGHED)
    with closing(_ranked(db, terms, _QUESTION_WEIGHTS, max(limit, weighed))) as rows:
        some = []
        for row, rank in islice(rows, weighed):
            path, own = place_of(row)
            asides = (row == own) + (not is_about_tests and _TESTS.search(path) is not None)
            some.append((rank * _ASIDE**asides, row))
        yield from ((row, rank) for rank, row in sorted(some))
        yield from rows


def _ranked(db: sqlite3.Connection, terms: Iterable[str], weights: str, limit: int) -> Generator[tuple[int, float]]:
    ranked = f"SELECT rowid, bm25({TABLE}, {weights}) AS r FROM {TABLE}"
    with closing(db.execute(f"{ranked} WHERE {TABLE} MATCH ? ORDER BY r LIMIT ?", (" OR ".join(terms), limit))) as rows:
        yield from rows


def check(db: sqlite3.Connection) -> None:
    """Read the whole table.

    Raises:
        sqlite3.Error: it is damaged.
    """
    db.execute(f"INSERT INTO {TABLE} ({TABLE}, rank) VALUES ('integrity-check', 0)")


def _rows(first_row: int, chunks: Iterable[Chunk]) -> Iterable[tuple[int, str, str, str]]:
    return ((first_row + at, name, doc, f"{context} {body}") for at, name, context, doc, body in chunks)
