"""POST over real sockets, with servers that say odd things, late, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from headway.engines.http import AddressError, HttpClient, HttpError, Reply, SlowError

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LIMIT_S = 30.0


def talk(behave: Behaviour, *posts: bytes, limit_s: float = LIMIT_S) -> tuple[list[Reply], int]:
    """Post to a server that behaves so; return its answers, and how many connections were made."""

    async def scenario() -> tuple[list[Reply], int]:
        made = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal made
            made += 1
            try:
                await behave(reader, writer)
            except (asyncio.IncompleteReadError, ConnectionError):
                pass  # the client has gone
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        client = HttpClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/")
        try:
            return [await client.post("/x", body, {"A": "b"}, limit_s) for body in posts], made
        finally:
            client.close()
            server.close()
            await server.wait_closed()

    return asyncio.run(scenario())


async def request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/x HTTP/1.1\r\nHost: 127.0.0.1:")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return await reader.readexactly(length)


def saying(*pieces: bytes) -> Behaviour:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            body = await request(reader)
            for piece in pieces:
                writer.write(piece.replace(b"$", body))
                await writer.drain()
            if b"Content-Length" not in pieces[0] and b"chunked" not in pieces[0]:
                return

    return behave


@pytest.mark.parametrize(
    "pieces",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n$",),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n$"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\nh\r\n", b"1\r\ni\r\n0\r\nTrailer: 1\r\n\r\n"),
        (b"HTTP/1.0 200 OK\r\n\r\n$",),
    ],
)
def test_bodies_of_every_form_are_read(pieces: tuple[bytes, ...]) -> None:
    (reply,), _ = talk(saying(*pieces), b"hi")
    assert (reply.status, reply.body) == (200, b"hi")


def test_a_connection_is_used_again_and_replaced_where_the_server_closed_it() -> None:
    replies, made = talk(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n$"), b"1", b"2", b"3")
    assert ([reply.body for reply in replies], made) == ([b"1", b"2", b"3"], 1)
    closing = saying(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n$")
    replies, made = talk(closing, b"1", b"2")
    assert ([reply.body for reply in replies], made) == ([b"1", b"2"], 2)


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    (reply,), made = talk(saying(b"HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"), b"")
    assert (reply.status, reply.headers["location"], made) == (307, "http://127.0.0.1:1/", 1)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0 hello\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"x" * 200_000,
        b"",
    ],
)
def test_what_is_no_answer_is_an_error(answer: bytes) -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(answer)

    with pytest.raises(HttpError):
        talk(behave, b"hi")


def test_silence_ends_in_time() -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    with pytest.raises(SlowError, match=r"no answer within 0\.05 s"):
        talk(behave, b"hi", limit_s=0.05)


def test_nobody_there_is_an_error() -> None:
    with pytest.raises(HttpError):
        asyncio.run(HttpClient("http://127.0.0.1:9").post("/x", b"", {}, LIMIT_S))


@pytest.mark.parametrize(
    "url", ["", "ftp://h", "http://", "http://u:p@h", "http://h/?k=v", "http://h:99999", "http://a b"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(AddressError):
        HttpClient(url)


@pytest.mark.parametrize("header", ["sk-ключ", "a\r\nX-More: 1"])
def test_a_key_that_cannot_be_sent_is_an_error(header: str) -> None:
    with pytest.raises(HttpError, match="cannot send"):
        asyncio.run(HttpClient("http://127.0.0.1:9").post("/x", b"", {"A": header}, LIMIT_S))
