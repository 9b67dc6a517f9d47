"""Our own process and all that came from it: who they are and how much CPU time they have used, dead ones included."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass

import psutil

_TICK_S = 1 / os.sysconf("SC_CLK_TCK") if sys.platform != "win32" else 1.0
_PART_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Processes alive, and the CPU seconds of all of them and of those that they have buried."""

    pids: frozenset[int]
    cpu_s: float


def look(pid: int | None = None) -> Family:
    """Return the family of a process, by default our own.

    CPU time never shrinks while nobody is orphaned: what a dead child had used has passed to its parent's account.
    On Linux it costs about 20 µs a process and 5 a thread, elsewhere psutil looks through all processes of the machine.
    """
    first = os.getpid() if pid is None else pid
    if sys.platform == "linux" and os.path.exists(f"/proc/{first}/task/{first}/children"):
        return _look_linux(first)
    return _look_anywhere(first)


def _look_linux(first: int) -> Family:
    cpu_s = 0.0
    seen: set[int] = set()
    waiting = [first]
    while waiting:
        pid = waiting.pop()
        # Whoever ends while we look is counted at the next look, through its parent.
        with contextlib.suppress(OSError):
            fields = _content(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            for thread in os.listdir(f"/proc/{pid}/task"):
                children = _content(f"/proc/{pid}/task/{thread}/children")
                waiting += [child for child in map(int, children.split()) if child not in seen]
            # utime, stime, cutime, cstime: fields 14 to 17 of proc(5), the first of ours being field 3.
            cpu_s += sum(map(int, fields[11:15])) * _TICK_S
            seen.add(pid)
    return Family(pids=frozenset(seen), cpu_s=cpu_s)


def _content(path: str) -> bytes:
    """Return what a file of the kernel says, by three system calls: a file object makes seven, for each thread we have.

    Raises:
        OSError: there is no such process any more.
    """
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = part = os.read(file, _PART_BYTES)
        while len(part) == _PART_BYTES:
            part = os.read(file, _PART_BYTES)
            content += part
        return content
    finally:
        os.close(file)


def _look_anywhere(first: int) -> Family:
    cpu_s = 0.0
    seen = set()
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(first)
        for process in (parent, *parent.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                cpu_s += times.user + times.system
                cpu_s += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
                seen.add(process.pid)
    return Family(pids=frozenset(seen), cpu_s=cpu_s)
