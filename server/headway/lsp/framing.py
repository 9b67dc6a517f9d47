"""Cutting a byte stream into message bodies, and putting a header before one. Pure; knows no file descriptor.

The base protocol of the Language Server Protocol, 3.18, "Header Part": header names in any case and order, ended by an
empty line; `Content-Type` is accepted and not looked at, as UTF-8 is the only charset that clients use.
"""

from __future__ import annotations

import re

MAX_BODY_BYTES = 512 * 2**20
_MAX_HEADER_BYTES = 16 * 2**10
_END = b"\r\n\r\n"
# The header that nearly every client writes, told at a glance; any other one is read line by line.
_PLAIN_HEADER = re.compile(rb"Content-Length: ([0-9]{1,12})\r\n\r\n")


class BrokenFramingError(Exception):
    """The bytes are no frames any more, and nobody can say where the next one starts. Close the connection."""


class Framer:
    """Collects bytes and gives the bodies of whole messages.

    A body above `max_body_bytes` is skipped without being kept, and counted in `skipped`.
    """

    def __init__(self, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._max_body_bytes = max_body_bytes
        self._buffer = bytearray()
        self._need: int | None = None
        self._to_skip = 0
        self.skipped = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Take bytes as they came and return the bodies that are whole now, in order.

        Raises:
            BrokenFramingError: A header is malformed or endless.
        """
        self._buffer += data
        bodies: list[bytes] = []
        at = 0  # what lies before is taken, and goes at the end: two hundred messages are moved once
        try:
            while (after := self._take(at, bodies)) is not None:
                at = after
        finally:
            del self._buffer[:at]
        return bodies

    def _take(self, at: int, bodies: list[bytes]) -> int | None:
        """Take what is whole from a place of the buffer on; return the place behind it, None where nothing is."""
        buffer = self._buffer
        if self._to_skip:
            dropped = min(self._to_skip, len(buffer) - at)
            self._to_skip -= dropped
            return at + dropped if dropped else None
        if self._need is None:
            return self._take_header(at) if at < len(buffer) else None
        end = at + self._need
        if len(buffer) < end:
            return None
        bodies.append(bytes(memoryview(buffer)[at:end]))
        self._need = None
        return end

    @property
    def inside(self) -> bool:
        """Whether a message has begun and is not whole."""
        return bool(self._buffer) or self._need is not None or self._to_skip > 0

    def _take_header(self, at: int) -> int | None:
        plain = _PLAIN_HEADER.match(self._buffer, at)
        if plain is not None:
            length, behind = int(plain[1]), plain.end()
        else:
            end = self._buffer.find(_END, at)
            if end < 0:
                if len(self._buffer) - at > _MAX_HEADER_BYTES:
                    raise BrokenFramingError(f"a header without an end: {bytes(self._buffer[at : at + 80])!r}")
                return None
            length, behind = _content_length(bytes(self._buffer[at:end])), end + len(_END)
        if length > self._max_body_bytes:
            self.skipped += 1
            self._to_skip = length
        else:
            self._need = length
        return behind


def _content_length(header: bytes) -> int:
    found: int | None = None
    for line in header.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if not colon:
            raise BrokenFramingError(f"not a header line: {line[:80]!r}")
        if name.strip().lower() == b"content-length":
            digits = value.strip()
            if not digits.isdigit():
                raise BrokenFramingError(f"Content-Length is no number: {line[:80]!r}")
            found = int(digits)
    if found is None:
        raise BrokenFramingError(f"a header without Content-Length: {header[:80]!r}")
    return found


def frame(body: bytes) -> bytes:
    """Return the body with its header before it."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
