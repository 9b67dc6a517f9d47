"""Errands: calls that go the short way through the scheduler end, count and show as if they went the long way."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import re
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.scheduler import (
    Event,
    ImpossibleRequirementError,
    Job,
    JobHandle,
    Priority,
    Requirement,
    RetryPolicy,
    Scheduler,
    SchedulerConfig,
    Task,
    TaskKind,
    TimeoutPolicy,
    current_step,
)
from headway.scheduler.errand import Errand
from headway.scheduler.executors.base import Executors, Pressure, Role, Running, RunSink, StepRun, WorkerReport
from headway.scheduler.executors.inline import InlineExecutor
from headway.scheduler.executors.loop import LoopExecutor
from headway.scheduler.model import WorkerView
from tests.conftest import VirtualLoop
from tests.scheduler.machines import StillMachine

RunVirtual = Callable[[Coroutine[Any, Any, Any]], Any]


class LongWay:
    """The loop's executor as one that knows of no errands, so that every call becomes a job."""

    def __init__(self) -> None:
        self._loop = LoopExecutor()

    async def start(self, report: WorkerReport) -> None:
        await self._loop.start(report)

    async def close(self, grace_s: float) -> None:
        await self._loop.close(grace_s)

    def capacity(self, role: Role) -> int:
        return self._loop.capacity(role)

    def begin(self, run: StepRun, sink: RunSink) -> Running:
        return self._loop.begin(run, sink)

    def workers(self) -> Sequence[WorkerView]:
        return ()


def made(*, short: bool, watch: bool = True, cores: float = 4.0, **config: Any) -> tuple[Scheduler, StillMachine]:
    machine = StillMachine(cpu_cores=cores)
    loop = LoopExecutor() if short else LongWay()
    executors = Executors(loop=loop, thread=InlineExecutor(2), process=InlineExecutor(2))
    settled = SchedulerConfig(watch=watch, **config)
    return Scheduler(settled, executors=executors, machine=machine, draw=lambda: 0.5), machine


# ---- what is done to them -------------------------------------------------------------------------------------------


@dataclass
class Desk:
    """What a script acts upon, and what it saw."""

    scheduler: Scheduler
    machine: StillMachine
    handles: list[JobHandle] = field(default_factory=list)
    begun: list[tuple[str, int]] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    heard: list[Event] = field(default_factory=list)

    async def work(self, number: int, how: str, lasts_s: float) -> int:
        step = current_step()
        self.begun.append((plain(step.task_id), step.attempt))
        if how == "asks":
            self.seen.append((plain(step.data), step.cancelled(), step.preempted()))
            step.heartbeat()
            step.report_partial(number)
        if lasts_s:
            await asyncio.sleep(lasts_s)
        if how == "fails":
            raise ValueError(f"{number} is wrong")
        if how == "breaks" and step.attempt == 1:
            raise ConnectionError(f"{number} is not there")
        if how == "cancels":
            raise asyncio.CancelledError
        return number


Act = Callable[[Desk], None]
PLACES = re.compile(r"[0-9a-f]{8}-(?=\d)|0x[0-9a-f]+|line \d+")
FLOATS = re.compile(r"\d+\.\d+(e-\d+)?")


def plain(value: Any) -> str:
    """Without what differs between any two schedulers: beginnings of ids, addresses, in what order sums were added."""
    return FLOATS.sub(lambda found: f"{float(found[0]):.6f}", PLACES.sub("", repr(value)))


def run(how: str, lasts_s: float, priority: Priority) -> Act:
    def act(desk: Desk) -> None:
        number = len(desk.handles)
        desk.handles.append(desk.scheduler.run(desk.work, number, how, lasts_s, priority=priority))

    return act


def burst(count: int, priority: Priority) -> Act:
    def act(desk: Desk) -> None:
        for _ in range(count):
            run("well", 0.01, priority)(desk)

    return act


def large(cores: float, priority: Priority) -> Act:
    """A job that is no errand, among them."""

    def act(desk: Desk) -> None:
        number = len(desk.handles)
        wants = Requirement(cpu_cores=cores, memory_mb=1.0)
        task = Task(name=f"large {number}", call=desk.work, args=(number, "well", 0.05), requirement=wants)
        job = Job(type="x", title="x", tasks=(task,), priority=priority, visible=False)
        with contextlib.suppress(ImpossibleRequirementError):  # on the smallest machine, or when there is less
            desk.handles.append(desk.scheduler.submit(job))

    return act


def to_one(do: Callable[[Scheduler, JobHandle], object]) -> Callable[[int], Act]:
    def pick(number: int) -> Act:
        def act(desk: Desk) -> None:
            if desk.handles:
                desk.seen.append(plain(do(desk.scheduler, desk.handles[number % len(desk.handles)])))

        return act

    return pick


TO_ONE = (
    to_one(lambda _, handle: handle.cancel()),
    to_one(lambda scheduler, handle: scheduler.cancel(handle.job_id)),
    to_one(lambda scheduler, handle: scheduler.set_priority(handle.job_id, Priority.HIGH)),
    to_one(lambda scheduler, handle: scheduler.set_priority(handle.job_id, Priority.BATCH)),
    to_one(lambda scheduler, handle: scheduler.pause_job(handle.job_id)),
    to_one(lambda scheduler, handle: scheduler.resume_job(handle.job_id)),
    to_one(lambda scheduler, handle: (scheduler.pause_job(handle.job_id), scheduler.resume_job(handle.job_id))),
    to_one(lambda scheduler, handle: scheduler.job(handle.job_id)),
    to_one(lambda _, handle: (handle.view(), handle.done())),
)


def subscribe(desk: Desk) -> None:
    desk.scheduler.subscribe(desk.heard.append)


def look(desk: Desk) -> None:
    desk.seen.append(plain(desk.scheduler.snapshot()))
    desk.seen.append(plain(desk.scheduler.metrics.snapshot()))


def pause(desk: Desk) -> None:
    desk.scheduler.pause([Priority.NORMAL, Priority.LOW])


def resume(desk: Desk) -> None:
    desk.scheduler.resume([Priority.NORMAL, Priority.LOW])


def press(desk: Desk) -> None:
    desk.machine.press(Pressure(foreign_cpu=0.95, cpu=0.95))


def relieve(desk: Desk) -> None:
    desk.machine.press(Pressure(foreign_cpu=0.1, cpu=0.1))


def fewer_cores(desk: Desk) -> None:
    desk.scheduler.reconfigure(replace(desk.scheduler.config, cpu_cores=0.5))


priorities = st.sampled_from(Priority)
runs = st.builds(
    run,
    st.sampled_from(["well", "well", "well", "fails", "breaks", "cancels", "asks"]),
    st.sampled_from([0.0, 0.0, 0.01, 0.3]),
    priorities,
)
acts: st.SearchStrategy[Act] = st.one_of(
    runs,
    runs,
    runs,
    st.builds(burst, st.integers(1, 30), priorities),
    st.builds(large, st.sampled_from([0.0, 0.5, 1.0, 2.0]), priorities),
    st.builds(lambda kind, number: TO_ONE[kind](number), st.integers(0, len(TO_ONE) - 1), st.integers(0, 100)),
    st.sampled_from([subscribe, look, pause, resume, press, relieve, fewer_cores]),
)
scripts = st.lists(st.tuples(st.sampled_from([0.0, 0.0, 0.0, 0.005, 0.3, 6.0]), acts), max_size=25)


async def lived(script: list[tuple[float, Act]], *, short: bool, cores: float) -> dict[str, Any]:
    """Everything that can be seen of a script that was lived."""
    scheduler, machine = made(short=short, cores=cores)
    async with scheduler:
        desk = Desk(scheduler, machine)
        for after_s, act in script:
            if after_s:
                await asyncio.sleep(after_s)
            act(desk)
        await asyncio.sleep(1.0)
        resume(desk)
        relieve(desk)
        for handle in desk.handles:
            scheduler.resume_job(handle.job_id)
        outcomes = [await handle for handle in desk.handles]
        look(desk)
        steps = [event for event in scheduler.trace.export() if event["ph"] == "X" and event["cat"] != "stall"]
        return {
            "outcomes": [plain(outcome) for outcome in outcomes],
            "views": [plain(handle.view()) for handle in desk.handles],
            "begun": desk.begun,
            "seen": desk.seen,
            "heard": [plain(event) for event in desk.heard],
            "timeline": sorted(plain({**step, "tid": 0}) for step in steps),
        }


def virtually(body: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(body)


@settings(max_examples=60)
@given(script=scripts, cores=st.sampled_from([0.3, 1.0, 4.0]))
def test_whatever_happens_the_short_way_looks_like_the_long_one(script: list[tuple[float, Act]], cores: float) -> None:
    """Outcomes, views, order of starts, snapshots, metrics, timeline, and what whoever subscribes on the way hears."""
    short = virtually(lived(script, short=True, cores=cores))
    long = virtually(lived(script, short=False, cores=cores))
    for what, found in short.items():
        assert found == long[what], what


# What may happen while places are passed on from each to the next.
amid = st.one_of(
    st.builds(run, st.sampled_from(["well", "well", "fails", "cancels"]), st.sampled_from([0.0, 0.01]), priorities),
    st.builds(burst, st.integers(1, 12), st.sampled_from([Priority.CRITICAL, Priority.HIGH, Priority.NORMAL])),
    st.builds(large, st.sampled_from([0.0, 0.02, 0.05, 0.2]), priorities),
    st.builds(lambda kind, number: TO_ONE[kind](number), st.integers(0, len(TO_ONE) - 1), st.integers(0, 40)),
    st.sampled_from([pause, resume, press, relieve, fewer_cores, look]),
)
crowds = st.tuples(
    st.builds(burst, st.integers(6, 30), st.just(Priority.NORMAL)),
    st.lists(st.tuples(st.sampled_from([0.0, 0.005, 0.01]), amid), max_size=12),
)


@settings(max_examples=100)
@given(crowd=crowds, cores=st.sampled_from([0.15, 0.3]))
def test_places_are_passed_on_as_a_look_at_all_would_give_them(
    crowd: tuple[Act, list[tuple[float, Act]]], cores: float
) -> None:
    """Many alike wait in one line, on a small machine, while others come, go and are moved."""
    first, then = crowd
    script = [(0.0, first), *then]
    short = virtually(lived(script, short=True, cores=cores))
    long = virtually(lived(script, short=False, cores=cores))
    for what, found in short.items():
        assert found == long[what], what


def test_what_runs_too_long_is_ended_on_either_way() -> None:
    """The longest run is looked after by one appointment for all errands, the oldest's; each is ended in time."""
    script = [(0.0, run("well", 1000.0, Priority.NORMAL)), (100.0, run("well", 1000.0, Priority.HIGH))]
    script += [(100.0, run("well", 150.0, Priority.NORMAL)), (150.0, run("well", 0.0, Priority.NORMAL))]
    short = virtually(lived(script, short=True, cores=4.0))
    assert short == virtually(lived(script, short=False, cores=4.0))
    assert ["longer than its limit of 300 s" in outcome for outcome in short["outcomes"]] == [True, True, False, False]


def test_a_call_without_wishes_goes_the_short_way_to_its_end(run_virtual: RunVirtual) -> None:
    """Otherwise the tests above compare the long way with itself."""

    async def body() -> None:
        scheduler, _ = made(short=True)
        async with scheduler:
            desk = Desk(scheduler, StillMachine())
            burst(200, Priority.NORMAL)(desk)  # more than there is room for at once
            for handle in desk.handles:
                assert (await handle).error is None
            assert all(isinstance(handle.of, Errand) and handle.of.record is None for handle in desk.handles)
            assert scheduler.metrics.snapshot().levels[Priority.NORMAL].completed == 200

    run_virtual(body())


def test_a_call_that_has_ended_is_nothing_for_the_collector(run_virtual: RunVirtual) -> None:
    """Thousands of them in cycles would make it go through all that there is, again and again."""

    async def body() -> None:
        scheduler, _ = made(short=True)
        async with scheduler:
            desk = Desk(scheduler, StillMachine())
            burst(200, Priority.NORMAL)(desk)  # some at once, some passed on from one to the next
            gc.collect()
            gc.disable()
            try:
                for handle in desk.handles:
                    await handle
                del handle
                desk.handles.clear()
                scheduler.metrics.snapshot()  # has what has ended counted, and forgotten
                assert not [found for found in gc.get_objects() if type(found) is Errand]
            finally:
                gc.enable()

    run_virtual(body())


def test_a_call_with_wishes_does_not() -> None:
    """Each of them alone makes a job of it."""

    async def body() -> None:
        scheduler, _ = made(short=True)
        async with scheduler:
            call = functools.partial(asyncio.sleep, 0.0)
            wishes: list[dict[str, Any]] = [
                {"kind": TaskKind.IO_BOUND},
                {"requirement": Requirement(cpu_cores=0.05, memory_mb=1.0)},
                {"supersede_key": "k"},
                {"share_key": "k"},
                {"timeout": TimeoutPolicy(hard_s=1.0)},
                {"retry": RetryPolicy(max_retries=0)},
                {"deadline_at_s": 2000.0},
                {"affinity": "a"},
                {"visible": True},
                {"priority": Priority.LOW},
                {"priority": Priority.BATCH},
            ]
            for wish in wishes:
                handle = scheduler.run(call, **wish)
                assert not isinstance(handle.of, Errand), wish
                assert (await handle).error is None
            scheduler.subscribe(lambda event: None)
            assert not isinstance(scheduler.run(call).of, Errand)

    virtually(body())
