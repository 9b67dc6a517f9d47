"""Numbers folded from events: each task counted once, where it belongs, whatever happens to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.scheduler.measures import Depths, Usage
from headway.scheduler.metrics import Metrics
from headway.scheduler.model import (
    Event,
    JobChanged,
    JobProgressed,
    JobState,
    LoopStalled,
    PausedChanged,
    Priority,
    TaskMoved,
    TaskState,
    WorkerChanged,
)
from tests.scheduler.lives import Clock, ended, life, queued, retrying, started, timed_out

NORMAL, HIGH, BATCH = Priority.NORMAL, Priority.HIGH, Priority.BATCH


def nothing() -> Depths:
    return [0] * 5, [0] * 5


def waiting(metrics: Metrics) -> list[int]:
    """How many tasks metrics take for waiting, by priority."""
    return [len(level.waits) + len(level.moved) for level in metrics.levels]


def folded(*events: Event, now_s: float = 0.0) -> Metrics:
    metrics = Metrics(Clock(now_s), nothing)
    for event in events:
        metrics.observe(event)
    return metrics


def moved(task: str, at_s: float, previous: Priority, priority: Priority, reason: str = "inherited") -> TaskMoved:
    return TaskMoved(at_s=at_s, job_id="job", task_id=task, previous=previous, priority=priority, reason=reason)


def test_a_task_is_followed_through_its_life() -> None:
    metrics = folded(queued("a", 1.0))
    assert (waiting(metrics)[NORMAL], metrics.alive) == (1, 1)
    metrics.observe(started("a", 1.5, waited_s=0.5))
    assert (waiting(metrics)[NORMAL], metrics.alive) == (0, 1)
    metrics.observe(ended("a", 3.5, ran_s=2.0, waited_s=0.5))
    assert (waiting(metrics)[NORMAL], metrics.alive) == (0, 0)
    level = metrics.snapshot().levels[NORMAL]
    assert (level.submitted, level.completed, level.failed) == (1, 1, 0)
    assert level.waiting.p50_s == pytest.approx(0.5)
    assert level.running_time.p50_s == pytest.approx(2.0)
    assert level.response.p50_s == pytest.approx(2.5)


@pytest.mark.parametrize(
    ("priority", "response_s", "kept", "broken"),
    [
        (Priority.CRITICAL, 0.09, 1, 0),
        (Priority.CRITICAL, 0.11, 0, 1),
        (Priority.HIGH, 1.9, 1, 0),
        (Priority.HIGH, 2.1, 0, 1),
        (Priority.NORMAL, 9.9, 1, 0),
        (Priority.NORMAL, 10.1, 0, 1),
        (Priority.LOW, 59.0, 1, 0),
        (Priority.LOW, 61.0, 0, 1),
        (Priority.BATCH, 1e5, 0, 0),
    ],
)
def test_a_completion_inside_its_sla_is_no_breach(
    priority: Priority, response_s: float, kept: int, broken: int
) -> None:
    metrics = folded(*life("a", 0.0, waits_s=response_s / 2, runs_s=response_s / 2, priority=priority))
    level = metrics.snapshot().levels[priority]
    assert (level.sla_kept, level.sla_broken) == (kept, broken)


def test_time_in_the_queue_counts_for_the_sla() -> None:
    metrics = folded(*life("a", 0.0, waits_s=3.0, runs_s=0.01, priority=HIGH))
    assert metrics.snapshot().levels[HIGH].sla_broken == 1


@pytest.mark.parametrize(("state", "broken"), [(TaskState.FAILED, 1), (TaskState.CANCELLED, 0), (TaskState.SKIPPED, 0)])
def test_a_failure_breaks_the_sla_and_a_cancelled_task_does_not(state: TaskState, broken: int) -> None:
    level = folded(*life("a", 0.0, priority=HIGH, state=state)).snapshot().levels[HIGH]
    assert (level.sla_kept, level.sla_broken) == (0, broken)


def test_other_service_levels_can_be_set() -> None:
    metrics = Metrics(Clock(), nothing, sla_s={Priority.BATCH: 1.0})
    for event in life("a", 0.0, runs_s=2.0, priority=BATCH):
        metrics.observe(event)
    assert metrics.snapshot().levels[BATCH].sla_broken == 1
    assert metrics.snapshot().levels[HIGH].sla_s is None


def test_waiting_starts_anew_after_a_retry() -> None:
    """The second wait is counted from the second queueing; while it waits for its retry, the task is in no queue."""
    metrics = folded(queued("a", 0.0), started("a", 1.0, 1.0), retrying("a", 2.0))
    assert (waiting(metrics)[NORMAL], metrics.alive) == (0, 1)
    metrics.observe(queued("a", 50.0))
    assert metrics.longest_wait_s(NORMAL, 52.0) == 2.0
    metrics.observe(started("a", 53.0, 3.0, attempt=2))
    metrics.observe(ended("a", 54.0, waited_s=4.0))
    level = metrics.snapshot().levels[NORMAL]
    assert (level.submitted, level.retries, level.completed) == (1, 1, 1)
    assert level.waiting.max_s == 4.0
    assert level.response.max_s == 54.0


def test_a_paused_task_goes_back_to_the_queue_once() -> None:
    metrics = folded(queued("a", 0.0), started("a", 1.0), queued("a", 2.0))
    assert waiting(metrics)[NORMAL] == 1
    metrics.observe(started("a", 3.0))
    metrics.observe(ended("a", 4.0))
    assert metrics.snapshot().levels[NORMAL].submitted == 1


@pytest.mark.parametrize("reason", ["age", "quantum"])
def test_moves_within_the_feedback_queue_change_nothing(reason: str) -> None:
    """A BATCH task that rose or sank still counts as BATCH; it has no time to keep."""
    metrics = folded(queued("a", 0.0, BATCH), moved("a", 5.0, BATCH, HIGH, reason))
    assert (metrics.longest_wait_s(HIGH, 10.0), metrics.longest_wait_s(BATCH, 10.0)) == (0.0, 10.0)
    metrics.observe(started("a", 10.0, 10.0, priority=BATCH))
    metrics.observe(ended("a", 11.0, priority=BATCH))
    levels = metrics.snapshot().levels
    assert (levels[BATCH].completed, levels[HIGH].completed) == (1, 0)
    assert (levels[HIGH].sla_kept, levels[HIGH].sla_broken) == (0, 0)


def test_inherited_priority_moves_the_wait_but_not_the_promise() -> None:
    metrics = folded(queued("a", 0.0, BATCH), moved("a", 5.0, BATCH, HIGH, "inherited"))
    assert (metrics.longest_wait_s(HIGH, 10.0), metrics.longest_wait_s(BATCH, 10.0)) == (10.0, 0.0)
    metrics.observe(started("a", 10.0, 10.0, priority=HIGH))
    metrics.observe(ended("a", 11.0, priority=HIGH))
    assert metrics.snapshot().levels[HIGH].sla_broken == 0


def test_a_priority_that_a_person_set_is_the_new_promise() -> None:
    metrics = folded(queued("a", 0.0, BATCH), moved("a", 0.5, BATCH, HIGH, reason="set"), started("a", 1.0, 1.0))
    metrics.observe(ended("a", 5.0))
    assert metrics.snapshot().levels[HIGH].sla_broken == 1


def test_what_was_never_ready_is_counted_as_ended_only() -> None:
    metrics = folded(ended("a", 1.0, TaskState.SKIPPED), moved("a", 2.0, NORMAL, HIGH))
    level = metrics.snapshot().levels[NORMAL]
    assert (level.submitted, level.skipped, level.response.count) == (0, 1, 0)
    assert waiting(metrics) == [0] * 5


def test_timeouts_by_kind_of_limit() -> None:
    metrics = folded(
        queued("a", 0.0), started("a", 0.0), timed_out("a", 1.0, hard=False), timed_out("a", 2.0), ended("a", 2.0)
    )
    level = metrics.snapshot().levels[NORMAL]
    assert (level.soft_timeouts, level.hard_timeouts) == (1, 1)
    assert metrics.recent_timeouts(2.0)[NORMAL] == (1, 1)
    assert metrics.indicators().timeouts == 1.0


def test_rates_are_per_second_of_the_recent_past() -> None:
    clock = Clock()
    metrics = Metrics(clock, nothing)
    for i in range(200):
        for event in life(f"t{i}", i * 0.1, state=TaskState.COMPLETED if i % 2 else TaskState.FAILED):
            metrics.observe(event)
    clock.now_s = 20.0
    level = metrics.snapshot().levels[NORMAL]
    assert level.submission_rate == pytest.approx(10.0, rel=0.05)
    assert level.completion_rate == pytest.approx(5.0, rel=0.05)
    clock.now_s = 1000.0
    assert metrics.snapshot().levels[NORMAL].submission_rate == 0.0


def test_retries_that_succeed_are_told_from_those_that_do_not() -> None:
    metrics = folded()
    for i in range(10):
        for event in (
            queued(f"t{i}", 0.0),
            started(f"t{i}", 0.0),
            retrying(f"t{i}", 1.0),
            queued(f"t{i}", 2.0),
            started(f"t{i}", 2.0, attempt=2),
            ended(f"t{i}", 3.0, TaskState.FAILED if i == 0 else TaskState.COMPLETED),
        ):
            metrics.observe(event)
    assert metrics.indicators().retries_succeeded == pytest.approx(0.9)


def test_allocation_is_judged_only_while_something_waits() -> None:
    depths = [0] * 5
    metrics = Metrics(Clock(), lambda: (depths, [0] * 5))
    metrics.sample(Usage(cores_used=0.0, cores_admitted=1.5))
    assert metrics.indicators().allocated is None
    depths[NORMAL] = 1
    metrics.sample(Usage(cores_used=1.5, cores_admitted=1.5))
    metrics.sample(Usage(cores_used=0.5, cores_admitted=1.5))
    metrics.sample(Usage(cores_used=1.9, cores_admitted=1.5))  # CRITICAL work may use more than is admitted
    assert metrics.indicators().allocated == pytest.approx(3.5 / 4.5)
    assert metrics.usage.cores_used == 1.9
    assert metrics.snapshot().levels[NORMAL].queued == 1


def test_jobs_workers_stalls_and_pauses_are_counted() -> None:
    metrics = folded(
        JobChanged(at_s=0.0, job_id="j", state=JobState.PENDING, previous=None),
        JobProgressed(at_s=0.0, job_id="j", done=1, total=2, progress=0.5),
        JobChanged(at_s=1.0, job_id="j", state=JobState.COMPLETED, previous=JobState.RUNNING),
        WorkerChanged(at_s=1.0, pid=7, role="background", change="died"),
        WorkerChanged(at_s=1.0, pid=8, role="background", change="died"),
        LoopStalled(at_s=2.0, stalled_s=0.2, culprit="x"),
        PausedChanged(at_s=3.0, priorities=(BATCH,), reason="user"),
    )
    snapshot = metrics.snapshot()
    assert snapshot.jobs[JobState.COMPLETED] == 1
    assert snapshot.workers == {("background", "died"): 2}
    assert snapshot.stalls.count == 1
    assert (snapshot.paused, snapshot.pause_reason) == ((BATCH,), "user")


def test_labels_of_the_host_reach_the_snapshot() -> None:
    metrics = folded()
    metrics.count("files_indexed", 3, {"language": "python"})
    metrics.count("files_indexed", 2, {"language": "python"})
    metrics.count("files_indexed", 1, {"language": "go"})
    metrics.record("completion", 0.012, {"engine": "ty"})
    snapshot = metrics.snapshot()
    assert snapshot.counts == {
        ("files_indexed", (("language", "python"),)): 5,
        ("files_indexed", (("language", "go"),)): 1,
    }
    assert snapshot.durations[("completion", (("engine", "ty"),))].count == 1


def test_series_of_the_host_are_bounded() -> None:
    metrics = folded()
    for i in range(2_000):
        metrics.count("requests", labels={"id": str(i)})
        metrics.record("took", 0.1, {"id": str(i)})
    snapshot = metrics.snapshot()
    assert len(snapshot.counts) + len(snapshot.durations) == 500
    metrics.count("requests", labels={"id": "0"})
    assert metrics.snapshot().counts[("requests", (("id", "0"),))] == 2


@pytest.mark.parametrize("name", ["", "two words", "9lives", "x-y"])
def test_names_that_no_scraper_takes_are_refused(name: str) -> None:
    metrics = folded()
    with pytest.raises(ValueError, match="letters, digits"):
        metrics.count(name)
    with pytest.raises(ValueError, match="letters, digits"):
        metrics.record("ok", 1.0, {name: "x"})


def test_a_counter_cannot_fall() -> None:
    with pytest.raises(ValueError, match="only rise"):
        folded().count("x", -1)


def test_memory_does_not_follow_the_count() -> None:
    """Of tasks that have ended nothing of their own is kept."""
    metrics = folded()
    for i in range(5_000):
        for event in life(f"t{i}", i * 0.01, waits_s=0.001, runs_s=0.002):
            metrics.observe(event)
    assert metrics.alive == 0
    assert metrics._live == {}
    assert metrics._past == {}
    assert waiting(metrics) == [0] * 5


actions = st.sampled_from(["queue", "start", "retry", "move", "end", "end_failed", "cancel"])


@given(script=st.lists(st.tuples(st.integers(0, 4), actions, st.sampled_from(list(Priority))), max_size=80))
def test_what_waits_is_what_was_queued_and_not_started(script: list[tuple[int, str, Priority]]) -> None:
    """Whatever order events come in, the waiting tasks agree with a plain model, and each task ends once."""
    metrics = folded()
    model: dict[str, tuple[str, Priority, float]] = {}  # state, priority, since when it waits
    ends = 0
    for at, (number, action, priority) in enumerate(script):
        task, at_s = f"t{number}", float(at)
        state, level, since_s = model.get(task, ("none", priority, at_s))
        if action == "queue":
            metrics.observe(queued(task, at_s, priority))
            model[task] = ("queued", priority, at_s)
        elif action == "start" and state == "queued":
            metrics.observe(started(task, at_s, 0.5, level))
            model[task] = ("running", level, since_s)
        elif action == "retry" and state == "running":
            metrics.observe(retrying(task, at_s, level))
            model[task] = ("held", level, since_s)
        elif action == "move" and state in ("queued", "running"):
            metrics.observe(moved(task, at_s, level, priority))
            model[task] = (state, priority, since_s)
        elif action in ("end", "end_failed", "cancel") and state != "none":
            final = {"end": TaskState.COMPLETED, "end_failed": TaskState.FAILED, "cancel": TaskState.CANCELLED}[action]
            metrics.observe(ended(task, at_s, final, level))
            del model[task]
            ends += 1
    assert waiting(metrics) == [sum(held[:2] == ("queued", p) for held in model.values()) for p in Priority]
    for p in Priority:
        waits_s = [1000.0 - since_s for state, level, since_s in model.values() if (state, level) == ("queued", p)]
        assert metrics.longest_wait_s(p, 1000.0) == max(waits_s, default=0.0)
    levels = metrics.snapshot().levels.values()
    assert sum(level.completed + level.failed + level.cancelled for level in levels) == ends
    assert metrics.alive == len(model)
