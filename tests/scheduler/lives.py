"""Lives of tasks as events, for tests of what folds events: every helper yields what a scheduler would emit."""

from __future__ import annotations

from collections.abc import Iterator

from headway.scheduler.model import (
    ErrorKind,
    Event,
    Failure,
    Outcome,
    Priority,
    StepEnded,
    StepState,
    TaskEnded,
    TaskQueued,
    TaskRetrying,
    TaskStarted,
    TaskState,
    TaskTimedOut,
)

BROKEN = Failure(kind=ErrorKind.NETWORK, message="no answer")


def queued(task: str, at_s: float, priority: Priority = Priority.NORMAL) -> TaskQueued:
    return TaskQueued(at_s=at_s, job_id="job", task_id=task, name=task, priority=priority, visible=True)


def started(
    task: str, at_s: float, waited_s: float = 0.0, priority: Priority = Priority.NORMAL, attempt: int = 1
) -> TaskStarted:
    return TaskStarted(
        at_s=at_s,
        job_id="job",
        task_id=task,
        name=task,
        priority=priority,
        attempt=attempt,
        waited_s=waited_s,
        visible=True,
    )


def ended(
    task: str,
    at_s: float,
    state: TaskState = TaskState.COMPLETED,
    priority: Priority = Priority.NORMAL,
    ran_s: float = 0.0,
    waited_s: float = 0.0,
) -> TaskEnded:
    error = BROKEN if state is TaskState.FAILED else None
    return TaskEnded(
        at_s=at_s,
        job_id="job",
        task_id=task,
        name=task,
        priority=priority,
        outcome=Outcome(state=state, error=error, ran_s=ran_s, waited_s=waited_s, attempts=1),
        visible=True,
    )


def retrying(task: str, at_s: float, priority: Priority = Priority.NORMAL, attempt: int = 1) -> TaskRetrying:
    return TaskRetrying(
        at_s=at_s, job_id="job", task_id=task, priority=priority, attempt=attempt, delay_s=1.0, error=BROKEN
    )


def timed_out(task: str, at_s: float, priority: Priority = Priority.NORMAL, *, hard: bool = True) -> TaskTimedOut:
    return TaskTimedOut(at_s=at_s, job_id="job", task_id=task, priority=priority, hard=hard, limit_s=1.0)


def step(
    task: str,
    started_at_s: float,
    ran_s: float,
    *,
    name: str = "step",
    slot: str = "loop",
    priority: Priority = Priority.NORMAL,
    pid: int | None = None,
    error: Failure | None = None,
) -> StepEnded:
    return StepEnded(
        at_s=started_at_s + ran_s,
        job_id="job",
        task_id=task,
        task_name=task,
        name=name,
        priority=priority,
        state=StepState.COMPLETED if error is None else StepState.FAILED,
        started_at_s=started_at_s,
        ran_s=ran_s,
        slot=slot,
        pid=pid,
        error=error,
    )


def life(
    task: str,
    at_s: float,
    *,
    waits_s: float = 0.0,
    runs_s: float = 0.0,
    priority: Priority = Priority.NORMAL,
    state: TaskState = TaskState.COMPLETED,
) -> Iterator[Event]:
    """A task that becomes ready at `at_s`, waits, runs once and ends."""
    yield queued(task, at_s, priority)
    yield started(task, at_s + waits_s, waits_s, priority)
    yield ended(task, at_s + waits_s + runs_s, state, priority, runs_s, waits_s)


class Clock:
    """A clock that stands where a test put it."""

    def __init__(self, now_s: float = 0.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s
