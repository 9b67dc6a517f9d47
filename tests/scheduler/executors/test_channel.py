"""Both kinds of pipe to a worker: frames arrive whole, nothing blocks, and an end that is gone harms nobody."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import IO

import pytest

from headway.scheduler.executors.channel import SocketChannel, ThreadChannel
from headway.scheduler.executors.frames import DONE, PARTIAL, Decoder, Frame, FrameTooLargeError, encode
from tests.scheduler.executors.harness import PATIENCE_S

pytestmark = pytest.mark.asyncio

BIG = b"x" * 4_000_000  # more than any pipe takes at once
LIMIT = 1 << 16


class Heard:
    """What a channel says, to be waited for."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.broken: list[FrameTooLargeError] = []
        self._changed = asyncio.Event()

    def frame(self, frame: Frame) -> None:
        self.frames.append(frame)
        self._changed.set()

    def ruined(self, error: FrameTooLargeError) -> None:
        self.broken.append(error)
        self._changed.set()

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not true():
                self._changed.clear()
                await self._changed.wait()


async def within_patience(call: Callable[[], bytes]) -> bytes:
    """What a blocking read gives, read beside the loop."""
    async with asyncio.timeout(PATIENCE_S):
        return await asyncio.to_thread(call)


def sockets(heard: Heard, limit: int = 1 << 30) -> tuple[SocketChannel, socket.socket]:
    ours, theirs = socket.socketpair()
    return SocketChannel(ours, heard.frame, heard.ruined, limit), theirs


def pipes(heard: Heard, limit: int = 1 << 30) -> tuple[ThreadChannel, IO[bytes], IO[bytes]]:
    """A channel, and the ends of its worker: what it reads from, what it writes to."""
    their_input, our_output = os.pipe()
    our_input, their_output = os.pipe()
    channel = ThreadChannel(
        os.fdopen(our_input, "rb", 0), os.fdopen(our_output, "wb", 0), heard.frame, heard.ruined, limit
    )
    return channel, os.fdopen(their_input, "rb", 0), os.fdopen(their_output, "wb", 0)


def read_frame(read: Callable[[int], bytes]) -> Frame:
    decoder = Decoder()
    while True:
        if frames := decoder.feed(read(1 << 16)):
            return frames[0]


async def test_more_than_a_socket_takes_goes_out_in_order_without_blocking() -> None:
    heard = Heard()
    channel, theirs = sockets(heard)
    channel.send(encode(DONE, 1, b"m", BIG))
    channel.send(encode(PARTIAL, 2))

    def all_of_it() -> bytes:
        decoder, got = Decoder(), list[Frame]()
        while len(got) < 2:
            got += decoder.feed(theirs.recv(1 << 16))
        return b"".join(bytes([kind, run_id]) + body for kind, run_id, _, body in got)

    assert await within_patience(all_of_it) == bytes([DONE, 1]) + BIG + bytes([PARTIAL, 2])
    channel.close()
    assert theirs.recv(1) == b""
    theirs.close()


async def test_a_worker_that_is_gone_swallows_what_is_sent() -> None:
    heard = Heard()
    channel, theirs = sockets(heard)
    theirs.sendall(encode(DONE, 7))
    theirs.close()
    channel.send(encode(DONE, 1, b"", BIG))
    channel.drain()  # what it left is still read
    assert [frame[:2] for frame in heard.frames] == [(DONE, 7)]
    channel.close()
    channel.send(b"after the close")
    channel.close()
    assert heard.broken == []


async def test_after_the_close_nothing_is_heard_of_what_came_with_the_last_frame() -> None:
    heard = Heard()
    ours, theirs = socket.socketpair()

    def close_at(frame: Frame) -> None:
        heard.frame(frame)
        channel.close()

    channel = SocketChannel(ours, close_at, heard.ruined, 1 << 30)
    theirs.sendall(encode(DONE, 1) + encode(DONE, 2))
    await heard.until(lambda: heard.frames)
    assert [run_id for _, run_id, _, _ in heard.frames] == [1]
    theirs.close()


@pytest.mark.parametrize("kind", ["socket", "threads"])
async def test_a_frame_that_is_too_large_ruins_the_stream_once(kind: str) -> None:
    heard = Heard()
    header = encode(DONE, 1, b"", b"x" * (LIMIT + 1))[:64]
    close: Callable[[], object]
    if kind == "socket":
        channel, theirs = sockets(heard, LIMIT)
        theirs.sendall(header)
        close, finish = theirs.close, channel.close
    else:
        slow, their_input, their_output = pipes(heard, LIMIT)
        their_output.write(header)
        close, finish = their_output.close, slow.close
    await heard.until(lambda: heard.broken)
    assert len(heard.broken) == 1
    assert heard.frames == []
    finish()
    close()
    if kind == "threads":
        their_input.close()


async def test_pipes_and_threads_carry_frames_both_ways() -> None:
    heard = Heard()
    channel, their_input, their_output = pipes(heard)
    channel.send(encode(DONE, 1, b"meta", BIG))
    frame: list[Frame] = []

    def read() -> bytes:
        frame.append(read_frame(their_input.read))
        return b""

    await within_patience(read)
    assert frame == [(DONE, 1, b"meta", BIG)]
    their_output.write(encode(PARTIAL, 2) + encode(DONE, 3))
    await heard.until(lambda: len(heard.frames) == 2)
    assert [run_id for _, run_id, _, _ in heard.frames] == [2, 3]
    their_output.write(encode(DONE, 4))
    their_output.close()
    channel.drain()  # the worker has ended: what it left is handed over at once
    assert heard.frames[-1][1] == 4
    channel.close()
    assert await within_patience(lambda: their_input.read(1)) == b""  # our end is closed, too
    their_input.close()


async def test_a_worker_that_is_gone_does_not_hold_up_the_threads() -> None:
    heard = Heard()
    channel, their_input, their_output = pipes(heard)
    their_input.close()
    channel.send(encode(DONE, 1, b"", BIG))
    their_output.write(encode(DONE, 5))
    await heard.until(lambda: heard.frames)
    their_output.close()
    channel.close()
    channel.drain()
    assert [run_id for _, run_id, _, _ in heard.frames] == [5]
