"""One JSON-RPC conversation: messages in, handlers called, answers out. Knows no LSP feature.

What is promised here:
- messages are handled in the order in which they came, but a cancel acts as soon as its bytes are there: on a request
  that waits in line (it never runs) and on one that runs (it is told, and answered at once);
- every request gets exactly one answer, whatever its handler does;
- a flood of messages is handled in slices, so that everything else on the loop gets its turn.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from headway.lsp.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    Answer,
    RpcError,
    answer,
    answer_async,
    error_of,
)
from headway.lsp.framing import BrokenFramingError, Framer, frame
from headway.lsp.messages import Encoded, dumps, loads
from headway.lsp.transport import CHOKED_BYTES, Outbox

MessageId: TypeAlias = int | str | float
Handler: TypeAlias = Callable[[Any], Any]
# Given a method and whether it is a request: the error to refuse it with, or None.
Gate: TypeAlias = Callable[[str, bool], RpcError | None]

_SLICE_S = 0.004
# For so long a request steps back behind bytes that are there (and once in any case): they may bring its cancel.
_STEPS_BACK_S = 0.01
_MAX_WAITING = 20_000

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Waiting:
    """A message in line. `cancelled`: it was answered already and must not run; `looked`: see `_steps_back`."""

    message: dict[str, Any]
    came_at_s: float
    cancelled: bool = False
    looked: bool = False


@dataclass(slots=True)
class _Running:
    """A request whose handler was called. `task` is None while it is on the stack."""

    came_at_s: float
    task: asyncio.Task[None] | None = None


class Connection:
    """The conversation with the client. `requests` and `notifications` map methods to handlers taking raw params.

    A request's handler returns its result, or a coroutine that does; the coroutine runs in the task group and is
    cancelled when the request is. `gate` is asked before each message.
    """

    def __init__(
        self,
        *,
        outbox: Outbox,
        tasks: asyncio.TaskGroup,
        gate: Gate,
        on_broken: Callable[[str], None],
        on_pressure: Callable[[bool], None],
    ) -> None:
        self.requests: dict[str, Handler] = {}
        self.notifications: dict[str, Handler] = {}
        self.outbox = outbox
        self.came_at_s = 0.0  # when the request came whose handler is called now, on the loop's clock
        # Called with method and seconds for each answer that is no error.
        self.on_answer: Callable[[str, float], None] = lambda method, took_s: None
        self.before_request: Callable[[], None] = lambda: None  # called before a request's handler is
        # Calls `receive` with what the client has written meanwhile, if anything, and says whether there was anything.
        self.read_more: Callable[[], bool] = lambda: False
        self._tasks = tasks
        self._gate = gate
        self._on_broken = on_broken
        self._on_pressure = on_pressure
        self._loop = asyncio.get_running_loop()
        self._framer = Framer()
        self._line: deque[_Waiting] = deque()
        self._when_idle: Callable[[], None] | None = None
        self._in_line: dict[MessageId, _Waiting] = {}
        self._running: dict[MessageId, _Running] = {}
        self._asked: dict[MessageId, asyncio.Future[Any]] = {}
        self._next_id = 0
        self._heard_at_s = self._loop.time()
        self._scheduled = False
        self._working = False
        self._held = False
        self._under_pressure = False

    # -- in -----------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take bytes from the client."""
        self._heard_at_s = self._loop.time()
        skipped = self._framer.skipped
        try:
            bodies = self._framer.feed(data)
        except BrokenFramingError as error:
            self._on_broken(str(error))
            return
        if self._framer.skipped > skipped:
            self._refuse(RpcError(INVALID_REQUEST, "the message is longer than this server takes; it was skipped"))
        with self.outbox.together():
            for body in bodies:
                self._take(body)
        if self._line:
            self._work()

    def _take(self, body: bytes) -> None:
        try:
            message = loads(body)
        except (ValueError, RecursionError) as error:
            self._refuse(RpcError(PARSE_ERROR, f"the message is no JSON in UTF-8: {str(error)[:200]}"))
            return
        if not isinstance(message, dict):
            self._refuse(RpcError(INVALID_REQUEST, "a message must be a JSON object"))
            return
        method = message.get("method")
        if method == "$/cancelRequest" and "id" not in message:
            self._cancel(message.get("params"))
            return
        if not isinstance(method, str):
            self._take_response(message)
            return
        waiting = _Waiting(message, self._loop.time())
        if "id" in message and not self._admit(message, waiting):
            return
        self._line.append(waiting)

    def _admit(self, message: dict[str, Any], waiting: _Waiting) -> bool:
        message_id = message["id"]
        if isinstance(message_id, bool) or not isinstance(message_id, int | str | float):
            self._refuse(RpcError(INVALID_REQUEST, "id must be a number or a string"))
            return False
        if message_id in self._running or message_id in self._in_line:
            # Two answers to one id could not be told apart: the first request keeps the only one.
            _log.warning("a request with the id %.100r, which is in flight, was dropped", message_id)
            return False
        self._in_line[message_id] = waiting
        return True

    def _take_response(self, message: dict[str, Any]) -> None:
        if "method" in message or ("result" not in message and "error" not in message):
            message_id = message.get("id")
            error = RpcError(INVALID_REQUEST, "the message is neither request, notification nor response")
            known = isinstance(message_id, int | str) and not isinstance(message_id, bool)
            self._send({"jsonrpc": "2.0", "id": message_id if known else None, "error": error.payload()})
            return
        asked_id = message.get("id")
        future = self._asked.pop(asked_id, None) if isinstance(asked_id, str) else None
        if future is None or future.done():
            # Late, doubled, or an answer to nothing: whoever waited for it has gone.
            return
        error_member = message.get("error")
        if error_member is None:
            future.set_result(message.get("result"))
            return
        error_object = error_member if isinstance(error_member, dict) else {}
        code, text = error_object.get("code"), error_object.get("message")
        future.set_exception(RpcError(code if isinstance(code, int) else 0, str(text)))

    def hold(self) -> None:
        """Handle nothing more until `release`; messages wait in line, cancels still act."""
        self._held = True

    def release(self) -> None:
        """Go on with what waits in line."""
        self._held = False
        self._work()

    def when_idle(self, callback: Callable[[], None]) -> None:
        """Call back once, when every message that has come is handled (requests may still run)."""
        self._when_idle = callback
        self._work()

    def silent_s(self) -> float:
        """Return for how long nothing has come from the client."""
        return self._loop.time() - self._heard_at_s

    def _work(self) -> None:
        """Handle what waits, for a slice of time; go on in the next turn of the loop."""
        if self._working:
            return
        self._scheduled = False
        self._working = True
        try:
            until = self._loop.time() + _SLICE_S
            while self._line and not self._held:
                if not self._steps_back(self._line[0]):
                    self._handle(self._line.popleft())
                if self._loop.time() > until:
                    break
        finally:
            self._working = False
        if self._line and not self._held and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._work)
        if not self._line and not self._held and self._when_idle is not None:
            callback, self._when_idle = self._when_idle, None
            callback()
        self._check_pressure()

    def _steps_back(self, waiting: _Waiting) -> bool:
        """Whether more came that is to be looked at first: of a flood of keys only the last request need ever run."""
        if waiting.cancelled or "id" not in waiting.message:
            return False
        looked, waiting.looked = waiting.looked, True
        return (not looked or self._loop.time() - waiting.came_at_s < _STEPS_BACK_S) and self.read_more()

    def _handle(self, waiting: _Waiting) -> None:
        message = waiting.message
        method: str = message["method"]
        params = message.get("params")
        if "id" not in message:
            self._handle_notification(method, params)
            return
        message_id: MessageId = message["id"]
        if waiting.cancelled:
            return
        del self._in_line[message_id]
        refused = self._gate(method, True)
        handler = self.requests.get(method)
        if refused is None and handler is None:
            refused = RpcError(METHOD_NOT_FOUND, f"no such method: {method[:200]}")
        if refused is None and params is not None and not isinstance(params, dict | list):
            refused = RpcError(INVALID_PARAMS, "params must be an object or an array")
        if refused is not None or handler is None:
            self._respond(message_id, Answer(error=refused))
            return
        self.before_request()
        self.came_at_s = waiting.came_at_s
        running = self._running[message_id] = _Running(waiting.came_at_s)
        first = answer(lambda: handler(params), method)
        if inspect.iscoroutine(first.value):
            running.task = self._tasks.create_task(self._finish(message_id, method, first.value))
        else:
            self._end(message_id, method, first)

    def _handle_notification(self, method: str, params: object) -> None:
        if self._gate(method, False) is not None:
            return
        handler = self.notifications.get(method)
        if handler is None:
            _log.debug("unknown notification %s", method[:200])
            return
        try:
            handler(params)
        # One broken notification must not end the conversation; `error_of` tells what is whose fault.
        except Exception as error:  # noqa: BLE001
            _log.warning("%s was ignored: %s", method, error_of(error, method))

    async def _finish(self, message_id: MessageId, method: str, work: Coroutine[Any, Any, Any]) -> None:
        self._end(message_id, method, await answer_async(work, method))

    def _end(self, message_id: MessageId, method: str, result: Answer) -> None:
        running = self._running.pop(message_id, None)
        if running is None:
            return
        if result.error is None and not isinstance(result.value, Encoded):
            # A result that is no JSON is this server's fault, and the client gets an answer all the same.
            result = answer(lambda: Encoded(dumps(result.value)), method)
        self._respond(message_id, result)
        if result.error is None:
            self.on_answer(method, self._loop.time() - running.came_at_s)

    # -- cancelling ---------------------------------------------------------------------------------------------------

    def _cancel(self, params: object) -> None:
        message_id = params.get("id") if isinstance(params, Mapping) else None
        if not isinstance(message_id, int | str | float):
            return
        waiting = self._in_line.pop(message_id, None)
        if waiting is not None:
            waiting.cancelled = True
            self._respond_cancelled(message_id)
            return
        self.cancel_running(message_id)

    def cancel_running(self, message_id: MessageId) -> None:
        """Answer a running request with RequestCancelled now and cancel its work; unknown ones are ignored."""
        running = self._running.get(message_id)
        if running is None or running.task is None:
            return
        del self._running[message_id]
        self._respond_cancelled(message_id)
        # Soon, not now: a coroutine that never began could not take back what its handler had submitted.
        self._loop.call_soon(running.task.cancel)

    def cancel_all_running(self) -> None:
        """Answer all requests that run with RequestCancelled; what waits in line has its turn."""
        for message_id in [*self._running]:
            self.cancel_running(message_id)

    def cancel_all(self) -> None:
        """Answer everything that is in flight with RequestCancelled; only a handler on the stack goes on."""
        self.cancel_all_running()
        for message_id, waiting in self._in_line.items():
            waiting.cancelled = True
            self._respond_cancelled(message_id)
        self._in_line.clear()

    # -- out ----------------------------------------------------------------------------------------------------------

    @property
    def congested(self) -> bool:
        """Whether the client reads slower than is written; optional messages should wait or be left out."""
        return self.outbox.congested

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: object) -> asyncio.Future[Any]:
        """Send a request; the future gets its result, or RpcError where the client answers with an error."""
        self._next_id += 1
        message_id = f"headway-{self._next_id}"
        future: asyncio.Future[Any] = self._loop.create_future()
        self._asked[message_id] = future
        future.add_done_callback(lambda _: self._asked.pop(message_id, None))
        self._send({"jsonrpc": "2.0", "id": message_id, "method": method, "params": params})
        return future

    def give_up(self) -> None:
        """Wait for none of the client's answers any longer; the futures of `ask` are cancelled."""
        for future in [*self._asked.values()]:
            future.cancel()

    def _respond(self, message_id: MessageId, result: Answer) -> None:
        if result.error is not None:
            self._send({"jsonrpc": "2.0", "id": message_id, "error": result.error.payload()})
        else:
            body: bytes = result.value.body
            self.outbox.send(frame(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (dumps(message_id), body)))
            self._check_pressure()

    def _respond_cancelled(self, message_id: MessageId) -> None:
        # An id of a plain number is its own JSON.
        written = b"%d" % message_id if type(message_id) is int else dumps(message_id)
        self.outbox.send(frame(b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (written, _CANCELLED)))
        self._check_pressure()

    def _refuse(self, error: RpcError) -> None:
        self._send({"jsonrpc": "2.0", "id": None, "error": error.payload()})

    def _send(self, message: dict[str, object]) -> None:
        self.outbox.send(frame(dumps(message)))
        self._check_pressure()

    def _check_pressure(self) -> None:
        """A client that asks without taking answers, or faster than they can be given, is not read for a while."""
        if self._under_pressure:
            calm = self.outbox.pending_bytes < CHOKED_BYTES // 2 and len(self._line) < _MAX_WAITING // 2
            if calm:
                self._under_pressure = False
                self._on_pressure(False)
        elif self.outbox.pending_bytes > CHOKED_BYTES or len(self._line) > _MAX_WAITING:
            self._under_pressure = True
            self._on_pressure(True)

    def drained(self) -> None:
        """The client has taken what waited."""
        self._check_pressure()


# A flood of keys is a flood of these, so it is encoded once.
_CANCELLED = dumps(RpcError(REQUEST_CANCELLED, "the request was cancelled").payload())
