"""Compression of what the files of one database say: with what the first of them have in common.

Most of what a file says is said in the words of its neighbours, and a file is too short for zlib to learn them. So the
first texts that are stored together are kept as a dictionary for all that come later, which takes a tenth less. It is
never replaced while the database lives. Small databases have none.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Final

COMMON_SCHEMA: Final = "CREATE TABLE common (content BLOB NOT NULL);"
_LEVEL: Final = 6
_LEAST_BYTES: Final = 64 << 10  # of texts that are stored together, to be worth a dictionary
_COMMON_BYTES: Final = 16 << 10  # more of them take more time than they save room
_NEEDS_COMMON: Final = 0x20  # in the second byte of what zlib wrote


class Squeezer:
    """Makes texts of one database small, and large again."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._common = b""
        self._start = zlib.compressobj(_LEVEL)

    def small(self, texts: Sequence[bytes], transaction: Callable[[], AbstractContextManager[None]]) -> list[bytes]:
        """Return texts in small. Where there is no dictionary yet, and they are enough for one, they become it.

        Args:
            transaction: Opens one that writes; used for that alone.
        """
        if not self._has_common() and sum(map(len, texts)) >= _LEAST_BYTES:
            with transaction():
                if not self._has_common():  # nobody else was first
                    content = zlib.compress(_of_all(texts), _LEVEL)
                    self._db.execute("INSERT INTO common VALUES (?)", (content,))
            self._has_common()
        return list(map(self._small, texts))

    def large(self, blob: bytes) -> bytes:
        """Return what `small` made small.

        Raises:
            zlib.error: the blob is damaged, or the dictionary.
        """
        if len(blob) < 2 or not blob[1] & _NEEDS_COMMON:
            return zlib.decompress(blob)
        self._has_common()
        one = zlib.decompressobj(zdict=self._common)
        text = one.decompress(blob)
        if not one.eof:
            raise zlib.error("a text is cut off")
        return text

    def _small(self, text: bytes) -> bytes:
        one = self._start.copy()  # It knows the dictionary already: learning it takes longer than most texts.
        return one.compress(text) + one.flush()

    def _has_common(self) -> bool:
        if self._common:
            return True
        row = self._db.execute("SELECT content FROM common").fetchone()
        if row is not None:
            self._common = zlib.decompress(row[0])
            self._start = zlib.compressobj(_LEVEL, zdict=self._common)
        return row is not None


def _of_all(texts: Sequence[bytes]) -> bytes:
    """Return the middle of each text: what definitions say, and not their places."""
    share = _COMMON_BYTES // len(texts)
    return b"".join(text[max(0, (len(text) - share) // 2) :][:share] for text in texts)
