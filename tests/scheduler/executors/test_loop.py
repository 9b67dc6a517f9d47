"""Lanes: runs on the loop share a task as long as none of them can tell, and not a moment longer."""

import asyncio
import contextvars
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headway.scheduler.context import current_step
from headway.scheduler.executors.base import StepContextData, StepResult, StepRun
from headway.scheduler.executors.loop import LoopExecutor
from headway.scheduler.model import ErrorKind, Priority, StepKind
from tests.scheduler.executors.harness import Bench, Sink, ended

VARIABLE: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="untouched")


def on_loop(test: Callable[[Bench], Awaitable[None]]) -> Callable[[], None]:
    def run() -> None:
        async def main() -> None:
            executor = LoopExecutor(slice_s=math.inf)
            await executor.start(lambda _: None)
            await test(Bench(executor, StepKind.ASYNC))
            await executor.close(1.0)
            assert not executor.running

        asyncio.run(main())

    run.__name__ = run.__qualname__ = test.__name__
    return run


async def own_task() -> asyncio.Task[Any] | None:
    return asyncio.current_task()


@on_loop
async def test_what_does_not_wait_shares_a_task(bench: Bench) -> None:
    sinks = [bench.begin(own_task)[1] for _ in range(5)]
    tasks = [(await ended(sink)).value for sink in sinks]
    assert None not in tasks
    # The results keep the task, and who keeps it has it for himself: see below.
    assert len(set(tasks)) == 5

    async def number() -> int:
        return id(asyncio.current_task())

    sinks = [bench.begin(number)[1] for _ in range(5)]
    assert len({(await ended(sink)).value for sink in sinks}) == 1


@on_loop
async def test_what_is_critical_begins_before_all_that_has_not_begun(bench: Bench) -> None:
    """Each of the others waits once it has begun, and so would cost it a turn of the loop."""
    begun: list[str] = []
    gate = asyncio.Event()

    async def waits(name: str) -> None:
        begun.append(name)
        await gate.wait()

    sinks = [bench.begin(waits, name)[1] for name in "abc"]
    sinks += [bench.begin(waits, name, priority=Priority.CRITICAL)[1] for name in ("first", "second")]
    async with asyncio.timeout(60):
        while len(begun) < len(sinks):  # noqa: ASYNC110 - each turn of the loop lets one begin
            await asyncio.sleep(0)
    gate.set()
    for sink in sinks:
        await ended(sink)
    assert begun == ["first", "second", "a", "b", "c"]


@on_loop
async def test_endless_critical_ones_let_others_begin(bench: Bench) -> None:
    left = 1000
    begun_with = 0

    async def urgent() -> None:
        nonlocal left
        left -= 1
        if left:
            bench.begin(urgent, priority=Priority.CRITICAL)

    async def other() -> None:
        nonlocal begun_with
        begun_with = left

    bench.begin(urgent, priority=Priority.CRITICAL)
    _, sink = bench.begin(other)
    await ended(sink)
    assert begun_with > 900


@on_loop
async def test_who_waits_keeps_the_task_and_holds_nobody_back(bench: Bench) -> None:
    gate = asyncio.Event()

    async def waits() -> tuple[bool, str]:
        before = asyncio.current_task()
        await gate.wait()
        return asyncio.current_task() is before, current_step().task_id

    waiting = [bench.begin(waits)[1] for _ in range(3)]
    assert await bench.value(own_task) is not None
    assert not any(sink.answers for sink in waiting)
    gate.set()
    assert [(await ended(sink)).value for sink in waiting] == [(True, "task")] * 3


@on_loop
async def test_each_run_has_its_own_context(bench: Bench) -> None:
    async def sets() -> tuple[str, str]:
        before = VARIABLE.get()
        VARIABLE.set("mine")
        await asyncio.sleep(0)
        return before, VARIABLE.get()

    def sets_at_once() -> str:
        before = VARIABLE.get()
        VARIABLE.set("mine")
        return before

    sinks = [bench.begin(call)[1] for call in (sets, sets_at_once, sets, sets_at_once)]
    assert [(await ended(sink)).value for sink in sinks] == [("untouched", "mine"), "untouched"] * 2


@on_loop
async def test_a_late_cancel_of_a_kept_task_ends_nobody_else(bench: Bench) -> None:
    kept: list[asyncio.Task[Any]] = []

    async def keeps() -> None:
        task = asyncio.current_task()
        assert task is not None
        kept.append(task)

    async def cancels_what_was_kept() -> str:
        kept[0].cancel()
        await asyncio.sleep(0)
        return "to the end"

    sinks = [bench.begin(call)[1] for call in (keeps, cancels_what_was_kept)]
    results = [await ended(sink) for sink in sinks]
    assert [result.cancelled for result in results] == [False, False]
    assert results[1].value == "to the end"


@on_loop
async def test_who_cancels_itself_is_cancelled_alone(bench: Bench) -> None:
    async def cancels_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    async def asks() -> str:
        return "well"

    sinks = [bench.begin(call)[1] for call in (cancels_itself, asks)]
    assert (await ended(sinks[0])).cancelled
    assert (await ended(sinks[1])).value == "well"


@on_loop
async def test_what_was_told_before_it_began_never_begins(bench: Bench) -> None:
    begun: list[int] = []

    async def begins() -> None:
        begun.append(1)

    running, sink = bench.begin(begins)
    running.cancel(1.0)
    running.cancel(1.0)
    assert (await ended(sink)).cancelled
    assert not begun


@on_loop
async def test_a_cancel_reaches_who_waits_and_what_it_raises_is_its_end(bench: Bench) -> None:
    begun = asyncio.Event()

    async def waits() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            assert current_step().cancelled()

    async def swallows() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            raise ValueError("not so fast") from None
        return "never"

    running, sink = bench.begin(waits)
    await begun.wait()
    running.cancel(1.0)
    assert (await ended(sink)).cancelled
    begun.clear()
    running, sink = bench.begin(swallows)
    await begun.wait()
    running.cancel(1.0)
    result = await ended(sink)
    assert result.error is not None
    assert result.error.message == "not so fast"


@on_loop
async def test_how_steps_end(bench: Bench) -> None:
    def exits() -> None:
        raise SystemExit(3)

    async def stops() -> None:
        await asyncio.sleep(0)
        raise StopIteration

    def stops_at_once() -> None:
        raise StopIteration

    async def closes_itself() -> None:
        await asyncio.sleep(0)
        raise GeneratorExit

    def gives_a_future() -> Awaitable[str]:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, "later")
        return future

    exited = await bench.run(exits)
    assert exited.error is not None
    assert exited.error.kind is ErrorKind.UNKNOWN
    assert "sys.exit(3)" in exited.error.message
    for call in (stops, stops_at_once, closes_itself):
        result = await bench.run(call)
        assert result.error is not None
        assert not result.cancelled
    assert await bench.value(gives_a_future) == "later"
    assert await bench.value(lambda: 7) == 7


@pytest.mark.parametrize(("slice_s", "order"), [(0.0, ["run", "loop", "run"]), (math.inf, ["run", "run", "loop"])])
def test_the_loop_turns_between_slices(slice_s: float, order: list[str]) -> None:
    seen: list[str] = []

    async def main() -> None:
        bench = Bench(LoopExecutor(slice_s=slice_s), StepKind.SYNC)
        sinks = [bench.begin(seen.append, "run")[1] for _ in range(2)]
        asyncio.get_running_loop().call_soon(seen.append, "loop")
        for sink in sinks:
            await ended(sink)

    asyncio.run(main())
    assert seen == order


@on_loop
async def test_closing_ends_what_waits_and_what_never_began(bench: Bench) -> None:
    begun = asyncio.Event()

    async def waits() -> None:
        begun.set()
        await asyncio.Event().wait()

    first = bench.begin(waits)[1]
    await begun.wait()
    second = bench.begin(waits)[1]
    await bench.executor.close(5.0)
    assert (await ended(first)).cancelled
    assert (await ended(second)).cancelled


def test_closing_waits_for_a_deaf_one_as_long_as_was_said(run_virtual: Callable[[Any], Any]) -> None:
    """It has a task of its own by then, and nothing else is there to be waited for."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        executor = LoopExecutor(slice_s=math.inf)
        await executor.start(lambda _: None)

        async def deaf() -> str:
            until_s = loop.time() + 60.0
            while loop.time() < until_s:
                try:
                    await asyncio.sleep(60.0)
                except asyncio.CancelledError:
                    continue
            return "late"

        sink = Bench(executor, StepKind.ASYNC).begin(deaf)[1]
        await asyncio.sleep(1.0)
        began_s = loop.time()
        await executor.close(3.0)
        assert loop.time() - began_s == pytest.approx(3.0)
        assert (sink.answers, len(executor.running)) == (0, 1)
        assert (await sink.result).value == "late"
        assert not executor.running

    run_virtual(main())


@on_loop
async def test_an_end_that_cannot_be_told_is_said_and_stops_nobody(bench: Bench) -> None:
    class Breaks(Sink):
        def done(self, result: StepResult) -> None:
            raise RuntimeError("nobody listens")

    said: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    data = StepContextData(job_id="j", task_id="j.0", task_name="t", step_name="s", attempt=1, results={})
    run = StepRun(10**6, own_task, (), {}, StepKind.ASYNC, Priority.NORMAL, None, "own_task", data)
    bench.executor.begin(run, Breaks())
    assert (await ended(bench.begin(own_task)[1])).value is not None
    assert [(found["message"], str(found["exception"])) for found in said] == [
        ("an end could not be told", "nobody listens")
    ]


@on_loop
async def test_a_lane_that_is_cancelled_from_outside_is_replaced(bench: Bench) -> None:
    sink = bench.begin(own_task)[1]
    for task in asyncio.all_tasks():
        if task is not asyncio.current_task():
            task.cancel()
    result = await ended(sink)
    assert result.cancelled or result.value is not None


def test_an_interrupt_ends_its_step_and_the_loop() -> None:
    sinks = []

    async def main() -> None:
        executor = LoopExecutor()
        bench = Bench(executor, StepKind.ASYNC)

        def interrupts() -> None:
            raise KeyboardInterrupt

        sinks.append(bench.begin(interrupts)[1])
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert sinks[0].answers == 1
