"""Noticing that the editor has died, though its pipe may stay open."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable

import psutil

_POLL_S = 1.0

_log = logging.getLogger(__name__)


class EditorWatch:
    """Calls `on_death` once when the process has ended; a zombie has.

    A process that is not there when the watch begins lives in another namespace (a container, another host): its death
    cannot be seen from here, and the end of input has to do.
    """

    def __init__(self, pid: int, on_death: Callable[[], None]) -> None:
        self._pid = pid
        self._on_death = on_death
        self._loop = asyncio.get_running_loop()
        self._pidfd: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._process: psutil.Process | None = None

    def start(self) -> None:
        """Begin to watch."""
        try:
            self._process = psutil.Process(self._pid)
        except psutil.Error:
            _log.info("the client's process %d cannot be seen from here; the end of input ends this server", self._pid)
            return
        if hasattr(os, "pidfd_open"):
            try:
                self._pidfd = os.pidfd_open(self._pid)
                self._loop.add_reader(self._pidfd, self._died)
                return
            except OSError as error:
                _log.debug("no pidfd (%s); the client's process is polled", error)
        self._poll()

    def close(self) -> None:
        """Watch no longer."""
        if self._timer is not None:
            self._timer.cancel()
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def _poll(self) -> None:
        if self._alive():
            self._timer = self._loop.call_later(_POLL_S, self._poll)
        else:
            self._died()

    def _alive(self) -> bool:
        if self._process is None:
            return False
        try:
            # `is_running` compares the time of birth, so that a pid used anew counts as dead.
            return self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

    def _died(self) -> None:
        self.close()
        _log.warning("the client's process %d has ended", self._pid)
        self._on_death()
