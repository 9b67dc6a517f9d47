"""Notices when the event loop has not turned for long, and names the code that kept it.

A thread looks at what the loop's thread is doing, a quarter of the limit after the loop began to turn. If that is not
waiting for events, the loop is asked for a sign of life; until it comes, the stack of its thread is sampled. While the
loop waits, this thread does, too: at rest it costs nothing. A loop that does not say when it turns (`turning.py` has
the one that does) is looked at forty times a second instead, or ten while nothing happens. Time in which the whole
process stood still (stopped, suspended, starved of CPU) is nobody's fault and is not counted; time in which native
code kept the interpreter's lock is, as far as the loop's thread used the CPU.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import functools
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType

from headway.scheduler.model import LoopStalled
from headway.scheduler.turning import TurningLoop, TurningSelector

_log = logging.getLogger(__name__)

_LOOKS_PER_LIMIT = 4
_CALM_LOOKS = 20  # then once in the limit is enough, until something happens again
_LOOP_HANGS_S = 2.0  # said to the log while it lasts, as the loop cannot report it
_SAME_CLOCK_S = 1.0
_DEPTH = 100  # frames looked at
_WAITS = (("selectors.py", "select"), ("windows_events.py", "_poll"))
UNSEEN = "what it did could not be seen"
_LIBRARY = os.path.dirname(os.__file__) + os.sep


class Watchdog:
    """Watches the running loop between `start` and `close`; `report` is called on the loop after each stall.

    Args:
        limit_s: Stretches shorter than this are not reported.
        report: Told how long and what.
    """

    def __init__(self, limit_s: float, report: Callable[[LoopStalled], None]) -> None:
        self._limit_s = limit_s
        self._look_s = limit_s / _LOOKS_PER_LIMIT
        self._report = report
        # Held while it watches: to wait for a lock costs half of what it costs to wait for an Event.
        self._watching = threading.Lock()
        self._watch_number = 0
        self._turned = threading.Event()
        self._turning: TurningSelector | None = None
        self._turned_at = (0.0, 0.0)  # when the loop turned after a rest, and the CPU time of its thread then

    def start(self) -> None:
        """Begin to watch the loop that runs this; call it on that loop.

        Nothing is watched without a finite limit, nor on a loop that has a clock of its own, which cannot be late.
        """
        real = abs(asyncio.get_running_loop().time() - time.monotonic()) < _SAME_CLOCK_S
        if not (real and math.isfinite(self._limit_s)):
            return
        self._watch_number += 1
        self._watching = threading.Lock()
        self._watching.acquire()
        self._loop = asyncio.get_running_loop()
        self._turning = self._loop.turning if isinstance(self._loop, TurningLoop) else None
        self._thread_id = threading.get_ident()
        self._cpu_clock = _cpu_clock_of(self._thread_id)
        begin = (self._watch_number, self._watching, time.monotonic(), self._cpu_s())
        threading.Thread(target=self._watch, args=begin, name="headway-watchdog", daemon=True).start()

    def close(self) -> None:
        """Stop watching; nothing is reported any more."""
        self._watch_number += 1
        if self._watching.locked():
            self._watching.release()

    def _stir(self) -> None:
        self._turned_at = (time.monotonic(), self._cpu_s())
        if self._watching.locked():
            self._watching.release()

    def _rest(self, watching: threading.Lock) -> bool:
        """Wait for as long as the loop does, where it says when it turns; return whether it has waited."""
        if self._turning is None:
            return False
        self._turning.on_turn = self._stir
        # It may have turned, and be at something, since it was last looked at; then nobody would say so.
        frame = self._frame()
        waits = frame is None or _is_wait(frame)
        del frame
        if waits:
            watching.acquire()
        return waits

    def _watch(self, number: int, watching: threading.Lock, looked_s: float, cpu_s: float) -> None:
        calm = 0
        while number == self._watch_number:
            look_s = self._look_s if calm < _CALM_LOOKS else self._limit_s
            left_s = max(0.0, looked_s + look_s - time.monotonic())
            if watching.acquire(timeout=left_s) and number != self._watch_number:
                return
            frame = self._frame()
            if frame is None or _is_wait(frame):
                calm += 1
            else:
                # Described first of all: whatever lets other threads run lets the loop go on to something else.
                first = describe(frame)
                calm = 0
                now_s = time.monotonic()
                overslept_s = now_s - looked_s - look_s
                # Who kept the lock from us began before this look; what its thread did not compute is not its.
                locked_s = min(overslept_s, self._cpu_s() - cpu_s) if overslept_s > self._look_s else 0.0
                samples = collections.Counter({first: 1 + int(locked_s / self._look_s)})
                self._examine(number, samples, now_s - locked_s - look_s / 2)
            del frame  # It holds the locals of all that it stands in.
            if self._rest(watching):
                calm = 0
                looked_s, cpu_s = self._turned_at
            else:
                looked_s, cpu_s = time.monotonic(), self._cpu_s()

    def _examine(self, number: int, samples: collections.Counter[str], since_s: float) -> None:
        """Ask the loop for a sign of life and sample its stack until it comes; report if that was too long.

        Args:
            number: Of the watch that this is part of.
            samples: What was seen already.
            since_s: When it began, by our best guess: halfway between the last look and this one.
        """
        excused_s = 0.0
        said = False
        marked_s, cpu_s = time.monotonic(), self._cpu_s()
        self._turned.clear()
        if not self._on_loop(self._turned.set):
            return
        while number == self._watch_number:
            turned = self._turned.wait(self._look_s)
            now_s, now_cpu_s = time.monotonic(), self._cpu_s()
            if now_s - marked_s > 2 * self._look_s:
                excused_s += max(0.0, now_s - marked_s - self._look_s - (now_cpu_s - cpu_s))
            marked_s, cpu_s = now_s, now_cpu_s
            stalled_s = now_s - since_s - excused_s
            if turned:
                if stalled_s >= self._limit_s:
                    self._on_loop(functools.partial(self._tell, number, stalled_s, _most_seen(samples)))
                return
            frame = self._frame()
            if frame is not None:
                samples[describe(frame)] += 1
            del frame
            if stalled_s > _LOOP_HANGS_S and not said:
                said = True
                _log.error("the event loop has not turned for %.1f s: %s", stalled_s, _most_seen(samples))

    def _tell(self, number: int, stalled_s: float, culprit: str) -> None:
        if number == self._watch_number:
            _log.warning("the event loop did not turn for %.0f ms: %s", stalled_s * 1000, culprit)
            self._report(LoopStalled(at_s=self._loop.time(), stalled_s=stalled_s, culprit=culprit))

    def _on_loop(self, call: Callable[[], None]) -> bool:
        with contextlib.suppress(RuntimeError):  # The loop is closed.
            self._loop.call_soon_threadsafe(call)
            return True
        return False

    def _frame(self) -> FrameType | None:
        return sys._current_frames().get(self._thread_id)

    def _cpu_s(self) -> float:
        """Return the CPU time of the loop's thread; where it cannot be told, as if it computed all the time."""
        return time.monotonic() if self._cpu_clock is None else time.clock_gettime(self._cpu_clock)


def describe(frame: FrameType) -> str:
    """Return where a thread is, in words, from inside to outside.

    Named are the innermost function, the innermost that is not the standard library's, and the callback of the loop
    that all is part of, as far as they differ.
    """
    try:
        return _described(frame)
    # They come and go while they are read from here: Python 3.11 was seen to show one that was torn.
    except Exception:  # noqa: BLE001
        return UNSEEN


def _described(frame: FrameType) -> str:
    frames: list[FrameType] = []
    found: FrameType | None = frame
    while found is not None and len(frames) < _DEPTH and not _is_asyncio(found):
        frames.append(found)
        found = found.f_back
    if not frames:
        return _last_callback(frame)
    ours = next((one for one in frames if not _is_library(one)), frames[0])
    return ", within ".join(dict.fromkeys(_place(one) for one in (frames[0], ours, frames[-1])))


def _last_callback(frame: FrameType) -> str:
    """Return the callback that the loop ran last: native code gives the lock up only when its callback is over."""
    found: FrameType | None = frame
    while found is not None and found.f_code.co_name != "_run_once":
        found = found.f_back
    handle = None if found is None else found.f_locals.get("handle")
    callback = getattr(handle, "_callback", None)
    if callback is None:
        return _place(frame)
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        callback = task.get_coro()
    while isinstance(callback, functools.partial):
        callback = callback.func
    code = getattr(callback, "__code__", None) or getattr(callback, "cr_code", None)
    name = getattr(callback, "__qualname__", repr(callback))
    return f"{name} ({_file(code.co_filename)}:{code.co_firstlineno})" if isinstance(code, CodeType) else str(name)


def _most_seen(samples: collections.Counter[str]) -> str:
    return samples.most_common(1)[0][0]


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_qualname} ({_file(frame.f_code.co_filename)}:{frame.f_lineno})"


def _file(path: str) -> str:
    directory, file = os.path.split(path)
    return f"{os.path.basename(directory)}/{file}"


def _is_library(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_LIBRARY) and "site-packages" not in frame.f_code.co_filename


def _is_asyncio(frame: FrameType) -> bool:
    return os.path.basename(os.path.dirname(frame.f_code.co_filename)) == "asyncio"


def _is_wait(frame: FrameType) -> bool:
    """Whether the loop stands in its call for events (of a selector, or on Windows of the completion port)."""
    try:
        code = frame.f_code
        return (os.path.basename(code.co_filename), code.co_name) in _WAITS
    except Exception:  # noqa: BLE001  # as in `describe`
        return False


def _cpu_clock_of(thread_id: int) -> int | None:
    return time.pthread_getcpuclockid(thread_id) if sys.platform == "linux" else None
