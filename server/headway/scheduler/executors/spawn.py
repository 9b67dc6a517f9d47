"""Starts processes and watches them until they are reaped; knows nothing of what they do.

Every process gets a process group of its own, so that it can be ended together with what it started, but stays in our
session: with the kernel's autogroup scheduling a new session would cancel its niceness. Exactly the named descriptors
are inherited. An exit is noticed through a pidfd on Linux and through a waiting thread elsewhere.

Windows is written for but untested: there a job object ends the process with ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import functools
import logging
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any

from headway.scheduler.executors import launch

_log = logging.getLogger(__name__)


class PriorityClass(enum.StrEnum):
    """How much a process may be felt. BACKGROUND runs where nothing else wants to: SCHED_IDLE, nice 19, idle I/O."""

    INTERACTIVE = "interactive"
    NORMAL = "normal"
    POLITE = "polite"  # nice 10
    BACKGROUND = "background"


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return our environment without what would change another program's behaviour by accident.

    Left out: `PYTHON*` and what virtual environments set (they would inject code or another library into a Python
    program), and git's redirections (set while git runs a hook). `extra` is added, and wins.
    """
    unwanted = ("PYTHON", "VIRTUAL_ENV", "__PYVENV", "CONDA_", "GIT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return kept | dict(extra or {})


def tied_to_us(argv: Sequence[str], priority_class: PriorityClass, lifeline: int = -1) -> list[str]:
    """Return the command line that runs `argv` (its program an absolute path) through the trampoline in `launch`."""
    if sys.platform == "win32":
        return list(argv)  # A job object and creation flags do the same there.
    arguments = [str(os.getpid()), str(priority_class), str(lifeline)]
    return [sys.executable, "-I", "-S", "-E", launch.__file__, *arguments, *argv]


class Process:
    """A started process. `on_exit` is called once, on the loop, with the exit code (negative: a signal) after reaping.

    Create it on the loop's thread: the parent-death signal that the process asks for is bound to that thread.

    Raises:
        OSError: the program cannot be started; no callback follows.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        on_exit: Callable[[int], None],
        priority_class: PriorityClass = PriorityClass.NORMAL,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int | IO[Any] | None = subprocess.DEVNULL,
        stdout: int | IO[Any] | None = subprocess.DEVNULL,
        stderr: int | IO[Any] | None = subprocess.DEVNULL,
        pass_fds: Iterable[int] = (),
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._on_exit = on_exit
        _reaper()  # its thread is started now: to start one at an exit would hold the loop on a busy machine
        self._pidfd = -1
        self._gives_way = priority_class in (PriorityClass.POLITE, PriorityClass.BACKGROUND)
        self._popen = _start(argv, priority_class, cwd, env, stdin, stdout, stderr, tuple(pass_fds))
        self.pid: int = self._popen.pid
        self.returncode: int | None = None
        self._ended = False  # it is being reaped: from now on its id may become another's
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._watch()

    @property
    def stdin(self) -> Any:
        return self._popen.stdin

    @property
    def stdout(self) -> Any:
        return self._popen.stdout

    @property
    def stderr(self) -> Any:
        return self._popen.stderr

    @property
    def running(self) -> bool:
        """Whether its id is its own: it runs, or nobody has noticed its end yet."""
        return not self._ended

    async def wait(self) -> int:
        """Return the exit code once the process is reaped. Cancelling the waiter leaves the process as it is."""
        return await asyncio.shield(self._exited)

    def kill(self) -> None:
        """End the process and all of its group at once. Nothing happens when it has ended."""
        if self._ended:
            return
        if sys.platform == "win32":
            self._popen.kill()
        else:
            if self._gives_way:
                _hurry(self.pid)
            self.signal_group(signal.SIGKILL)

    def signal_group(self, number: int) -> None:
        """Send a signal to the process and all of its group. Nothing happens when it has ended."""
        if self._ended:
            return
        if sys.platform == "win32":
            self._popen.send_signal(number)
            return
        # Until it is reaped the group's id cannot belong to anyone else. (macOS refuses a group of zombies alone.)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _watch(self) -> None:
        if sys.platform == "linux":
            with contextlib.suppress(OSError):  # An old kernel or no descriptor left: the thread below does as well.
                self._pidfd = os.pidfd_open(self.pid)
                self._loop.add_reader(self._pidfd, self._exit_seen)
                return
        threading.Thread(target=self._wait_in_thread, name=f"wait-{self.pid}", daemon=True).start()

    def _wait_in_thread(self) -> None:
        if sys.platform == "win32":
            self._popen.wait()
        else:
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        self._on_loop(self._exit_seen)

    def _exit_seen(self) -> None:
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        self.kill()  # What it leaves behind in its group; as a zombie it still holds the group's id for us.
        self._ended = True
        # Not here: while somebody reads below its /proc the kernel spins in the reaper, 0.7 s at times (Linux 6.18,
        # release_task in shrink_dcache_parent).
        _reaper().put(self._reap_in_thread)

    def _reap_in_thread(self) -> None:
        returncode = self._popen.wait()
        self._on_loop(lambda: self._reaped(returncode))

    def _on_loop(self, call: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # The loop was closed first: nobody is left to be told.
            self._loop.call_soon_threadsafe(call)

    def _reaped(self, returncode: int) -> None:
        self.returncode = returncode
        self._exited.set_result(returncode)
        self._on_exit(returncode)


@functools.cache
def _reaper() -> queue.SimpleQueue[Callable[[], None]]:
    """Return what takes calls that reap; a thread carries them out, one after the other."""
    calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def work() -> None:
        while True:
            calls.get()()

    threading.Thread(target=work, name="headway-reaper", daemon=True).start()
    return calls


def describe_exit(returncode: int) -> str:
    """Return how a process ended, for people: "exited with code 3", "was killed by SIGSEGV"."""
    if returncode >= 0:
        return f"exited with code {returncode}"
    try:
        return f"was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was killed by signal {-returncode}"


def _hurry(pid: int) -> None:
    """Give a process that is about to be killed, and its group, our own priority, where the system lets us.

    A killed process needs the CPU once more to end. At idle priority beside busy processes it came to its turn after
    0.9 s in the median; like this after 13 ms (Linux 6.18, four busy processes on two cores).
    """
    # Lowering a nice value needs CAP_SYS_NICE or RLIMIT_NICE. Without, it ends a little later.
    with contextlib.suppress(OSError):
        if sys.platform == "linux":
            os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))
        os.setpriority(os.PRIO_PGRP, pid, os.getpriority(os.PRIO_PROCESS, 0))


def _start(
    argv: Sequence[str],
    priority_class: PriorityClass,
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
    stdin: int | IO[Any] | None,
    stdout: int | IO[Any] | None,
    stderr: int | IO[Any] | None,
    pass_fds: tuple[int, ...],
) -> subprocess.Popen[bytes]:
    if sys.platform == "win32":
        from asyncio.windows_utils import Popen  # its pipes are the overlapped ones that the loop needs

        from headway.scheduler.executors import windows

        flags = windows.creation_flags(priority_class)
        popen = Popen(
            list(argv), cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, creationflags=flags, bufsize=0
        )
        windows.end_with_us(popen)
        return popen
    return subprocess.Popen(
        list(argv),
        cwd=cwd,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
        bufsize=0,
        process_group=0,
    )
