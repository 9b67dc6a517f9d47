"""GPUs by the real binding over a driver library of our own: there, busy, shared, lost, too old, missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_COMPILER = shutil.which("cc") or shutil.which("gcc")
_SOURCE = Path(__file__).with_name("nvml.c")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a shared library of Linux"),
    pytest.mark.skipif(_COMPILER is None, reason="needs a C compiler"),
]

# Prints each sample after the state that is named on a line of stdin was put in force.
_LOOK = """
import logging, os, pathlib, sys
if os.environ.get("WITHOUT_BINDING"):
    sys.modules["pynvml"] = None  # as where it is not installed
logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
from headway.scheduler.gpus import Gpus
gpus = Gpus()
for line in sys.stdin:
    pids = [int(word) for word in line.split()[1:]]
    if line.split()[0] == "gone":
        pathlib.Path(FAKE).unlink(missing_ok=True)
    else:
        open(FAKE, "w").write(line.split()[0].replace("_", " ").replace("/", "\\n"))
    print([(s.gpu.index, s.gpu.uuid, s.gpu.total_mb, s.busy, s.free_mb) for s in gpus.sample(pids)])
gpus.close()
print("pynvml" in sys.modules)
print(len(gpus.sample()))
"""


def look(tmp_path: Path, states: list[str], *flags: str, library: bool = True, **env: str) -> tuple[list[str], str]:
    """Return a line per state and the log. A state: devices parted by `/`, or "gone", and the pids that are ours.

    Two lines follow: whether the binding was imported, and how many devices are found after `close`.
    """
    if library:
        target = tmp_path / "libnvidia-ml.so.1"
        assert _COMPILER is not None
        subprocess.run([_COMPILER, "-shared", "-fPIC", *flags, "-o", str(target), str(_SOURCE)], check=True)
    state = tmp_path / "state"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"FAKE = {str(state)!r}\n{_LOOK}"],
        input="".join(f"{line}\n" for line in states),
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "FAKE_NVML": str(state), **env},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines(), done.stderr


def test_devices_are_told_with_what_others_left_of_them(tmp_path: Path) -> None:
    lines, _ = look(
        tmp_path,
        ["ok_10_1024_77_512/ok_90_0_0_0", "ok_10_9216_77_512/ok_95_0_0_0", "ok_10_9216_77_512/ok_95_0_0_0 77"],
        "-DCOMPLETE",
    )
    assert lines[:3] == [
        "[(0, 'GPU-fake-0', 16384.0, 0.1, 15360.0), (1, 'GPU-fake-1', 16384.0, 0.9, 16384.0)]",
        "[(0, 'GPU-fake-0', 16384.0, 0.1, 7168.0), (1, 'GPU-fake-1', 16384.0, 0.95, 16384.0)]",
        "[(0, 'GPU-fake-0', 16384.0, 0.1, 7680.0), (1, 'GPU-fake-1', 16384.0, 0.95, 16384.0)]",
    ]


def test_a_lost_device_is_left_out_said_once_and_taken_back(tmp_path: Path) -> None:
    both, lost = "ok_0_0_0_0/ok_0_0_0_0", "lost_0_0_0_0/ok_0_0_0_0"
    lines, log = look(tmp_path, [both, lost, lost, both], "-DCOMPLETE")
    assert [line.count("GPU-fake") for line in lines[:4]] == [2, 1, 1, 2]
    assert "GPU-fake-1" in lines[1]
    assert log.count("GPU 0 is left out") == 1


def test_a_library_that_lacks_functions_is_a_normal_case(tmp_path: Path) -> None:
    """Without the UUID there is no device to give; without its load there still is."""
    lines, log = look(tmp_path, ["ok_0_0_0_0"])
    assert lines[0] == "[]"
    assert "left out" in log
    lines, log = look(tmp_path, ["ok_50_1024_77_512 77"], "-DALMOST")
    assert lines[0] == "[(0, 'GPU-old-0', 16384.0, None, 15360.0)]"
    assert "cannot be told" in log
    assert "does not match" in log, "the error that is no NVMLError was not met"


def test_without_a_driver_nothing_is_imported(tmp_path: Path) -> None:
    lines, log = look(tmp_path, ["ok_0_0_0_0"], library=False)
    assert lines == ["[]", "False", "0"]
    assert log == ""


def test_a_broken_driver_is_a_normal_case(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"not a library")
    assert look(tmp_path, ["ok_0_0_0_0"], library=False)[0] == ["[]", "False", "0"]


def test_a_driver_that_fails_as_a_whole_is_said_once_and_asked_again(tmp_path: Path) -> None:
    lines, log = look(tmp_path, ["ok_0_0_0_0", "gone", "gone", "ok_0_0_0_0"], "-DCOMPLETE")
    assert [line.count("GPU-fake") for line in lines[:4]] == [1, 0, 0, 1]
    assert log.count("GPUs cannot be counted") == 1
    assert lines[-1] == "1", "it is opened again after it was closed"


def test_a_driver_that_is_not_loaded_is_a_normal_case(tmp_path: Path) -> None:
    lines, log = look(tmp_path, ["ok_0_0_0_0"] * 2, "-DCOMPLETE", FAKE_NVML_FAILS="init")
    assert lines == ["[]", "[]", "True", "0"]
    assert log.count("GPUs are not used") == 1


def test_a_driver_that_does_not_close_is_left_all_the_same(tmp_path: Path) -> None:
    lines, log = look(tmp_path, ["ok_0_0_0_0"], "-DCOMPLETE", FAKE_NVML_FAILS="shutdown")
    assert lines[-1] == "1", "it is opened again after it was closed"
    assert "does not close" in log


def test_without_the_binding_the_devices_are_not_used_and_that_is_said(tmp_path: Path) -> None:
    lines, log = look(tmp_path, ["ok_0_0_0_0"] * 2, "-DCOMPLETE", WITHOUT_BINDING="1")
    assert (lines[:2], lines[-1]) == (["[]", "[]"], "0")
    assert log.count("nvidia-ml-py is not installed") == 1


def test_where_nobody_tells_who_uses_a_device_nothing_of_it_counts_as_ours(tmp_path: Path) -> None:
    """What is taken might be ours, but to count on it could mean to ask for more than there is."""
    lines, log = look(tmp_path, ["mute_10_9216_77_512 77"] * 2, "-DCOMPLETE")
    assert lines[0] == "[(0, 'GPU-fake-0', 16384.0, 0.1, 7168.0)]"
    assert log.count("who uses GPU 0 cannot be told") == 1


# The whole scheduler over the same library: what a task gets, and what becomes of it when the machine changes under it.
_WHOLE = """
import asyncio, os
from headway.scheduler import ImpossibleRequirementError, Requirement, Scheduler, SchedulerConfig, TaskKind
from headway.scheduler.probe import Probe

class Counted(Probe):
    '''Tells how often it has looked at the machine.'''
    looks = 0
    async def start(self, report):
        def told(sample):
            self.looks += 1
            report(sample)
        await super().start(told)

machine = Counted(every_s=0.02)

def put(text):
    with open(FAKE + ".new", "w") as file:
        file.write(text)
    os.replace(FAKE + ".new", FAKE)

async def seen():
    '''The machine was looked at as a whole since.'''
    after = machine.looks + 2
    async with asyncio.timeout(60):
        while machine.looks < after:
            await asyncio.sleep(0.005)

GPU = Requirement(cpu_cores=0.1, memory_mb=1, gpu_count=1)
BOTH = Requirement(cpu_cores=0.1, memory_mb=1, gpu_count=2)
LARGE = Requirement(cpu_cores=0.1, memory_mb=1, gpu_memory_mb=8000)
OK, FULL, LOST = "ok 10 0 0 0\\n", "ok 90 15000 0 0\\n", "lost 0 0 0 0\\n"

async def main():
    put(OK + OK)
    config = SchedulerConfig(cpu_high=2.0, cpu_low=2.0, cpu_cores=2.0, memory_share=1.0)
    async with Scheduler(config, machine=machine) as scheduler:
        def visible(need):
            call = ("CUDA_VISIBLE_DEVICES",)
            return scheduler.run(os.getenv, *call, kind=TaskKind.CPU_BOUND, requirement=need)
        print("each one", sorted([await found.value() for found in [visible(GPU), visible(GPU)]]))

        put(FULL + OK)
        await seen()
        print("where there is room", await visible(LARGE).value())
        put(FULL + FULL)
        await seen()
        waits = visible(LARGE)
        await seen()
        print("waits for room", waits.view().state.value)
        put(FULL + OK)
        print("gets it", await waits.value())

        put(OK + OK)
        await seen()
        gate = asyncio.Event()
        holds, waits = scheduler.run(gate.wait, requirement=GPU), visible(BOTH)
        put(LOST + OK)
        outcome = await waits
        print("lost", outcome.state.value, outcome.error.kind.value, "gpuCount" in outcome.error.message)
        try:
            visible(BOTH)
        except ImpossibleRequirementError as error:
            print("refused", error.resource, error.asked, error.available)
        print("goes on", holds.view().state.value, await visible(GPU).value())
        gate.set()
        print("ended", (await holds).state.value)
        put(OK + OK)
        await seen()
        print("back", await visible(BOTH).value())

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_the_whole_scheduler_lives_with_what_devices_do(tmp_path: Path) -> None:
    target = tmp_path / "libnvidia-ml.so.1"
    assert _COMPILER is not None
    subprocess.run([_COMPILER, "-shared", "-fPIC", "-DCOMPLETE", "-o", str(target), str(_SOURCE)], check=True)
    program = tmp_path / "program.py"
    program.write_text(f"FAKE = {str(tmp_path / 'state')!r}\n{_WHOLE}", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "FAKE_NVML": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout.splitlines() == [
        "each one ['0', '1']",
        "where there is room 1",
        "waits for room PENDING",
        "gets it 1",
        "lost FAILED service_unavailable True",
        "refused gpuCount 2 1",
        "goes on RUNNING 1",
        "ended COMPLETED",
        "back 0,1",
    ], done.stderr
