"""The index of one workspace folder: one thing after another, each as a job, until what is indexed is what is there.

Opened and loaded at NORMAL, compared with the disk and brought up to date at BATCH; open documents at NORMAL. At any
moment at most one of its jobs for files on disk is in flight, so it never races itself. A job that ends, a change on
disk, a new setting: each only leads to `_next`, which looks at what is wanted and does the most basic thing first.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from headway.scheduler import current_step
from headway.scheduler.executors.children import PriorityClass, ProgramMissingError, clean_environment, run
from headway.scheduler.model import (
    Job,
    JobOutcome,
    JobState,
    OnStepFailure,
    Priority,
    Requirement,
    Step,
    StepKind,
    Task,
)
from headway.session.index_work import Work, WorkList, work_of
from headway.session.ports import Folder, SessionContext
from headway.workspace import indexer, listing, planning
from headway.workspace.documents import Document
from headway.workspace.index import language_of
from headway.workspace.indexer import Indexed, Loaded
from headway.workspace.opened import FolderSpec, Trouble
from headway.workspace.placing import Placed, remove_temporary
from headway.workspace.planning import Plan
from headway.workspace.segments import Segment
from headway.workspace.store import StoreStats
from headway.workspace.symbols import SymbolTable
from headway.workspace.uris import path_identity
from headway.workspace.watcher import MANY_PATHS, Changes

_log = logging.getLogger(__name__)

_COST: Final = Requirement(cpu_cores=1.0, memory_mb=300)
_LIGHT: Final = Requirement(cpu_cores=0.1, memory_mb=16)
_STEP_LIMIT_S: Final = 60.0
_GIT_LIMIT_S: Final = 20.0
_LOADED_SYMBOLS: Final = 20_000
_MOST_SEGMENTS: Final = 16
_WINDOW: Final = 6
_VISIBLE_FROM_FILES: Final = 20
_MOST_REOPENINGS: Final = 3
_BUSY_DELAYS_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
_MOST_FOREIGN: Final = 10_000
# A change of one of these changes which files belong to the workspace.
_RULES: Final = (".gitignore", ".gitmodules", ".git/info/exclude")


class FolderIndex:
    """See the module.

    Args:
        folder: As the client named it.
        root: Its absolute path.
        options: What is left out.
        changed: Called when symbols, state or figures have changed.
    """

    def __init__(
        self,
        context: SessionContext,
        folder: Folder,
        root: str,
        options: listing.ListingOptions,
        changed: Callable[[], None],
    ) -> None:
        self.folder = folder
        self.root = root
        self.table = SymbolTable(root)
        self.stats = StoreStats(files=0, symbols=0, chunks=0, size_bytes=0, skipped={})
        self.total = 0  # files that belong to the index, once they were listed
        self.left = 0  # of those, not yet brought up to date
        self.listing_skipped: Mapping[str, int] = {}
        self.message: str | None = None  # what is off, and what to do about it
        self._context = context
        self._options = options
        self._changed = changed
        self._spec: FolderSpec | None = None
        self._temporary: str | None = None
        self._is_off = False  # no place can be written, or the index kept breaking
        self._listed = False
        self._scan_wanted = True
        self._clear_wanted = False
        self._plan: Plan | None = None
        self._suspects: set[str] = set()
        self._foreign: set[str] = set()
        self._changes = Changes()
        self._timer: asyncio.TimerHandle | None = None
        self._job_id: str | None = None
        self._busy = False
        self._idle_waiters: list[asyncio.Future[None]] = []
        self._closed = False
        self._reopenings = 0
        self._stopped = False  # by a person, who cancelled the job
        self._serial = 0

    # ---- what it says of itself -------------------------------------------------------------------------------------

    @property
    def is_complete(self) -> bool:
        """Whether all that is known of the disk is indexed."""
        if self._is_off:
            return True
        settled = self._listed and not (self._busy or self._scan_wanted or self._clear_wanted or self._plan)
        return settled and not self._changes and not self._suspects and not self._stopped

    @property
    def coverage(self) -> float:
        """The share of the files that is up to date, 0 to 1."""
        if self.is_complete:
            return 1.0
        if not self._listed or not self.total:
            return 0.0
        return max(0.0, min(0.999, 1 - self.left / self.total))

    @property
    def database(self) -> str | None:
        """Path of the index, once it is there."""
        return self._spec.database if self._spec is not None else None

    @property
    def skipped(self) -> dict[str, int]:
        """How many files were passed over, by reason."""
        merged = dict(self.listing_skipped)
        for reason, count in self.stats.skipped.items():
            merged[reason] = merged.get(reason, 0) + count
        return merged

    # ---- what happens to it -----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin."""
        self._next()

    def close(self) -> None:
        """End; jobs in flight are cancelled and what is temporary is removed."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        if self._job_id is not None:
            self._context.scheduler.cancel(self._job_id, "the folder was closed")
        if self._temporary is not None:
            remove_temporary(self._temporary)

    def configure(self, options: listing.ListingOptions) -> None:
        """Other files may belong to the index now."""
        if options == self._options:
            return
        self._options = options
        if self._spec is not None:
            self._spec = FolderSpec(root=self.root, database=self._spec.database, options=options)
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
        self._clear_wanted = True
        if self._job_id is not None:
            self._context.scheduler.cancel(self._job_id, "the index was cleared")
        self._next()

    def relative(self, path: str) -> str | None:
        """Return a path relative to the folder with slashes, None where it does not lie in it; "" is the folder."""
        inner = os.path.normpath(path)
        if inner == os.path.normpath(self.root):
            return ""
        prefix = os.path.join(os.path.normpath(self.root), "")
        return inner[len(prefix) :].replace(os.sep, "/") if inner.startswith(prefix) else None

    def disk_changed(self, path: str) -> None:
        """Something happened to a file or folder below this one."""
        inner = self.relative(path)
        if inner is None or self._is_off:
            return
        if inner in _RULES or PurePosixPath(inner).name == ".gitignore":
            self._foreign.clear()
            self._scan_wanted = True
        elif inner in self._foreign or listing.is_in_foreign_folder(inner):
            return
        self._changes.add([inner], self._now_s())
        self._arm()

    def document_changed(self, document: Document, path: str) -> None:
        """The editor holds another text of a file; to be called when it has come to rest."""
        inner = self.relative(path)
        if inner is None or self._spec is None or self._is_off or language_of(inner) is None:
            return
        too_large = len(document.content) > self._spec.options.read.max_bytes
        task, _ = self._asking(
            f"index {inner} as it is edited",
            indexer.skip_files if too_large else indexer.index_open_text,
            *((self._spec, inner, "tooLarge") if too_large else (self._spec, inner, document.text, document.language)),
            take=lambda value: self._took_text(inner, value),
        )
        self._context.scheduler.submit(
            Job(
                type="index",
                title=f"Index {inner}",
                tasks=(task,),
                priority=Priority.NORMAL,
                visible=False,
                supersede_key=("index", document.uri),
            )
        )

    def document_closed(self, path: str) -> None:
        """The text on disk counts again."""
        inner = self.relative(path)
        if inner is not None:
            self._changes.add([inner], self._now_s())
            self._arm()

    def _took_text(self, inner: str, value: Any) -> None:
        if isinstance(value, Indexed) and not self._closed and value.trouble is None:
            self._adopt(value)
            if value.unknown and inner not in self._foreign and self.is_complete:
                self._suspects.add(inner)  # New, or not ours: a listing says which.
                self._scan_wanted = True
                self._next()

    # ---- one thing after another ------------------------------------------------------------------------------------

    def _next(self) -> None:
        if self._busy or self._closed or self._is_off:
            return
        if self._spec is None:
            self._submit(self._opening(), f"Open the index of {self.folder.name}", Priority.NORMAL)
        elif self._clear_wanted:
            self._submit(self._clearing(self._spec), f"Clear the index of {self.folder.name}", Priority.NORMAL)
        elif self._stopped:
            return
        elif self._plan is not None:
            plan, self._plan = self._plan, None
            visible = plan.file_count >= _VISIBLE_FROM_FILES
            self._submit(self._working(plan), self.title, Priority.BATCH, visible=visible, total=plan.file_count)
        elif self._scan_wanted or (self._suspects and not self._changes):
            self._submit(self._scanning(), f"List {self.folder.name}", Priority.BATCH)
        elif self._are_changes_due():
            self._look_at(self._changes.take())
        else:
            self._arm()

    @property
    def title(self) -> str:
        """What the job is called that brings this folder's index up to date."""
        return f"Index {self.folder.name}"

    def _look_at(self, paths: Sequence[str]) -> None:
        held = {inner for inner in paths if self._document(inner) is not None}
        paths = [inner for inner in paths if inner not in held]
        if len(paths) > MANY_PATHS or "" in paths:
            self.rescan([inner for inner in paths if inner])
        elif paths:
            self._submit(self._refreshing(paths), f"Index changes in {self.folder.name}", Priority.BATCH)
        else:
            self._next()

    def _submit(
        self,
        source: AsyncIterator[Task],
        title: str,
        priority: Priority,
        *,
        visible: bool = False,
        total: int | None = None,
    ) -> None:
        self._busy = True
        job = Job(
            type="index",
            title=title,
            tasks=source,
            priority=priority,
            visible=visible,
            total=total or None,
            window=_WINDOW,
        )
        handle = self._context.scheduler.submit(job)
        self._job_id = handle.job_id
        handle.add_done_callback(self._job_ended)
        self._changed()

    def _job_ended(self, outcome: JobOutcome) -> None:
        self._job_id = None
        if outcome.state is JobState.CANCELLED and not self._clear_wanted:
            self._stopped = True  # Whoever stopped it wants quiet; a change or a wish starts it again.
        elif outcome.state is JobState.FAILED:
            _log.error("%s failed: %s", self.title, outcome.error.message if outcome.error else "unknown")
            self._stopped = True
        self._release()

    def _release(self) -> None:
        self._busy = False
        while self._idle_waiters:
            waiter = self._idle_waiters.pop(0)
            if not waiter.done():
                waiter.set_result(None)
                self._changed()
                return
        self._next()
        self._changed()

    # ---- jobs -------------------------------------------------------------------------------------------------------

    def _asking(
        self,
        name: str,
        call: Callable[..., Any],
        *args: Any,
        kind: StepKind = StepKind.PROCESS,
        take: Callable[[Any], None] | None = None,
        weight: float = 0.0,
    ) -> tuple[Task, asyncio.Future[Any]]:
        """Return a task and the future of what its call gives: None where it failed, was too slow, or its process died.

        `take` is called with the same, on the loop.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def adopt() -> None:
            value = current_step().previous.get("work")
            if take is not None:
                take(value)
            if not answer.done():
                answer.set_result(value)

        self._serial += 1
        task = Task(
            name=f"{name} #{self._serial}" if weight == 0.0 else name,
            steps=(
                Step(
                    name="work",
                    call=call,
                    args=args,
                    kind=kind,
                    timeout_s=_STEP_LIMIT_S,
                    on_failure=OnStepFailure.SKIP,
                ),
                Step(name="adopt", call=adopt, kind=StepKind.SYNC),
            ),
            requirement=_COST if kind is StepKind.PROCESS else _LIGHT,
            weight=weight,
        )
        return task, answer

    async def _opening(self) -> AsyncIterator[Task]:
        task, answer = self._asking(
            f"open the index of {self.folder.name}", indexer.open_place, str(self._context.cache_dir), self.root
        )
        yield task
        placed = await answer
        if not isinstance(placed, Placed) or placed.path is None:
            self._is_off = True
            self._say(placed.message if isinstance(placed, Placed) else "The index could not be opened; see the log.")
            return
        self._temporary = placed.temporary
        self._say(placed.message)
        if placed.rebuilt is not None:
            _log.warning("the index of %s is made anew: %s", self.root, placed.rebuilt)
        self._spec = FolderSpec(root=self.root, database=placed.path, options=self._options)
        self._scan_wanted = True
        async for task in self._loading(self._spec, repacked=False):
            yield task

    async def _loading(self, spec: FolderSpec, *, repacked: bool) -> AsyncIterator[Task]:
        after = 0
        while self._spec is spec:
            task, answer = self._asking("load the index", indexer.load, spec, after, _LOADED_SYMBOLS)
            yield task
            loaded = await answer
            if not isinstance(loaded, Loaded) or loaded.trouble is not None:
                if isinstance(loaded, Loaded) and loaded.trouble is not None:
                    self._reopen(loaded.trouble, loaded.reason)
                return
            if loaded.segment is None:
                break
            self.table.adopt(Segment.unpack(loaded.segment), repacked=repacked)
            after = loaded.last_file_id
            self._changed()
        task, answer = self._asking("measure the index", indexer.measure, spec)
        yield task
        stats = await answer
        if isinstance(stats, StoreStats):
            self.stats = stats
            self._changed()

    async def _clearing(self, spec: FolderSpec) -> AsyncIterator[Task]:
        task, answer = self._asking(f"clear the index of {self.folder.name}", indexer.clear, spec)
        yield task
        trouble: Trouble | None = await answer
        self._clear_wanted = False
        self.table.clear()
        self.stats = StoreStats(files=0, symbols=0, chunks=0, size_bytes=0, skipped={})
        self._plan = None
        self._scan_wanted = True
        self._listed = False
        if trouble is not None:
            self._reopen(trouble, "it could not be cleared")

    async def _scanning(self, globs: Sequence[str] = ()) -> AsyncIterator[Task]:
        spec = self._spec
        if spec is None:
            return
        self._scan_wanted = False
        self._suspects.update(path for path in self._changes.take() if path)
        suspects = tuple(self._suspects)
        self._suspects.clear()
        task, answer = self._asking(f"list {self.folder.name}", self._git_lists, kind=StepKind.ASYNC)
        yield task
        lists = await answer
        opened = tuple(self._open_paths())
        task, answer = self._asking(
            f"compare {self.folder.name}", planning.plan, spec, lists, opened, suspects, tuple(globs)
        )
        yield task
        plan = await answer
        if not isinstance(plan, Plan):
            self._stopped = True
            self._say(f"{self.folder.name} could not be listed; see the log.")
        elif plan.trouble is not None:
            self._reopen(plan.trouble, plan.reason)
        else:
            self._adopt_plan(plan, suspects)

    def _adopt_plan(self, plan: Plan, suspects: Sequence[str]) -> None:
        self._listed = True
        self.total = plan.total
        self.left = plan.file_count
        self.listing_skipped = plan.skipped
        self.table.remove(plan.forgotten_ids, plan.stamp)
        planned = {path for batch in plan.batches for path in batch.split("\0")} if suspects else set()
        if len(self._foreign) < _MOST_FOREIGN:
            # What was said to have changed and is not planned is ignored, or in no language of ours.
            self._foreign.update(path for path in suspects if path and path not in planned)
        self._plan = plan if plan.file_count else None
        self._changed()

    async def _git_lists(self) -> Mapping[str, bytes] | None:
        """Return git's lists of the folder and of the repositories in it, None where git does not say."""
        folders = [os.fspath(f.path) for f in self._context.folders if f.path is not None]
        git = await asyncio.to_thread(listing.find_git, folders)
        if git is None:
            return None
        lists: dict[str, bytes] = {}
        waiting = [""]
        while waiting:
            inner = waiting.pop()
            raw = await self._git_list(git, os.path.join(self.root, inner) if inner else self.root)
            if raw is None:
                if not inner:
                    return None
                continue
            lists[inner] = raw
            nested = await asyncio.to_thread(listing.nested_repositories, os.path.join(self.root, inner), raw)
            waiting += [f"{inner}/{path}" if inner else path for path in nested if len(lists) < 500]
        if not lists[""] and not await asyncio.to_thread(os.path.lexists, os.path.join(self.root, ".git")):
            return None  # A repository around it ignores the whole folder: the person opened it all the same.
        return lists

    async def _git_list(self, git: str, cwd: str) -> bytes | None:
        try:
            done = await run(
                listing.git_arguments(git),
                cwd=cwd,
                env=listing.git_environment(clean_environment()),
                priority_class=PriorityClass.BACKGROUND,
                timeout_s=_GIT_LIMIT_S,
            )
        except (ProgramMissingError, OSError) as error:
            _log.info("git does not list %s: %s", cwd, error)
            return None
        if done.returncode != 0 or done.timed_out or done.truncated:
            _log.info("git does not list %s: %s", cwd, done.stderr[-300:].decode("utf-8", "replace").strip())
            return None
        return done.stdout

    async def _working(self, plan: Plan) -> AsyncIterator[Task]:
        spec = self._spec
        if spec is None:
            return
        work = WorkList(work_of(plan))
        while True:
            item = await work.take()
            if item is None:
                break
            take = functools.partial(self._took, work, item)
            task, _ = self._asking(item.name, item.call, spec, *item.args, take=take, weight=len(item.paths))
            yield task
            if self._spec is not spec:
                return
        self.left = 0
        if self.table.segment_count > _MOST_SEGMENTS:
            async for task in self._loading(spec, repacked=True):
                yield task

    def _took(self, work: WorkList, item: Work, value: Any) -> None:
        if not isinstance(value, Indexed):
            for path in work.failed(item):
                _log.warning("%s in %s could not be indexed and is left out until it changes", path, self.folder.name)
        elif value.trouble == "busy":
            work.again_later(item, _BUSY_DELAYS_S)
            self._say(
                f"Another program holds the lock of the index of {self.folder.name} ({value.reason}). "
                "Indexing goes on as soon as it lets go."
            )
            return
        elif value.trouble is not None:
            work.abandon()
            self._reopen(value.trouble, value.reason)
        else:
            work.succeeded(item)
            self._adopt(value)
            self.left = max(0, self.left - len(item.paths))
            for inner in item.paths:
                if (document := self._document(inner)) is not None:
                    self.document_changed(document, os.path.join(self.root, inner))

    async def _refreshing(self, paths: Sequence[str]) -> AsyncIterator[Task]:
        spec = self._spec
        if spec is None:
            return
        task, answer = self._asking(
            f"index {paths[0]}" + (f" (+{len(paths) - 1})" if len(paths) > 1 else ""),
            indexer.index_known_files,
            spec,
            "\0".join(paths),
        )
        yield task
        value = await answer
        if not isinstance(value, Indexed):
            self.rescan(paths)  # One by one, with whatever is wrong found out.
        elif value.trouble == "busy":
            self._changes.add(paths, self._now_s() + _BUSY_DELAYS_S[1])
        elif value.trouble is not None:
            self._reopen(value.trouble, value.reason)
        else:
            self._adopt(value)
            unknown = [path for path in value.unknown if path not in self._foreign]
            if unknown:
                self.rescan(unknown)

    async def run_now(self, globs: Sequence[str]) -> AsyncIterator[Task]:
        """Give the tasks of one comparison with the disk and of what follows from it, for a job that one asked for.

        Args:
            globs: Of files matching these (as in `.gitignore`) the content is read whatever their time and size.
        """
        while self._busy or self._spec is None:
            if self._is_off or self._closed:
                return
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle_waiters.append(waiter)
            if not self._busy:
                self._next()
            await waiter
        self._busy = True
        try:
            self._stopped = False
            async for task in self._scanning(globs):
                yield task
            plan, self._plan = self._plan, None
            if plan is not None:
                async for task in self._working(plan):
                    yield task
        finally:
            self._release()

    # ---- results ----------------------------------------------------------------------------------------------------

    def _adopt(self, value: Indexed) -> None:
        if value.segment is not None:
            self.table.adopt(Segment.unpack(value.segment))
        self.table.remove(value.gone_ids, value.stamp)
        if value.stats is not None:
            self.stats = value.stats
        for path, note in value.notes:
            _log.info("%s: %s", path, note)
        self._say(None)
        self._changed()

    def _reopen(self, trouble: Trouble, reason: str) -> None:
        """Find another place, or make the index anew: what is wrong with it decides when it is opened."""
        _log.warning("the index of %s is %s: %s", self.root, trouble, reason)
        self._reopenings += 1
        self._spec = None
        self._listed = False
        self._plan = None
        self._scan_wanted = True
        self.table.clear()
        if self._reopenings > _MOST_REOPENINGS:
            self._is_off = True
            self._say(f"The index of {self.folder.name} keeps breaking ({reason}). Clear the cache, or restart.")

    def _say(self, message: str | None) -> None:
        # A message about the place stays as long as the place does.
        if message is None and self._temporary is not None:
            return
        if message != self.message:
            self.message = message
            self._changed()

    # ---- small things -----------------------------------------------------------------------------------------------

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def _are_changes_due(self) -> bool:
        due_at_s = self._changes.due_at_s()
        return due_at_s is not None and due_at_s <= self._now_s()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due_at_s = self._changes.due_at_s()
        if due_at_s is not None and not self._closed:
            self._timer = asyncio.get_running_loop().call_at(due_at_s, self._timer_fired)

    def _timer_fired(self) -> None:
        self._timer = None
        self._stopped = False
        self._next()

    def _document(self, inner: str) -> Document | None:
        return self._context.documents.at_path(path_identity(os.path.join(self.root, inner)))

    def _open_paths(self) -> list[str]:
        inner = (self.relative(key) for key in self._context.documents.snapshot())
        return [path for path in inner if path]
