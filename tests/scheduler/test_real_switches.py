"""Mechanisms that need real parts, each with a scene: it comes true with the mechanism and does not with it off."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from headway.scheduler import Job, Priority, Scheduler, SchedulerConfig, Task
from headway.scheduler.executors.inline import inline_executors
from headway.scheduler.history import History
from headway.scheduler.history_store import HistoryStore, open_store
from headway.scheduler.model import LoopStalled
from headway.scheduler.remembered import HistoryLimits
from headway.scheduler.watchdog import Watchdog
from tests.scheduler.executors import steps
from tests.scheduler.executors.harness import begun, ended, processes
from tests.scheduler.machines import StillMachine
from tests.scheduler.test_history import finished

PATIENCE_S = 60.0  # a bound for what is broken, never met by what works
STALL_S = 0.1


class Slow(dict[str, int]):
    """A value that whoever writes it down waits for: until somebody lets go of it, or patience is at its end."""

    def __init__(self, patience_s: float) -> None:
        super().__init__(a=1)
        self.let_go = threading.Event()
        self.written = False
        self._patience_s = patience_s

    def items(self) -> Any:
        self.let_go.wait(self._patience_s)
        self.let_go.set()
        self.written = True
        return super().items()


class WritesOnTheLoop(History):
    """A history without a thread of its own: what is to be written is written by who says so."""

    def __init__(self) -> None:
        super().__init__()
        self._store: HistoryStore = open_store(None, HistoryLimits())[0]

    def _put(self, write: Callable[[HistoryStore], None]) -> None:
        write(self._store)

    async def close(self) -> None:
        await super().close()
        self._store.close()


async def writing_does_not_delay_a_key(on: bool) -> bool:
    """A key is answered while what a job left is still being written down."""
    value = Slow(PATIENCE_S if on else 0.1)

    async def leaves_much() -> Slow:
        return value

    async def key() -> bool:
        return value.written

    history = History() if on else WritesOnTheLoop()
    config = SchedulerConfig(stall_report_s=math.inf)
    async with Scheduler(config, executors=inline_executors(), machine=StillMachine(), history=history) as scheduler:
        await scheduler.submit(Job(type="t", title="t", tasks=(Task(name="t", call=leaves_much),)))
        came_late = await scheduler.run(key, priority=Priority.CRITICAL).value()
        value.let_go.set()
        await history.flush()
    return value.written and not came_late


@contextlib.asynccontextmanager
async def opened(**limits: Any) -> AsyncIterator[History]:
    history = History(limits=HistoryLimits(**limits))
    history.start()
    yield history
    await history.close()


async def old_jobs_are_forgotten(on: bool) -> bool:
    month_ms = 31 * 86_400_000.0
    async with opened(**({} if on else {"max_age_s": math.inf})) as history:
        new = finished("new", at_s=0.0)
        history.finished(new)
        history.finished(finished("old", at_s=0.0, offset_ms=new.offset_ms - month_ms))
        await history.flush()
        return [job.job_id for job in await history.recent()] == ["new"]


async def the_oldest_make_room(on: bool) -> bool:
    """Ten times of what fits: the newest are kept."""
    async with opened(max_mb=1.0 if on else math.inf) as history:
        for n in range(400):
            history.finished(finished(f"j{n}", at_s=float(n), a="x" * 25_000))
        await history.flush()
        kept = [job.job_id for job in await history.recent(400)]
    return len(kept) < 200 and kept[:5] == [f"j{n}" for n in range(399, 394, -1)]


async def whoever_keeps_the_loop_is_named(on: bool) -> bool:
    """Beside a second watchdog, which says when the stretch has been looked at."""

    def blocks() -> None:
        threading.Event().wait(3 * STALL_S)

    seen: asyncio.Queue[LoopStalled] = asyncio.Queue()
    named = asyncio.Event()

    def hear(event: Any) -> None:
        if isinstance(event, LoopStalled) and "blocks" in event.culprit:
            named.set()

    config = SchedulerConfig(stall_report_s=STALL_S if on else math.inf)
    witness = Watchdog(STALL_S, seen.put_nowait)
    async with Scheduler(config, executors=inline_executors(), machine=StillMachine()) as scheduler:
        scheduler.subscribe(hear)
        witness.start()
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(2):
                asyncio.get_running_loop().call_soon(blocks)
                while "blocks" not in (await seen.get()).culprit:
                    continue
            if on:
                await named.wait()
        witness.close()
    return named.is_set()


async def what_does_not_heed_its_cancel_is_killed(on: bool) -> bool:
    """Beside a second one, whose end says when the grace is over."""
    grace_s = 0.1 if on else math.inf
    async with processes(size=1, unheard_s=grace_s) as bench, processes(size=1) as other:
        deaf, sink = bench.begin(steps.hang)
        witness, its_sink = other.begin(steps.hang)
        await begun(sink)
        await begun(its_sink)
        deaf.cancel(grace_s)
        witness.cancel(0.1)
        await ended(its_sink)
        return sink.answers == 1 or (on and (await ended(sink)).cancelled)


SCENES: list[Callable[[bool], Awaitable[bool]]] = [
    writing_does_not_delay_a_key,
    old_jobs_are_forgotten,
    the_oldest_make_room,
    whoever_keeps_the_loop_is_named,
    what_does_not_heed_its_cancel_is_killed,
]


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_it_comes_true_with_the_mechanism(scene: Callable[[bool], Awaitable[bool]]) -> None:
    async def run() -> bool:
        return await scene(True)

    assert asyncio.run(run())


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_and_does_not_without(scene: Callable[[bool], Awaitable[bool]]) -> None:
    async def run() -> bool:
        return await scene(False)

    assert not asyncio.run(run())
