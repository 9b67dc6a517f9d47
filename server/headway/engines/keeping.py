"""Keeps one language server running as settings, trust and folders want it, and tells when it is away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from headway.engines.server import EngineState, LanguageServer, ServerLaunch

_log = logging.getLogger(__name__)


class ServerKeeper:
    """Starts a server when it is first needed and anew when it would be started in another way; ends it at the end.

    Its `asyncio.Task` lives as long as the room that owns this: it is no work, so it is no job of the scheduler.

    Args:
        degraded: Is told the server's name and what is off, or None where it is well.
        wanted: How it would be started now; None where it cannot be or shall not.
    """

    def __init__(
        self,
        server: LanguageServer,
        wanted: Callable[[], ServerLaunch | None],
        degraded: Callable[[str, str | None], None],
    ) -> None:
        self._degraded = degraded
        self._server = server
        self._wanted = wanted
        self._launch: ServerLaunch | None = None
        self._running: asyncio.Task[None] | None = None
        self._resting: asyncio.Task[None] | None = None
        self._needed = False
        self._closed = False

    def begin(self, after_s: float = 0.0) -> None:
        """Start it, now or in a while, unless that was said before; who needs it waits for it from now on."""
        if self._running is not None or self._closed:
            return
        self._needed = True
        self._launch = self._wanted()
        if self._launch is not None:
            self._server.expect()
            self._running = asyncio.create_task(self._start(self._launch, after_s), name=self._server.name)

    async def _start(self, launch: ServerLaunch, after_s: float) -> None:
        if self._resting is not None:
            await self._resting
        await asyncio.sleep(after_s)
        await self._server.run(launch)

    def adapt(self) -> None:
        """Something that decides about its start has changed: start it anew where that makes a difference."""
        if self._running is None and self._needed:
            self.begin()
        if self._running is None or self._closed or self._wanted() == self._launch:
            return
        self._launch = self._wanted()
        self._running = asyncio.create_task(self._replace(self._running, self._launch), name=self._server.name)

    def rest(self) -> None:
        """End it until it is needed again."""
        if self._running is not None and not self._closed:
            self._needed = False
            self._launch = None
            self._resting = asyncio.create_task(self._ended(self._running), name=f"end {self._server.name}")
            self._running = None

    async def close(self) -> None:
        """End it; its process is gone when this returns."""
        self._closed = True
        if self._resting is not None:
            await self._resting
        await self._ended(self._running)

    def tell(self) -> None:
        """Say in the session's state whether it is well. To be called when its state has changed."""
        if self._server.state is EngineState.FAILED:
            self._degraded(self._server.name, self._server.message)
        elif self._server.state in (EngineState.READY, EngineState.OFF):
            self._degraded(self._server.name, None)

    async def _replace(self, previous: asyncio.Task[None], launch: ServerLaunch | None) -> None:
        try:
            await self._ended(previous)
        except asyncio.CancelledError:
            await self._ended(previous)
            raise
        if launch is not None:
            await self._server.run(launch)

    async def _ended(self, task: asyncio.Task[None] | None) -> None:
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("the supervision of %s failed", self._server.name, exc_info=error)
