"""Changes on disk below one folder: merged, timed, and without those that were found to be none of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from headway.workspace import listing
from headway.workspace.watcher import Changes

_MOST_FOREIGN: Final = 10_000


class DiskChanges:
    """See the module.

    Args:
        due: Called on the loop when it is time to look at the disk.
    """

    def __init__(self, due: Callable[[], None]) -> None:
        self._due = due
        self._changes = Changes()
        self._foreign: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return bool(self._changes)

    @property
    def is_due(self) -> bool:
        """Whether it is time to look."""
        due_at_s = self._changes.due_at_s()
        return due_at_s is not None and due_at_s <= asyncio.get_running_loop().time()

    def matters(self, path: str) -> bool:
        """Return whether something that happened to a path (relative to the folder) can concern the index."""
        return path not in self._foreign and not listing.is_in_foreign_folder(path)

    def note(self, paths: Iterable[str], later_s: float = 0.0) -> None:
        """Look at these paths soon."""
        self._changes.add(paths, asyncio.get_running_loop().time() + later_s)
        self.arm()

    def take(self) -> tuple[str, ...]:
        """Return what has changed since the last look."""
        return self._changes.take(asyncio.get_running_loop().time())

    def arm(self) -> None:
        """See to it that `due` is called in time."""
        self.close()
        due_at_s = self._changes.due_at_s()
        if due_at_s is not None:
            self._timer = asyncio.get_running_loop().call_at(due_at_s, self._fired)

    def looked_at(self, suspects: Sequence[str], batches: Iterable[str]) -> None:
        """A listing has said what is to be read: suspects that are not, nor hold any of it, are nobody's here.

        That they change again is no news, as long as the rules stay what they are.

        Args:
            suspects: What was asked about; "" is everything.
            batches: The files to be read, joined by NUL.
        """
        if not suspects and not self._foreign:
            return
        ours: set[str] = set()
        for path in (path for batch in batches for path in batch.split("\0")):
            while path and path not in ours:
                ours.add(path)
                path = path.rpartition("/")[0]
        if len(self._foreign) < _MOST_FOREIGN:
            self._foreign.update(filter(None, suspects))
        self._foreign -= ours  # A folder that is gone is told of by its name alone: it must not be nobody's.

    def rules_changed(self) -> None:
        """Other files may belong to the folder now."""
        self._foreign.clear()

    def close(self) -> None:
        """Call nobody any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fired(self) -> None:
        self._timer = None
        self._due()
