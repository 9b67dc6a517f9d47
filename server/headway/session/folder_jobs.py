"""What the jobs of a folder's index are made of: tasks, one after another, and what is told of their results.

Each source here is the `tasks` of a job: it gives a task, waits for what becomes of it, and tells its `Owner`. A task
that fails, is too slow, or whose process dies has no value; the source decides what that means.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from headway.scheduler.model import StepKind, Task
from headway.session.answers import Answers
from headway.session.folder_contents import LOADED_WEIGHT, FolderContents
from headway.session.git_lists import git_lists
from headway.session.index_work import Work, WorkList, work_of
from headway.workspace import glance, indexer, planning
from headway.workspace.indexer import Indexed, Loaded
from headway.workspace.opened import FolderSpec, Trouble
from headway.workspace.placing import Placed
from headway.workspace.planning import Plan
from headway.workspace.segments import Segment
from headway.workspace.store import StoreStats

_Value = TypeVar("_Value")

# What has no value is tried again at once: mostly it was its process that died, and not of this.
_TRIES: Final = ("", ", again", ", once more")
# After so many files the stored index is put in order; that is given up after so many steps, until the next time.
_TIDY_FROM_FILES: Final = 100
_MOST_TIDYING: Final = 500


class Owner(Protocol):
    """Who is told what came of the tasks; on the loop."""

    @property
    def answers(self) -> Answers: ...

    @property
    def contents(self) -> FolderContents: ...

    def placed(self, placed: Placed | None) -> None:
        """The index has a place; None: it could not be opened."""

    def loaded(self, segment: Segment, *, repacked: bool) -> None:
        """A part of the stored index is here."""

    def measured(self, stats: StoreStats) -> None:
        """The size of the stored index."""

    def cleared(self) -> None:
        """The index is empty."""

    def planned(self, plan: Plan | None, suspects: Sequence[str]) -> None:
        """The folder was compared with the index; None: it could not be."""

    def indexed(self, paths: Sequence[str], result: Indexed) -> None:
        """Some files are indexed, or forgotten."""

    def to_be_packed(self) -> Sequence[int]:
        """Numbers of files whose symbols lie in too many pieces; none where all is well."""

    def left_out(self, path: str) -> None:
        """A file was given up."""

    def waits(self, reason: str) -> None:
        """Somebody else holds the lock of the index."""

    def broke(self, trouble: Trouble, reason: str) -> None:
        """The index cannot be used as it is."""


class _Tries(Generic[_Value]):
    """A call in a worker that is made again where it has no value, a few times; then `value` is what it gave, or None.

    Args:
        first: Tried before all that, in a thread, with the same arguments: it gives the value or None.
    """

    def __init__(
        self,
        answers: Answers,
        name: str,
        call: Callable[..., _Value | None],
        *args: Any,
        first: Callable[..., _Value | None] | None = None,
    ) -> None:
        self.value: _Value | None = None
        self._answers = answers
        self._name = name
        self._call = call
        self._args = args
        self._first = first

    async def tasks(self) -> AsyncIterator[Task]:
        """Give the task of each try."""
        tries = [(again, self._call, StepKind.PROCESS) for again in _TRIES]
        if self._first is not None:
            tries.insert(0, (" at a glance", self._first, StepKind.THREAD))
        for again, call, kind in tries:
            task, answer = self._answers.asking(f"{self._name}{again}", call, *self._args, kind=kind)
            yield task
            self.value = await answer
            if self.value is not None:
                return


async def opening(
    owner: Owner, cache_dir: str, root: str, name: str, avoid: str, folders: Sequence[str]
) -> AsyncIterator[Task]:
    """Find a place for the index, while git lists the folder.

    Args:
        avoid: Why the usual place is not to be used.
        folders: All folders of the workspace.
    """
    task, owner.contents.git_lists = _listing(owner, root, name, folders)
    yield task
    tries = _Tries[Placed](
        owner.answers,
        f"open the index of {name}",
        indexer.open_place,
        *(cache_dir, root, os.getpid(), avoid),
        first=glance.opened,
    )
    async for task in tries.tasks():
        yield task
    owner.placed(tries.value)


def _listing(
    owner: Owner, root: str, name: str, folders: Sequence[str]
) -> tuple[Task, asyncio.Future[Mapping[str, bytes] | None]]:
    return owner.answers.asking(f"list {name}", git_lists, root, folders, kind=StepKind.ASYNC)


async def loading(owner: Owner, spec: FolderSpec, name: str, *, repacked: bool) -> AsyncIterator[Task]:
    """Load what is stored, part by part."""
    after = 0
    while True:
        tries = _Tries[Loaded](
            owner.answers,
            f"load the index of {name} from {after}",
            indexer.load,
            *(spec, after, LOADED_WEIGHT),
            first=None if repacked else glance.kept,
        )
        async for task in tries.tasks():
            yield task
        loaded = tries.value
        if loaded is None or loaded.trouble is not None:
            reason = "it could not be loaded" if loaded is None else loaded.reason
            owner.broke((loaded.trouble if loaded else None) or "damaged", reason)
            return
        if loaded.segment is None:
            break
        owner.loaded(Segment.unpack(loaded.segment), repacked=repacked)
        after = loaded.last_file_id
    task, answer = owner.answers.asking(f"measure the index of {name}", glance.measured, spec, kind=StepKind.THREAD)
    yield task
    stats: StoreStats | None = await answer
    if stats is not None:
        owner.measured(stats)


async def clearing(owner: Owner, spec: FolderSpec, name: str) -> AsyncIterator[Task]:
    """Throw the stored index away."""
    task, answer = owner.answers.asking(f"clear the index of {name}", indexer.clear, spec)
    yield task
    trouble: Trouble | None = await answer
    owner.cleared()
    if trouble is not None:
        owner.broke(trouble, "it could not be cleared")


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a folder is compared with its index; see `planning.plan`."""

    suspects: Sequence[str]
    globs: Sequence[str]
    thorough: bool
    seen_stamp: int
    again: bool


async def scanning(
    owner: Owner,
    spec: FolderSpec,
    name: str,
    folders: Sequence[str],
    opened: Callable[[], Sequence[str]],
    how: Comparison,
) -> AsyncIterator[Task]:
    """List the folder and compare it with the index."""
    answer, owner.contents.git_lists = owner.contents.git_lists, None
    if answer is None:
        task, answer = _listing(owner, spec.root, name, folders)
        yield task
    lists = await answer
    compare = functools.partial(planning.plan, suspects=how.suspects, globs=how.globs, again=how.again)
    first = None if lists is None or how.suspects or how.globs or how.again else glance.unchanged
    tries = _Tries[Plan](
        owner.answers,
        f"compare {name}",
        functools.partial(compare, thorough=how.thorough, seen_stamp=how.seen_stamp),
        *(spec, lists, tuple(opened())),
        first=first and functools.partial(first, thorough=how.thorough, seen_stamp=how.seen_stamp),
    )
    async for task in tries.tasks():
        yield task
    plan = tries.value
    if plan is not None and plan.trouble is not None:
        owner.broke(plan.trouble, plan.reason)
    else:
        owner.planned(plan, how.suspects)


async def working(
    owner: Owner,
    spec: FolderSpec,
    name: str,
    plan: Plan,
    delays_s: Sequence[float],
    is_current: Callable[[], bool],
) -> AsyncIterator[Task]:
    """Bring the index up to date, as planned.

    Args:
        delays_s: How long to wait where somebody else holds the lock, longer each time.
        is_current: Whether the index is still the one that was planned for.
    """
    work = WorkList(work_of(plan, name))
    packs = 0
    while (item := await work.take()) is not None and is_current():
        take = functools.partial(_took, owner, work, delays_s, item)
        task, _ = owner.answers.asking(item.name, item.call, spec, *item.args, take=take, weight=len(item.paths))
        yield task
        if file_ids := owner.to_be_packed():
            packs += 1
            task, answer = owner.answers.asking(f"pack the index of {name}, {packs}", indexer.pack, spec, file_ids)
            yield task
            packed: Loaded | None = await answer
            if packed is not None and packed.segment is not None:
                owner.loaded(Segment.unpack(packed.segment), repacked=True)
    for number in range(_MOST_TIDYING if plan.file_count >= _TIDY_FROM_FILES and is_current() else 0):
        task, answer = owner.answers.asking(f"tidy the index of {name}, {number + 1}", indexer.tidy, spec)
        yield task
        if not await answer:
            break


def _took(owner: Owner, work: WorkList, delays_s: Sequence[float], item: Work, value: Indexed | None) -> None:
    if value is None:
        for path in work.failed(item):
            owner.left_out(path)
    elif value.trouble == "busy":
        work.again_later(item, delays_s)
        owner.waits(value.reason)
    elif value.trouble is not None:
        work.abandon()
        owner.broke(value.trouble, value.reason)
    else:
        work.succeeded(item)
        owner.indexed(item.paths, value)


def about(name: str, paths: Sequence[str]) -> str:
    """Return how a person would name some files of a folder."""
    return f"look at {name}/{paths[0]}" + (f" (+{len(paths) - 1})" if len(paths) > 1 else "")


async def refreshing(
    owner: Owner, spec: FolderSpec, name: str, paths: Sequence[str], failed: Callable[[bool], None]
) -> AsyncIterator[Task]:
    """Look again at some paths of which something was said.

    Args:
        failed: Called where that could not be done, with whether it is only that somebody else holds the lock.
    """
    task, answer = owner.answers.asking(about(name, paths), indexer.index_known_files, spec, "\0".join(paths))
    yield task
    value: Indexed | None = await answer
    if value is None or value.trouble == "busy":
        failed(value is not None)
    elif value.trouble is not None:
        owner.broke(value.trouble, value.reason)
    else:
        owner.indexed(paths, value)
