"""The worker processes of one class: who gets the next step, how many there are, and who replaces the fallen.

A worker never changes its class, since an unprivileged process cannot leave idle priority. Workers are started when
they are needed and stay; `warm` of them are kept idle in advance, so that neither a burst nor a killed worker makes
anyone wait for a start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from headway.scheduler.executors.base import Role, RunSink, StepRun, WorkerReport
from headway.scheduler.executors.children import RestartDelay
from headway.scheduler.executors.spawn import describe_exit
from headway.scheduler.executors.worker_process import ProcessRun, WorkerProcess, WorkerSettings, pickled_step
from headway.scheduler.model import ErrorKind, Failure, WorkerChanged, WorkerView

_log = logging.getLogger(__name__)

_AFTER_THE_STEP_S = 0.005  # a refill waits until the step at hand is on its way


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSettings:
    """Size and habits of a pool. `size`: steps at once. `warm`: idle workers kept ready beyond the busy ones.

    They come `warm_after_s` after the pool starts. A worker that was idle for `idle_s` is ended unless it is one of the
    warm ones.
    """

    size: int
    warm: int = 0
    warm_after_s: float = 0.0
    idle_s: float = 60.0
    worker: WorkerSettings = field(default_factory=WorkerSettings)

    def __post_init__(self) -> None:
        if self.size < 1 or self.warm < 0:
            raise ValueError(f"a pool has at least one worker and no negative number of spares, not {self}")


class WorkerPool:
    """Owns the workers of one role. Called on the loop; nothing blocks but the start of a process (1 ms)."""

    def __init__(self, role: Role, settings: PoolSettings, report: WorkerReport) -> None:
        self.role = role
        self.settings = settings
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._workers: list[WorkerProcess] = []  # alive and not leaving
        self._leaving: list[WorkerProcess] = []  # until they are reaped
        self._restarts: dict[int, int] = {}  # by slot number: predecessors that died or were killed
        self._delay = RestartDelay()
        self._respawn: asyncio.TimerHandle | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._retire: asyncio.TimerHandle | None = None
        self._closing = False
        self.births_s: list[float] = []  # newest last, at most 20: how long starts took

    def start(self) -> None:
        """Start the warm workers, now or when it is time for them.

        Raises:
            OSError: the first process cannot be started.
        """
        if self.settings.warm_after_s > 0:
            self._refill_soon(self.settings.warm_after_s)
        else:
            self._refill()

    async def close(self, grace_s: float) -> None:
        """End all workers: the idle ones are asked to, the busy ones are killed after `grace_s`; all are reaped."""
        self._closing = True
        for timer in (self._respawn, self._watch, self._retire):
            if timer is not None:
                timer.cancel()
        for worker in list(self._workers):
            if worker.running is not None:
                worker.running.cancel(grace_s)
            elif worker.ready:
                self._let_go(worker)
            else:
                worker.kill("it was still starting when the pool was closed")
        remaining = [*self._workers, *self._leaving]
        if not remaining:
            return
        try:
            async with asyncio.timeout(grace_s):
                await asyncio.gather(*(worker.wait() for worker in remaining))
        except TimeoutError:
            for worker in [*self._workers, *self._leaving]:
                worker.kill("the pool was closed")
            await asyncio.gather(*(worker.wait() for worker in remaining))

    def begin(self, run: StepRun, sink: RunSink) -> ProcessRun:
        """Give a step to a worker; see `base.Executor.begin`."""
        body, refusal = pickled_step(run)
        if refusal is None:
            try:
                worker = self._choose(run)
            except OSError as error:
                refusal = Failure(
                    kind=ErrorKind.RESOURCE_BUSY, message=f"no worker process can be started for {run.name!r}: {error}"
                )
        if refusal is not None:
            running = ProcessRun(run, sink, f"{self.role}-0")
            self._loop.call_soon(lambda: running.finish(error=refusal))
            return running
        running = ProcessRun(run, sink, worker.slot)
        worker.begin(running, body)
        self._watch_memory()
        if self.settings.warm and self._idle_count() < self.settings.warm:
            self._refill_soon(_AFTER_THE_STEP_S)
        return running

    def views(self) -> Sequence[WorkerView]:
        """Return the workers as they are now."""
        return [
            WorkerView(
                pid=worker.pid,
                role=self.role,
                busy=worker.running is not None,
                rss_mb=worker.rss_mb(),
                restarts=worker.restarts,
            )
            for worker in self._workers
        ]

    # ---- choosing ---------------------------------------------------------------------------------------------------

    def _choose(self, run: StepRun) -> WorkerProcess:
        """Return the idle worker whose caches suit best, a new one if there is none."""
        wanted = run.context.device_env
        # A process that has used a GPU keeps it: it serves steps with the same devices, and those without any.
        usable = [
            worker
            for worker in self._workers
            if worker.idle and (not wanted or worker.device_env is None or worker.device_env == wanted)
        ]
        if not usable:
            if len(self._workers) >= self.settings.size + self.settings.warm:
                self._make_room()
            return self._spawn()
        if run.affinity is not None:
            for worker in usable:
                if worker.affinity == run.affinity:
                    return worker
        # Those without caches first, then whose caches were used longest ago; a starting one only if nobody is ready.
        return min(usable, key=lambda worker: (not worker.ready, worker.affinity is not None, worker.used_at_s))

    def _make_room(self) -> None:
        """Let the idle worker go that was used longest ago."""
        idle = [worker for worker in self._workers if worker.idle]
        if idle:
            self._let_go(min(idle, key=lambda worker: worker.used_at_s))

    def _idle_count(self) -> int:
        return sum(worker.idle for worker in self._workers)

    # ---- how many ---------------------------------------------------------------------------------------------------

    def _spawn(self) -> WorkerProcess:
        taken = {worker.slot for worker in self._workers}
        number = next(n for n in range(1, len(taken) + 2) if f"{self.role}-{n}" not in taken)
        worker = WorkerProcess(
            self, self.settings.worker, f"{self.role}-{number}", self._restarts.setdefault(number, 0)
        )
        self._workers.append(worker)
        self._tell(worker, "started")
        return worker

    def _refill(self) -> None:
        """Start workers until the warm ones are there, as far as the pool may grow."""
        self._respawn = None
        while (
            not self._closing
            and self._idle_count() < self.settings.warm
            and len(self._workers) < self.settings.size + self.settings.warm
        ):
            self._spawn()

    def _refill_soon(self, delay_s: float) -> None:
        """Start what is missing once the work at hand is done, or after a delay."""
        if self._respawn is None and not self._closing:
            self._respawn = self._loop.call_later(delay_s, self._try_refill)

    def _try_refill(self) -> None:
        try:
            self._refill()
        except OSError as error:
            delay_s = self._delay.ended(0.0)
            _log.warning("no %s worker can be started (%s); next try in %.1f s", self.role, error, delay_s)
            self._refill_soon(delay_s)

    def _let_go(self, worker: WorkerProcess) -> None:
        worker.quit()
        self._workers.remove(worker)
        self._leaving.append(worker)

    def _retire_idle(self) -> None:
        """End who has had nothing to do for long, and come again while there are more than the warm ones."""
        self._retire = None
        now_s = self._loop.time()
        idle = sorted((w for w in self._workers if w.idle and w.ready), key=lambda worker: worker.used_at_s)
        surplus = idle[: max(0, len(idle) - self.settings.warm)]
        for worker in surplus:
            if now_s - worker.used_at_s >= self.settings.idle_s:
                self._let_go(worker)
        self._retire_later()

    def _retire_later(self) -> None:
        if self._retire is None and not self._closing and self._idle_count() > self.settings.warm:
            self._retire = self._loop.call_later(self.settings.idle_s, self._retire_idle)

    def _watch_memory(self) -> None:
        if self._watch is None and not self._closing:
            self._watch = self._loop.call_later(self.settings.worker.memory.watch_every_s, self._check_memory)

    def _check_memory(self) -> None:
        self._watch = None
        busy = [worker for worker in self._workers if worker.running is not None]
        for worker in busy:
            worker.check_memory()
        if busy:
            self._watch_memory()

    # ---- told by the workers ----------------------------------------------------------------------------------------

    def worker_ready(self, process: WorkerProcess) -> None:
        self._delay = RestartDelay()
        self.births_s = [*self.births_s[-19:], process.birth_s]
        self._retire_later()

    def worker_free(self, process: WorkerProcess) -> None:
        if process.leaving and process in self._workers:  # too large to keep
            self._workers.remove(process)
            self._leaving.append(process)
            self._replace()
        self._retire_later()

    def worker_exhausted(self, process: WorkerProcess) -> None:
        """Trust nobody who was there when a worker ran out of memory: what has failed in it is tried on a fresh one."""
        self._renew(process)

    def worker_killed(self, process: WorkerProcess) -> None:
        """Start the successor before the killed one is even reaped."""
        if process in self._workers:
            self._workers.remove(process)
            self._leaving.append(process)
            self._count_restart(process)
            self._replace()

    def worker_ended(self, process: WorkerProcess, returncode: int) -> None:
        if process in self._workers:  # Nobody had asked it to end.
            self._workers.remove(process)
            self._count_restart(process)
            self._tell(process, "died", describe_exit(returncode))
            _log.warning("worker %s (%s) %s", process.pid, process.slot, describe_exit(returncode))
            if process.ready:
                self._renew(process)  # Of what it died is not known: it may be what its siblings lack, too.
                self._replace()
            else:
                self._refill_soon(self._delay.ended(0.0))
            return
        self._leaving.remove(process)
        self._tell(process, "killed" if process.killed_because else "ended", process.killed_because)

    def _replace(self) -> None:
        """Start a worker in the place of one that is lost, though nobody may be waiting for it yet."""
        if not self._closing and len(self._workers) < self.settings.size + self.settings.warm:
            try:
                self._spawn()
            except OSError as error:
                _log.warning("no %s worker can be started: %s", self.role, error)
                self._refill_soon(self._delay.ended(0.0))

    def _renew(self, fallen: WorkerProcess) -> None:
        """Let the siblings of a fallen worker go, unless it was suspected itself: the idle at once, others in time.

        Of several that lack the same, each would fail one try of a step, until the step seems to be to blame. Where
        spares are kept a key may be waiting, and is served by whoever is there.
        """
        if fallen.retiring or self.settings.warm:
            return
        for worker in tuple(self._workers):
            if worker is fallen:
                continue
            if worker.idle and worker.ready:
                self._let_go(worker)
            elif worker.ready:
                worker.retiring = True

    def _count_restart(self, process: WorkerProcess) -> None:
        number = int(process.slot.rpartition("-")[2])
        self._restarts[number] = self._restarts.get(number, 0) + 1

    def _tell(self, worker: WorkerProcess, change: str, detail: str = "") -> None:
        self._report(
            WorkerChanged(at_s=self._loop.time(), pid=worker.pid, role=self.role, change=change, detail=detail)
        )
