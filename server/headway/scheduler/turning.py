"""An event loop that says when it turns again after a wait, so that nobody need look whether it does.

What watches the loop (`watchdog.py`) can sleep while the loop does. Only the selector is ours, which asyncio takes as
an argument; a turn costs one look at an attribute more.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable


class TurningSelector(selectors.DefaultSelector):
    """The system's best selector; calls `on_turn`, once for each time that it is set, when it has waited."""

    on_turn: Callable[[], None] | None = None

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """See `selectors.BaseSelector.select`."""
        ready = super().select(timeout)
        if self.on_turn is not None:
            told, self.on_turn = self.on_turn, None
            told()
        return ready


class TurningLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop over a `TurningSelector`, its `turning`. Not for Windows, where children need another."""

    def __init__(self) -> None:
        self.turning = TurningSelector()
        super().__init__(self.turning)
