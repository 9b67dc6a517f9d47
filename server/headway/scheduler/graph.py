"""The tasks of one job as a graph: what is wrong with it, and who inherits whose urgency. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headway.scheduler.errors import CycleError, DuplicateTaskError, InvalidJobError, UnknownDependencyError
from headway.scheduler.model import NO_LIMITS, RETRY_BY_PRIORITY, OnTimeout, Priority, Task


def checked_order(tasks: Sequence[Task]) -> list[int]:
    """Return the indices of tasks such that each comes after all that it depends on.

    Raises:
        DuplicateTaskError: two tasks have one name.
        UnknownDependencyError: a task depends on none of these.
        CycleError: some wait for each other.
    """
    index_of: dict[str, int] = {}
    for index, task in enumerate(tasks):
        if task.name in index_of:
            raise DuplicateTaskError(task.name)
        index_of[task.name] = index
    if not any(task.depends_on for task in tasks):
        return list(range(len(tasks)))
    missing = [0] * len(tasks)
    dependents: list[list[int]] = [[] for _ in tasks]
    for index, task in enumerate(tasks):
        for name in set(task.depends_on):
            found = index_of.get(name)
            if found is None:
                raise UnknownDependencyError(task.name, name)
            missing[index] += 1
            dependents[found].append(index)
    order = [index for index, count in enumerate(missing) if not count]
    for index in order:  # grows while it is walked
        for dependent in dependents[index]:
            missing[dependent] -= 1
            if not missing[dependent]:
                order.append(dependent)
    if len(order) < len(tasks):
        raise CycleError(_circle(tasks, index_of, [index for index, count in enumerate(missing) if count]))
    return order


def _circle(tasks: Sequence[Task], index_of: dict[str, int], stuck: list[int]) -> list[str]:
    """Return the names along one circle; each of `stuck` depends on another of them."""
    among = set(stuck)
    path: list[int] = []
    seen: dict[int, int] = {}
    index = stuck[0]
    while index not in seen:
        seen[index] = len(path)
        path.append(index)
        index = next(found for name in tasks[index].depends_on if (found := index_of[name]) in among)
    return [tasks[found].name for found in path[seen[index] :]]


def inherited(tasks: Sequence[Task], order: Sequence[int], job_priority: Priority) -> list[Priority]:
    """Return the priority of each task: its own or the job's, or that of a more urgent one that waits for it.

    Args:
        tasks: All of a job.
        order: As `checked_order` returns it.
        job_priority: For those without their own.
    """
    priorities = [job_priority if task.priority is None else task.priority for task in tasks]
    if len(set(priorities)) == 1:
        return priorities
    index_of = {task.name: index for index, task in enumerate(tasks)}
    for index in reversed(order):
        for name in tasks[index].depends_on:
            found = index_of[name]
            if priorities[index] < priorities[found]:
                priorities[found] = priorities[index]
    return priorities


def check_task(task: Task) -> None:
    """Refuse a task that contradicts itself.

    Raises:
        InvalidJobError: names the task and what is wrong.
    """
    if task.steps:
        _check_steps(task)
    elif task.call is None:
        raise InvalidJobError(f"task {task.name!r}", "it has neither a call nor steps")
    if task.timeout is not NO_LIMITS or task.retry is not RETRY_BY_PRIORITY:
        _check_policies(task)
    if task.weight < 0:
        raise InvalidJobError(f"task {task.name!r}", "its weight is negative")
    if not task.requirement.longest_run_s > 0:
        raise InvalidJobError(f"task {task.name!r}", "its longest run is not above zero")


def _check_steps(task: Task) -> None:
    if task.call is not None:
        raise InvalidJobError(f"task {task.name!r}", "it has both a call and steps; give one of them")
    if len({step.name for step in task.steps}) < len(task.steps):
        raise InvalidJobError(f"task {task.name!r}", "two of its steps have one name")


def check_requirement(task: Task) -> None:
    """Refuse a requirement that is no amount of anything; once for all tasks that ask for the same is enough.

    Raises:
        InvalidJobError: names the task and what is wrong.
    """
    wanted = task.requirement
    if wanted.cpu_cores < 0 or wanted.memory_mb < 0 or wanted.gpu_count < 0 or wanted.gpu_memory_mb < 0:
        raise InvalidJobError(f"task {task.name!r}", "its requirement has a negative amount")
    if not all(map(math.isfinite, (wanted.cpu_cores, wanted.memory_mb, wanted.gpu_memory_mb))):
        raise InvalidJobError(f"task {task.name!r}", "its requirement has an amount that is no finite number")


def _check_policies(task: Task) -> None:
    limits = task.timeout
    if limits.on_soft is OnTimeout.FAIL or limits.on_hard is OnTimeout.WARN:
        raise InvalidJobError(f"task {task.name!r}", "WARN is for soft limits only, FAIL for hard ones only")
    for limit_s in (limits.soft_s, limits.hard_s, limits.queue_s, limits.heartbeat_s):
        if limit_s is not None and not limit_s > 0:
            raise InvalidJobError(f"task {task.name!r}", "a time limit is not above zero")
    retries = task.retry.max_retries
    if retries is not None and retries < 0:
        raise InvalidJobError(f"task {task.name!r}", "max_retries is negative")
