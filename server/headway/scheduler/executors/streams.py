"""What becomes of a child's output: logged lines, or bytes up to a bound. Nothing here holds a writer up."""

from __future__ import annotations

import asyncio
import collections
import logging
from collections.abc import Sequence

from headway.scheduler.executors.spawn import Process

_log = logging.getLogger(__name__)

_LINE_LIMIT_BYTES = 2000  # of a logged line


class LoggedLines(asyncio.Protocol):
    """Logs a stream as lines and keeps the newest; long lines and floods are cut."""

    def __init__(self, name: str, kept_lines: int) -> None:
        self._name = name
        self._partial = b""
        self.tail: collections.deque[str] = collections.deque(maxlen=kept_lines)
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines[-self.tail.maxlen :] if self.tail.maxlen else []:
            self._keep(line)
        self._partial = self._partial[:_LINE_LIMIT_BYTES]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._partial:
            self._keep(self._partial)
            self._partial = b""
        if not self.closed.done():
            self.closed.set_result(None)

    def _keep(self, line: bytes) -> None:
        text = line[:_LINE_LIMIT_BYTES].decode("utf-8", "backslashreplace").rstrip()
        self.tail.append(text)
        _log.debug("%s: %s", self._name, text)


class GatheredBytes(asyncio.Protocol):
    """Collects a stream up to a bound; what is beyond it is read and dropped, so that the program is not held up."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self.data = bytearray()
        self.truncated = False
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        room = self._limit_bytes - len(self.data)
        self.truncated = self.truncated or len(data) > room
        self.data += data[:room]

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


def close_streams(process: Process, transports: Sequence[asyncio.BaseTransport]) -> None:
    """Close the pipes: through their transports as far as connected (in the order below), directly otherwise."""
    for transport in transports:
        if isinstance(transport, asyncio.WriteTransport) and transport.get_write_buffer_size():
            transport.abort()  # Nobody reads it any more, so it would never be flushed.
        elif not transport.is_closing():
            transport.close()
    for pipe in (process.stdout, process.stderr, process.stdin)[len(transports) :]:
        pipe.close()
