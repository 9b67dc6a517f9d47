"""The share of BATCH work: what it may claim however busy the rest is. Pure."""

from __future__ import annotations

import math

from headway.scheduler.config import SchedulerConfig


class BatchCredit:
    """What BATCH work may claim however busy the rest is: a share of one core, saved up while it waits."""

    __slots__ = ("_at_s", "_cap", "_due", "_left", "_share", "_waits", "running", "saved_s")

    def __init__(self, config: SchedulerConfig) -> None:
        self.reconfigure(config)
        self._left = 0.0  # cores that foreign programs leave while they hold background work back
        self._waits = False
        self._at_s = 0.0
        self.saved_s = 0.0
        self.running = 0  # runs whose cost is not known yet: one claim at a time

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold; what is saved stays."""
        self._share = config.batch_share
        self._cap = config.batch_credit_cap_s
        self._due = config.batch_due_s

    def update(self, now_s: float, waits: bool) -> None:
        """Accrue up to now, and note whether BATCH waits from now on."""
        if self._waits:
            self.saved_s = min(self._cap, self.saved_s + self._rate * (now_s - self._at_s))
        self._at_s = now_s
        self._waits = waits

    def charge(self, core_seconds: float) -> None:
        self.running -= 1
        self.saved_s = max(-self._cap, self.saved_s - core_seconds)

    def left_over(self, now_s: float, cores: float) -> None:
        """Note how many cores foreign programs leave from now on, where these hold background work back; else 0.

        What they leave would lie idle, so that much may be claimed, where it is more than the share.
        """
        self.update(now_s, self._waits)
        self._left = cores

    @property
    def _rate(self) -> float:
        return max(self._share, self._left) if self._share > 0 else 0.0

    @property
    def is_due(self) -> bool:
        return self._waits and not self.running and self.saved_s >= self._due - 1e-9

    def due_at_s(self) -> float:
        """Return when the next claim is due if BATCH goes on waiting; inf where it has none."""
        rate = self._rate
        if not self._waits or rate <= 0 or self.running:
            return math.inf
        return self._at_s + max(0.0, (self._due - self.saved_s) / rate)
