"""The commands of `workspace/executeCommand`: what a person does, said in the session's words."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from headway.lsp import protocol as wire
from headway.lsp.connection import Connection
from headway.lsp.errors import INVALID_PARAMS, RpcError
from headway.lsp.headway_requests import HeadwayRequests, progress_token
from headway.session.arguments import Arguments
from headway.session.session import Session

# The commands that are a job of this type.
_JOBS = {wire.REINDEX: "index", wire.RUN_TESTS: "tests", wire.ANALYZE_WORKSPACE: "analysis"}


class Commands:
    """Handlers of one session's commands. Those that are jobs answer as `headway/submit` does, when they have ended."""

    def __init__(self, session: Session, requests: HeadwayRequests) -> None:
        self._session = session
        self._requests = requests
        self._calls: Mapping[str, Callable[[], Any]] = {
            wire.PAUSE_BACKGROUND: lambda: requests.pause(None),
            wire.RESUME_BACKGROUND: lambda: requests.resume(None),
            wire.CLEAR_CACHE: self._clear_cache,
        }

    def register(self, connection: Connection) -> None:
        """Make these the handlers of a connection."""
        connection.requests["workspace/executeCommand"] = self.execute

    def execute(self, params: object) -> Any:
        read = Arguments(params)
        command = read.text("command")
        if command in _JOBS:
            return self._job(_JOBS[command], read)
        call = self._calls.get(command)
        if call is None:
            raise RpcError(INVALID_PARAMS, f"command: must be one of {', '.join(wire.COMMANDS)}, not {command[:100]!r}")
        return call()

    def _job(self, job_type: str, read: Arguments) -> Coroutine[Any, Any, wire.JobInfo]:
        token = progress_token(read, "workDoneToken")
        # One argument at most: the `arguments` that `headway/submit` takes.
        given = read.sequence("arguments", most=1)
        arguments = Arguments(given[0], "arguments[0]").mapping if given and given[0] is not None else {}
        return self._requests.ended(self._session.submit(job_type, arguments), token)

    async def _clear_cache(self) -> None:
        await self._session.clear_cache()
