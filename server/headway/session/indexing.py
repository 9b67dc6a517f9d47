"""The index of the workspace: a `FolderIndex` for each root, and what the session asks of all of them together.

Changes on disk, documents, settings and folders come in here and go to the roots that they concern. A file that lies in
two roots, one within the other, is indexed once, by the inner one.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, Literal

from headway.scheduler.model import Job, JobOutcome, Priority, Requirement, Task, TaskKind
from headway.session.answers import Answers
from headway.session.arguments import Arguments
from headway.session.edits import Edits
from headway.session.folder_index import FolderIndex
from headway.session.ports import FileChange, Room, SessionContext, Submission
from headway.settings import Settings
from headway.wording import joined, say
from headway.workspace.documents import Document
from headway.workspace.files import ReadOptions
from headway.workspace.listing import ListingOptions
from headway.workspace.opened import FolderSpec
from headway.workspace.symbols import IndexView

IndexState = Literal["indexing", "complete", "paused", "off"]

# Watchers lose events in bursts, and some clients have none; comparing costs little where nothing has changed.
_RESCAN_S: Final = 300.0
_RESCAN_UNWATCHED_S: Final = 30.0
# An editor opens what it shows right behind `initialized`.
_DOCUMENTS_COME_WITHIN_S: Final = 0.05
_NOTHING: Final = Requirement(cpu_cores=0.0, memory_mb=0.0)


class Indexing(Room):
    """Keeps the index true (the `JobSource` of "index").

    Args:
        on_change: Called when state or figures have changed, often; returns at once.
        first_scan_after_s: How long after its start it begins by itself where documents are open, whose first keys
            go first; what is asked for does not wait.
    """

    def __init__(
        self,
        context: SessionContext,
        on_change: Callable[[], None] = lambda: None,
        *,
        first_scan_after_s: float = 0.0,
    ) -> None:
        self.context = context
        self._on_change = on_change
        self._folders: dict[str, FolderIndex] = {}  # by root
        self._edits = Edits(context, self._folder_of)
        self._first_scan_after_s = first_scan_after_s
        self._first_scan: asyncio.TimerHandle | None = None  # until then
        self._rescan_timer: asyncio.TimerHandle | None = None
        self._begun = asyncio.Event()  # and what was announced is there
        self._started = False
        self._answers: Answers | None = None
        self._view: IndexView | None = None

    # ---- life -------------------------------------------------------------------------------------------------------

    def announce(self) -> None:
        if not self._wanted():
            return
        self.context.scheduler.submit(
            Job(
                type="index",
                title=say("Index {folders}", folders=", ".join(folder.name for folder in self._wanted().values())),
                tasks=(Task(name="begin", call=self._begun.wait, kind=TaskKind.COROUTINE, requirement=_NOTHING),),
                priority=Priority.BATCH,
                visible=False,
            )
        )

    async def start(self) -> None:
        self._started = True
        self._answers = Answers(self.context.scheduler)
        if self._first_scan_after_s:
            loop = asyncio.get_running_loop()
            self._first_scan = loop.call_later(_DOCUMENTS_COME_WITHIN_S, self._scan_unless_keys_may_come)
        else:
            self._begun.set()
        self.folders_changed()
        self._arm_rescan()

    async def close(self) -> None:
        self._started = False
        if self._first_scan is not None:
            self._first_scan.cancel()
        if self._rescan_timer is not None:
            self._rescan_timer.cancel()
        self._edits.close()
        for folder in self._folders.values():
            folder.close()
        self._folders.clear()
        if self._answers is not None:
            self._answers.close()

    def settings_changed(self, previous: Settings) -> None:
        if self.context.settings.index != previous.index:
            self.folders_changed()

    def folders_changed(self) -> None:
        if not self._started or self._answers is None:
            return
        wanted = self._wanted()
        names = Counter(folder.name for folder in wanted.values())
        for root in [root for root in self._folders if root not in wanted]:
            self._folders.pop(root).close()
        for root, folder in wanted.items():
            options = self._options(root, wanted)
            known = self._folders.get(root)
            if known is not None:
                known.configure(options)
            else:
                name = folder.name if names[folder.name] == 1 else root
                made = FolderIndex(
                    self.context, self._answers, folder, name, root, options, self._changed, self._edits.index
                )
                self._folders[root] = made
                if self._first_scan is None:
                    made.rescan()
        self._changed()

    def _scan_unless_keys_may_come(self) -> None:
        if len(self.context.documents):
            left_s = self._first_scan_after_s - _DOCUMENTS_COME_WITHIN_S
            self._first_scan = asyncio.get_running_loop().call_later(left_s, self._scan_first)
        else:
            self._scan_first()

    def _scan_first(self) -> None:
        self._first_scan = None
        self._begun.set()
        for folder in self._folders.values():
            folder.rescan()

    def _wanted(self) -> dict[str, Any]:
        if not self.context.settings.index.enabled:
            return {}
        return {os.path.normpath(folder.path): folder for folder in self.context.folders if folder.path is not None}

    @property
    def read_options(self) -> ReadOptions:
        """What of the workspace may be read."""
        settings = self.context.settings.index
        return ReadOptions(max_bytes=int(settings.max_file_size_kb * 1024), allowed_secrets=settings.allow_secrets)

    def _options(self, root: str, roots: Mapping[str, Any]) -> ListingOptions:
        inner = [os.path.relpath(other, root).replace(os.sep, "/") for other in roots if _lies_within(other, root)]
        return ListingOptions(
            read=self.read_options,
            exclude=(*self.context.settings.index.exclude, *(f"/{_escaped(path)}/" for path in inner)),
        )

    # ---- what happens -----------------------------------------------------------------------------------------------

    def document_opened(self, document: Document) -> None:
        self._edits.edited(document, at_once=True)

    def document_changed(self, document: Document) -> None:
        self._edits.edited(document)

    def document_closed(self, uri: str) -> None:
        self._edits.closed(uri)

    def files_changed(self, changes: Sequence[FileChange]) -> None:
        for change in changes:
            if change.path is not None and (folder := self._folder_of(os.fspath(change.path))) is not None:
                folder.disk_changed(os.fspath(change.path))

    def _folder_of(self, path: str) -> FolderIndex | None:
        """Return the innermost root that a path lies in."""
        inside = [folder for folder in self._folders.values() if folder.relative(path) is not None]
        return max(inside, key=lambda folder: len(folder.root), default=None)

    def _arm_rescan(self) -> None:
        delay_s = _RESCAN_S if self.context.client.watches_files else _RESCAN_UNWATCHED_S
        self._rescan_timer = asyncio.get_running_loop().call_later(delay_s, self._rescan)

    def _rescan(self) -> None:
        for folder in self._folders.values():
            if folder.is_complete:
                folder.rescan()
        self._arm_rescan()

    def _changed(self) -> None:
        self._view = None
        if not self._started:
            return
        self._edits.folder_changed()
        messages = dict.fromkeys(f.setbacks.message for f in self._folders.values() if f.setbacks.message)
        self.context.degraded("index", joined(" ", messages) or None)
        self._on_change()

    # ---- what is asked ----------------------------------------------------------------------------------------------

    @property
    def view(self) -> IndexView:
        """The symbols of all roots as they are now."""
        if self._view is None:
            self._view = IndexView(parts=tuple(part for f in self._folders.values() for part in f.contents.table.parts))
        return self._view

    @property
    def databases(self) -> Mapping[str, str]:
        """The path of the index of each root that has one by now."""
        return {folder.root: folder.spec.database for folder in self._folders.values() if folder.spec is not None}

    @property
    def specs(self) -> Sequence[tuple[str, FolderSpec]]:
        """Each root that has an index by now, with a name for people."""
        return [(folder.name, folder.spec) for folder in self._folders.values() if folder.spec is not None]

    @property
    def stamps(self) -> Mapping[str, int]:
        """The newest change of each root's index; equal ones mean equal indexes."""
        return {folder.root: folder.contents.seen_stamp for folder in self._folders.values()}

    @property
    def state(self) -> IndexState:
        """How the index stands."""
        folders = self._folders.values()
        if not self.context.settings.index.enabled or (folders and all(folder.setbacks.is_off for folder in folders)):
            return "off"
        if self._started and all(folder.is_complete for folder in folders):
            return "complete"
        paused = self.context.scheduler.snapshot().paused
        return "paused" if Priority.BATCH in paused else "indexing"

    @property
    def has_given_up(self) -> bool:
        """Whether the index of a root is off, or stands still until something changes."""
        return any(folder.setbacks.is_off or folder.setbacks.gave_up for folder in self._folders.values())

    @property
    def coverage(self) -> float:
        """The share of the files that is up to date, 0 to 1."""
        if not self._folders:
            return 1.0 if self._started else 0.0
        total = sum(max(1, folder.contents.total) for folder in self._folders.values())
        return sum(folder.coverage * max(1, folder.contents.total) for folder in self._folders.values()) / total

    def stats(self) -> dict[str, Any]:
        """Return what `headway/snapshot` says of the index."""
        folders = self._folders.values()
        skipped: dict[str, int] = {}
        for folder in folders:
            for reason, count in folder.contents.skipped.items():
                skipped[reason] = skipped.get(reason, 0) + count
        return {
            "files": sum(folder.contents.stats.files for folder in folders),
            "symbols": sum(folder.contents.stats.symbols for folder in folders),
            "chunks": sum(folder.contents.stats.chunks for folder in folders),
            "bytes": sum(folder.contents.stats.size_bytes for folder in folders),
            "state": self.state,
            "skipped": skipped,
        }

    def reindex(self) -> None:
        """Read every file again, whatever its time and size."""
        for folder in self._folders.values():
            folder.rescan([""])

    async def clear_cache(self) -> None:
        """Throw the indexes away and make them anew."""
        for folder in self._folders.values():
            folder.clear()

    def submission(self, arguments: Mapping[str, Any], *, title: str | None, priority: Priority | None) -> Submission:
        """Describe a job that compares the workspace with the disk and indexes what differs.

        Args:
            arguments: `paths`, globs of files that are read again whatever their time and size.
        """
        read = Arguments(arguments, "arguments")
        read.only(("paths",))
        globs = read.texts("paths", most=1000)
        names = ", ".join(folder.folder.name for folder in self._folders.values())
        job_id = f"index-{uuid.uuid4().hex}"
        job = Job(
            job_id=job_id,
            type="index",
            title=title
            or say("Index {folders}", folders=names or say("nothing: no folder is open, or the index is off")),
            tasks=self._tasks(globs, job_id),
            priority=Priority.BATCH if priority is None else priority,
            window=4,
        )
        return Submission(job=job, result=self._result)

    async def _tasks(self, globs: Sequence[str], job_id: str) -> AsyncIterator[Task]:
        folders = tuple(self._folders.values())
        counts: list[int] = []

        def counted(files: int) -> None:
            counts.append(files)
            if len(counts) == len(folders):  # Not before: what is done of the whole must never fall.
                self.context.scheduler.expect(job_id, sum(counts))

        for folder in folders:
            async for task in folder.run_now(globs, counted):
                yield task

    def _result(self, outcome: JobOutcome) -> Mapping[str, Any]:
        figures = self.stats()
        return {"files": figures["files"], "symbols": figures["symbols"], "skipped": figures["skipped"]}


def _lies_within(path: str, root: str) -> bool:
    return path != root and path.startswith(os.path.join(root, ""))


def _escaped(path: str) -> str:
    """Return a glob that means just this path."""
    return "".join(f"\\{c}" if c in "*?[]\\!#" else c for c in path)
