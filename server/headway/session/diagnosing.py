"""Diagnostics: of each open document at NORMAL, soon after it was changed; of the whole workspace at BATCH, when asked.

One ruff server does the former. A document waits until nothing has changed for a while, counted from when the change
came in, but never longer than a maximum from the first change that was not looked at. What is not typed letter by
letter (a line pasted, a name completed, a step undone) waits for nothing, unless another such change came just before.
A newer run of a document takes the place of an older one, and only what was found in the present version is shown.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.engines import ruff
from headway.engines.client import Reply
from headway.engines.environment import own_program
from headway.engines.errors import EngineAnswerError, EngineError
from headway.engines.keeping import ServerKeeper
from headway.engines.mirror import LONGEST_TEXT, Encoding, common_ends
from headway.engines.server import EngineState, ServerLaunch
from headway.features.analysis import Finding, findings
from headway.scheduler.executors.children import clean_environment
from headway.scheduler.model import Job, Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.arguments import Arguments
from headway.session.jobs import RequestSupersededError, value_of
from headway.session.lone_files import working_directory
from headway.session.ports import FileChange, Room, SessionContext, Submission
from headway.session.python_engine import PythonEngine
from headway.session.type_findings import TypeFindings
from headway.session.workspace_findings import WorkspaceFindings, analysis_result
from headway.settings import Settings
from headway.wording import say
from headway.workspace.documents import Document
from headway.workspace.uris import identity

_log = logging.getLogger(__name__)
_COST = Requirement(cpu_cores=0.0, memory_mb=1)  # others compute; nothing is to wait for a core here
_READY_LIMIT_S = 8.0
_STOOD_STILL_S = 1.0
_STALE_ANSWERS = 3
_TYPES_AFTER_S = 2.0  # the first keys of a start go first
_CONFIGURATIONS = frozenset({"pyproject.toml", "ruff.toml", ".ruff.toml"})


@dataclass(slots=True)
class _Waiting:
    """A document with changes that were not looked at."""

    first_change_s: float
    timer: asyncio.TimerHandle


class Diagnosing(Room):
    """Keeps the findings of open documents up to date; analyses whole workspaces (the `JobSource` of "analysis").

    Args:
        encoding: How the client counts columns; ruff is asked to do the same.
        engine: The room of the ty that knows type errors; None: none are looked for.
        run_limit_s: How long ruff may take for one document, until a person is told that it does not answer.
        ruff_after_s: How long after its start, or after a document is opened, ruff is started: the first keys go first.
    """

    def __init__(
        self,
        context: SessionContext,
        encoding: Encoding = "utf-16",
        *,
        engine: PythonEngine | None = None,
        run_limit_s: float = 10.0,
        ruff_after_s: float = 0.0,
    ) -> None:
        self._run_limit_s = run_limit_s
        self._ruff_after_s = ruff_after_s
        self._context = context
        self._encoding = encoding
        self.ruff = ruff.RuffEngine(lambda: context.documents.snapshot(), self._engine_changed)
        self.ruff.notebooks = lambda: context.documents.notebooks()
        self._keeper = ServerKeeper(self.ruff, self._wanted, context.degraded)
        self._waiting: dict[str, _Waiting] = {}
        self._texts: dict[str, str] = {}  # by document: as it was at the last change
        self._stroke_s: dict[str, float] = {}  # by document: when it was last changed at a stroke and looked at at once
        self._published: dict[str, str] = {}  # by document: the URI under which findings were shown
        self.elsewhere = WorkspaceFindings(context)
        self._found: dict[str, tuple[Document, list[Finding]]] = {}  # by document: what ruff found last, and in what
        first_s = _TYPES_AFTER_S if ruff_after_s else 0.0
        self.types = TypeFindings(context, engine, self._types_found, first_after_s=first_s) if engine else None
        self._refresh: asyncio.TimerHandle | None = None  # of a client that pulls, soon, as a notebook has changed
        self._unseen: set[str] = set()  # documents whose present text could not be looked at so far

    # ---- life -------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        self._keeper.begin(self._ruff_after_s)
        for document in self._context.documents.snapshot().values():
            self._changed(document)

    async def close(self) -> None:
        for waiting in self._waiting.values():
            waiting.timer.cancel()
        self._waiting.clear()
        if self._refresh is not None:
            self._refresh.cancel()
        await self._keeper.close()

    def settings_changed(self, previous: Settings) -> None:
        self._keeper.adapt()
        was, now = previous.diagnostics, self._context.settings.diagnostics
        if (was.enabled, was.types) != (now.enabled, now.types) or (
            self._context.settings.python != previous.python and self.types is not None and self.types.changed()
        ):
            self._look_again()
        if was.enabled != now.enabled:
            self.elsewhere.clear()

    def trust_granted(self) -> None:
        self._keeper.adapt()

    def folders_changed(self) -> None:
        self._keeper.adapt()
        self.elsewhere.folders_changed()
        if self.types is not None:
            self.types.changed()

    def files_changed(self, changes: Sequence[FileChange]) -> None:
        self.elsewhere.changed(changes)
        if self.types is not None and self.types.changed(changes):
            self._look_again()
        told = [change for change in changes if change.uri.rpartition("/")[2] in _CONFIGURATIONS]
        if told:
            # A creation that was none is taken for a change.
            events = [{"uri": change.uri, "type": 3 if change.deleted else 1} for change in told]
            self.ruff.notify("workspace/didChangeWatchedFiles", {"changes": events})
            self._look_again()

    def _wanted(self) -> ServerLaunch | None:
        program = self.program()
        if program is None:
            self._context.degraded("ruff", say("ruff is not installed beside Headway: there are no diagnostics."))
            return None
        folders = [folder for folder in self._context.folders if folder.path is not None]
        return ruff.launch(
            program,
            roots=tuple(folder.uri for folder in folders),
            cwd=working_directory(self._context),
            env=clean_environment(),
            encoding=self._encoding,
        )

    def program(self) -> str | None:
        program = self._context.settings.ruff.path or own_program("ruff")
        return os.fspath(program) if program is not None else None

    # ---- changes ----------------------------------------------------------------------------------------------------

    def document_opened(self, document: Document) -> None:
        self._keeper.begin(self._ruff_after_s)
        self.elsewhere.opened(document.uri)
        self._texts[identity(document.uri)] = _comparable(document)
        self._changed(document, at_once=True)

    def document_changed(self, document: Document) -> None:
        key, text = identity(document.uri), _comparable(document)
        before, self._texts[key] = self._texts.get(key, ""), text
        now_s = asyncio.get_running_loop().time()
        rest_s = self._context.settings.diagnostics.debounce_ms / 1000
        rested = key not in self._waiting and now_s >= self._stroke_s.get(key, -math.inf) + rest_s
        at_once = rested and _at_a_stroke(before, text)
        if at_once:
            self._stroke_s[key] = now_s
        self._changed(document, at_once=at_once)

    def document_closed(self, uri: str) -> None:
        key = identity(uri)
        self._texts.pop(key, None)
        self._stroke_s.pop(key, None)
        self._unseen.discard(key)
        self._found.pop(key, None)
        self.elsewhere.closed(uri)
        if self.types is not None:
            self.types.closed(key)
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            waiting.timer.cancel()
        self._clear(key)

    def notebook_changed(self, others: Sequence[Document]) -> None:
        for document in others:
            if self.types is not None:
                self.types.closed(identity(document.uri))
            self._changed(document)
        if self._context.client.pulls_diagnostics:
            # A client that pulls asks for the cell that was changed, and once it rests, for the others.
            if self._refresh is not None:
                self._refresh.cancel()
            quiet_s = self._context.settings.diagnostics.debounce_ms / 1000
            refresh = self._context.client.refresh_diagnostics
            self._refresh = asyncio.get_running_loop().call_later(quiet_s, refresh)

    def _look_again(self) -> None:
        for document in self._context.documents.snapshot().values():
            self._changed(document, at_once=True)
        self._context.client.refresh_diagnostics()

    def _changed(self, document: Document, *, at_once: bool = False) -> None:
        if self._context.client.pulls_diagnostics or document.language != "python":
            return
        loop = asyncio.get_running_loop()
        settings = self._context.settings.diagnostics
        key = identity(document.uri)
        now_s = loop.time()
        waiting = self._waiting.get(key)
        first_s = now_s if waiting is None else waiting.first_change_s
        if waiting is not None:
            waiting.timer.cancel()
        quiet_s = now_s if at_once else now_s + settings.debounce_ms / 1000
        due_s = min(quiet_s, first_s + settings.max_wait_ms / 1000)
        self._waiting[key] = _Waiting(first_s, loop.call_at(due_s, self._due, key))

    def _due(self, key: str) -> None:
        self._waiting.pop(key, None)
        document = self._context.documents.snapshot().get(key)
        if document is None:
            return
        if not self._context.settings.diagnostics.enabled:
            self._clear(key)
            return
        self._submit(key, document)

    def _submit(self, key: str, document: Document) -> Any:
        return self._context.scheduler.run(
            self._run,
            key,
            document,
            priority=Priority.NORMAL,
            name=f"diagnose {document.uri.rpartition('/')[2][:80]}",
            kind=TaskKind.COROUTINE,
            requirement=_COST,
            supersede_key=("diagnose", key),
            timeout=TimeoutPolicy(hard_s=self._run_limit_s + _READY_LIMIT_S),
        )

    async def _run(self, key: str, document: Document) -> list[Finding] | None:
        """Return the findings of a document, and show them where it is still the present one; None: not known."""
        found: list[Finding] | None = None
        try:
            found = await self._findings(document)
        finally:
            # Where it is no longer the present one, whoever looks at that tells.
            if self._context.documents.get(document.uri) is document:
                if found is None:
                    self._unseen.add(key)
                else:
                    self._unseen.discard(key)
                    self._found[key] = (document, found)
                    self._publish(key, document, found)
                    if self.types is not None:
                        self.types.look(document)
        return found

    def _types_found(self, document: Document) -> None:
        """Type errors of a present text are known: they are shown beside what ruff has found in it."""
        key = identity(document.uri)
        known = self._found.get(key)
        if self._context.client.pulls_diagnostics:
            self._context.client.refresh_diagnostics()
        elif known is not None and known[0] is document and self._context.settings.diagnostics.enabled:
            self._publish(key, document, known[1])

    def _engine_changed(self) -> None:
        """The engine is there, or away. What it could not look at when it went is looked at when it is back."""
        self._keeper.tell()
        if self.ruff.state is not EngineState.READY or not self._unseen:
            return
        unseen, self._unseen = self._unseen, set()
        documents = self._context.documents.snapshot()
        for document in [documents[key] for key in unseen if key in documents]:
            self._changed(document, at_once=True)
        if self._context.client.pulls_diagnostics:
            self._context.client.refresh_diagnostics()

    async def _findings(self, document: Document) -> list[Finding] | None:
        if len(document.content) > LONGEST_TEXT:
            return []
        loop = asyncio.get_running_loop()
        due_s = loop.time() + self._run_limit_s
        try:
            async with asyncio.timeout_at(due_s):
                for _ in range(_STALE_ANSWERS):
                    await self.ruff.ready()
                    try:
                        return await self._asked(document)
                    except EngineAnswerError as error:
                        if not error.stale:
                            raise
        except TimeoutError:
            if loop.time() > due_s + _STOOD_STILL_S:
                # The whole process was stopped, or the machine slept: nobody may have been slow.
                return await self._findings(document)
            _log.warning("no findings for %s within %.0f s", document.uri, self._run_limit_s)
            self._context.degraded(
                "ruff's answers",
                say(
                    "ruff gives no answer ({document} for {limit_s:g} s): there are no new diagnostics. Look whether a "
                    "configuration file holds it up that cannot be read, or restart.",
                    document=document.uri.rpartition("/")[2],
                    limit_s=self._run_limit_s,
                ),
            )
            if self.ruff.state is EngineState.READY and self._context.documents.get(document.uri) is document:
                self._changed(document)  # When ruff is not there, its coming will be told.
        except EngineError as error:
            _log.info("no findings for %s: %s", document.uri, error)
        return None

    async def _asked(self, document: Document) -> list[Finding]:
        # The server is given the newest texts; what it says must be about the one that is at hand.
        current = self._context.documents.get(document.uri)
        if current is not document:
            return []
        reply: Reply | None = self.ruff.diagnose(document)
        if reply is None:
            return []
        report = await reply
        self._context.degraded("ruff's answers", None)
        return findings(document, report, self.ruff.encoding)

    def _publish(self, key: str, document: Document, found: Sequence[Finding]) -> None:
        if self._context.client.pulls_diagnostics:
            return
        self._published[key] = document.uri
        self._context.client.publish(document.uri, document.version, self._all_of(document, found))

    def _all_of(self, document: Document, found: Sequence[Finding]) -> list[Finding]:
        return [*found, *(self.types.beside(document, found) if self.types is not None else ())]

    def _clear(self, key: str) -> None:
        uri = self._published.pop(key, None)
        if uri is not None:
            self._context.client.publish(uri, None, ())

    # ---- asked for --------------------------------------------------------------------------------------------------

    async def pull(self, uri: str, sent_for: Document | None = None) -> Sequence[Finding]:
        """Return the findings of an open document; empty where it is not open or is no Python.

        Args:
            sent_for: The text that they are about; None: the present one.

        Raises:
            RequestSupersededError: it was asked for again, or the text was changed before ruff could look at it.
            RequestCancelledError, RequestFailedError: see `jobs.value_of`.
        """
        document = sent_for or self._context.documents.get(uri)
        if document is None or document.language != "python" or not self._context.settings.diagnostics.enabled:
            return ()
        found: list[Finding] | None = await value_of(self._submit(identity(uri), document))
        if not found and self._context.documents.get(uri) is not document:
            raise RequestSupersededError("the text changed before its findings were known")
        return () if found is None else self._all_of(document, found)

    # ---- the whole workspace ----------------------------------------------------------------------------------------

    def submission(self, arguments: Mapping[str, Any], *, title: str | None, priority: Priority | None) -> Submission:
        """Describe an analysis of all files of the workspace, or of those that `paths` (globs) names."""
        read = Arguments(arguments, "arguments")
        read.only(("paths",))
        globs = read.texts("paths", most=1000)
        checked: list[int] = []
        job = Job(
            type="analysis",
            title=title or say("Analyze workspace"),
            tasks=self.elsewhere.analysis(self.program(), globs, checked),
            priority=Priority.BATCH if priority is None else priority,
        )
        return Submission(job=job, result=lambda outcome: analysis_result(outcome, checked))


def _comparable(document: Document) -> str:
    """Return a document's text; nothing where it is too long for findings, since joining it takes longer than a key."""
    return document.text if len(document.content) <= LONGEST_TEXT else ""


def _at_a_stroke(before: str, after: str) -> bool:
    """Whether a change is more than a letter that was typed or taken back."""
    start, tail = common_ends(before, after)
    return max(len(before), len(after)) - start - tail > 1
