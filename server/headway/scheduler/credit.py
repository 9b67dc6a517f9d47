"""The share of BATCH work: what it may claim however busy the rest is. Pure."""

from __future__ import annotations

import math

from headway.scheduler.config import SchedulerConfig


class BatchCredit:
    """What BATCH work may claim however busy the rest is: a share of one core, saved up while it waits."""

    __slots__ = ("_at_s", "_cap", "_due", "_due_since_s", "_patience_s", "_share", "_waits", "running", "saved_s")

    def __init__(self, config: SchedulerConfig) -> None:
        self.reconfigure(config)
        self._waits = False
        self._at_s = 0.0
        self.saved_s = 0.0
        self._due_since_s = math.inf
        self.running = 0  # runs that get BATCH its share now; their cost is not known yet

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold; what is saved stays."""
        self._share = config.batch_share
        self._cap = config.batch_credit_cap_s
        self._due = config.batch_due_s
        self._patience_s = config.reserve_after_s

    def update(self, now_s: float, waits: bool) -> None:
        """Accrue up to now, and note whether BATCH waits from now on."""
        if self._waits:
            self.saved_s = min(self._cap, self.saved_s + self._share * (now_s - self._at_s))
        self._at_s = now_s
        self._waits = waits
        if not self.is_due:
            self._due_since_s = math.inf
        elif self._due_since_s == math.inf:
            self._due_since_s = now_s

    def charge(self, core_seconds: float) -> None:
        """Take what a run on the share has used: it may have been more than was saved."""
        self.running -= 1
        self.saved_s = max(-self._cap, self.saved_s - core_seconds)

    def ran(self, core_seconds: float, at_s: float) -> None:
        """Take what a run has used, until `at_s`, that needed no claim: it pays for claims, but makes no debts."""
        self.running -= 1
        if at_s > self._at_s:
            self.update(at_s, self._waits)
        self.saved_s = min(self.saved_s, max(0.0, self.saved_s - core_seconds))

    def satisfied_by(self, cores: float) -> bool:
        """Return whether a run on so many cores gets BATCH what it may claim, while it lasts."""
        return cores >= self._share > 0

    @property
    def is_due(self) -> bool:
        return self._waits and not self.running and self.saved_s >= self._due - 1e-9

    def content_with(self, now_s: float) -> tuple[int, float]:
        """Return which part of its place a claim takes at least, as a divisor, and until when; inf: from now on.

        Work that ends soon makes better room: only a claim that has had none for long is content with a quarter.
        """
        patient_until_s = self._due_since_s + self._patience_s
        return (2, patient_until_s) if now_s < patient_until_s else (4, math.inf)

    def due_at_s(self) -> float:
        """Return when the next claim is due if BATCH goes on waiting; inf where it has none, or one that lacks room.

        Of a claim that is due and blocked time changes nothing: to wake for it would be to wake without end.
        """
        if not self._waits or self._share <= 0 or self.running or self.is_due:
            return math.inf
        return self._at_s + max(0.0, (self._due - self.saved_s) / self._share)
