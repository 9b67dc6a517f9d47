"""Quantiles of durations in bounded memory: a logarithmic histogram, whole and by time window.

A value is counted in the bucket `ceil(log(value, GAMMA))`, so that any quantile is within 1 % of a value that was
really seen, whatever the count. Values are seconds from a microsecond to eleven days; what lies outside counts as the
nearest end. This room knows no events and no priorities.

Source: C. Masson, J. E. Rim, H. K. Lee, "DDSketch: a fast and fully-mergeable quantile sketch with relative-error
guarantees", VLDB 2019; here with fixed ends instead of collapsing buckets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

RELATIVE_ERROR = 0.01
GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
SMALLEST_S = 1e-6
LARGEST_S = 1e6

_PER_LOG = 1 / math.log(GAMMA)
_LOWEST = math.ceil(math.log(SMALLEST_S) * _PER_LOG)
_HIGHEST = math.ceil(math.log(LARGEST_S) * _PER_LOG)
MOST_BUCKETS = _HIGHEST - _LOWEST + 2  # the one more is for what is shorter than SMALLEST_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """A distribution in a few numbers. All but `count` and `total_s` are None while nothing was counted."""

    count: int
    total_s: float
    mean_s: float | None = None
    p50_s: float | None = None
    p95_s: float | None = None
    p99_s: float | None = None
    max_s: float | None = None


class Sketch:
    """A histogram of durations with at most `MOST_BUCKETS` buckets (about 1,400)."""

    __slots__ = ("_buckets", "count", "maximum_s", "minimum_s", "total_s")

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self.count = 0
        self.total_s = 0.0
        self.minimum_s = math.inf
        self.maximum_s = -math.inf

    def add(self, value_s: float, weight: int = 1) -> None:
        """Count a duration `weight` times.

        Args:
            value_s: Seconds; below zero counts as zero.
            weight: How many observations this one stands for, at least 1.

        Raises:
            ValueError: `value_s` is not a number.
        """
        if value_s >= SMALLEST_S:
            index = math.ceil(math.log(value_s) * _PER_LOG) if value_s < LARGEST_S else _HIGHEST
        elif value_s < SMALLEST_S:
            index = _LOWEST - 1
            value_s = max(value_s, 0.0)
        else:
            raise ValueError("a duration must be a number of seconds, not NaN")
        self._buckets[index] = self._buckets.get(index, 0) + weight
        self.count += weight
        self.total_s += value_s * weight
        if value_s < self.minimum_s:
            self.minimum_s = value_s
        if value_s > self.maximum_s:
            self.maximum_s = value_s

    def merge(self, other: Sketch) -> None:
        """Count all that `other` counted."""
        for index, weight in other._buckets.items():
            self._buckets[index] = self._buckets.get(index, 0) + weight
        self.count += other.count
        self.total_s += other.total_s
        self.minimum_s = min(self.minimum_s, other.minimum_s)
        self.maximum_s = max(self.maximum_s, other.maximum_s)

    def quantile(self, share: float) -> float | None:
        """Return the duration below which `share` of all lie, within 1 %; None while nothing was counted.

        Raises:
            ValueError: `share` is not within 0 and 1.
        """
        return self.quantiles_at((share,))[0]

    def quantiles_at(self, shares: tuple[float, ...]) -> list[float | None]:
        """Return one quantile for each share, in one pass; `shares` ascending. Raises as `quantile`."""
        if not all(0 <= share <= 1 for share in shares):
            raise ValueError(f"a quantile's share lies between 0 and 1, not {shares}")
        if not self.count:
            return [None] * len(shares)
        found: list[float | None] = []
        ordered = sorted(self._buckets.items())
        position = 0
        seen = ordered[0][1]
        for share in shares:
            rank = share * (self.count - 1)
            while seen <= rank and position + 1 < len(ordered):
                position += 1
                seen += ordered[position][1]
            found.append(self._value_of(ordered[position][0]))
        return found

    def at_most(self, bound_s: float) -> int:
        """Return how many were not longer than `bound_s`, give or take those within 1 % of it."""
        if bound_s >= self.maximum_s:
            return self.count
        limit = math.floor(math.log(bound_s) * _PER_LOG) if bound_s > SMALLEST_S else _LOWEST - 1
        return sum(weight for index, weight in self._buckets.items() if index <= limit)

    def summary(self) -> Quantiles:
        """Return the distribution in a few numbers."""
        if not self.count:
            return Quantiles(count=0, total_s=0.0)
        p50_s, p95_s, p99_s = self.quantiles_at((0.5, 0.95, 0.99))
        return Quantiles(
            count=self.count,
            total_s=self.total_s,
            mean_s=self.total_s / self.count,
            p50_s=p50_s,
            p95_s=p95_s,
            p99_s=p99_s,
            max_s=self.maximum_s,
        )

    def _value_of(self, index: int) -> float:
        """The middle of a bucket, but never outside of what was really seen."""
        if index < _LOWEST:
            return self.minimum_s
        middle_s = 2 * GAMMA**index / (GAMMA + 1)
        return min(max(middle_s, self.minimum_s), self.maximum_s)


class Sampler:
    """Says how many observations the present one stands for: at high rates most stand for none.

    Up to `every_one` in a slice of time each is looked at; past that about one in eight is, at uneven strides, so that
    no rhythm of the callers hides a kind of work. Weights add up to the true count but for the last 15 or fewer.
    """

    __slots__ = ("_every_one", "_pending", "_seen", "_slice_s", "_state", "_until_s")

    def __init__(self, *, slice_s: float = 5.0, every_one: int = 200) -> None:
        self._slice_s = slice_s
        self._every_one = every_one
        self._until_s = -math.inf
        self._seen = 0  # in this slice
        self._pending = 0  # since the last that was looked at
        self._state = 1

    def weigh(self, at_s: float) -> int:
        """Return how many observations the one at `at_s` stands for; 0: pass it over."""
        if at_s >= self._until_s:
            self._until_s = at_s + self._slice_s
            self._seen = 0
        if self._seen < self._every_one:
            self._seen += 1
            weight = self._pending + 1
            self._pending = 0
            return weight
        self._pending += 1
        # The high bits of a linear congruential sequence: its low ones repeat too soon.
        if self._pending <= self._state >> 12:
            return 0
        self._state = (self._state * 25173 + 13849) & 0xFFFF
        weight = self._pending
        self._pending = 0
        return weight

    def pass_over(self, most: int, last_at_s: float) -> int:
        """Pass over as many observations at once as `weigh` would from here on; return how many.

        Args:
            most: So many there are, in the order of their instants.
            last_at_s: The instant of the last of them.
        """
        if self._seen < self._every_one or last_at_s >= self._until_s:
            return 0
        passed = min(most, max(0, (self._state >> 12) - self._pending))
        self._pending += passed
        return passed


class WindowedSketch:
    """Durations of the recent past by slices of time, and of the whole life.

    Each observation goes into the newest slice only; slices that fall out of the window are poured into the lifetime.
    """

    __slots__ = ("_lifetime", "_newest", "_slice_s", "_slices", "_until_s", "_window")

    def __init__(self, *, slice_s: float = 5.0, slices: int = 12) -> None:
        self._slice_s = slice_s
        self._window = slices
        self._lifetime = Sketch()
        self._slices: list[tuple[float, Sketch]] = []  # (start, what it holds), oldest first
        self._newest = Sketch()
        self._until_s = -math.inf

    def add(self, value_s: float, at_s: float, weight: int = 1) -> None:
        """Count a duration that ended at `at_s` (seconds of any clock that does not go back), `weight` times."""
        if at_s >= self._until_s:
            self._turn(at_s)
        self._newest.add(value_s, weight)

    def window(self, now_s: float) -> Sketch:
        """Return what was counted within the window that ends at `now_s` (give or take one slice)."""
        oldest_s = now_s - self._slice_s * self._window
        merged = Sketch()
        for start_s, held in self._slices:
            if start_s + self._slice_s > oldest_s:
                merged.merge(held)
        return merged

    def lifetime(self) -> Sketch:
        """Return all that was ever counted."""
        merged = Sketch()
        merged.merge(self._lifetime)
        for _, held in self._slices:
            merged.merge(held)
        return merged

    def _turn(self, at_s: float) -> None:
        """Begin a new slice; what has left the window goes into the lifetime."""
        oldest_s = at_s - self._slice_s * self._window
        while self._slices and self._slices[0][0] + self._slice_s <= oldest_s:
            self._lifetime.merge(self._slices.pop(0)[1])
        start_s = math.floor(at_s / self._slice_s) * self._slice_s
        self._newest = Sketch()
        self._slices.append((start_s, self._newest))
        self._until_s = start_s + self._slice_s
