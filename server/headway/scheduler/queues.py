"""Who waits, in what order: lines of equal tasks; five levels.

Entries are known by identity, never by the id of what waits: an entry that was removed is dead for good, and the same
item may wait again as a new one at once. Dead entries are dropped when they come up, or when they are the greater part
of their line.

Costs, with n entries in a line and k lines (k is bounded by the sizes in use, not by n): `push`, `remove`, `move`:
O(log n); `head` of a line: O(1) amortised; `peek`, `pop`, `waiting`: O(k).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from headway.scheduler.errors import QueueFullError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStatistics:
    """How many wait, by level, and since when the oldest does (None: nobody)."""

    waiting: tuple[int, ...]
    oldest_since_s: float | None


class Entry(Generic[T]):
    """One stay in the queue."""

    __slots__ = ("item", "line", "live", "order", "since_s", "tag")

    line: Line[T]  # once it is in one

    def __init__(self, item: T, tag: float, order: int, since_s: float) -> None:
        self.item = item
        self.tag = tag
        self.order = order  # below 0: it gets the next one
        self.since_s = since_s
        self.live = False  # it waits


class Line(Generic[T]):
    """Entries that are alike: of one level and one key. Sorted by tag, then by order of arrival.

    Almost all come in their order and leave at the head: these wait in a plain row, the others in a heap beside it.
    """

    __slots__ = ("_added", "heap", "key", "level", "live", "newest_s", "row")

    def __init__(self, level: int, key: Hashable) -> None:
        self.level = level
        self.key: Any = key
        self.live = 0
        self.newest_s = 0.0  # since when the one waits that was added last
        self.row: deque[Entry[T]] = deque()
        # An item that left and came back has its order twice, once dead; the count of additions keeps a comparison
        # from ever reaching the entries.
        self.heap: list[tuple[float, int, int, Entry[T]]] = []
        self._added = 0

    def head(self) -> Entry[T] | None:
        row, heap = self.row, self.heap
        if not heap and row and row[0].live:
            return row[0]
        while row and not row[0].live:
            row.popleft()
        if not heap:
            return row[0] if row else None
        while heap and not heap[0][3].live:
            heapq.heappop(heap)
        if not heap:
            return row[0] if row else None
        entry = heap[0][3]
        if row and (row[0].tag, row[0].order) < (entry.tag, entry.order):
            return row[0]
        return entry

    def add(self, entry: Entry[T]) -> None:
        row = self.row
        if not row or (row[-1].order <= entry.order and row[-1].tag <= entry.tag):
            row.append(entry)
        else:
            self._added += 1
            heapq.heappush(self.heap, (entry.tag, entry.order, self._added, entry))
        self.live += 1
        self.newest_s = entry.since_s

    def drop(self, entry: Entry[T]) -> None:
        entry.live = False
        self.live -= 1
        row = self.row
        kept = len(row) + len(self.heap)
        if kept > 64 and self.live * 2 < kept:
            self.row = deque(found for found in row if found.live)
            self.heap = [found for found in self.heap if found[3].live]
            heapq.heapify(self.heap)

    def __iter__(self) -> Iterator[Entry[T]]:
        out_of_order = (found[3] for found in sorted(self.heap, key=lambda found: found[:3]))
        both = heapq.merge(self.row, out_of_order, key=lambda found: (found.tag, found.order))
        return (found for found in both if found.live)


class LevelQueue(Generic[T]):
    """Waiting items by level (0 is the most urgent), first in first out within a level.

    Args:
        levels: How many there are.
        capacity: The largest number of entries; None: no bound.
    """

    def __init__(self, levels: int = 5, capacity: int | None = None) -> None:
        self._capacity = capacity
        self._lines: dict[tuple[int, Hashable], Line[T]] = {}
        self._levels = levels
        self._next_order = 0
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def new_order(self) -> int:
        """Return the next number of arrival; a clock has no say in it."""
        self._next_order += 1
        return self._next_order

    def push(
        self, item: T, level: int, since_s: float, *, key: Hashable = None, order: int | None = None, tag: float = 0.0
    ) -> Entry[T]:
        """Add an item and return its entry.

        Args:
            item: What waits.
            level: 0 to `levels` - 1.
            since_s: Instant from which its wait counts.
            key: Entries with equal keys form a line; only heads of lines are looked at.
            order: Its number of arrival where it has one already (it then keeps its place); else a new one.
            tag: Sorts before the order, for fair shares.

        Raises:
            QueueFullError: at capacity; nothing was added.
        """
        if self._capacity is not None and self.size >= self._capacity:
            raise QueueFullError(self.size, 1, self._capacity)
        entry = Entry(item, tag, -1 if order is None else order, since_s)
        self.enter(entry, level, key)
        return entry

    def enter(self, entry: Entry[T], level: int, key: Hashable) -> None:
        """Add an entry that does not wait, whatever the capacity; see `push`."""
        line = self._lines.get((level, key))
        if line is None:
            line = self._lines[(level, key)] = Line(level, key)
        if entry.order < 0:
            self._next_order = entry.order = self._next_order + 1
        entry.line = line
        entry.live = True
        line.add(entry)
        self.size += 1

    def append(self, line: Line[T], entry: Entry[T]) -> None:
        """Add an entry to a line in which somebody waits, behind all others: as `enter`.

        The line is one without tags and has nobody out of order, and the entry is new.
        """
        self._next_order = entry.order = self._next_order + 1
        entry.line = line
        entry.live = True
        line.row.append(entry)
        line.live += 1
        line.newest_s = entry.since_s
        self.size += 1

    def take_first(self, line: Line[T]) -> None:
        """Take out the first of a line, who waits, has others waiting behind him, and none out of order: `remove`."""
        line.row.popleft().live = False
        line.live -= 1
        self.size -= 1

    def extend(self, items: Iterable[T], level: int, since_s: float) -> list[Entry[T]]:
        """Add many items of one level, or none of them.

        Raises:
            QueueFullError: they do not all fit; nothing was added.
        """
        new = list(items)
        if self._capacity is not None and self.size + len(new) > self._capacity:
            raise QueueFullError(self.size, len(new), self._capacity)
        return [self.push(item, level, since_s) for item in new]

    def remove(self, entry: Entry[T]) -> bool:
        """Take an entry out. False: it was out already."""
        if not entry.live:
            return False
        line = entry.line
        row = line.row
        if row and row[0] is entry:  # the usual case
            row.popleft()
            entry.live = False
            line.live -= 1
        else:
            line.drop(entry)
        self.size -= 1
        if not line.live:
            del self._lines[(line.level, line.key)]
        return True

    def move(self, entry: Entry[T], level: int) -> Entry[T]:
        """Change an entry's level; it keeps its number of arrival and its time of waiting. The old entry is dead."""
        if not self.remove(entry):
            raise ValueError("the entry does not wait any more")
        return self.push(entry.item, level, entry.since_s, key=entry.line.key, order=entry.order, tag=entry.tag)

    def lines(self) -> list[Line[T]]:
        """Return the lines in which somebody waits, in no order."""
        return list(self._lines.values())

    def only_line(self) -> Line[T] | None:
        """Return the line in which all who wait do; None: nobody does, or there are more lines."""
        lines = self._lines
        if len(lines) != 1:
            return None
        for line in lines.values():
            return line
        return None

    def waiting(self, level: int) -> int:
        return sum(line.live for line in self._lines.values() if line.level == level)

    def by_level(self, level: int) -> list[T]:
        """Return the items of a level in their order. O(n log n)."""
        entries = [entry for line in self._lines.values() if line.level == level for entry in line]
        return [entry.item for entry in sorted(entries, key=lambda entry: (entry.tag, entry.order))]

    def peek(self) -> Entry[T] | None:
        """Return the first entry of the most urgent level without taking it."""
        best: Entry[T] | None = None
        for line in self._lines.values():
            entry = line.head()
            if entry is not None and (
                best is None or (line.level, entry.tag, entry.order) < (best.line.level, best.tag, best.order)
            ):
                best = entry
        return best

    def pop(self) -> T | None:
        """Take the first item of the most urgent level; None when nobody waits."""
        entry = self.peek()
        if entry is None:
            return None
        self.remove(entry)
        return entry.item

    def statistics(self) -> QueueStatistics:
        heads = [head.since_s for line in self._lines.values() if (head := line.head()) is not None]
        waiting = tuple(map(self.waiting, range(self._levels)))
        return QueueStatistics(waiting=waiting, oldest_since_s=min(heads, default=None))
