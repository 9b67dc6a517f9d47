"""How many of the times that a level was too deep an alert said so in time: the truth beside the reports. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from headway.scheduler.model import Priority

LIMIT = 100
WITHIN_S = 5.0


class Crossings:
    """Depths at every instant, and the alerts about them. What is over before an alert is due needs none."""

    def __init__(self) -> None:
        self._since_s: dict[Priority, float] = {}
        self._raised: set[Priority] = set()
        self._standing: set[Priority] = set()
        self.due = 0
        self.in_time = 0

    def note(self, queued: Sequence[int], now_s: float) -> None:
        """Say how deep the levels are from now on."""
        for priority in Priority:
            if queued[priority] > LIMIT:
                self._since_s.setdefault(priority, now_s)
            elif priority in self._since_s:
                self._over(priority, now_s)

    def raised(self, priority: Priority, now_s: float) -> None:
        """Say that an alert about a level was raised."""
        self._standing.add(priority)
        since_s = self._since_s.get(priority)
        if since_s is not None and now_s - since_s <= WITHIN_S:
            self._raised.add(priority)

    def resolved(self, priority: Priority) -> None:
        """Say that the alert about a level is over."""
        self._standing.discard(priority)

    def share(self, now_s: float) -> float | None:
        """Return which share of the crossings was said in time; None where there was none."""
        for priority in tuple(self._since_s):
            self._over(priority, now_s)
        return self.in_time / self.due if self.due else None

    def _over(self, priority: Priority, now_s: float) -> None:
        if now_s - self._since_s.pop(priority) >= WITHIN_S:
            self.due += 1
            # One that still stands from the crossing before covers this one, too.
            self.in_time += priority in self._raised or priority in self._standing
        self._raised.discard(priority)
