"""What the tests run in worker processes: each does one thing that workers meet in life."""

import ctypes
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from headway.scheduler.context import current_step


def echo(value: Any = None) -> Any:
    return value


def pid(*_: Any) -> int:
    return os.getpid()


def wait_for(fifo: str) -> int:
    """Say who waits; return the same once somebody has opened the pipe for writing and closed it."""
    current_step().report_partial(os.getpid())
    with open(fifo) as pipe:
        pipe.read()
    return os.getpid()


def blob(size_bytes: int) -> bytes:
    return b"x" * size_bytes


def priority() -> tuple[int, int, int, int]:
    """Scheduling policy, niceness, session and process group."""
    return os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0), os.getsid(0), os.getpgid(0)


def descriptors() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:  # that of the listing itself
            continue
    return found


def environment() -> dict[str, str]:
    return dict(os.environ)


def modules() -> list[str]:
    return sorted(sys.modules)


def say(count: int = 1) -> None:
    for number in range(count):
        print(f"out {number}")
    sys.stderr.write("err\n")
    os.write(1, b"raw\n")


def read_stdin() -> str:
    return sys.stdin.read()


def leave(code: int) -> NoReturn:
    os._exit(code)


def system_exit(code: int) -> NoReturn:
    sys.exit(code)


def kill_me(number: int) -> None:
    os.kill(os.getpid(), number)
    threading.Event().wait()


def crash_in_native_code() -> None:
    ctypes.string_at(0)


def recurse() -> int:
    return recurse() + 1


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def fail(error: type[BaseException], *args: Any) -> NoReturn:
    raise error(*args)


class AwkwardError(Exception):
    """Cannot be pickled by its default means, and cannot even say what it is."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def __str__(self) -> str:
        raise RuntimeError("no words")


class CauseError(Exception):
    pass


def fail_with_cause() -> NoReturn:
    try:
        raise CauseError("the cause")
    except CauseError as cause:
        raise AwkwardError("a", "b") from cause


def unpicklable() -> Callable[[], int]:
    return lambda: 1


def _explode() -> NoReturn:
    raise ValueError("read in the wrong place")


class ExplodesWhenRead:
    def __reduce__(self) -> tuple[Any, ...]:
        return _explode, ()


def explodes_when_read() -> ExplodesWhenRead:
    return ExplodesWhenRead()


def allocate(mib: int) -> int:
    """Take memory and touch it, 8 MiB at a time; then wait to be ended."""
    held = [bytearray(os.urandom(1) * (8 << 20)) for _ in range(mib // 8)]
    current_step().report_partial("allocated")
    threading.Event().wait()
    return len(held)


def allocate_at_once(mib: int) -> int:
    return len(bytearray(mib << 20))


HELD: list[bytearray] = []


def hold(mib: int) -> int:
    """Leave the worker larger than it was."""
    HELD.append(bytearray(b"x" * (mib << 20)))
    return os.getpid()


def hang() -> None:
    """Begin, and never end; hears nothing."""
    current_step().report_partial(os.getpid())
    while True:
        sum(range(1000))


def hang_in_native_code() -> None:
    """Begin, and let no other thread of the process run any more."""
    current_step().report_partial(os.getpid())
    sum(itertools.repeat(0))


def hang_in_child() -> None:
    """Begin a process of its own, and hang."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        threading.Event().wait()
    os.close(write)
    current_step().report_partial(os.getpid())
    os.read(read, 1)


def until_cancelled() -> str:
    step = current_step()
    step.report_partial(os.getpid())
    while not step.cancelled():
        pass
    return "left"


def _wait_until_there(file: str) -> None:
    until_s = time.monotonic() + 60
    while not os.path.exists(file):
        assert time.monotonic() < until_s, f"{file} did not appear"
        time.sleep(0.005)


def heard_and_goes_on(file: str) -> list[bool]:
    """Say that it was told; go on until a file is there; tell what it hears then."""
    step = current_step()
    step.report_partial(os.getpid())
    while not step.cancelled():
        pass
    step.report_partial("told")
    _wait_until_there(file)
    answers = [step.cancelled(), step.cancelled()]
    step.report_partial(answers)
    return answers


def heard_by(file: str) -> tuple[bool, bool]:
    """Say that it runs; tell what it hears when a file is there."""
    step = current_step()
    step.report_partial(os.getpid())
    _wait_until_there(file)
    return step.cancelled(), step.preempted()


def large_partial(size_bytes: int) -> None:
    current_step().report_partial(b"x" * size_bytes)


def explosive_partial() -> str:
    current_step().report_partial(ExplodesWhenRead())
    return "done"


def leaves_a_thread(file: str) -> str:
    """End, and leave a thread behind that beats and reports when a file is there."""
    step = current_step()

    def late() -> None:
        _wait_until_there(file)
        step.heartbeat()
        step.report_partial("late")
        LATE.set()

    threading.Thread(target=late, daemon=True).start()
    return "ended"


LATE = threading.Event()


def until_late() -> str:
    """Say that it runs, and stay until the thread that was left behind has spoken."""
    current_step().report_partial("mine")
    LATE.wait()
    return "mine"


def interruptible() -> None:
    """Hear nothing, but bear to be interrupted."""
    step = current_step()
    with step.interruptible():
        step.report_partial(os.getpid())
        while True:
            sum(range(1000))


def until_preempted() -> str:
    step = current_step()
    step.report_partial(os.getpid())
    while not step.preempted():
        pass
    return "made room"


def beat_and_report() -> tuple[Any, ...]:
    step = current_step()
    step.heartbeat()
    step.report_partial({"so far": 1})
    return step.attempt, dict(step.results), dict(step.previous), step.deadline_at_s


def now() -> float:
    return time.monotonic()


def stop_me() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
