"""The wire between the sidecar and a worker process: frames of a fixed header and two bodies.

    kind u8 | run_id u64 | length of meta u32 | length of body u64 | meta | body        (network byte order)

`meta` is a pickled tuple of plain values made by our own code. `body` is a user's value, pickled apart, so that what
cannot be unpickled never makes a frame unreadable. This module is among the first that a worker imports: keep it light.
"""

from __future__ import annotations

import struct

# Sidecar to worker.
SETUP = 1  # meta: (sys_path, rlimit_bytes, max_result_bytes, modules to import ahead)
RUN = 2  # meta: (name,), body: (call, args, kwargs, context)
CANCEL = 3
PREEMPT = 4
QUIT = 5
# Worker to sidecar.
READY = 16  # meta: (seconds from birth to here,)
DONE = 17  # meta: (started_at_s, ran_s, rss_bytes), body: the value
FAILED = 18  # meta: (started_at_s, ran_s, rss_bytes, kind, message, type_name, traceback, retry_after_s)
HEARTBEAT = 19
PARTIAL = 20  # body: the value
TOLD = 21  # the step has seen that it is cancelled
INTERRUPTIBLE = 22  # meta: (bool,): from now on the step may, or may no longer, be interrupted by a signal

_HEADER = struct.Struct("!BQIQ")

Frame = tuple[int, int, bytes, bytes]  # kind, run_id, meta, body


class FrameTooLargeError(ValueError):
    """The other side announced more than was agreed; the stream is of no use any more. End the worker."""


def encode(kind: int, run_id: int = 0, meta: bytes = b"", body: bytes = b"") -> bytes:
    """Return a frame's bytes."""
    return b"".join((_HEADER.pack(kind, run_id, len(meta), len(body)), meta, body))


class Decoder:
    """Turns a stream of bytes, cut anywhere, into frames."""

    def __init__(self, max_frame_bytes: int = 1 << 40) -> None:
        self._buffer = bytearray()
        self._wanted = _HEADER.size
        self._max_frame_bytes = max_frame_bytes

    @property
    def wanted(self) -> int:
        """How many bytes are missing at least until the next frame is whole."""
        return max(1, self._wanted - len(self._buffer))

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes; return the frames that are whole now.

        Raises:
            FrameTooLargeError: a header announces more than the limit.
        """
        buffer = self._buffer
        buffer += data
        frames: list[Frame] = []
        begin = 0
        while True:
            available = len(buffer) - begin
            if available < _HEADER.size:
                self._wanted = _HEADER.size
                break
            kind, run_id, meta_length, body_length = _HEADER.unpack_from(buffer, begin)
            size = _HEADER.size + meta_length + body_length
            if size > self._max_frame_bytes:
                raise FrameTooLargeError(f"a frame of {size} bytes; the limit is {self._max_frame_bytes}")
            if available < size:
                self._wanted = size
                break
            meta_at = begin + _HEADER.size
            body_at = meta_at + meta_length
            frames.append(
                (kind, run_id, bytes(buffer[meta_at:body_at]), bytes(memoryview(buffer)[body_at : begin + size]))
            )
            begin += size
        if begin:
            del buffer[:begin]
        return frames
