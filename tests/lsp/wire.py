"""A client over real pipes that holds the server to the protocol: framing, one answer each, lsprotocol's own types."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
from lsprotocol import converters, types

from headway.lsp.framing import Framer, frame

# A server that hangs must fail its test, on a machine that is busy with others, too.
LIMIT_S = 180.0  # far beyond what any of it takes: it is for what hangs
_CONVERTER = converters.get_converter()


class AnswerError(Exception):
    """The server answered with an error."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error)
        self.code: int = error["code"]
        self.message: str = error["message"]


class Wire:
    """One server process and the conversation with it. What came is kept in `seen`, in order."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []
        self.faults: list[str] = []
        self.replies_to_nothing = False
        self.replies: dict[str, Callable[[Any], Any]] = {
            "client/registerCapability": lambda params: None,
            "window/workDoneProgress/create": lambda params: None,
            "workspace/configuration": lambda params: [None for _ in params["items"]],
        }
        self._answers: dict[int | str, asyncio.Future[Any]] = {}
        self._answered: set[int | str] = set()
        self._methods: dict[int | str, str] = {}
        self._next_id = 0
        self._news = asyncio.Condition()
        self._framer = Framer()

    # -- out ----------------------------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def notify(self, method: str, params: object = None) -> None:
        self.write(_message({"jsonrpc": "2.0", "method": method, "params": params}))

    def request(self, method: str, params: object = None) -> tuple[int, asyncio.Future[Any]]:
        message_id, data = self.prepare(method, params)
        self.write(data)
        return message_id, self._answers[message_id]

    def prepare(self, method: str, params: object = None) -> tuple[int, bytes]:
        """Expect an answer, and return the bytes that ask for it."""
        self._next_id += 1
        self._answers[self._next_id] = asyncio.get_running_loop().create_future()
        self._methods[self._next_id] = method
        return self._next_id, _message({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})

    def answer_to(self, message_id: int) -> asyncio.Future[Any]:
        return self._answers[message_id]

    async def ask(self, method: str, params: object = None) -> Any:
        return await self.request(method, params)[1]

    async def refused(self, method: str, params: object = None) -> AnswerError:
        """The error that a request is answered with."""
        try:
            result = await self.ask(method, params)
        except AnswerError as error:
            return error
        raise AssertionError(f"{method} should have been refused, but answered {result}")

    def cancel(self, message_id: int) -> None:
        self.notify("$/cancelRequest", {"id": message_id})

    # -- in -----------------------------------------------------------------------------------------------------------

    async def read(self) -> None:
        assert self.process.stdout is not None
        while data := await self.process.stdout.read(65_536):
            for body in self._framer.feed(data):
                self._take(json.loads(body))
            async with self._news:
                self._news.notify_all()
        for future in self._answers.values():
            if not future.done():
                future.set_exception(ConnectionError("the server closed its output"))
                future.exception()

    def _take(self, message: dict[str, Any]) -> None:
        self.seen.append(message)
        if "method" not in message:
            self._take_answer(message)
            return
        self._judge(message["method"], message)
        if "id" in message and not self.replies_to_nothing:
            reply = self.replies.get(message["method"])
            outcome: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
            if reply is None:
                outcome["error"] = {"code": -32601, "message": "not here"}
            else:
                outcome["result"] = reply(message["params"])
            self.write(_message(outcome))

    def _take_answer(self, message: dict[str, Any]) -> None:
        message_id = message["id"]
        if message_id is None:
            return
        if message_id in self._answered:
            self.faults.append(f"a second answer to {message_id}")
        self._answered.add(message_id)
        future = self._answers.get(message_id)
        if future is None:
            self.faults.append(f"an answer to {message_id!r}, which was never asked")
        elif "error" in message:
            future.set_exception(AnswerError(message["error"]))
            future.exception()
        else:
            self._judge_answer(self._methods[message_id], message)
            future.set_result(message["result"])

    def _judge(self, method: str, message: dict[str, Any]) -> None:
        known = types.METHOD_TO_TYPES.get(method)
        if known is not None:
            self._structure(message, known[0])

    def _judge_answer(self, method: str, message: dict[str, Any]) -> None:
        known = types.METHOD_TO_TYPES.get(method)
        if known is not None and known[1] is not None:
            self._structure(message, known[1])

    def _structure(self, message: dict[str, Any], kind: Any) -> None:
        try:
            _CONVERTER.structure(message, kind)
        except Exception as error:  # noqa: BLE001 - whatever lsprotocol finds wrong is a fault of the server
            self.faults.append(f"not of LSP's types: {str(message)[:300]}: {error!r}")

    # -- waiting ------------------------------------------------------------------------------------------------------

    def notes(self, method: str) -> list[Any]:
        return [message["params"] for message in self.seen if message.get("method") == method and "id" not in message]

    async def until(self, condition: Callable[[], Any]) -> Any:
        """Wait for messages until the condition gives something true; returns that."""
        async with self._news:
            while not (found := condition()):
                await self._news.wait()
        return found

    async def note(self, method: str, fits: Callable[[Any], bool] = lambda params: True) -> Any:
        """Wait for a notification, or find it among those that came."""
        return await self.until(lambda: next((params for params in self.notes(method) if fits(params)), None))

    async def job_id(self, title: str, state: str = "RUNNING") -> str:
        """Wait until the job with this title is in this state."""
        view = await self.note("headway/jobUpdated", lambda view: view["title"] == title and view["state"] == state)
        found: str = view["jobId"]
        return found

    # -- life ---------------------------------------------------------------------------------------------------------

    async def initialize(self, root: Path | None = None, **more: Any) -> Any:
        params: dict[str, Any] = {
            "processId": os.getpid(),
            "rootUri": None if root is None else root.as_uri(),
            "capabilities": {},
            **more,
        }
        result = await self.ask("initialize", params)
        self.notify("initialized", {})
        return result

    async def exit(self) -> int:
        """Shut down in order and return the exit code."""
        assert await self.ask("shutdown") is None
        self.notify("exit")
        return await self.process.wait()


def _message(message: dict[str, Any]) -> bytes:
    return frame(
        json.dumps({key: value for key, value in message.items() if key != "params" or value is not None}).encode()
    )


@asynccontextmanager
async def server(
    home: Path,
    *arguments: str,
    probes: bool = True,
    env: Mapping[str, str] | None = None,
    within: Sequence[str] = (),
    python: Sequence[str] = (),
) -> AsyncIterator[Wire]:
    """A server process in a home of its own; ended hard when the test leaves it running.

    Args:
        within: A command that becomes the one that follows it, and changes its surroundings.
        python: Options of the interpreter.
    """
    environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), **(env or {})}
    flags = ["--enable-probes"] if probes else []
    with (home / "stderr.txt").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *within, sys.executable, "-I", *python, "-m", "headway", "serve", "--stdio", *flags, *arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log, env=environment, cwd=home,
        )  # fmt: skip
    wire = Wire(process)
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(wire.read())
        try:
            yield wire
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            await reading
    assert wire.faults == []


async def deaf_step_runs(wire: Wire) -> None:
    """Have a worker be in the middle of a step that hears nothing: it looks at no pipe and ignores requests to end.

    A worker is told to be busy when it has got its step. Until the step runs, an end of the server ends it by a broken
    pipe already, and nothing would be tried of what ends the others.
    """
    wire.request("headway/submit", submission("deaf", probe("hangs", "hang")))
    while not any(_ignores_requests(child.pid) for child in psutil.Process(wire.process.pid).children(recursive=True)):
        await wire.ask("headway/snapshot", {})


def _ignores_requests(pid: int) -> bool:
    """Whether a process of Python ignores SIGTERM; of others nothing can be told, and nothing is promised."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return sys.platform != "linux"
    ignored = int(status.partition("SigIgn:")[2].split()[0], 16)
    return bool(ignored >> (signal.SIGTERM - 1) & 1)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine; it fails where it takes too long."""

    async def bounded() -> None:
        async with asyncio.timeout(LIMIT_S):
            await scenario

    asyncio.run(bounded())


def probe(name: str, kind: str = "sleep", ms: float = 20, **more: Any) -> dict[str, Any]:
    """One probe task, small by default."""
    return {"name": name, "kind": kind, "durationMs": ms, "cpuCores": 0.1, "memoryMb": 1, **more}


def submission(title: str, *tasks: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Params of a `headway/submit` of probes."""
    return {"type": "probe", "title": title, "arguments": {"tasks": list(tasks)}, **more}
