"""Results as tables: per class and as a whole, beside other policies and the bound. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headway.scheduler.alerts import AlertLevel
from headway.scheduler.measures import SLA_S, Indicators
from headway.scheduler.model import ErrorKind, Priority, TaskState
from headway.scheduler.simulator.drive import Result

JUDGED = (Priority.CRITICAL, Priority.HIGH)
FARTHEST = 1.05  # of the bound
FEWEST_JUDGED = 20  # tasks of a class: of fewer the p95 is the slowest of all
LEAST_BATCH_SHARE = 0.05
LEAST_GOODPUT = 0.9  # of HIGH at three times the load
# The key indicators of the whole, in words, and what each owes.
KEY_INDICATORS = (
    ("allocated under backlog", 0.80, True),
    ("timeouts", 0.05, False),
    ("retries that succeed", 0.90, True),
    ("alerts in time", 0.95, True),
)
NO_INDICATORS = Indicators(allocated=None, timeouts=None, retries_succeeded=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRow:
    """How a class fared: seconds, shares, tasks an hour that were done within their time. None: nothing to say."""

    priority: Priority
    tasks: int
    wait_p50_s: float | None
    wait_p95_s: float | None
    wait_p99_s: float | None
    response_p95_s: float | None
    response_mean_s: float | None
    sla_kept: float | None
    goodput: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """How a policy fared on a machine. `batch_share`: the least in any window with a backlog; None: there was none."""

    policy: str
    classes: Mapping[Priority, ClassRow]
    batch_share: float | None
    indicators: Indicators
    alerts: int
    shed: int  # HIGH tasks that were given up because they could not be on time
    alerted: float | None  # crossings of the limit of depth that were said within five seconds


def summary(policy: str, result: Result) -> Summary:
    """Return a result in numbers. Superseded and cancelled tasks count nowhere."""
    indicators = result.metrics.indicators() if result.metrics is not None else NO_INDICATORS
    hours = max(result.lasted_s, 1.0) / 3600
    return Summary(
        policy=policy,
        classes={priority: _row(priority, result, hours) for priority in Priority},
        batch_share=min(result.batch_shares, default=None),
        indicators=indicators,
        shed=sum(one.kind is ErrorKind.OVERLOADED for one in result.ended),
        alerted=result.alerted,
        alerts=sum(event.alert.level is AlertLevel.WARNING for event in result.alerts),
    )


def distance(found: ClassRow, bound: ClassRow) -> float | None:
    """Return how far a class is from its bound by p95 of the response time: 1.0 is as good as can be."""
    if found.response_p95_s is None or not bound.response_p95_s:
        return None
    return found.response_p95_s / bound.response_p95_s


def faults(ours: Summary, bounds: Mapping[Priority, ClassRow], judged: Iterable[Priority] = JUDGED) -> list[str]:
    """Return what the default policy owes, in words; `judged` are the classes that are compared with their bounds."""
    said = []
    for priority in judged:
        ratio = distance(ours.classes[priority], bounds[priority])
        if ratio is not None and ratio > FARTHEST and ours.classes[priority].tasks >= FEWEST_JUDGED:
            said.append(f"{priority.name} is {ratio - 1:.0%} from the bound (allowed {FARTHEST - 1:.0%})")
    if ours.batch_share is not None and ours.batch_share < LEAST_BATCH_SHARE:
        said.append(f"BATCH got {ours.batch_share:.1%} of a core in some ten seconds (owed {LEAST_BATCH_SHARE:.0%})")
    return said


def key_indicators(one: Summary) -> list[tuple[str, float | None, bool]]:
    """Return name, value and whether it is as it should be, of each key indicator; what there was none of is."""
    it = one.indicators
    values = (it.allocated, it.timeouts, it.retries_succeeded, one.alerted)
    return [
        (name, value, value is None or (value > limit if above else value < limit))
        for (name, limit, above), value in zip(KEY_INDICATORS, values, strict=True)
    ]


def goodput_kept(found: Summary, usual: ClassRow) -> float | None:
    """Return the share of HIGH's usual goodput that is left; None where there is none."""
    return found.classes[Priority.HIGH].goodput / usual.goodput if usual.goodput else None


def table(title: str, found: Iterable[Summary], bounds: Mapping[Priority, ClassRow]) -> str:
    """Return the comparison on one machine as text."""
    lines = [title, _line(HEAD)]
    for one in found:
        for priority, row in one.classes.items():
            ratio = distance(row, bounds[priority]) if priority in bounds else None
            lines.append(_line((one.policy, *_cells(row), "" if ratio is None else f"{ratio:.2f}")))
        batch = "no backlog" if one.batch_share is None else f"{one.batch_share:.1%} of a core"
        it = one.indicators
        lines.append(
            f"  {one.policy}: BATCH at least {batch}; allocated under backlog {share(it.allocated)}, timeouts "
            f"{share(it.timeouts)}, retries that succeed {share(it.retries_succeeded)}; "
            f"{one.alerts} alerts, in time {share(one.alerted)}"
            + (f"; {one.shed} HIGH tasks given up" if one.shed else "")
        )
    for priority, row in bounds.items():
        lines.append(_line((f"bound {priority.name}", *_cells(row), "1.00")))
    return "\n".join(lines)


HEAD = ("policy", "class", "tasks", "wait p50", "p95", "p99 ms", "resp p95", "SLA kept", "done/h", "/bound")
_WIDTHS = (15, 9, 7, 9, 9, 10, 10, 9, 8, 7)


def _cells(row: ClassRow) -> tuple[str, ...]:
    return (
        row.priority.name,
        str(row.tasks),
        *(_ms(value) for value in (row.wait_p50_s, row.wait_p95_s, row.wait_p99_s, row.response_p95_s)),
        share(row.sla_kept),
        f"{row.goodput:.0f}",
    )


def _line(cells: Sequence[str]) -> str:
    return "  " + "".join(
        cell.ljust(width) if i < 2 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    )


def _row(priority: Priority, result: Result, hours: float) -> ClassRow:
    counted = [
        one for one in result.ended if one.priority is priority and one.state in (TaskState.COMPLETED, TaskState.FAILED)
    ]
    waits = sorted(one.waited_s for one in counted)
    responses = sorted(one.response_s for one in counted)
    limit_s = SLA_S[priority]
    kept = sum(one.state is TaskState.COMPLETED and (limit_s is None or one.response_s <= limit_s) for one in counted)
    return ClassRow(
        priority=priority,
        tasks=len(counted),
        wait_p50_s=quantile(waits, 0.5),
        wait_p95_s=quantile(waits, 0.95),
        wait_p99_s=quantile(waits, 0.99),
        response_p95_s=quantile(responses, 0.95),
        response_mean_s=sum(responses) / len(responses) if responses else None,
        sla_kept=None if limit_s is None or not counted else kept / (len(counted) + result.refused[priority]),
        goodput=kept / hours,
    )


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the value at a share of an ordered sequence; None of nothing."""
    return ordered[int(share * (len(ordered) - 1))] if ordered else None


def _ms(value_s: float | None) -> str:
    return "-" if value_s is None else f"{value_s * 1000:.1f}"


def share(value: float | None) -> str:
    """Return a share in words; "-" where there was nothing to take it of."""
    return "-" if value is None else f"{value:.1%}"
