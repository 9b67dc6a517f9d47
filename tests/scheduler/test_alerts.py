"""When an alert is raised, worsens and ends; and that nothing is ever said twice in a row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.scheduler.alerts import RULES, Alert, AlertLevel, Alerts, Reading, Rule

WARNING, CRITICAL, RESOLVED = AlertLevel.WARNING, AlertLevel.CRITICAL, AlertLevel.RESOLVED
RULE = Rule(metric="m", threshold=100, worse=1000, clear=80, message="{where} has {value:.0f} of {threshold:g}")
LABELS = (("priority", "NORMAL"),)


def said(alerts: Alerts, value: float | None, at_s: float) -> list[AlertLevel]:
    return [alert.level for alert in alerts.judge([Reading(metric="m", value=value, labels=LABELS)], at_s)]


def test_one_alert_over_the_limit_and_one_when_it_is_over() -> None:
    alerts = Alerts(rules=[RULE])
    assert said(alerts, 100, 0.0) == []
    assert said(alerts, 101, 1.0) == [WARNING]
    assert said(alerts, 140, 2.0) == []
    assert said(alerts, 10, 3.0) == []
    assert said(alerts, 10, 5.0) == [RESOLVED]
    assert said(alerts, 10, 6.0) == []
    assert alerts.active() == []
    assert not alerts.watching


def test_an_alert_says_all_that_it_is_about() -> None:
    alerts = Alerts(rules=[RULE])
    (alert,) = alerts.judge([Reading(metric="m", value=140.0, labels=LABELS)], 7.0)
    assert alert == Alert(
        alert_id=alert.alert_id,
        metric="m",
        labels={"priority": "NORMAL"},
        level=WARNING,
        value=140.0,
        threshold=100,
        since_s=7.0,
        message="NORMAL has 140 of 100",
    )
    assert alerts.active() == [alert]


def test_it_keeps_its_id_to_the_end_and_the_next_one_has_another() -> None:
    alerts = Alerts(rules=[RULE])
    ids = []
    for value, at_s in ((200, 0.0), (2000, 1.0), (0, 2.0), (0, 4.0), (200, 5.0)):
        ids += [alert.alert_id for alert in alerts.judge([Reading(metric="m", value=value, labels=LABELS)], at_s)]
    assert len(ids) == 4
    assert ids[0] == ids[1] == ids[2] != ids[3]


def test_much_worse_is_critical_but_a_warning_comes_first() -> None:
    alerts = Alerts(rules=[RULE])
    assert said(alerts, 5000, 0.0) == [WARNING]
    assert said(alerts, 5000, 1.0) == [CRITICAL]
    assert said(alerts, 5000, 2.0) == []
    assert said(alerts, 200, 3.0) == [], "it does not fall back to a warning"


def test_what_lasts_becomes_critical() -> None:
    alerts = Alerts(rules=[RULE])
    assert said(alerts, 120, 0.0) == [WARNING]
    assert said(alerts, 120, 59.0) == []
    assert said(alerts, 120, 60.0) == [CRITICAL]


def test_between_the_marks_nothing_is_said() -> None:
    """A value that swings around its limit makes one alert, not many."""
    alerts = Alerts(rules=[RULE])
    levels = [level for second in range(50) for level in said(alerts, 101 if second % 2 else 85, float(second))]
    assert levels == [WARNING]


def test_a_dip_shorter_than_the_hold_does_not_end_it() -> None:
    alerts = Alerts(rules=[RULE])
    assert said(alerts, 150, 0.0) == [WARNING]
    assert said(alerts, 0, 1.0) == []
    assert said(alerts, 150, 2.0) == []
    assert said(alerts, 0, 3.0) == []
    assert said(alerts, 0, 4.9) == []
    assert said(alerts, 0, 5.0) == [RESOLVED]


def test_where_asked_for_only_what_lasts_a_moment_is_raised() -> None:
    alerts = Alerts(rules=[Rule(metric="m", threshold=1, worse=9, clear=0.5, message="", raise_after_s=2.0)])
    assert (said(alerts, 2, 0.0), alerts.watching) == ([], True)
    assert (said(alerts, 0, 1.0), alerts.watching) == ([], False)
    assert said(alerts, 2, 2.0) == []
    assert said(alerts, 2, 4.0) == [WARNING]


def test_too_few_to_tell_counts_as_below() -> None:
    alerts = Alerts(rules=[RULE])
    assert said(alerts, None, 0.0) == []
    assert said(alerts, 150, 1.0) == [WARNING]
    assert said(alerts, None, 2.0) == []
    assert said(alerts, None, 4.0) == [RESOLVED]


def test_a_reading_that_is_no_longer_given_ends_its_alert() -> None:
    alerts = Alerts(rules=[RULE])
    assert said(alerts, 150, 0.0) == [WARNING]
    assert alerts.judge([], 1.0) == []
    assert [alert.level for alert in alerts.judge([], 3.0)] == [RESOLVED]


def test_a_reading_without_a_rule_says_nothing() -> None:
    assert Alerts(rules=[RULE]).judge([Reading(metric="other", value=1e9)], 0.0) == []


def test_labels_keep_readings_apart() -> None:
    alerts = Alerts(rules=[RULE])
    both = [Reading(metric="m", value=150, labels=(("priority", name),)) for name in ("HIGH", "NORMAL")]
    changed = alerts.judge(both, 0.0)
    assert [alert.labels["priority"] for alert in changed] == ["HIGH", "NORMAL"]
    assert len({alert.alert_id for alert in changed}) == 2


def test_critical_ones_are_listed_first() -> None:
    alerts = Alerts(rules=[RULE])
    first = [Reading(metric="m", value=150, labels=(("priority", "LOW"),))]
    alerts.judge(first, 0.0)
    second = [*first, Reading(metric="m", value=5000, labels=(("priority", "HIGH"),))]
    alerts.judge(second, 1.0)
    alerts.judge(second, 2.0)
    assert [alert.labels["priority"] for alert in alerts.active()] == ["HIGH", "LOW"]


values = st.one_of(st.none(), st.floats(0, 3000))


@given(script=st.lists(st.tuples(values, st.floats(0.1, 40)), max_size=60))
def test_levels_always_come_in_order(script: list[tuple[float | None, float]]) -> None:
    """Whatever a reading does: warning, perhaps critical, resolved, and anew; never the same twice in a row."""
    alerts = Alerts(rules=[RULE])
    now_s, before = 0.0, RESOLVED
    after = {RESOLVED: {WARNING}, WARNING: {CRITICAL, RESOLVED}, CRITICAL: {RESOLVED}}
    for value, pause_s in script:
        now_s += pause_s
        levels = said(alerts, value, now_s)
        assert len(levels) <= 1
        for level in levels:
            assert level in after[before]
            before = level
        assert bool(alerts.active()) == (before is not RESOLVED)


@pytest.mark.parametrize(
    ("metric", "threshold"),
    [
        ("response.p95", 5.0),
        ("response.p99", 30.0),
        ("queue.depth", 100),
        ("queue.longestWait", 60.0),
        ("machine.cpu", 0.80),
        ("machine.memory", 0.85),
        ("machine.gpu", 0.90),
        ("tasks.failures", 0.05),
        ("tasks.timeouts", 0.10),
    ],
)
def test_the_limits_are_those_promised(metric: str, threshold: float) -> None:
    (rule,) = (rule for rule in RULES if rule.metric == metric)
    assert rule.threshold == threshold
    assert rule.clear < threshold < rule.worse
    assert rule.raise_after_s <= 3.0, "an alert is raised within five seconds of the crossing"
    alerts = Alerts()
    labels = (("priority", "HIGH"),)
    assert alerts.judge([Reading(metric=metric, value=threshold, labels=labels)], 0.0) == []
    alerts.judge([Reading(metric=metric, value=threshold * 1.01, labels=labels)], 1.0)
    alerts.judge([Reading(metric=metric, value=threshold * 1.01, labels=labels)], 1.0 + rule.raise_after_s)
    (alert,) = alerts.active()
    assert alert.level is WARNING
    assert "{" not in alert.message
