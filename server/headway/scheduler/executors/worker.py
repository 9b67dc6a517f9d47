"""A worker process: takes one step at a time from its pipe, runs it, answers; outlives whatever the step does wrong.

Started as `python -I -m headway.scheduler.executors.worker FD PARENT_PID PRIORITY`; FD is a socket, or -1 where (as on
Windows) only standard streams can be handed on. Its first acts are to tie its life to its parent's and to lower its
priority. Standard input is empty and standard output goes where standard error goes, to the log of the parent: the pipe
is a descriptor of its own that no `print` can reach. Only what a start needs is imported at the top; the rest follows
while the worker waits for its first step.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import pickle
import select
import signal
import sys
import time

from headway.scheduler.executors import frames, launch
from headway.scheduler.executors.room import has_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_READ_BYTES = 1 << 16
_SPARE_BYTES = 1 << 18
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if sys.platform != "win32" else 4096


class StepInterrupted(BaseException):
    """Raised inside a step that was cancelled while it declared itself `interruptible`."""


class _StepData:
    """What `executors.base.StepContextData` says, without the modules that stand behind that class."""

    def __init__(
        self,
        job_id: str,
        task_id: str,
        task_name: str,
        step_name: str,
        attempt: int,
        results: dict[str, Any],
        previous: dict[str, Any],
        deadline_at_s: float | None,
        devices: tuple[int, ...],
        device_env: dict[str, str],
    ) -> None:
        self.job_id = job_id
        self.task_id = task_id
        self.task_name = task_name
        self.step_name = step_name
        self.attempt = attempt
        self.results = results
        self.previous = previous
        self.deadline_at_s = deadline_at_s
        self.devices = devices
        self.device_env = device_env


class _Worker:
    """The state of the process: its pipe, and the one step that it runs."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._decoder = frames.Decoder()
        self._waiting: list[frames.Frame] = []
        self._max_result_bytes = 0
        self._run_id = 0  # 0: none
        self._told = False
        self._preempted = False
        self._interruptible = False
        self._inside = False  # in code of ours that a signal must not tear apart
        self._writing = _thread.allocate_lock()  # a step's threads may report, too
        self._spare_memory = bytearray(_SPARE_BYTES)

    # ---- pipe -------------------------------------------------------------------------------------------------------

    def _send(self, kind: int, meta: tuple[Any, ...] = (), body: bytes = b"") -> None:
        data = memoryview(frames.encode(kind, self._run_id, pickle.dumps(meta) if meta else b"", body))
        with self._writing:
            while data:
                data = data[os.write(self._write_fd, data) :]

    def _receive(self) -> frames.Frame:
        """Return the next frame, waiting for it; a closed pipe ends the process."""
        while not self._waiting:
            self._read()
        return self._waiting.pop(0)

    def _read(self) -> None:
        data = os.read(self._read_fd, max(_READ_BYTES, self._decoder.wanted))
        if not data:
            os._exit(0)  # The parent is gone; nobody is left to clean up for.
        self._waiting += self._decoder.feed(data)

    def _look(self) -> bool:
        """Take in what the parent said meanwhile, without waiting; return whether the step is cancelled.

        On Windows nothing is taken in: there a cancel ends by force.
        """
        if sys.platform != "win32":
            while _readable(self._read_fd):
                self._read()
        for kind, *_ in self._waiting:  # behind the step's own frame the parent speaks of nothing but it
            self._told = self._told or kind == frames.CANCEL
            self._preempted = self._preempted or kind == frames.PREEMPT
        return self._told

    @contextlib.contextmanager
    def _undisturbed(self) -> Iterator[None]:
        """Hold an interrupt back until the block, which is not nested, is done."""
        self._inside = True
        try:
            yield
        finally:
            self._inside = False
        self.on_interrupt()

    # ---- what a step sees -------------------------------------------------------------------------------------------

    def cancelled(self) -> bool:
        if self._told:
            return True
        with self._undisturbed():
            told = self._look()
            if told:
                self._send(frames.TOLD)
        return told

    def preempted(self) -> bool:
        with self._undisturbed():
            self._look()
        return self._preempted

    def heartbeat(self, run_id: int) -> None:
        if run_id != self._run_id:
            return  # a thread that the step has left behind
        with self._undisturbed():
            self._send(frames.HEARTBEAT)

    def report_partial(self, run_id: int, value: object) -> None:
        if run_id != self._run_id:
            return  # as above: it would be taken for what another step has found
        body = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if len(body) > self._max_result_bytes:
            raise _too_large("a partial result", len(body), self._max_result_bytes)
        with self._undisturbed():
            self._send(frames.PARTIAL, (), body)

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Within this block a cancel raises `StepInterrupted`, whatever the code does."""
        self._send(frames.INTERRUPTIBLE, (True,))
        self._interruptible = True
        try:
            self.cancelled()  # One that came before the signals were wanted.
            yield
        finally:
            self._interruptible = False
            self._send(frames.INTERRUPTIBLE, (False,))

    def on_interrupt(self, *_: object) -> None:
        """Handle the signal that the parent sends behind a cancel; where it came too late nothing happens."""
        if self._inside or not self._interruptible:
            return
        if self._told or self._look():
            self._interruptible = False
            self._send(frames.TOLD)
            raise StepInterrupted

    # ---- life -------------------------------------------------------------------------------------------------------

    def serve(self, born_at_s: float) -> None:
        """Answer frames until the parent says to quit."""
        while True:
            kind, run_id, meta, body = self._receive()
            if kind == frames.RUN:
                self._run(run_id, body)
            elif kind == frames.SETUP:
                self._set_up(*pickle.loads(meta))
                self._send(frames.READY, (time.monotonic() - born_at_s,))
            elif kind == frames.QUIT:
                return
            # A late CANCEL or PREEMPT is for a run that has ended.

    def _set_up(self, sys_path: list[str], rlimit_bytes: int, max_result_bytes: int, modules: tuple[str, ...]) -> None:
        sys.path[:] = sys_path
        self._max_result_bytes = max_result_bytes
        if rlimit_bytes and sys.platform != "win32":
            import resource

            _, most = resource.getrlimit(resource.RLIMIT_DATA)
            limit = rlimit_bytes if most == resource.RLIM_INFINITY else min(rlimit_bytes, most)
            resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
        import importlib

        for module in ("headway.scheduler.context", *modules):
            try:
                importlib.import_module(module)
            # Importing ahead saves time and decides nothing: the step that needs the module will fail, and say so.
            except Exception as error:  # noqa: BLE001
                sys.stderr.write(f"cannot import {module} ahead of time: {error!r}\n")

    def _run(self, run_id: int, body: bytes) -> None:
        self._run_id, self._told, self._preempted = run_id, False, False
        started_at_s, cpu_s = time.monotonic(), time.process_time()
        kind, meta, answer = self._attempt(body)
        ran_s, cpu_s = time.monotonic() - started_at_s, time.process_time() - cpu_s
        self._interruptible = False
        with contextlib.suppress(OSError, ValueError):  # A step may have closed it.
            sys.stdout.flush()
        self._send(kind, (started_at_s, ran_s, cpu_s, _rss_bytes(), *meta), answer)
        self._run_id = 0

    def _attempt(self, body: bytes) -> tuple[int, tuple[Any, ...], bytes]:
        """Run the step; return kind, further meta and body of the answer."""
        from headway.scheduler import late_classes

        late_classes.install()  # before the step's module is imported; a worker that has none yet needs it not
        try:
            try:
                call, args, kwargs, *data = pickle.loads(body)
            except Exception as error:  # unpickling runs code of users, which may raise anything
                raise _cannot_load(error) from error
            value = self._call(call, args, kwargs, _StepData(*data))
            try:
                answer = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
            except MemoryError:
                raise
            except Exception as error:  # so does pickling
                raise _cannot_send(value, error) from error
            if len(answer) > self._max_result_bytes:
                raise _too_large("the result", len(answer), self._max_result_bytes)
        except StepInterrupted:
            return frames.FAILED, ("cancelled", "interrupted", "StepInterrupted", "", None, False), b""
        # User code may raise anything, SystemExit included; all of it is an answer, and the worker lives on.
        except BaseException as error:  # noqa: BLE001
            self._interruptible = False
            self._spare_memory = bytearray()  # Room to describe a failure for want of memory.
            described = _described(error)
            error.__traceback__ = None  # Its frames hold the step's values.
            exhausted = not has_room()  # Want of memory has many names: a library that does not load, a failed read.
            if not exhausted:
                self._spare_memory = bytearray(_SPARE_BYTES)
            return frames.FAILED, (*described, exhausted), b""
        return frames.DONE, (), answer

    def _call(self, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], data: Any) -> Any:
        from headway.scheduler.context import CURRENT, StepContext

        run_id = self._run_id
        context = StepContext(
            data,
            cancelled=self.cancelled,
            heartbeat=lambda: self.heartbeat(run_id),
            report_partial=lambda value: self.report_partial(run_id, value),
            preempted=self.preempted,
            interruptible=self.interruptible,
        )
        if data.device_env:
            os.environ.update(data.device_env)
        token = CURRENT.set(context)
        try:
            return call(*args, **kwargs)
        finally:
            CURRENT.reset(token)


def _described(error: BaseException) -> tuple[Any, ...]:
    from headway.scheduler.executors.failures import failure_of

    failure = failure_of(error)
    return failure.kind.value, failure.message, failure.type_name, failure.traceback, failure.retry_after_s


def _refusal(message: str) -> Exception:
    from headway.scheduler.errors import StepError
    from headway.scheduler.model import ErrorKind

    return StepError(ErrorKind.INVALID_INPUT, message)


def _cannot_load(error: Exception) -> Exception:
    return _refusal(
        f"the step cannot be loaded in a worker process: {error!r}; its call must be importable by name from a module"
        " (not from __main__) and its arguments must be picklable"
    )


def _cannot_send(value: object, error: Exception) -> Exception:
    return _refusal(
        f"the step succeeded, but its result (a {type(value).__qualname__}) cannot travel between processes: {error!r}"
    )


def _too_large(what: str, size_bytes: int, most_bytes: int) -> Exception:
    return _refusal(
        f"{what} takes {size_bytes / 2**20:.1f} MiB pickled, the limit is {most_bytes / 2**20:g} MiB;"
        " return less, or write it to a file and return the path"
    )


def _readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


def _rss_bytes() -> int:
    """Return the memory that this process really uses now; 0 where the system does not say it cheaply."""
    if sys.platform != "linux":
        return 0
    with open("/proc/self/statm", "rb", buffering=0) as statm:
        return int(statm.read().split()[1]) * _PAGE_BYTES


def _end_with_pipe(fd: int) -> None:
    """In a thread of its own: wait until the parent's end is closed, and end then, whatever the step is doing."""
    poll = select.poll()
    poll.register(fd, 0)  # Hang-ups alone; data is the main thread's.
    while not poll.poll():
        continue
    os._exit(0)


def main(arguments: list[str]) -> None:
    """Be a worker; `arguments` as in the module's docstring."""
    born_at_s = time.monotonic()
    fd, parent_pid, priority = int(arguments[0]), int(arguments[1]), arguments[2]
    launch.lower_priority(priority)
    launch.die_with_parent(parent_pid)
    read_fd = write_fd = fd
    if fd < 0:  # The pipes came as standard streams; they are moved out of the reach of user code.
        read_fd, write_fd = os.dup(0), os.dup(1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
    else:
        os.set_inheritable(fd, False)
    if sys.platform != "win32":
        _thread.start_new_thread(_end_with_pipe, (read_fd,))
    import faulthandler

    faulthandler.enable()  # A crash in native code is told to the log with its Python stack.
    sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    worker = _Worker(read_fd, write_fd)
    signal.signal(signal.SIGINT, worker.on_interrupt)
    worker.serve(born_at_s)


if __name__ == "__main__":
    main(sys.argv[1:])
