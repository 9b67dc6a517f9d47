"""A small LSP client over a child's pipes: enough to type as an editor does, and to time what comes back.

Knows the wire and nothing of Headway. Instants are `time.perf_counter()` seconds, taken when the last byte of a message
has been read.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

from headway.demo.errors import NoAnswerError, RefusedError, ServerEndedError

Json: TypeAlias = Any
METHOD_NOT_FOUND = -32601
LOG_TAIL_BYTES = 2000
# What a server may ask of this client, and the answer; `workspace/configuration` is answered by count.
CONSENT = frozenset(
    {"client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create"}
    | {"workspace/inlayHint/refresh", "workspace/semanticTokens/refresh", "workspace/diagnostic/refresh"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back and when; exactly one of `result` and `error` counts."""

    at_s: float
    result: Json = None
    error: Mapping[str, Json] | None = None


class Request:
    """A request in flight. `answer` ends with an `Answer`, or raises ServerEndedError."""

    __slots__ = ("answer", "cancelled", "method", "request_id", "sent_at_s")

    def __init__(self, request_id: int, method: str) -> None:
        self.request_id = request_id
        self.method = method
        self.sent_at_s = time.perf_counter()
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.cancelled = False


def capabilities() -> dict[str, Json]:
    """What an ordinary editor offers."""
    return {
        "general": {"positionEncodings": ["utf-16"]},
        "window": {"workDoneProgress": True},
        "workspace": {"configuration": True, "workspaceFolders": True, "symbol": {}},
        "textDocument": {
            "synchronization": {"didSave": True},
            "publishDiagnostics": {"versionSupport": True},
            "completion": {
                "contextSupport": True,
                "completionItem": {"snippetSupport": True, "labelDetailsSupport": True, "insertReplaceSupport": True},
                "completionList": {"itemDefaults": ["commitCharacters", "editRange", "insertTextFormat", "data"]},
            },
        },
    }


class Client:
    """One server process and the conversation with it. `await Client.start(…)`, then `initialize`, at last `close`."""

    def __init__(self, process: asyncio.subprocess.Process, root: Path, log: Path) -> None:
        self.root = root
        self.started_at_s = time.perf_counter()
        self.capabilities: Mapping[str, Json] = {}
        self.server: Mapping[str, Json] = {}
        self._process = process
        self._log = log
        self._pending: dict[int, Request] = {}
        self._last_id = 0
        self._listeners: dict[str, list[Callable[[Json], None]]] = {}
        self._end: ServerEndedError | None = None
        self._reading = asyncio.create_task(self._read(), name="demo client reads")

    @classmethod
    async def start(cls, argv: Sequence[str], *, root: Path, log: Path, env: Mapping[str, str] | None = None) -> Self:
        """Start `argv` with its stderr in the file `log`.

        Raises:
            ServerEndedError: The program cannot be started.
        """
        with log.open("wb") as stderr:
            try:
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=stderr,
                    cwd=root,
                    env={**os.environ, **(env or {})},
                )
            except OSError as error:
                raise ServerEndedError(f"cannot be started: {' '.join(argv)}: {error}") from error
        return cls(process, root, log)

    @property
    def pid(self) -> int:
        return self._process.pid

    def listen(self, method: str, listener: Callable[[Json], None]) -> None:
        """Call `listener` with the params of each such notification. It must return at once."""
        self._listeners.setdefault(method, []).append(listener)

    # ---- the conversation ------------------------------------------------------------------------------------------

    async def initialize(self, options: Mapping[str, Json], *, limit_s: float = 30.0) -> float:
        """Introduce each other and open the folder `root`. Return seconds from the process's start to the answer."""
        folder = {"uri": self.root.as_uri(), "name": self.root.name}
        params = {
            "processId": os.getpid(),
            "clientInfo": {"name": "headway demo"},
            "rootUri": folder["uri"],
            "workspaceFolders": [folder],
            "capabilities": capabilities(),
            "initializationOptions": options,
        }
        request = self.request("initialize", params)
        result = await self._result(request, limit_s)
        self.capabilities = result.get("capabilities", {})
        self.server = result.get("serverInfo") or {}
        answered_s = request.answer.result().at_s - self.started_at_s
        self.notify("initialized", {})
        return answered_s

    def notify(self, method: str, params: Json) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: Json) -> Request:
        """Send a request; its answer comes later.

        Raises:
            ServerEndedError: There is nobody to send it to.
        """
        self._last_id += 1
        request = Request(self._last_id, method)
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        self._pending[self._last_id] = request
        return request

    async def call(self, method: str, params: Json, *, limit_s: float = 10.0) -> Json:
        """Send a request and return its result.

        Raises:
            NoAnswerError: None came within `limit_s`.
            RefusedError: The answer is an error.
            ServerEndedError: The server ended meanwhile.
        """
        return await self._result(self.request(method, params), limit_s)

    def cancel(self, request: Request) -> None:
        """Tell the server that nobody waits any more; its answer, whatever it is, still arrives."""
        request.cancelled = True
        self.notify("$/cancelRequest", {"id": request.request_id})

    async def close(self, *, grace_s: float = 5.0) -> int | None:
        """Say goodbye, wait, and end what did not end. Return the exit code; None: it had to be killed."""
        try:
            with contextlib.suppress(ServerEndedError, NoAnswerError, RefusedError):
                await self.call("shutdown", None, limit_s=grace_s)
                self.notify("exit", None)
            if self._process.stdin is not None:
                self._process.stdin.close()
            async with asyncio.timeout(grace_s):
                return await self._process.wait()
        except TimeoutError:
            return None
        finally:
            if self._process.returncode is None:
                self._process.kill()
                await self._process.wait()
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _result(self, request: Request, limit_s: float) -> Json:
        try:
            async with asyncio.timeout(limit_s):
                answer = await asyncio.shield(request.answer)
        except TimeoutError:
            raise NoAnswerError(request.method, limit_s) from None
        if answer.error is not None:
            raise RefusedError(request.method, answer.error.get("code", 0), str(answer.error.get("message", "")))
        return answer.result

    # ---- the wire --------------------------------------------------------------------------------------------------

    def _send(self, message: Mapping[str, Json]) -> None:
        if self._end is not None:
            raise self._end
        body = json.dumps(message, separators=(",", ":")).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _read(self) -> None:
        assert self._process.stdout is not None
        why, closed = "closed its output", True
        try:
            while True:
                head = await self._process.stdout.readuntil(b"\r\n\r\n")
                fields = dict(line.split(b":", 1) for line in head.lower().split(b"\r\n") if b":" in line)
                body = await self._process.stdout.readexactly(int(fields[b"content-length"]))
                self._receive(json.loads(body), time.perf_counter())
        except asyncio.IncompleteReadError as error:
            if error.partial:
                why = f"ended in the middle of a message: {error.partial[:80]!r}"
        except (KeyError, ValueError, asyncio.LimitOverrunError) as error:
            why, closed = f"wrote something that is no message: {error!r}", False
        if closed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):  # It is just ending; its exit code says why.
                    await self._process.wait()
        self._ended(why)

    def _ended(self, why: str) -> None:
        self._end = ServerEndedError(why, self._process.returncode, self.log_tail())
        for request in self._pending.values():
            if not request.answer.done():
                request.answer.set_exception(self._end)
                request.answer.exception()  # Not everybody still waits; who does gets it.
        self._pending.clear()

    def log_tail(self) -> str:
        """The last lines of the server's stderr."""
        data = self._log.read_bytes()[-LOG_TAIL_BYTES:] if self._log.exists() else b""
        return "\n".join(data.decode("utf-8", "replace").splitlines()[-15:])

    def _receive(self, message: Mapping[str, Json], at_s: float) -> None:
        method = message.get("method")
        if method is None:
            request = self._pending.pop(message.get("id", 0), None)
            if request is not None and not request.answer.done():
                error = message.get("error")
                request.answer.set_result(Answer(at_s=at_s, result=message.get("result"), error=error))
        elif "id" in message:
            self._send({"jsonrpc": "2.0", "id": message["id"], **self._reply(method, message.get("params") or {})})
        else:
            for listener in self._listeners.get(method, ()):
                listener(message.get("params"))

    def _reply(self, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
        if method == "workspace/configuration":
            return {"result": [None for _ in params.get("items", [])]}  # The defaults.
        if method == "workspace/workspaceFolders":
            return {"result": [{"uri": self.root.as_uri(), "name": self.root.name}]}
        if method in CONSENT:
            return {"result": None}
        return {"error": {"code": METHOD_NOT_FOUND, "message": f"the demo does not know {method}"}}
