"""What the scheduler costs: a task, a task among a hundred thousand, an event of the core, watching; beside others.

Figures are ratios within one run, medians of several rounds that take turns, so that a busy machine is busy for all.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import importlib
import importlib.util
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence

from headway.scheduler import Job, JobHandle, Priority, Requirement, Scheduler, SchedulerConfig, Task
from headway.scheduler.core import SchedulerCore
from headway.scheduler.executors.base import StepResult, Totals
from headway.scheduler.executors.inline import inline_executors
from headway.scheduler.stimuli import StepEnded, Submitted
from tests.bench.frame import Figure
from tests.bench.peers import PEERS, Run, bare_asyncio, empty
from tests.scheduler.machines import StillMachine

COUNT = 10_000
ROUNDS = 7
FEWER_ROUNDS = 3  # of what takes seconds a round
SLOW_PEERS = ("taskiq", "dask")
MANY, FEW = 100_000, 100
PROBES = 300
NOTHING = Requirement(cpu_cores=0.0, memory_mb=0.0)


def bench() -> Iterator[Figure]:
    """Measure all of it."""
    yield from _beside_others()
    yield from _among_many()
    yield from _holds()
    yield _memory()
    yield from _core()


def _scheduler(*, watch: bool) -> Scheduler:
    config = SchedulerConfig(watch=watch, queue_capacity=4 * MANY)
    return Scheduler(config, executors=inline_executors(), machine=StillMachine())


async def _ours(count: int, *, watch: bool, heard: bool = False) -> float:
    """Seconds from the submission of `count` empty tasks to the last outcome; `heard`: somebody subscribes."""
    async with _scheduler(watch=watch) as scheduler:
        if heard:
            scheduler.subscribe(lambda event: None)
        gc.collect()
        started_s = time.perf_counter()
        handles = [scheduler.run(empty) for _ in range(count)]
        for handle in handles:
            await handle
        return time.perf_counter() - started_s


async def _as_jobs(count: int, *, watch: bool = False) -> float:
    """The same for tasks that were described as jobs, which all go the long way through the core."""
    async with _scheduler(watch=watch) as scheduler:
        gc.collect()
        started_s = time.perf_counter()
        handles = [
            scheduler.submit(Job(type="x", title="x", tasks=(Task(name="x", call=empty, requirement=NOTHING),)))
            for _ in range(count)
        ]
        for handle in handles:
            await handle
        return time.perf_counter() - started_s


def _beside_others() -> Iterator[Figure]:
    ways: dict[str, tuple[Run, int]] = {
        "asyncio": (bare_asyncio, COUNT),
        "headway": (functools.partial(_ours, watch=False), COUNT),
        "headway, watched": (functools.partial(_ours, watch=True), COUNT),
        "headway, with a subscriber": (functools.partial(_ours, watch=True, heard=True), COUNT),
        "headway, as jobs": (_as_jobs, COUNT),
        "headway, as jobs, watched": (functools.partial(_as_jobs, watch=True), COUNT),
    }
    packages = {"dask": "distributed"}
    for name, way in PEERS.items():
        package = packages.get(name, name)
        if importlib.util.find_spec(package) is None:
            print(f"  {name} is not installed and left out")
        else:
            importlib.import_module(package)  # now: no round waits for it, and each has the same modules beside it
            ways[name] = way
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS):
        for name, (run, count) in ways.items():
            if number < FEWER_ROUNDS or name not in SLOW_PEERS:
                gc.collect()
                taken[name].append(asyncio.run(run(count)) / count)
    for name, values in taken.items():
        yield Figure(name=f"empty task: {name}", value=statistics.median(values), unit="s")
    for name in ways:
        if name != "asyncio":
            target = 4.0 if name == "headway" else None
            ratio = _ratio(taken[name], taken["asyncio"])
            yield Figure(name=f"empty task: {name} / asyncio", value=ratio, unit="share", target=target)
    for name in PEERS:
        if name in ways:
            ratio = _ratio(taken["headway"], taken[name])
            yield Figure(name=f"empty task: headway / {name}", value=ratio, unit="share", target=1.0)
    for name, target in (("headway", 1.15), ("headway, as jobs", None)):
        ratio = _ratio(taken[f"{name}, watched"], taken[name])
        yield Figure(name=f"watching {name}: on / off", value=ratio, unit="share", target=target)


def _ratio(ones: list[float], others: list[float]) -> float:
    """Return the median of the ratios within each round that both took part in: what one took beside the other."""
    return statistics.median(one / other for one, other in zip(ones, others, strict=False))


def _among_many() -> Iterator[Figure]:
    """What one more task costs, and moving or cancelling one, with few and with many that wait.

    Means count all that happens meanwhile, the collector included; medians are what one usually meets.
    """
    rounds = [asyncio.run(_costs()) for _ in range(FEWER_ROUNDS)]
    for name in ("run one more", "cancel one", "set priority of one"):
        for middle in (statistics.median, statistics.mean):
            what = name if middle is statistics.median else f"{name}, mean"
            few = [middle(costs[FEW][name]) for costs in rounds]
            many = [middle(costs[MANY][name]) for costs in rounds]
            yield Figure(name=f"{what}, {MANY} waiting", value=statistics.median(many), unit="s")
            ratio = statistics.median(m / f for m, f in zip(many, few, strict=True))
            yield Figure(name=f"{what}: {MANY} / {FEW} waiting", value=ratio, unit="share", target=1.5)


async def _costs() -> dict[int, dict[str, list[float]]]:
    costs: dict[int, dict[str, list[float]]] = {}
    for waiting in (FEW, MANY):
        async with _scheduler(watch=False) as scheduler:
            scheduler.pause([Priority.NORMAL, Priority.LOW])
            handles = [scheduler.run(empty, priority=Priority.NORMAL) for _ in range(waiting)]
            step = max(1, waiting // PROBES)
            some = handles[::step][:PROBES]
            gc.collect()
            await _each_run(scheduler)  # warm: the first of anything costs more
            costs[waiting] = {
                "run one more": await _each_run(scheduler),
                "set priority of one": _each(lambda it: scheduler.set_priority(it.job_id, Priority.LOW), some),
                "cancel one": _each(lambda it: it.cancel(), some),
            }
    return costs


async def _each_run(scheduler: Scheduler) -> list[float]:
    taken = []
    for _ in range(PROBES):
        started_s = time.perf_counter()
        await scheduler.run(empty, priority=Priority.HIGH)
        taken.append(time.perf_counter() - started_s)
    return taken


def _each(act: Callable[[JobHandle], object], some: Sequence[JobHandle]) -> list[float]:
    taken = []
    for one in some:
        started_s = time.perf_counter()
        act(one)
        taken.append(time.perf_counter() - started_s)
    return taken


def _holds() -> Iterator[Figure]:
    """For how long a job of many tasks holds the loop, as it is submitted, as it is cancelled, as its first fails."""
    rounds = [asyncio.run(_held()) for _ in range(FEWER_ROUNDS)]
    for name in rounds[0]:
        value_s = statistics.median(round_[name] for round_ in rounds)
        yield Figure(name=f"longest hold of the loop: {name} {COUNT} tasks", value=value_s, unit="s")


async def _held() -> dict[str, float]:
    loop = asyncio.get_running_loop()
    longest_s, turned_s = 0.0, time.perf_counter()
    next_turn = loop.call_soon(lambda: None)

    def turn() -> None:
        nonlocal longest_s, turned_s, next_turn
        now_s = time.perf_counter()
        longest_s, turned_s = max(longest_s, now_s - turned_s), now_s
        next_turn = loop.call_soon(turn)

    def said() -> float:
        nonlocal longest_s
        held_s, longest_s = longest_s, 0.0
        return held_s

    async def fails() -> None:
        raise ValueError("as it should")

    held: dict[str, float] = {}
    async with _scheduler(watch=True) as scheduler:
        next_turn = loop.call_soon(turn)
        tasks = tuple(Task(name=str(number), call=asyncio.Event().wait) for number in range(COUNT))
        gc.collect()
        turned_s = time.perf_counter()
        handle = scheduler.submit(Job(type="x", title="x", tasks=tasks))
        for _ in range(COUNT // 10):  # more turns than it takes to come in
            await asyncio.sleep(0)
        held["submit"] = said()
        handle.cancel()
        await handle
        held["cancel"] = said()
        first = Task(name="first", call=fails)
        rest = (Task(name=str(number), call=empty, depends_on=("first",)) for number in range(COUNT))
        handle = scheduler.submit(Job(type="x", title="x", tasks=(first, *rest)))
        await asyncio.sleep(0)
        said()
        await handle
        held["fail the first of"] = said()
        next_turn.cancel()
    return held


def _memory() -> Figure:
    """KiB for each task that waits, everything counted that a submission leaves behind."""

    async def measured() -> float:
        async with _scheduler(watch=True) as scheduler:
            scheduler.pause([Priority.NORMAL])
            tracemalloc.start()
            before, _ = tracemalloc.get_traced_memory()
            handles = [scheduler.run(empty) for _ in range(FEW * 100)]
            after, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return (after - before) / len(handles)

    return Figure(name="memory of a waiting task, bytes", value=asyncio.run(measured()), unit="count", target=1500)


def _core() -> Iterator[Figure]:
    """Seconds of the core for an input: half are submissions, half the ends of steps."""
    core = SchedulerCore(
        SchedulerConfig(), totals=Totals(cpu_cores=4.0, memory_mb=8192.0), slots=(4,) * 6, draw=lambda: 0.5
    )
    jobs = [
        Job(type="x", title="x", tasks=(Task(name="x", call=empty, requirement=NOTHING),), visible=False)
        for _ in range(COUNT)
    ]
    taken: list[float] = []
    result = StepResult()
    for number, job in enumerate(jobs, 1):
        at_s = number * 0.001
        submitted = Submitted((job,), (number,))
        started_s = time.perf_counter()
        core.handle(submitted, at_s)
        taken.append(time.perf_counter() - started_s)
        ended = StepEnded(number, result)  # runs are numbered from one
        started_s = time.perf_counter()
        core.handle(ended, at_s)
        taken.append(time.perf_counter() - started_s)
    yield Figure(name="core, per input", value=statistics.median(taken), unit="s", target=10e-6)
    yield Figure(name="core, per input, p99", value=statistics.quantiles(taken, n=100)[98], unit="s")
