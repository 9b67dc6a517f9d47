"""The text that scrapers read: parsed by the reference parser, with odd labels, and never a series twice."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from headway.scheduler.measures import Depths, Usage
from headway.scheduler.metrics import Metrics
from headway.scheduler.model import JobChanged, JobState, LoopStalled, Priority, TaskState, WorkerChanged
from headway.scheduler.prometheus import Family, render
from tests.scheduler.lives import Clock, life, retrying


def depths() -> Depths:
    return [0, 0, 7, 0, 0], [0, 1, 0, 0, 0]


def busy() -> Metrics:
    metrics = Metrics(Clock(30.0), depths)
    for i in range(20):
        for priority in Priority:
            for event in life(f"t{i}{priority}", float(i), waits_s=0.1, runs_s=0.2, priority=priority):
                metrics.observe(event)
    for event in life("bad", 25.0, state=TaskState.FAILED):
        metrics.observe(event)
    metrics.observe(retrying("bad", 25.0))
    metrics.observe(JobChanged(at_s=26.0, job_id="j", state=JobState.FAILED, previous=JobState.RUNNING))
    metrics.observe(WorkerChanged(at_s=26.0, pid=1, role="critical", change="started"))
    metrics.observe(LoopStalled(at_s=27.0, stalled_s=0.3, culprit="x"))
    metrics.sample(Usage(cpu=0.5, memory=0.25))
    return metrics


def series(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """All series of a text, as the reference parser reads them."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, f"{key} occurs twice"
            found[key] = sample.value
    return found


def test_the_text_says_what_was_counted() -> None:
    found = series(busy().prometheus())
    normal = (("priority", "NORMAL"),)
    assert found[("headway_tasks_submitted_total", normal)] == 21
    assert found[("headway_tasks_ended_total", (*normal, ("state", "FAILED")))] == 1
    assert found[("headway_task_retries_total", normal)] == 1
    assert found[("headway_sla_kept_total", normal)] == 20
    assert found[("headway_sla_broken_total", (("priority", "CRITICAL"),))] == 20
    assert found[("headway_task_response_seconds_count", normal)] == 21
    assert found[("headway_task_response_seconds", (*normal, ("quantile", "0.95")))] == pytest.approx(0.3, rel=0.02)
    assert found[("headway_jobs_ended_total", (("state", "FAILED"),))] == 1
    assert found[("headway_worker_changes_total", (("change", "started"), ("role", "critical")))] == 1
    assert found[("headway_loop_stall_seconds_count", ())] == 1
    assert found[("headway_cpu_ratio", ())] == 0.5
    assert found[("headway_queue_depth", normal)] == 7
    assert found[("headway_tasks_running", (("priority", "HIGH"),))] == 1
    assert ("headway_gpu_ratio", ()) not in found, "what cannot be told has no series"


def test_an_idle_scheduler_has_a_valid_text_too() -> None:
    text = Metrics(Clock(), depths).prometheus()
    assert text.endswith("\n")
    found = series(text)
    assert math.isnan(found[("headway_task_response_seconds", (("priority", "HIGH"), ("quantile", "0.99")))])


def test_each_metric_is_introduced_once() -> None:
    lines = busy().prometheus().splitlines()
    for word in ("# HELP ", "# TYPE "):
        names = [line.split(" ")[2] for line in lines if line.startswith(word)]
        assert names
        assert len(set(names)) == len(names)


def test_odd_labels_come_back_as_they_were() -> None:
    odd = 'two\nlines, a "quote", a \\ and {braces}, ü€😀'
    metrics = Metrics(Clock(), depths)
    metrics.count("titles", labels={"title": odd})
    metrics.record("took", 1.0, {"title": odd})
    found = series(metrics.prometheus())
    assert found[("headway_host_titles_total", (("title", odd),))] == 1
    assert found[("headway_host_took_seconds_count", (("title", odd),))] == 1


@given(value=st.text(max_size=30), number=st.floats())
def test_any_label_and_any_number_survive(value: str, number: float) -> None:
    # The reference parser splits lines as str.splitlines does, so separators other than \n cannot be tried with it.
    value = "".join(value.splitlines())
    family = Family(name="m", kind="gauge", help="h", samples=[("", (("label", value),), number)])
    text = render([family])
    if value.strip() == value and "\x00" not in value:
        ((key, read),) = series(text).items()
        assert key == ("m", (("label", value),))
        assert read == number or (math.isnan(read) and math.isnan(number))
    assert text.count("\n") == 3


@pytest.mark.parametrize(
    "twice",
    [
        [Family(name="m", kind="gauge", help="h", samples=[("", (), 1.0), ("", (), 2.0)])],
        [Family(name="m", kind="gauge", help="h", samples=[("", (), 1.0)])] * 2,
    ],
)
def test_a_series_twice_is_refused(twice: list[Family]) -> None:
    with pytest.raises(ValueError, match="occurs twice"):
        render(twice)


def test_infinities_are_spelled_as_scrapers_do() -> None:
    text = render([Family(name="m", kind="gauge", help="h", samples=[("_a", (), math.inf), ("_b", (), -math.inf)])])
    assert "m_a +Inf" in text
    assert "m_b -Inf" in text
