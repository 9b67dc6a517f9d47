"""Durable jobs made anew after a restart, without the tasks that had finished. Pure.

A durable job names a factory and its arguments; what it had finished comes from history. The job that the factory makes
is given back with those tasks replaced by ones that return at once what the finished ones returned, so that the DAG,
progress and results are as if nothing had happened. A finished task whose value could not be stored runs again where
another task depends on it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeAlias

from headway.scheduler.model import Job, Requirement, RetryPolicy, Task, TaskKind, TimeoutPolicy
from headway.scheduler.remembered import StoredValue, UnfinishedJob
from headway.scheduler.storable import storable_text

Factory: TypeAlias = Callable[..., Job]
_NOTHING = Requirement(cpu_cores=0.0, memory_mb=0.0)


def resumed_job(unfinished: UnfinishedJob, factory: Factory) -> Job:
    """Return a durable job as it goes on: same id and priority as before, finished tasks answered from history.

    Raises: whatever `factory` raises for its stored arguments.
    """
    stored = unfinished.job
    made = factory(**stored.args)
    tasks = made.tasks
    return dataclasses.replace(
        made,
        job_id=stored.job_id,
        priority=stored.priority,
        durable=stored.factory,
        durable_args=stored.args,
        tasks=_fed(tasks, unfinished.finished) if isinstance(tasks, AsyncIterator) else _given(tasks, unfinished),
    )


def _given(tasks: Any, unfinished: UnfinishedJob) -> tuple[Task, ...]:
    needed = {name for task in tasks for name in task.depends_on}
    return tuple(_replaced(task, unfinished.finished, is_needed=task.name in needed) for task in tasks)


async def _fed(tasks: AsyncIterator[Task], finished: Mapping[str, StoredValue]) -> AsyncIterator[Task]:
    """A lazy source does not say what will depend on a task: one without a stored value runs again."""
    async for task in tasks:
        yield _replaced(task, finished, is_needed=True)


def _replaced(task: Task, finished: Mapping[str, StoredValue], *, is_needed: bool) -> Task:
    stored = finished.get(storable_text(task.name))
    if stored is None or (is_needed and not stored.kept):
        return task
    return dataclasses.replace(
        task,
        call=_return,
        args=(stored.value,),
        kwargs={},
        steps=(),
        kind=TaskKind.COROUTINE,
        requirement=_NOTHING,
        retry=RetryPolicy(),
        timeout=TimeoutPolicy(),
        deadline_at_s=None,
    )


async def _return(value: Any) -> Any:
    return value
