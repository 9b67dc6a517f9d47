"""One POST after another to one HTTP server: as much of HTTP/1.1 as that takes, on the event loop.

It follows no redirect and uses no proxy, so that what is sent, keys included, goes to the address that was named and to
no other. Every request is bounded in time and size; a cancelled one closes its connection.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

_CONNECT_S: Final = 5.0
_MAX_HEAD_BYTES: Final = 65_536
_MAX_BODY_BYTES: Final = 64 << 20
_MOST_IDLE: Final = 4
_PIECE_BYTES: Final = 65_536
_UNSENDABLE: Final = "the address or the key holds characters that HTTP cannot send"


class HttpError(Exception):
    """No answer could be had. Try again later; the message says what stood in the way, and no content."""


class SlowError(HttpError):
    """It was reached, and did not answer in time. Ask for less, or later."""


class AddressError(ValueError):
    """The text is no http or https address; correct the setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a server answered. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @property
    def is_open(self) -> bool:
        return not (self.reader.at_eof() or self.writer.is_closing())

    def close(self) -> None:
        self.writer.transport.abort()


class HttpClient:
    """Posts to one server and keeps a few connections for the next time. Lives on the loop.

    Args:
        url: Where paths are appended, as "http://127.0.0.1:8080/v1".

    Raises:
        AddressError: see there.
    """

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url.strip())
            port = parts.port
        except ValueError as error:
            raise AddressError(str(error)) from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise AddressError("it must begin with http:// or https:// and name a host")
        if parts.username is not None or parts.query or parts.fragment:
            raise AddressError("it must hold no user, query or fragment")
        if any(c <= " " for c in url.strip()):
            raise AddressError("it must hold no spaces")
        self._is_secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = port or (443 if self._is_secure else 80)
        self._path = parts.path.rstrip("/")
        self._authority = parts.netloc
        self._tls: ssl.SSLContext | None = None
        self._idle: list[_Connection] = []

    @property
    def server(self) -> str:
        """Host and port, for people."""
        return self._authority

    def close(self) -> None:
        """Close the connections that wait for a next time."""
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def post(self, path: str, body: bytes, headers: Mapping[str, str], limit_s: float) -> Reply:
        """Send a request and return its answer, whatever its status.

        Raises:
            HttpError: there was none within the time, or it was no HTTP.
        """
        if any(c < " " for value in headers.values() for c in value):
            raise HttpError(_UNSENDABLE)
        head = [f"POST {self._path}{path} HTTP/1.1", f"Host: {self._authority}", f"Content-Length: {len(body)}"]
        request = "\r\n".join([*head, *(f"{key}: {value}" for key, value in headers.items()), "", ""])
        try:
            data = request.encode("ascii") + body
        except UnicodeEncodeError:
            raise HttpError(_UNSENDABLE) from None
        try:
            async with asyncio.timeout(limit_s):
                return await self._post(data)
        except TimeoutError:
            raise SlowError(f"no answer within {limit_s:g} s") from None
        except ssl.SSLError as error:
            raise HttpError(f"TLS: {error.reason or error}") from error
        except OSError as error:
            raise HttpError(error.strerror or str(error) or type(error).__name__) from error
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            raise HttpError("it answered something that is no HTTP, or broke off") from error

    async def _post(self, data: bytes) -> Reply:
        while self._idle:
            kept = self._idle.pop()
            if not kept.is_open:
                kept.close()
                continue
            try:
                return await self._exchange(kept, data)
            except (OSError, asyncio.IncompleteReadError):
                break  # Closed by the server between two requests, as it may: the next one is new.
        return await self._exchange(await self._connected(), data)

    async def _connected(self) -> _Connection:
        if self._is_secure and self._tls is None:
            # Reading the machine's certificates takes longer than the loop may.
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        try:
            async with asyncio.timeout(_CONNECT_S):
                reader, writer = await asyncio.open_connection(
                    self._host, self._port, ssl=self._tls, limit=_MAX_HEAD_BYTES
                )
        except TimeoutError:
            raise HttpError(f"no connection within {_CONNECT_S:g} s") from None
        return _Connection(reader, writer)

    async def _exchange(self, connection: _Connection, data: bytes) -> Reply:
        try:
            connection.writer.write(data)
            await connection.writer.drain()
            reply, may_keep = await _read(connection.reader)
        except BaseException:  # a cancel too: what is under way on it belongs to nobody
            connection.close()
            raise
        if may_keep and len(self._idle) < _MOST_IDLE:
            self._idle.append(connection)
        else:
            connection.close()
        return reply


async def _read(reader: asyncio.StreamReader) -> tuple[Reply, bool]:
    status = 100
    while 100 <= status < 200:  # what is said on the way is passed over
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1."):
            raise ValueError(version)
        status = int(rest[:3])
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    may_keep = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = await _chunks(reader)
    elif "content-length" in headers:
        length = int(headers["content-length"])
        if not 0 <= length <= _MAX_BODY_BYTES:
            raise HttpError(f"its answer is too large ({length} bytes)")
        body = await reader.readexactly(length)
    else:
        may_keep = False
        body = await _rest(reader)
    return Reply(status=status, headers=headers, body=body), may_keep


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    pieces: list[bytes] = []
    left = _MAX_BODY_BYTES
    while True:
        size = int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16)
        left -= size
        if size < 0 or left < 0:
            raise HttpError("its answer is too large")
        if size == 0:
            while (await reader.readuntil(b"\r\n")) != b"\r\n":
                continue  # trailers say nothing that is wanted here
            return b"".join(pieces)
        pieces.append(await reader.readexactly(size))
        await reader.readexactly(2)


async def _rest(reader: asyncio.StreamReader) -> bytes:
    pieces: list[bytes] = []
    left = _MAX_BODY_BYTES
    while piece := await reader.read(_PIECE_BYTES):
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            raise HttpError("its answer is too large")
    return b"".join(pieces)
