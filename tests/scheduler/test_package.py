"""The package's face: all names are there, and none costs anything before it is asked for."""

import subprocess
import sys

import headway.scheduler


def test_every_public_name_is_there() -> None:
    for name in headway.scheduler.__all__:
        assert getattr(headway.scheduler, name) is not None
    assert len(set(headway.scheduler.__all__)) == len(headway.scheduler.__all__)
    assert not hasattr(headway.scheduler, "no_such_name")


def test_what_a_worker_starts_with_is_little() -> None:
    """Each of these costs a starting worker tens of milliseconds, and there are several workers."""
    heavy = ("asyncio", "dataclasses", "inspect", "typing", "psutil", "logging", "headway.scheduler.scheduler")
    text = "import sys, headway.scheduler.executors.worker; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _PATH + text], capture_output=True, text=True, check=True
    )
    assert not set(heavy) & set(loaded.stdout.split())


_PATH = f"import sys; sys.path[:] = {sys.path!r}; "
