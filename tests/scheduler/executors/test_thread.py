"""Steps in threads: what they return, and what can and cannot be done about one that is stuck."""

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator

import pytest

from headway.scheduler.context import current_step
from headway.scheduler.executors.children import run
from headway.scheduler.executors.thread import ThreadExecutor
from headway.scheduler.model import ErrorKind, Priority, StepKind
from tests.scheduler.executors import steps
from tests.scheduler.executors.harness import PATIENCE_S, Bench, begun, ended

pytestmark = pytest.mark.asyncio


@contextlib.asynccontextmanager
async def threads() -> AsyncIterator[Bench]:
    bench = Bench(ThreadExecutor(), StepKind.THREAD)
    await bench.executor.start(bench.report)
    try:
        yield bench
    finally:
        await bench.executor.close(1.0)


async def test_a_value_comes_back_from_another_thread_of_this_process() -> None:
    async with threads() as bench:
        result = await bench.run(threading.get_ident)
        assert result.value != threading.get_ident()
        assert result.slot == "thread-1"
        assert result.pid is None
        assert await bench.value(steps.pid) == os.getpid()


async def test_a_step_sees_its_context_and_reports() -> None:
    async with threads() as bench:
        _, sink = bench.begin(steps.beat_and_report, results={"earlier": [1]})
        assert (await ended(sink)).value == (2, {"earlier": [1]}, {}, 99.0)
        assert (sink.beats, sink.partials.get_nowait()) == (1, {"so far": 1})


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (SystemExit, ErrorKind.UNKNOWN),
        (KeyboardInterrupt, ErrorKind.UNKNOWN),
        (ConnectionResetError, ErrorKind.NETWORK),
        (steps.CauseError, ErrorKind.UNKNOWN),
    ],
)
async def test_whatever_is_raised_is_an_answer(error: type[BaseException], kind: ErrorKind) -> None:
    async with threads() as bench:
        result = await bench.run(steps.fail, error, "reason")
        assert result.error is not None
        assert (result.error.type_name, result.error.kind) == (error.__name__, kind)
        assert "thread.py" not in result.error.traceback
        assert await bench.value(steps.echo, 1) == 1


async def test_threads_are_reused() -> None:
    async with threads() as bench:
        assert len({await bench.value(threading.get_ident) for _ in range(20)}) == 1
        assert bench.executor.capacity("critical") > 0


async def test_steps_run_beside_each_other() -> None:
    """Three that wait for each other can only end together."""
    barrier = threading.Barrier(3, timeout=PATIENCE_S)
    async with threads() as bench:
        sinks = [bench.begin(barrier.wait, priority=priority)[1] for priority in list(Priority)[:3]]
        assert sorted([(await ended(sink)).value for sink in sinks]) == [0, 1, 2]


async def test_a_cancelled_step_is_told_and_answers_when_it_returns() -> None:
    async with threads() as bench:
        running, sink = bench.begin(steps.until_cancelled)
        await begun(sink)
        assert running.pid is None
        running.cancel(0.0)
        assert (await ended(sink)).cancelled
        assert sink.answers == 1


async def test_nothing_interrupts_a_thread() -> None:
    def body() -> str:
        with current_step().interruptible():
            return "done"

    async with threads() as bench:
        assert await bench.value(body) == "done"


async def test_a_preempted_step_may_make_room() -> None:
    async with threads() as bench:
        running, sink = bench.begin(steps.until_preempted)
        await begun(sink)
        running.preempt()
        assert (await ended(sink)).value == "made room"


async def test_a_stuck_step_keeps_its_place_until_it_returns() -> None:
    release = threading.Event()

    def stuck() -> str:
        current_step().report_partial("begun")
        release.wait(PATIENCE_S)
        return "late"

    async with threads() as bench:
        running, sink = bench.begin(stuck)
        await begun(sink)
        running.cancel(0.0)
        assert await bench.value(steps.echo, 1) == 1  # others go on
        assert sink.answers == 0
        release.set()
        result = await ended(sink)
        assert result.cancelled
        assert result.value is None


async def test_the_close_answers_for_a_stuck_step_and_its_late_return_is_harmless() -> None:
    release = threading.Event()

    def stuck() -> None:
        current_step().report_partial("begun")
        release.wait(PATIENCE_S)

    executor = ThreadExecutor()
    bench = Bench(executor, StepKind.THREAD)
    await executor.start(bench.report)
    _, sink = bench.begin(stuck)
    await begun(sink)
    before = set(threading.enumerate())
    await executor.close(0.01)
    assert (await ended(sink)).cancelled
    release.set()
    stuck_thread = next(thread for thread in before if thread.name.startswith("headway-thread-"))
    await asyncio.to_thread(stuck_thread.join, PATIENCE_S)
    await asyncio.sleep(0)
    assert sink.answers == 1


async def test_a_stuck_thread_does_not_hold_up_the_end_of_the_process() -> None:
    text = """
import asyncio, threading
from headway.scheduler.executors.base import StepContextData, StepRun
from headway.scheduler.executors.thread import ThreadExecutor
from headway.scheduler.model import Priority, StepKind

begun = threading.Event()

def stuck():
    begun.set()
    threading.Event().wait()

class Sink:
    def done(self, result): print("cancelled", result.cancelled)

async def main():
    executor = ThreadExecutor()
    await executor.start(print)
    context = StepContextData(job_id="j", task_id="t", task_name="t", step_name="s", attempt=1)
    executor.begin(StepRun(run_id=1, call=stuck, args=(), kwargs={}, kind=StepKind.THREAD, priority=Priority.NORMAL,
                           affinity=None, name="stuck", context=context), Sink())
    begun.wait()
    await executor.close(0.0)

asyncio.run(main())
"""
    done = await run([sys.executable, "-I", "-c", text], timeout_s=PATIENCE_S)
    assert (done.returncode, done.stdout) == (0, b"cancelled True\n"), done.stderr


def alive() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("headway-thread-")}


async def test_threads_that_are_not_needed_end_after_a_while() -> None:
    bench = Bench(ThreadExecutor(idle_s=0.01), StepKind.THREAD)
    await bench.executor.start(bench.report)
    before = alive()
    meeting = threading.Barrier(3)
    sinks = [bench.begin(meeting.wait)[1] for _ in range(3)]  # three at once need three threads
    for sink in sinks:
        await ended(sink)
    for thread in alive() - before:
        await asyncio.to_thread(thread.join, PATIENCE_S)
        assert not thread.is_alive()
    assert await bench.value(steps.echo, 1) == 1  # a new one is made when it is needed
    await bench.executor.close(1.0)


async def test_nothing_is_begun_before_the_start() -> None:
    bench = Bench(ThreadExecutor(), StepKind.THREAD)
    with pytest.raises(RuntimeError, match="not started"):
        bench.begin(steps.echo, 1)


async def test_what_is_said_after_the_close_is_not_heard() -> None:
    """A step that was left behind beats and reports once more; its answer has been given."""
    bench = Bench(ThreadExecutor(), StepKind.THREAD)
    await bench.executor.start(bench.report)
    go_on, said = threading.Event(), threading.Event()

    def stubborn() -> None:
        go_on.wait(PATIENCE_S)
        current_step().heartbeat()
        current_step().report_partial("late")
        said.set()

    _, sink = bench.begin(stubborn)
    await bench.executor.close(0.0)
    assert (await ended(sink)).cancelled
    go_on.set()
    assert await asyncio.to_thread(said.wait, PATIENCE_S)
    await asyncio.sleep(0)  # what was called on the loop from the thread is called now
    await asyncio.sleep(0)
    assert (sink.beats, sink.partials.empty(), sink.answers) == (0, True, 1)
