"""Probes: jobs whose cost is known, so that scheduling can be tried from outside. Only with `--enable-probes`."""

from __future__ import annotations

import asyncio
import enum
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.errors import ImpossibleRequirementError, QueueFullError, StepError
from headway.scheduler.model import (
    ErrorKind,
    Job,
    JobOutcome,
    OnStepFailure,
    OnTaskFailure,
    OnTimeout,
    Outcome,
    Priority,
    Requirement,
    RetryPolicy,
    Snapshot,
    Step,
    StepKind,
    Task,
    TimeoutPolicy,
)
from headway.session import probe_work
from headway.session.arguments import Arguments
from headway.session.ports import Submission

# Kinds of failure that a caller may ask for; the others are the scheduler's own findings.
_FAILURES = tuple(
    kind
    for kind in ErrorKind
    if kind
    not in (
        ErrorKind.OUT_OF_MEMORY,
        ErrorKind.WORKER_DIED,
        ErrorKind.SUPERSEDED,
        ErrorKind.OVERLOADED,
        ErrorKind.CANCELLED,
        ErrorKind.SKIPPED,
    )
)
_JOB_KEYS = frozenset({"tasks", "onTaskFailure"})
_TASK_KEYS = frozenset(
    {
        "name",
        "kind",
        "durationMs",
        "steps",
        "dependsOn",
        "cpuCores",
        "memoryMb",
        "gpuCount",
        "gpuMemoryMb",
        "softTimeoutMs",
        "hardTimeoutMs",
        "onSoftTimeout",
        "onHardTimeout",
        "fallback",
        "maxRetries",
        "errorKind",
        "failTimes",
        "onStepFailure",
    }
)
_MOST_TASKS = SchedulerConfig().queue_capacity
_SURELY_THERE = 0.1  # of a core: what probes ask for where they do not say
_MOST_STEPS = 10_000
_MOST_STEPS_IN_ALL = 200_000
_AT_ONCE = 50  # steps that are read in one go: a millisecond or two
_LONGEST_MS = 86_400_000.0


class ProbeKind(enum.StrEnum):
    SLEEP = "sleep"
    CPU = "cpu"
    THREAD = "thread"
    PROCESS = "process"
    FAIL = "fail"
    HANG = "hang"
    MEMORY = "memory"
    EXIT = "exit"


class _SoftChoice(enum.StrEnum):
    WARN = "warn"
    SKIP = "skip"
    RETRY = "retry"
    FALLBACK = "fallback"


class _HardChoice(enum.StrEnum):
    FAIL = "fail"
    SKIP = "skip"
    RETRY = "retry"
    FALLBACK = "fallback"


class Probing:
    """Makes jobs of type "probe".

    Args:
        wall_ms: Turns the scheduler's instants into Unix milliseconds.
        snapshot: Says what there is, and what waits.
    """

    def __init__(self, wall_ms: Callable[[float], float], snapshot: Callable[[], Snapshot]) -> None:
        self._wall_ms = wall_ms
        self._snapshot = snapshot

    def submission(
        self, arguments: Mapping[str, Any], *, title: str | None, priority: Priority | None
    ) -> Submission | Iterator[Submission | None]:
        """Describe the probe; see `JobSource.submission`."""
        read = Arguments(arguments, "arguments")
        read.only(_JOB_KEYS)
        self._check_number(read)
        if sum(map(_step_count, read.sequence("tasks", most=_MOST_TASKS))) > _AT_ONCE:
            return self._bit_by_bit(read, title, priority)
        return self._described(read, [_task(each) for each in read.each("tasks")], title, priority)

    def _bit_by_bit(self, read: Arguments, title: str | None, priority: Priority | None) -> Iterator[Submission | None]:
        tasks = []
        steps = 0
        for each in read.each("tasks"):
            tasks.append(_task(each))
            steps += len(tasks[-1].steps)
            if steps >= _AT_ONCE:
                steps = 0
                yield None
        yield self._described(read, tasks, title, priority)

    def _described(
        self, read: Arguments, tasks: Sequence[Task], title: str | None, priority: Priority | None
    ) -> Submission:
        if not tasks:
            raise read.fail("tasks", "must hold at least one task")
        if priority is not Priority.CRITICAL:
            self._check_room(max(tasks, key=lambda task: task.requirement.cpu_cores))
        job = Job(
            type="probe",
            title=title if title is not None else f"Probe {tasks[0].name}",
            tasks=tuple(tasks),
            priority=Priority.NORMAL if priority is None else priority,
            on_task_failure=read.choice("onTaskFailure", OnTaskFailure, OnTaskFailure.CONTINUE),
        )
        return Submission(job=job, result=self._result)

    def _check_number(self, read: Arguments) -> None:
        """Refuse before it is made what the queue could not hold, or what nobody could."""
        asked = read.sequence("tasks", most=sys.maxsize)
        if len(asked) > _MOST_TASKS:
            queued = sum(depth.queued for depth in self._snapshot().depths.values())
            raise QueueFullError(queued, len(asked), _MOST_TASKS)
        in_all = sum(map(_step_count, asked))
        if in_all > _MOST_STEPS_IN_ALL:
            raise read.fail("tasks", f"must have at most {_MOST_STEPS_IN_ALL} steps in all, not {in_all}")

    def _check_room(self, task: Task) -> None:
        """Refuse what asks for more cores than ordinary work may use.

        The scheduler itself would let it have all of these; a probe's cost is to be what it says.
        """
        asked = task.requirement.cpu_cores
        if asked <= _SURELY_THERE:
            return
        cores = self._snapshot().resources["cpuCores"]
        room = cores.total - cores.reserved
        if asked > room + 1e-6:  # the scheduler counts in millionths
            raise ImpossibleRequirementError(task.name, "cpuCores", asked, room)

    def _result(self, outcome: JobOutcome) -> Mapping[str, Any]:
        started = [name for name, task in outcome.results.items() if task.started_at_s is not None]
        started.sort(key=lambda name: outcome.results[name].started_at_s or 0.0)
        return {"order": started, "tasks": {name: self._task_result(task) for name, task in outcome.results.items()}}

    def _task_result(self, task: Outcome) -> Mapping[str, Any]:
        return {
            "startedAt": None if task.started_at_s is None else self._wall_ms(task.started_at_s),
            "finishedAt": None if task.finished_at_s is None else self._wall_ms(task.finished_at_s),
            "waitMs": task.waited_s * 1000,
            "runMs": task.ran_s * 1000,
            "attempts": task.attempts,
            "state": task.state.value,
            "value": task.value,
            "fallback": task.fallback,
            "pid": task.pid,
        }


@dataclass(slots=True)
class _Failing:
    """A step that fails the first `times` times it runs, counted over all steps and attempts of its task."""

    kind: ErrorKind
    times: int

    async def run(self, duration_s: float) -> str:
        await asyncio.sleep(duration_s)
        if self.times > 0:
            self.times -= 1
            raise StepError(self.kind, f"the probe failed as asked ({self.kind.value})")
        return "succeeded"


def _step_count(task: object) -> int:
    """Return how many steps a task asks for, as far as that can be said before it is read."""
    count = task.get("steps", 1) if isinstance(task, Mapping) else 1
    return count if isinstance(count, int) and 0 < count <= _MOST_STEPS else 1


async def _sleep(duration_s: float) -> None:
    await asyncio.sleep(duration_s)


def _task(read: Arguments) -> Task:
    read.only(_TASK_KEYS)
    name = read.text("name")
    kind = read.choice("kind", ProbeKind, ProbeKind.SLEEP)
    memory_mb = read.number("memoryMb", 1.0)
    step_count = read.integer("steps", 1, low=1, high=_MOST_STEPS)
    step_s = read.number("durationMs", 10.0, high=_LONGEST_MS) / 1000 / step_count
    call, step_kind, args = _work(read, kind, step_s, memory_mb)
    on_failure = read.choice("onStepFailure", OnStepFailure, OnStepFailure.FAIL)
    steps = tuple(
        Step(name=f"{name} {n + 1}/{step_count}", call=call, args=args, kind=step_kind, on_failure=on_failure)
        for n in range(step_count)
    )
    return Task(
        name=name,
        steps=steps,
        depends_on=read.texts("dependsOn"),
        requirement=Requirement(
            cpu_cores=read.number("cpuCores", 0.1),
            memory_mb=memory_mb,
            gpu_count=read.integer("gpuCount", 0),
            gpu_memory_mb=read.number("gpuMemoryMb", 0.0),
            longest_run_s=math.inf,
        ),
        retry=RetryPolicy(max_retries=read.integer("maxRetries", 0, high=100)),
        timeout=_timeout(read),
    )


def _work(
    read: Arguments, kind: ProbeKind, step_s: float, memory_mb: float
) -> tuple[Callable[..., Any], StepKind, tuple[Any, ...]]:
    error_kind = read.choice("errorKind", ErrorKind, ErrorKind.UNKNOWN)
    if error_kind is not ErrorKind.UNKNOWN and error_kind not in _FAILURES:
        raise read.fail("errorKind", f"must be one of {', '.join(_FAILURES)}, not {error_kind.value!r}")
    fail_times = read.integer("failTimes", 1 if kind is ProbeKind.FAIL else 0, high=1_000_000)
    match kind:
        case ProbeKind.SLEEP:
            return _sleep, StepKind.ASYNC, (step_s,)
        case ProbeKind.CPU | ProbeKind.PROCESS:
            return probe_work.burn, StepKind.PROCESS, (step_s,)
        case ProbeKind.THREAD:
            return probe_work.burn, StepKind.THREAD, (step_s,)
        case ProbeKind.FAIL:
            return _Failing(error_kind, fail_times).run, StepKind.ASYNC, (step_s,)
        case ProbeKind.HANG:
            return probe_work.hang, StepKind.PROCESS, ()
        case ProbeKind.MEMORY:
            return probe_work.fill_memory, StepKind.PROCESS, (memory_mb, step_s)
        case ProbeKind.EXIT:
            return probe_work.exit_worker, StepKind.PROCESS, ()


def _timeout(read: Arguments) -> TimeoutPolicy:
    soft_ms = read.optional_number("softTimeoutMs", high=_LONGEST_MS)
    hard_ms = read.optional_number("hardTimeoutMs", high=_LONGEST_MS)
    for key, limit_ms in (("softTimeoutMs", soft_ms), ("hardTimeoutMs", hard_ms)):
        if limit_ms == 0:
            raise read.fail(key, "must be above 0")
    return TimeoutPolicy(
        soft_s=None if soft_ms is None else soft_ms / 1000,
        hard_s=None if hard_ms is None else hard_ms / 1000,
        on_soft=OnTimeout(read.choice("onSoftTimeout", _SoftChoice, _SoftChoice.WARN).value),
        on_hard=OnTimeout(read.choice("onHardTimeout", _HardChoice, _HardChoice.FAIL).value),
        fallback=read.mapping.get("fallback"),
    )
