"""Ten thousand empty coroutines through other schedulers that run within a process, each as its documentation says."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

Run = Callable[[int], Coroutine[Any, Any, float]]


async def empty() -> None:
    """Do nothing, as all the tasks that are measured here."""


async def bare_asyncio(count: int) -> float:
    """Seconds for `count` tasks of asyncio itself: the least that anything on a loop can cost."""
    gc.collect()  # as before the others: what earlier rounds left is not its matter
    started_s = time.perf_counter()
    tasks = [asyncio.create_task(empty()) for _ in range(count)]
    for task in tasks:
        await task
    return time.perf_counter() - started_s


async def aiojobs(count: int) -> float:
    """Seconds for `count` jobs of aiojobs, a hundred at a time (its default)."""
    import aiojobs

    async with aiojobs.Scheduler(pending_limit=0) as scheduler:
        started_s = time.perf_counter()
        jobs = [await scheduler.spawn(empty()) for _ in range(count)]
        for job in jobs:
            await job.wait()
        return time.perf_counter() - started_s


async def taskiq(count: int) -> float:
    """Seconds for `count` tasks through taskiq's broker in memory."""
    from taskiq import InMemoryBroker

    broker = InMemoryBroker(max_stored_results=count + 1)
    logging.getLogger("taskiq").setLevel(logging.ERROR)
    task = broker.register_task(empty, task_name="empty")
    await broker.startup()
    started_s = time.perf_counter()
    kicked = [await task.kiq() for _ in range(count)]
    for one in kicked:
        await one.wait_result(check_interval=0.001)
    took_s = time.perf_counter() - started_s
    await broker.shutdown()
    return took_s


async def dask(count: int) -> float:
    """Seconds for `count` tasks through a scheduler and a worker of Dask within this process."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1, threads_per_worker=1, processes=False, asynchronous=True, dashboard_address=None, protocol="inproc"
    )
    async with cluster, Client(cluster, asynchronous=True) as client:  # type: ignore[no-untyped-call]
        started_s = time.perf_counter()
        futures = [client.submit(empty, pure=False) for _ in range(count)]
        await client.gather(futures)
        return time.perf_counter() - started_s


# With how many tasks each is measured: what takes milliseconds a task need not be run ten thousand times.
PEERS: dict[str, tuple[Run, int]] = {"aiojobs": (aiojobs, 10_000), "taskiq": (taskiq, 10_000), "dask": (dask, 1_000)}
