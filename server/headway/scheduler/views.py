"""The core's state as frozen values for whoever looks: jobs, tasks, the whole. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from headway.scheduler.model import (
    Depth,
    JobView,
    PressureView,
    Priority,
    RunningView,
    Snapshot,
    StepState,
    StepView,
    TaskState,
    TaskView,
    WorkerView,
)
from headway.scheduler.records import ENDED, JobRecord, Run, TaskRecord

if TYPE_CHECKING:
    from headway.scheduler.core import SchedulerCore

MOST_RUNNING = 20
MOST_JOBS = 100
# Steps of a task, and of all listed tasks of a job: a view of thousands of them would be megabytes.
MOST_STEPS = 200
MOST_STEPS_IN_ALL = 4000

_STEP_OF_TASK = {
    TaskState.PENDING: StepState.PENDING,
    TaskState.READY: StepState.PENDING,
    TaskState.RUNNING: StepState.RUNNING,
    TaskState.COMPLETED: StepState.COMPLETED,
    TaskState.FAILED: StepState.FAILED,
    TaskState.CANCELLED: StepState.FAILED,
    TaskState.SKIPPED: StepState.SKIPPED,
}


def job_view(record: JobRecord, limit: int, now_s: float) -> JobView:
    """Return a job as it stands, with at most `limit` of its tasks."""
    listed = record.listed()
    known = record.done + record.unended
    done, total = record.tally
    most_steps = min(MOST_STEPS, MOST_STEPS_IN_ALL // max(1, min(limit, len(listed))))
    return JobView(
        job_id=record.job_id,
        type=record.job.type,
        title=record.job.title,
        priority=record.priority,
        state=record.state,
        progress=record.progress,
        done=done,
        total=total,
        created_at_s=record.created_at_s,
        started_at_s=record.started_at_s,
        finished_at_s=record.finished_at_s,
        attempt=record.attempt,
        error=record.error,
        tasks=tuple(task_view(task, now_s, most_steps) for task in islice(listed, limit)),
        truncated=known > min(limit, len(listed)),
    )


def task_view(record: TaskRecord, now_s: float, most_steps: int = MOST_STEPS) -> TaskView:
    """Return a task as it stands, with at most `most_steps` of its steps."""
    task = record.task
    started = record.started_at_s is not None
    waits = record.state is TaskState.READY
    return TaskView(
        task_id=record.task_id,
        job_id=record.job.job_id,
        name=task.name,
        priority=record.priority,
        state=record.state,
        depends_on=task.depends_on,
        waited_s=record.waited_s + (now_s - record.ready_at_s if waits else 0.0) if started or waits else None,
        ran_s=_ran_s(record, now_s) if started else None,
        attempt=record.attempt,
        error=record.error,
        steps=_step_views(record, now_s, most_steps),
        truncated=len(task.steps) > most_steps,
    )


def _ran_s(record: TaskRecord, now_s: float) -> float:
    run = record.run
    return record.ran_s if run is None else record.ran_s + max(0.0, now_s - run.began_at_s)


def _step_views(record: TaskRecord, now_s: float, most: int) -> tuple[StepView, ...]:
    task = record.task
    if not task.steps:
        ran_s = _ran_s(record, now_s) if record.started_at_s is not None else None
        return (StepView(name=task.name, state=_STEP_OF_TASK[record.state], ran_s=ran_s, error=record.error),)
    views: list[StepView] = []
    first = max(0, min(record.step - most // 2, len(task.steps) - most))
    for index, step in enumerate(task.steps[first : first + most], first):
        state, ran_s, error = (StepState.PENDING, 0.0, None) if record.step_views is None else record.step_views[index]
        if index == record.step and record.run is not None:
            views.append(StepView(name=step.name, state=StepState.RUNNING, ran_s=now_s - record.run.began_at_s))
        elif state is StepState.PENDING and record.state in ENDED:
            views.append(StepView(name=step.name, state=StepState.SKIPPED))
        else:
            views.append(StepView(name=step.name, state=state, ran_s=ran_s or None, error=error))
    return tuple(views)


def snapshot(core: SchedulerCore, workers: Sequence[WorkerView], now_s: float) -> Snapshot:
    """Return the scheduler as it stands. The cost goes with what runs, not with what waits."""
    flow = core.flow
    core.errands.unfold_running()
    runs = flow.runs.values()
    alive = [run for run in runs if not run.stuck]
    urgent = heapq.nsmallest(MOST_RUNNING, alive, key=lambda run: (run.record.priority, run.run_id))
    stuck = [run for run in runs if run.stuck]
    jobs = (record for record in core.book.active.values() if record.job.visible)
    pressure = core.pressure
    return Snapshot(
        at_s=now_s,
        depths={priority: Depth(queued=flow.queued[priority], running=flow.running[priority]) for priority in Priority},
        running=tuple(_running_view(run, now_s) for run in [*urgent, *stuck][:MOST_RUNNING]),
        jobs=tuple(job_view(record, 0, now_s) for record in islice(jobs, MOST_JOBS + 1)),
        resources=core.quota.views(),
        paused=core.paused,
        pause_reason=core.pause_reason,
        pressure=PressureView(
            cpu=pressure.cpu, memory=pressure.memory, gpu=pressure.gpu, on_battery=pressure.on_battery
        ),
        workers=tuple(workers),
        stuck=len(stuck),
    )


def admitted_cores(core: SchedulerCore) -> float:
    """Return the cores that the work which waits could have at most.

    Not counted is what is kept for who does not wait: the reserve of CRITICAL work, and what is left to HIGH work.
    """
    return core.quota.admitted_cores(background=not any(core.flow.queued[: Priority.NORMAL]))


def _running_view(run: Run, now_s: float) -> RunningView:
    record = run.record
    before_s = 0.0 if run.stuck else record.ran_s
    return RunningView(
        task_id=record.task_id,
        job_id=record.job.job_id,
        name=record.task.name,
        priority=record.priority,
        elapsed_s=before_s + max(0.0, now_s - run.began_at_s),
        visible=record.job.job.visible,
        stuck=run.stuck,
        pid=record.pid,
    )
