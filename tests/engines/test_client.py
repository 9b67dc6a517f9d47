"""The LSP client's framing and bookkeeping, driven by bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.engines.client import Framer, FramingError, LspClient, framed
from headway.engines.errors import EngineAnswerError, EngineUnavailableError

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


class Wire:
    """A client, and what it wrote."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.told: list[tuple[str, Any]] = []
        self._framer = Framer()
        self.client = LspClient(
            "engine",
            self._written,
            answer=self._answer,
            notified=lambda method, params: self.told.append((method, params)),
        )

    def _written(self, data: bytes) -> None:
        self.sent += [json.loads(body) for body in self._framer.feed(data)]

    def _answer(self, method: str, params: Any) -> Any:
        if method == "workspace/configuration":
            return [None for _ in params["items"]]
        raise LookupError(method)

    def says(self, **message: Any) -> None:
        self.client.feed(framed(json.dumps({"jsonrpc": "2.0", **message}).encode()))


@given(
    bodies=st.lists(st.binary(max_size=60), max_size=6),
    cuts=st.lists(st.integers(1, 40), min_size=1, max_size=30),
)
def test_messages_are_cut_right_however_they_arrive(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(framed(body) for body in bodies)
    framer, got, at = Framer(), [], 0
    for number in range(len(stream) + 1):
        size = cuts[number % len(cuts)]
        got += framer.feed(stream[at : at + size])
        at += size
    assert got == bodies


@pytest.mark.parametrize("junk", [b"Content-Type: x\r\n\r\n", b"Content-Length: nine\r\n\r\n", b"hello " * 1000])
def test_what_is_no_header_is_refused(junk: bytes) -> None:
    with pytest.raises(FramingError):
        Framer().feed(junk)


def test_an_answer_reaches_its_request_and_no_other(run_virtual: RunVirtual) -> None:
    async def talk() -> None:
        wire = Wire()
        first, second = wire.client.request("a", {}), wire.client.request("b", {})
        wire.says(id=second.request_id, result={"of": "b"})
        assert await second == {"of": "b"}
        assert not first.done()
        wire.says(id=first.request_id, result=None)
        assert await first is None
        assert wire.client.pending == 0

    run_virtual(talk())


def test_a_result_is_decoded_into_what_was_asked_for(run_virtual: RunVirtual) -> None:
    async def talk() -> None:
        wire = Wire()
        reply = wire.client.request("a", {}, decoder=msgspec.json.Decoder(list[int]))
        wire.says(id=reply.request_id, result=[1, 2])
        assert await reply == [1, 2]
        odd = wire.client.request("a", {}, decoder=msgspec.json.Decoder(list[int]))
        wire.says(id=odd.request_id, result={"no": "list"})
        with pytest.raises(EngineAnswerError, match="strange form"):
            await odd

    run_virtual(talk())


def test_an_answer_that_was_looked_at_leaves_nothing_for_the_garbage_collector(run_virtual: RunVirtual) -> None:
    async def scenario() -> None:
        wire = Wire()
        reply = wire.client.request("a", {})
        told: list[Any] = []
        reply.before_done = lambda: told.append(reply.done())
        wire.says(id=1, result=[1])
        assert await reply == [1]
        assert told == [False]
        assert reply.before_done is None

    run_virtual(scenario())


def test_half_a_surrogate_pair_is_sent_as_a_character_of_its_length(run_virtual: RunVirtual) -> None:
    async def talk() -> None:
        wire = Wire()
        wire.client.notify("textDocument/didOpen", {"text": "a \ud83d b \U0001f600 c"})
        assert wire.sent[0]["params"]["text"] == "a \ufffd b \U0001f600 c"

    run_virtual(talk())


def test_an_error_says_whether_asking_again_helps(run_virtual: RunVirtual) -> None:
    async def talk() -> None:
        wire = Wire()
        stale, wrong = wire.client.request("a", {}), wire.client.request("b", {})
        wire.says(id=stale.request_id, error={"code": -32801, "message": "content modified"})
        wire.says(id=wrong.request_id, error={"code": -32602, "message": "no such thing"})
        with pytest.raises(EngineAnswerError) as first:
            await stale
        with pytest.raises(EngineAnswerError, match="no such thing") as second:
            await wrong
        assert first.value.stale
        assert not second.value.stale

    run_virtual(talk())


def test_a_cancelled_request_is_told_to_the_server_once_and_its_late_answer_ignored(run_virtual: RunVirtual) -> None:
    async def talk() -> None:
        wire = Wire()
        reply = wire.client.request("slow", {})
        reply.cancel()
        await asyncio.sleep(0)
        assert wire.sent[-1] == {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": reply.request_id}}
        wire.says(id=reply.request_id, result=1)
        wire.says(id=999, result=1)
        assert wire.client.pending == 0
        assert len(wire.sent) == 2

    run_virtual(talk())


def test_a_server_that_goes_fails_what_waits_and_what_comes_later(run_virtual: RunVirtual) -> None:
    async def talk() -> None:
        wire = Wire()
        waiting = wire.client.request("a", {})
        wire.client.closed("it ended")
        later = wire.client.request("b", {})
        for reply in (waiting, later):
            with pytest.raises(EngineUnavailableError, match="it ended"):
                await reply
        wire.client.notify("c", {})
        assert [message["method"] for message in wire.sent] == ["a"]

    run_virtual(talk())


def test_requests_of_the_server_are_answered(run_virtual: RunVirtual) -> None:
    async def talk() -> None:
        wire = Wire()
        wire.says(id=7, method="workspace/configuration", params={"items": [{}, {}]})
        wire.says(id="x", method="no/such", params=None)
        wire.says(method="window/logMessage", params={"message": "hi"})
        assert wire.sent[0] == {"jsonrpc": "2.0", "id": 7, "result": [None, None]}
        assert wire.sent[1]["id"] == "x"
        assert wire.sent[1]["error"]["code"] == -32601
        assert wire.told == [("window/logMessage", {"message": "hi"})]

    run_virtual(talk())


def test_a_body_that_is_no_json_ends_the_conversation(run_virtual: RunVirtual) -> None:
    async def talk() -> None:
        with pytest.raises(FramingError):
            Wire().client.feed(framed(b"{broken"))

    run_virtual(talk())
