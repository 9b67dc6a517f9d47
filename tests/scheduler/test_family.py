"""Who came from us and what they have used, as the kernel says it and as psutil does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import psutil
import pytest

from headway.scheduler import family
from headway.scheduler.executors import memory
from headway.scheduler.family import Family

# A child with a child of its own: it says who that is, and both end with their input.
_PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
sys.stdin.read()
child.communicate()
"""
_BUSY = "import time\nwhile time.process_time() < 0.3: pass"

LOOKS = [family._look_anywhere] + ([family._look_linux] if sys.platform == "linux" else [])


@pytest.mark.parametrize("look", LOOKS)
def test_children_and_theirs_belong_to_the_family(look: Callable[[int], Family]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert look(child.pid).pids == {child.pid, grandchild}
        assert {child.pid, grandchild} < look(os.getpid()).pids
        child.communicate()
    assert not {child.pid, grandchild} & look(os.getpid()).pids


@pytest.mark.parametrize("look", LOOKS)
def test_what_a_dead_child_had_used_stays_counted(look: Callable[[int], Family]) -> None:
    before_s = look(os.getpid()).cpu_s
    subprocess.run([sys.executable, "-c", _BUSY], check=True)
    assert look(os.getpid()).cpu_s - before_s >= 0.28  # the kernel counts in ticks


@pytest.mark.parametrize("look", LOOKS)
def test_whoever_is_gone_has_no_family(look: Callable[[int], Family]) -> None:
    assert look(_gone()) == Family(pids=frozenset(), cpu_s=0.0)


def test_by_default_it_is_our_own() -> None:
    assert os.getpid() in family.look().pids
    assert family.look(_gone()).pids == frozenset()


@pytest.mark.parametrize("read", [memory.rss_mb, memory.rss_mb_anywhere])
def test_resident_memory_is_that_of_the_process(read: Callable[[int], float | None]) -> None:
    held = bytearray(os.urandom(1 << 20) * 64)
    true_mb = psutil.Process().memory_info().rss / memory.MIB
    told_mb = read(os.getpid())
    assert told_mb is not None
    assert abs(told_mb - true_mb) < 16
    assert told_mb > len(held) / memory.MIB
    assert read(_gone()) is None


def test_a_worker_may_grow_by_a_multiple_of_what_its_task_asked_for() -> None:
    limits = memory.MemoryLimits(step_factor=2.0, step_floor_mb=100.0)
    assert limits.step_limit_mb(50.0, 300.0) == 650.0
    assert limits.step_limit_mb(50.0, 10.0) == 150.0


def _gone() -> int:
    """The id of a process that has ended and is buried."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    return child.pid
