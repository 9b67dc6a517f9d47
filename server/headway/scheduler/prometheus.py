"""The metrics in the Prometheus text format (version 0.0.4). Pure: a snapshot in, text out.

Source: Prometheus documentation, "Exposition formats", text-based format.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from headway.scheduler.measures import Labels, LevelMetrics, MetricsSnapshot
from headway.scheduler.model import Priority
from headway.scheduler.sketch import Quantiles

PREFIX = "headway_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One metric with its series. `samples`: (suffix of the name, labels, value)."""

    name: str
    kind: Literal["counter", "gauge", "summary"]
    help: str
    samples: list[tuple[str, Labels, float]] = field(default_factory=list)


def exposition(snapshot: MetricsSnapshot) -> str:
    """Return a snapshot as Prometheus text; it ends with a line feed."""
    return render(families(snapshot))


def render(metrics: Iterable[Family]) -> str:
    """Write metrics down, each with its HELP and TYPE; those without any series are left out.

    Raises:
        ValueError: a name or a series occurs twice, which scrapers refuse.
    """
    lines: list[str] = []
    seen: set[tuple[str, Labels]] = set()
    names: set[str] = set()
    for metric in metrics:
        if not metric.samples:
            continue
        if metric.name in names:
            raise ValueError(f"metric {metric.name!r} occurs twice")
        names.add(metric.name)
        lines.append(f"# HELP {metric.name} {_escape(metric.help)}")
        lines.append(f"# TYPE {metric.name} {metric.kind}")
        for suffix, labels, value in metric.samples:
            series = (metric.name + suffix, labels)
            if series in seen:
                raise ValueError(f"series {series} occurs twice")
            seen.add(series)
            lines.append(f"{metric.name}{suffix}{_labels(labels)} {_number(value)}")
    return "\n".join(lines) + "\n"


def families(snapshot: MetricsSnapshot) -> Iterator[Family]:
    """Yield all metrics of a snapshot."""
    yield from _counters(snapshot)
    yield from _gauges(snapshot)
    levels = snapshot.levels
    yield _summary(
        "task_waiting_seconds",
        "Time from ready to started, all attempts together.",
        _by_priority(levels, lambda it: it.waiting),
    )
    yield _summary(
        "task_running_seconds", "Running time of the last attempt.", _by_priority(levels, lambda it: it.running_time)
    )
    yield _summary("task_response_seconds", "Time from ready to ended.", _by_priority(levels, lambda it: it.response))
    yield _summary("loop_stall_seconds", "Stretches in which the event loop did not turn.", [((), snapshot.stalls)])
    yield from _of_host(snapshot)


def _counters(snapshot: MetricsSnapshot) -> Iterator[Family]:
    levels = snapshot.levels
    for name, help_, attribute in (
        ("tasks_submitted_total", "Tasks that became ready for the first time.", "submitted"),
        ("task_retries_total", "Attempts that failed and are made again.", "retries"),
        ("tasks_shed_total", "Tasks given up under overload, as they could not be on time.", "shed"),
        ("sla_kept_total", "Tasks that completed within their priority's time.", "sla_kept"),
        ("sla_broken_total", "Tasks that failed or took longer than their priority's time.", "sla_broken"),
    ):
        yield _family(
            name, "counter", help_, [((("priority", p.name),), getattr(it, attribute)) for p, it in levels.items()]
        )
    ends = ("completed", "failed", "cancelled", "skipped")
    yield _family(
        "tasks_ended_total",
        "counter",
        "Tasks that ended, by how.",
        [
            ((("priority", p.name), ("state", end.upper())), getattr(it, end))
            for p, it in levels.items()
            for end in ends
        ],
    )
    yield _family(
        "task_timeouts_total",
        "counter",
        "Limits of attempts that were reached.",
        [
            ((("limit", limit), ("priority", p.name)), value)
            for p, it in levels.items()
            for limit, value in (("hard", it.hard_timeouts), ("soft", it.soft_timeouts))
        ],
    )
    yield _family(
        "jobs_ended_total",
        "counter",
        "Visible jobs that ended, by how.",
        [((("state", state.value),), count) for state, count in snapshot.jobs.items()],
    )
    yield _family(
        "worker_changes_total",
        "counter",
        "Worker processes started, ended, died or killed.",
        [((("change", change), ("role", role)), count) for (role, change), count in sorted(snapshot.workers.items())],
    )
    yield _family(
        "alerts_total",
        "counter",
        "Changes of alerts, by metric and level.",
        [((("level", level), ("metric", metric)), count) for (metric, level), count in sorted(snapshot.alerts.items())],
    )


def _gauges(snapshot: MetricsSnapshot) -> Iterator[Family]:
    levels = snapshot.levels
    for name, help_, attribute in (
        ("queue_depth", "Tasks that wait.", "queued"),
        ("tasks_running", "Tasks that run.", "running"),
        ("longest_wait_seconds", "How long the oldest waiting task has waited.", "longest_wait_s"),
    ):
        yield _family(
            name, "gauge", help_, [((("priority", p.name),), getattr(it, attribute)) for p, it in levels.items()]
        )
    yield _family(
        "paused",
        "gauge",
        "1 while a priority is paused.",
        [((("priority", p.name),), float(p in snapshot.paused)) for p in Priority],
    )
    usage, indicators = snapshot.usage, snapshot.indicators
    for name, help_, share in (
        ("cpu_ratio", "Use of the processors, 0 to 1.", usage.cpu),
        ("foreign_cpu_ratio", "Use of the processors by other programs, 0 to 1.", usage.foreign_cpu),
        ("memory_ratio", "Use of the memory, 0 to 1.", usage.memory),
        ("gpu_ratio", "Use of the busiest GPU, 0 to 1.", usage.gpu),
        ("cores_used", "Cores that running tasks hold.", usage.cores_used),
        ("cores_admitted", "Cores that waiting tasks could have.", usage.cores_admitted),
        ("allocated_ratio", "Admitted cores in use while something waited.", indicators.allocated),
        ("timeouts_ratio", "Attempts that ended by a hard limit.", indicators.timeouts),
        ("retries_succeeded_ratio", "Tasks tried again that then completed.", indicators.retries_succeeded),
    ):
        yield _family(name, "gauge", help_, [] if share is None else [((), share)])


def _of_host(snapshot: MetricsSnapshot) -> Iterator[Family]:
    """What the host counts itself; `host_` keeps its names apart from ours."""
    counts: dict[str, list[tuple[Labels, float]]] = {}
    for (name, labels), count in sorted(snapshot.counts.items()):
        counts.setdefault(name, []).append((labels, count))
    for name, samples in counts.items():
        yield _family(f"host_{name}_total", "counter", f"Counted by the host: {name}.", samples)
    durations: dict[str, list[tuple[Labels, Quantiles]]] = {}
    for (name, labels), quantiles in sorted(snapshot.durations.items(), key=lambda item: item[0]):
        durations.setdefault(name, []).append((labels, quantiles))
    for name, distributions in durations.items():
        yield _summary(f"host_{name}_seconds", f"Recorded by the host: {name}.", distributions)


def _family(
    name: str, kind: Literal["counter", "gauge"], help_: str, samples: Iterable[tuple[Labels, float]]
) -> Family:
    return Family(name=PREFIX + name, kind=kind, help=help_, samples=[("", labels, value) for labels, value in samples])


def _summary(name: str, help_: str, distributions: Iterable[tuple[Labels, Quantiles]]) -> Family:
    metric = Family(name=PREFIX + name, kind="summary", help=help_)
    for labels, it in distributions:
        for share, value in (("0.5", it.p50_s), ("0.95", it.p95_s), ("0.99", it.p99_s)):
            metric.samples.append(("", (*labels, ("quantile", share)), math.nan if value is None else value))
        metric.samples.append(("_sum", labels, it.total_s))
        metric.samples.append(("_count", labels, it.count))
    return metric


def _by_priority(
    levels: Mapping[Priority, LevelMetrics], pick: Callable[[LevelMetrics], Quantiles]
) -> list[tuple[Labels, Quantiles]]:
    return [((("priority", priority.name),), pick(level)) for priority, level in levels.items()]


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(value, quote=True)}"' for name, value in labels) + "}"


def _escape(text: str, *, quote: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quote else text


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
