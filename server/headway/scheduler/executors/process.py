"""Runs steps that compute in supervised worker processes: a pool for each role, told apart by priority from birth."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

from headway.scheduler.executors.base import ROLES, Role, RunSink, StepRun, WorkerReport, role_of
from headway.scheduler.executors.memory import MIB, MemoryLimits
from headway.scheduler.executors.pool import PoolSettings, WorkerPool
from headway.scheduler.executors.spawn import PriorityClass
from headway.scheduler.executors.worker_process import ProcessRun, WorkerSettings
from headway.scheduler.model import WorkerView

_CLASSES: Mapping[Role, PriorityClass] = {
    "critical": PriorityClass.INTERACTIVE,
    "standard": PriorityClass.NORMAL,
    "background": PriorityClass.BACKGROUND,
}
_MEMORY_SHARE = 0.8
# A pool may grow to two workers a core, as steps often ask for half a core, but not so far that its workers, at about
# so much each while they do nothing, take more than a quarter of the memory.
_WORKERS_PER_CORE = 2
_IDLE_WORKER_MB = 32.0
_POOL_MEMORY_SHARE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """The three pools. `modules`: what workers of a role import before their first step."""

    critical: PoolSettings
    standard: PoolSettings
    background: PoolSettings

    @classmethod
    def for_machine(
        cls,
        cpu_cores: float | None = None,
        memory_mb: float | None = None,
        *,
        memory: MemoryLimits | None = None,
        modules: Mapping[Role, tuple[str, ...]] | None = None,
        warm_after_s: float = 0.0,
    ) -> ProcessSettings:
        """Return pools that suit so many cores and so much memory; None: what this machine has.

        How many steps really run at once is decided by the quotas; the pools only set the upper bound, and grow when
        it is asked for. By default no worker may take more than four fifths of the memory.
        """
        cores = max(2, math.ceil(cpu_cores or _usable_cores()))
        room_mb = psutil.virtual_memory().total / MIB if memory_mb is None else memory_mb
        limits = memory or MemoryLimits(data_mb=_MEMORY_SHARE * room_mb)
        most = max(2, int(_POOL_MEMORY_SHARE * room_mb / _IDLE_WORKER_MB))
        few, many = min(most, cores), min(most, _WORKERS_PER_CORE * cores)

        def pool(role: Role, size: int, warm: int) -> PoolSettings:
            worker = WorkerSettings(priority_class=_CLASSES[role], memory=limits, modules=(modules or {}).get(role, ()))
            return PoolSettings(size=size, warm=warm, warm_after_s=warm_after_s, worker=worker)

        return cls(
            critical=pool("critical", few, 1),
            standard=pool("standard", many, 0),
            background=pool("background", many, 0),
        )

    def of(self, role: Role) -> PoolSettings:
        if role == "critical":
            return self.critical
        return self.standard if role == "standard" else self.background


class ProcessExecutor:
    """Implements `base.Executor` for StepKind.PROCESS."""

    def __init__(self, settings: ProcessSettings | None = None) -> None:
        self._settings = settings or ProcessSettings.for_machine()
        self._pools: dict[Role, WorkerPool] = {}

    async def start(self, report: WorkerReport) -> None:
        """Start the pools; the warm workers are on their way when this returns, unless they are to come later.

        Raises:
            OSError: no process can be started at all.
        """
        self._pools = {role: WorkerPool(role, self._settings.of(role), report) for role in ROLES}
        for pool in self._pools.values():
            pool.start()

    async def close(self, grace_s: float) -> None:
        await asyncio.gather(*(pool.close(grace_s) for pool in self._pools.values()))

    def capacity(self, role: Role) -> int:
        return self._settings.of(role).size

    def begin(self, run: StepRun, sink: RunSink) -> ProcessRun:
        return self._pools[role_of(run.priority)].begin(run, sink)

    def workers(self) -> Sequence[WorkerView]:
        return [view for pool in self._pools.values() for view in pool.views()]

    def births_s(self) -> Mapping[Role, Sequence[float]]:
        """Return how long the newest starts of workers took, from their first instruction to readiness."""
        return {role: tuple(pool.births_s) for role, pool in self._pools.items()}


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
