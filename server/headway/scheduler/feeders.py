"""Takes tasks from the sources of jobs that are fed lazily, for the engine, and ends sources that nobody needs more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, TypeAlias

from headway.scheduler.executors.failures import failure_of
from headway.scheduler.foreign import end_source
from headway.scheduler.model import Failure, Task
from headway.scheduler.stimuli import Feed, TasksFed

Starting: TypeAlias = Callable[[Coroutine[Any, Any, None], str], "asyncio.Task[None]"]


class Feeders:
    """The sources of jobs in flight, by their ids, each with the asyncio.Task that asks it now.

    Args:
        tell: Takes what a source gave.
        start: Starts an asyncio.Task of a name; that is the engine's alone.
    """

    def __init__(self, tell: Callable[[TasksFed], None], start: Starting) -> None:
        self._tell = tell
        self._start = start
        self._sources: dict[str, AsyncIterator[Task]] = {}
        self._feeders: dict[str, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def feed(self, command: Feed) -> None:
        """Begin to take tasks from a job's source."""
        job_id = command.job_id
        self._sources[job_id] = command.source
        self._feeders[job_id] = self._start(self._feed(job_id, command.count), f"feed {job_id}")

    def forget(self, job_id: str) -> None:
        """Take nothing more of a job that has ended."""
        if self._sources:
            self._sources.pop(job_id, None)

    def stop(self, job_id: str) -> None:
        """End a job's source."""
        source = self._sources.pop(job_id, None)
        feeder = self._feeders.pop(job_id, None)
        close = getattr(source, "aclose", None)
        if feeder is None and close is None:
            return
        closing = self._start(end_source(feeder, close), f"end the source of {job_id}")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Let the sources of all jobs, which must have been stopped, put things in order, for a second at most."""
        closing = tuple(self._closing)
        if closing:
            _, late = await asyncio.wait(closing, timeout=1.0)
            for one in late:
                one.cancel()

    async def _feed(self, job_id: str, count: int) -> None:
        """Take up to `count` tasks from a job's source. What comes at once is handed on together."""
        source = self._sources[job_id]
        got: list[Task] = []

        def hand_on() -> None:
            if got and job_id in self._sources:
                tasks = tuple(got)
                got.clear()
                self._tell(TasksFed(job_id, tasks, exhausted=False, more=True))

        exhausted = False
        failure: Failure | None = None
        try:
            for _ in range(count):
                task = await anext(source)
                if not got:
                    # Runs when the source next waits for something, and so does not hold back what is there.
                    asyncio.get_running_loop().call_soon(hand_on)
                got.append(task)
        except StopAsyncIteration:
            exhausted = True
        # The source is user code; its failure ends the job, not the engine.
        except Exception as error:  # noqa: BLE001
            failure = failure_of(error)
        if self._feeders.get(job_id) is asyncio.current_task():
            del self._feeders[job_id]
        tasks = tuple(got)
        got.clear()
        if job_id not in self._sources:
            return
        if exhausted or failure is not None:
            del self._sources[job_id]
        self._tell(TasksFed(job_id, tasks, exhausted, failure))
