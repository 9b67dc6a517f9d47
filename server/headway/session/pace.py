"""How fast an endpoint may be asked: more at once while that helps, half as much when it is too busy. Pure.

Source of the rule: D. Chiu and R. Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in
Computer Networks", 1989 (additive increase, multiplicative decrease).
"""

from __future__ import annotations

from typing import Final

_FIRST_WAIT_S: Final = 1.0
_LONGEST_WAIT_S: Final = 300.0
# An endpoint that works on one request at a time answers two at once half as fast each: that helps nobody.
_SLOWED: Final = 1.5
_FORGETTING: Final = 1.02
# A person's query waits behind a request that is being worked on.
_REQUEST_S: Final = 1.0


class Pace:
    """How many requests may be on their way, and when the next one.

    Args:
        most: At most so many at once.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._limit = 1.0
        self._streak = 0
        self._not_before_s = 0.0
        self._best_s: float | None = None  # for one passage
        self._newest_s: float | None = None
        self.queries = 0  # of people, that are on their way; nothing else is asked meanwhile

    @property
    def limit(self) -> int:
        """How many may be on their way at once, at least 1."""
        return int(self._limit)

    def wait_s(self, now_s: float) -> float:
        """Return in how many seconds the next request may go out; 0: now."""
        return max(0.0, self._not_before_s - now_s)

    def size(self, most: int) -> int:
        """Return how many passages a request should hold so that it takes about a second, at most `most`."""
        return most if not self._newest_s else max(1, min(most, int(_REQUEST_S / self._newest_s)))

    def succeeded(self, passages: int, took_s: float) -> None:
        """A request was answered."""
        self._streak = 0
        self._newest_s = took_s / passages
        self._best_s = min(self._newest_s, (self._best_s or self._newest_s) * _FORGETTING)
        if self._newest_s > _SLOWED * self._best_s:
            self._limit = max(1.0, self._limit - 1)
        else:
            self._limit = min(float(self._most), self._limit + 1 / self._limit)

    def overloaded(self, now_s: float, retry_after_s: float | None, draw: float) -> None:
        """The endpoint is too busy.

        Args:
            retry_after_s: When it wants to be asked again, if it said so; it is never asked earlier.
            draw: Uniform sample in [0, 1).
        """
        self._limit = max(1.0, self._limit / 2)
        self._hold(now_s, draw, retry_after_s or 0.0)

    def unavailable(self, now_s: float, draw: float) -> None:
        """There is no endpoint to talk to, for the moment at least."""
        self._limit = 1.0
        self._hold(now_s, draw, 0.0)

    def _hold(self, now_s: float, draw: float, least_s: float) -> None:
        if now_s < self._not_before_s and least_s <= self._not_before_s - now_s:
            return  # What was on its way together fails together: that is one failure.
        self._streak += 1
        wait_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** min(self._streak - 1, 10))
        self._not_before_s = now_s + max(least_s, wait_s * (0.5 + draw / 2))
