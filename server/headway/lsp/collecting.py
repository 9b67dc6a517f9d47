"""When Python looks for garbage in cycles: in pauses, so that the loop stands still for nobody who waits.

A look through all objects takes 100 ms and more where an index and its caches are held, and by itself it comes in the
middle of anything. Here only the young objects are looked through by themselves, well under a millisecond each time.
The rest waits for a pause of the client. What is alive then is set aside (`gc.freeze`), so that the next look takes as
long as what has come since; in a long pause, now and then, all of it is looked through.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

_EVERY_S = 0.5
# Who has been away for long is looked after more rarely, as there is little to find: each look wakes the process.
_SHARE_OF_SILENCE = 4
_SELDOM_S = 15.0
_PAUSE_S = 0.5
_LONG_PAUSE_S = 60.0
_LONGEST_WITHOUT_PAUSE_S = 60.0
_THOROUGHLY_EVERY_S = 1800.0
# Young objects that were moved on since the last look, in numbers of looks through them; as Python's own default.
_WORTHWHILE = 10
_NEVER = 1_000_000


class Collecting:
    """Takes garbage collection into its own hands from `start` on. On the event loop only.

    Args:
        silent_s: For how long nothing has come from the client, in seconds.
    """

    def __init__(self, silent_s: Callable[[], float]) -> None:
        self._silent_s = silent_s
        self._loop = asyncio.get_running_loop()
        self._looked_s = self._thorough_s = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Set aside what was imported, without looking through it, and go on as the module says."""
        young, middle, _ = gc.get_threshold()
        gc.set_threshold(young, middle, _NEVER)
        gc.freeze()
        gc.enable()
        self._timer = self._loop.call_later(_EVERY_S, self._look)

    def close(self) -> None:
        """Do nothing any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = self._loop.call_later(self.next_look_s(), self._look)
        self.look(self._loop.time())

    def next_look_s(self) -> float:
        """Return in how many seconds it is to be looked again."""
        return min(max(_EVERY_S, self._silent_s() / _SHARE_OF_SILENCE), _SELDOM_S)

    def look(self, now_s: float) -> None:
        """Collect garbage, if it is worthwhile at this instant of the loop's clock."""
        silent_s = self._silent_s()
        if silent_s >= _LONG_PAUSE_S and now_s - self._thorough_s >= _THOROUGHLY_EVERY_S:
            self._thorough_s = now_s
            gc.unfreeze()
        elif gc.get_count()[2] < _WORTHWHILE or not (
            silent_s >= _PAUSE_S or now_s - self._looked_s >= _LONGEST_WITHOUT_PAUSE_S
        ):
            return
        self._looked_s = now_s
        gc.collect()
        gc.freeze()
