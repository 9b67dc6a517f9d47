"""What the content of files says, by the content: so that a branch, a checkout or a name that comes back is not parsed.

Of this database: the files as they are, and so many of those that were replaced or removed. Of other checkouts of the
same repository: their databases, which are only read. Content of equal bytes says the same wherever it lies, but for
its file's name.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import zlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from headway.workspace.squeezing import Squeezer

FORMER_SCHEMA: Final = """
CREATE INDEX files_by_digest ON files (digest);
CREATE TABLE former (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL,
    path TEXT NOT NULL,
    language TEXT NOT NULL,
    note TEXT,
    said BLOB NOT NULL,
    UNIQUE (digest, path)
);
"""
_COLUMNS: Final = "digest, path, language, note, said"
# Enough for a branch that touches some thousand files; they take a few kilobytes each.
_MOST_FORMER: Final = 8_000
_MOST_SIBLINGS: Final = 8
_MOST_ALIKE: Final = 16  # they differ in language and suffix at most
_MOST_LINK_BYTES: Final = 4_096


class Content(NamedTuple):
    """What a content says, as `packing.pack` packs it. `path` is where it lay."""

    digest: bytes
    path: str
    language: str
    note: str | None
    said: bytes


def contents(db: sqlite3.Connection, squeezer: Squeezer, digests: Collection[bytes]) -> list[Content]:
    """Return what is known of some contents; the more recent ones last, and only some where very many are alike.

    What is damaged is left out: whoever asks can read the file.
    """
    found = []
    for digest in digests:
        for table, where in (("former", ""), ("files", " AND skipped IS NULL")):
            newest = f"WHERE digest = ?{where} ORDER BY id DESC LIMIT {_MOST_ALIKE}"
            rows = db.execute(f"SELECT {_COLUMNS} FROM {table} {newest}", (digest,)).fetchall()
            for of, path, language, note, said in reversed(rows):
                with contextlib.suppress(zlib.error):
                    found.append(Content(of, path, language, note, squeezer.large(said)))
    return found


def retire(db: sqlite3.Connection, file_id: int, most: int = _MOST_FORMER) -> None:
    """Keep what a file says that is about to be replaced or removed; what only an editor has held is not kept."""
    db.execute(
        f"INSERT OR REPLACE INTO former ({_COLUMNS}) SELECT {_COLUMNS} FROM files"
        " WHERE id = ? AND skipped IS NULL AND signature != ''",
        (file_id,),
    )
    db.execute("DELETE FROM former WHERE id <= (SELECT max(id) FROM former) - ?", (most,))


def fits(content: Content, path: str, language: str) -> bool:
    """Return whether a content would be understood the same way as a file of this path and language."""
    return content.language == language and PurePosixPath(content.path).suffix == PurePosixPath(path).suffix


# ---- other checkouts of the same repository -------------------------------------------------------------------------


def siblings(root: str) -> list[str]:
    """Return the same folder in other checkouts of its repository that are known to git, whether it is there or not.

    Nothing but git's own notes of where they are is read; at most a few.
    """
    top = os.path.realpath(root)
    inner: Sequence[str] = ()
    while not os.path.lexists(os.path.join(top, ".git")):
        above, name = os.path.split(top)
        if above == top:
            return []
        top, inner = above, (name, *inner)
    common = _common_folder(os.path.join(top, ".git"))
    found = {os.path.dirname(common)} if os.path.basename(common) == ".git" else set()
    with contextlib.suppress(OSError):
        found.update(_checkouts(os.path.join(common, "worktrees")))
    return [os.path.join(other, *inner) for other in sorted(found - {top})[:_MOST_SIBLINGS]]


def _common_folder(git: str) -> str:
    """Return the repository's own folder, of which each checkout has one of its own or a file that leads there."""
    if os.path.isdir(git):
        return git
    link = _line(git)
    own = os.path.join(os.path.dirname(git), link.removeprefix("gitdir:").strip())
    common = _line(os.path.join(own, "commondir"))
    return os.path.realpath(os.path.join(own, common)) if link.startswith("gitdir:") and common else git


def _checkouts(folder: str) -> Iterator[str]:
    for name in sorted(os.listdir(folder)):
        if link := _line(os.path.join(folder, name, "gitdir")):
            yield os.path.realpath(os.path.dirname(os.path.join(folder, name, link)))


def _line(path: str) -> str:
    """Return the first line of a small file, empty where there is none."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return ""
    try:
        line = os.fsdecode(os.read(handle, _MOST_LINK_BYTES).split(b"\n", 1)[0]).strip()
        return "" if "\0" in line else line  # no path, then
    except OSError:
        return ""
    finally:
        os.close(handle)
