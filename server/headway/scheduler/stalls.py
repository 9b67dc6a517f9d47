"""How long work waited for a core or for memory of late: pressure stall information (PSI) of Linux. Reads files.

What counts: of memory, the share of time in which some task waited for it, the machine's or our group's, as is worse.
Of cores, the share in which our whole control group waited at once, throttled by its limit or crowded out. The
machine's own figure for cores counts each task that waits, also our workers of idle priority, which wait while others
compute because they shall: to hold them back by it would be to let them stop and start themselves.

Where the kernel has no PSI, or keeps it from us, both are None.

Source: J. Weiner, "Getting Started with PSI", 2018; Documentation/accounting/psi.rst of Linux.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway.scheduler.cgroups import Cgroups

_MACHINE: Final = Path("/proc/pressure")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalls:
    """Shares 0..1 of the last ten seconds; None where it cannot be told."""

    cpu: float | None = None
    memory: float | None = None


def stalls_now(cgroups: Cgroups, machine: Path = _MACHINE) -> Stalls:
    """Return what the kernel says of the last ten seconds.

    Args:
        cgroups: Ours.
        machine: Where the files about the whole machine are.
    """
    group = cgroups.own()
    ours = None if group is None else stalled_share(group / "cpu.pressure", "full")
    found = [stalled_share(machine / "memory", "some")]
    if group is not None:
        found.append(stalled_share(group / "memory.pressure", "some"))
    return Stalls(cpu=ours, memory=max((share for share in found if share is not None), default=None))


def stalled_share(file: Path, whose: str) -> float | None:
    """Return the ten seconds' average of a pressure file as a share.

    Args:
        file: In the kernel's format: a line each for "some" and "full".
        whose: "some": a task at least waited; "full": all that were not idle did.
    """
    try:
        lines = file.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None  # no PSI, or not for us
    for line in lines:
        kind, _, figures = line.partition(" ")
        name, _, value = figures.partition(" ")[0].partition("=")
        if kind == whose and name == "avg10":
            try:
                return min(1.0, max(0.0, float(value) / 100))
            except ValueError:
                return None
    return None
