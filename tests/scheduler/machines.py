"""Machines for tests: what they have never changes, and they sample nothing by themselves."""

from __future__ import annotations

from collections.abc import Callable

from headway.scheduler.executors.base import MachineReport, Pressure, Totals


class StillMachine:
    """A machine of four cores that is as pressed as a test says."""

    def __init__(self, cpu_cores: float = 4.0, memory_mb: float = 8192.0) -> None:
        self._totals = Totals(cpu_cores=cpu_cores, memory_mb=memory_mb)
        self._report: Callable[[MachineReport], None] | None = None

    def totals(self) -> Totals:
        return self._totals

    async def start(self, report: Callable[[MachineReport], None]) -> None:
        self._report = report

    async def close(self) -> None:
        self._report = None

    def press(self, pressure: Pressure) -> None:
        """Report a sample now."""
        assert self._report is not None
        self._report(MachineReport(totals=self._totals, pressure=pressure))
