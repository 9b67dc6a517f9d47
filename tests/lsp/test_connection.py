"""The conversation over real pipes: order, cancels, exactly one answer, a client that does not read."""

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from headway.lsp.connection import Connection
from headway.lsp.errors import METHOD_NOT_FOUND, RpcError
from headway.lsp.framing import Framer, frame
from headway.lsp.messages import Encoded, encoded
from headway.lsp.transport import Inbox, Outbox

CANCELLED = -32800


class Peer:
    """The client's ends of two pipes, and the connection between them."""

    def __init__(self, connection: Connection, write_fd: int, read_fd: int) -> None:
        self.connection = connection
        self._write_fd = write_fd
        self._read_fd = read_fd
        self._framer = Framer()
        self._loop = asyncio.get_running_loop()
        self._bodies: asyncio.Queue[Any] = asyncio.Queue()
        self.broken: list[str] = []

    def read(self) -> None:
        self._loop.add_reader(self._read_fd, self._readable)

    def _readable(self) -> None:
        for body in self._framer.feed(os.read(self._read_fd, 65_536)):
            self._bodies.put_nowait(json.loads(body))

    def send(self, *messages: object) -> None:
        os.write(self._write_fd, b"".join(frame(json.dumps(message).encode()) for message in messages))

    def request(self, message_id: object, method: str, params: object = None) -> dict[str, object]:
        return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}

    def cancel(self, message_id: object) -> dict[str, object]:
        return {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": message_id}}

    async def next(self) -> Any:
        return await self._bodies.get()

    def nothing_came(self) -> bool:
        return self._bodies.empty()


@asynccontextmanager
async def conversation(*, reading: bool = True) -> AsyncIterator[Peer]:
    to_server, from_client = os.pipe()
    to_client, from_server = os.pipe()
    async with asyncio.TaskGroup() as tasks:
        peers: list[Peer] = []
        outbox = Outbox(from_server, on_drained=lambda: connection.drained(), on_lost=lambda: None)
        inbox = Inbox(to_server, on_data=lambda data: connection.receive(data), on_end=lambda: None)
        connection = Connection(
            outbox=outbox,
            tasks=tasks,
            gate=lambda method, is_request: None,
            on_broken=lambda why: peers[0].broken.append(why),
            on_pressure=lambda high: inbox.pause() if high else inbox.resume(),
        )
        connection.read_more = inbox.read_more
        peer = Peer(connection, from_client, to_client)
        peers.append(peer)
        inbox.start()
        if reading:
            peer.read()
        yield peer
        connection.cancel_all()
        inbox.close()
        asyncio.get_running_loop().remove_reader(to_client)
    for fd in (to_server, from_client, to_client):
        os.close(fd)


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until it is so; the scenario's time limit bounds it."""
    turns = iter(lambda: condition(), True)
    for _ in turns:
        await asyncio.sleep(0)


def check(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(20):
            await scenario()

    asyncio.run(bounded())


def test_answers_and_errors() -> None:
    async def scenario() -> None:
        async with conversation() as peer:

            def refuse(params: object) -> object:
                raise RpcError(-32602, "no", {"why": params})

            def fault(params: object) -> object:
                raise ZeroDivisionError

            peer.connection.requests.update(
                {
                    "echo": lambda params: params,
                    "ready": lambda params: Encoded(b'{"as":"it is"}'),
                    "refuse": refuse,
                    "fault": fault,
                    "nan": lambda params: float("nan"),
                }
            )
            calls = ["echo", "ready", "refuse", "fault", "nan", "unknown"]
            peer.send(*(peer.request(n, method, [n]) for n, method in enumerate(calls)))
            answers = [await peer.next() for _ in calls]
            assert [answer["id"] for answer in answers] == list(range(len(calls)))
            assert answers[0]["result"] == [0]
            assert answers[1]["result"] == {"as": "it is"}
            assert answers[2]["error"] == {"code": -32602, "message": "no", "data": {"why": [2]}}
            assert answers[3]["error"]["code"] == answers[4]["error"]["code"] == -32603
            assert answers[5]["error"]["code"] == METHOD_NOT_FOUND

    check(scenario)


@pytest.mark.parametrize("text", ["long \u00e9\U0001f600", "with half a pair \ud83d"])
def test_a_long_message_says_the_same_as_a_short_one(text: str) -> None:
    async def scenario() -> None:
        async with conversation() as peer:
            peer.connection.requests["first"] = lambda params: encoded([params[0], len(params), params == expected])
            expected = [text] * 20_000
            peer.connection.receive(frame(json.dumps(peer.request(1, "first", expected)).encode()))
            assert (await peer.next())["result"] == [text, 20_000, True]

    check(scenario)


def test_what_is_sent_together_is_written_together_and_in_order() -> None:
    async def scenario() -> None:
        async with conversation() as peer:
            outbox = peer.connection.outbox
            peer.connection.notify("first", None)
            assert outbox.pending_bytes == 0
            with outbox.together():
                peer.connection.notify("second", None)
                peer.connection.notify("third", None)
                assert outbox.pending_bytes > 0
            assert outbox.pending_bytes == 0
            peer.connection.notify("fourth", None)
            came = [(await peer.next())["method"] for _ in range(4)]
            assert came == ["first", "second", "third", "fourth"]

    check(scenario)


def test_a_long_message_that_is_broken_is_answered_like_a_short_one() -> None:
    async def scenario() -> None:
        async with conversation() as peer:
            peer.connection.receive(frame(json.dumps(["x"] * 50_000).encode()[:-1]))
            assert (await peer.next())["error"]["code"] == -32700

    check(scenario)


@pytest.mark.parametrize(
    "body", [b"{", b"", b"\xff\xfe", b"[]", b"5", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","method":5}']
)
def test_what_is_no_message_is_answered_without_id_and_the_conversation_goes_on(body: bytes) -> None:
    async def scenario() -> None:
        async with conversation() as peer:
            peer.connection.requests["echo"] = lambda params: params
            os.write(peer._write_fd, frame(body))
            peer.send(peer.request("a", "echo", [1]))
            first = await peer.next()
            assert first["id"] is None
            assert first["error"]["code"] in (-32700, -32600)
            assert (await peer.next())["result"] == [1]

    check(scenario)


def test_a_cancel_in_the_same_write_keeps_the_request_from_running() -> None:
    async def scenario() -> None:
        ran: list[int] = []

        async def work() -> None:
            ran.append(1)

        async with conversation() as peer:
            peer.connection.requests["work"] = lambda params: work()
            peer.connection.requests["echo"] = lambda params: params
            peer.send(peer.request(1, "work"), peer.cancel(1), peer.request(2, "echo", [2]))
            assert (await peer.next())["error"]["code"] == CANCELLED
            assert (await peer.next())["result"] == [2]
            assert ran == []

    check(scenario)


def test_a_cancel_that_waits_in_the_pipe_keeps_the_request_from_running() -> None:
    async def scenario() -> None:
        ran: list[str] = []
        async with conversation() as peer:
            peer.connection.requests["work"] = ran.extend
            peer.send(peer.cancel(1), peer.request(2, "work", ["the later one"]))
            peer.connection.receive(frame(json.dumps(peer.request(1, "work", ["cancelled"])).encode()))
            assert [(await peer.next())["id"] for _ in range(2)] == [1, 2]
            assert ran == ["the later one"]

    check(scenario)


def test_what_was_read_ahead_is_not_waited_for_again() -> None:
    """The loop has seen that there is something to read, and meanwhile it was read."""

    async def scenario() -> None:
        to_server, from_client = os.pipe()
        came: list[bytes] = []
        inbox = Inbox(to_server, on_data=came.append, on_end=lambda: None)
        inbox.start()
        rescue = threading.Timer(20, os.write, (from_client, b"a server that hangs is let go"))
        rescue.start()
        os.write(from_client, b"a key")
        asyncio.get_running_loop().call_soon(inbox.read_more)
        await asyncio.sleep(0)  # the loop looks, then calls `read_more`, then whoever waits for something to read
        await asyncio.sleep(0)
        assert came == [b"a key"]
        os.write(from_client, b"another")
        await until(lambda: len(came) > 1)
        assert came == [b"a key", b"another"]
        rescue.cancel()
        inbox.close()
        for fd in (to_server, from_client):
            os.close(fd)

    check(scenario)


def test_a_request_runs_however_much_more_comes() -> None:
    async def scenario() -> None:
        async with conversation() as peer:
            noise = frame(json.dumps({"jsonrpc": "2.0", "method": "noise"}).encode())

            def more() -> bool:
                peer.connection.receive(noise)
                return True

            peer.connection.read_more = more
            peer.connection.requests["echo"] = lambda params: params
            peer.send(peer.request(1, "echo", [1]))
            assert (await peer.next())["result"] == [1]

    check(scenario)


def test_a_running_request_is_told_and_answered_at_once() -> None:
    async def scenario() -> None:
        started, told, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def stubborn() -> str:
            started.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                told.set()
                await may_end.wait()
                raise
            return "never"

        async with conversation() as peer:
            peer.connection.requests["work"] = lambda params: stubborn()
            peer.send(peer.request("x", "work"))
            await started.wait()
            peer.send(peer.cancel("x"), peer.cancel("x"), peer.cancel("never was"))
            assert (await peer.next())["error"]["code"] == CANCELLED
            await told.wait()
            may_end.set()
            assert peer.nothing_came()

    check(scenario)


def test_work_that_was_begun_by_its_handler_is_taken_back_however_early_the_cancel() -> None:
    """The cancel comes after the handler was called and before its coroutine has had its first turn."""

    async def scenario() -> None:
        held: list[str] = []

        async def ended() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                held.remove("job")

        def submit(params: object) -> Coroutine[Any, Any, None]:
            held.append("job")
            return ended()

        async with conversation() as peer:
            peer.connection.requests["submit"] = submit
            peer.connection.receive(frame(json.dumps(peer.request(1, "submit")).encode()))
            assert held == ["job"]
            peer.connection.receive(frame(json.dumps(peer.cancel(1)).encode()))
            assert (await peer.next())["error"]["code"] == CANCELLED
            await until(lambda: held == [])

    check(scenario)


def test_while_messages_are_held_a_cancel_still_acts_and_order_is_kept() -> None:
    async def scenario() -> None:
        async with conversation() as peer:
            peer.connection.requests["echo"] = lambda params: params
            peer.connection.hold()
            peer.send(*(peer.request(n, "echo", [n]) for n in range(3)), peer.cancel(1))
            first = await peer.next()
            assert (first["id"], first["error"]["code"]) == (1, CANCELLED)
            peer.connection.release()
            assert [(await peer.next())["id"] for _ in range(2)] == [0, 2]

    check(scenario)


def test_of_two_requests_with_one_id_the_first_keeps_the_only_answer() -> None:
    async def scenario() -> None:
        go_on = asyncio.Event()

        async def work() -> str:
            await go_on.wait()
            return "first"

        async with conversation() as peer:
            peer.connection.requests["work"] = lambda params: work()
            peer.connection.requests["echo"] = lambda params: params
            peer.send(peer.request(7, "work"), peer.request(7, "echo"), peer.request(8, "echo", [8]))
            assert (await peer.next())["id"] == 8
            go_on.set()
            assert (await peer.next())["result"] == "first"
            assert peer.nothing_came()

    check(scenario)


def test_the_clients_answers_reach_who_asked_and_strangers_are_ignored() -> None:
    async def scenario() -> None:
        async with conversation() as peer:
            good, bad = peer.connection.ask("a", None), peer.connection.ask("b", None)
            ids = [(await peer.next())["id"] for _ in range(2)]
            peer.send(
                {"jsonrpc": "2.0", "id": 99, "result": None},
                {"jsonrpc": "2.0", "id": None, "result": None},
                {"jsonrpc": "2.0", "id": ids[0], "result": [5]},
                {"jsonrpc": "2.0", "id": ids[0], "result": [6]},
                {"jsonrpc": "2.0", "id": ids[1], "error": {"code": 1, "message": "no"}},
            )
            assert await good == [5]
            with pytest.raises(RpcError, match="no"):
                await bad
            assert peer.nothing_came()

    check(scenario)


def test_an_answer_that_comes_when_nobody_waits_any_more_is_ignored() -> None:
    async def scenario() -> None:
        async with conversation() as peer:
            peer.connection.requests["echo"] = lambda params: params
            late = [peer.connection.ask("workspace/configuration", {}) for _ in range(3)]
            ids = [(await peer.next())["id"] for _ in late]
            for future in late:
                future.cancel()
            await asyncio.sleep(0)
            peer.send(
                {"jsonrpc": "2.0", "id": ids[0], "result": [None]},
                {"jsonrpc": "2.0", "id": ids[1], "error": {"code": -1, "message": "late"}},
                {"jsonrpc": "2.0", "id": ids[2], "error": "no error at all"},
                {"jsonrpc": "2.0", "id": ids[0], "result": [None]},
                peer.request(1, "echo", [1]),
            )
            assert (await peer.next())["result"] == [1]
            assert peer.nothing_came()

    check(scenario)


def test_a_cancel_concerns_what_came_before_it_and_only_the_very_same_id() -> None:
    async def scenario() -> None:
        async with conversation() as peer:
            peer.connection.requests["echo"] = lambda params: params
            odd: list[Any] = [None, True, [1], {}]
            peer.send(*(peer.cancel(message_id) for message_id in (1, "1", 99, *odd)), peer.request(1, "echo", [1]))
            assert (await peer.next())["result"] == [1]
            peer.connection.hold()
            peer.send(peer.request("7", "echo", ["7"]), peer.request(7, "echo", [7]), peer.cancel("7"), peer.cancel(1))
            assert await peer.next() == {
                "jsonrpc": "2.0",
                "id": "7",
                "error": {"code": CANCELLED, "message": "the request was cancelled"},
            }
            peer.connection.release()
            assert (await peer.next())["result"] == [7]
            assert peer.nothing_came()

    check(scenario)


def test_a_flood_leaves_the_loop_its_turns() -> None:
    async def scenario() -> None:
        count = 3_000
        async with conversation() as peer:
            turns = 0
            seen: list[int] = []

            def slow(params: Any) -> int:
                seen.append(turns)
                sum(range(2_000))
                return 0

            def turn() -> None:
                nonlocal turns
                turns += 1
                if len(seen) < count:
                    asyncio.get_running_loop().call_soon(turn)

            peer.connection.requests["slow"] = slow
            turn()
            messages = b"".join(frame(json.dumps(peer.request(n, "slow")).encode()) for n in range(count))
            await asyncio.to_thread(os.write, peer._write_fd, messages)
            for _ in range(count):
                await peer.next()
            assert len(set(seen)) > 3, "all messages were handled in one turn of the loop"

    check(scenario)


def test_a_client_that_does_not_read_loses_nothing() -> None:
    async def scenario() -> None:
        answer = "x" * 100_000
        async with conversation(reading=False) as peer:
            peer.connection.requests["big"] = lambda params: answer
            peer.send(*(peer.request(n, "big") for n in range(30)))
            await until(lambda: peer.connection.outbox.pending_bytes > 2_000_000)
            assert peer.connection.congested
            peer.read()
            for n in range(30):
                message = await peer.next()
                assert (message["id"], message["result"]) == (n, answer)
            assert not peer.connection.congested

    check(scenario)


def test_broken_framing_is_reported() -> None:
    async def scenario() -> None:
        async with conversation() as peer:
            os.write(peer._write_fd, b"nonsense\r\n\r\n")
            await until(lambda: bool(peer.broken))

    check(scenario)
