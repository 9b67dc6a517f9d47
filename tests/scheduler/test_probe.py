"""What the machine has and how pressed it is, from real files and the real machine."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from headway.scheduler import family
from headway.scheduler.cgroups import Cgroups, MemoryUse
from headway.scheduler.executors.base import Gpu, MachineReport, Pressure
from headway.scheduler.executors.children import Child
from headway.scheduler.gpus import GpuSample
from headway.scheduler.probe import (
    CpuTimes,
    Limits,
    Probe,
    at_rest,
    battery_in_use,
    limits_now,
    machine_totals,
    memory_share,
    pressure,
    usable_cores,
)
from headway.scheduler.stalls import Stalls

MIB = 1 << 20


def cgroups(tmp_path: Path, membership: str, files: Mapping[str, str]) -> Cgroups:
    for name, text in files.items():
        file = tmp_path / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "membership").write_text(membership)
    return Cgroups(tmp_path / "cgroup", tmp_path / "membership")


def test_version_2_the_tightest_group_of_the_lineage_counts(tmp_path: Path) -> None:
    groups = cgroups(
        tmp_path,
        "0::/user/app\n",
        {
            "user/app/cpu.max": "max 100000\n",
            "user/cpu.max": "150000 100000\n",
            "user/app/memory.max": f"{4096 * MIB}\n",
            "user/app/memory.current": f"{1000 * MIB}\n",
            "user/app/memory.stat": f"anon 1\ninactive_file {200 * MIB}\n",
            "user/memory.max": "max\n",
            "user/memory.current": "1\n",
        },
    )
    assert groups.cpu_cores() == 1.5
    assert groups.memory() == MemoryUse(limit_mb=4096, used_mb=800)
    assert limits_now(groups) == Limits(cpu_cores=1.5, memory_mb=4096)


def test_version_1_has_a_hierarchy_for_each_controller(tmp_path: Path) -> None:
    groups = cgroups(
        tmp_path,
        "4:memory:/job\n3:cpuset:/\n1:cpu,cpuacct:/job\n0::/\n",
        {
            "cpu/job/cpu.cfs_quota_us": "50000",
            "cpu/job/cpu.cfs_period_us": "100000",
            "cpu/cpu.cfs_quota_us": "-1",
            "cpu/cpu.cfs_period_us": "100000",
            "memory/job/memory.limit_in_bytes": str(512 * MIB),
            "memory/job/memory.usage_in_bytes": str(300 * MIB),
            "memory/job/memory.stat": f"total_inactive_file {100 * MIB}",
            "memory/memory.limit_in_bytes": "9223372036854771712",
            "memory/memory.usage_in_bytes": "1",
        },
    )
    assert groups.cpu_cores() == 0.5
    assert groups.memory() == MemoryUse(limit_mb=512, used_mb=200)


def test_in_a_container_only_the_top_may_be_visible(tmp_path: Path) -> None:
    groups = cgroups(tmp_path, "0::/not/visible/here\n", {"cpu.max": "200000 100000"})
    assert groups.cpu_cores() == 2.0
    assert groups.memory() is None


@pytest.mark.parametrize("text", ["", "nonsense", "0:no path", "4:memory:relative\n"])
def test_what_cannot_be_read_is_no_limit(tmp_path: Path, text: str) -> None:
    groups = cgroups(tmp_path, text, {"cpu.max": "garbage", "memory.max": "garbage"})
    assert (groups.cpu_cores(), groups.memory()) == (None, None)


def test_totals_are_what_may_really_be_used() -> None:
    gpu = Gpu(index=0, uuid="u", total_mb=1000)
    found = machine_totals(Limits(), [GpuSample(gpu=gpu, busy=None, free_mb=10)])
    assert found.cpu_cores == len(os.sched_getaffinity(0) if sys.platform == "linux" else range(os.cpu_count() or 1))
    assert found.memory_mb == psutil.virtual_memory().total / MIB
    assert found.gpus == (gpu,)
    limited = machine_totals(Limits(cpu_cores=0.5, memory_mb=100), ())
    assert (limited.cpu_cores, limited.memory_mb) == (0.5, 100)
    generous = machine_totals(Limits(cpu_cores=1000, memory_mb=1e9), ())
    assert (generous.cpu_cores, generous.memory_mb) == (found.cpu_cores, found.memory_mb)


def test_what_others_use_is_told_from_what_we_use() -> None:
    devices = [
        GpuSample(gpu=Gpu(index=n, uuid="u", total_mb=1), busy=busy, free_mb=1)
        for n, busy in enumerate((0.2, None, 0.7))
    ]
    before, now = CpuTimes(all_s=100, busy_s=10, ours_s=5), CpuTimes(all_s=110, busy_s=18, ours_s=8)
    found = pressure(before, now, 0.5, devices, on_battery=True, stalls=Stalls(cpu=0.1, memory=0.2))
    assert (found.cpu_stalled, found.memory_stalled) == (0.1, 0.2)
    assert (found.cpu, found.foreign_cpu, found.memory, found.gpu, found.on_battery) == (0.8, 0.5, 0.5, 0.7, True)
    first = pressure(None, now, 0.5, [], on_battery=False, stalls=Stalls())
    assert (first.cpu, first.foreign_cpu, first.gpu) == (None, None, None)
    # Clock ticks are coarse: ours may seem more than all, which is still nobody else's.
    coarse = CpuTimes(all_s=110, busy_s=11, ours_s=8)
    assert pressure(before, coarse, 0, [], on_battery=False, stalls=Stalls()).foreign_cpu == 0


@pytest.mark.parametrize(
    ("cpu", "foreign_cpu", "gpu", "rests"),
    [
        (0.05, 0.05, None, True),
        (0.05, 0.05, 0.0, True),
        (0.05, 0.0, None, False),  # ours
        (0.5, 0.5, None, False),  # somebody else's: what waits for it to end is to go on soon
        (0.05, 0.05, 0.5, False),
        (None, None, None, False),  # not known yet
    ],
)
def test_at_rest_nobody_computes(cpu: float | None, foreign_cpu: float | None, gpu: float | None, rests: bool) -> None:
    found = Pressure(cpu=cpu, foreign_cpu=foreign_cpu, memory=0.9, gpu=gpu, on_battery=True)
    assert at_rest(found) is rests


def test_memory_is_as_full_as_the_fuller_of_machine_and_group(tmp_path: Path) -> None:
    groups = cgroups(tmp_path, "0::/\n", {"memory.max": str(100 * MIB), "memory.current": str(99 * MIB)})
    assert memory_share(groups) == 0.99
    assert 0 < memory_share(None) < 1


def test_the_battery_can_be_asked_anywhere() -> None:
    assert battery_in_use() in (True, False)
    assert len(usable_cores()) >= 1


_BURNING = """
import os, sys
child = os.fork()
if child == 0:
    while os.times().user < 0.3: pass
    os._exit(0)
sys.stdin.read(1)
os.waitpid(child, 0)
print(flush=True)
sys.stdin.read(1)
"""


@pytest.mark.asyncio
async def test_the_family_includes_descendants_and_keeps_the_account_of_the_dead() -> None:
    before = family.look()
    child = Child([sys.executable, "-I", "-S", "-c", _BURNING])
    await child.start()
    assert child.pid in family.look().pids
    assert os.getpid() in before.pids
    child.stdin.write(b"x")
    await child.stdout.readline()  # it has buried its own child now
    alive = family.look()
    assert alive.cpu_s - before.cpu_s >= 0.29
    await child.terminate()
    after = family.look()
    assert child.pid not in after.pids
    assert after.cpu_s >= alive.cpu_s - 0.02


@pytest.mark.asyncio
async def test_samples_come_until_the_close_and_never_after() -> None:
    probe = Probe(every_s=0.01)
    totals = probe.totals()
    assert totals.cpu_cores > 0
    reports: asyncio.Queue[MachineReport] = asyncio.Queue()
    await probe.start(reports.put_nowait)
    async with asyncio.timeout(30):
        first = await reports.get()
        while (await reports.get()).pressure.cpu is None:
            continue
    assert first.totals == totals
    assert first.pressure.memory is not None
    await probe.close()
