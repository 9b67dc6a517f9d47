"""The timeline: valid trace events, rows that nest, counters, and rings that forget."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway.scheduler.model import ErrorKind, Failure, LoopStalled, StepEnded, WorkerChanged
from headway.scheduler.trace import Trace
from tests.scheduler.lives import Clock, step


def exported(*steps: StepEnded, now_s: float, since_s: float = 60.0) -> list[dict[str, Any]]:
    clock = Clock()
    trace = Trace(clock)
    for made in steps:
        trace.step(made)
    clock.now_s = now_s
    return trace.export(since_s)


def rows(events: list[dict[str, Any]]) -> dict[int, str]:
    return {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}


def slices(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [e for e in events if e["ph"] == "X"]


def test_a_slice_per_step_in_the_row_of_its_slot() -> None:
    events = exported(
        step("index", 1.0, 0.5, name="parse", slot="background-1", pid=77),
        step("ask", 1.1, 0.01, name="ask", slot="loop"),
        now_s=2.0,
    )
    by_name = {e["name"]: e for e in slices(events)}
    assert set(by_name) == {"index: parse", "ask"}
    parse = by_name["index: parse"]
    assert rows(events)[parse["tid"]] == "background-1"
    assert rows(events)[by_name["ask"]["tid"]] == "loop"
    assert (parse["ts"], parse["dur"]) == (1.0e6, 0.5e6)
    assert parse["args"] == {"jobId": "job", "taskId": "index", "state": "COMPLETED", "pid": 77}
    assert json.loads(json.dumps(events)) == events


def test_a_failed_step_says_why_and_not_at_length() -> None:
    broken = Failure(kind=ErrorKind.NETWORK, message="x" * 10_000)
    (made,) = slices(exported(step("a", 0.0, 0.1, error=broken), now_s=1.0))
    assert made["args"]["error"].startswith("network_error: x")
    assert len(made["args"]["error"]) <= 500


def test_coroutines_that_ran_at_once_get_rows_of_their_own() -> None:
    events = exported(step("a", 0.0, 2.0), step("b", 1.0, 2.0), step("c", 2.5, 1.0), now_s=4.0)
    by_name = {e["name"].split(":")[0]: rows(events)[e["tid"]] for e in slices(events)}
    assert by_name == {"a": "loop", "b": "loop (2)", "c": "loop"}


durations = st.tuples(st.floats(0, 50), st.floats(0, 10), st.sampled_from(["loop", "thread-1", "background-1"]))


@given(made=st.lists(durations, max_size=40))
def test_slices_of_a_row_never_overlap(made: list[tuple[float, float, str]]) -> None:
    steps = [step(f"t{i}", at_s, ran_s, slot=slot) for i, (at_s, ran_s, slot) in enumerate(made)]
    events = exported(*steps, now_s=60.0, since_s=1000.0)
    assert len(slices(events)) == len(made)
    busy: dict[int, list[tuple[float, float]]] = {}
    for e in slices(events):
        assert e["tid"] in rows(events)
        busy.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"]))
    for spans in busy.values():
        spans.sort()
        assert all(a[1] <= b[0] + 1e-3 for a, b in itertools.pairwise(spans))


def test_the_window_limits_what_is_shown() -> None:
    steps = [step("old", 1.0, 0.5), step("reaches in", 1.0, 8.5), step("new", 9.5, 0.1)]
    names = [e["name"].split(":")[0] for e in slices(exported(*steps, now_s=10.0, since_s=1.2))]
    assert names == ["reaches in", "new"]
    assert "old" not in json.dumps(exported(*steps, now_s=10.0, since_s=1.2))


def test_counters_begin_with_what_held_before_the_window() -> None:
    clock = Clock()
    trace = Trace(clock)
    for at_s, depth in ((1.0, 5), (2.0, 7), (9.5, 1)):
        trace.depths(at_s, [0, 0, depth, 0, 0], [0] * 5)
    clock.now_s = 10.0
    normal = [e for e in trace.export(since_s=2.0) if e["ph"] == "C" and e["name"] == "tasks waiting"]
    assert [(e["ts"], e["args"]["NORMAL"]) for e in normal] == [(8.0e6, 7), (9.5e6, 1)]


def test_a_depth_that_did_not_change_is_not_sampled_again() -> None:
    trace = Trace(Clock())
    for at_s in range(100):
        trace.depths(float(at_s), [1, 0, 0, 0, 0], [0] * 5)
    assert len(trace._depths) == 1


def test_stalls_and_deaths_are_shown() -> None:
    clock = Clock()
    trace = Trace(clock)
    trace.incident(LoopStalled(at_s=5.0, stalled_s=0.3, culprit="json.dumps"))
    trace.incident(WorkerChanged(at_s=5.5, pid=9, role="background", change="killed", detail="out of memory"))
    trace.incident(WorkerChanged(at_s=1.0, pid=8, role="background", change="started"))
    clock.now_s = 6.0
    events = trace.export(since_s=2.0)
    (stall,) = slices(events)
    assert stall["ts"] == 4.7e6
    assert stall["args"] == {"culprit": "json.dumps"}
    (death,) = [e for e in events if e["ph"] == "i"]
    assert death["args"] == {"pid": 9, "role": "background", "detail": "out of memory"}


def test_what_began_before_the_clock_was_read_starts_at_zero() -> None:
    clock = Clock(10.0)
    trace = Trace(clock)
    trace.step(step("a", 9.0, 2.0))
    assert slices(trace.export())[0]["ts"] == 0.0


def test_the_rings_are_bounded() -> None:
    clock = Clock()
    trace = Trace(clock, most_steps=10, most_depths=5)
    for i in range(100):
        trace.step(step(f"t{i}", float(i), 0.1))
        trace.depths(float(i), [i, 0, 0, 0, 0], [0] * 5)
    clock.now_s = 100.0
    events = trace.export(since_s=1000.0)
    assert [e["name"] for e in slices(events)] == [f"t{i}: step" for i in range(90, 100)]
    assert len([e for e in events if e["ph"] == "C"]) == 10


def test_an_export_lets_the_loop_turn() -> None:
    """Thousands of slices are made in pieces, and what comes meanwhile changes nothing in them."""

    async def run() -> None:
        clock = Clock()
        trace = Trace(clock)
        for i in range(2000):
            trace.step(step(f"t{i}", i * 0.01, 0.005))
        clock.now_s = 20.0
        wanted = trace.export()
        turns = 0

        async def turn() -> None:
            nonlocal turns
            while True:
                turns += 1
                trace.step(step("later", 20.0, 0.1))
                await asyncio.sleep(0)

        turning = asyncio.create_task(turn())
        assert await trace.exported() == wanted
        turning.cancel()
        assert turns > 10

    asyncio.run(run())


def test_hundreds_of_coroutines_at_once_are_placed() -> None:
    events = exported(*(step(f"t{i}", i * 0.001, 10.0) for i in range(500)), now_s=20.0)
    assert len({e["tid"] for e in slices(events)}) == 500
