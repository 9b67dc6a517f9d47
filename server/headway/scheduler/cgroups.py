"""What a control group (version 1 or 2) leaves to this process. Reads files; missing ones mean "no limit"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
_UNLIMITED_BYTES = 1 << 60  # version 1 writes a huge number where there is no limit


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """Memory of the group with the tightest limit. `used_mb` leaves out page cache that can be dropped at once."""

    limit_mb: float
    used_mb: float


class Cgroups:
    """The groups that this process is in, of either version.

    Args:
        mounted_at: Where the hierarchies are mounted.
        membership: The file that names our groups, in the format of /proc/self/cgroup.
    """

    def __init__(self, mounted_at: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> None:
        self._mounted_at = mounted_at
        self._groups = dict(_memberships(_text(membership)))

    def cpu_cores(self) -> float | None:
        """Return the CPU quota in cores; None: no limit."""
        limits = []
        for group in self._lineage("", self._mounted_at):
            quota, _, period_us = _text(group / "cpu.max").strip().partition(" ")
            if quota.isdigit() and period_us.isdigit():
                limits.append(int(quota) / int(period_us))
        for group in self._lineage("cpu", self._mounted_at / "cpu"):
            quota_us, period = _number(group / "cpu.cfs_quota_us"), _number(group / "cpu.cfs_period_us")
            if quota_us is not None and period and quota_us > 0:
                limits.append(quota_us / period)
        return min(limits, default=None)

    def own(self) -> Path | None:
        """Return the innermost group of version 2 that we are in and can see; None: there is none."""
        unified = next(self._lineage("", self._mounted_at / "unified"), None)  # beside hierarchies of version 1
        return unified or next(self._lineage("", self._mounted_at), None)

    def memory(self) -> MemoryUse | None:
        """Return the tightest memory limit and what is used of it; None: no limit."""
        found = [
            *self._memory_of("", self._mounted_at, "memory.max", "memory.current", "inactive_file"),
            *self._memory_of(
                "memory",
                self._mounted_at / "memory",
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file",
            ),
        ]
        return min(found, key=lambda use: use.limit_mb - use.used_mb, default=None)

    def _memory_of(self, controller: str, mount: Path, limit: str, usage: str, cache: str) -> Iterator[MemoryUse]:
        for group in self._lineage(controller, mount):
            limit_bytes, used_bytes = _number(group / limit), _number(group / usage)
            if limit_bytes is not None and used_bytes is not None and limit_bytes < _UNLIMITED_BYTES:
                droppable = _statistic(group / "memory.stat", cache)
                yield MemoryUse(limit_mb=limit_bytes / MIB, used_mb=max(0, used_bytes - droppable) / MIB)

    def _lineage(self, controller: str, mount: Path) -> Iterator[Path]:
        """Our group and those above it, as far as they are visible here; in a container that may be the top alone."""
        group = self._groups.get(controller)
        if group is None:
            return
        for path in (group, *group.parents):
            directory = mount / path.relative_to("/")
            if directory.is_dir():
                yield directory


def _memberships(text: str) -> Iterator[tuple[str, Path]]:
    """Yield controller ("" for version 2) and group path of each line `id:controllers:path`."""
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if path.startswith("/"):
            for controller in controllers.split(","):
                yield controller, Path(path)


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _number(file: Path) -> int | None:
    text = _text(file).strip()
    return int(text) if text.lstrip("-").isdigit() else None


def _statistic(file: Path, name: str) -> int:
    for line in _text(file).splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.isdigit():
            return int(value)
    return 0
