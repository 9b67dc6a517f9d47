"""Counts of the recent past, in memory that does not follow the count.

This room knows neither events nor priorities: its callers name kinds by small integers.
"""

from __future__ import annotations

import math
from collections import deque


class CountWindow:
    """How often each of several kinds of thing happened within the last `window_s`, by slices of time."""

    __slots__ = ("_began_s", "_kinds", "_slice_s", "_slices", "newest", "until_s", "window_s")

    def __init__(self, kinds: int, *, slice_s: float = 5.0, slices: int = 12) -> None:
        self.window_s = slice_s * slices
        self._kinds = kinds
        self._slice_s = slice_s
        self._slices: deque[tuple[float, list[int]]] = deque(maxlen=slices + 1)  # (start, counts), oldest first
        self.newest = [0] * kinds
        self.until_s = -math.inf
        self._began_s: float | None = None

    def at(self, at_s: float) -> list[int]:
        """Return the counts by kind (0 up to the number of kinds) of the present slice, to be raised at once."""
        if at_s >= self.until_s:
            self._turn(at_s)
        return self.newest

    def totals(self, now_s: float) -> list[int]:
        """Return the counts by kind within the window that ends at `now_s` (give or take one slice)."""
        oldest_s = now_s - self.window_s
        totals = [0] * self._kinds
        for start_s, counts in self._slices:
            if start_s + self._slice_s > oldest_s:
                totals = [total + count for total, count in zip(totals, counts, strict=True)]
        return totals

    def span_s(self, now_s: float) -> float:
        """Return how much time the window covers so far: less than `window_s` at the beginning, never below 1 s."""
        if self._began_s is None:
            return self.window_s
        return min(max(now_s - self._began_s, 1.0), self.window_s)

    def _turn(self, at_s: float) -> None:
        start_s = math.floor(at_s / self._slice_s) * self._slice_s
        self.newest = [0] * self._kinds
        self._slices.append((start_s, self.newest))
        self.until_s = start_s + self._slice_s
        if self._began_s is None:
            self._began_s = at_s
