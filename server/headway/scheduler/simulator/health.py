"""The key indicators of a scheduler on a machine like this one, by a day that is lived in a moment. Pure."""

from __future__ import annotations

from headway.scheduler.simulator.days import day
from headway.scheduler.simulator.drive import Simulation
from headway.scheduler.simulator.policies import OURS
from headway.scheduler.simulator.report import Summary, key_indicators, share, summary

HOURS = 0.2
MOST_CORES = 4.0  # of a larger machine the day takes longer and says no more


def simulated_health(cores: float, hours: float = HOURS) -> Summary:
    """Return how the default policy fares in a made-up day on so many cores; the same each time."""
    cores = min(max(cores, 1.0), MOST_CORES)
    return summary(OURS.name, Simulation(OURS, cores, day(1, cores, hours)).run())


def told(found: Summary) -> tuple[str, bool]:
    """Return the key indicators in words, and whether all are as they should be."""
    rows = key_indicators(found)
    return ", ".join(f"{name} {share(value)}" for name, value, _ in rows), all(good for *_, good in rows)
