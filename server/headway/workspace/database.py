"""SQLite as the index uses it: how a database is opened, and what its errors mean for us.

Every error becomes one of three classes, by what to do about it: wait, build anew, go elsewhere.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import shutil
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Self

_PAGE_BYTES: Final = 4_096
_LOCK_WAIT_S: Final = 5.0
_LOCK_LOOK_S: Final = 0.002
_MAX_BYTES: Final = 2 << 30
_JOURNAL_BYTES: Final = 16 << 20
_LOG_BYTES: Final = 4 << 20  # of changes, until they are written to where they belong
_VACUUMED_PAGES: Final = 4_000  # at once
_FULL_BYTES: Final = 64 << 10  # less room than this lets no database grow
_CHECKED: Final = "-checked"
_UNUSABLE: Final = frozenset(
    {
        *("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_FULL", "SQLITE_IOERR"),
        *("SQLITE_PERM", "SQLITE_AUTH", "SQLITE_PROTOCOL"),
    }
)


class StoreError(Exception):
    """Base of what can be wrong with an index database."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class StoreDamagedError(StoreError):
    """It is no database of ours or cannot be read. Set it aside and build the index anew."""


class StoreBusyError(StoreError):
    """Somebody else holds the write lock. Nothing was written; try again later."""


class StoreUnusableError(StoreError):
    """Nothing can be written there (rights, full disk, a file system without locks). Use another place."""


def connect(path: str, *, new_page_bytes: int = 0) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=_LOCK_WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        if new_page_bytes:  # not later: others would take it for a change
            db.execute(f"PRAGMA page_size = {new_page_bytes}")
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreUnusableError(path, "the file system does not support SQLite's write-ahead log")
        (page_bytes,) = db.execute("PRAGMA page_size").fetchone()
        db.executescript(
            f"PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = {_JOURNAL_BYTES}; PRAGMA temp_store = MEMORY;"
            f"PRAGMA secure_delete = OFF; PRAGMA max_page_count = {_MAX_BYTES // page_bytes};"
            f"PRAGMA wal_autocheckpoint = {_LOG_BYTES // page_bytes};"
        )
    except BaseException:  # whatever it was, nobody else will close it
        db.close()
        raise
    return db


class Database:
    """An open database of ours, with a table `meta` of keys and values. Close it, or use it as a context."""

    def __init__(
        self, path: str, said: Mapping[str, str], tables: Sequence[str] = (), *, readonly: bool = False
    ) -> None:
        """Open an existing one.

        Args:
            said: What its table `meta` says if it can be used.
            tables: What else has to be in it.

        Raises:
            StoreDamagedError: it is damaged, says something else, or is not there.
            StoreBusyError, StoreUnusableError: see there.
        """
        self.path = path
        with translated(path):
            if not os.path.isfile(path):
                raise StoreDamagedError(path, "not there")
            self._db = connect(path)
            try:
                for table in tables:
                    self._db.execute(f"SELECT 1 FROM {table} LIMIT 0")
                found = {key: self.meta(key) for key in said}
                if found != said:
                    values = ", ".join(str(value) for value in found.values())
                    raise StoreDamagedError(path, f"made by another version, or for something else ({values})")
                if readonly:
                    self._db.execute("PRAGMA query_only = 1")
            except BaseException:  # whatever it was, nobody else will close it
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; doing so again is no error."""
        self._db.close()

    def meta(self, key: str) -> str | None:
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        begin(self._db)
        try:
            yield
        except BaseException:  # whatever broke it off, a cancel too: all of it is in the file, or nothing
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def begin(db: sqlite3.Connection) -> None:
    """Begin a transaction that writes, as soon as nobody else does; waits for a bounded time.

    SQLite's own waiting looks at a lock ten times a second. Workers that write by turns would stand still for most of
    the time in which it is free.
    """
    deadline_at_s = time.monotonic() + _LOCK_WAIT_S
    db.execute("PRAGMA busy_timeout = 0")
    try:
        while True:
            try:
                db.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline_at_s:
                    raise
            time.sleep(_LOCK_LOOK_S)
    finally:
        db.execute(f"PRAGMA busy_timeout = {_LOCK_WAIT_S * 1000:.0f}")


def pieces(items: list[Any]) -> Iterator[list[Any]]:
    """Cut a list into pieces that fit into one statement."""
    return (items[at : at + 500] for at in range(0, len(items), 500))


@contextlib.contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn SQLite's errors into ours, by what to do about them."""
    try:
        yield
    except sqlite3.Error as error:
        name = str(getattr(error, "sqlite_errorname", ""))
        # Where a file cannot grow SQLite speaks of input and output only.
        what = "the disk is full" if name.startswith("SQLITE_IOERR") and _is_full(path) else str(error)
        reason = f"{what}{f' ({name})' if name else ''}"
        family = "_".join(name.split("_")[:2])
        if family in ("SQLITE_BUSY", "SQLITE_LOCKED"):
            raise StoreBusyError(path, reason) from error
        if family in _UNUSABLE:
            raise StoreUnusableError(path, reason) from error
        raise StoreDamagedError(path, reason) from error
    except (zlib.error, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StoreDamagedError(path, f"unreadable content ({error})") from error
    except OSError as error:
        raise StoreUnusableError(path, error.strerror or str(error)) from error


def _is_full(path: str) -> bool:
    try:
        return shutil.disk_usage(os.path.dirname(path) or os.curdir).free < _FULL_BYTES
    except OSError:
        return False


@contextlib.contextmanager
def created(path: str, page_bytes: int = _PAGE_BYTES) -> Iterator[sqlite3.Connection]:
    """Give a new database that appears at its path, whole, when the block has ended; one that is there by then stays.

    Raises:
        OSError, sqlite3.Error: nothing can be written there.
    """
    _remove_left(f"{path}.new-")
    fresh = f"{path}.new-{os.getpid()}"
    db = connect(fresh, new_page_bytes=page_bytes)
    try:
        yield db
    finally:
        db.close()
    _put_in_place(fresh, path)


def _put_in_place(fresh: str, path: str) -> None:
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass
    except OSError:
        # A file system without links. Who comes in between this look and the move loses an index that is still empty.
        if not os.path.lexists(path):
            os.replace(fresh, path)
            return
    os.unlink(fresh)


def _remove_left(prefix: str) -> None:
    """Remove what was on its way into place when its maker was killed."""
    for left in glob.glob(f"{glob.escape(prefix)}*"):
        pid = left.removeprefix(prefix).partition("-")[0]
        if pid.isdigit() and not runs(int(pid)):
            with contextlib.suppress(OSError):
                os.unlink(left)


def runs(pid: int) -> bool:
    """Whether there is a process of this number."""
    import psutil  # Only where something was left behind.

    return psutil.pid_exists(pid)


def tidy(db: sqlite3.Connection, table: str) -> bool:
    """Merge some of what many changes left of a full-text table in pieces; then give back room.

    Returns:
        Whether something is left to do.
    """
    before = db.total_changes
    # A negative number merges until one piece is left; by so many pages at a time, so that no writer waits for long.
    db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', -300)")
    if db.total_changes - before >= 2:  # as SQLite tells that it goes on
        return True
    # As a script: its steps give no rows, and `execute` would end after the first page.
    db.executescript(f"PRAGMA incremental_vacuum({_VACUUMED_PAGES});")
    if db.execute("PRAGMA freelist_count").fetchone()[0]:
        return True
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return False


# ---- what was read through already ----------------------------------------------------------------------------------


def is_sound(path: str) -> bool:
    """Whether nobody has written to a database since it was last read through and nothing was wrong with it."""
    try:
        with open(path + _CHECKED, encoding="ascii", errors="replace") as file:
            return file.read(200) == _state(path)
    except OSError:
        return False


def note_sound(path: str) -> None:
    """Remember that a database was read through and nothing was wrong with it, so that the next start need not."""
    with contextlib.suppress(OSError), open(path + _CHECKED, "w", encoding="ascii") as file:
        file.write(_state(path))


def _state(path: str) -> str:
    status = os.stat(path)
    try:
        log_bytes = os.path.getsize(f"{path}-wal")
    except FileNotFoundError:
        log_bytes = 0
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {log_bytes}"
