"""One call as a job of its own: what `Scheduler.run` makes of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final

from headway.scheduler.executors.base import NOTHING
from headway.scheduler.model import ONE_CORE, Job, OnTaskFailure, Priority, Requirement, RetryPolicy, Task, TaskKind
from headway.scheduler.policies import TimeoutPolicy

# What a coroutine takes that mostly waits; computing belongs into a worker process.
LIGHT = Requirement(cpu_cores=0.05, memory_mb=1.0)

_COROUTINE: Final = TaskKind.COROUTINE
_CONTINUE: Final = OnTaskFailure.CONTINUE


def job_of_call(
    call: Callable[..., Any],
    args: tuple[Any, ...],
    name: str | None,
    priority: Priority,
    kind: TaskKind,
    requirement: Requirement | None,
    timeout: TimeoutPolicy,
    retry: RetryPolicy,
    deadline_at_s: float | None,
    affinity: Hashable | None,
    supersede_key: Hashable | None,
    share_key: Hashable | None,
    visible: bool,
) -> Job:
    """Return the job; see `Scheduler.run` for the arguments."""
    title = name if name is not None else str(getattr(call, "__name__", "task"))
    if requirement is None:
        requirement = LIGHT if kind is _COROUTINE else ONE_CORE
    # All fields in their order, not by name: it is done for each of many thousand calls (see `eventclass`).
    task = Task(  # type: ignore[call-arg]
        title, call, args, NOTHING, (), kind, (), requirement, None, retry, timeout, deadline_at_s, False, affinity, 1.0
    )
    how = (priority, None, NOTHING, _CONTINUE, supersede_key, share_key, None, 64, None, NOTHING, visible)
    return Job("run", title, (task,), *how)  # type: ignore[call-arg]
