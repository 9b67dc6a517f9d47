"""The first code that a child process runs: ties its life to its parent's, lowers its priority, becomes the program.

Run by path, `python -I -S -E launch.py PARENT_PID PRIORITY LIFELINE_FD PROGRAM ARGUMENT…`, so it may import nothing of
ours; worker processes import `die_with_parent` and `lower_priority` from here. An idle priority cannot be taken back by
an unprivileged process, and what a process forks or which threads it starts inherit it; so it is set here, by the
process itself and before anything else runs, and not by the parent afterwards.

PRIORITY is `interactive`, `normal`, `polite` or `background`. LIFELINE_FD is -1, or the reading end of a pipe whose
only writing end is the parent's: then this process stays as a guard, runs the program as its child, and ends the whole
process group when the pipe is closed, that is, when the parent died in whatever way. Needed only for programs that
start others, as the parent-death signal reaches one generation only.
"""

from __future__ import annotations

import os
import sys

_PR_SET_PDEATHSIG = 1
_IOPRIO_CLASS_IDLE = 3 << 13
# The number of ioprio_set, which libc does not wrap. Elsewhere the kernel derives the idle I/O class from SCHED_IDLE.
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
_CANNOT_START = 127
# The number of sched_setattr, which libc does not wrap either.
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
_SHORT_SLICE_NS = 100_000  # the shortest that Linux takes; its own are some milliseconds long


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when the thread that started it ends (Linux; elsewhere nothing happens).

    A parent that died before the request took effect is noticed by comparing `parent_pid`; then this process exits.
    """
    if sys.platform != "linux":
        return
    import ctypes
    import signal

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent_pid:
        os._exit(0)


def take_short_turns(wanted: bool = True) -> None:
    """Have this thread, and what it starts from now on, run in short slices of time, or (not `wanted`) in usual ones.

    Since Linux 6.12 who asks for short slices may interrupt others of its priority when it wakes, instead of waiting
    until their slice is over: it gets no more of the CPU, and gets it sooner. Older kernels take the request and do
    nothing; what the system refuses is left as it was. (The kernel's documentation of EEVDF; sched_setattr(2).)
    """
    number = _SCHED_SETATTR.get(os.uname().machine) if sys.platform == "linux" else None
    if number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    import ctypes
    import struct

    # size, policy, flags, nice, priority, runtime: the slice, 0 the usual one; then what other policies need.
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = struct.pack("=IIQiIQQQ", 48, os.SCHED_OTHER, 0, nice, 0, _SHORT_SLICE_NS if wanted else 0, 0, 0)
    ctypes.CDLL(None, use_errno=True).syscall(number, 0, attributes, 0)


def lower_priority(priority: str) -> None:
    """Give this process the CPU and I/O priority of a class; what the system refuses is left as it was."""
    take_short_turns(priority == "interactive")
    if sys.platform == "win32" or priority in ("interactive", "normal"):
        return  # Windows: the parent passes the class as a creation flag.
    wanted = 19 if priority == "background" else 10
    current = os.getpriority(os.PRIO_PROCESS, 0)
    if wanted > current:
        os.setpriority(os.PRIO_PROCESS, 0, wanted)
    if priority != "background" or sys.platform != "linux":
        return
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError as error:
        # Some sandboxes filter the call. Nice 19 holds, and the log says why the rest does not.
        os.write(2, f"headway: no idle scheduling here ({error}); nice 19 is used alone\n".encode())
    number = _IOPRIO_SET.get(os.uname().machine)
    if number is not None:
        import ctypes

        ctypes.CDLL(None, use_errno=True).syscall(number, 1, 0, _IOPRIO_CLASS_IDLE)


def _become(argv: list[str]) -> None:
    # What `signal` is made of: its enumerations would take longer to make than all the rest that is done here.
    import _signal  # type: ignore[import-not-found]

    # Requests to end are how a program is asked to stop. What was started in a shell's background, and all below it,
    # inherits that an interrupt is ignored.
    for request in (_signal.SIGINT, _signal.SIGTERM):
        _signal.signal(request, _signal.SIG_DFL)
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        os.write(2, f"headway: cannot run {argv[0]}: {error.strerror}\n".encode())
        os._exit(_CANNOT_START)


def _guard(lifeline: int, argv: list[str]) -> None:
    """Run `argv` as a child in this group; end as it ended, or take the group along when the lifeline is cut."""
    import select
    import signal

    guard_pid = os.getpid()
    child = os.fork()
    if child == 0:
        die_with_parent(guard_pid)
        os.close(lifeline)
        _become(argv)
    # Requests to end are meant for the program; they reach it too, since they are sent to the group.
    for request in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(request, signal.SIG_IGN)
    ended_reader, ended_writer = os.pipe()
    os.set_blocking(ended_writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ended_writer, warn_on_full_buffer=False)
    # The program's standard streams are its own: a copy kept here would hide their end from the parent.
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(ended_reader, select.POLLIN)
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            break
        if any(fd == lifeline for fd, _ in poll.poll()):
            os.killpg(0, signal.SIGKILL)
        os.read(ended_reader, 512)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if code != -signal.SIGKILL:  # its default action cannot be set, and need not be
            signal.signal(-code, signal.SIG_DFL)
        os.kill(guard_pid, -code)
    os._exit(code)


def main(arguments: list[str]) -> None:
    """Carry out the command line that the module's docstring describes; does not return."""
    parent_pid, priority, lifeline, argv = int(arguments[0]), arguments[1], int(arguments[2]), arguments[3:]
    lower_priority(priority)
    if lifeline >= 0:
        _guard(lifeline, argv)
    else:
        die_with_parent(parent_pid)
    _become(argv)


if __name__ == "__main__":
    main(sys.argv[1:])
