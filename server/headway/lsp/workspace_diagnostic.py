"""The handler of `workspace/diagnostic`: decode, call the session, encode. Imported with the first such question."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from headway.lsp.client import Client
from headway.lsp.connection import Connection
from headway.lsp.convert import Json
from headway.lsp.headway_requests import progress_token
from headway.session.arguments import Arguments
from headway.session.workspace_pull import FileReport, WorkspacePull


class WorkspaceDiagnostic:
    """Answers one connection's questions about all files."""

    def __init__(self, connection: Connection, client: Client, pull: WorkspacePull) -> None:
        self._connection = connection
        self._client = client
        self._pull = pull

    def answer(self, params: object) -> Coroutine[Any, Any, Json]:
        """Return a WorkspaceDiagnosticReport; with a `partialResultToken` its items go ahead of it, and it is empty."""
        read = Arguments(params)
        token = progress_token(read, "partialResultToken")
        known = {item.text("uri"): item.text("value") for item in read.each("previousResultIds")}
        return self._answer(known, token)

    async def _answer(self, known: dict[str, str], token: int | str | None) -> Json:
        items: list[Json] = []

        def part(reports: Sequence[FileReport]) -> None:
            made = [self._report(report) for report in reports]
            if token is None:
                items.extend(made)
            else:
                self._connection.notify("$/progress", {"token": token, "value": {"items": made}})

        await self._pull.reports(known, part)
        return {"items": items}

    def _report(self, report: FileReport) -> Json:
        # These files are not open: there is no version to name.
        made: Json = {"uri": report.uri, "version": None, "resultId": report.result_id}
        if report.findings is None:
            return {**made, "kind": "unchanged"}
        return {**made, "kind": "full", "items": self._client.diagnostics(report.text, report.findings)}
