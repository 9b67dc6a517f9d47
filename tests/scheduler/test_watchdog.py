"""The loop's watchdog against a real loop: what it names, and what it does not blame anybody for."""

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable
from typing import ClassVar

import pytest

from headway.scheduler.executors.children import Child, run
from headway.scheduler.model import LoopStalled
from headway.scheduler.turning import TurningLoop
from headway.scheduler.watchdog import UNSEEN, Watchdog

LIMIT_S = 0.1
PATIENCE_S = 60.0

pytestmark = pytest.mark.asyncio


class Reports:
    def __init__(self) -> None:
        self.queue: asyncio.Queue[LoopStalled] = asyncio.Queue()

    async def about(self, name: str) -> LoopStalled:
        """Wait for the report that blames `name`; a busy machine may cause others."""
        async with asyncio.timeout(PATIENCE_S):
            while name not in (report := await self.queue.get()).culprit:
                continue
        return report


@contextlib.asynccontextmanager
async def watched() -> AsyncIterator[Reports]:
    reports = Reports()
    watchdog = Watchdog(LIMIT_S, reports.queue.put_nowait)
    watchdog.start()
    try:
        yield reports
    finally:
        watchdog.close()


def blocks() -> None:
    """Waits without the interpreter's lock, like a blocking read."""
    threading.Event().wait(3 * LIMIT_S)


def computes() -> None:
    """Burns CPU in Python code."""
    ended = threading.Event()
    threading.Timer(3 * LIMIT_S, ended.set).start()
    while not ended.is_set():
        continue


def keeps_the_lock() -> None:
    """Native code that never lets another thread in."""
    sum(range(60_000_000))


@pytest.mark.parametrize("culprit", [blocks, computes, keeps_the_lock])
async def test_a_callback_that_keeps_the_loop_is_named(culprit: Callable[[], None]) -> None:
    async with watched() as reports:
        asyncio.get_running_loop().call_soon(culprit)
        report = await reports.about(culprit.__name__)
        assert report.stalled_s >= LIMIT_S
        assert "test_watchdog.py" in report.culprit


async def test_the_innermost_code_is_named_within_its_coroutine() -> None:
    async def coroutine() -> None:
        await asyncio.sleep(0)
        blocks()

    async with watched() as reports:
        await asyncio.ensure_future(coroutine())
        report = await reports.about("blocks")
        assert "within" in report.culprit
        assert "coroutine" in report.culprit
        assert "asyncio" not in report.culprit


async def test_nothing_is_reported_after_the_close() -> None:
    async with watched() as reports:
        pass
    blocks()
    await asyncio.sleep(0)
    assert reports.queue.empty()


async def _what_is_seen_after_rests() -> None:
    """Whatever is blamed is the first thing that the loop does after a rest."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, TurningLoop)
    turning = loop.turning

    def until_it_rests() -> None:
        ended = threading.Event()
        for _ in range(int(PATIENCE_S / 0.01)):
            if turning.on_turn is not None or ended.wait(0.01):
                return
        raise AssertionError("it never rests")

    async with watched() as reports:
        for culprit in (blocks, computes, keeps_the_lock):
            await loop.run_in_executor(None, until_it_rests)
            culprit()
            assert (await reports.about(culprit.__name__)).stalled_s >= LIMIT_S
        await loop.run_in_executor(None, until_it_rests)
    for thread in threading.enumerate():
        if thread.name == "headway-watchdog":
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), "the close has not woken it"


def sleeping_watchdog() -> None:
    with asyncio.Runner(loop_factory=TurningLoop) as runner:
        runner.run(_what_is_seen_after_rests())


async def test_it_sleeps_while_its_loop_does_and_is_there_when_it_turns() -> None:
    await asyncio.to_thread(sleeping_watchdog)


_WATCHED = """
import asyncio, sys
from headway.scheduler.watchdog import UNSEEN, Watchdog

async def main():
    # Shorter ones may come from a machine that has no time for us.
    watchdog = Watchdog(0.1, lambda report: report.stalled_s < 0.25 or print(report, flush=True))
    watchdog.start()
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    loop.add_reader(0, lambda: (sys.stdin.buffer.read1(), ended.done() or ended.set_result(None)))
    def turn():
        loop.call_later(0.001, turn)
    turn()
    print("ready", flush=True)
    await ended

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="stops a process")
async def test_a_process_that_was_stopped_blames_nobody() -> None:
    """Suspended in mid-turn again and again, as by a laptop's lid."""
    child = Child([sys.executable, "-I", "-c", _WATCHED])
    await child.start()
    assert await child.stdout.readline() == b"ready\n", child.stderr_tail
    for _ in range(5):
        assert child.pid is not None
        child.send_signal(signal.SIGSTOP)
        await run(["/bin/sleep", "0.3"])
        child.send_signal(signal.SIGCONT)
        await run(["/bin/sleep", "0.05"])
    child.stdin.write(b"x")
    child.stdin.close()
    assert await child.stdout.read() == b""
    assert await child.wait() == 0


async def test_frames_that_cannot_be_read_end_no_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read of another thread's frames while they come and go may be anything."""

    class Torn:
        f_code: ClassVar[dict[str, int]] = {}
        f_back = None

    async with watched() as reports:
        with monkeypatch.context() as patched:
            patched.setattr(Watchdog, "_frame", lambda self: Torn())
            blocks()
            assert (await reports.about(UNSEEN)).stalled_s >= LIMIT_S
        blocks()
        await reports.about("blocks")
