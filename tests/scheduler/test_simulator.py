"""The simulator: deterministic, true to its machine, and the default policy keeps what it owes on small scenarios."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.model import ErrorKind, Priority, StepKind, TaskState
from headway.scheduler.simulator.__main__ import main
from headway.scheduler.simulator.crossings import Crossings
from headway.scheduler.simulator.days import Rhythm, day, flood, overload, siege
from headway.scheduler.simulator.drive import BatchShare, OverCommittedError, Result, Simulation
from headway.scheduler.simulator.policies import ALONE, IN_ORDER, OURS, STRICT, Policy
from headway.scheduler.simulator.recorded import read_day
from headway.scheduler.simulator.report import (
    FEWEST_JUDGED,
    JUDGED,
    LEAST_BATCH_SHARE,
    LEAST_GOODPUT,
    ClassRow,
    faults,
    quantile,
    summary,
    table,
)
from headway.scheduler.simulator.work import Fate, Fed, Request, Shape, of_priority, request, task
from headway.scheduler.strategies import DEFAULT

WIDE = Shape(cores=1.0, kind=StepKind.ASYNC)
LIVELY = Rhythm(burst_gap_s=6.0, look_ups=600.0, searches=300.0, first_index=300, branches=30.0, branch=(50, 200))


def one(at_s: float, priority: Priority, *fates: Fate, shape: Shape = WIDE, key: str | None = None) -> Request:
    name = f"{priority.name} at {at_s:g}"
    return request(at_s, priority, [task(name, fates, shape)], type_="one", supersede_key=key)


def responses(result: Result, priority: Priority) -> list[float]:
    return [round(ended.response_s, 9) for ended in result.ended if ended.priority is priority]


# ---- the machine


def test_tasks_run_as_long_as_their_fate_says_and_wait_for_room() -> None:
    """Two cores for three tasks of one second: the third one waits."""
    result = Simulation(ALONE, 2.0, [one(0.0, Priority.HIGH, Fate(1.0)) for _ in range(3)]).run()
    assert responses(result, Priority.HIGH) == [1.0, 1.0, 2.0]
    assert result.lasted_s >= 2.0


def test_a_task_that_fails_at_first_is_tried_again() -> None:
    flaky = one(0.0, Priority.HIGH, Fate(1.0, fails=1))
    result = Simulation(OURS, 2.0, [flaky]).run()
    (ended,) = result.ended
    assert ended.state is TaskState.COMPLETED
    assert ended.response_s > 2.0
    assert result.metrics is not None
    assert result.metrics.indicators().retries_succeeded == 1.0


def test_what_is_never_retried_fails_at_once() -> None:
    result = Simulation(OURS, 2.0, [one(0.0, Priority.HIGH, Fate(1.0, fails=9, kind=ErrorKind.INVALID_INPUT))]).run()
    assert [ended.state for ended in result.ended] == [TaskState.FAILED]


def test_a_step_that_hangs_is_ended_by_its_hard_limit() -> None:
    hangs = request(0.0, Priority.HIGH, [task("hangs", [Fate(600.0)], WIDE, hard_s=5.0)], type_="x")
    result = Simulation(OURS, 2.0, [hangs]).run()
    (ended,) = result.ended
    assert ended.state is TaskState.FAILED
    assert 5.0 <= ended.response_s < 5.2


def test_a_newer_request_ends_the_older_one() -> None:
    result = Simulation(
        OURS, 2.0, [one(0.0, Priority.CRITICAL, Fate(1.0), key="k"), one(0.5, Priority.CRITICAL, Fate(0.1), key="k")]
    ).run()
    assert [(ended.kind, round(ended.response_s, 3)) for ended in result.ended] == [
        (ErrorKind.SUPERSEDED, 0.501),
        (None, 0.1),
    ]


def test_lazily_fed_jobs_are_run_whole() -> None:
    units = [task(f"unit {i}", [Fate(0.1)], WIDE) for i in range(500)]
    result = Simulation(OURS, 2.0, [request(0.0, Priority.BATCH, units, type_="x", window=16)]).run()
    assert len(result.ended) == 500
    assert {ended.state for ended in result.ended} == {TaskState.COMPLETED}


def test_more_than_the_queue_holds_is_refused_and_counted() -> None:
    tiny = Policy(name="tiny", config=SchedulerConfig(queue_capacity=3), strategy=DEFAULT)
    result = Simulation(tiny, 1.0, [one(0.0, Priority.HIGH, Fate(1.0), shape=Shape(cores=0.5)) for _ in range(9)]).run()
    assert result.refused[Priority.HIGH] > 0
    assert result.refused[Priority.HIGH] + len(result.ended) == 9


def test_a_core_that_over_commits_its_machine_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check must be able to fail: give the core more cores than the machine has."""
    simulation = Simulation(ALONE, 4.0, [one(0.0, Priority.HIGH, Fate(1.0)) for _ in range(3)])
    monkeypatch.setattr(simulation, "_cores", 2.0)
    with pytest.raises(OverCommittedError, match="3 of 2 cores"):
        simulation.run()


def test_the_same_seed_gives_the_same_day_and_the_same_result() -> None:
    def played() -> Result:
        return Simulation(OURS, 2.0, day(7, 2.0, 0.05, LIVELY), seed=3).run()

    first, second = played(), played()
    assert first.ended == second.ended
    assert first.batch_shares == second.batch_shares
    assert [r.at_s for r in day(7, 2.0, 0.05)] != [r.at_s for r in day(8, 2.0, 0.05)]


# ---- days


def test_a_day_has_work_of_every_class_in_order_of_time() -> None:
    requests = day(1, 8.0, 2.0)
    assert [r.at_s for r in requests] == sorted(r.at_s for r in requests)
    assert {r.priority for r in requests} == set(Priority)
    assert {r.make().type for r in requests} >= {"completion", "diagnostics", "look-up", "search", "tests", "branch"}


def test_a_lazy_job_can_be_made_twice() -> None:
    made = next(found for found in day(1, 2.0, 0.1) if found.priority is Priority.BATCH)
    for _ in range(2):
        source = made.make().tasks
        assert isinstance(source, Fed)
        assert len(source.take(10)[0]) == 10


# ---- what is owed


@pytest.mark.parametrize("cores", [1.0, 2.0])
def test_typing_is_as_quick_as_if_it_were_alone(cores: float) -> None:
    """A few lively minutes: CRITICAL waits for nothing that the others do, with FIFO it does."""
    requests = day(5, cores, 0.15, LIVELY)
    bound = summary("bound", Simulation(ALONE, cores, of_priority(requests, [Priority.CRITICAL])).run())
    ours = summary("headway", Simulation(OURS, cores, requests).run())
    in_order = summary("fifo", Simulation(IN_ORDER, cores, requests).run())
    critical = Priority.CRITICAL
    assert faults(ours, {critical: bound.classes[critical]}, [critical]) == []
    assert faults(in_order, {critical: bound.classes[critical]}, [critical]) != []


GREEDY = Policy(name="greedy", config=SchedulerConfig(spare_cpu_cores=0.0), strategy=DEFAULT)


@pytest.mark.parametrize("day_of", ["django", "headway"])
def test_of_a_recorded_day_on_one_core_high_work_fares_as_if_it_were_alone(day_of: str) -> None:
    """Beside background steps of seconds, which are not interrupted; where these take all the room, it does not."""
    text = (Path(__file__).parent / "days" / f"{day_of}.jsonl").read_text(encoding="utf-8")
    requests = read_day(text.splitlines()).requests
    bounds = {
        priority: summary("bound", Simulation(ALONE, 1.0, of_priority(requests, [priority])).run()).classes[priority]
        for priority in JUDGED
    }
    ours = summary("headway", Simulation(OURS, 1.0, requests).run())
    assert ours.classes[Priority.HIGH].tasks >= FEWEST_JUDGED
    assert faults(ours, bounds) == []
    if day_of == "django":
        assert faults(summary("greedy", Simulation(GREEDY, 1.0, requests).run()), bounds) != []


@pytest.mark.parametrize("cores", [1.0, 2.0])
def test_batch_gets_its_share_under_siege(cores: float) -> None:
    """CRITICAL and HIGH ask for more than there is: BATCH still gets 5 % of a core, with strict priorities nothing."""
    requests = siege(1, cores, 21.0)
    ours = Simulation(OURS, cores, requests).run(21.0)
    assert ours.batch_shares
    assert min(ours.batch_shares) >= LEAST_BATCH_SHARE
    strict = Simulation(STRICT, cores, requests).run(21.0)
    assert min(strict.batch_shares) < LEAST_BATCH_SHARE


@pytest.mark.parametrize("cores", [1.0, 2.0, 4.0])
def test_high_keeps_its_goodput_at_three_times_the_load(cores: float) -> None:
    """On one core beside background work that takes its share: what would be late makes room."""
    requests = overload(1, cores, 20.0)
    alone = summary("alone", Simulation(ALONE, cores, of_priority(requests, [Priority.HIGH])).run(20.0))
    ours = summary("headway", Simulation(OURS, cores, requests).run(20.0))
    in_order = summary("fifo", Simulation(IN_ORDER, cores, requests).run(20.0))
    wanted = 0.9 * alone.classes[Priority.HIGH].goodput
    assert ours.classes[Priority.HIGH].goodput >= wanted
    assert in_order.classes[Priority.HIGH].goodput < wanted


NEVER_SHEDS = Policy(name="patient", config=SchedulerConfig(shed_after_s=math.inf), strategy=DEFAULT)


@pytest.mark.parametrize("cores", [1.0, 4.0])
def test_a_flood_of_high_work_leaves_what_the_machine_can_do(cores: float) -> None:
    """Three times as much HIGH work as can be done: as much as before is on time. Served in order, next to none is."""

    def goodput(policy: Policy, times: float) -> float:
        result = Simulation(policy, cores, flood(1, cores, 30.0, times)).run(30.0)
        return summary(policy.name, result).classes[Priority.HIGH].goodput

    usual = goodput(OURS, 1.0)
    assert goodput(OURS, 3.0) >= LEAST_GOODPUT * usual
    assert goodput(NEVER_SHEDS, 3.0) < 0.3 * usual


# ---- reports


def test_the_share_of_batch_is_taken_over_whole_windows_of_backlog() -> None:
    share = BatchShare()
    share.note(True, 5.0)
    share.ran(6.0, 8.0, 0.5)
    share.ran(14.0, 16.0, 1.0)
    share.note(True, 20.0)
    share.note(False, 27.0)
    share.note(True, 30.0)
    assert share.windows(39.0) == [pytest.approx(0.2), pytest.approx(0.1)]


def row(priority: Priority, response_p95_s: float) -> ClassRow:
    return ClassRow(
        priority=priority,
        tasks=100,
        wait_p50_s=0.0,
        wait_p95_s=0.0,
        wait_p99_s=0.0,
        response_p95_s=response_p95_s,
        response_mean_s=response_p95_s,
        sla_kept=1.0,
        goodput=100.0,
    )


def test_faults_are_said_with_their_numbers() -> None:
    result = Simulation(OURS, 2.0, [one(9.0 * n, Priority.HIGH, Fate(1.1)) for n in range(100)]).run()
    result.batch_shares = [0.5, 0.01]
    said = faults(summary("headway", result), {Priority.HIGH: row(Priority.HIGH, 1.0)}, [Priority.HIGH])
    assert said == [
        "HIGH is 10% from the bound (allowed 5%)",
        "BATCH got 1.0% of a core in some ten seconds (owed 5%)",
    ]


def test_quantiles_are_of_what_was_seen() -> None:
    assert quantile([], 0.5) is None
    assert [quantile([1.0, 2.0, 3.0, 4.0, 5.0], share) for share in (0.0, 0.5, 1.0)] == [1.0, 3.0, 5.0]


def test_the_command_prints_tables_and_says_whether_all_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--cores", "1", "--hours", "0.01", "--overload", "11", "--policies", "headway,fifo"])
    said = capsys.readouterr().out
    assert said.count("policy ") == 3
    assert "bound CRITICAL" in said
    assert (code == 0) == ("NOT KEPT" not in said)
    lengths = {len(line) for line in said.splitlines() if line.startswith("  headway   ")}
    assert len(lengths) == 1, "columns do not line up"


def test_a_policy_that_does_not_exist_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--policies", "best"])
    assert "no policy is named 'best'" in capsys.readouterr().err


def test_tables_show_every_class() -> None:
    result = Simulation(OURS, 2.0, [one(0.0, Priority.HIGH, Fate(1.0))]).run()
    text = table("title", [summary("headway", result)], {})
    assert all(priority.name in text for priority in Priority)


def test_tasks_of_a_lazy_job_have_ids_of_their_own() -> None:
    """All that is known of a task goes by its id."""
    units = [task(f"unit {i}", [Fate(0.1)], WIDE) for i in range(50)]
    simulation = Simulation(OURS, 2.0, [request(0.0, Priority.BATCH, units, type_="x", window=8)])
    result = simulation.run()
    assert len(result.ended) == 50
    assert all(ended.response_s > 0 for ended in result.ended), "a task that shares its id has no arrival of its own"


def deep(depth: int) -> list[int]:
    return [0, 0, depth, 0, 0]


def test_alerts_are_compared_with_the_truth() -> None:
    """One said in time, one late, one never, and one that was over before it was due."""
    crossings = Crossings()
    for began_s, said_s, ended_s in ((0.0, 2.0, 20.0), (30.0, 36.0, 50.0), (60.0, None, 80.0), (90.0, None, 92.0)):
        crossings.note(deep(101), began_s)
        if said_s is not None:
            crossings.raised(Priority.NORMAL, said_s)
            crossings.resolved(Priority.NORMAL)
        crossings.note(deep(100), ended_s)
    assert crossings.share(100.0) == pytest.approx(1 / 3)


def test_an_alert_that_still_stands_covers_the_next_crossing() -> None:
    crossings = Crossings()
    crossings.note(deep(150), 0.0)
    crossings.raised(Priority.NORMAL, 1.0)
    crossings.note(deep(90), 10.0)  # above the mark below which it is resolved
    crossings.note(deep(150), 11.0)
    assert crossings.share(30.0) == 1.0


def test_a_deep_queue_is_said_in_time_in_virtual_time_too() -> None:
    result = Simulation(
        OURS, 1.0, [one(0.0, Priority.NORMAL, Fate(0.2), shape=Shape(cores=0.5)) for _ in range(200)]
    ).run()
    assert result.alerted == 1.0
    assert Crossings().share(0.0) is None
