"""Changes on disk, merged: a storm of events becomes a few looks at the disk. Pure, time is an argument.

A burst is looked at when it has been quiet for a while, and at the latest after a maximum wait; what looks like the
saving of a single file is looked at sooner, since somebody may search for what was just written. Which events there
were does not matter, only which paths: what is on disk at the time of the look decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

# More single paths than this are cheaper to find by comparing the whole folder.
MANY_PATHS = 100
# A save touches a file, and perhaps another in its place for a moment. More paths are the beginning of a burst.
_FEW_PATHS = 3
# Nobody saves more often, but a log or a build does: so soon after a look, changes wait as those of a burst do.
_SINCE_LOOK_S = 0.5


class Changes:
    """The paths of one folder that may have changed since the last look."""

    def __init__(self, *, few_quiet_s: float = 0.05, quiet_s: float = 0.2, max_wait_s: float = 1.0) -> None:
        self._few_quiet_s = few_quiet_s
        self._quiet_s = quiet_s
        self._max_wait_s = max_wait_s
        self._paths: dict[str, None] = {}
        self._first_at_s: float | None = None
        self._last_at_s = 0.0
        self._looked_at_s = -math.inf

    def __bool__(self) -> bool:
        return self._first_at_s is not None

    def add(self, paths: Iterable[str], now_s: float) -> None:
        """Note that something happened to these paths; "" is the whole folder."""
        self._paths.update(dict.fromkeys(paths))
        self._last_at_s = now_s
        if self._first_at_s is None:
            self._first_at_s = now_s

    def due_at_s(self) -> float | None:
        """Return when it is time to look; None: nothing has changed."""
        if self._first_at_s is None:
            return None
        is_few = len(self._paths) <= _FEW_PATHS and "" not in self._paths
        is_first = self._first_at_s >= self._looked_at_s + _SINCE_LOOK_S
        quiet_s = self._few_quiet_s if is_few and is_first else self._quiet_s
        return min(self._last_at_s + quiet_s, self._first_at_s + self._max_wait_s)

    def take(self, now_s: float) -> tuple[str, ...]:
        """Return the paths, which are looked at now, and start anew."""
        self._looked_at_s = now_s
        paths = tuple(self._paths)
        self._paths = {}
        self._first_at_s = None
        return paths
