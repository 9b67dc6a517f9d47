"""What hypothesis draws jobs from: small DAGs of tasks that succeed, fail, hang, and have limits of all kinds."""

from __future__ import annotations

from hypothesis import strategies as st

from headway.scheduler.model import (
    ErrorKind,
    Job,
    OnStepFailure,
    OnTaskFailure,
    OnTimeout,
    Priority,
    Requirement,
    RetryPolicy,
    Step,
    StepKind,
    Task,
    TimeoutPolicy,
)
from tests.scheduler.world import Work

DURATIONS = st.sampled_from([0.0, 0.003, 0.05, 0.4, 3.0])

works = st.builds(
    Work,
    lasts_s=DURATIONS,
    value=st.integers(0, 3),
    fails=st.sampled_from([0, 0, 0, 1, 2, 99]),
    kind=st.sampled_from(list(ErrorKind)),
    stubborn_s=st.sampled_from([0.0, 0.0, 0.05, 5.0]),
)

requirements = st.builds(
    Requirement,
    cpu_cores=st.sampled_from([0.0, 0.1, 0.33, 0.5, 1.0, 1.5]),
    memory_mb=st.sampled_from([0.0, 1.0, 256.0, 3000.0]),
    longest_run_s=st.sampled_from([2.0, 300.0]),
)

timeouts = st.builds(
    TimeoutPolicy,
    soft_s=st.sampled_from([None, None, 0.1]),
    hard_s=st.sampled_from([None, None, 0.5]),
    queue_s=st.sampled_from([None, None, 2.0]),
    heartbeat_s=st.sampled_from([None, None, None, 1.0]),
    on_soft=st.sampled_from([OnTimeout.WARN, OnTimeout.SKIP, OnTimeout.RETRY, OnTimeout.FALLBACK]),
    on_hard=st.sampled_from([OnTimeout.FAIL, OnTimeout.SKIP, OnTimeout.RETRY, OnTimeout.FALLBACK]),
)

retries = st.builds(
    RetryPolicy,
    max_retries=st.sampled_from([None, 0, 1, 3]),
    dependency=st.sampled_from([None, None, "endpoint"]),
)

priorities = st.sampled_from(list(Priority))


@st.composite
def step_lists(draw: st.DrawFn) -> tuple[Step, ...]:
    """Up to four steps of any kinds and policies."""
    return tuple(
        Step(
            name=f"s{index}",
            call=draw(works),
            kind=draw(st.sampled_from(list(StepKind))),
            timeout_s=draw(st.sampled_from([None, None, 0.2])),
            on_failure=draw(st.sampled_from(list(OnStepFailure))),
        )
        for index in range(draw(st.integers(1, 4)))
    )


@st.composite
def tasks(draw: st.DrawFn, name: str, earlier: tuple[str, ...]) -> Task:
    """A task that depends on some of `earlier`."""
    split = draw(st.booleans())
    return Task(
        name=name,
        call=None if split else draw(works),
        steps=draw(step_lists()) if split else (),
        depends_on=tuple(draw(st.lists(st.sampled_from(earlier), max_size=3, unique=True))) if earlier else (),
        requirement=draw(requirements),
        priority=draw(st.none() | priorities),
        retry=draw(retries),
        timeout=draw(timeouts),
        run_anyway=draw(st.booleans()),
        weight=draw(st.sampled_from([0.0, 1.0, 5.0])),
    )


@st.composite
def jobs(draw: st.DrawFn, most_tasks: int = 5) -> Job:
    """A job whose tasks depend on earlier ones, handed in in any order."""
    made: list[Task] = []
    for index in range(draw(st.integers(1, most_tasks))):
        made.append(draw(tasks(f"t{index}", tuple(found.name for found in made))))
    return Job(
        type="drawn",
        title="drawn",
        tasks=tuple(draw(st.permutations(made))),
        priority=draw(priorities),
        on_task_failure=draw(st.sampled_from(list(OnTaskFailure))),
        supersede_key=draw(st.sampled_from([None, None, None, "doc"])),
        share_key=draw(st.sampled_from([None, None, None, "same"])),
    )
