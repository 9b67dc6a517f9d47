"""Writes down what work a scheduler saw, so that the simulator can live the day again with other policies.

One JSON value a line: what there was, each job as it came, each task as it ended. Of people's code nothing is written
but the types of jobs; keys and names are numbers. `simulator.recorded` reads it.

Lines:
    {"format": "headway work", "version": 1, "cores": 2.0, "memoryMb": 8000.0}
    {"job": 1, "at": 0.01, "class": "HIGH", "type": "search", "key": 1, "fed": 64}
    {"task": 0, "job": 1, "at": 0.01, "class": "HIGH", "kind": "thread", "cores": 0.1, "mb": 16.0, "gpus": 0,
     "gpuMb": 0.0, "hard": 5.0, "after": [], "steps": [0.03], "attempts": 1, "end": "COMPLETED", "ended": 0.05}

Instants are seconds since the recording began. `key`: a newer job with the same one ends this one; `fed`: its tasks
come from a source, so many at a time; `steps`: seconds that each step ran, in the last attempt; `error`: the kind of
failure. What is missing is null, 0 or not there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final

from headway.scheduler.model import Event, StepEnded, TaskEnded, TaskQueued
from headway.scheduler.records import JobRecord, TaskRecord

if TYPE_CHECKING:
    from headway.scheduler.core import SchedulerCore

FORMAT: Final = "headway work"
VERSION: Final = 1


class Recorder:
    """Subscriber of a scheduler's events that writes lines.

    Args:
        core: Is looked at for what events do not say.
        write: Takes one line, its end included; on the loop, so it returns at once.
        now_s: The instant at which the recording begins.
    """

    def __init__(self, core: SchedulerCore, write: Callable[[str], object], now_s: float) -> None:
        self._core = core
        self._write = write
        self._began_s = now_s
        self._jobs: dict[str, int] = {}  # those of which a task is alive
        self._keys: dict[Hashable, int] = {}
        self._alive: dict[str, dict[str, Any]] = {}
        self._numbered = 0
        views = core.quota.views()
        self._say(format=FORMAT, version=VERSION, cores=views["cpuCores"].total, memoryMb=views["memoryMb"].total)

    def observe(self, event: Event) -> None:
        """Take note of an event; to be called for each one, in order."""
        if isinstance(event, TaskQueued):
            if event.task_id not in self._alive:
                self._queued(event)
        elif isinstance(event, StepEnded):
            found = self._alive.get(event.task_id)
            if found is not None:
                found["steps"][event.name] = round(event.ran_s, 6)
        elif isinstance(event, TaskEnded):
            self._ended(event)

    def _queued(self, event: TaskQueued) -> None:
        job = self._core.book.in_flight(event.job_id)
        if job is None:
            return  # it has ended within the same instant
        record = job.names[event.name] if job.names is not None else job.tasks[0]
        number = self._jobs.get(event.job_id)
        if number is None:
            self._numbered += 1
            number = self._jobs[event.job_id] = self._numbered
            self._job(number, job)
        self._alive[event.task_id] = self._task(number, record, event.at_s)

    def _job(self, number: int, job: JobRecord) -> None:
        facts: dict[str, Any] = {"job": number, "at": self._at(job.created_at_s)}
        facts |= {"class": job.priority.name, "type": job.job.type}
        if job.job.supersede_key is not None:
            facts["key"] = self._keys.setdefault(job.job.supersede_key, len(self._keys) + 1)
        if job.results is not None:
            facts["fed"] = job.job.window
        self._say(**facts)

    def _task(self, number: int, record: TaskRecord, at_s: float) -> dict[str, Any]:
        task, asked = record.task, record.task.requirement
        return {
            "task": record.index,
            "job": number,
            "at": self._at(at_s),
            "class": record.priority.name,
            "kind": record.kind.value,
            "cores": asked.cpu_cores,
            "mb": asked.memory_mb,
            "gpus": asked.gpu_count,
            "gpuMb": asked.gpu_memory_mb,
            "hard": task.timeout.hard_s,
            "after": [dep.index for dep in record.deps],
            "steps": {},
        }

    def _ended(self, event: TaskEnded) -> None:
        facts = self._alive.pop(event.task_id, None)
        if facts is None:
            return
        facts["steps"] = list(facts["steps"].values())
        facts |= {"attempts": event.outcome.attempts, "end": event.outcome.state.value, "ended": self._at(event.at_s)}
        if event.outcome.error is not None:
            facts["error"] = event.outcome.error.kind.value
        self._say(**facts)
        if event.job_id not in self._core.book.active:
            self._jobs.pop(event.job_id, None)

    def _at(self, at_s: float) -> float:
        return round(max(0.0, at_s - self._began_s), 6)

    def _say(self, **facts: Any) -> None:
        self._write(json.dumps(facts, separators=(",", ":")) + "\n")
