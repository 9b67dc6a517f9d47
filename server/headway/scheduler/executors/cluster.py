"""An optional extra: BATCH steps on a Dask cluster. The queue stays ours; the cluster gets a step for each free place.

Needs `distributed` (`pip install 'headway[cluster]'`) here and, with the code of the steps, on the cluster. What runs
there takes nothing of this machine: its tasks ask for no cores and no memory, `Requirement(cpu_cores=0, memory_mb=0)`.
A cluster that is away, or full, costs nothing: BATCH steps then run in the worker processes of this machine.

What Dask runs in a thread cannot be ended by force. A step that was cancelled is forgotten here at once; its thread
there goes on until it looks at `current_step().cancelled()`, which says so only for what had not begun.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import pickle
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from headway.scheduler.context import CURRENT, StepContext
from headway.scheduler.executors.base import (
    Executor,
    Role,
    Running,
    RunSink,
    StepContextData,
    StepResult,
    StepRun,
    WorkerReport,
)
from headway.scheduler.executors.failures import failure_of
from headway.scheduler.model import ErrorKind, Failure, Priority, WorkerView

_log = logging.getLogger(__name__)

_CONNECT_S: Final = 10.0
_AGAIN_S: Final = 30.0


class ClusterExecutor:
    """Implements `base.Executor` for StepKind.PROCESS around another one.

    Args:
        address: Of the cluster's scheduler, as Dask writes it: "tcp://host:8786".
        places: How many steps the cluster runs at once; no more than so many are ever handed over.
        local: Runs everything else: a `ProcessExecutor`.
    """

    def __init__(self, address: str, places: int, local: Executor) -> None:
        if places < 1:
            raise ValueError("a cluster has at least one place")
        self._address = address
        self._places = places
        self._local = local
        self._client: Any = None
        self._connecting: asyncio.Task[None] | None = None
        self._runs: dict[str, ClusterRun] = {}
        self._topic = f"headway-{uuid.uuid4().hex}"
        self.connected = asyncio.Event()

    async def start(self, report: WorkerReport) -> None:
        """Start the local executor, and look for the cluster; nothing waits for that.

        Raises:
            OSError: no process can be started here.
            ImportError: `distributed` is not installed.
        """
        distributed = importlib.import_module("distributed")
        await self._local.start(report)
        self._connecting = asyncio.get_running_loop().create_task(
            self._connect(distributed), name="headway: look for the cluster"
        )

    async def close(self, grace_s: float) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait((self._connecting,))
        waiting = [run.waiting for run in self._runs.values()]
        for run in tuple(self._runs.values()):
            run.cancel(grace_s)
        if waiting:
            await asyncio.wait(waiting, timeout=grace_s)
        if self._client is not None:
            await self._client.close()
        await self._local.close(grace_s)

    def capacity(self, role: Role) -> int:
        return self._local.capacity(role) + (self._places if role == "background" else 0)

    def begin(self, run: StepRun, sink: RunSink) -> Running:
        """Hand a BATCH step over where the cluster has a free place; see `base.Executor.begin`."""
        client = self._client
        if run.priority is not Priority.BATCH or len(self._runs) >= self._places or not _is_up(client):
            return self._local.begin(run, sink)
        key = f"{run.name}-{uuid.uuid4().hex}"
        future = client.submit(
            _run_there, run.call, run.args, dict(run.kwargs), run.context, self._topic, key, key=key, pure=False
        )
        begun = self._runs[key] = ClusterRun(key, future, sink, self._runs.pop, asyncio.get_running_loop())
        return begun

    def workers(self) -> Sequence[WorkerView]:
        return self._local.workers()

    async def _connect(self, distributed: Any) -> None:
        while True:
            client = distributed.Client(
                self._address, asynchronous=True, timeout=_CONNECT_S, set_as_default=False, name="headway"
            )
            try:
                await client
            except (OSError, TimeoutError) as error:
                _log.warning("no cluster at %s (%s); BATCH work stays here meanwhile", self._address, error)
            except asyncio.CancelledError:
                await client.close()
                raise
            else:
                self._client = client
                client.subscribe_topic(self._topic, self._heard)
                self.connected.set()
                return
            await client.close()
            await asyncio.sleep(_AGAIN_S)

    def _heard(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Take a sign of life, or a partial result, from the cluster."""
        _, message = event
        run = self._runs.get(message["key"])
        if run is not None:
            run.heard(message.get("partial"))


def _is_up(client: Any) -> bool:
    return client is not None and client.status == "running"


class ClusterRun:
    """A step on the cluster, from its handing over to its end."""

    def __init__(
        self,
        key: str,
        future: Any,
        sink: RunSink,
        ended: Callable[[str], object],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._key = key
        self._future = future
        self._sink = sink
        self._ended = ended
        self._loop = loop
        self._begun_at_s = loop.time()
        self._cancelled = False
        self.waiting = loop.create_task(self._wait(), name=f"headway: {key} on the cluster")

    @property
    def pid(self) -> int | None:
        return None

    def cancel(self, grace_s: float) -> None:
        """Forget the step; what had not begun there never runs."""
        if not self._cancelled:
            self._cancelled = True
            self.waiting.cancel()

    def preempt(self) -> None:
        """Do nothing: its place is not on this machine, and nobody here waits for it."""

    def heard(self, partial: bytes | None) -> None:
        """Pass on what the step said."""
        if partial is None:
            self._sink.heartbeat()
        else:
            self._sink.partial(pickle.loads(partial))

    async def _wait(self) -> None:
        value, error, ran_s, cpu_s = None, None, None, None
        try:
            value, ran_s, cpu_s = await self._future
        except asyncio.CancelledError:
            if not self._cancelled:
                # Dask's own cancellations are of this kind, too: the connection or the future was lost.
                error = Failure(kind=ErrorKind.SERVICE_UNAVAILABLE, message="the cluster lost the step")
        # The step's code may raise anything, and so may Dask on its behalf; all of it is how the step ended.
        except Exception as raised:  # noqa: BLE001
            error = _failure_there(raised)
        self._ended(self._key)
        if self._cancelled:
            # A cluster that cannot be told has forgotten it anyway.
            with contextlib.suppress(Exception):
                await self._future.cancel()
        self._future.release()
        self._sink.done(
            StepResult(
                value=None if self._cancelled else value,
                error=None if self._cancelled else error,
                cancelled=self._cancelled,
                started_at_s=self._begun_at_s,
                ran_s=self._loop.time() - self._begun_at_s if ran_s is None else ran_s,
                cpu_s=cpu_s,
                slot="cluster",
            )
        )


def _failure_there(error: Exception) -> Failure:
    if type(error).__name__ == "KilledWorker":
        return Failure(kind=ErrorKind.WORKER_DIED, message=f"its worker on the cluster died: {error}")
    if type(error).__name__ in ("FutureCancelledError", "CommClosedError"):
        return Failure(kind=ErrorKind.SERVICE_UNAVAILABLE, message=f"the cluster lost the step: {error}")
    return failure_of(error)


def _run_there(
    call: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    data: StepContextData,
    topic: str,
    key: str,
) -> tuple[Any, float, float]:
    """Run a step in a worker of the cluster; return its value and the seconds that it ran and computed."""
    worker = importlib.import_module("distributed").get_worker()

    def say(partial: bytes | None = None) -> None:
        worker.log_event(topic, {"key": key} if partial is None else {"key": key, "partial": partial})

    context = StepContext(
        data, cancelled=lambda: False, heartbeat=say, report_partial=lambda value: say(pickle.dumps(value))
    )
    token = CURRENT.set(context)
    began_s, cpu_s = time.monotonic(), time.thread_time()
    try:
        return call(*args, **kwargs), time.monotonic() - began_s, time.thread_time() - cpu_s
    finally:
        CURRENT.reset(token)
