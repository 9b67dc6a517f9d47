"""When background work stands back whatever room there is: for CRITICAL work, a pressed machine, a battery. Pure."""

from __future__ import annotations

import math

from headway.scheduler.config import OnBattery, SchedulerConfig
from headway.scheduler.errand import Waiting
from headway.scheduler.executors.base import Pressure
from headway.scheduler.resources import GPU_MEMORY, GPUS


class Standback:
    """What is known of whom background work stands back for.

    Attributes:
        pressed: "memory" or "cpu" while the machine is pressed for it.
        critical_waits: CRITICAL work was looked at and found no room.
        waits: Background work waits for `until_s`, an instant at which time alone lets it start.
    """

    __slots__ = (
        "_config",
        "_cpu",
        "_cpu_stalled",
        "_memory",
        "_memory_stalled",
        "background_runs",
        "critical_runs",
        "critical_waits",
        "gpu_pressed",
        "on_battery",
        "pressed",
        "until_s",
        "waits",
    )

    def __init__(self, config: SchedulerConfig) -> None:
        self._config = config
        self._memory = self._cpu = self._memory_stalled = self._cpu_stalled = False
        self.pressed: str | None = None
        self.gpu_pressed = False
        self.on_battery = False
        self.background_runs = 0
        self.critical_waits = False
        self.critical_runs = 0
        self.until_s = -math.inf
        self.waits = False

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold."""
        self._config = config

    def press(self, pressure: Pressure) -> bool:
        """Judge how hard the machine is used; return whether that makes a difference."""
        config = self._config
        before = self.pressed, self.gpu_pressed, self.on_battery
        self._memory = hysteresis(self._memory, pressure.memory, config.memory_low, config.memory_high)
        self._cpu = hysteresis(self._cpu, pressure.foreign_cpu, config.cpu_low, config.cpu_high)
        self._memory_stalled = hysteresis(
            self._memory_stalled, pressure.memory_stalled, config.memory_stalled_low, config.memory_stalled_high
        )
        self._cpu_stalled = hysteresis(
            self._cpu_stalled, pressure.cpu_stalled, config.cpu_stalled_low, config.cpu_stalled_high
        )
        self.gpu_pressed = hysteresis(self.gpu_pressed, pressure.gpu, config.gpu_low, config.gpu_high)
        if self._memory or self._memory_stalled:
            self.pressed = "memory"
        else:
            self.pressed = "cpu" if self._cpu or self._cpu_stalled else None
        self.on_battery = pressure.on_battery
        return before != (self.pressed, self.gpu_pressed, self.on_battery)

    def critical_starts(self, now_s: float) -> None:
        """Hold for CRITICAL work that is being served, from the first of it on, but not for ever."""
        if not self.critical_runs:
            self.until_s = now_s + self._config.hold_for_served_s
        self.critical_runs += 1

    def holds(self, record: Waiting, by_credit: bool, now_s: float | None) -> bool:
        """Return whether a background task has to stand back.

        Args:
            record: It has room.
            by_credit: It would run on BATCH's own share, which is owed however busy the rest is.
            now_s: None where it runs already, and the question is whether it goes on at its next step.
        """
        config = self._config
        if config.hold_background_for_critical:
            if self.critical_waits:
                return True
            if self.critical_runs and not by_credit and now_s is not None and now_s < self.until_s:
                self.waits = True
                return True
        if now_s is not None:
            if self.pressed is not None and not (by_credit and self.pressed == "cpu"):
                return True
            if self.gpu_pressed and record.shape.uses & (GPUS | GPU_MEMORY):
                return True
        if not self.on_battery or config.on_battery is OnBattery.IGNORE:
            return False
        return config.on_battery is OnBattery.PAUSE or (now_s is not None and self.background_runs > 0)


def hysteresis(pressed: bool, value: float | None, low: float, high: float) -> bool:
    """Return whether a measure counts as pressed: from the high mark on, until it is below the low one."""
    if value is None:
        return False
    return value > low if pressed else value >= high
