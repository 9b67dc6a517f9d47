"""A scheduler for what an AI IDE does on one machine: urgent first, the rest without harm, nothing forgotten.

>>> async with Scheduler() as scheduler:
...     answer = await scheduler.run(complete, document, priority=Priority.CRITICAL).value()
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as in `typing`, which a starting worker process can do without
if TYPE_CHECKING:
    from headway.scheduler.alerts import Alert, AlertChanged, AlertLevel
    from headway.scheduler.calls import LIGHT
    from headway.scheduler.config import OnBattery, RetryDefaults, SchedulerConfig
    from headway.scheduler.context import StepContext, current_step
    from headway.scheduler.errors import (
        CycleError,
        DuplicateTaskError,
        ImpossibleRequirementError,
        InvalidJobError,
        NoCurrentStepError,
        NotRetryableError,
        OverloadedError,
        QueueFullError,
        SchedulerClosedError,
        SchedulerError,
        StepError,
        SubmissionError,
        TaskFailedError,
        UnknownDependencyError,
    )
    from headway.scheduler.handle import JobHandle
    from headway.scheduler.history import History
    from headway.scheduler.measures import MetricsSnapshot
    from headway.scheduler.model import (
        Depth,
        ErrorKind,
        Event,
        Failure,
        Jitter,
        Job,
        JobChanged,
        JobOutcome,
        JobProgressed,
        JobState,
        JobView,
        LoopStalled,
        OnStepFailure,
        OnTaskFailure,
        OnTimeout,
        Outcome,
        PausedChanged,
        PressureView,
        Priority,
        Requirement,
        ResourceView,
        RetryPolicy,
        RunningView,
        Snapshot,
        Step,
        StepEnded,
        StepKind,
        StepState,
        StepView,
        Task,
        TaskEnded,
        TaskKind,
        TaskMoved,
        TaskQueued,
        TaskRetrying,
        TaskStarted,
        TaskState,
        TaskTimedOut,
        TaskView,
        TimeoutPolicy,
        WorkerChanged,
        WorkerView,
    )
    from headway.scheduler.remembered import HistoryLimits, HistoryProblem, RememberedJob, RememberedTask
    from headway.scheduler.retry import classify
    from headway.scheduler.scheduler import Scheduler
    from headway.scheduler.strategies import DEFAULT, FIFO, PRIORITY, Strategy

# Imported when first asked for: a worker process needs little of all this, and needs it at once.
_NAMES_IN = {
    "alerts": (
        "Alert",
        "AlertChanged",
        "AlertLevel",
    ),
    "config": (
        "OnBattery",
        "RetryDefaults",
        "SchedulerConfig",
    ),
    "context": (
        "StepContext",
        "current_step",
    ),
    "errors": (
        "CycleError",
        "DuplicateTaskError",
        "ImpossibleRequirementError",
        "InvalidJobError",
        "NoCurrentStepError",
        "NotRetryableError",
        "QueueFullError",
        "SchedulerClosedError",
        "SchedulerError",
        "StepError",
        "SubmissionError",
        "OverloadedError",
        "TaskFailedError",
        "UnknownDependencyError",
    ),
    "handle": ("JobHandle",),
    "history": ("History",),
    "measures": ("MetricsSnapshot",),
    "model": (
        "Depth",
        "ErrorKind",
        "Event",
        "Failure",
        "Jitter",
        "Job",
        "JobChanged",
        "JobOutcome",
        "JobProgressed",
        "JobState",
        "JobView",
        "LoopStalled",
        "OnStepFailure",
        "OnTaskFailure",
        "OnTimeout",
        "Outcome",
        "PausedChanged",
        "PressureView",
        "Priority",
        "Requirement",
        "ResourceView",
        "RetryPolicy",
        "RunningView",
        "Snapshot",
        "Step",
        "StepEnded",
        "StepKind",
        "StepState",
        "StepView",
        "Task",
        "TaskEnded",
        "TaskKind",
        "TaskMoved",
        "TaskQueued",
        "TaskRetrying",
        "TaskStarted",
        "TaskState",
        "TaskTimedOut",
        "TaskView",
        "TimeoutPolicy",
        "WorkerChanged",
        "WorkerView",
    ),
    "remembered": (
        "HistoryLimits",
        "HistoryProblem",
        "RememberedJob",
        "RememberedTask",
    ),
    "retry": ("classify",),
    "scheduler": ("Scheduler",),
    "calls": ("LIGHT",),
    "strategies": (
        "DEFAULT",
        "FIFO",
        "PRIORITY",
        "Strategy",
    ),
}
_HOME_OF = {name: module for module, names in _NAMES_IN.items() for name in names}


__all__ = [
    "Scheduler",
    "SchedulerConfig",
    "Job",
    "Task",
    "Step",
    "JobHandle",
    "Priority",
    "Requirement",
    "LIGHT",
    "RetryPolicy",
    "TimeoutPolicy",
    "TaskKind",
    "StepKind",
    "OnBattery",
    "OnStepFailure",
    "OnTaskFailure",
    "OnTimeout",
    "Jitter",
    "RetryDefaults",
    "Strategy",
    "DEFAULT",
    "FIFO",
    "PRIORITY",
    "StepContext",
    "current_step",
    "classify",
    "Outcome",
    "JobOutcome",
    "Failure",
    "ErrorKind",
    "JobState",
    "TaskState",
    "StepState",
    "JobView",
    "TaskView",
    "StepView",
    "Snapshot",
    "Depth",
    "ResourceView",
    "RunningView",
    "WorkerView",
    "PressureView",
    "Event",
    "JobChanged",
    "JobProgressed",
    "TaskQueued",
    "TaskStarted",
    "StepEnded",
    "TaskRetrying",
    "TaskTimedOut",
    "TaskEnded",
    "TaskMoved",
    "PausedChanged",
    "WorkerChanged",
    "LoopStalled",
    "AlertChanged",
    "Alert",
    "AlertLevel",
    "MetricsSnapshot",
    "History",
    "HistoryLimits",
    "HistoryProblem",
    "RememberedJob",
    "RememberedTask",
    "SchedulerError",
    "SubmissionError",
    "InvalidJobError",
    "CycleError",
    "UnknownDependencyError",
    "DuplicateTaskError",
    "ImpossibleRequirementError",
    "QueueFullError",
    "SchedulerClosedError",
    "NotRetryableError",
    "OverloadedError",
    "TaskFailedError",
    "NoCurrentStepError",
    "StepError",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import the module that has `name`, as by `from headway.scheduler import name`."""
        module = _HOME_OF.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        globals()[name] = value
        return value
