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

    def are_foreign(self, paths: Sequence[str]) -> None:
        """These belong to nobody here: that they change again is no news, as long as the rules stay what they are."""
        if len(self._foreign) < _MOST_FOREIGN:
            self._foreign.update(paths)

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
