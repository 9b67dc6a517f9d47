"""The one mutable root: what the client has told us, the rooms that act on it, and the jobs that it asks for.

Everything here runs on the event loop and returns at once; what takes longer is a job. Knows no LSP and no JSON-RPC.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.session.ports import (
    ClientPort,
    FileChange,
    Folder,
    InvalidArgumentError,
    JobSource,
    MessageLevel,
    Room,
    Submission,
    Submitted,
)
from headway.session.submitting import Submitting
from headway.settings import Problem, Settings, read
from headway.wording import joined, say
from headway.workspace.documents import Document, Documents
from headway.workspace.text import Text

if TYPE_CHECKING:
    from headway.scheduler import Priority, Scheduler

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """What a session starts with. `settings_tree` is the client's JSON, or None."""

    cache_dir: Path
    folders: tuple[Folder, ...] = ()
    settings_tree: object = None
    trusted: bool = False
    probes: bool = False


class Session:
    """See the module. It is the `SessionContext` of its rooms.

    Args:
        scheduler: Runs the jobs; started and closed by the caller. None where it follows by `schedule_with`, so that
            what needs none can begin before the scheduler is imported.
        client: What may be asked of the client.
        options: What it starts with.
        on_trouble: Called when `trouble` has changed.
    """

    scheduler: Scheduler

    def __init__(
        self,
        *,
        scheduler: Scheduler | None = None,
        client: ClientPort,
        options: SessionOptions,
        on_trouble: Callable[[], None] = lambda: None,
    ) -> None:
        self._held: list[Callable[[], None]] | None = []  # what waits for a scheduler; None when there is one
        if scheduler is not None:
            self.schedule_with(scheduler)
            self._held = None
        self.client = client
        self.cache_dir = options.cache_dir
        self.documents = Documents()
        self.folders = options.folders
        self.trusted = options.trusted
        self.started = False
        self.rooms: list[Room] = []
        self.job_sources: dict[str, JobSource] = {}
        # What the index holds, for snapshots; the room that keeps the index puts itself here.
        self.index_info: Callable[[], Mapping[str, Any]] = _no_index
        # What rooms measure beside the scheduler, as Prometheus text.
        self.more_metrics: Callable[[], str] = str
        self._on_trouble = on_trouble
        self._submitting = Submitting(self._enter)
        self._troubles: dict[str, str] = {}
        self._told: set[Problem] = set()
        self._changed: dict[str, Document] = {}  # by URI: what the rooms have not been told of yet
        self._given, self._problems = read(options.settings_tree, base=Settings(), in_force=Settings())
        self.settings = self._allowed()
        self.probes = options.probes

    # -- life ---------------------------------------------------------------------------------------------------------

    def schedule_with(self, scheduler: Scheduler) -> None:
        """Submit jobs here from now on. To be called once, before anything but `PythonEngine` is built."""
        self.scheduler = scheduler

    def when_scheduled(self, call: Callable[[], None]) -> None:
        """Call something that submits jobs: at once, or where a start is not so far when it is."""
        if self._held is None:
            call()
        else:
            self._held.append(call)

    def begin(self) -> None:
        """The client is ready and may be told things; its rooms are started next."""
        self.started = True
        held, self._held = self._held or (), None
        for call in held:
            call()
        self._tell_problems()

    async def close(self) -> None:
        """End every room, the last one first."""
        for room in reversed(self.rooms):
            await room.close()

    # -- what is off --------------------------------------------------------------------------------------------------

    @property
    def trouble(self) -> str | None:
        """What is off and what to do about it, in one line for each; None where all is well."""
        return joined("\n", self._troubles.values()) or None

    def degraded(self, source: str, message: str | None) -> None:
        """Note that something of `source` is off, or with None that it is well again."""
        if self._troubles.get(source) == message:
            return
        if message is None:
            del self._troubles[source]
        else:
            _log.warning("%s: %s", source, message)
            self._troubles[source] = message
        self._on_trouble()

    # -- settings, trust, folders -------------------------------------------------------------------------------------

    def configure(self, tree: object, *, whole: bool) -> None:
        """Take settings from the client; what is wrong is told once, and what was in force there stays.

        Args:
            tree: What stands under `headway`; None changes nothing.
            whole: Whether a missing key means its default (a pull) or no change (a partial push).
        """
        if tree is None:
            return
        self._given, self._problems = read(tree, base=Settings() if whole else self._given, in_force=self._given)
        self._apply_settings()
        if self.started:
            self._tell_problems()

    def grant_trust(self) -> None:
        """The person trusts the workspace now; what was off starts."""
        if self.trusted:
            return
        self.trusted = True
        self._apply_settings()
        for room in self.rooms:
            room.trust_granted()

    def change_folders(self, *, added: Sequence[Folder], removed: Sequence[str]) -> None:
        """Roots were added, and others (by URI) removed."""
        gone = set(removed)
        kept = [folder for folder in self.folders if folder.uri not in gone]
        known = {folder.uri for folder in kept}
        self.folders = (*kept, *(folder for folder in added if folder.uri not in known))
        for room in self.rooms:
            room.folders_changed()

    def _allowed(self) -> Settings:
        return self._given if self.trusted else self._given.without_programs()

    def _apply_settings(self) -> None:
        previous, self.settings = self.settings, self._allowed()
        if previous != self.settings:
            for room in self.rooms:
                room.settings_changed(previous)

    def _tell_problems(self) -> None:
        new = [problem for problem in self._problems if problem not in self._told]
        self._told = set(self._problems)
        if new:
            listed = "; ".join(str(problem) for problem in new)
            self.client.show(
                MessageLevel.WARNING, say("Settings that Headway does not take: {problems}", problems=listed)
            )

    async def clear_cache(self) -> None:
        """Forget everything that can be found out anew."""
        for room in self.rooms:
            await room.clear_cache()

    # -- documents ----------------------------------------------------------------------------------------------------

    def open_document(self, document: Document) -> None:
        """The editor holds this document now."""
        self.settle()
        self.documents.open(document)
        for room in self.rooms:
            room.document_opened(document)

    def change_document(self, uri: str, version: int, content: Text) -> None:
        """An open document has a new text; one that is not open is none of our business.

        The rooms are told with the next turn of the loop, or with what is asked before it: of many keys at once only
        the last one's text is worth their while.
        """
        known = self.documents.get(uri)
        if known is None:
            _log.warning("a change of %s, which is not open, was ignored", uri)
            return
        document = Document(uri=known.uri, language=known.language, version=version, text=content)
        self.documents.open(document)
        if not self._changed:
            asyncio.get_running_loop().call_soon(self.settle)
        self._changed[document.uri] = document

    def settle(self) -> None:
        """Tell the rooms of changed documents now; whoever asks something is to be answered from the newest text."""
        while self._changed:
            changed, self._changed = self._changed, {}
            for document in changed.values():
                for room in self.rooms:
                    room.document_changed(document)

    def save_document(self, uri: str) -> None:
        """The editor has written a document to disk."""
        self.settle()
        document = self.documents.get(uri)
        if document is not None:
            for room in self.rooms:
                room.document_saved(document)

    def close_document(self, uri: str) -> None:
        """The editor no longer holds the document."""
        self.settle()
        document = self.documents.close(uri)
        if document is not None:
            for room in self.rooms:
                room.document_closed(document.uri)

    def change_files(self, changes: Sequence[FileChange]) -> None:
        """Files changed on disk."""
        self.settle()
        if changes:
            for room in self.rooms:
                room.files_changed(changes)

    # -- jobs that the client asks for --------------------------------------------------------------------------------

    def submit(
        self,
        job_type: str,
        arguments: Mapping[str, Any],
        *,
        title: str | None = None,
        priority: Priority | None = None,
    ) -> Submitted | asyncio.Future[Submitted]:
        """Submit a job for the client; see `Submitting.take`.

        Raises:
            InvalidArgumentError: The type is not known here, or its arguments are wrong.
            SubmissionError: The scheduler refuses it.
        """
        source = self.job_sources.get(job_type)
        if source is None:
            known = ", ".join(sorted(self.job_sources))
            hint = "; probes need --enable-probes on the server's command line" if job_type == "probe" else ""
            raise InvalidArgumentError("type", f"must be one of {known}, not {job_type[:60]!r}{hint}")
        return self._submitting.take(source.submission(arguments, title=title, priority=priority))

    def _enter(self, submission: Submission) -> Submitted:
        return Submitted(handle=self.scheduler.submit(submission.job), submission=submission)


def _no_index() -> Mapping[str, Any]:
    return {"files": 0, "symbols": 0, "chunks": 0, "bytes": 0, "state": "off", "skipped": {}}
