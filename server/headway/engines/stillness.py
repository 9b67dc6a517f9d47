"""Noticing a server that hangs: it owes an answer, says nothing, not even to a question of ours, and computes nothing.

Such a one does not end by itself, and all that it is asked would be in vain until the editor is started anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Final

import psutil

from headway.scheduler.executors.children import Child, PriorityClass

# Who gives way to others may be kept from computing by them for long.
LIMITS_S: Final[Mapping[PriorityClass, float]] = {
    PriorityClass.INTERACTIVE: 30.0,
    PriorityClass.POLITE: 60.0,
    PriorityClass.BACKGROUND: 300.0,
}
_STOOD_STILL_S = 1.0
_COMPUTES = 0.005  # of a core: less is no work

_log = logging.getLogger(__name__)


class Stillness:
    """Kills a server that has owed an answer for `limit_s` and in the second half of it neither spoke nor computed.

    Who keeps it running then starts another one.

    Args:
        ping: Sends it a request that any server answers at once, be it with an error.
    """

    def __init__(self, child: Child, name: str, limit_s: float, ping: Callable[[], None]) -> None:
        self._child = child
        self._name = name
        self._half_s = limit_s / 2
        self._ping = ping
        self._owes = False
        self._used_s: float | None = None  # CPU time, where it was quiet for half the limit already
        self._due_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def asked(self) -> None:
        """It owes an answer from now on."""
        if not self._owes:
            self._owes = True
            if self._timer is None:
                self._look_later()

    def heard(self) -> None:
        """It has said something."""
        self._owes = False
        self._used_s = None

    def close(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look_later(self) -> None:
        loop = asyncio.get_running_loop()
        self._due_s = loop.time() + self._half_s
        self._timer = loop.call_at(self._due_s, self._look)

    def _look(self) -> None:
        self._timer = None
        used_s = _used_s(self._child.pid)
        if not self._owes or used_s is None:
            return  # The next question has it looked at again; or it has ended, which its keeper sees.
        stood_still = asyncio.get_running_loop().time() > self._due_s + _STOOD_STILL_S
        quiet = self._used_s is not None and abs(used_s - self._used_s) < _COMPUTES * self._half_s
        if quiet and not stood_still:
            _log.warning("%s neither answers nor computes since %.0f s and is ended", self._name, 2 * self._half_s)
            self._child.kill()
            return
        if self._used_s is None:
            self._ping()
        self._used_s = None if stood_still else used_s
        self._look_later()


def _used_s(pid: int | None) -> float | None:
    """Return the CPU time of a process and all that it has started, None where it has gone."""
    if pid is None:
        return None
    try:
        process = psutil.Process(pid)
        families = [process, *process.children(recursive=True)]
    except psutil.Error:
        return None
    used_s = 0.0
    for one in families:
        try:
            times = one.cpu_times()
        except psutil.Error:
            continue  # It ended meanwhile: the sum is another one, which is a sign of life.
        used_s += times.user + times.system
    return used_s
