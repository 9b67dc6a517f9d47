"""What the machine has and how pressed it is: cores, memory, GPUs, battery. Implements `executors.base.Machine`.

Samples are taken in a thread of their own, since drivers and file systems can block; one costs about a millisecond.
While neither we nor anybody else computes they come more rarely, so that a machine at rest can sleep.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psutil

from headway.scheduler import family
from headway.scheduler.cgroups import MIB, Cgroups
from headway.scheduler.executors.base import MachineReport, Pressure, Totals
from headway.scheduler.gpus import Gpus, GpuSample
from headway.scheduler.stalls import Stalls, stalls_now

_DRIVER_WAKES_S = 1.0  # how long the first `totals` waits for a GPU driver
_SELDOM = 10  # samples between two looks at what changes seldom
_REST_FACTOR = 3.0  # at rest the time between two samples is so much longer
# Shares of the machine below which it is at rest: all of its use, and what is ours of it.
_CALM = 0.25
_RESTING = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTimes:
    """CPU seconds since the start of the machine: of the cores that we may use, and of our own family."""

    all_s: float
    busy_s: float
    ours_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What control groups allow; None: no limit."""

    cpu_cores: float | None = None
    memory_mb: float | None = None


class Probe:
    """Looks at this machine every `every_s` seconds between `start` and `close`; at rest, every three times that."""

    def __init__(self, every_s: float = 1.0, cgroups: Cgroups | None = None) -> None:
        self._every_s = every_s
        self._cgroups = cgroups or Cgroups()
        self._gpus = Gpus()
        self._looking = threading.Lock()  # drivers are asked by one thread at a time
        self._totals: Totals | None = None
        self._stop = threading.Event()

    def totals(self) -> Totals:
        """Return what there is.

        The first call asks the GPU driver, and waits a second for it at most: a device that wakes up later is reported
        by a later sample.
        """
        if self._totals is None:
            looking = threading.Thread(target=self._look_once, name="headway-probe-first", daemon=True)
            looking.start()
            looking.join(_DRIVER_WAKES_S)
        return self._totals or machine_totals(limits_now(self._cgroups), ())

    async def start(self, report: Callable[[MachineReport], None]) -> None:
        loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        threading.Thread(
            target=self._work,
            args=(lambda sample: loop.call_soon_threadsafe(report, sample), self._stop),
            name="headway-probe",
            daemon=True,
        ).start()

    async def close(self) -> None:
        """Stop sampling. The thread is not waited for: a driver that hangs must not hold up the end."""
        self._stop.set()

    def _look_once(self) -> None:
        with self._looking:
            self._totals = machine_totals(limits_now(self._cgroups), self._gpus.sample())

    def _work(self, tell: Callable[[MachineReport], object], stop: threading.Event) -> None:
        times: CpuTimes | None = None
        turn = 0
        while True:
            if turn % _SELDOM == 0:
                limits, on_battery = limits_now(self._cgroups), battery_in_use()
            relatives = family.look()
            now = cpu_times(relatives.cpu_s)
            with self._looking:
                devices = self._gpus.sample(relatives.pids)
            self._totals = machine_totals(limits, devices)
            memory = memory_share(self._cgroups if limits.memory_mb is not None else None)
            report = MachineReport(
                totals=self._totals,
                pressure=pressure(times, now, memory, devices, on_battery=on_battery, stalls=stalls_now(self._cgroups)),
                gpu_free_mb=tuple((device.gpu.index, device.free_mb) for device in devices),
            )
            with contextlib.suppress(RuntimeError):  # The loop was closed while we looked.
                tell(report)
            times, turn = now, turn + 1
            if stop.wait(self._every_s * (_REST_FACTOR if at_rest(report.pressure) else 1.0)):
                break
        with self._looking:
            self._gpus.close()


def limits_now(cgroups: Cgroups) -> Limits:
    """Return what control groups limit us to at the moment."""
    memory = cgroups.memory()
    return Limits(cpu_cores=cgroups.cpu_cores(), memory_mb=None if memory is None else memory.limit_mb)


def machine_totals(limits: Limits, devices: Sequence[GpuSample]) -> Totals:
    """Return what this process may use at most: affinity and the limits of control groups are heeded."""
    cores = float(len(usable_cores()))
    memory_mb = psutil.virtual_memory().total / MIB
    return Totals(
        cpu_cores=cores if limits.cpu_cores is None else min(cores, limits.cpu_cores),
        memory_mb=memory_mb if limits.memory_mb is None else min(memory_mb, limits.memory_mb),
        gpus=tuple(device.gpu for device in devices),
    )


def usable_cores() -> Sequence[int]:
    """Return the numbers of the cores that we may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return range(os.cpu_count() or 1)


def cpu_times(ours_s: float) -> CpuTimes:
    """Return the CPU times now; `ours_s` are those of our family."""
    every_core = psutil.cpu_times(percpu=True)
    all_s = idle_s = 0.0
    for core in usable_cores():
        if core < len(every_core):
            times = every_core[core]
            # Linux counts guests within user, too.
            all_s += sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
            idle_s += times.idle + getattr(times, "iowait", 0.0)
    return CpuTimes(all_s=all_s, busy_s=all_s - idle_s, ours_s=ours_s)


def pressure(
    before: CpuTimes | None,
    now: CpuTimes,
    memory: float,
    devices: Sequence[GpuSample],
    *,
    on_battery: bool,
    stalls: Stalls,
) -> Pressure:
    """Return how hard the machine is used: between two samples of CPU times, and as the rest stands now."""
    cpu = foreign = None
    if before is not None and now.all_s > before.all_s:
        passed_s = now.all_s - before.all_s
        cpu = _share((now.busy_s - before.busy_s) / passed_s)
        foreign = _share((now.busy_s - before.busy_s - (now.ours_s - before.ours_s)) / passed_s)
    busy = [device.busy for device in devices if device.busy is not None]
    return Pressure(
        cpu=cpu,
        foreign_cpu=foreign,
        memory=memory,
        gpu=max(busy, default=None),
        on_battery=on_battery,
        cpu_stalled=stalls.cpu,
        memory_stalled=stalls.memory,
    )


def at_rest(found: Pressure) -> bool:
    """Whether so little happens that the next look can wait."""
    if found.cpu is None or found.foreign_cpu is None:
        return False
    return found.cpu < _CALM and found.cpu - found.foreign_cpu < _RESTING and not found.gpu


def memory_share(cgroups: Cgroups | None) -> float:
    """Return how full memory is: the machine's or that of our control groups (None: not limited), as is worse."""
    machine = psutil.virtual_memory()
    share = 1 - machine.available / machine.total
    group = None if cgroups is None else cgroups.memory()
    return _share(share if group is None else max(share, group.used_mb / group.limit_mb))


def battery_in_use() -> bool:
    """Return whether the machine runs on battery; what has none, or cannot tell, does not."""
    if not hasattr(psutil, "sensors_battery"):
        return False
    try:
        battery = psutil.sensors_battery()
    except (OSError, ValueError, RuntimeError, psutil.Error):
        return False  # Some drivers answer with nonsense.
    return battery is not None and battery.power_plugged is False


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))
