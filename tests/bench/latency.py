"""What background work does to what a person feels: the loop's lateness, cancelling, a flood of keys, a start, rest.

A real server over its pipes, in a home of its own. Figures that a person feels stand beside the same figure of the same
server at rest, as a ratio. Medians of several rounds where there are rounds.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

from headway.demo.client import Client, Request
from headway.demo.document import Document
from headway.demo.figures import percentile
from headway.scheduler import Priority, Requirement, Scheduler, SchedulerConfig, TaskKind
from tests.bench.frame import Figure
from tests.bench.steps import burn
from tests.soak.__main__ import SERVER
from tests.soak.actors import SETTINGS

STARTS = 5
BURNERS = 4  # background workers
LAG_S = 4.0
TICK_S = 0.005
CANCELS = 40
DEAF_CANCELS = 20
COMPUTES_S = 0.2  # so much CPU time later a worker has begun its step
FLOODS = 5
FLOOD_KEYS = 200
# Keys a second: a held key gives thirty, a macro or a paste through the keyboard a thousand; an editor that stood still
# sends them in one piece.
FLOOD_RATES = (1_000, 5_000, None)
REST_S = 10.0
SETTLED_S = 3.0
TEXT = "class Counter:\n    def increase(self, amount):\n        return amount\n\n\ncounter = Counter()\n\n"
WITHOUT_ENGINES = {**SETTINGS, "python": {"engines": ["index"]}, "diagnostics": {"enabled": False}}


def bench() -> Iterator[Figure]:
    """Measure all of it."""
    with tempfile.TemporaryDirectory(prefix="headway-latency-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder).resolve()
        (scratch / "work").mkdir()
        (scratch / "work" / "a.py").write_text(TEXT, encoding="utf-8")
        yield from asyncio.run(_lag())
        yield from asyncio.run(_starts(scratch))
        yield from asyncio.run(_cancels(scratch))
        yield from asyncio.run(_floods(scratch))
        yield from asyncio.run(_rest(scratch))


@asynccontextmanager
async def _server(scratch: Path, settings: Any) -> AsyncIterator[tuple[Client, float]]:
    """Yield a client of a running server, and the seconds from its start to the answer to `initialize`."""
    home = {"HOME": str(scratch), "XDG_CACHE_HOME": str(scratch / "cache")}
    client = await Client.start(SERVER, root=scratch / "work", log=scratch / "server.log", env=home)
    try:
        yield client, await client.initialize({"cacheDir": str(scratch / "cache"), "settings": settings})
    finally:
        await client.close()


async def _lag() -> list[Figure]:
    """Return how late the loop of a scheduler is at rest and with workers that compute at every core."""
    async with Scheduler(SchedulerConfig(cpu_high=2.0, cpu_low=2.0)) as scheduler:
        await asyncio.sleep(1.0)
        rest = await _lateness()
        cost = Requirement(cpu_cores=0.0, memory_mb=1)
        runs = [
            scheduler.run(burn, 120.0, priority=Priority.BATCH, kind=TaskKind.CPU_BOUND, requirement=cost)
            for _ in range(BURNERS)
        ]
        await asyncio.sleep(2.0)
        busy = await _lateness()
        for run in runs:
            run.cancel("measured")
    return [
        Figure(name="loop lag p99 at rest", value=rest, unit="s"),
        Figure(name=f"loop lag p99 with {BURNERS} background workers", value=busy, unit="s", target=0.005),
    ]


async def _lateness() -> float:
    late = []
    until_s = time.perf_counter() + LAG_S
    while (began_s := time.perf_counter()) < until_s:
        await asyncio.sleep(TICK_S)
        late.append(time.perf_counter() - began_s - TICK_S)
    return percentile(late, 0.99) or 0.0


async def _starts(scratch: Path) -> list[Figure]:
    taken = []
    for _ in range(STARTS):
        async with _server(scratch, SETTINGS) as (_, started_s):
            taken.append(started_s)
    return [Figure(name="spawn to initialize", value=statistics.median(taken), unit="s", target=0.5)]


async def _cancels(scratch: Path) -> list[Figure]:
    """Cancel processes that compute: when the answer is there, and when the process has stopped computing.

    Begun when nothing else runs, so that the worker that is watched is the one that computes for us, and no index.
    """
    answered, stopped = [], []
    probe = {"name": "burns", "kind": "process", "durationMs": 60_000, "cpuCores": 0.1, "memoryMb": 8}
    params = {"type": "probe", "priority": "BATCH", "arguments": {"tasks": [probe]}}
    async with _server(scratch, SETTINGS) as (client, _):
        await _at_rest(client)
        for _ in range(CANCELS):
            request = client.request("headway/submit", params)
            worker = await _busy_worker(client)
            cancelled_s = time.perf_counter()
            client.cancel(request)
            answered.append((await request.answer).at_s - cancelled_s)
            stopped.append(await _stopped(worker) - cancelled_s)
    deaf = await _deaf_cancels()
    return [
        Figure(name="cancel to answer p99", value=percentile(answered, 0.99) or 0.0, unit="s", target=0.01),
        Figure(name="cancel to CPU gone p50", value=statistics.median(stopped), unit="s"),
        Figure(name="cancel to CPU gone p99", value=percentile(stopped, 0.99) or 0.0, unit="s", target=0.15),
        Figure(name="cancel to CPU gone p99, of deaf work", value=percentile(deaf, 0.99) or 0.0, unit="s", target=0.15),
    ]


async def _deaf_cancels() -> list[float]:
    """Cancel steps that never ask whether they are cancelled: they are ended by force."""
    stopped = []
    cost = Requirement(cpu_cores=0.0, memory_mb=1)
    async with Scheduler(SchedulerConfig(cpu_high=2.0, cpu_low=2.0)) as scheduler:
        for _ in range(DEAF_CANCELS):
            run = scheduler.run(burn, 120.0, priority=Priority.BATCH, kind=TaskKind.CPU_BOUND, requirement=cost)
            worker = await _computing(lambda: [view.pid for view in scheduler.snapshot().workers if view.busy])
            cancelled_s = time.perf_counter()
            run.cancel("measured")
            stopped.append(await _stopped(worker) - cancelled_s)
    return stopped


async def _at_rest(client: Client) -> None:
    while True:
        found = await client.call("headway/snapshot", {})
        busy = any(level["queued"] or level["running"] for level in found["queues"].values())
        if found["index"]["state"] in ("complete", "off") and not busy:
            return
        await asyncio.sleep(0.05)


async def _busy_worker(client: Client) -> psutil.Process:
    found: list[int] = []
    while not found:
        found = [worker["pid"] for worker in (await client.call("headway/snapshot", {}))["workers"] if worker["busy"]]
    return await _computing(lambda: found)


async def _computing(busy: Callable[[], Sequence[int]]) -> psutil.Process:
    """Return the busy worker once it computes: a fresh one is busy with its own start for a while."""
    while True:
        if pids := busy():
            worker = psutil.Process(pids[0])
            began_s = sum(worker.cpu_times()[:2])
            while True:
                if sum(worker.cpu_times()[:2]) >= began_s + COMPUTES_S:
                    return worker
                await asyncio.sleep(0.005)
        await asyncio.sleep(0.005)


async def _stopped(worker: psutil.Process) -> float:
    """Return the instant at which a process used the CPU for the last time, as far as can be seen from outside."""
    used_s, last_s = -1.0, time.perf_counter()
    while time.perf_counter() - last_s < 0.1:
        try:
            now_s = sum(worker.cpu_times()[:2])
        except psutil.NoSuchProcess:
            break
        if now_s != used_s:
            used_s, last_s = now_s, time.perf_counter()
        await asyncio.sleep(0.005)
    return last_s


async def _floods(scratch: Path) -> list[Figure]:
    """Type many keys at once: how long after the last its list is there, against a key that comes alone."""
    alone: list[float] = []
    after: dict[int | None, list[float]] = {rate: [] for rate in FLOOD_RATES}
    async with _server(scratch, SETTINGS) as (client, _):
        document = Document(client, client.root / "a.py")
        for _ in range(FLOODS):
            document.cut((6, 0))
            document.insert("counter")
            await asyncio.sleep(0.5)
            document.insert(".")
            alone.append(await _answered(document))
            document.restore()
            for rate in FLOOD_RATES:
                await asyncio.sleep(0.5)
                after[rate].append(await _flood(document, rate))
                document.restore()
    figures = [Figure(name="one key, its list", value=statistics.median(alone), unit="s")]
    for rate, times in after.items():
        which = "in one piece" if rate is None else f"at {rate:,} a second"
        took_s = statistics.median(times)
        figures.append(Figure(name=f"flood of {FLOOD_KEYS} keys {which}, last list", value=took_s, unit="s"))
        ratio = took_s / statistics.median(alone)
        figures.append(Figure(name=f"flood {which} against one key", value=ratio, unit="share", target=1.5))
    return figures


async def _flood(document: Document, rate: int | None) -> float:
    """Type keys at a rate, each with its request, which the next key cancels; return when the last one's list came."""
    document.cut((6, 0))
    requests: list[Request] = []
    begun_s = time.perf_counter()
    for number, key in enumerate("value = [" + "counter, " * (FLOOD_KEYS // 9) + "counter."):
        if rate is not None:
            await asyncio.sleep(max(begun_s + number / rate - time.perf_counter(), 0.0))
        document.insert(key)
        for request in requests[-1:]:
            document.cancel(request)
        requests.append(document.complete(key))
    sent_s = time.perf_counter()
    return (await requests[-1].answer).at_s - sent_s


async def _answered(document: Document) -> float:
    sent_s = time.perf_counter()
    answer = await document.complete(".").answer
    return answer.at_s - sent_s


async def _rest(scratch: Path) -> list[Figure]:
    """Return what a server costs that has nothing to do."""
    async with _server(scratch, SETTINGS) as (client, _):
        await asyncio.sleep(SETTLED_S)
        sidecar = psutil.Process(client.pid)
        began_s = sum(sidecar.cpu_times()[:2])
        await asyncio.sleep(REST_S)
        share = (sum(sidecar.cpu_times()[:2]) - began_s) / REST_S
    async with _server(scratch, WITHOUT_ENGINES) as (client, _):
        await asyncio.sleep(SETTLED_S)
        rss_mib = psutil.Process(client.pid).memory_info().rss / 2**20
    return [
        Figure(name="CPU at rest, of one core", value=share, unit="share", target=0.005),
        Figure(name="sidecar without engines", value=rss_mib, unit="MiB", target=120.0),
    ]
