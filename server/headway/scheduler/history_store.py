"""The history file: SQLite in WAL mode, one owner, bounded. Blocking; used by one thread.

The file is locked for as long as it is open: two schedulers that resumed the same durable jobs would run them twice. A
file that cannot be used is set aside under another name and a new one begun; where not even that is possible, history
lives in memory. Nothing here is a reason not to start.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from headway.scheduler.model import ErrorKind, Failure, JobState, Priority, TaskState
from headway.scheduler.remembered import (
    DurableJob,
    FinishedJob,
    HistoryLimits,
    HistoryProblem,
    RememberedJob,
    RememberedTask,
    StoredValue,
    UnfinishedJob,
)
from headway.scheduler.storable import storable, storable_text

SCHEMA_VERSION = 1
APPLICATION_ID = 0x48647779  # "Hdwy"
MOST_ASIDE = 3
_MEMORY = ":memory:"
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_NO_ROOM = sqlite3.SQLITE_FULL
_SCHEMA = f"""
CREATE TABLE jobs (
    job_id TEXT PRIMARY KEY, type TEXT NOT NULL, title TEXT NOT NULL, priority INTEGER NOT NULL, state TEXT NOT NULL,
    attempt INTEGER NOT NULL, created_at_ms REAL NOT NULL, started_at_ms REAL, finished_at_ms REAL NOT NULL,
    error TEXT, tasks TEXT NOT NULL, truncated INTEGER NOT NULL
);
CREATE INDEX jobs_by_end ON jobs (finished_at_ms);
CREATE TABLE durable_jobs (
    job_id TEXT PRIMARY KEY, factory TEXT NOT NULL, args TEXT NOT NULL, priority INTEGER NOT NULL,
    submitted_at_ms REAL NOT NULL, resumed INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE durable_tasks (
    job_id TEXT NOT NULL REFERENCES durable_jobs ON DELETE CASCADE, name TEXT NOT NULL, value TEXT,
    PRIMARY KEY (job_id, name)
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""


class _UnusableError(Exception):
    """The file is there but is none of ours, or of a newer version. Its message says which."""


class HistoryStore:
    """An open history. Made by `open_store`."""

    def __init__(self, connection: sqlite3.Connection, limits: HistoryLimits) -> None:
        self._db = connection
        self._limits = limits

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Everything written inside is written whole or not at all."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:  # whatever broke it off, a cancel too: all of it is in the file, or nothing
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def add_finished(self, finished: FinishedJob) -> None:
        """Keep a finished job; one with the same id is replaced."""
        view, offset_ms = finished.view, finished.offset_ms
        started_at_ms = None if view.started_at_s is None else view.started_at_s * 1000 + offset_ms
        finished_at_s = view.created_at_s if view.finished_at_s is None else view.finished_at_s
        self._db.execute(
            "INSERT OR REPLACE INTO jobs VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                storable_text(view.job_id),
                storable_text(view.type),
                storable_text(view.title),
                int(view.priority),
                view.state.value,
                view.attempt,
                view.created_at_s * 1000 + offset_ms,
                started_at_ms,
                finished_at_s * 1000 + offset_ms,
                _dump_failure(view.error),
                json.dumps(list(_dump_tasks(finished, self._limits))),
                view.truncated,
            ),
        )

    def add_durable(self, job: DurableJob, args: str) -> None:
        """Note a durable job that was submitted; one that is noted already stays as it is."""
        self._db.execute(
            "INSERT OR IGNORE INTO durable_jobs (job_id, factory, args, priority, submitted_at_ms) VALUES (?,?,?,?,?)",
            (storable_text(job.job_id), storable_text(job.factory), args, int(job.priority), job.submitted_at_ms),
        )

    def add_durable_task(self, job_id: str, name: str, value: Any) -> None:
        """Note that a task of a durable job completed. Jobs that are not noted (any more) are passed over."""
        self._db.execute(
            "INSERT OR REPLACE INTO durable_tasks SELECT job_id, ?, ? FROM durable_jobs WHERE job_id = ?",
            (storable_text(name), storable(value, int(self._limits.max_value_kb * 1024)), storable_text(job_id)),
        )

    def mark_resumed(self, job_id: str) -> None:
        """Count that a durable job was made anew."""
        self._db.execute("UPDATE durable_jobs SET resumed = resumed + 1 WHERE job_id = ?", (storable_text(job_id),))

    def remove_durable(self, job_id: str) -> None:
        """Forget a durable job that ended."""
        self._db.execute("DELETE FROM durable_jobs WHERE job_id = ?", (storable_text(job_id),))

    def prune(self, now_ms: float) -> None:
        """Drop finished jobs that are too old, then the oldest ones until the file is small enough again."""
        self._db.execute("DELETE FROM jobs WHERE finished_at_ms < ?", (now_ms - self._limits.max_age_s * 1000,))
        while self._used_bytes() > self._limits.max_mb * 2**20:
            # A twentieth of them at a time: pages are freed whole, so the effect is seen only afterwards.
            gone = self._db.execute(
                "DELETE FROM jobs WHERE job_id IN (SELECT job_id FROM jobs ORDER BY finished_at_ms"
                " LIMIT (SELECT max(1, count(*) / 20) FROM jobs))"
            ).rowcount
            if not gone:
                return
        # `execute` would stop at its first row, which has no columns, and give one page back.
        self._db.executescript("PRAGMA incremental_vacuum")

    def recent(self, limit: int) -> list[RememberedJob]:
        """Return the newest finished jobs, newest first."""
        rows = self._db.execute("SELECT * FROM jobs ORDER BY finished_at_ms DESC, rowid DESC LIMIT ?", (limit,))
        return [_job(row) for row in rows]

    def job(self, job_id: str) -> RememberedJob | None:
        """Return a finished job."""
        row = self._db.execute("SELECT * FROM jobs WHERE job_id = ?", (storable_text(job_id),)).fetchone()
        return None if row is None else _job(row)

    def unfinished(self) -> list[UnfinishedJob]:
        """Return the durable jobs that have not ended, oldest first."""
        found = []
        for job_id, factory, args, priority, at_ms, resumed in self._db.execute(
            "SELECT * FROM durable_jobs ORDER BY submitted_at_ms, rowid"
        ).fetchall():
            tasks = self._db.execute("SELECT name, value FROM durable_tasks WHERE job_id = ?", (storable_text(job_id),))
            job = DurableJob(
                job_id=job_id,
                factory=factory,
                args=json.loads(args),
                priority=Priority(priority),
                submitted_at_ms=at_ms,
            )
            finished = {
                name: StoredValue(value=None if value is None else json.loads(value), kept=value is not None)
                for name, value in tasks
            }
            found.append(UnfinishedJob(job=job, finished=finished, resumed=resumed))
        return found

    def close(self) -> None:
        """Close the file; its write-ahead log is folded in."""
        self._db.close()

    def _used_bytes(self) -> int:
        (pages,), (free,), (size,) = (
            self._db.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * size)


def open_store(path: Path | None, limits: HistoryLimits) -> tuple[HistoryStore, list[HistoryProblem]]:
    """Open the history at `path` (None: in memory), whatever lies there, and say what was wrong."""
    problems: list[HistoryProblem] = []
    if path is not None:
        for _ in range(2):  # once as it is, once after it was set aside
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                return HistoryStore(_connect(path), limits), problems
            except (sqlite3.Error, _UnusableError, OSError) as error:
                problem = set_aside(path, error)
                problems.append(problem)
                if problem.aside is None:
                    break
    return HistoryStore(_connect(None), limits), problems


def is_busy(error: Exception) -> bool:
    """Whether another process holds the lock: the file is sound and must be left alone."""
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _BUSY


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file's content is at fault, so that only another file helps."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _connect(path: Path | None) -> sqlite3.Connection:
    """Open, lock and check a file; make its tables where it is new.

    Raises:
        sqlite3.Error: it is locked, damaged, no database, or cannot be written.
        _UnusableError: it is of another program or a newer version.
    """
    db = sqlite3.connect(_MEMORY if path is None else path, timeout=1.0, isolation_level=None)
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and application != APPLICATION_ID:
            raise _UnusableError("it belongs to another program")
        if version > SCHEMA_VERSION:
            raise _UnusableError(f"it has version {version}, newer than this program's {SCHEMA_VERSION}")
        (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise _UnusableError(f"it is damaged: {verdict}")
        if not tables:
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
        else:
            db.execute("BEGIN IMMEDIATE")  # takes the lock for good, and fails here where it cannot be written
            db.execute("COMMIT")
    except BaseException:  # whatever it was, nobody else will close it
        db.close()
        raise
    return db


def set_aside(path: Path, error: Exception) -> HistoryProblem:
    """Move what cannot be used out of the way, with its log. Where it must not or cannot be moved, `aside` is None."""
    if is_busy(error):
        return HistoryProblem(
            message=f"{path} is in use by another process; this run's history stays in memory", in_use=True
        )
    if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", 0) & 0xFF == _NO_ROOM:
        # What is in it may be sound, unfinished durable jobs above all; the next start finds them there.
        return HistoryProblem(
            message=f"{path} cannot be written ({error}); this run's history stays in memory. Make room on that disk."
        )
    aside = path.with_name(f"{path.name}.aside-{time.time_ns()}")
    try:
        path.rename(aside)
        for suffix in ("-wal", "-shm", "-journal"):
            # A new file with the old one's log beside it would be damaged from birth.
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
        _forget_oldest_aside(path)
    except OSError:
        return HistoryProblem(
            message=f"{path} cannot be used ({_reason(error)}) nor moved away; this run's history stays in memory. "
            "Make its folder writable."
        )
    return HistoryProblem(message=f"{path} cannot be used ({_reason(error)}); it is now {aside.name}", aside=str(aside))


def _reason(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _forget_oldest_aside(path: Path) -> None:
    """Keep only the newest few: a file that is damaged again and again must not fill the disk."""
    files = sorted(found for found in path.parent.glob(f"{path.name}.aside-*") if found.is_file())
    stems = sorted({found.name.split("-wal")[0].split("-shm")[0].split("-journal")[0] for found in files})
    for found in files:
        if any(found.name.startswith(stem) for stem in stems[:-MOST_ASIDE]):
            found.unlink()


def _dump_tasks(finished: FinishedJob, limits: HistoryLimits) -> Iterable[dict[str, Any]]:
    left = int(limits.max_job_kb * 1024)
    for task in finished.view.tasks:
        outcome = finished.results.get(task.name)
        value = None if outcome is None else storable(outcome.value, min(left, int(limits.max_value_kb * 1024)))
        left -= len(value) if value is not None else 0
        yield {
            "name": storable_text(task.name),
            "state": task.state.value,
            "priority": int(task.priority),
            "waitedS": task.waited_s,
            "ranS": task.ran_s,
            "attempt": task.attempt,
            "error": _dump_failure(task.error),
            "value": value,
        }


def _job(row: tuple[Any, ...]) -> RememberedJob:
    job_id, type_, title, priority, state, attempt, created, started, ended, error, tasks, truncated = row
    return RememberedJob(
        job_id=job_id,
        type=type_,
        title=title,
        priority=Priority(priority),
        state=JobState(state),
        attempt=attempt,
        created_at_ms=created,
        started_at_ms=started,
        finished_at_ms=ended,
        error=_load_failure(error),
        tasks=tuple(_task(task) for task in json.loads(tasks)),
        truncated=bool(truncated),
    )


def _task(stored: Mapping[str, Any]) -> RememberedTask:
    return RememberedTask(
        name=stored["name"],
        state=TaskState(stored["state"]),
        priority=Priority(stored["priority"]),
        waited_s=stored["waitedS"],
        ran_s=stored["ranS"],
        attempt=stored["attempt"],
        error=_load_failure(stored["error"]),
        value=None if stored["value"] is None else json.loads(stored["value"]),
        value_kept=stored["value"] is not None,
    )


def _dump_failure(failure: Failure | None) -> str | None:
    if failure is None:
        return None
    return json.dumps([failure.kind.value, failure.message[:2_000], failure.type_name, failure.traceback[-4_000:]])


def _load_failure(text: str | None) -> Failure | None:
    if text is None:
        return None
    kind, message, type_name, traceback = json.loads(text)
    return Failure(kind=ErrorKind(kind), message=message, type_name=type_name, traceback=traceback)
