"""What is done to very many tasks of one job is done to a few at a time, and the loop turns in between. Pure.

Nothing is to be seen of that but the time it takes: what is to end is doomed at once, so that it does not start any
more, and what is to wait has its number of arrival at once, so that nobody gets before it.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator
from typing import Final, TypeAlias

from headway.scheduler.records import TaskRecord

Act: TypeAlias = Callable[[TaskRecord, float], None]  # a task, and the instant

# So many tasks with one input: a millisecond or two, and a few when everybody watches.
AT_ONCE: Final = 50


class Sweeps:
    """Work that has been begun, oldest first. `works` is empty where there is none."""

    __slots__ = ("_whole", "works")

    def __init__(self) -> None:
        self.works: deque[tuple[Iterator[TaskRecord], Act, Hashable]] = deque()
        self._whole = False

    def over(self, tasks: Collection[TaskRecord], act: Act, now_s: float, *, line: Hashable = None) -> None:
        """Do something to each task, in order: at once where they are few, else from the next `go_on` on.

        What has the `line` of work that has been begun comes after that, however few they are.
        """
        few = len(tasks) <= AT_ONCE and not (self.works and line is not None and self._begun(line))
        if few or self._whole:
            for task in tasks:
                act(task, now_s)
        else:
            self.works.append((iter(tasks), act, line))

    def _begun(self, line: Hashable) -> bool:
        return any(found == line for _, _, found in self.works)

    def go_on(self, now_s: float) -> None:
        """Do the next few of what has been begun."""
        left = AT_ONCE
        works = self.works
        while works and left > 0:
            tasks, act, _ = works[0]
            before = left
            for task in itertools.islice(tasks, left):
                left -= 1
                act(task, now_s)
            if left or before == left:
                works.popleft()

    def finish(self, now_s: float) -> None:
        """Do all that has been begun, and from now on everything at once: nobody is left to wait for."""
        self._whole = True
        while self.works:
            self.go_on(now_s)
