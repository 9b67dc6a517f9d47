"""How much memory processes use and when that is too much. Reads what the kernel says; decides nothing else."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if sys.platform != "win32" else 4096
MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """When a worker process uses too much memory, in MiB.

    A step may use what its task was admitted with times `step_factor`, but `step_floor_mb` at least: quotas are
    estimates, and only a run-away step is to be ended. `recycle_mb`: a worker that is larger after a step is replaced.
    `data_mb`: RLIMIT_DATA, at which an allocation fails, however fast it grows; None: none.
    """

    step_factor: float = 2.0
    step_floor_mb: float = 512.0
    recycle_mb: float = 512.0
    data_mb: float | None = None
    watch_every_s: float = 0.2

    def step_limit_mb(self, idle_mb: float, required_mb: float) -> float:
        """Return what a worker of `idle_mb` may grow to while it runs a step that was admitted with `required_mb`."""
        return idle_mb + max(required_mb * self.step_factor, self.step_floor_mb)


def rss_mb(pid: int) -> float | None:
    """Return the resident memory of a process in MiB; None when it is gone or the system does not say.

    20 µs on Linux; elsewhere psutil is asked.
    """
    if sys.platform != "linux":
        return rss_mb_anywhere(pid)
    try:
        with open(f"/proc/{pid}/statm", "rb", buffering=0) as statm:
            return int(statm.read().split()[1]) * _PAGE_BYTES / MIB
    except (OSError, IndexError):
        return None


def rss_mb_anywhere(pid: int) -> float | None:
    """Return the same by psutil, on any system."""
    import psutil  # where it is used: a worker that starts on Linux can do without

    try:
        return float(psutil.Process(pid).memory_info().rss) / MIB
    except psutil.Error:
        return None
