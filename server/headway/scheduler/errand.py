"""What is kept of a call that is a job of its own and has no wishes; `errands` says how it lives. Pure; of the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from headway.scheduler.model import Failure, Priority, TaskState
from headway.scheduler.queues import Entry
from headway.scheduler.records import JobRecord, TaskRecord
from headway.scheduler.resources import Grant, Shape

_READY: Final = TaskState.READY


class Errand(Entry["Waiting"]):
    """A call, and its stay in the queue if it has one: of those that come in thousands this one object is all there is.

    Until it is unfolded it stands for its task where who waits is looked at, and what it has no slot for holds of all
    errands. Then there is a record of the task (and one of its job), which has the errand for its entry while it
    waits. Of the executor it is what is to be run, too.
    """

    __slots__ = (
        "args",
        "call",
        "finished_at_s",
        "grant",
        "name",
        "number",
        "priority",
        "ran_s",
        "record",
        "run_id",
        "shape",
        "started_at_s",
        "state",
        "value",
        "waiter",
    )

    doom: Final[Failure | None] = None
    in_attempt: Final = False
    pool: Final = -1
    job: JobRecord  # of the record; to read it here is an AttributeError
    grant: Grant
    started_at_s: float
    ran_s: float
    finished_at_s: float
    value: Any

    def __init__(
        self,
        number: int,
        call: Callable[..., Any],
        args: tuple[Any, ...],
        name: str,
        priority: Priority,
        shape: Shape,
        since_s: float,
    ) -> None:
        self.number = number  # of its job
        self.call = call
        self.args = args
        self.name = name
        self.priority = priority
        self.shape = shape
        self.since_s = since_s
        self.record: TaskRecord | None = None  # once it is unfolded
        self.waiter: Any = None  # opaque: who waits for the end
        self.state = _READY
        self.run_id = 0
        self.live = False
        self.tag = 0.0

    @property
    def item(self) -> Waiting:  # type: ignore[override]  # which nobody sets
        """Who waits here: the task if it has a record, or this."""
        record = self.record
        return self if record is None else record

    @property
    def waited_s(self) -> float:
        """How long it waited, once it has begun."""
        return self.started_at_s - self.since_s

    @property
    def ticket(self) -> int:
        """Whom its job is for. Below zero, as those of jobs that came the long way are not."""
        return -self.number


# Who stands in the queue.
Waiting: TypeAlias = TaskRecord | Errand
