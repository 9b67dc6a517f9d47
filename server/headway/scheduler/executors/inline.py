"""Steps of every kind on the event loop, in no thread and no other process. For tests and simulations."""

from __future__ import annotations

from headway.scheduler.executors.base import Executors, Role
from headway.scheduler.executors.loop import LoopExecutor


class InlineExecutor(LoopExecutor):
    """Stands in for threads or worker processes: calls and coroutines alike run on the loop.

    Args:
        slots: How many steps of each role may run at once.
    """

    def __init__(self, slots: int = 4) -> None:
        super().__init__(awaits_everything=True)
        self._slots = slots

    def capacity(self, role: Role) -> int:
        return self._slots


def inline_executors(slots: int = 4) -> Executors:
    """Return executors that keep everything on the loop, with `slots` places for each role of threads and processes."""
    return Executors(loop=LoopExecutor(), thread=InlineExecutor(slots), process=InlineExecutor(slots))
