"""What went wrong with one folder's index, what people are told of it, and how often it is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from headway.wording import say
from headway.workspace.opened import Trouble

_RETRY_DELAYS_S: Final = (0.5, 2.0, 10.0)
_MOST_REOPENINGS: Final = 3


class Setbacks:
    """See the module. Owned by a `FolderIndex`, on the loop.

    Args:
        name: What people call the folder.
        changed: Called when there is something else to say.
        go_on: Called when it is time to try again.
    """

    def __init__(self, name: str, changed: Callable[[], None], go_on: Callable[[], None]) -> None:
        self.message: str | None = None  # what is off, and what to do about it
        self.is_off = False  # no place can be written, or the index kept breaking
        self.holds = False  # until the next try
        self.gave_up = False  # it was tried often enough: only a change or a wish begins anew
        self.avoid = ""  # why the usual place is not to be used; empty: it is
        self.stays = False  # the message is about a place, and true as long as that is used
        self._name = name
        self._changed = changed
        self._go_on = go_on
        self._failures = 0
        self._reopenings = 0
        self._timer: asyncio.TimerHandle | None = None

    def say(self, message: str | None) -> None:
        """Tell people what is off; None: all is well, unless something was said that stays true."""
        if message is None and self.stays:
            return
        if message != self.message:
            self.message = message
            self._changed()

    def turn_off(self, message: str | None) -> None:
        """There is no index."""
        self.is_off = True
        self.say(message)

    def again(self, message: str) -> bool:
        """Try again after a while; return False where that was done often enough, and say so."""
        if self._failures >= len(_RETRY_DELAYS_S):
            self._failures = 0
            self.gave_up = True
            self.say(message)
            return False
        self.gave_up = False
        self.holds = True
        self._timer = asyncio.get_running_loop().call_later(_RETRY_DELAYS_S[self._failures], self._due)
        self._failures += 1
        return True

    def broke(self, trouble: Trouble, reason: str) -> None:
        """The index has to be opened or made anew; one that keeps breaking is given up.

        A place that is unusable a second time (the first may be somebody who removed it) is left for a temporary one.
        """
        self._reopenings += 1
        if trouble == "unusable" and self._reopenings > 1:
            self.avoid = reason
        if self._reopenings > _MOST_REOPENINGS:
            self.turn_off(
                say(
                    "The index of {folder} keeps breaking ({reason}) and is off. When that is mended, clear the cache "
                    "or restart.",
                    folder=self._name,
                    reason=reason,
                )
            )

    def waits(self, reason: str) -> None:
        """Somebody else holds the lock of the index."""
        self.say(
            say(
                "Another program holds the lock of the index of {folder} ({reason}). Indexing goes on as soon as it "
                "lets go.",
                folder=self._name,
                reason=reason,
            )
        )

    def succeeded(self) -> None:
        """What failed before has succeeded."""
        self._failures = 0
        self.gave_up = False
        self.say(None)

    def forget(self) -> None:
        """Begin anew, as asked."""
        self.is_off = self.holds = self.gave_up = False
        self._failures = self._reopenings = 0
        self.avoid = ""
        self.close()

    def close(self) -> None:
        """Try nothing any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _due(self) -> None:
        self.holds = False
        self._go_on()
