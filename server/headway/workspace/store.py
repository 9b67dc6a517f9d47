"""The index on disk: one SQLite database (WAL) for each workspace folder, with a full-text table of definitions.

Used from worker processes and threads, never on the event loop. There is one writer at a time: SQLite's own lock makes
others queue for a bounded time. Readers see a consistent state and never wait. What can be
wrong with a database is in `database.py`; `placing.py` decides where databases lie.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from headway.workspace import full_text
from headway.workspace.database import (
    Database,
    StoreBusyError,
    StoreDamagedError,
    created,
    pieces,
    tidy,
    translated,
)
from headway.workspace.former import FORMER_SCHEMA, Content, contents, retire
from headway.workspace.full_text import FULL_TEXT_SCHEMA
from headway.workspace.index import Chunk, Definition
from headway.workspace.packing import pack, unpack_chunks, unpack_definitions
from headway.workspace.packs import FILE_WEIGHT, PACKS_SCHEMA, Pack, drop_pack, keep_pack, pack_after
from headway.workspace.segments import IndexedFile
from headway.workspace.squeezing import COMMON_SCHEMA, Squeezer
from headway.workspace.versions import fingerprint as fingerprint  # for whoever keeps something beside it

# What a file says takes one or two kilobytes: of larger pages a fifth would stay empty.
_PAGE_BYTES: Final = 1_024

_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL UNIQUE,
    signature TEXT NOT NULL,
    digest BLOB NOT NULL,
    language TEXT NOT NULL,
    skipped TEXT,
    note TEXT,
    stamp INTEGER NOT NULL,
    symbols INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    said BLOB NOT NULL,
    first_row INTEGER -- full-text rows are numbered without large gaps, which takes a tenth of the index less
);
CREATE INDEX files_by_row ON files (first_row);
"""
_BEFORE_ROW: Final = "FROM files WHERE first_row <= ? ORDER BY first_row DESC LIMIT 1"


class StoredFile(NamedTuple):
    """What the store knows of a file without its content."""

    file_id: int
    signature: str
    digest: bytes
    skipped: str | None
    stamp: int  # of its last change


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """A file to be stored. `signature` "" makes the next start read it again, as for text that is not on disk."""

    path: str
    signature: str
    digest: bytes
    language: str
    definitions: Sequence[Definition] = ()
    chunks: Sequence[Chunk] = ()
    skipped: str | None = None
    note: str | None = None


class TextHit(NamedTuple):
    """A definition found by its words; a smaller `rank` is better."""

    path: str
    definition: Definition
    rank: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """Size of an index. `skipped`: files passed over, by reason."""

    files: int
    symbols: int
    chunks: int
    size_bytes: int
    skipped: dict[str, int]


class Store(Database):
    """An open database. Close it, or use it as a context."""

    def __init__(self, path: str, *, readonly: bool = False) -> None:
        """Open an existing database of the present version.

        Raises:
            StoreDamagedError: it is damaged, of another version, or not there.
            StoreBusyError, StoreUnusableError: see there.
        """
        super().__init__(path, {"fingerprint": fingerprint()}, ("files", full_text.TABLE), readonly=readonly)
        self._squeezer = Squeezer(self._db)

    @classmethod
    def create(cls, path: str, root: str) -> Store:
        """Create a database for a workspace folder where there is none; one that somebody made meanwhile is taken.

        It appears whole: neither another process nor a start after a kill finds half of one.

        Raises:
            StoreUnusableError: nothing can be written there.
        """
        with translated(path), created(path, _PAGE_BYTES) as db:
            # A full-text table makes tables of its own, so the script runs in one transaction of ours.
            db.executescript(
                f"BEGIN IMMEDIATE; {_SCHEMA} {FULL_TEXT_SCHEMA} {PACKS_SCHEMA} {FORMER_SCHEMA} {COMMON_SCHEMA} COMMIT;"
            )
            values = (("fingerprint", fingerprint()), ("root", root), ("stamp", "0"), ("totals", "{}"))
            db.executemany("INSERT INTO meta VALUES (?, ?)", values)
        return cls(path)

    @property
    def root(self) -> str:
        """The folder whose index this is."""
        with translated(self.path):
            return self.meta("root") or ""

    @property
    def stamp(self) -> int:
        """The newest stamp: that of the last change."""
        with translated(self.path):
            return int(self.meta("stamp") or 0)

    def check(self) -> None:
        """Read the whole database. Its full-text part is left out while somebody else writes.

        Raises:
            StoreDamagedError: something in it cannot be read.
        """
        with translated(self.path):
            (verdict,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise StoreDamagedError(self.path, str(verdict))
        with contextlib.suppress(StoreBusyError), translated(self.path):
            full_text.check(self._db)

    # ---- reading ----

    def known(self) -> dict[str, StoredFile]:
        """Return all stored files by path."""
        with translated(self.path):
            rows = self._db.execute("SELECT path, id, signature, digest, skipped, stamp FROM files")
            return {row[0]: StoredFile._make(row[1:]) for row in rows}

    @property
    def options(self) -> str:
        """Under which options the folder was compared with this index; empty where it never was."""
        with translated(self.path):
            return self.meta("options") or ""

    def note_options(self, options: str) -> None:
        """Remember under which options the folder is compared with this index."""
        if self.options != options:
            with translated(self.path), self._transaction():
                self._db.execute("INSERT OR REPLACE INTO meta VALUES ('options', ?)", (options,))

    def signatures(self) -> dict[str, str]:
        """Return the signatures of all stored files by path."""
        with translated(self.path):
            return dict(self._db.execute("SELECT path, signature FROM files").fetchall())

    def has_after(self, file_id: int) -> bool:
        """Return whether symbols are stored of files behind one, by id."""
        sql = "SELECT 1 FROM files WHERE id > ? AND skipped IS NULL LIMIT 1"
        with translated(self.path):
            return self._db.execute(sql, (file_id,)).fetchone() is not None

    def get(self, paths: Collection[str]) -> dict[str, StoredFile]:
        """Return those of some files that are stored, by path."""
        found = {}
        with translated(self.path):
            for some in pieces(list(paths)):
                marks = ",".join("?" * len(some))
                rows = self._db.execute(
                    f"SELECT path, id, signature, digest, skipped, stamp FROM files WHERE path IN ({marks})", some
                )
                found.update({path: StoredFile(*rest) for path, *rest in rows})
        return found

    def below(self, folder: str) -> list[str]:
        """Return the stored paths that lie below a folder."""
        low, high = f"{folder}/", f"{folder}0"  # "0" follows "/"
        with translated(self.path):
            rows = self._db.execute("SELECT path FROM files WHERE path > ? AND path < ?", (low, high))
            return [path for (path,) in rows]

    def load(self, file_ids: Collection[int]) -> list[IndexedFile]:
        """Return files with their definitions."""
        found: list[IndexedFile] = []
        with translated(self.path):
            for some in pieces(list(file_ids)):
                marks = ",".join("?" * len(some))
                rows = self._db.execute(
                    f"SELECT id, stamp, path, said FROM files WHERE skipped IS NULL AND id IN ({marks})", some
                )
                found += [IndexedFile(i, stamp, path, self._definitions(said)) for i, stamp, path, said in rows]
        return found

    def load_after(self, file_id: int, max_weight: int) -> list[IndexedFile]:
        """Return the files behind one, by id, with their definitions, until they weigh so much; see `packs.Pack`."""
        found: list[IndexedFile] = []
        left = max_weight
        with translated(self.path):
            rows = self._db.execute(
                "SELECT id, stamp, path, symbols, said FROM files WHERE id > ? AND skipped IS NULL ORDER BY id",
                (file_id,),
            )
            for i, stamp, path, symbols, said in rows:
                found.append(IndexedFile(i, stamp, path, self._definitions(said)))
                left -= symbols + FILE_WEIGHT
                if left <= 0:
                    break
            rows.close()
        return found

    def pack_after(self, file_id: int, max_weight: int) -> Pack | None:
        """See `packs.pack_after`."""
        with translated(self.path):
            return pack_after(self._db, file_id, max_weight)

    def contents(self, digests: Collection[bytes]) -> list[Content]:
        """See `former.contents`."""
        with translated(self.path):
            return contents(self._db, self._squeezer, digests)

    def keep_pack(self, after: int, pack: Pack, stamp: int) -> None:
        """Keep what was packed of the store as it was at a stamp, unless it has changed since."""
        with translated(self.path):
            with self._transaction():
                if int(self.meta("stamp") or 0) == stamp:
                    keep_pack(self._db, after, pack)
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def search(
        self, words: Sequence[str], limit: int, accepts: Callable[[str], bool] | None = None, *, asks: bool = False
    ) -> list[TextHit]:
        """Return definitions that hold any of the words, best first.

        Args:
            words: As `words.query_words` gives them; the last one also counts as the start of a word.
            accepts: Says of a path whether its hits count.
            asks: The words are those of a question, as `words.question_words` gives them.
        """
        hits: list[TextHit] = []
        most = limit if accepts is None else 50 * limit
        with translated(self.path):
            rows = full_text.matching(self._db, words, most, self._place_of if asks else None)
            files: dict[int, tuple[str, list[Definition], int] | None] = {}
            for row, rank in rows:
                if row not in files:
                    files.update(self._file_of(row, accepts))
                if (file := files.get(row)) is not None:
                    hits.append(TextHit(file[0], file[1][row - file[2]], rank))
                if len(hits) >= limit:
                    break
            rows.close()
        return hits

    def definitions(self, paths: Iterable[str]) -> dict[str, list[Definition]]:
        """Return the definitions of those of some files that are indexed."""
        with translated(self.path):
            select = "SELECT said FROM files WHERE path = ? AND skipped IS NULL"
            rows = ((path, self._db.execute(select, (path,)).fetchone()) for path in dict.fromkeys(paths))
            return {path: self._definitions(row[0]) for path, row in rows if row is not None}

    def _definitions(self, said: bytes) -> list[Definition]:
        return unpack_definitions(self._squeezer.large(said))

    def _place_of(self, row: int) -> tuple[str, int]:
        """Return of a full-text row the path of its file, and the file's first row."""
        return self._db.execute(f"SELECT path, first_row {_BEFORE_ROW}", (row,)).fetchone() or ("", row)

    def _file_of(
        self, row: int, accepts: Callable[[str], bool] | None
    ) -> dict[int, tuple[str, list[Definition], int] | None]:
        """Return for all full-text rows of a row's file its path, definitions and first row; None if it is passed."""
        found = self._db.execute(f"SELECT first_row, symbols, path, said {_BEFORE_ROW}", (row,)).fetchone()
        if found is None:
            return {}
        first, count, path, said = found
        is_meant = accepts is None or accepts(path)
        return dict.fromkeys(range(first, first + count), (path, self._definitions(said), first) if is_meant else None)

    def stats(self) -> StoreStats:
        """Return the size of the index; cheap, as it is kept up to date with each change."""
        with translated(self.path):
            totals = self._totals()
            (pages,) = self._db.execute("PRAGMA page_count").fetchone()
            (page_bytes,) = self._db.execute("PRAGMA page_size").fetchone()
        skipped = {reason[1:]: count for reason, count in sorted(totals.items()) if reason[0] == "-" and count > 0}
        return StoreStats(
            files=totals["files"],
            symbols=totals["symbols"],
            chunks=totals["chunks"],
            size_bytes=pages * page_bytes,
            skipped=skipped,
        )

    def _totals(self) -> Counter[str]:
        """Return what is stored: files, symbols, chunks, files skipped by "-" and their reason; the next "row"."""
        return Counter(json.loads(self.meta("totals") or "{}"))

    # ---- writing ----

    def write(self, records: Iterable[FileRecord], removed: Collection[str] = ()) -> int:
        """Store files in the place of what was known of them and forget others, all or nothing.

        Returns:
            The stamp of this change, higher than any before.
        """
        given = list(records)
        packed = [pack(record.definitions, record.chunks) for record in given]
        with translated(self.path):
            squeezed = self._squeezer.small(packed, self._transaction)
        with translated(self.path), self._transaction():
            stamp = int(self.meta("stamp") or 0) + 1
            totals = self._totals()
            for path in removed:
                self._forget(path, totals)
            for record, said in zip(given, squeezed, strict=True):
                self._put(record, said, stamp, totals)
            values = ((str(stamp), "stamp"), (json.dumps(totals), "totals"))
            self._db.executemany("UPDATE meta SET value = ? WHERE key = ?", values)
        return stamp

    def touch(self, signatures: Iterable[tuple[str, str]]) -> None:
        """Note new signatures of files whose content is what is stored: (path, signature)."""
        with translated(self.path), self._transaction():
            self._db.executemany("UPDATE files SET signature = ?2 WHERE path = ?1", signatures)

    def empty_log(self) -> None:
        """Write what is in the log to where it belongs, unless somebody is at work there."""
        with translated(self.path):
            self._db.execute("PRAGMA busy_timeout = 0")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def tidy(self) -> bool:
        """See `database.tidy`."""
        with translated(self.path):
            return tidy(self._db, full_text.TABLE)

    def _put(self, record: FileRecord, said: bytes, stamp: int, totals: Counter[str]) -> None:
        file_id = self._forget(record.path, totals, keep_id=True)
        first = totals["row"]
        values = (
            *(file_id, record.path, record.signature, record.digest, record.language, record.skipped, record.note),
            *(stamp, len(record.definitions), len(record.chunks), said),
            first if record.definitions else None,  # then no row of its own leads to it
        )
        totals["row"] += len(record.definitions)
        self._db.execute(f"INSERT INTO files VALUES ({', '.join('?' * len(values))})", values)
        full_text.add(self._db, first, record.chunks)
        _count(totals, 1, record.skipped, len(record.definitions), len(record.chunks))

    def _forget(self, path: str, totals: Counter[str], *, keep_id: bool = False) -> int | None:
        """Remove a file; return its number where it is to be used again, for the same path."""
        select = "SELECT id, skipped, symbols, chunks, said, first_row FROM files WHERE path = ?"
        row = self._db.execute(select, (path,)).fetchone()
        if row is None:
            return None
        file_id, skipped, symbols, chunks, said, first = row
        drop_pack(self._db, file_id)
        retire(self._db, file_id)
        full_text.remove(self._db, first, unpack_chunks(path, self._squeezer.large(said)))
        self._db.execute("DELETE FROM files WHERE id = ?", (file_id,))
        _count(totals, -1, skipped, symbols, chunks)
        return int(file_id) if keep_id else None


def _count(totals: Counter[str], files: int, skipped: str | None, symbols: int, chunks: int) -> None:
    if skipped is not None:
        totals[f"-{skipped}"] += files
        return
    totals["files"] += files
    totals["symbols"] += files * symbols
    totals["chunks"] += files * chunks
