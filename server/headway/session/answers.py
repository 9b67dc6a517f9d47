"""Tasks whose results are wanted at once by whoever gave them to a job, without being kept.

A job that is fed bit by bit has no caller that awaits its tasks. A second step on the loop could take the result, but
it would have to be admitted like any other, behind the tasks that wait. So the event of the task's end brings it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from headway.scheduler import Scheduler
from headway.scheduler.executors.room import has_room
from headway.scheduler.model import Event, OnStepFailure, Requirement, Step, StepKind, Task, TaskEnded, TaskState

# Of processes that take what nobody else wants of a core two have room beside the reserve of two cores.
_COST: Final = Requirement(cpu_cores=0.65, memory_mb=300)
_LIGHT: Final = Requirement(cpu_cores=0.1, memory_mb=16)
_STEP_LIMIT_S: Final = 60.0
# Where the results of an index's steps say that something is wrong with a file, the index or its place.
_DOUBTS: Final = ("trouble", "notes", "message")


class Parcel:
    """A result that is handed over once: what the scheduler remembers of a task must not hold megabytes."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def take(self) -> Any:
        """Return the result; the second time None."""
        value, self._value = self._value, None
        return value


class Answers:
    """Knows which results are wanted, by the names of their tasks, which must be different among those in flight."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._wanted: dict[str, Callable[[Any], None]] = {}
        self._unsubscribe = scheduler.subscribe(self._event)

    def close(self) -> None:
        """Want nothing any more."""
        self._unsubscribe()
        self._wanted.clear()

    def asking(
        self,
        name: str,
        call: Callable[..., Any],
        *args: Any,
        kind: StepKind = StepKind.PROCESS,
        take: Callable[[Any], None] | None = None,
        weight: float = 0.0,
    ) -> tuple[Task, asyncio.Future[Any]]:
        """Return a task, and the future of what its call gives: None where it failed, was too slow or its process died.

        `take` is called with the same, on the loop.
        """
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def answered(value: Any) -> None:
            if take is not None:
                take(value)
            if not answer.done():
                answer.set_result(value)

        self._wanted[name] = answered
        is_async = kind is StepKind.ASYNC
        step = Step(
            name="work",
            call=parcelled_async if is_async else parcelled,
            args=(call, *args),
            kind=kind,
            timeout_s=_STEP_LIMIT_S,
            on_failure=OnStepFailure.SKIP,
        )
        requirement = _COST if kind is StepKind.PROCESS else _LIGHT
        return Task(name=name, steps=(step,), requirement=requirement, weight=weight), answer

    def _event(self, event: Event) -> None:
        if not isinstance(event, TaskEnded):
            return
        answered = self._wanted.pop(event.name, None)
        if answered is not None and event.outcome.state is not TaskState.CANCELLED:
            value = event.outcome.value
            answered(value.take() if isinstance(value, Parcel) else None)


def parcelled(call: Callable[..., Any], *args: Any) -> Parcel:
    """Call, in a worker process or a thread.

    Raises:
        MemoryError: the result speaks of trouble, and was made without memory: a library that cannot be loaded and a
            database that cannot be mapped then look as if they were bad.
    """
    value = call(*args)
    if any(getattr(value, word, None) for word in _DOUBTS) and not has_room():
        raise MemoryError("this process is out of memory, so what it found wrong may be in order")
    return Parcel(value)


async def parcelled_async(call: Callable[..., Awaitable[Any]], *args: Any) -> Parcel:
    """Call and await, on the loop."""
    return Parcel(await call(*args))
