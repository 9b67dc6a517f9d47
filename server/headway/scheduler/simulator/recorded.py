"""Days that were recorded (see `scheduler.recorder`) as requests for the simulator. Pure.

What was cut short (superseded, cancelled) is known only as far as it ran: what it would have cost is taken to be what
its like cost. Who cancelled something does so again, after the same time.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.scheduler.kinds import ErrorKind, Priority, StepKind, TaskState
from headway.scheduler.model import Task
from headway.scheduler.policies import Requirement, RetryPolicy, TimeoutPolicy
from headway.scheduler.recorder import FORMAT, VERSION
from headway.scheduler.simulator.work import Fate, Request, request, steps_of

_ALWAYS = 100  # times that a step fails which never ended well
_CUT = (TaskState.CANCELLED.value, TaskState.SKIPPED.value)


class RecordingError(ValueError):
    """A file is no recording, or a newer one, or damaged. `line` says where; record it anew."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(line, why)
        self.line = line
        self.why = why

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedDay:
    """A recording: the requests in order of time, the machine that it was made on, and how long it took."""

    requests: Sequence[Request]
    cores: float
    lasts_s: float


@dataclass(slots=True)
class _Job:
    facts: Mapping[str, Any]
    tasks: list[Mapping[str, Any]] = field(default_factory=list)


def read_day(lines: Iterable[str]) -> RecordedDay:
    """Read a recording.

    Raises:
        RecordingError: a line is not as it should be.
    """
    head: Mapping[str, Any] | None = None
    jobs: dict[int, _Job] = {}
    for number, line in enumerate(lines, 1):
        try:
            facts = json.loads(line)
            if head is None:
                head = _head(facts, number)
            elif "task" in facts:
                jobs[facts["job"]].tasks.append(facts)
            else:
                jobs[facts["job"]] = _Job(facts)
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, RecordingError):
                raise
            raise RecordingError(number, f"it is no line of a recording ({error!r})") from error
    if head is None:
        raise RecordingError(1, "the file is empty")
    like = _usual(jobs.values())
    requests = [_request(job, like) for job in jobs.values() if job.tasks]
    ends = [task["ended"] for job in jobs.values() for task in job.tasks]
    return RecordedDay(
        requests=sorted(requests, key=lambda found: found.at_s),
        cores=float(head["cores"]),
        lasts_s=max(ends, default=0.0),
    )


def _head(facts: Any, number: int) -> Mapping[str, Any]:
    if not isinstance(facts, Mapping) or facts.get("format") != FORMAT:
        raise RecordingError(number, "the file is no recording of a scheduler's work")
    if facts.get("version") != VERSION:
        raise RecordingError(number, f"it has version {facts.get('version')}; this program reads {VERSION}")
    return facts


def _usual(jobs: Iterable[_Job]) -> Mapping[tuple[str, str], float]:
    """Return what a whole task usually took, by type of job and class."""
    seen: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for job in jobs:
        for task in job.tasks:
            if task["end"] == TaskState.COMPLETED.value:
                seen[job.facts["type"], task["class"]].append(sum(task["steps"]))
    return {key: statistics.median(runs_s) for key, runs_s in seen.items()}


def _request(job: _Job, like: Mapping[tuple[str, str], float]) -> Request:
    facts = job.facts
    tasks = sorted(job.tasks, key=lambda task: task["task"])
    known = {task["task"] for task in tasks}
    made = [_task(task, like.get((facts["type"], task["class"]), 0.0), known) for task in tasks]
    cancelled = [task for task in tasks if task.get("error") == ErrorKind.CANCELLED.value]
    return request(
        facts["at"],
        Priority[facts["class"]],
        made,
        type_=facts["type"],
        supersede_key=facts.get("key"),
        window=facts.get("fed"),
        cancel_after_s=max(0.0, cancelled[0]["ended"] - facts["at"]) if cancelled else None,
    )


def _task(facts: Mapping[str, Any], usual_s: float, known: set[int]) -> Task:
    name = str(facts["task"])
    return Task(
        name=name,
        steps=steps_of(name, _fates(facts, usual_s), StepKind(facts["kind"])),
        depends_on=tuple(str(index) for index in facts["after"] if index in known),
        requirement=Requirement(
            cpu_cores=facts["cores"],
            memory_mb=facts["mb"],
            gpu_count=facts["gpus"],
            gpu_memory_mb=facts["gpuMb"],
        ),
        timeout=TimeoutPolicy(hard_s=facts["hard"]),
        retry=RetryPolicy(max_retries=facts["attempts"] - 1 if facts["attempts"] > 1 else 0),
        priority=Priority[facts["class"]],
    )


def _fates(facts: Mapping[str, Any], usual_s: float) -> list[Fate]:
    runs_s = list(facts["steps"])
    if facts["end"] in _CUT:
        ran_s = sum(runs_s)
        return [Fate(max(ran_s, usual_s))]
    if not runs_s:
        return [Fate(usual_s)]
    fates = [Fate(ran_s) for ran_s in runs_s]
    kind = ErrorKind(facts.get("error", ErrorKind.UNKNOWN.value))
    if facts["end"] == TaskState.FAILED.value:
        fates[-1] = Fate(runs_s[-1], fails=_ALWAYS, kind=kind)
    elif facts["attempts"] > 1:
        fates[-1] = Fate(runs_s[-1], fails=facts["attempts"] - 1, kind=ErrorKind.SERVICE_UNAVAILABLE)
    return fates
