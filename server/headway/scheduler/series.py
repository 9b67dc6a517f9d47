"""Series that a host of the scheduler counts for itself, with labels; their number is bounded.

A series is a name and a set of labels. What comes after the bound is counted under no name but as dropped, so that a
label with endless values cannot fill the memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from headway.scheduler.measures import Labels
from headway.scheduler.sketch import Quantiles, Sketch

MOST_SERIES = 500
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_NO_LABELS: Mapping[str, str] = {}


class Series:
    """Counters and distributions by name and labels."""

    def __init__(self, most: int = MOST_SERIES) -> None:
        self._most = most
        self._counts: dict[tuple[str, Labels], int] = {}
        self._durations: dict[tuple[str, Labels], Sketch] = {}
        self.dropped = 0

    def count(self, name: str, by: int = 1, labels: Mapping[str, str] = _NO_LABELS) -> None:
        """Raise a counter.

        Raises:
            ValueError: the name or a label's name is not of letters, digits and `_`, or `by` is negative.
        """
        if by < 0:
            raise ValueError(f"counter {name!r} can only rise, not by {by}")
        key = _key(name, labels)
        if key in self._counts or self._has_room():
            self._counts[key] = self._counts.get(key, 0) + by
        else:
            self.dropped += 1

    def record(self, name: str, value_s: float, labels: Mapping[str, str] = _NO_LABELS) -> None:
        """Add a duration to a distribution.

        Raises:
            ValueError: the name or a label's name is not of letters, digits and `_`, or the value is NaN.
        """
        key = _key(name, labels)
        sketch = self._durations.get(key)
        if sketch is None:
            if not self._has_room():
                self.dropped += 1
                return
            sketch = self._durations[key] = Sketch()
        sketch.add(value_s)

    def counts(self) -> dict[tuple[str, Labels], int]:
        """Return all counters."""
        return dict(self._counts)

    def durations(self) -> dict[tuple[str, Labels], Quantiles]:
        """Return all distributions in a few numbers each."""
        return {key: sketch.summary() for key, sketch in self._durations.items()}

    def _has_room(self) -> bool:
        return len(self._counts) + len(self._durations) < self._most


def _key(name: str, labels: Mapping[str, str]) -> tuple[str, Labels]:
    for word in (name, *labels):
        if not _NAME.fullmatch(word):
            raise ValueError(f"a series or label is named with letters, digits and '_' only, not {word!r}")
    return name, tuple(sorted(labels.items()))
