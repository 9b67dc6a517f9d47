"""What callers of the scheduler can catch: misuse and refusals. A task's own failure is an `Outcome`, not an exception.

One class per reaction of the caller; facts are attributes, `args` survive pickling between processes.
"""

from __future__ import annotations

# As in `typing`, whose import, like that of the module below, a starting worker process can do without.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.scheduler.model import ErrorKind, Failure


class SchedulerError(Exception):
    """Base of everything that the scheduler raises."""


class SubmissionError(SchedulerError):
    """The job was refused whole; nothing of it was enqueued. Correct the job, or see the subclass."""


class InvalidJobError(SubmissionError):
    """The description contradicts itself (no work, a negative limit, ...). Correct the named task or job."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what, why)
        self.what = what
        self.why = why

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


class CycleError(SubmissionError):
    """Tasks wait for each other in a circle. Remove one of the dependencies named in `tasks`."""

    def __init__(self, tasks: Sequence[str]) -> None:
        super().__init__(tasks)
        self.tasks = tuple(tasks)

    def __str__(self) -> str:
        return "tasks depend on each other in a circle: " + " -> ".join([*self.tasks, self.tasks[0]])


class UnknownDependencyError(SubmissionError):
    """A task depends on a name that no task of its job has. Correct the name or add the task."""

    def __init__(self, task: str, dependency: str) -> None:
        super().__init__(task, dependency)
        self.task = task
        self.dependency = dependency

    def __str__(self) -> str:
        return f"task {self.task!r} depends on {self.dependency!r}, which is no task of this job"


class DuplicateTaskError(SubmissionError):
    """Two tasks of a job, or two jobs in flight, have the same name or id. Choose another."""

    def __init__(self, name: str, what: str = "task") -> None:
        super().__init__(name, what)
        self.name = name
        self.what = what

    def __str__(self) -> str:
        return f"{self.what} {self.name!r} exists already"


class ImpossibleRequirementError(SubmissionError):
    """A task asks for more than it can ever get here. Ask for less, or raise the scheduler's totals."""

    def __init__(self, task: str, resource: str, asked: float, available: float) -> None:
        super().__init__(task, resource, asked, available)
        self.task = task
        self.resource = resource
        self.asked = asked
        self.available = available

    def __str__(self) -> str:
        return (
            f"task {self.task!r} asks for {self.asked:g} {self.resource}, but at most {self.available:g} can be given"
        )


class QueueFullError(SubmissionError):
    """The queue is at capacity; nothing was enqueued. Submit again after tasks have ended, or feed the job lazily."""

    def __init__(self, queued: int, asked: int, capacity: int) -> None:
        super().__init__(queued, asked, capacity)
        self.queued = queued
        self.asked = asked
        self.capacity = capacity

    def __str__(self) -> str:
        return f"the queue holds {self.queued} of at most {self.capacity} tasks; {self.asked} more were refused"


class SchedulerClosedError(SubmissionError):
    """The scheduler was not started, or is closed. Start it, or submit to another one."""

    def __str__(self) -> str:
        return "the scheduler is not running; start it with `async with Scheduler() as scheduler`"


class NotRetryableError(SchedulerError):
    """Only a job that FAILED or was CANCELLED, and is still remembered, can be retried. Submit it anew instead."""

    def __init__(self, job_id: str, why: str) -> None:
        super().__init__(job_id, why)
        self.job_id = job_id
        self.why = why

    def __str__(self) -> str:
        return f"job {self.job_id!r} cannot be retried: {self.why}"


class TaskFailedError(SchedulerError):
    """`JobHandle.value()`: the work did not succeed. `failure` says why."""

    def __init__(self, name: str, failure: Failure) -> None:
        super().__init__(name, failure)
        self.name = name
        self.failure = failure

    def __str__(self) -> str:
        return f"{self.name}: {self.failure.message} ({self.failure.kind.value})"


class OverloadedError(TaskFailedError):
    """`JobHandle.value()`: the work was given up, as more is asked for than can be answered in time.

    Ask again after `failure.retry_after_s`, or for less.
    """


class NoCurrentStepError(SchedulerError):
    """`current_step()` was called outside of a step. Call it from code that the scheduler runs."""

    def __str__(self) -> str:
        return "current_step() was called outside of a step"


class StepError(SchedulerError):
    """Raised by a step's own code to say of what kind its failure is, instead of extending the table in `retry`.

    Args:
        kind: Decides whether the task is tried again.
        message: For people.
        retry_after_s: How long the other side asked to be left alone, where it said so.
    """

    def __init__(self, kind: ErrorKind, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(kind, message, retry_after_s)
        self.kind = kind
        self.message = message
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        return self.message
