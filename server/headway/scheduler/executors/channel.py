"""Our end of a worker's pipe: frames in and out without ever holding up the loop."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import queue
import socket
import threading
from collections.abc import Callable
from typing import IO, Protocol

from headway.scheduler.executors.frames import Decoder, Frame, FrameTooLargeError

_READ_BYTES = 1 << 18  # at once; then others on the loop have their turn
_DRAIN_S = 0.05  # for a pipe whose other end is closed already


class Channel(Protocol):
    """A pipe to one worker. On the loop `on_frame` is called for each frame, `on_broken` if the stream is ruined."""

    def send(self, data: bytes) -> None:
        """Queue bytes; never blocks. What a dead worker does not read is dropped."""

    def drain(self) -> None:
        """Hand over at once what a worker that has ended left in the pipe."""

    def close(self) -> None:
        """Close our end; nothing is called any more."""


class SocketChannel:
    """Over a socket that the selector watches (everywhere but on Windows)."""

    def __init__(
        self,
        ours: socket.socket,
        on_frame: Callable[[Frame], None],
        on_broken: Callable[[FrameTooLargeError], None],
        max_frame_bytes: int,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket = ours
        self._on_frame = on_frame
        self._on_broken = on_broken
        self._decoder = Decoder(max_frame_bytes)
        self._unsent: collections.deque[memoryview] = collections.deque()
        self._open = True
        ours.setblocking(False)
        self._loop.add_reader(ours, self._read)

    def send(self, data: bytes) -> None:
        if not self._open:
            return
        if self._unsent:
            self._unsent.append(memoryview(data))
            return
        sent = self._try(memoryview(data))
        if sent < len(data):
            self._unsent.append(memoryview(data)[sent:])
            self._loop.add_writer(self._socket, self._write)

    def close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._unsent.clear()
            self._socket.close()

    def drain(self) -> None:
        while self._open and self._read():
            continue

    def _try(self, data: memoryview) -> int:
        """Return how many bytes the kernel took; a worker that is gone swallows all."""
        try:
            return self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
        except (BrokenPipeError, ConnectionResetError):
            return len(data)  # Its end is noticed by its exit; that path answers for the run.

    def _write(self) -> None:
        while self._unsent:
            data = self._unsent[0]
            sent = self._try(data)
            if sent < len(data):
                self._unsent[0] = data[sent:]
                return
            self._unsent.popleft()
        self._loop.remove_writer(self._socket)

    def _read(self) -> bool:
        """Return whether anything was there."""
        try:
            data = self._socket.recv(_READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return False
        except ConnectionResetError:
            data = b""
        if not data:
            self._loop.remove_reader(self._socket)
            return False
        try:
            arrived = self._decoder.feed(data)
        except FrameTooLargeError as error:
            self._loop.remove_reader(self._socket)
            self._on_broken(error)
            return False
        for frame in arrived:
            if self._open:
                self._on_frame(frame)
        return True


class ThreadChannel:
    """Over a pair of blocking pipes and two threads, for loops that cannot watch them (Windows)."""

    def __init__(
        self,
        reader: IO[bytes],
        writer: IO[bytes],
        on_frame: Callable[[Frame], None],
        on_broken: Callable[[FrameTooLargeError], None],
        max_frame_bytes: int,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = reader
        self._writer = writer
        self._on_frame = on_frame
        self._on_broken = on_broken
        self._decoder = Decoder(max_frame_bytes)
        self._unsent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._open = True
        self._reading = threading.Thread(target=self._read_all, name="worker-pipe-reader", daemon=True)
        self._arrivals: collections.deque[bytes] = collections.deque()
        self._reading.start()
        threading.Thread(target=self._write_all, name="worker-pipe-writer", daemon=True).start()

    def send(self, data: bytes) -> None:
        self._unsent.put(data)

    def drain(self) -> None:
        self._reading.join(_DRAIN_S)
        self._arrived()

    def close(self) -> None:
        self._open = False
        self._unsent.put(None)

    def _write_all(self) -> None:
        with self._writer, contextlib.suppress(OSError):  # Gone: its exit is noticed elsewhere.
            while (data := self._unsent.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[self._writer.write(view) :]

    def _read_all(self) -> None:
        with self._reader, contextlib.suppress(OSError, RuntimeError):  # RuntimeError: the loop is closed.
            while data := self._reader.read(_READ_BYTES):
                self._arrivals.append(data)
                self._loop.call_soon_threadsafe(self._arrived)

    def _arrived(self) -> None:
        while self._open and self._arrivals:
            try:
                arrived = self._decoder.feed(self._arrivals.popleft())
            except FrameTooLargeError as error:
                self._open = False
                self._on_broken(error)
                return
            for frame in arrived:
                self._on_frame(frame)
