"""One search by meaning that is under way, from the wish to what is near; bounded in time. On the loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from headway.scheduler import JobHandle
from headway.scheduler.model import JobOutcome, TaskState
from headway.workspace.nearest import Near

_log = logging.getLogger(__name__)


class Question:
    """A query on its way: first its vector, and as soon as that is here what is near it. Await `near`, or `drop` it."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._handle: JobHandle | None = None  # of what it waits for
        self._ended = asyncio.Event()
        self._found: Sequence[Near] = ()

    def waits_for(self, handle: JobHandle, then: Callable[[Any], None]) -> None:
        """Wait for a job of one task, and go on with its value; None: it has none."""
        self._handle = handle
        handle.add_done_callback(lambda outcome: then(_value(outcome)))

    def ends(self, found: Sequence[Near]) -> None:
        """All is known."""
        self._handle = None
        self._found = found
        self._ended.set()

    def drop(self) -> None:
        """Nobody waits for it any more."""
        if self._handle is not None:
            self._handle.cancel("nobody waits for it")

    async def near(self) -> Sequence[Near]:
        """Return what is near, best first; nothing where it could not be found out in time."""
        try:
            # A process that is new reads all vectors first. It is let go on with that, for the next search's sake.
            async with asyncio.timeout(self._limit_s):
                await self._ended.wait()
        except TimeoutError:
            _log.info("vectors could not be searched in time")
        return self._found


def _value(outcome: JobOutcome) -> Any:
    for task in outcome.results.values():
        if task.state is TaskState.COMPLETED:
            return task.value
    _log.info("a query has no answer: %s", outcome.error.message if outcome.error else outcome.state.name)
    return None
