"""The full-text table of definitions: what is a column of it, what counts how much, and how it is asked.

It holds no texts: to forget a row it is told which words the row had.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from headway.workspace.index import Chunk

TABLE: Final = "chunks"
# How much a word counts by where it stands: body and context (containers and path), name, docstring. What stands first
# is told in two bytes less for each word of a definition, and these are most words: it takes a fifth of the table less.
_WEIGHTS: Final = "1.0, 10.0, 4.0"
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


def matching(db: sqlite3.Connection, words: Sequence[str], limit: int) -> sqlite3.Cursor:
    """Return rows that hold any of some words as (row, rank), best first; the last word also counts as a beginning."""
    terms = [f'"{word}"' for word in words]
    terms.append(f'"{words[-1]}"*')
    ranked = f"SELECT rowid, bm25({TABLE}, {_WEIGHTS}) AS r FROM {TABLE}"
    return db.execute(f"{ranked} WHERE {TABLE} MATCH ? ORDER BY r LIMIT ?", (" OR ".join(terms), limit))


def check(db: sqlite3.Connection) -> None:
    """Read the whole table.

    Raises:
        sqlite3.Error: it is damaged.
    """
    db.execute(f"INSERT INTO {TABLE} ({TABLE}, rank) VALUES ('integrity-check', 0)")


def _rows(first_row: int, chunks: Iterable[Chunk]) -> Iterable[tuple[int, str, str, str]]:
    return ((first_row + at, name, doc, f"{context} {body}") for at, name, context, doc, body in chunks)
