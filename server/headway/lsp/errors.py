"""From an exception to the error that a client gets: one table, and the only broad `except` of this room."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
SERVER_NOT_INITIALIZED = -32002
REQUEST_FAILED = -32803
CONTENT_MODIFIED = -32801
REQUEST_CANCELLED = -32800

_log = logging.getLogger(__name__)


class RpcError(Exception):
    """An error as it stands on the wire. Raised by a handler to answer with it, and by `ask` when the client did."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"

    def payload(self) -> dict[str, object]:
        """Return the `error` member of a response."""
        error: dict[str, object] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error


def invalid_params(key: str, problem: str) -> RpcError:
    """Return the error for params that cannot be used; `key` says where, `problem` what is wrong and what is right."""
    return RpcError(INVALID_PARAMS, f"{key}: {problem}" if key else problem)


@cache
def _table() -> tuple[tuple[type[Exception], int], ...]:
    # Imported on first use: the answer to `initialize` does not wait for these rooms.
    from headway.scheduler.errors import NotRetryableError, QueueFullError, SchedulerClosedError, SubmissionError
    from headway.session.jobs import RequestCancelledError, RequestFailedError, RequestSupersededError
    from headway.session.ports import InvalidArgumentError
    from headway.workspace.documents import UnknownDocumentError

    return (
        (InvalidArgumentError, INVALID_PARAMS),
        (QueueFullError, REQUEST_FAILED),
        (SchedulerClosedError, REQUEST_CANCELLED),
        (SubmissionError, INVALID_PARAMS),
        (NotRetryableError, INVALID_PARAMS),
        (UnknownDocumentError, INVALID_PARAMS),
        (RequestSupersededError, CONTENT_MODIFIED),
        (RequestCancelledError, REQUEST_CANCELLED),
        (RequestFailedError, REQUEST_FAILED),
    )


def error_of(error: Exception, method: str) -> RpcError:
    """Return what the client is told; what the table does not know is logged whole and answered as InternalError."""
    if isinstance(error, RpcError):
        return error
    for kind, code in _table():
        if isinstance(error, kind):
            return RpcError(code, str(error))
    _log.error("%s failed", method, exc_info=error)
    return RpcError(INTERNAL_ERROR, f"{method} failed inside the server ({type(error).__name__}); see its log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back: `error` where it is not None, else `value`."""

    value: Any = None
    error: RpcError | None = None


def answer(call: Callable[[], Any], method: str) -> Answer:
    """Call a handler; whatever it raises becomes an answer, as one broken request must not end the conversation."""
    try:
        return Answer(value=call())
    except Exception as error:
        return Answer(error=error_of(error, method))


async def answer_async(work: Awaitable[Any], method: str) -> Answer:
    """Await a handler's work; whatever it raises becomes an answer, except its own cancellation."""
    try:
        return Answer(value=await work)
    except asyncio.CancelledError:
        raise
    except Exception as error:
        return Answer(error=error_of(error, method))
