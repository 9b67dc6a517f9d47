"""Windows only: a job object that ends our child processes with us, and priorities as creation flags.

Untested here: no Windows machine was at hand. Kept apart so that nothing of it is imported elsewhere.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import ctypes
    import functools
    import subprocess
    from ctypes import wintypes
    from typing import Any

    _KILL_ON_JOB_CLOSE = 0x2000
    _EXTENDED_LIMIT_INFORMATION = 9

    class _BasicLimits(ctypes.Structure):
        _fields_ = (
            ("PerProcessUserTimeLimit", ctypes.c_int64),
            ("PerJobUserTimeLimit", ctypes.c_int64),
            ("LimitFlags", wintypes.DWORD),
            ("MinimumWorkingSetSize", ctypes.c_size_t),
            ("MaximumWorkingSetSize", ctypes.c_size_t),
            ("ActiveProcessLimit", wintypes.DWORD),
            ("Affinity", ctypes.c_size_t),
            ("PriorityClass", wintypes.DWORD),
            ("SchedulingClass", wintypes.DWORD),
        )

    class _ExtendedLimits(ctypes.Structure):
        _fields_ = (
            ("BasicLimitInformation", _BasicLimits),
            ("IoInfo", ctypes.c_uint64 * 6),
            ("ProcessMemoryLimit", ctypes.c_size_t),
            ("JobMemoryLimit", ctypes.c_size_t),
            ("PeakProcessMemoryUsed", ctypes.c_size_t),
            ("PeakJobMemoryUsed", ctypes.c_size_t),
        )

    @functools.cache
    def _job() -> int:
        """Return the handle of the one job object, which stays open until our process ends.

        Raises:
            OSError: Windows refused it.
        """
        kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel32.CreateJobObjectW.restype = wintypes.HANDLE
        handle: int | None = kernel32.CreateJobObjectW(None, None)
        limits = _ExtendedLimits()
        limits.BasicLimitInformation.LimitFlags = _KILL_ON_JOB_CLOSE
        if not handle or not kernel32.SetInformationJobObject(
            wintypes.HANDLE(handle), _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), ctypes.sizeof(limits)
        ):
            raise ctypes.WinError(ctypes.get_last_error())
        return handle

    def end_with_us(process: subprocess.Popen[Any]) -> None:
        """Put a started process into the job object, so that it ends when ours does, however that happens.

        Raises:
            OSError: Windows refused it; the process runs on.
        """
        kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
        process_handle = wintypes.HANDLE(int(process._handle))  # type: ignore[attr-defined]
        if not kernel32.AssignProcessToJobObject(wintypes.HANDLE(_job()), process_handle):
            raise ctypes.WinError(ctypes.get_last_error())

    def creation_flags(priority: str) -> int:
        """Return the flags that start a process of this priority class in a group of its own."""
        by_class = {
            "polite": subprocess.BELOW_NORMAL_PRIORITY_CLASS,
            "background": subprocess.IDLE_PRIORITY_CLASS,
        }
        return subprocess.CREATE_NEW_PROCESS_GROUP | by_class.get(priority, 0)
