"""NVIDIA devices through `pynvml`: what is there, how busy it is, what other programs left of its memory.

A machine without a device, without the driver's library, with one of another version, or with a device that was lost is
a normal case: then there are fewer devices, or none. Calls may take milliseconds, so they belong into a thread.
"""

from __future__ import annotations

import ctypes
import logging
import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from headway.scheduler.executors.base import Gpu

_log = logging.getLogger(__name__)

MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSample:
    """One device now. `busy`: share of the last moments in which it computed, None where it cannot be told."""

    gpu: Gpu
    busy: float | None
    free_mb: float  # what neither other programs nor the driver use; ours counts as free


class Gpus:
    """The devices; opens the driver at the first question and never raises for what the driver does."""

    def __init__(self) -> None:
        self._nvml: Any = None  # the pynvml module, which has no types, once it is in use
        self._opened = False
        self._errors: tuple[type[Exception], ...] = (OSError,)
        self._said: set[str] = set()

    def sample(self, own_pids: Collection[int] = ()) -> list[GpuSample]:
        """Return the devices that answer. `own_pids`: processes whose use of a device's memory counts as free."""
        if not self._opened:
            self._open()
        if self._nvml is None:
            return []
        try:
            count = self._nvml.nvmlDeviceGetCount()
        except self._errors as error:
            self._say(f"GPUs cannot be counted: {error}")
            return []
        found = (self._sample_one(index, own_pids) for index in range(count))
        return [sample for sample in found if sample is not None]

    def close(self) -> None:
        """Let go of the driver; a later question opens it again."""
        self._opened = False
        if self._nvml is not None:
            try:
                self._nvml.nvmlShutdown()
            except self._errors as error:
                self._say(f"the GPU driver does not close: {error}")
            self._nvml = None

    def _open(self) -> None:
        self._opened = True
        if not _library_present():
            return  # Most machines: pynvml, which is large, is not even imported.
        try:
            import pynvml  # type: ignore[import-untyped]
        except ImportError as error:
            self._say(f"GPUs are not used, as nvidia-ml-py is not installed: {error}")
            return
        # A function that an older library lacks raises the second one, which is no NVMLError.
        self._errors = (pynvml.NVMLError, pynvml.NVMLLibraryMismatchError, OSError)
        try:
            pynvml.nvmlInit()
        except self._errors as error:
            self._say(f"GPUs are not used: {error}")
            return
        self._nvml = pynvml

    def _sample_one(self, index: int, own_pids: Collection[int]) -> GpuSample | None:
        nvml = self._nvml
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            memory = nvml.nvmlDeviceGetMemoryInfo(handle)
            uuid = nvml.nvmlDeviceGetUUID(handle)
        except self._errors as error:
            self._say(f"GPU {index} is left out: {error}")
            return None
        gpu = Gpu(
            index=index, uuid=uuid if isinstance(uuid, str) else uuid.decode("ascii"), total_mb=memory.total / MIB
        )
        ours_bytes = self._memory_of(index, handle, own_pids)
        return GpuSample(gpu=gpu, busy=self._busy(index, handle), free_mb=(memory.free + ours_bytes) / MIB)

    def _busy(self, index: int, handle: Any) -> float | None:
        try:
            return float(self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu) / 100
        except self._errors as error:
            self._say(f"how busy GPU {index} is cannot be told: {error}")
            return None

    def _memory_of(self, index: int, handle: Any, pids: Collection[int]) -> int:
        """Return the bytes that these processes hold on a device; 0 where the driver does not tell."""
        if not pids:
            return 0
        try:
            processes = self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)
        except self._errors as error:
            self._say(f"who uses GPU {index} cannot be told: {error}")
            return 0
        return sum(process.usedGpuMemory or 0 for process in processes if process.pid in pids)

    def _say(self, text: str) -> None:
        """Log once; the same is found again at every sample."""
        if text not in self._said:
            self._said.add(text)
            _log.info(text)


def _library_present() -> bool:
    if sys.platform == "win32":
        return True  # pynvml knows where to look there.
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    return True
