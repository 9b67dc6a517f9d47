"""The index of one workspace folder: one thing after another, each as a job, until what is indexed is what is there.

Opened, loaded, compared with the disk and brought up to date at BATCH; open documents at NORMAL. At any
moment at most one of its jobs for files on disk is in flight, so it never races itself. A job that ends, a change on
disk, a new setting: each only leads to `_next`, which looks at what is wanted and does the most basic thing first.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Final

from headway.scheduler.model import Job, JobOutcome, JobState, Priority, Task
from headway.session import folder_jobs
from headway.session.answers import Answers
from headway.session.disk_changes import DiskChanges
from headway.session.folder_contents import FolderContents
from headway.session.open_texts import OpenTexts
from headway.session.ports import Folder, SessionContext
from headway.session.setbacks import Setbacks
from headway.wording import say
from headway.workspace import glance, listing
from headway.workspace.documents import Document
from headway.workspace.indexer import Indexed
from headway.workspace.opened import FolderSpec, Trouble
from headway.workspace.placing import Placed, remove_temporary
from headway.workspace.planning import Plan
from headway.workspace.segments import Segment
from headway.workspace.store import StoreStats
from headway.workspace.watcher import MANY_PATHS

_log = logging.getLogger(__name__)

_WINDOW: Final = 6
_VISIBLE_FROM_FILES: Final = 20
_BUSY_DELAYS_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0)


class FolderIndex:
    """See the module. It is the `Owner` of its jobs.

    Args:
        folder: As the client named it; `name` is the same, or something longer where two have one name.
        root: Its absolute path.
        options: What is left out.
        changed: Called when symbols, state or figures have changed.
        index_document: Puts the text of an open document, and its path, into the index.
    """

    def __init__(
        self,
        context: SessionContext,
        answers: Answers,
        folder: Folder,
        name: str,
        root: str,
        options: listing.ListingOptions,
        changed: Callable[[], None],
        index_document: Callable[[Document, str], None],
    ) -> None:
        self.answers = answers
        self.folder = folder
        self.name = name
        self.root = root
        self.contents = FolderContents(root)
        self.setbacks = Setbacks(name, changed, self._next)
        self._context = context
        self._open = OpenTexts(context, root)
        self._options = options
        self._changed = changed
        self._index_document = index_document
        self.spec: FolderSpec | None = None  # once the index has a place
        self._temporary: str | None = None
        self._plan: Plan | None = None
        self._suspects: set[str] = set()  # their content is read at the next comparison, whatever their time
        self._changes = DiskChanges(self._changes_due)
        self._job_id: str | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._busy = False
        self._listed = False
        self._loaded = False
        self._scan_wanted = True
        self._clear_wanted = False
        self._stopped = False  # by a person, who cancelled the job; a change or a wish starts it again
        self._closed = False

    # ---- what it says of itself -------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What the job is called that brings the index up to date."""
        return say("Index {folders}", folders=self.name)

    @property
    def is_complete(self) -> bool:
        """Whether all that is known of the disk is indexed."""
        if self.setbacks.is_off:
            return True
        settled = self._listed and not (self._busy or self._scan_wanted or self._clear_wanted or self._plan)
        return settled and not self._changes and not self._suspects and not self._stopped

    @property
    def coverage(self) -> float:
        """The share of the files that is up to date, 0 to 1."""
        if self.is_complete:
            return 1.0
        return self.contents.share_done if self._listed else 0.0

    # ---- what happens to it -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """End; jobs in flight are cancelled and what is temporary is removed."""
        self._closed = True
        self._changes.close()
        self.setbacks.close()
        self._cancel("the folder was closed")
        if self.spec is not None and self._listed and self.setbacks.message is None:
            glance.left(self.spec)
        remove_temporary(self._temporary)

    def configure(self, options: listing.ListingOptions) -> None:
        """Other files may belong to the index now."""
        if options == self._options:
            return
        self._options = options
        if self.spec is not None:
            self.spec = FolderSpec(root=self.root, database=self.spec.database, options=options)
        self._changes.rules_changed()
        self.rescan()

    def rescan(self, suspects: Sequence[str] = ()) -> None:
        """Compare with the disk; of suspects ("" is everything) the content is read whatever their time and size."""
        self._stopped = False
        self._scan_wanted = True
        self._suspects.update(suspects)
        self._next()

    def clear(self) -> None:
        """Throw the index away and make it anew."""
        self._stopped = False
        self.setbacks.forget()
        self._clear_wanted = True
        self._cancel("the index was cleared")
        self._next()

    def relative(self, path: str) -> str | None:
        """See `uris.path_below`."""
        return self._open.relative(path)

    def disk_changed(self, path: str) -> None:
        """Something happened to a file or folder below this one."""
        inner = self.relative(path)
        if inner is None or self.setbacks.is_off:
            return
        if listing.decides_what_belongs(inner):
            self._changes.rules_changed()
            self._scan_wanted = True
        elif not self._changes.matters(inner):
            return
        self._changes.note([inner])

    def took_text(self, inner: str, value: Indexed | None) -> None:
        """The text that an editor holds was indexed; None: that failed, and the next edit tries again."""
        if value is None or self._closed or value.trouble is not None:
            return
        self._adopt(value)
        if value.unknown and self._changes.matters(inner) and self.is_complete:
            self.rescan([inner])  # a listing says whether it is new or not ours

    # ---- one thing after another ------------------------------------------------------------------------------------

    def _next(self) -> None:
        if self._busy or self._closed or self.setbacks.is_off or self.setbacks.holds:
            return
        spec, name = self.spec, self.name
        if spec is None and not self._stopped:
            cache_dir, avoid = str(self._context.cache_dir), self.setbacks.avoid
            source = folder_jobs.opening(self, cache_dir, self.root, name, avoid, self._workspace_folders())
            self._submit(source, f"Open the index of {name}")
        elif spec is None:
            return
        elif self._clear_wanted:
            self._submit(folder_jobs.clearing(self, spec, name), f"Clear the index of {name}")
        elif not self._loaded:
            self._loaded = self._scan_wanted = True
            self._submit(folder_jobs.loading(self, spec, name, repacked=False), f"Load the index of {name}")
        elif self._stopped:
            return
        elif self._plan is not None:
            plan, self._plan = self._plan, None
            self._submit(self._working(spec, plan), self.title, plan.file_count)
        elif self._scan_wanted or (self._suspects and not self._changes):
            self._submit(self._scanning(spec), f"List {name}")
        elif self.contents.is_scattered and not self._changes:
            source = folder_jobs.loading(self, spec, name, repacked=True)
            self._submit(source, f"Pack the index of {name}")
        elif self._changes.is_due:
            self._look_at(spec, self._changes.take())
        else:
            self._changes.arm()

    def _look_at(self, spec: FolderSpec, paths: Sequence[str]) -> None:
        paths = [inner for inner in paths if self._open.at(inner) is None]
        if len(paths) > MANY_PATHS or "" in paths:
            self.rescan([inner for inner in paths if inner])
        elif paths:
            source = folder_jobs.refreshing(self, spec, self.name, paths, lambda busy: self._not_refreshed(paths, busy))
            self._submit(source, f"Index changes in {self.name}")
        else:
            self._next()

    def _submit(self, source: AsyncIterator[Task], title: str, files: int = 0) -> None:
        self._busy = True
        job = Job(type="index", title=title, tasks=source, priority=Priority.BATCH, window=_WINDOW, total=files or None)
        handle = self._context.scheduler.submit(replace(job, visible=files >= _VISIBLE_FROM_FILES))
        self._job_id = handle.job_id
        handle.add_done_callback(self._job_ended)
        self._changed()

    def _cancel(self, reason: str) -> None:
        self._context.scheduler.cancel(self._job_id or "", reason)

    def _job_ended(self, outcome: JobOutcome) -> None:
        self._job_id = None
        self.contents.settled(is_complete=outcome.state is JobState.COMPLETED and self._plan is None)
        if outcome.state is JobState.FAILED:
            _log.error("%s: %s", self.title, outcome.error.message if outcome.error else "it failed")
        if outcome.state is not JobState.COMPLETED and not self._clear_wanted:
            self._stopped = self._scan_wanted = True
        self._release()

    def _release(self) -> None:
        self._busy = False
        while self._waiters:
            waiter = self._waiters.pop(0)
            if not waiter.done():
                waiter.set_result(None)
                break
        # Whoever was woken goes first; where it was ended meanwhile, nothing else may stand still for it.
        asyncio.get_running_loop().call_soon(self._next)
        self._changed()

    def _scanning(self, spec: FolderSpec, globs: Sequence[str] | None = None) -> AsyncIterator[Task]:
        self._scan_wanted = False
        suspects = {*self._suspects, *(path for path in self._changes.take() if path)}
        self._suspects.clear()
        thorough, seen, again = not self._listed, self.contents.seen_stamp, globs is not None and self.contents.lacks
        compared = folder_jobs.Comparison(tuple(suspects), tuple(globs or ()), thorough, seen, again)
        return folder_jobs.scanning(self, spec, self.name, self._workspace_folders(), self._open.paths, compared)

    def _working(self, spec: FolderSpec, plan: Plan) -> AsyncIterator[Task]:
        return folder_jobs.working(self, spec, self.name, plan, _BUSY_DELAYS_S, lambda: self.spec is spec)

    async def run_now(self, globs: Sequence[str], counted: Callable[[int], None]) -> AsyncIterator[Task]:
        """Give the tasks of one comparison with the disk and of what follows from it, for a job that was asked for.

        Args:
            globs: Of files matching these (as in `.gitignore`) the content is read whatever their time and size.
            counted: Called with how many files there are to index, when that is known.
        """
        while self._busy or self.spec is None:
            if self.setbacks.is_off or self._closed:
                return
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            self._next()
            await waiter
        self._busy = True
        try:
            self._stopped = False
            async for task in self._scanning(self.spec, globs):
                yield task
            plan, self._plan = self._plan, None
            counted(plan.file_count if plan is not None else 0)
            if plan is not None and self.spec is not None:
                async for task in self._working(self.spec, plan):
                    yield task
        finally:
            self._release()

    # ---- what came of it (Owner) ------------------------------------------------------------------------------------

    def placed(self, placed: Placed | None) -> None:
        if placed is None:
            self._try_again(say("The index could not be opened; the log says why. Clear the cache, or restart."))
            return
        if placed.path is None:
            return self.setbacks.turn_off(placed.message)
        remove_temporary(self._temporary)
        self._temporary = placed.temporary
        self.setbacks.stays = placed.temporary is not None
        self.setbacks.say(placed.message)
        if placed.rebuilt is not None:
            _log.warning("the index of %s is made anew: %s", self.root, placed.rebuilt)
        self.spec = FolderSpec(root=self.root, database=placed.path, options=self._options)
        self._open.real = placed.real or self.root
        self._loaded, self._scan_wanted = False, True
        self._take_open_texts()

    def loaded(self, segment: Segment, *, repacked: bool) -> None:
        self.contents.load(segment, repacked=repacked)
        self._changed()

    def measured(self, stats: StoreStats) -> None:
        self.contents.stats = stats
        self._changed()

    def cleared(self) -> None:
        self._clear_wanted = False
        self._forget()
        self._take_open_texts()

    def planned(self, plan: Plan | None, suspects: Sequence[str]) -> None:
        if plan is None:
            self._scan_wanted = True
            self._suspects.update(suspects)
            self._try_again(
                say("{folder} could not be listed; the log says why. Index it again, or restart.", folder=self.name)
            )
            return
        self.setbacks.succeeded()
        self._listed = True
        self.contents.plan(plan)
        self._changes.looked_at(suspects, plan.batches)
        self._plan = plan if plan.file_count else None
        self._changed()

    def indexed(self, paths: Sequence[str], result: Indexed) -> None:
        self._adopt(result)
        self.contents.left = max(0, self.contents.left - len(paths))
        for inner in paths:
            document = self._open.at(inner)
            if document is not None:  # It was opened meanwhile; its text counts.
                self._index_document(document, os.path.join(self.root, inner))
        unknown = [path for path in result.unknown if self._changes.matters(path)]
        if unknown:
            self._scan_wanted = True
            self._suspects.update(unknown)

    def to_be_packed(self) -> Sequence[int]:
        return self.contents.table.to_be_packed()

    def left_out(self, path: str) -> None:
        _log.warning("%s in %s could not be indexed: left out until it changes or is asked for", path, self.name)

    def waits(self, reason: str) -> None:
        self.setbacks.waits(reason)

    def broke(self, trouble: Trouble, reason: str) -> None:
        """Find another place, or make the index anew: what is wrong with it decides when it is opened."""
        if self.spec is None:
            return  # One of several steps that were under way together has said so.
        if trouble == "busy":
            self.waits(reason)
            self._scan_wanted = True
            self._try_again(self.setbacks.message or reason)
            return
        _log.warning("the index of %s is %s: %s", self.root, trouble, reason)
        self.spec = None
        self._forget()
        self.setbacks.broke(trouble, reason)

    def _try_again(self, message: str) -> None:
        if not self.setbacks.again(message):
            self._stopped = True

    def _not_refreshed(self, paths: Sequence[str], is_busy: bool) -> None:
        if is_busy:
            self._changes.note(paths, later_s=_BUSY_DELAYS_S[1])
        else:
            self._scan_wanted = True  # They are read again one by one, with whatever is wrong found out.
            self._suspects.update(paths)

    def _forget(self) -> None:
        self.contents.forget()
        self._plan = None
        self._listed = False
        self._scan_wanted = True
        self._changed()

    def _adopt(self, result: Indexed) -> None:
        self.contents.adopt(result)
        self.setbacks.say(None)
        self._changed()

    def _changes_due(self) -> None:
        self._stopped = False
        self._next()

    def _workspace_folders(self) -> list[str]:
        return [os.fspath(folder.path) for folder in self._context.folders if folder.path is not None]

    def _take_open_texts(self) -> None:
        """Index what the editor holds: a text that was never saved is nowhere else."""
        for document, path in self._open.all():
            self._index_document(document, path)
