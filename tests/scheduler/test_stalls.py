"""Pressure stall information: which files count, which figures of theirs, and what the probe makes of the real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from headway.scheduler.cgroups import Cgroups
from headway.scheduler.executors.base import MachineReport
from headway.scheduler.probe import Probe
from headway.scheduler.stalls import Stalls, stalled_share, stalls_now


def figures(some: float, full: float) -> str:
    """The text of a pressure file, averages of ten seconds in per cent."""
    rest = "avg60=99.00 avg300=99.00 total=1"
    return f"some avg10={some:.2f} {rest}\nfull avg10={full:.2f} {rest}\n"


def look(tmp_path: Path, membership: str, files: Mapping[str, str]) -> Stalls:
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "membership").write_text(membership)
    return stalls_now(Cgroups(tmp_path / "cgroup", tmp_path / "membership"), tmp_path / "pressure")


def test_the_ten_seconds_average_of_the_right_line_counts(tmp_path: Path) -> None:
    file = tmp_path / "memory"
    file.write_text(figures(12.5, 3.0))
    assert stalled_share(file, "some") == 0.125
    assert stalled_share(file, "full") == 0.03


@pytest.mark.parametrize("text", ["", "some", "some avg60=1.00 avg10=2.00", "some avg10=", "some avg10=much", "\xff"])
def test_what_is_no_such_file_says_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "memory"
    file.write_text(text, encoding="latin-1")
    assert stalled_share(file, "some") is None
    assert stalled_share(tmp_path / "none", "some") is None


def test_a_share_is_between_none_and_all(tmp_path: Path) -> None:
    file = tmp_path / "memory"
    for percent, share in ((-1.0, 0.0), (100.5, 1.0)):
        file.write_text(figures(percent, 0.0))
        assert stalled_share(file, "some") == share


def test_memory_is_as_short_as_the_shorter_of_machine_and_group(tmp_path: Path) -> None:
    files = {"pressure/memory": figures(10, 0), "cgroup/app/memory.pressure": figures(40, 0)}
    assert look(tmp_path, "0::/app\n", files).memory == 0.4
    assert look(tmp_path, "0::/app\n", {"pressure/memory": figures(60, 0)}).memory == 0.6
    assert look(tmp_path, "0::/elsewhere\n", {}).memory == 0.6, "what is not ours does not count"


def test_only_our_own_group_tells_of_cores(tmp_path: Path) -> None:
    """That some task of the machine waits for a core says nothing: ours of idle priority shall."""
    files = {"pressure/cpu": figures(90, 0), "cgroup/cpu.pressure": figures(80, 70), "cgroup/app/other": ""}
    assert look(tmp_path, "0::/app/of/ours\n", files).cpu is None, "not that of all above us"
    files = {"cgroup/app/of/ours/cpu.pressure": figures(90, 30)}
    assert look(tmp_path, "0::/app/of/ours\n", files).cpu == 0.3


def test_version_2_beside_version_1_has_a_place_of_its_own(tmp_path: Path) -> None:
    files = {"cgroup/unified/app/cpu.pressure": figures(0, 20), "cgroup/app/cpu.pressure": figures(0, 90)}
    assert look(tmp_path, "4:memory:/app\n0::/app\n", files).cpu == 0.2


def test_without_any_of_it_nothing_is_known(tmp_path: Path) -> None:
    assert look(tmp_path, "", {}) == Stalls()


@pytest.mark.asyncio
async def test_the_probe_reports_it(tmp_path: Path) -> None:
    look(tmp_path, "0::/\n", {"cgroup/cpu.pressure": figures(0, 55), "cgroup/memory.pressure": figures(100, 0)})
    probe = Probe(every_s=0.01, cgroups=Cgroups(tmp_path / "cgroup", tmp_path / "membership"))
    reports: asyncio.Queue[MachineReport] = asyncio.Queue()
    await probe.start(reports.put_nowait)
    async with asyncio.timeout(30):
        pressure = (await reports.get()).pressure
    await probe.close()
    assert (pressure.cpu_stalled, pressure.memory_stalled) == (0.55, 1.0)
