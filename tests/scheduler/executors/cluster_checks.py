"""What `test_cluster` runs, each in a process of its own: Dask leaves coroutines behind that no test run forgives."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import distributed
import pytest

from headway.scheduler import (
    Job,
    JobState,
    OnTimeout,
    Priority,
    Requirement,
    Scheduler,
    SchedulerConfig,
    StepEnded,
    Task,
    TaskFailedError,
    TaskKind,
    TimeoutPolicy,
    current_step,
)
from headway.scheduler.executors.base import Executors, Totals
from headway.scheduler.executors.cluster import ClusterExecutor
from headway.scheduler.executors.inline import InlineExecutor
from headway.scheduler.executors.loop import LoopExecutor
from headway.scheduler.machine import FixedMachine

NOTHING = Requirement(cpu_cores=0, memory_mb=0)
PLACES = 2
gates: dict[str, threading.Event] = {}
running: list[str] = []


def place() -> str:
    return threading.current_thread().name


def hold(name: str) -> str:
    running.append(name)
    gates[name].wait(20)
    return name


def partly() -> None:
    current_step().heartbeat()
    current_step().report_partial({"found": 3})
    gates["partly"].wait(20)


def wrong() -> None:
    raise ValueError("no such name")


@asynccontextmanager
async def scheduler(address: str | None = None) -> AsyncIterator[Scheduler]:
    async with distributed.LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1, threads_per_worker=PLACES, processes=False, dashboard_address=None, asynchronous=True
    ) as cluster:
        process = ClusterExecutor(address or cluster.scheduler_address, PLACES, InlineExecutor())
        executors = Executors(loop=LoopExecutor(), thread=InlineExecutor(), process=process)
        machine = FixedMachine(Totals(cpu_cores=2, memory_mb=1000))
        config = SchedulerConfig(stall_report_s=math.inf)
        async with Scheduler(config, executors=executors, machine=machine) as made:
            if address is None:
                await process.connected.wait()
            yield made


def submit(made: Scheduler, call: Any, *args: Any, priority: Priority = Priority.BATCH, **more: Any) -> Any:
    return made.run(call, *args, priority=priority, kind=TaskKind.CPU_BOUND, requirement=NOTHING, **more)


async def until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  # what is waited for happens in a thread of Dask's
            await asyncio.sleep(0.01)


async def check_batch_goes_there_and_the_rest_stays() -> None:
    async with scheduler() as made:
        slots: dict[Priority, str] = {}
        made.subscribe(
            lambda event: slots.update({event.priority: event.slot}) if isinstance(event, StepEnded) else None
        )
        there, here = submit(made, place), submit(made, place, priority=Priority.LOW)
        assert "Dask" in await there.value()
        assert await here.value() == threading.main_thread().name
        assert slots == {Priority.BATCH: "cluster", Priority.LOW: "loop"}


async def check_no_more_is_handed_over_than_there_are_places() -> None:
    names = [f"held {n}" for n in range(PLACES)]
    gates.update({name: threading.Event() for name in names})
    async with scheduler() as made:
        held = [submit(made, hold, name) for name in names]
        await until(lambda: set(names) <= set(running))
        assert await submit(made, place).value() == threading.main_thread().name, "the cluster is full: it runs here"
        for name in names:
            gates[name].set()
        assert [await handle.value() for handle in held] == names
        assert "Dask" in await submit(made, place).value()


async def check_failures_and_limits_are_as_everywhere() -> None:
    gates["partly"], gates["forgotten"] = threading.Event(), threading.Event()
    async with scheduler() as made:
        with pytest.raises(TaskFailedError, match=r"no such name \(invalid_input\)"):
            await submit(made, wrong).value()
        limit = TimeoutPolicy(hard_s=1.0, on_hard=OnTimeout.FALLBACK)
        (outcome,) = (await submit(made, partly, timeout=limit)).results.values()
        assert (outcome.partial, outcome.value) == (True, {"found": 3})
        forgotten = submit(made, hold, "forgotten")
        await until(lambda: "forgotten" in running)
        forgotten.cancel()
        assert (await forgotten).state is JobState.CANCELLED
        for gate in ("partly", "forgotten"):
            gates[gate].set()


async def check_a_cluster_that_is_away_costs_nothing() -> None:
    async with scheduler("tcp://127.0.0.1:1") as made:
        tasks = tuple(Task(name=str(n), call=place, kind=TaskKind.CPU_BOUND, requirement=NOTHING) for n in range(5))
        outcome = await made.submit(Job(type="x", title="x", tasks=tasks, priority=Priority.BATCH))
        assert {result.value for result in outcome.results.values()} == {threading.main_thread().name}


def main(name: str) -> None:
    """Run one; not as a program, since Dask would copy what is in its main module."""
    asyncio.run(globals()[f"check_{name}"]())
    print("kept", flush=True)
