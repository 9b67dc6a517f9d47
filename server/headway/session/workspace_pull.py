"""The findings of files that are not open, for an editor that asks for them itself (`workspace/diagnostic`).

The first answer comes part by part, as the analysis goes on at BATCH. An editor asks again as soon as it has an answer:
that question waits until something has changed, so that a workspace at rest costs nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from headway.features.analysis import Finding
from headway.scheduler.model import ErrorKind, Failure, Job, JobState, Priority
from headway.session.jobs import RequestCancelledError, RequestFailedError, finished
from headway.session.ports import SessionContext
from headway.session.workspace_findings import WorkspaceFindings
from headway.wording import say
from headway.workspace.text import Text
from headway.workspace.uris import identity

# A build or a checkout changes files for a while: it is looked at when it rests.
REST_S: Final = 1.0


class FileReport(NamedTuple):
    """What is found in one file. `findings` None: the same as under this `result_id` before."""

    uri: str
    result_id: str
    findings: Sequence[Finding] | None = ()
    text: Text | None = None  # what columns are counted in


class WorkspacePull:
    """Answers such questions.

    Args:
        elsewhere: Looks through files.
        program: Gives ruff, None where it is not there.
        rest_s: For how long nothing has to change until a question that waits for a change is answered.
    """

    def __init__(
        self,
        context: SessionContext,
        elsewhere: WorkspaceFindings,
        program: Callable[[], str | None],
        *,
        rest_s: float = REST_S,
    ) -> None:
        self._context = context
        self._elsewhere = elsewhere
        self._program = program
        self._rest_s = rest_s
        self._told_at: int | None = None  # the count of changes that the last answer has seen
        self._told: dict[str, str] = {}  # the ids of that answer, by the files' identities

    async def reports(self, known: Mapping[str, str], part: Callable[[Sequence[FileReport]], None]) -> None:
        """Tell what is found in files that are not open, a batch of files at a time.

        Args:
            known: What the editor has, by URI the result's id; where it has all that there is, a change is waited for.
            part: Gets reports; files of `known` in which nothing is found any more are among the last ones.

        Raises:
            RequestCancelledError, RequestFailedError: The analysis was cancelled, or failed.
        """
        self._elsewhere.is_pulled = True
        ids = {identity(uri): result_id for uri, result_id in known.items()}
        if known and self._told_at == self._elsewhere.changes and self._told.items() <= ids.items():
            await self._news()
        seen: set[str] = set()
        latest: dict[str, str] = {}

        def told(files: Sequence[tuple[str, Sequence[Finding], Text | None]]) -> None:
            reports = []
            for uri, found, text in files:
                key = identity(uri)
                if self._context.documents.get(uri) is not None:
                    continue  # It is asked about by itself.
                seen.add(key)
                result_id = _result_id(found)
                if found:
                    latest[key] = result_id
                if ids.get(key) == result_id:
                    reports.append(FileReport(uri, result_id, None))
                elif found or key in ids:
                    reports.append(FileReport(uri, result_id, found, text))
            if reports:
                part(reports)

        began_at = self._elsewhere.changes
        if self._context.settings.diagnostics.enabled:
            await self._analyze(told)
        gone = [uri for uri in known if identity(uri) not in seen and self._context.documents.get(uri) is None]
        if gone:
            part([FileReport(uri, _result_id(())) for uri in gone])
        self._told_at, self._told = began_at, latest

    async def _analyze(self, told: Callable[[Sequence[tuple[str, Sequence[Finding], Text | None]]], None]) -> None:
        job = Job(
            type="analysis",
            title=say("Analyze workspace"),
            tasks=self._elsewhere.analysis(self._program(), (), [], told),
            priority=Priority.BATCH,
        )
        outcome = await finished(self._context.scheduler.submit(job))
        if outcome.state is JobState.CANCELLED:
            raise RequestCancelledError("the analysis was cancelled")
        if outcome.state is not JobState.COMPLETED:
            raise RequestFailedError(outcome.error or Failure(kind=ErrorKind.UNKNOWN, message="the analysis failed"))

    async def _news(self) -> None:
        """Wait until something has changed, and then for its end."""
        changes = self._elsewhere.changes
        while changes == self._elsewhere.changes:
            await self._elsewhere.changed_again()
        while changes != self._elsewhere.changes:
            changes = self._elsewhere.changes
            await asyncio.sleep(self._rest_s)


def _result_id(found: Sequence[Finding]) -> str:
    return hashlib.blake2b(repr(list(found)).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
