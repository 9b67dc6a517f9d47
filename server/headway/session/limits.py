"""The scheduler's numbers follow the settings: at the start, and whenever these change."""

from __future__ import annotations

import math

from headway.scheduler import OnBattery, SchedulerConfig
from headway.session.ports import Room, SessionContext
from headway.settings import SchedulerSettings, Settings

# A process takes long to start, of a core that the first keys need; it is for searches, and they start one themselves.
_SPARES_AFTER_S = 2.0


def scheduler_config(settings: SchedulerSettings) -> SchedulerConfig:
    """Return how the scheduler is to behave. A high mark of 100 % says that no pressure of its kind is heeded."""
    usual = SchedulerConfig()
    return SchedulerConfig(
        spares_after_s=_SPARES_AFTER_S,
        cpu_cores=settings.cpu_cores,
        memory_mb=settings.memory_mb,
        on_battery=OnBattery(settings.on_battery),
        cpu_high=settings.cpu_high_percent / 100,
        cpu_low=settings.cpu_low_percent / 100,
        memory_high=settings.memory_high_percent / 100,
        memory_low=settings.memory_low_percent / 100,
        cpu_stalled_high=usual.cpu_stalled_high if settings.cpu_high_percent < 100 else math.inf,
        memory_stalled_high=usual.memory_stalled_high if settings.memory_high_percent < 100 else math.inf,
    )


class Limits(Room):
    """Tells the scheduler when its settings are other ones."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    def settings_changed(self, previous: Settings) -> None:
        settings = self._context.settings.scheduler
        if settings != previous.scheduler:
            self._context.scheduler.reconfigure(scheduler_config(settings))
