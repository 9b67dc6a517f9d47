"""Packed symbols of many files at once, kept in the database, so that a start loads them as they are.

What is kept covers all files between two numbers and is dropped when one of them changes; new files have higher
numbers. Everything here can be made again from the files' definitions, so nothing depends on it.
"""

from __future__ import annotations

import sqlite3
import zlib
from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

# `after` is the number behind which the files of a pack begin; `last` that of its last file.
PACKS_SCHEMA: Final = """
CREATE TABLE packs (
    after INTEGER PRIMARY KEY, last INTEGER NOT NULL, weight INTEGER NOT NULL, content BLOB NOT NULL
);
"""
FILE_WEIGHT: Final = 4  # taking a file over costs as much as so many symbols of it
_LEVEL: Final = 6


class Pack(NamedTuple):
    """Packed symbols of the files up to one of them, see `segments.Segment.pack`. `weight`: symbols and files."""

    last_file_id: int
    weight: int
    content: bytes


def pack_after(db: sqlite3.Connection, file_id: int, max_weight: int) -> Pack | None:
    """Return what is kept of the files behind one; None where there is nothing, or where it should be larger.

    Raises:
        sqlite3.Error, zlib.error: it cannot be read.
    """
    row = db.execute("SELECT last, weight, content FROM packs WHERE after = ?", (file_id,)).fetchone()
    if row is None:
        return None
    last, weight, content = row
    if weight < max_weight // 4 and db.execute("SELECT 1 FROM files WHERE id > ? LIMIT 1", (last,)).fetchone():
        return None  # A small one that others follow: together they are one.
    whole = zlib.decompress(content)
    try:
        parted(whole)
    except (ValueError, IndexError) as error:
        raise sqlite3.DatabaseError(f"a pack is unreadable: {error}") from error
    return Pack(last, weight, whole)


def keep_pack(db: sqlite3.Connection, after: int, pack: Pack) -> None:
    """Keep a pack, in the place of all that overlap with it; within a transaction of the caller."""
    db.execute("DELETE FROM packs WHERE after < ? AND last > ?", (pack.last_file_id, after))
    content = zlib.compress(pack.content, _LEVEL)
    db.execute("INSERT OR REPLACE INTO packs VALUES (?, ?, ?, ?)", (after, pack.last_file_id, pack.weight, content))


def drop_pack(db: sqlite3.Connection, file_id: int) -> None:
    """Drop what holds a file that is about to change."""
    db.execute("DELETE FROM packs WHERE after < ?1 AND last >= ?1", (file_id,))


def joined(parts: Sequence[bytes]) -> bytes:
    """Return some blocks of bytes as one."""
    sizes = array("Q", (len(part) for part in parts))
    return b"".join((array("Q", (len(parts),)).tobytes(), sizes.tobytes(), *parts))


def parted(block: bytes) -> list[memoryview]:
    """Return what was `joined`.

    Raises:
        ValueError: it was not, or is damaged.
    """
    numbers = array("Q")
    numbers.frombytes(block[:8])
    sizes = array("Q")
    at = 8 + 8 * numbers[0]
    sizes.frombytes(block[8:at])
    if at + sum(sizes) != len(block):
        raise ValueError("the parts of a block are not what it says")
    view = memoryview(block)  # Cutting it up copies nothing.
    parts = []
    for size in sizes:
        parts.append(view[at : at + size])
        at += size
    return parts
