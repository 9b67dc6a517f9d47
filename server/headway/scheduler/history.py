"""History for the event loop: what is written goes to a thread of its own and is written there in batches.

No call here blocks: records are queued, and the thread writes what has come within a moment in one transaction. After a
crash at most the last `BATCH_S` seconds are missing. What goes wrong with the file is said (log and `on_problem`) and
never raised; see `history_store`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from headway.scheduler.history_store import HistoryStore, is_damage, open_store, set_aside
from headway.scheduler.remembered import (
    DurableJob,
    FinishedJob,
    HistoryLimits,
    HistoryProblem,
    RememberedJob,
    UnfinishedJob,
)
from headway.scheduler.storable import storable

log = logging.getLogger(__name__)

BATCH_S = 0.05
MOST_IN_BATCH = 500
PRUNE_EVERY = 50  # records
DEFAULT_LIMITS = HistoryLimits()

_MOST_ARGS_BYTES = 2**20

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Read:
    """A question to the store, and where its answer goes. Asked after all that was written before it."""

    ask: Callable[[HistoryStore], Any]
    answer: concurrent.futures.Future[Any]


_Write = Callable[[HistoryStore], None]


class History:
    """Finished jobs and unfinished durable ones, on disk. Used on the event loop only."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        limits: HistoryLimits = DEFAULT_LIMITS,
        on_problem: Callable[[HistoryProblem], None] | None = None,
    ) -> None:
        """`path` None: in memory. `on_problem` is called on the loop, each kind of problem once."""
        self._path = path
        self._limits = limits
        self._on_problem = on_problem
        self._inbox: queue.SimpleQueue[_Write | _Read | None] = queue.SimpleQueue()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._said: set[str] = set()
        self._dropping = False
        self._ended: concurrent.futures.Future[None] = concurrent.futures.Future()

    def start(self) -> None:
        """Begin to write. Opening the file happens in the thread: this returns at once."""
        if self._thread is None:
            self._loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._work, name="headway-history", daemon=True)
            self._thread.start()

    async def close(self) -> None:
        """Write what is pending and end."""
        if self._thread is None:
            return
        self._hurry.set()
        self._inbox.put(None)
        await asyncio.shield(asyncio.wrap_future(self._ended))
        self._thread.join()
        self._thread = None

    # ---- what is written

    def finished(self, job: FinishedJob) -> None:
        """Keep a finished job. Values of its tasks must not be changed afterwards."""
        self._put(lambda store: store.add_finished(job))

    def can_keep(self, args: Mapping[str, Any]) -> bool:
        """Whether a durable job's arguments are JSON values of a size that is kept."""
        return storable(dict(args), _MOST_ARGS_BYTES) is not None

    def submitted(self, job: DurableJob) -> None:
        """Note a durable job.

        Raises:
            ValueError: its arguments are no JSON values, so it could not be made anew.
        """
        args = storable(dict(job.args), _MOST_ARGS_BYTES)
        if args is None:
            raise ValueError(
                f"durable_args of job {job.job_id!r} must be JSON values of at most 1 MiB, so that its factory "
                f"{job.factory!r} can be called again after a restart"
            )
        self._put(lambda store: store.add_durable(job, args))

    def task_completed(self, job_id: str, name: str, value: Any) -> None:
        """Note that a task of a durable job completed."""
        self._put(lambda store: store.add_durable_task(job_id, name, value))

    def resumed(self, job_id: str) -> None:
        """Note that a durable job was made anew."""
        self._put(lambda store: store.mark_resumed(job_id))

    def ended(self, job_id: str) -> None:
        """Note that a durable job ended: it will not be resumed."""
        self._put(lambda store: store.remove_durable(job_id))

    # ---- what is read

    async def recent(self, limit: int = 50) -> list[RememberedJob]:
        """Return the newest finished jobs, newest first."""
        return await self._read(lambda store: store.recent(limit))

    async def job(self, job_id: str) -> RememberedJob | None:
        """Return a finished job."""
        return await self._read(lambda store: store.job(job_id))

    async def unfinished(self) -> list[UnfinishedJob]:
        """Return the durable jobs that have not ended, oldest first."""
        return await self._read(lambda store: store.unfinished())

    def when_unfinished(self, callback: Callable[[list[UnfinishedJob]], None]) -> None:
        """Call back on the loop with the durable jobs that have not ended, once they are read."""

        def read(answer: asyncio.Future[list[UnfinishedJob]]) -> None:
            if not answer.cancelled() and answer.exception() is None:
                callback(answer.result())

        self._ask(lambda store: store.unfinished()).add_done_callback(read)

    async def flush(self) -> None:
        """Return when all that was given before is on disk."""
        await self._read(lambda store: None)

    async def _read(self, ask: Callable[[HistoryStore], T]) -> T:
        return await self._ask(ask)

    def _ask(self, ask: Callable[[HistoryStore], T]) -> asyncio.Future[T]:
        if self._thread is None:
            raise RuntimeError("history is not open: call start first, and close last")
        answer: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._hurry.set()
        self._inbox.put(_Read(ask, answer))
        if self._ended.done():
            self._cancel_reads()
        return asyncio.wrap_future(answer)

    def _put(self, write: _Write) -> None:
        if self._inbox.qsize() < self._limits.max_pending:
            self._dropping = False
            self._inbox.put(write)
        elif not self._dropping:
            self._dropping = True
            self._say(HistoryProblem(message=f"history cannot keep up: records beyond {self._inbox.qsize()} are lost"))

    # ---- the thread

    def _work(self) -> None:
        store = self._open()
        try:
            written = PRUNE_EVERY  # first drop what earlier runs left
            while True:
                batch = self._next_batch()
                last = batch[-1] is None
                items = [item for item in batch if item is not None]
                written += len(items)
                store = self._carry_out(store, items, prune=written >= PRUNE_EVERY)
                if written >= PRUNE_EVERY:
                    written = 0
                if last:
                    return
        finally:
            # Also when a fault of ours ends the thread: nobody may wait for an answer that never comes.
            store.close()
            self._ended.set_result(None)
            self._cancel_reads()

    def _open(self) -> HistoryStore:
        store, problems = open_store(self._path, self._limits)
        for problem in problems:
            self._say(problem)
        return store

    def _next_batch(self) -> list[_Write | _Read | None]:
        """Wait for something to do, then for what comes within a moment; the end (None) is last if it is there."""
        batch = [self._inbox.get()]
        if batch[0] is None:
            return batch
        self._hurry.wait(BATCH_S)
        self._hurry.clear()
        while len(batch) < MOST_IN_BATCH:
            try:
                batch.append(self._inbox.get_nowait())
            except queue.Empty:
                break
            if batch[-1] is None:
                break
        return batch

    def _carry_out(self, store: HistoryStore, items: list[_Write | _Read], *, prune: bool) -> HistoryStore:
        """Write what is to be written in one transaction, then answer. Return the store to go on with."""
        try:
            self._write(store, items, prune=prune)
            self._answer(store, items)
        except sqlite3.Error as error:
            if self._path is not None and is_damage(error):
                store.close()
                self._say(set_aside(self._path, error))
                store = self._open()
                self._write(store, items, prune=False)
            else:
                self._say(HistoryProblem(message=f"history could not be written and is missing some jobs: {error}"))
            self._answer(store, items, or_fail=True)
        return store

    def _write(self, store: HistoryStore, items: list[_Write | _Read], *, prune: bool) -> None:
        writes = [item for item in items if not isinstance(item, _Read)]
        if writes:
            with store.batch():
                for write in writes:
                    write(store)
        if prune:
            store.prune(time.time() * 1000)

    def _answer(self, store: HistoryStore, items: list[_Write | _Read], *, or_fail: bool = False) -> None:
        """Answer the questions that are open. `or_fail`: what cannot be read is raised where it was asked."""
        for item in items:
            if not isinstance(item, _Read) or item.answer.done():
                continue
            try:
                answer = item.ask(store)
            except sqlite3.Error as error:
                if not or_fail:
                    raise
                item.answer.set_exception(error)
            else:
                if item.answer.set_running_or_notify_cancel():
                    item.answer.set_result(answer)

    def _cancel_reads(self) -> None:
        while not self._inbox.empty():
            item = self._inbox.get_nowait()
            if isinstance(item, _Read):
                item.answer.cancel()

    def _say(self, problem: HistoryProblem) -> None:
        """Log a problem and tell whoever wants to know, once; called in either thread."""
        if problem.message in self._said:
            return
        self._said.add(problem.message)
        log.warning("%s", problem.message)
        if self._on_problem is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._on_problem, problem)
