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
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
from headway.scheduler.gpus import Gpus
gpus = Gpus()
for line in sys.stdin:
    pids = [int(word) for word in line.split()[1:]]
    open(FAKE, "w").write(line.split()[0].replace("_", " ").replace("/", "\\n"))
    print([(s.gpu.index, s.gpu.uuid, s.gpu.total_mb, s.busy, s.free_mb) for s in gpus.sample(pids)])
gpus.close()
print("pynvml" in sys.modules)
"""


def look(tmp_path: Path, states: list[str], *flags: str, library: bool = True) -> tuple[list[str], str]:
    """Return a line per state and the log. A state: devices parted by `/`, and the pids that are ours."""
    if library:
        target = tmp_path / "libnvidia-ml.so.1"
        assert _COMPILER is not None
        subprocess.run([_COMPILER, "-shared", "-fPIC", *flags, "-o", str(target), str(_SOURCE)], check=True)
    state = tmp_path / "state"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"FAKE = {str(state)!r}\n{_LOOK}"],
        input="".join(f"{line}\n" for line in states),
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "FAKE_NVML": str(state)},
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
    assert lines == ["[]", "False"]
    assert log == ""


def test_a_broken_driver_is_a_normal_case(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"not a library")
    assert look(tmp_path, ["ok_0_0_0_0"], library=False)[0] == ["[]", "False"]
