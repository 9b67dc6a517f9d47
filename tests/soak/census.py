"""What the server and its descendants hold: memory, descriptors, threads, processes."""

import contextlib
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """One count. `server_*` is the sidecar alone, `family_*` it and all that came from it."""

    server_rss_mb: float
    server_fds: int
    server_threads: int
    family_rss_mb: float
    family_processes: int
    zombies: int


def take(pid: int) -> Census:
    """Count now.

    Raises:
        psutil.NoSuchProcess: the server is gone.
    """
    server = psutil.Process(pid)
    rss_bytes = server.memory_info().rss
    processes, zombies = 1, 0
    total_bytes = rss_bytes
    for child in server.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.status() == psutil.STATUS_ZOMBIE:
                zombies += 1
                continue
            total_bytes += child.memory_info().rss
            processes += 1
    return Census(
        server_rss_mb=rss_bytes / 2**20,
        server_fds=server.num_fds(),
        server_threads=server.num_threads(),
        family_rss_mb=total_bytes / 2**20,
        family_processes=processes,
        zombies=zombies,
    )


def leaks(before: Census, after: Census) -> list[str]:
    """Return what has grown more than caches and the unevenness of counting explain.

    Both are taken in quiet: nothing queued, nothing running.
    """
    bounds = [
        ("server memory (MiB)", before.server_rss_mb, after.server_rss_mb, max(30.0, 0.25 * before.server_rss_mb)),
        ("family memory (MiB)", before.family_rss_mb, after.family_rss_mb, max(120.0, 0.35 * before.family_rss_mb)),
        ("server descriptors", before.server_fds, after.server_fds, 12),
        ("server threads", before.server_threads, after.server_threads, 6),
        ("processes", before.family_processes, after.family_processes, 6),
        ("zombies", 0, after.zombies, 0),
    ]
    return [
        f"{name} grew from {was:.0f} to {now:.0f}, more than {allowed:.0f}"
        for name, was, now, allowed in bounds
        if now - was > allowed
    ]
