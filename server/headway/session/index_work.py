"""What is left to do of one index, piece by piece: what failed is tried again in smaller pieces, then left out.

Owned by one job's source and changed on the loop only.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headway.workspace import indexer
from headway.workspace.planning import GIVEN_UP, Plan

_TRIES_ALONE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A piece of work on some files: `call(spec, *args)`."""

    verb: str
    folder: str
    call: Callable[..., Any]
    batch: str  # paths joined by NUL
    more_args: tuple[Any, ...] = ()
    tries: int = 0
    delays: int = 0

    @property
    def paths(self) -> list[str]:
        return self.batch.split("\0")

    @property
    def args(self) -> tuple[Any, ...]:
        return (self.batch, *self.more_args)

    @property
    def name(self) -> str:
        """What a person sees, different for each piece and each try of it."""
        first, *rest = self.paths
        more = f" (+{len(rest)})" if rest else ""
        again = f", try {self.tries + self.delays + 1}" if self.tries or self.delays else ""
        return f"{self.verb} {self.folder}/{first}{more}{again}"


def work_of(plan: Plan, folder: str) -> Iterable[Work]:
    """Return the pieces of a folder's plan; what is gone is forgotten first."""
    for batch in plan.forget:
        yield Work(verb="forget", folder=folder, call=indexer.forget_files, batch=batch)
    for batch in plan.batches:
        yield Work(verb="index", folder=folder, call=indexer.index_files, batch=batch)


class WorkList:
    """Gives out pieces until all have come back."""

    def __init__(self, pieces: Iterable[Work]) -> None:
        self._waiting = deque(pieces)
        self._out = 0
        self._not_before_s = 0.0
        self._news = asyncio.Event()

    async def take(self) -> Work | None:
        """Return the next piece, waiting for those that are out where none is left; None: all is done."""
        loop = asyncio.get_running_loop()
        while not self._waiting:
            if not self._out:
                return None
            self._news.clear()
            await self._news.wait()
        if (wait_s := self._not_before_s - loop.time()) > 0:
            await asyncio.sleep(wait_s)
        self._out += 1
        return self._waiting.popleft()

    def succeeded(self, work: Work) -> None:
        """A piece is done."""
        self._back()

    def failed(self, work: Work) -> list[str]:
        """A piece failed, was too slow, or its process died: try its files alone. Return what is given up for good."""
        given_up: list[str] = []
        if len(work.paths) > 1:
            self._waiting.extendleft(replace(work, batch=path, tries=1) for path in reversed(work.paths))
        elif work.call is indexer.skip_files or work.call is indexer.forget_files:
            given_up = work.paths
        elif work.tries < _TRIES_ALONE:
            self._waiting.append(replace(work, tries=work.tries + 1))
        else:
            given_up = work.paths
            self._waiting.append(
                replace(work, verb="leave out", call=indexer.skip_files, more_args=(GIVEN_UP,), tries=0)
            )
        self._back()
        return given_up

    def again_later(self, work: Work, delays_s: Sequence[float]) -> None:
        """A piece could not be stored because somebody else holds the lock: all wait."""
        delay_s = delays_s[min(work.delays, len(delays_s) - 1)]
        self._not_before_s = asyncio.get_running_loop().time() + delay_s
        self._waiting.appendleft(replace(work, delays=work.delays + 1))
        self._back()

    def abandon(self) -> None:
        """Give nothing out any more."""
        self._waiting.clear()
        self._back()

    def _back(self) -> None:
        self._out -= 1
        self._news.set()
