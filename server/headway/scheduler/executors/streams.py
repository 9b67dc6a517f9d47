"""What becomes of a child's output: logged lines, or bytes up to a bound. Nothing here holds a writer up."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import logging
import os
from collections.abc import Callable, Sequence
from typing import IO

from headway.scheduler.executors.spawn import Process

_log = logging.getLogger(__name__)

_LINE_LIMIT_BYTES = 2000  # of a logged line
_LINES_PER_S = 200
_READ_BYTES = 1 << 16


class LoggedLines(asyncio.Protocol):
    """Logs a stream as lines and keeps the newest. Long lines are cut; of a flood the first lines are logged.

    Args:
        name: Stands before each line.
        kept_lines: Length of `tail`.
        level: Of the log records.
        on_closed: Called when the stream has ended.
    """

    def __init__(
        self,
        name: str,
        *,
        kept_lines: int,
        level: int = logging.DEBUG,
        on_closed: Callable[[], None] | None = None,
    ) -> None:
        self._name = name
        self._on_closed = on_closed
        self._level = level
        self._partial = b""
        self._loop = asyncio.get_running_loop()
        self._window_from_s = self._loop.time()
        self._in_window = 0
        self.tail: collections.deque[str] = collections.deque(maxlen=kept_lines)

    def data_received(self, data: bytes) -> None:
        *lines, self._partial = (self._partial + data).split(b"\n")
        now_s = self._loop.time()
        if now_s - self._window_from_s >= 1.0:
            self._say_dropped()
            self._window_from_s, self._in_window = now_s, 0
        for line in lines:
            self._keep(line)
        self._partial = self._partial[:_LINE_LIMIT_BYTES]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._partial:
            self._keep(self._partial)
            self._partial = b""
        self._say_dropped()
        if self._on_closed is not None:
            self._on_closed()

    def _keep(self, line: bytes) -> None:
        self._in_window += 1
        if self._in_window <= _LINES_PER_S:
            text = line[:_LINE_LIMIT_BYTES].decode("utf-8", "backslashreplace").rstrip()
            self.tail.append(text)
            _log.log(self._level, "%s: %s", self._name, text)

    def _say_dropped(self) -> None:
        dropped = self._in_window - _LINES_PER_S
        if dropped > 0:
            _log.log(self._level, "%s: (%d more lines in that second are not logged)", self._name, dropped)
            self._in_window = 0


def read_into(pipe: IO[bytes], protocol: asyncio.Protocol) -> Callable[[], None]:
    """Feed a pipe to a protocol until it ends, without a transport to wait for; return what stops it."""
    loop = asyncio.get_running_loop()
    fd = pipe.fileno()
    os.set_blocking(fd, False)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            loop.remove_reader(fd)
            pipe.close()
            protocol.connection_lost(None)

    def read() -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(fd, _READ_BYTES)
            if data:
                protocol.data_received(data)
            else:
                stop()

    loop.add_reader(fd, read)
    return stop


class EndingStream(asyncio.StreamReaderProtocol):
    """A stream, either way, that says when it has ended."""

    def __init__(self, reader: asyncio.StreamReader, on_closed: Callable[[], None]) -> None:
        super().__init__(reader, loop=asyncio.get_running_loop())
        self._on_closed = on_closed

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._on_closed()


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
