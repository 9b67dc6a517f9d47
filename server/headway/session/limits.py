"""From the settings to the scheduler's configuration. Pure."""

from __future__ import annotations

from headway.scheduler import OnBattery, SchedulerConfig
from headway.settings import SchedulerSettings


def scheduler_config(settings: SchedulerSettings) -> SchedulerConfig:
    """Return how the scheduler is to behave."""
    return SchedulerConfig(
        cpu_cores=settings.cpu_cores,
        memory_mb=settings.memory_mb,
        on_battery=OnBattery(settings.on_battery),
        cpu_high=settings.cpu_high_percent / 100,
        cpu_low=settings.cpu_low_percent / 100,
        memory_high=settings.memory_high_percent / 100,
        memory_low=settings.memory_low_percent / 100,
    )
