"""Quotas of cores, memory and GPUs: what fits, what is held, what is kept free. Pure arithmetic, no clock.

Amounts are integers inside (millionths of a core, KiB), so that what was acquired and released sums to zero exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from headway.scheduler.errors import ImpossibleRequirementError
from headway.scheduler.executors.base import Gpu, Totals
from headway.scheduler.model import Requirement, ResourceView

# Dimensions in which something can lack, as bits.
CPU: Final = 1
MEMORY: Final = 2
GPUS: Final = 4
GPU_MEMORY: Final = 8
SLOT: Final = 16

_CORE: Final = 1_000_000
_MB: Final = 1024
_CLASSES_PER_OCTAVE: Final = 8
_MOST_SHAPES: Final = 4096


class Shape:
    """A requirement in integers, interned by `Shapes`.

    `size_class` is equal for shapes that differ by less than a tenth: the queue keeps them in one line.
    """

    __slots__ = ("cores", "fits_version", "gpu_memory", "gpus", "memory", "size_class", "uses")

    def __init__(self, cores: float, memory_mb: float, gpus: int, gpu_memory_mb: float) -> None:
        self.cores = round(cores * _CORE)
        self.memory = round(memory_mb * _MB)
        self.gpus = gpus
        self.gpu_memory = round(gpu_memory_mb * _MB)
        gpu = GPUS | GPU_MEMORY if self.gpus or self.gpu_memory else 0
        self.uses = (CPU if self.cores else 0) | (MEMORY if self.memory else 0) | gpu
        self.fits_version = 0  # the `Quota.version` by which ordinary work may ask for this
        self.size_class = (_octave(self.cores), _octave(self.memory), gpus, _octave(self.gpu_memory))

    @property
    def cpu_cores(self) -> float:
        return self.cores / _CORE

    @property
    def memory_mb(self) -> float:
        return self.memory / _MB


def _octave(amount: int) -> int:
    return 0 if amount <= 0 else 1 + int(math.log2(amount) * _CLASSES_PER_OCTAVE)


class Shapes:
    """Interns requirements, so that equal ones cost nothing twice."""

    __slots__ = ("_known", "_newest")

    def __init__(self) -> None:
        self._known: dict[tuple[float, float, int, float], Shape] = {}
        self._newest: tuple[Requirement, Shape] | None = None  # most tasks ask for what the one before asked for

    def find(self, requirement: Requirement) -> Shape | None:
        """Return the shape of a requirement that was added before; None: it is new, or was forgotten."""
        newest = self._newest
        if newest is not None and newest[0] is requirement:
            return newest[1]
        shape = self._known.get(_amounts(requirement))
        if shape is not None:
            self._newest = (requirement, shape)
        return shape

    def add(self, requirement: Requirement) -> Shape:
        if len(self._known) >= _MOST_SHAPES:
            self._known.clear()
        amounts = _amounts(requirement)
        shape = self._known[amounts] = Shape(*amounts)
        return shape


def _amounts(wanted: Requirement) -> tuple[float, float, int, float]:
    return wanted.cpu_cores, wanted.memory_mb, wanted.gpu_count, wanted.gpu_memory_mb


class _Device:
    __slots__ = ("exclusive", "foreign", "index", "total", "used", "users", "uuid")

    def __init__(self, gpu: Gpu) -> None:
        self.index = gpu.index
        self.uuid = gpu.uuid
        self.total = round(gpu.total_mb * _MB)
        self.used = 0
        self.users = 0
        self.exclusive = False
        self.foreign = 0  # what other programs hold, as last reported

    @property
    def free(self) -> int:
        return max(0, self.total - self.used - self.foreign)


class Grant:
    """What a run holds. `Quota.release` takes it back once; a second time does nothing."""

    __slots__ = ("best_effort", "cores", "critical", "devices", "gpu_memory", "memory", "open", "pays", "short")

    def __init__(self, cores: int, memory: int, critical: bool) -> None:
        self.cores = cores
        self.memory = memory
        self.critical = critical
        self.devices: tuple[_Device, ...] = ()
        self.gpu_memory = 0  # of each device
        self.best_effort = False
        self.pays = False  # what it uses is counted against BATCH's claim
        self.open = True
        self.short = 0  # what it asked for and did not get, in millionths of a core

    @property
    def cpu_cores(self) -> float:
        return self.cores / _CORE

    @property
    def device_indices(self) -> tuple[int, ...]:
        return tuple(device.index for device in self.devices)


class Quota:
    """What there is and who holds how much of it.

    Ordinary work fits into total minus reserved; since cores can be shared, what asks for more than that, up to all
    that there are, gets just that. CRITICAL work may use everything, and is content with fewer than it asks for, but
    not with less than a quarter of the reserve. Background work leaves a little of the ordinary room to who asks for
    little while a person waits, and would have to wait for the end of a step that has all of it; where there is just
    room for what background work asks for, it is content with that much less, though not with less than half. It also
    takes what others leave, so that nothing lies idle beside who waits: two fifths of what it asks for at least, and of
    a core, as scraps would only keep more urgent work of that size out for long; not while such work waits, nor where
    all together would ask for more than the machine has.

    Args:
        totals: What the machine gives.
        reserved_cpu_cores: Kept free of ordinary work; at most what there is.
        reserved_memory_mb: The same.
        spare_cpu_cores: Left by background work; at most a quarter of what ordinary work may use.
    """

    def __init__(
        self,
        totals: Totals,
        reserved_cpu_cores: float = 0.0,
        reserved_memory_mb: float = 0.0,
        spare_cpu_cores: float = 0.0,
    ) -> None:
        self.used_cores = 0
        self.used_memory = 0
        self._ordinary_cores = 0
        self._ordinary_memory = 0
        self._short = 0
        self._devices: list[_Device] = []
        self.version = 0
        self.resize(totals, reserved_cpu_cores, reserved_memory_mb, spare_cpu_cores)

    def resize(
        self, totals: Totals, reserved_cpu_cores: float, reserved_memory_mb: float, spare_cpu_cores: float = 0.0
    ) -> None:
        """Take over new totals and reserves; what is held stays held, devices that are gone are not given out again."""
        self.version += 1
        self._reserved_cores = round(reserved_cpu_cores * _CORE)
        self._reserved_memory = round(reserved_memory_mb * _MB)
        self._total_cores = round(totals.cpu_cores * _CORE)
        self._total_memory = round(totals.memory_mb * _MB)
        self._room_cores = max(0, self._total_cores - self._reserved_cores)
        self._room_memory = max(0, self._total_memory - self._reserved_memory)
        self._spare_cores = min(round(spare_cpu_cores * _CORE), self._room_cores // 4)
        self._least_critical = max(1, self._reserved_cores // 4)
        known = {device.uuid: device for device in self._devices}
        self._devices = [known.get(gpu.uuid) or _Device(gpu) for gpu in totals.gpus]

    def others_hold(self, free_mb: Sequence[tuple[int, float]]) -> None:
        """Note how much memory of each device (by index) is free in truth; the rest that is not ours is others'."""
        free = dict(free_mb)
        for device in self._devices:
            if device.index in free:
                device.foreign = max(0, device.total - device.used - round(free[device.index] * _MB))

    def impossible(self, shape: Shape, task: str, critical: bool) -> ImpossibleRequirementError | None:
        """Return the error for what can never be given, even with nothing else running; None if it can."""
        cores = self._total_cores
        memory = self._total_memory if critical else self._room_memory
        if shape.cores > cores:
            return ImpossibleRequirementError(task, "cpuCores", shape.cores / _CORE, cores / _CORE)
        if shape.memory > memory:
            return ImpossibleRequirementError(task, "memoryMb", shape.memory / _MB, memory / _MB)
        if not (shape.gpus or shape.gpu_memory):
            return None
        if shape.gpus > len(self._devices):
            return ImpossibleRequirementError(task, "gpuCount", shape.gpus, len(self._devices))
        largest = sorted((device.total for device in self._devices), reverse=True)
        count = max(1, shape.gpus)
        most = count * largest[count - 1] if len(largest) >= count else 0
        if shape.gpu_memory > most:
            return ImpossibleRequirementError(task, "gpuMemoryMb", shape.gpu_memory / _MB, most / _MB)
        return None

    def lacking(self, shape: Shape, critical: bool, background: bool = False, fills: bool = True) -> int:
        """Return the dimensions, as bits, in which there is not enough now; 0 when it fits.

        `fills`: background work may take what others leave.
        """
        lack = 0
        cores = shape.cores
        if critical:
            if cores and self._total_cores - self.used_cores < min(cores, self._least_critical):
                lack = CPU
        elif cores:
            if cores > self._room_cores:
                cores = self._room_cores
            free = min(self._room_cores - self._ordinary_cores, self._total_cores - self.used_cores)
            if not background:
                lack = CPU if cores > free else 0
            else:
                left = free - self._spare_cores
                fits = whole = cores <= free and cores <= 2 * left
                if not whole:
                    fits = fills and 5 * left >= 2 * max(cores, _CORE)
                if self._short or not whole:
                    fits = fits and shape.cores <= self._total_cores - self.used_cores - self._short
                lack = 0 if fits else CPU
        memory = shape.memory
        if memory and (
            self.used_memory + memory > self._total_memory
            or (not critical and self._ordinary_memory + memory > self._room_memory)
        ):
            lack |= MEMORY
        if shape.uses & GPUS:
            lack |= self._lacking_gpu(shape)
        return lack

    def admitted_cores(self, background: bool) -> float:
        """Return the cores that ordinary work may have; `background`: that work below HIGH may have."""
        return (self._room_cores - (self._spare_cores if background else 0)) / _CORE

    @property
    def holds_together(self) -> bool:
        """Whether no more is held than background work may have: what it gives back, the next of it can have."""
        spare = self._spare_cores
        return (
            not self._short
            and self.used_cores + spare <= self._total_cores
            and self._ordinary_cores + spare <= self._room_cores
            and self.used_memory <= self._total_memory
            and self._ordinary_memory <= self._room_memory
        )

    def acquire(self, shape: Shape, critical: bool, background: bool = False) -> Grant:
        """Take what `shape` asks for; call it only when nothing is `lacking`."""
        if not shape.uses:
            return Grant(0, 0, critical)
        cores = shape.cores
        memory = shape.memory
        if critical:
            cores = min(cores, self._total_cores - self.used_cores)
        else:
            if cores > self._room_cores:
                cores = self._room_cores
            if background and cores:  # what asks for none, as most that only waits, need not be looked after
                cores = min(cores, max(0, self._free_for_background))
            self._ordinary_cores += cores
            self._ordinary_memory += memory
        self.used_cores += cores
        self.used_memory += memory
        grant = Grant(cores, memory, critical)
        if background and cores < shape.cores:
            grant.short = shape.cores - cores
            self._short += grant.short
        if shape.uses & GPUS:
            self._place(shape, grant)
        return grant

    def release(self, grant: Grant) -> bool:
        """Give back what a grant holds. False: that was done before."""
        if not grant.open:
            return False
        grant.open = False
        self.used_cores -= grant.cores
        self.used_memory -= grant.memory
        self._short -= grant.short
        if not grant.critical:
            self._ordinary_cores -= grant.cores
            self._ordinary_memory -= grant.memory
        for device in grant.devices:
            device.used -= grant.gpu_memory
            device.users -= 1
            device.exclusive = False
        return True

    def with_more_memory(self, shape: Shape, factor: int) -> Shape:
        """Return a shape with `factor` times the memory, at most what ordinary work can get."""
        memory = max(shape.memory, min(shape.memory * factor, self._room_memory))
        return Shape(shape.cpu_cores, memory / _MB, shape.gpus, shape.gpu_memory / _MB)

    def squeezed(self, shape: Shape, leave: int, parts: int) -> Shape:
        """Return a shape with the cores that are free, if that lets it fit: not less than one of so many equal parts.

        Cores can be shared: what runs on fewer runs longer. For BATCH work on its own share, so that it neither waits
        for a whole place nor takes one. `leave`: millionths of a core for whoever is next, where that is possible.
        """
        free = self._free_for_background + self._spare_cores
        least = -(-shape.cores // parts)
        left = (free - max(leave, self._spare_cores), free - self._spare_cores, free)
        cores = next((cores for cores in left if cores >= least), free)
        if not least <= cores < shape.cores:
            return shape
        return Shape(cores / _CORE, shape.memory_mb, shape.gpus, shape.gpu_memory / _MB)

    def views(self) -> dict[str, ResourceView]:
        total_gpu = sum(device.total for device in self._devices)
        return {
            "cpuCores": ResourceView(
                total=self._total_cores / _CORE,
                used=self.used_cores / _CORE,
                reserved=min(self._reserved_cores, self._total_cores) / _CORE,
            ),
            "memoryMb": ResourceView(
                total=self._total_memory / _MB,
                used=self.used_memory / _MB,
                reserved=min(self._reserved_memory, self._total_memory) / _MB,
            ),
            "gpuCount": ResourceView(
                total=len(self._devices), used=sum(device.users > 0 for device in self._devices), reserved=0
            ),
            "gpuMemoryMb": ResourceView(
                total=total_gpu / _MB, used=sum(device.used for device in self._devices) / _MB, reserved=0
            ),
        }

    @property
    def _free_for_background(self) -> int:
        free = min(self._room_cores - self._ordinary_cores, self._total_cores - self.used_cores)
        return free - self._spare_cores

    def _lacking_gpu(self, shape: Shape) -> int:
        if shape.gpus:
            idle = [device for device in self._devices if not device.users]
            if len(idle) < shape.gpus:
                return GPUS
            each = -(-shape.gpu_memory // shape.gpus)
            return 0 if sum(device.free >= each for device in idle) >= shape.gpus else GPU_MEMORY
        fits = any(not device.exclusive and device.free >= shape.gpu_memory for device in self._devices)
        return 0 if fits else GPU_MEMORY

    def _place(self, shape: Shape, grant: Grant) -> None:
        """Whole devices go to who asks for a count; who asks for memory only shares the fullest that still fits."""
        if shape.gpus:
            each = -(-shape.gpu_memory // shape.gpus)
            fitting = [device for device in self._devices if not device.users and device.free >= each]
            chosen = sorted(fitting, key=lambda device: (device.free, device.index))[: shape.gpus]
        else:
            each = shape.gpu_memory
            fitting = [device for device in self._devices if not device.exclusive and device.free >= each]
            chosen = [min(fitting, key=lambda device: (device.free, device.index))]
        for device in chosen:
            device.used += each
            device.users += 1
            device.exclusive = bool(shape.gpus)
        grant.devices = tuple(chosen)
        grant.gpu_memory = each


class Slots:
    """Counted places of executors; an index per pool. Pools of unlimited capacity are not counted.

    A run that will not stop keeps its slot until it really ends.
    """

    __slots__ = ("_capacity", "used")

    def __init__(self, capacities: Sequence[int]) -> None:
        self._capacity = list(capacities)
        self.used = [0] * len(self._capacity)

    def free(self, pool: int) -> bool:
        return pool < 0 or self.used[pool] < self._capacity[pool]

    def possible(self, pool: int) -> bool:
        return pool < 0 or self._capacity[pool] > 0

    def acquire(self, pool: int) -> None:
        if pool >= 0:
            self.used[pool] += 1

    def release(self, pool: int) -> None:
        if pool >= 0:
            self.used[pool] -= 1
