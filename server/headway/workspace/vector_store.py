"""Vectors on disk: one SQLite database (WAL) for each model, shared by all workspaces of a cache directory.

All is named by content: a vector by its passage's text, a file's passages by the file's. So nothing is asked for twice,
whichever checkout, branch or window it is in, and vectors of different models never meet. Used from worker
processes only. Errors are those of `database.py`.
"""

from __future__ import annotations

import contextlib
import os
import struct
import time
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from headway.workspace import vectors
from headway.workspace.database import (
    Database,
    StoreDamagedError,
    StoreError,
    StoreUnusableError,
    created,
    pieces,
    translated,
)

SCHEMA_VERSION: Final = 1
_UNUSED_AFTER_DAYS: Final = 60
_SWEEP_EVERY_DAYS: Final = 7
# A text's vector differs from run to run in its last digits: so many signs (a share) may be others.
_SAME_MODEL: Final = 0.05

_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE vectors (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
CREATE TABLE contents (key BLOB PRIMARY KEY, used_day INTEGER NOT NULL, passages BLOB NOT NULL) WITHOUT ROWID;
"""
_PASSAGE: Final = struct.Struct("<IIB")  # vector's id, ordinal, kind


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorsSpec:
    """Whose vectors lie where. `model` says all that decides a vector besides its text."""

    path: str
    model: str


class Placed(NamedTuple):
    """A passage that has a vector."""

    vector_id: int
    ordinal: int
    kind: int


class VectorStore(Database):
    """An open database; made where there is none. Close it, or use it as a context.

    Raises:
        StoreDamagedError: it is damaged or of another version or model; remove it.
        StoreBusyError, StoreUnusableError: see there.
    """

    def __init__(self, spec: VectorsSpec) -> None:
        with translated(spec.path):
            if not os.path.exists(spec.path):
                os.makedirs(os.path.dirname(spec.path), exist_ok=True)
                self._create(spec)
        super().__init__(spec.path, {"version": str(SCHEMA_VERSION), "model": spec.model})

    @staticmethod
    def _create(spec: VectorsSpec) -> None:
        with created(spec.path) as db:
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
            values = (("version", str(SCHEMA_VERSION)), ("model", spec.model), ("change", "0"))
            db.executemany("INSERT INTO meta VALUES (?, ?)", values)

    # ---- reading ----

    @property
    def dimensions(self) -> int | None:
        """How many numbers a vector has; None while there is none."""
        with translated(self.path):
            found = self.meta("dimensions")
        return None if found is None else int(found)

    @property
    def epoch(self) -> int:
        """Rises when all vectors are dropped."""
        with translated(self.path):
            return int(self.meta("epoch") or 0)

    @property
    def change(self) -> int:
        """Rises with every change."""
        with translated(self.path):
            return int(self.meta("change") or 0)

    def known_keys(self, keys: Collection[bytes]) -> set[bytes]:
        """Return those passages that have a vector, or can have none."""
        return {key for key, _ in self._rows("SELECT key, id FROM vectors WHERE key IN ({})", list(keys))}

    def known_contents(self, keys: Collection[bytes]) -> set[bytes]:
        """Return those files of which all passages are here."""
        return {key for (key,) in self._rows("SELECT key FROM contents WHERE key IN ({})", list(keys))}

    def contents(self, keys: Collection[bytes]) -> dict[bytes, list[Placed]]:
        """Return the passages of files, by the content's key."""
        rows = self._rows("SELECT key, passages FROM contents WHERE key IN ({})", list(keys))
        return {key: [Placed(*fields) for fields in _PASSAGE.iter_unpack(blob)] for key, blob in rows}

    def vectors(self, ids: Collection[int]) -> dict[int, bytes]:
        """Return stored vectors by their numbers, without those of passages that can have none."""
        return dict(self._rows("SELECT id, vector FROM vectors WHERE vector != x'' AND id IN ({})", list(ids)))

    def stats(self) -> tuple[int, int]:
        """Return how many vectors there are, and the bytes of it all."""
        with translated(self.path):
            (count,) = self._db.execute("SELECT count(*) FROM vectors").fetchone()
            (pages,) = self._db.execute("PRAGMA page_count").fetchone()
            (page_bytes,) = self._db.execute("PRAGMA page_size").fetchone()
        return count, pages * page_bytes

    # ---- writing ----

    def is_of_same_model(self, vector: Sequence[float]) -> bool:
        """Compare the vector of a fixed text with the one that it had before; where it had none, keep this one.

        What a name stands for can be replaced behind it. Then everything here is dropped, as it cannot be compared.
        """
        stored = vectors.quantised(vector)
        with translated(self.path), self._transaction():
            before, dimensions = self._meta_bytes("sentinel"), self.meta("dimensions")
            if before is not None and dimensions == str(len(vector)):
                differing = vectors.signs(before, len(vector)) ^ vectors.signs(stored, len(vector))
                if differing.bit_count() <= _SAME_MODEL * len(vector):
                    return True
            self._db.execute("DELETE FROM vectors")
            self._db.execute("DELETE FROM contents")
            self._put_meta("dimensions", str(len(vector)))
            self._put_meta("sentinel", stored)
            self._put_meta("epoch", str(int(self.meta("epoch") or 0) + 1))
            self._changed()
        return before is None

    def note_query_prefix(self, prefix: str) -> None:
        """Remember what the model wants before each query, for who knows no settings."""
        with translated(self.path):
            if self.meta("query prefix") != prefix:
                self._put_meta("query prefix", prefix)

    def put(self, found: Mapping[bytes, bytes]) -> None:
        """Keep quantised vectors by the keys of their passages; b"" for a passage that can have none."""
        with translated(self.path), self._transaction():
            self._db.executemany("INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)", found.items())
            self._changed()

    def put_contents(self, contents: Iterable[tuple[bytes, Sequence[tuple[int, int, bytes]]]], day: int) -> int:
        """Note which passages files have, as (ordinal, kind, key); one that lacks a vector is left for later.

        Returns:
            How many files were noted.
        """
        noted = 0
        with translated(self.path), self._transaction():
            for content, placed in contents:
                ids = dict(self._rows("SELECT key, id FROM vectors WHERE key IN ({})", [key for _, _, key in placed]))
                if all(key in ids for _, _, key in placed):
                    blob = b"".join(_PASSAGE.pack(ids[key], ordinal, kind) for ordinal, kind, key in placed)
                    self._db.execute("INSERT OR REPLACE INTO contents VALUES (?, ?, ?)", (content, day, blob))
                    noted += 1
            self._changed()
        return noted

    def use(self, contents: Collection[bytes], day: int) -> None:
        """Note that files are in use, and once a week forget what nobody has used for two months."""
        with translated(self.path):
            if int(self.meta("swept") or 0) + _SWEEP_EVERY_DAYS > day:
                return
        with translated(self.path), self._transaction():
            for some in pieces(list(contents)):
                marks = ",".join("?" * len(some))
                self._db.execute(f"UPDATE contents SET used_day = ? WHERE key IN ({marks})", (day, *some))
            self._db.execute("DELETE FROM contents WHERE used_day < ?", (day - _UNUSED_AFTER_DAYS,))
            used = array("Q")
            for (blob,) in self._db.execute("SELECT passages FROM contents"):
                used.extend(vector_id for vector_id, _, _ in _PASSAGE.iter_unpack(blob))
            self._db.execute("CREATE TEMP TABLE used (id INTEGER PRIMARY KEY)")
            self._db.executemany("INSERT OR IGNORE INTO used VALUES (?)", ((number,) for number in used))
            self._db.execute("DELETE FROM vectors WHERE id NOT IN (SELECT id FROM used)")
            self._db.execute("DROP TABLE used")
            self._put_meta("swept", str(day))
            self._changed()

    def _changed(self) -> None:
        self._put_meta("change", str(int(self.meta("change") or 0) + 1))

    def _put_meta(self, key: str, value: str | bytes) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _meta_bytes(self, key: str) -> bytes | None:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def _rows(self, sql: str, values: list[Any]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        with translated(self.path):
            for some in pieces(values):
                found += self._db.execute(sql.format(",".join("?" * len(some))), some)
        return found


_open: dict[str, tuple[int, str, VectorStore]] = {}  # of this process: path -> (file number, model, database)


def open_vectors(spec: VectorsSpec) -> VectorStore:
    """Return the database of a model, kept open by this process; what cannot be read is removed and made anew."""
    try:
        number = os.stat(spec.path).st_ino if os.path.exists(spec.path) else 0
    except OSError as error:
        raise StoreUnusableError(spec.path, error.strerror or str(error)) from error
    kept = _open.get(spec.path)
    if kept is not None and kept[:2] == (number, spec.model):
        return kept[2]
    forget_open(spec.path)
    try:
        store = VectorStore(spec)
    except StoreDamagedError:
        remove(spec.path)
        store = VectorStore(spec)
    _open[spec.path] = (os.stat(spec.path).st_ino, spec.model, store)
    return store


def model_of(path: str) -> tuple[str, str] | None:
    """Return whose vectors a database holds, as `VectorsSpec.model`, and what its model wants before each query.

    None where that cannot be read.
    """
    try:
        with Database(path, {"version": str(SCHEMA_VERSION)}, readonly=True) as db, translated(path):
            return db.meta("model") or "", db.meta("query prefix") or ""
    except StoreError:
        return None


def remove_unused(folder: str, keep: str) -> None:
    """Remove databases of models that nobody has used for months: each use leaves its mark at least once a week."""
    limit_s = time.time() - _UNUSED_AFTER_DAYS * 86_400
    with contextlib.suppress(OSError, StoreUnusableError):  # It is a matter of room alone.
        for entry in os.scandir(folder):
            if not entry.name.endswith(".sqlite") or entry.path == keep:
                continue
            files = (entry.path, f"{entry.path}-wal")
            if max(os.path.getmtime(path) for path in files if os.path.exists(path)) < limit_s:
                remove(entry.path)


def forget_open(path: str) -> None:
    """Close a database that this process has open, as after an error of it."""
    kept = _open.pop(path, None)
    if kept is not None:
        kept[2].close()


def remove(path: str) -> None:
    """Remove a database; one that is not there is no error.

    Raises:
        StoreUnusableError: it cannot be removed.
    """
    for name in (path, f"{path}-wal", f"{path}-shm"):
        try:
            os.unlink(name)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreUnusableError(name, error.strerror or str(error)) from error


def clear(spec: VectorsSpec) -> None:
    """Throw all vectors of a model away.

    Raises:
        StoreUnusableError: they cannot be removed.
    """
    forget_open(spec.path)
    remove(spec.path)
