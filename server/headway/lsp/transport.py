"""Bytes in and out over whatever the client gave us: pipes, sockets, terminals, files. Nothing here blocks the loop.

`Inbox` reads, `Outbox` writes. Where the selector can watch the descriptor they use it; where it cannot (plain files,
Windows) a daemon thread does the blocking call. This room knows no messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import select
import socket
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterator

_READ_BYTES = 256 * 2**10
_WRITE_BYTES = 256 * 2**10
# Above this much unwritten output, what can be merged or left out is; below the low mark it flows again.
_HIGH_BYTES = 256 * 2**10
_LOW_BYTES = 32 * 2**10
# Above this much unwritten output nothing more is read: a client that does not take answers gets no new ones.
CHOKED_BYTES = 64 * 2**20


class Inbox:
    """Reads a descriptor and hands on what came. `on_data` gets bytes; `on_end` is called once, at the end of input."""

    def __init__(self, fd: int, *, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._fd = fd
        self._on_data = on_data
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._threaded = False
        self._paused = False
        self._closed = False
        self._poll = None if not hasattr(select, "poll") else select.poll()
        self._may_read = threading.Event()
        self._may_read.set()

    def start(self) -> None:
        """Begin to read."""
        try:
            self._loop.add_reader(self._fd, self._readable)
        except (OSError, NotImplementedError, ValueError):
            self._threaded = True
            threading.Thread(target=self._read_in_thread, name="headway-stdin", daemon=True).start()
        if self._poll is not None:
            self._poll.register(self._fd, select.POLLIN)

    def pause(self) -> None:
        """Read nothing until `resume`; what the client writes waits in its pipe."""
        if self._paused or self._closed:
            return
        self._paused = True
        self._may_read.clear()
        if not self._threaded:
            self._loop.remove_reader(self._fd)

    def resume(self) -> None:
        """Read again."""
        if not self._paused or self._closed:
            return
        self._paused = False
        self._may_read.set()
        if not self._threaded:
            self._loop.add_reader(self._fd, self._readable)

    def read_more(self) -> bool:
        """Take what the client has written meanwhile, without waiting; return whether there was anything.

        The loop would come to it too, but only after everything else that is ready to run. Two microseconds where there
        is nothing.
        """
        if self._threaded or self._paused or self._closed or self._poll is None or not self._poll.poll(0):
            return False
        self._read()
        return True

    def close(self) -> None:
        """Read no more; nothing is called afterwards."""
        if self._closed:
            return
        if not self._threaded and not self._paused:
            self._loop.remove_reader(self._fd)
        self._closed = True

    def _readable(self) -> None:
        # What the loop saw may have been taken by `read_more` since, and to read without there being anything blocks.
        if self._poll is None or self._poll.poll(0):
            self._read()

    def _read(self) -> None:
        try:
            data = os.read(self._fd, _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            # A reset socket or a terminal that hung up is the end of input, like any other.
            data = b""
        self._take(data)

    def _take(self, data: bytes) -> None:
        if self._closed:
            return
        if data:
            self._on_data(data)
            return
        self.close()
        self._on_end()

    def _read_in_thread(self) -> None:
        while True:
            self._may_read.wait()
            try:
                data = os.read(self._fd, _READ_BYTES)
            except OSError:
                data = b""
            try:
                self._loop.call_soon_threadsafe(self._take, data)
            except RuntimeError:
                return  # The loop is closed: the server has ended.
            if not data:
                return


class Outbox:
    """Writes bytes in order without ever blocking; what the client does not take yet waits in memory.

    `pending_bytes` says how much waits and `congested` whether optional messages should be held back;
    `on_drained` is called when that is over, `on_lost` once when the client can no longer be written to.
    """

    def __init__(self, fd: int, *, on_drained: Callable[[], None], on_lost: Callable[[], None]) -> None:
        self._on_drained = on_drained
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[memoryview] = deque()
        self.pending_bytes = 0
        self.congested = False
        self.lost = False
        self._watching = False
        self._gathering = False
        self._write, self._fd = _writer(fd)
        self._thread: _WriterThread | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    def send(self, data: bytes) -> None:
        """Write a whole message, now or as soon as the client takes it."""
        if self.lost:
            return
        if self._thread is not None:
            self.pending_bytes += len(data)
            self._thread.put(data)
            self._check_congestion()
            return
        view = memoryview(data)
        if not self._waiting and not self._gathering:
            view = self._write_some(view)
        if view:
            self._waiting.append(view)
            self.pending_bytes += len(view)
            if not self._gathering:
                self._watch()
        self._check_congestion()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Write what is sent meanwhile at the end, at once: two hundred cancelled requests are one write."""
        self._gathering = True
        try:
            yield
        finally:
            self._gathering = False
            if len(self._waiting) > 1 and not self._watching:
                self._waiting = deque([memoryview(b"".join(self._waiting))])
            if self._waiting and not self._watching:
                self._writable()
            if self._waiting:
                self._watch()

    async def flush(self, timeout_s: float) -> bool:
        """Wait until all is written, at most `timeout_s`; say whether it is."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        return not self.pending_bytes

    def _write_some(self, view: memoryview) -> memoryview:
        try:
            while view:
                view = view[self._write(view[:_WRITE_BYTES]) :]
        except (BlockingIOError, InterruptedError):
            return view
        except OSError:
            self._lose()
            return memoryview(b"")
        return view

    def _writable(self) -> None:
        while self._waiting:
            before = self._waiting[0]
            rest = self._write_some(before)
            if self.lost:
                return
            self.pending_bytes -= len(before) - len(rest)
            if rest:
                self._waiting[0] = rest
                break
            self._waiting.popleft()
        if not self._waiting:
            self._unwatch()
        self._check_congestion()

    def _watch(self) -> None:
        if self._watching:
            return
        try:
            self._loop.add_writer(self._fd, self._writable)
            self._watching = True
        except (OSError, NotImplementedError, ValueError):
            self._thread = _WriterThread(self._loop, self._write, self._wrote, self._lose)
            while self._waiting:
                self._thread.put(bytes(self._waiting.popleft()))

    def _unwatch(self) -> None:
        if self._watching:
            self._loop.remove_writer(self._fd)
            self._watching = False

    def _wrote(self, count: int) -> None:
        self.pending_bytes -= count
        self._check_congestion()

    def _check_congestion(self) -> None:
        if self.pending_bytes:
            self._idle.clear()
        else:
            self._idle.set()
        if not self.congested and self.pending_bytes > _HIGH_BYTES:
            self.congested = True
        elif self.congested and self.pending_bytes <= _LOW_BYTES:
            self.congested = False
            self._on_drained()

    def _lose(self) -> None:
        if self.lost:
            return
        self.lost = True
        self._unwatch()
        self._waiting.clear()
        self.pending_bytes = 0
        self._idle.set()
        self._on_lost()


class _WriterThread:
    """Does blocking writes where the selector cannot watch a descriptor."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        write: Callable[[memoryview], int],
        wrote: Callable[[int], None],
        lost: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._write = write
        self._wrote = wrote
        self._lost = lost
        self._waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="headway-stdout", daemon=True).start()

    def put(self, data: bytes) -> None:
        self._waiting.put(data)

    def _run(self) -> None:
        while True:
            view = memoryview(self._waiting.get())
            size = len(view)
            try:
                while view:
                    view = view[self._write(view) :]
            except OSError:
                self._loop.call_soon_threadsafe(self._lost)
                return
            self._loop.call_soon_threadsafe(self._wrote, size)


def _writer(fd: int) -> tuple[Callable[[memoryview], int], int]:
    """Return a function that writes without blocking, and the descriptor to watch.

    O_NONBLOCK belongs to the open file, which the client or a shell may share with us; so a pipe or terminal is opened
    anew where the system allows it, and a socket is written with a flag for the one call.
    """
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode) and hasattr(socket, "MSG_DONTWAIT"):
        sock = socket.socket(fileno=fd)
        return (lambda view: sock.send(view, socket.MSG_DONTWAIT)), fd
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        own = fd
        with contextlib.suppress(OSError):
            own = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        if own == fd and hasattr(os, "set_blocking"):
            with contextlib.suppress(OSError):
                os.set_blocking(fd, False)
        elif own != fd:
            # Only the new one stays open, so that the client sees the end of the stream when we end.
            os.close(fd)
        return (lambda view: os.write(own, view)), own
    return (lambda view: os.write(fd, view)), fd
