"""What is asked of the scheduler, and when: requests as jobs whose cost is known beforehand. Pure.

A step's fate travels in its arguments: `Fate` says how long it runs (on the cores that its task asks for) and how it
ends. Nothing is ever called.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass

from headway.scheduler.model import (
    ErrorKind,
    Job,
    Priority,
    Requirement,
    RetryPolicy,
    Step,
    StepKind,
    Task,
    TimeoutPolicy,
)


@dataclass(frozen=True, slots=True)
class Fate:
    """How a step goes: it runs for `runs_s`; the first `fails` times it then ends with `kind`."""

    runs_s: float
    fails: int = 0
    kind: ErrorKind = ErrorKind.NETWORK


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A job that is submitted at `at_s`. `make` gives a fresh one: a lazily fed job can be read only once."""

    at_s: float
    priority: Priority
    make: Callable[[], Job]
    cancel_after_s: float | None = None  # somebody gives it up then, if it has not ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What the tasks of a class ask for."""

    cores: float
    memory_mb: float = 64.0
    kind: StepKind = StepKind.PROCESS


class Fed(AsyncIterator[Task]):
    """A lazy source that the simulation reads by `take`; it is never awaited."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks = iter(tasks)

    def take(self, count: int) -> tuple[list[Task], bool]:
        """Return up to `count` more tasks, and whether there are no more."""
        taken: list[Task] = []
        for _ in range(count):
            task = next(self._tasks, None)
            if task is None:
                return taken, True
            taken.append(task)
        return taken, False

    async def __anext__(self) -> Task:
        raise StopAsyncIteration


def never_called() -> None:
    """Stand where a step's function stands."""
    raise AssertionError("a simulated step was called")


def task(name: str, fates: Iterable[Fate], shape: Shape, *, hard_s: float | None = None, retries: int = 3) -> Task:
    """Return a task with one step for each fate."""
    return Task(
        name=name,
        steps=steps_of(name, fates, shape.kind),
        requirement=Requirement(cpu_cores=shape.cores, memory_mb=shape.memory_mb),
        timeout=TimeoutPolicy(hard_s=hard_s),
        retry=RetryPolicy(max_retries=retries),
    )


def steps_of(name: str, fates: Iterable[Fate], kind: StepKind) -> tuple[Step, ...]:
    """Return a step for each fate."""
    return tuple(Step(name=f"{name}.{i}", call=never_called, args=(fate,), kind=kind) for i, fate in enumerate(fates))


def request(
    at_s: float,
    priority: Priority,
    tasks: Iterable[Task],
    *,
    type_: str,
    supersede_key: Hashable | None = None,
    window: int | None = None,
    cancel_after_s: float | None = None,
) -> Request:
    """Return a job of `tasks`; with a `window` they are fed lazily."""
    given = tuple(tasks)

    def make() -> Job:
        return Job(
            type=type_,
            title=type_,
            tasks=given if window is None else Fed(given),
            window=window or 64,
            total=None if window is None else float(len(given)),
            priority=priority,
            supersede_key=supersede_key,
            visible=False,
        )

    return Request(at_s=at_s, priority=priority, make=make, cancel_after_s=cancel_after_s)


def of_priority(requests: Iterable[Request], priorities: Iterable[Priority]) -> Iterator[Request]:
    """Yield the requests of some classes."""
    wanted = frozenset(priorities)
    return (found for found in requests if found.priority in wanted)
