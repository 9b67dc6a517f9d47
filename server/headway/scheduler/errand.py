"""What is kept of a call that is a job of its own and has no wishes; `errands` says how it lives. Pure; of the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headway.scheduler.model import Priority, TaskState
from headway.scheduler.records import TaskRecord
from headway.scheduler.resources import Grant, Shape

_READY: Final = TaskState.READY


class Errand(TaskRecord):
    """The record of a task of which, while it is `folded`, only this is filled in: what waiting and running need.

    The rest of it, with the job, is made by `Errands.unfold`; until then to read that is an AttributeError. Of the
    executor it is, while folded, what is to be run, too.
    """

    __slots__ = ("args", "call", "finished_at_s", "folded", "grant", "name", "number", "run_id", "waiter")

    grant: Grant
    finished_at_s: float

    def __init__(
        self,
        number: int,
        key: int,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        name: str,
        priority: Priority,
        shape: Shape,
        ready_at_s: float,
    ) -> None:
        self.folded = True
        self.number = number  # of its job
        self.key = key
        self.call = call
        self.args = args
        self.name = name
        self.run_id = 0
        self.waiter: Any = None  # opaque: who waits for the end
        self.state = _READY
        self.priority = priority
        self.level = priority
        self.shape = shape
        self.pool = -1
        self.order = None
        self.entry = None
        self.doom = None
        self.in_attempt = False
        self.ready_at_s = ready_at_s

    @property
    def ticket(self) -> int:
        """Whom its job is for. Below zero, as those of jobs that came the long way are not."""
        return -self.number
