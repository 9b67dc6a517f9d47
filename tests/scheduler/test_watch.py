"""The watch looks while there is work and not otherwise, and reports each limit within five seconds."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

import pytest

from headway.scheduler.alerts import AlertChanged, AlertLevel
from headway.scheduler.measures import Usage
from headway.scheduler.model import LoopStalled, PausedChanged, Priority, TaskState, WorkerChanged
from headway.scheduler.watch import FEWEST_FOR_P99, FEWEST_SAMPLES, Watch
from tests.scheduler.lives import ended, life, queued, started, step, timed_out


class Call:
    def __init__(self, at_s: float, function: Callable[[], None]) -> None:
        self.at_s, self.function, self.cancelled = at_s, function, False

    def cancel(self) -> None:
        self.cancelled = True


class Desk:
    """A watch with a clock and timers in the hands of the test."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.usage = Usage()
        self.said: list[AlertChanged] = []
        self.looks = 0
        self._timers: list[tuple[float, int, Call]] = []
        self._order = itertools.count()
        self.depths = [0] * 5, [0] * 5
        self.watch = Watch(
            clock=lambda: self.now_s,
            call_later=self._call_later,
            depths=lambda: self.depths,
            usage=self._read_usage,
            emit=self.said.append,
        )

    def _call_later(self, delay_s: float, function: Callable[[], None]) -> Call:
        call = Call(self.now_s + delay_s, function)
        heapq.heappush(self._timers, (call.at_s, next(self._order), call))
        return call

    def _read_usage(self) -> Usage:
        self.looks += 1
        return self.usage

    def pass_time(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        while self._timers and self._timers[0][0] <= until_s:
            self.now_s, _, call = heapq.heappop(self._timers)
            if not call.cancelled:
                call.function()
        self.now_s = until_s

    def queue(self, count: int) -> None:
        """Let NORMAL tasks wait."""
        for i in range(count):
            self.depths[0][Priority.NORMAL] += 1
            self.watch.observe(queued(f"t{i}", self.now_s))

    def levels(self, metric: str) -> list[AlertLevel]:
        return [event.alert.level for event in self.said if event.alert.metric == metric]


def test_an_idle_watch_has_no_timer() -> None:
    """An event that is no work makes it look once; nothing at all makes it look never."""
    desk = Desk()
    desk.pass_time(3600)
    assert desk.looks == 0
    desk.watch.observe(PausedChanged(at_s=desk.now_s, priorities=(), reason=None))
    desk.pass_time(3600)
    assert desk.looks == 1


def test_work_that_comes_right_after_the_last_look_is_looked_at() -> None:
    """The samples of the depths are spaced, the beginning of the looks is not: a burst behind a look must be seen."""
    desk = Desk()
    desk.watch.observe(queued("a", desk.now_s))
    desk.watch.observe(ended("a", desk.now_s))
    desk.pass_time(1.0)
    desk.queue(140)
    desk.pass_time(5)
    assert desk.levels("queue.depth") == [AlertLevel.WARNING]


def test_it_looks_while_tasks_live_and_stops_after_them() -> None:
    desk = Desk()
    desk.watch.observe(queued("a", desk.now_s))
    desk.watch.observe(started("a", desk.now_s))
    desk.pass_time(10)
    assert desk.looks == 10
    desk.watch.observe(ended("a", desk.now_s))
    desk.pass_time(3600)
    assert desk.looks == 11


def test_depth_over_a_hundred_is_said_within_five_seconds_and_when_it_is_over() -> None:
    desk = Desk()
    desk.watch.observe(PausedChanged(at_s=desk.now_s, priorities=(Priority.NORMAL,), reason="user"))
    desk.queue(140)
    desk.pass_time(5)
    (event,) = desk.said
    alert = event.alert
    assert (alert.metric, alert.labels, alert.level) == ("queue.depth", {"priority": "NORMAL"}, AlertLevel.WARNING)
    assert (alert.value, alert.threshold) == (140, 100)
    assert desk.watch.alerts.active() == [alert]
    for i in range(140):
        desk.depths[0][Priority.NORMAL] -= 1
        desk.watch.observe(started(f"t{i}", desk.now_s))
        desk.watch.observe(ended(f"t{i}", desk.now_s))
    desk.pass_time(60)
    assert desk.levels("queue.depth") == [AlertLevel.WARNING, AlertLevel.RESOLVED]
    looks = desk.looks
    desk.pass_time(3600)
    assert desk.looks == looks, "after the last alert nothing is looked at"
    assert desk.watch.metrics.snapshot().alerts == {("queue.depth", "warning"): 1, ("queue.depth", "resolved"): 1}


def test_sixty_waiting_are_no_alert() -> None:
    desk = Desk()
    desk.queue(60)
    desk.pass_time(30)
    assert desk.said == []


@pytest.mark.parametrize("failed", [FEWEST_SAMPLES // 2, 1])
def test_failures_are_judged_from_enough_samples(failed: int) -> None:
    """One failed of three, or of twenty, is no alert; half of twenty is."""
    desk = Desk()
    total = FEWEST_SAMPLES if failed > 1 else 3
    for i in range(total):
        state = TaskState.FAILED if i < failed else TaskState.COMPLETED
        for event in life(f"t{i}", desk.now_s, state=state):
            desk.watch.observe(event)
    desk.pass_time(5)
    assert desk.levels("tasks.failures") == ([AlertLevel.WARNING, AlertLevel.CRITICAL] if failed > 1 else [])


def test_failures_of_a_burst_that_is_over_are_still_said_and_resolved() -> None:
    """Everything happens within a moment: the watch looks once more after it, and until the minute has passed."""
    desk = Desk()
    for i in range(40):
        for event in life(f"t{i}", desk.now_s, state=TaskState.FAILED if i % 10 == 0 else TaskState.COMPLETED):
            desk.watch.observe(event)
    desk.pass_time(5)
    assert desk.levels("tasks.failures") == [AlertLevel.WARNING]
    desk.pass_time(120)
    assert desk.levels("tasks.failures")[-1] is AlertLevel.RESOLVED


def test_timeouts_are_shares_of_attempts() -> None:
    desk = Desk()
    for i in range(30):
        desk.watch.observe(queued(f"t{i}", desk.now_s))
        desk.watch.observe(started(f"t{i}", desk.now_s))
        if i < 6:
            desk.watch.observe(timed_out(f"t{i}", desk.now_s))
        desk.watch.observe(ended(f"t{i}", desk.now_s))
    desk.pass_time(5)
    assert desk.levels("tasks.timeouts") == [AlertLevel.WARNING]
    assert desk.levels("tasks.failures") == []


@pytest.mark.parametrize(
    ("priority", "response_s", "metrics"),
    [
        (Priority.HIGH, 4.5, []),
        (Priority.HIGH, 6.0, ["response.p95"]),
        (Priority.NORMAL, 31.0, ["response.p95", "response.p99"]),
        (Priority.LOW, 31.0, []),
        (Priority.BATCH, 31.0, []),
    ],
)
def test_slow_answers_are_said_where_someone_waits_for_them(
    priority: Priority, response_s: float, metrics: list[str]
) -> None:
    desk = Desk()
    for i in range(FEWEST_FOR_P99):
        for event in life(f"t{i}", desk.now_s - response_s, runs_s=response_s, priority=priority):
            desk.watch.observe(event)
    desk.pass_time(1.5)
    assert [event.alert.metric for event in desk.said] == metrics


def test_nineteen_slow_answers_are_too_few_to_tell() -> None:
    desk = Desk()
    for i in range(FEWEST_SAMPLES - 1):
        for event in life(f"t{i}", desk.now_s - 9, runs_s=9):
            desk.watch.observe(event)
    desk.pass_time(5)
    assert desk.said == []


@pytest.mark.parametrize(
    ("reason", "said"), [(None, True), ("cpu", True), ("memory", True), ("user", False), ("battery", False)]
)
def test_a_long_wait_is_said_unless_a_person_asked_for_it(reason: str | None, said: bool) -> None:
    desk = Desk()
    if reason is not None:
        desk.watch.observe(PausedChanged(at_s=desk.now_s, priorities=(Priority.BATCH,), reason=reason))
    desk.watch.observe(queued("a", desk.now_s, Priority.BATCH))
    desk.pass_time(59)
    assert desk.said == []
    desk.pass_time(6)
    assert bool(desk.levels("queue.longestWait")) == said


@pytest.mark.parametrize(
    ("usage", "metric"),
    [
        (Usage(cpu=0.85), "machine.cpu"),
        (Usage(cpu=0.99, foreign_cpu=0.85), "machine.cpu"),
        (Usage(cpu=0.99, foreign_cpu=0.2), None),  # it is our own work
        (Usage(memory=0.9), "machine.memory"),
        (Usage(gpu=0.95), "machine.gpu"),
        (Usage(cpu=0.8, memory=0.85, gpu=0.9), None),
        (Usage(), None),
    ],
)
def test_a_pressed_machine_is_said_within_five_seconds(usage: Usage, metric: str | None) -> None:
    desk = Desk()
    desk.usage = usage
    desk.watch.observe(queued("a", desk.now_s))
    desk.pass_time(5)
    assert [event.alert.metric for event in desk.said] == ([metric] if metric else [])


def test_the_timeline_gets_steps_depths_and_incidents() -> None:
    desk = Desk()
    desk.watch.observe(queued("a", desk.now_s))
    desk.watch.observe(step("a", desk.now_s, 0.01))
    desk.watch.observe(LoopStalled(at_s=desk.now_s, stalled_s=0.2, culprit="x"))
    desk.watch.observe(WorkerChanged(at_s=desk.now_s, pid=1, role="critical", change="died"))
    phases = {event["ph"] for event in desk.watch.trace.export()}
    assert phases == {"M", "X", "C", "i"}


def test_the_last_depth_of_a_burst_is_in_the_timeline() -> None:
    """Samples are at least 50 ms apart, but a look takes one: the timeline ends with what is true."""
    desk = Desk()
    desk.queue(30)
    desk.pass_time(2)
    counters = [e["args"]["NORMAL"] for e in desk.watch.trace.export() if e["name"] == "tasks waiting"]
    assert counters == [1, 30]
    assert desk.looks == 2


def test_a_closed_watch_looks_no_more() -> None:
    desk = Desk()
    desk.watch.observe(queued("a", desk.now_s))
    desk.watch.close()
    desk.watch.close()
    desk.pass_time(100)
    assert desk.looks == 0
