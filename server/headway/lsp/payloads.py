"""The scheduler's values as `headway/*` payloads. Pure; `wall_ms` turns its instants into Unix milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from headway.lsp.protocol import (
    ActiveJob,
    Alert,
    ErrorInfo,
    JobInfo,
    Pressure,
    PriorityName,
    QueueDepth,
    ResourceUse,
    RunningTask,
    TaskInfo,
    Worker,
)
from headway.lsp.tongue import Tongue
from headway.scheduler import alerts
from headway.scheduler.model import (
    Depth,
    Failure,
    JobView,
    PressureView,
    Priority,
    ResourceView,
    RunningView,
    TaskView,
    WorkerView,
)

WallMs: TypeAlias = Callable[[float], float]
MOST_RUNNING = 20
MOST_JOBS = 100
_MESSAGE_CHARS = 2000


def priority_name(priority: Priority) -> PriorityName:
    """Return a priority as the wire names it."""
    return cast("PriorityName", priority.name)


def error_info(failure: Failure | None) -> ErrorInfo | None:
    """Return why something failed; a very long message is cut."""
    if failure is None:
        return None
    return {"kind": failure.kind.value, "message": failure.message[:_MESSAGE_CHARS]}


def job_info(view: JobView, wall_ms: WallMs, tongue: Tongue) -> JobInfo:
    """Return a job with its tasks."""
    return {
        "jobId": view.job_id,
        "type": view.type,
        "title": tongue.tell(view.title),
        "priority": priority_name(view.priority),
        "state": view.state.value,
        "progress": view.progress,
        "createdAt": wall_ms(view.created_at_s),
        "startedAt": None if view.started_at_s is None else wall_ms(view.started_at_s),
        "finishedAt": None if view.finished_at_s is None else wall_ms(view.finished_at_s),
        "attempt": view.attempt,
        "error": error_info(view.error),
        "tasks": [_task_info(task) for task in view.tasks],
        "truncated": view.truncated,
    }


def _task_info(task: TaskView) -> TaskInfo:
    info: TaskInfo = {
        "taskId": task.task_id,
        "name": task.name,
        "state": task.state.value,
        "dependsOn": list(task.depends_on),
        "waitMs": _ms(task.waited_s),
        "runMs": _ms(task.ran_s),
        "attempt": task.attempt,
        "error": error_info(task.error),
        "steps": [
            {
                "name": step.name,
                "state": step.state.value,
                "runMs": _ms(step.ran_s),
                "error": error_info(step.error),
            }
            for step in task.steps
        ],
    }
    if task.truncated:
        info["truncated"] = True
    return info


def active_job(view: JobView, tongue: Tongue) -> ActiveJob:
    """Return a job in flight, in short."""
    return {
        "jobId": view.job_id,
        "type": view.type,
        "title": tongue.tell(view.title),
        "progress": view.progress,
        "done": view.done,
        "total": view.total,
    }


def running_task(view: RunningView) -> RunningTask:
    """Return a running task, in short."""
    info: RunningTask = {
        "taskId": view.task_id,
        "jobId": view.job_id,
        "name": view.name,
        "priority": priority_name(view.priority),
        "elapsedMs": view.elapsed_s * 1000,
    }
    if view.stuck:
        info["stuck"] = True
    return info


def queue_depth(depth: Depth) -> QueueDepth:
    """Return how many tasks of a level wait and run."""
    return {"queued": depth.queued, "running": depth.running}


def resource_use(view: ResourceView) -> ResourceUse:
    """Return a resource's use."""
    return {"total": view.total, "used": view.used, "reserved": view.reserved}


def pressure(view: PressureView) -> Pressure:
    """Return how pressed the machine is."""
    return {"cpu": view.cpu, "memory": view.memory, "gpu": view.gpu, "onBattery": view.on_battery}


def worker(view: WorkerView) -> Worker:
    """Return a worker process."""
    return {
        "pid": view.pid,
        "role": view.role,
        "busy": view.busy,
        "rssMb": view.rss_mb,
        "restarts": view.restarts,
    }


def alert(value: alerts.Alert, wall_ms: WallMs, tongue: Tongue) -> Alert:
    """Return an alert."""
    return {
        "alertId": value.alert_id,
        "metric": value.metric,
        "labels": dict(value.labels),
        "level": value.level.value,
        "value": value.value,
        "threshold": value.threshold,
        "since": wall_ms(value.since_s),
        "message": tongue.alert(value),
    }


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
