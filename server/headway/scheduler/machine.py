"""A machine that is as it is said to be, for tests, simulations and where nothing shall be sampled."""

from __future__ import annotations

from collections.abc import Callable

from headway.scheduler.executors.base import MachineReport, Totals


class FixedMachine:
    """Implements `base.Machine`. What it reports is what `report` is given."""

    def __init__(self, totals: Totals) -> None:
        self._totals = totals
        self._report: Callable[[MachineReport], None] | None = None

    def totals(self) -> Totals:
        return self._totals

    async def start(self, report: Callable[[MachineReport], None]) -> None:
        self._report = report

    async def close(self) -> None:
        self._report = None

    def report(self, sample: MachineReport) -> None:
        """Hand a sample to whoever started this; nobody hears it before `start` and after `close`."""
        self._totals = sample.totals
        if self._report is not None:
            self._report(sample)
