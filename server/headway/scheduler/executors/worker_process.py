"""One worker process as the sidecar sees it: starts it, hands it one step at a time, and answers for every step.

Whatever happens to the process, the run that it had ends once: with its answer, or with a `Failure` that says how the
process ended. Which worker gets which step, and when there are more of them, is decided in `pool`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from headway.scheduler.executors import frames, worker
from headway.scheduler.executors.base import RunSink, StepContextData, StepResult, StepRun
from headway.scheduler.executors.channel import Channel, SocketChannel, ThreadChannel
from headway.scheduler.executors.failures import failure_of
from headway.scheduler.executors.memory import MIB, MemoryLimits, rss_mb
from headway.scheduler.executors.spawn import PriorityClass, Process, clean_environment, describe_exit
from headway.scheduler.executors.streams import LoggedLines, read_into
from headway.scheduler.model import ErrorKind, Failure

_log = logging.getLogger(__name__)

_QUIT_S = 2.0  # for exit handlers of what user code imported
# Quicker than `-m` by what runpy takes, and it finds us wherever we were imported from, also in isolated mode.
_BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from %s import main; main(sys.argv[1:])"
_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """How a pool's workers are.

    `modules` are imported while a worker waits for its first step. A cancelled step that has not even asked whether it
    is cancelled is ended by force after `unheard_s`, or the grace if that is shorter.
    """

    priority_class: PriorityClass = PriorityClass.NORMAL
    memory: MemoryLimits = field(default_factory=MemoryLimits)
    max_result_bytes: int = 64 * MIB
    modules: tuple[str, ...] = ()
    unheard_s: float = 0.05


class WorkerOwner(Protocol):
    """Who is told what becomes of a worker; the pool."""

    def worker_ready(self, process: WorkerProcess) -> None: ...
    def worker_free(self, process: WorkerProcess) -> None: ...
    def worker_exhausted(self, process: WorkerProcess) -> None: ...
    def worker_killed(self, process: WorkerProcess) -> None: ...
    def worker_ended(self, process: WorkerProcess, returncode: int) -> None: ...


class ProcessRun:
    """A step in a worker process, until it has ended. Implements `base.Running`."""

    def __init__(self, run: StepRun, sink: RunSink, slot: str) -> None:
        self.run = run
        self._sink = sink
        self._slot = slot
        self._loop = asyncio.get_running_loop()
        self.worker: WorkerProcess | None = None
        self.cancelled = False
        self.ended = False
        self.interruptible = False
        self._told = False
        self._begun_at_s = self._loop.time()
        self._kill_at_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        return self.worker.pid if self.worker else None

    def cancel(self, grace_s: float) -> None:
        if self.cancelled or self.ended or self.worker is None:
            return
        self.cancelled = True
        self._kill_at_s = self._loop.time() + grace_s
        self.worker.tell(frames.CANCEL, self.run.run_id)
        if self.interruptible:
            self.worker.interrupt()
        self._timer = self._loop.call_later(min(grace_s, self.worker.settings.unheard_s), self._grace_over, self.worker)

    def preempt(self) -> None:
        if not self.ended and self.worker is not None:
            self.worker.tell(frames.PREEMPT, self.run.run_id)

    def told(self) -> None:
        """Note that the step knows that it is cancelled: it has the whole grace to end by itself."""
        self._told = True

    def heartbeat(self) -> None:
        self._sink.heartbeat()

    def partial(self, value: Any) -> None:
        self._sink.partial(value)

    def finish(
        self,
        *,
        value: Any = None,
        error: Failure | None = None,
        started_at_s: float | None = None,
        ran_s: float | None = None,
        cpu_s: float | None = None,
    ) -> None:
        """End the run, once; what was cancelled counts as cancelled however it ended."""
        if self.ended:
            return
        self.ended = True
        if self._timer is not None:
            self._timer.cancel()
        started = self._begun_at_s if started_at_s is None else started_at_s
        self._sink.done(
            StepResult(
                value=None if self.cancelled else value,
                error=None if self.cancelled else error,
                cancelled=self.cancelled,
                started_at_s=started,
                ran_s=self._loop.time() - started if ran_s is None else ran_s,
                cpu_s=cpu_s,
                slot=self._slot,
                pid=self.pid,
            )
        )

    def _grace_over(self, worker: WorkerProcess) -> None:
        left_s = self._kill_at_s - self._loop.time()
        if self._told and left_s > 0:
            self._timer = self._loop.call_later(left_s, self._grace_over, worker)
        else:
            worker.kill(f"{self.run.name!r} did not end when it was cancelled")


class WorkerProcess:
    """A worker from its start to its reaping.

    Raises:
        OSError: the process cannot be started.
    """

    def __init__(self, owner: WorkerOwner, settings: WorkerSettings, slot: str, restarts: int) -> None:
        self._owner = owner
        self.settings = settings
        self.slot = slot
        self.restarts = restarts
        self.ready = False
        self.leaving = False  # told to quit, or killed: gets no more work
        self.retiring = False  # leaves as soon as its step has ended
        self.killed_because = ""
        self.out_of_memory = False
        self.running: ProcessRun | None = None
        self.affinity: Hashable | None = None
        self.device_env: Mapping[str, str] | None = None
        self.used_at_s = asyncio.get_running_loop().time()
        self.idle_rss_mb = 0.0
        self.birth_s = 0.0
        self._quitting: asyncio.TimerHandle | None = None
        limit_bytes = settings.max_result_bytes + MIB
        theirs: socket.socket | None = None
        arguments = [str(os.getpid()), str(settings.priority_class)]
        if sys.platform == "win32":
            self._process = self._spawn(["-1", *arguments], subprocess.PIPE, subprocess.PIPE, subprocess.PIPE)
            self._channel: Channel = ThreadChannel(
                self._process.stdout, self._process.stdin, self._on_frame, self._on_broken, limit_bytes
            )
        else:
            ours, theirs = socket.socketpair()
            with theirs:
                try:
                    number = theirs.fileno()
                    self._process = self._spawn(
                        [str(number), *arguments], subprocess.DEVNULL, subprocess.PIPE, subprocess.STDOUT, (number,)
                    )
                except OSError:
                    ours.close()
                    raise
            self._channel = SocketChannel(ours, self._on_frame, self._on_broken, limit_bytes)
        self.pid = self._process.pid
        output = self._process.stderr or self._process.stdout
        self._stop_output = read_into(output, LoggedLines(f"worker {self.pid}", kept_lines=20, level=logging.INFO))
        rlimit_bytes = int((settings.memory.data_mb or 0) * MIB)
        setup = (sys.path, rlimit_bytes, settings.max_result_bytes, settings.modules)
        self._channel.send(frames.encode(frames.SETUP, meta=pickle.dumps(setup)))

    @property
    def idle(self) -> bool:
        return self.running is None and not self.leaving

    def begin(self, run: ProcessRun, body: bytes) -> None:
        """Hand the worker, which must be idle, its step."""
        self.running = run
        run.worker = self
        self.affinity = run.run.affinity if run.run.affinity is not None else self.affinity
        self.device_env = run.run.context.device_env or self.device_env
        self._channel.send(frames.encode(frames.RUN, run.run.run_id, body=body))

    def tell(self, kind: int, run_id: int) -> None:
        self._channel.send(frames.encode(kind, run_id))

    def interrupt(self) -> None:
        """Let the step that said it may be interrupted find out at once."""
        if sys.platform != "win32" and self._process.running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGINT)

    def quit(self) -> None:
        """Let the worker end by itself; it has nothing to do. What keeps it alive nevertheless is ended by force."""
        if not self.leaving:
            self.leaving = True
            self._channel.send(frames.encode(frames.QUIT))
            self._quitting = asyncio.get_running_loop().call_later(_QUIT_S, self.kill, "it did not quit")

    def kill(self, reason: str) -> None:
        """End the worker by force, once; the run that it has is answered when it is reaped."""
        if not self.killed_because and self._process.running:
            self.killed_because = reason
            self.leaving = True
            self._process.kill()
            self._owner.worker_killed(self)

    def rss_mb(self) -> float | None:
        return rss_mb(self.pid) if self._process.running else None

    def check_memory(self) -> None:
        """Kill the worker when its step uses far more memory than its task was admitted with."""
        run, used_mb = self.running, self.rss_mb()
        if run is None or used_mb is None:
            return
        required_mb = run.run.memory_mb
        limit_mb = self.settings.memory.step_limit_mb(self.idle_rss_mb, required_mb)
        if used_mb > limit_mb:
            self.out_of_memory = True
            self.kill(
                f"{run.run.name!r} used {used_mb:.0f} MiB of memory; it was admitted with {required_mb:.0f} MiB"
                f" and is ended above {limit_mb:.0f} MiB"
            )

    async def wait(self) -> int:
        return await self._process.wait()

    def _spawn(
        self, arguments: list[str], stdin: int, stdout: int, stderr: int, pass_fds: tuple[int, ...] = ()
    ) -> Process:
        return Process(
            [sys.executable, "-I", "-c", _BOOT % worker.__name__, _ROOT, *arguments],
            on_exit=self._on_exit,
            priority_class=self.settings.priority_class,
            env=clean_environment(),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=pass_fds,
        )

    # ---- what the worker says ---------------------------------------------------------------------------------------

    def _on_frame(self, frame: frames.Frame) -> None:
        kind, run_id, meta, body = frame
        if kind == frames.READY:
            self.ready = True
            (self.birth_s,) = pickle.loads(meta)
            self.idle_rss_mb = self.rss_mb() or 0.0
            self._owner.worker_ready(self)
            return
        run = self.running
        if run is None or run.run.run_id != run_id:
            return  # Late words about a run that has been answered.
        if kind == frames.DONE:
            self._done(run, meta, body)
        elif kind == frames.FAILED:
            started_at_s, ran_s, cpu_s, rss_bytes, *described = pickle.loads(meta)
            name, message, type_name, traceback, retry_after_s, exhausted = described
            failure = Failure(
                kind=ErrorKind(name),
                message=message,
                type_name=type_name,
                traceback=traceback,
                retry_after_s=retry_after_s,
            )
            self._release(rss_bytes, exhausted=exhausted)
            run.finish(error=failure, started_at_s=started_at_s, ran_s=ran_s, cpu_s=cpu_s)
        elif kind == frames.HEARTBEAT:
            run.heartbeat()
        elif kind == frames.PARTIAL:
            self._partial(run, body)
        elif kind == frames.TOLD:
            run.told()
        else:  # INTERRUPTIBLE
            (run.interruptible,) = pickle.loads(meta)
            if run.interruptible and run.cancelled:
                self.interrupt()

    def _done(self, run: ProcessRun, meta: bytes, body: bytes) -> None:
        started_at_s, ran_s, cpu_s, rss_bytes = pickle.loads(meta)
        value, error = _loaded(body)
        self._release(rss_bytes)
        run.finish(value=value, error=error, started_at_s=started_at_s, ran_s=ran_s, cpu_s=cpu_s)

    def _partial(self, run: ProcessRun, body: bytes) -> None:
        value, error = _loaded(body)
        if error is None:
            run.partial(value)
        else:
            _log.warning("a partial result of %r was dropped: %s", run.run.name, error.message)

    def _release(self, rss_bytes: int, *, exhausted: bool = False) -> None:
        self.running = None
        self.used_at_s = asyncio.get_running_loop().time()
        used_mb = rss_bytes / MIB if rss_bytes else self.rss_mb() or 0.0
        why = "a worker like it ran out of memory or died" if self.retiring else ""
        if exhausted:  # The next step may ask for little and get nothing all the same.
            why = "it ran out of memory"
            self._owner.worker_exhausted(self)
        elif used_mb > max(self.settings.memory.recycle_mb, 1.5 * self.idle_rss_mb):
            why = f"it holds {used_mb:.0f} MiB after its step"
        if why:
            _log.info("worker %s (%s) is replaced: %s", self.pid, self.slot, why)
            self.quit()
        self._owner.worker_free(self)

    def _on_broken(self, error: frames.FrameTooLargeError) -> None:
        self.kill(f"its pipe is ruined: {error}")

    def _on_exit(self, returncode: int) -> None:
        self._channel.drain()  # It may have answered with its last breath.
        self._channel.close()
        self._stop_output()
        self.leaving = True
        if self._quitting is not None:
            self._quitting.cancel()
        run, self.running = self.running, None
        self._owner.worker_ended(self, returncode)
        if run is not None:
            run.finish(error=self._death(run, returncode))

    def _death(self, run: ProcessRun, returncode: int) -> Failure:
        how = f"the worker process {self.pid} {describe_exit(returncode)} while it ran {run.run.name!r}"
        if self.out_of_memory:
            return Failure(kind=ErrorKind.OUT_OF_MEMORY, message=self.killed_because, type_name="MemoryError")
        if self.killed_because:
            how = f"{how}: {self.killed_because}"
        return Failure(kind=ErrorKind.WORKER_DIED, message=how)


def pickled_step(run: StepRun) -> tuple[bytes, Failure | None]:
    """Return the step as bytes, or why it cannot travel."""
    if getattr(run.call, "__module__", None) == "__main__":
        return b"", _refused(run, "its function is defined in the main program; move it to a module")
    try:
        return pickle.dumps((run.call, run.args, dict(run.kwargs), *_plain(run.context)), pickle.HIGHEST_PROTOCOL), None
    # Pickling runs methods of users, which may raise anything; the step has failed, not the pool.
    except Exception as error:  # noqa: BLE001
        return b"", _refused(run, f"{type(error).__qualname__}: {error}")


def _plain(data: StepContextData) -> tuple[Any, ...]:
    """Return the arguments of the worker's own class for this, which needs no imports."""
    told = (data.job_id, data.task_id, data.task_name, data.step_name, data.attempt)
    return (*told, dict(data.results), dict(data.previous), data.deadline_at_s, data.devices, dict(data.device_env))


def _refused(run: StepRun, why: str) -> Failure:
    return Failure(
        kind=ErrorKind.INVALID_INPUT,
        message=f"step {run.name!r} cannot be sent to a worker process: {why}",
        type_name="PicklingError",
    )


def _loaded(body: bytes) -> tuple[Any, Failure | None]:
    try:
        return pickle.loads(body), None
    # Unpickling runs constructors of users, which may raise anything.
    except Exception as error:  # noqa: BLE001
        found = failure_of(error)
        message = f"the step succeeded, but its result cannot be read here: {found.type_name}: {found.message}"
        return None, Failure(
            kind=ErrorKind.INVALID_INPUT, message=message, type_name=found.type_name, traceback=found.traceback
        )
