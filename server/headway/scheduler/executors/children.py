"""Foreign programs as supervised children: language servers that stay (`Child`) and short runs (`run`).

A child is started in a process group of its own at the priority class that the caller names, dies with us in whatever
way we end, is ended as a whole group, and is always reaped. It inherits the standard streams and nothing else; its
environment is the caller's or `clean_environment()`. Which program to start, with what trust, is the caller's decision:
the path must be absolute, nothing is searched for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headway.scheduler.errors import SchedulerError
from headway.scheduler.executors.spawn import (
    PriorityClass,
    Process,
    clean_environment,
    describe_exit,
    tied_to_us,
)
from headway.scheduler.executors.streams import EndingStream, GatheredBytes, LoggedLines, close_streams

__all__ = [
    "Child",
    "Completed",
    "PriorityClass",
    "ProgramMissingError",
    "RestartDelay",
    "clean_environment",
    "describe_exit",
    "run",
]

_log = logging.getLogger(__name__)

_STREAM_LIMIT_BYTES = 1 << 20  # read ahead of a consumer, per stream
_STREAMS = 3
_OUTPUT_AFTER_EXIT_S = 1.0  # how long output may still come when the program has ended


class ProgramMissingError(SchedulerError):
    """The program is not there or may not be executed; nothing was started. Install it or correct the setting."""

    def __init__(self, program: str, reason: str) -> None:
        super().__init__(program, reason)
        self.program = program
        self.reason = reason

    def __str__(self) -> str:
        return f"cannot start {self.program!r}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """How a short run ended. `returncode` is negative for a signal, `truncated` says that output was dropped."""

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    truncated: bool
    ran_s: float


class RestartDelay:
    """How long to wait before a program that keeps ending is started again: growing, forgotten after good health."""

    def __init__(
        self, *, first_s: float = 0.5, factor: float = 2.0, cap_s: float = 60.0, healthy_after_s: float = 30.0
    ) -> None:
        self._first_s = first_s
        self._factor = factor
        self._cap_s = cap_s
        self._healthy_after_s = healthy_after_s
        self._next_s = first_s
        self.ends = 0  # in a row, without good health in between

    def ended(self, ran_s: float) -> float:
        """Return the delay before the next start, in seconds, after a life of `ran_s`."""
        if ran_s >= self._healthy_after_s:
            self._next_s = self._first_s
            self.ends = 0
        self.ends += 1
        delay_s = self._next_s
        self._next_s = min(self._next_s * self._factor, self._cap_s)
        return delay_s


class Child:
    """A program that stays, spoken to through `stdin` and `stdout`; its stderr goes to the log (debug) and a tail.

    `on_exit` is called once, on the loop, with the exit code, however the child ended.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        name: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        priority_class: PriorityClass = PriorityClass.NORMAL,
        on_exit: Callable[[int], None] | None = None,
        kept_stderr_lines: int = 200,
        guarded: bool = False,
    ) -> None:
        """Describe the child; nothing is started yet.

        Args:
            argv: Absolute path of the program, and its arguments.
            name: How the log calls it; the program's file name by default.
            guarded: Start it under a guard process that ends its descendants too when we die (costs 8 MiB).
        """
        self.argv = tuple(argv)
        self.name = name or os.path.basename(argv[0])
        self._cwd = cwd
        self._env = env
        self._priority_class = priority_class
        self._on_exit = on_exit
        self._kept_stderr_lines = kept_stderr_lines
        self._guarded = guarded
        self._process: Process | None = None
        self._stderr: LoggedLines | None = None
        self._transports: list[asyncio.BaseTransport] = []
        self._open_streams = _STREAMS
        self._all_closed = asyncio.Event()
        self._started_at_s = 0.0
        self._lifeline = -1
        self.ran_s: float | None = None  # how long it lived, once it has ended
        self.stdin: asyncio.StreamWriter
        self.stdout: asyncio.StreamReader

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def returncode(self) -> int | None:
        return self._process.returncode if self._process else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def stderr_tail(self) -> tuple[str, ...]:
        """The newest lines that it wrote to stderr."""
        return tuple(self._stderr.tail) if self._stderr else ()

    async def start(self) -> None:
        """Start the program.

        Raises:
            ProgramMissingError: it is not there or cannot be executed.
            RuntimeError: it was started before.
        """
        if self._process is not None:
            raise RuntimeError(f"{self.name} was already started; make a new Child for each start")
        loop = asyncio.get_running_loop()
        self._started_at_s = loop.time()
        pipe = subprocess.PIPE
        self._process, self._lifeline = _launch(
            self.argv, self._ended, self._priority_class, self._cwd, self._env, pipe, self._guarded
        )
        self.stdout = asyncio.StreamReader(limit=_STREAM_LIMIT_BYTES, loop=loop)
        try:
            await self._connect(loop, self._process)
        except BaseException:  # a cancel, too: a child that nobody holds must not live on
            self.kill()
            raise

    async def _connect(self, loop: asyncio.AbstractEventLoop, process: Process) -> None:
        reading = EndingStream(self.stdout, self._stream_closed)
        out_transport, _ = await loop.connect_read_pipe(lambda: reading, process.stdout)
        self._transports.append(out_transport)
        err_transport, self._stderr = await loop.connect_read_pipe(
            lambda: LoggedLines(
                f"{self.name}[{process.pid}]", kept_lines=self._kept_stderr_lines, on_closed=self._stream_closed
            ),
            process.stderr,
        )
        self._transports.append(err_transport)
        # The reader given here stays empty: the class is used for its flow control.
        writing = EndingStream(asyncio.StreamReader(loop=loop), self._stream_closed)
        in_transport, _ = await loop.connect_write_pipe(lambda: writing, process.stdin)
        self._transports.append(in_transport)
        self.stdin = asyncio.StreamWriter(in_transport, writing, None, loop)

    async def wait(self) -> int:
        """Return the exit code once the child has ended and is reaped.

        Raises:
            RuntimeError: it was never started.
        """
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started")
        returncode = await self._process.wait()
        await self._streams_closed()
        return returncode

    async def terminate(self, grace_s: float = 1.0) -> int | None:
        """Ask the whole group to end (SIGTERM), kill it after `grace_s`; return the exit code, None if never started.

        A cancelled waiter kills at once.
        """
        if self._process is None:
            return None
        returncode = await _end(self._process, signal.SIGTERM, grace_s)
        await self._streams_closed()
        return returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the whole group; nothing happens when the child has ended."""
        if self._process is not None:
            self._process.signal_group(number)

    def kill(self) -> None:
        """End the whole group at once; reaping follows, and then `on_exit`."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Read and write no more. Otherwise the pipes close by themselves a moment after the child has ended."""
        self._close_streams()

    def _ended(self, returncode: int) -> None:
        loop = asyncio.get_running_loop()
        self.ran_s = loop.time() - self._started_at_s
        _close_fd(self._lifeline)
        # Output that is still in the pipes is read to its end; a stray heir of the pipe does not hold us up for ever.
        loop.call_later(_OUTPUT_AFTER_EXIT_S, self._close_streams)
        _log.info("%s[%s] %s after %.1f s", self.name, self.pid, describe_exit(returncode), self.ran_s)
        if self._on_exit is not None:
            self._on_exit(returncode)

    def _close_streams(self) -> None:
        if self._process is not None:
            close_streams(self._process, self._transports)

    def _stream_closed(self) -> None:
        self._open_streams -= 1
        if self._open_streams == 0:
            self._all_closed.set()

    async def _streams_closed(self) -> None:
        """Wait until all that was written has been read, which a stray heir of the pipes must not hold up for long."""
        if len(self._transports) == _STREAMS:
            await self._all_closed.wait()


async def run(
    argv: Sequence[str],
    *,
    input: bytes = b"",  # noqa: A002 - the name that subprocess.run has for it
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    priority_class: PriorityClass = PriorityClass.NORMAL,
    timeout_s: float | None = None,
    grace_s: float = 0.0,
    interrupt_first: bool = False,
    max_output_bytes: int = 64 << 20,
    guarded: bool = False,
) -> Completed:
    """Run a program to its end and return what it wrote. Cancelling the caller ends the whole group.

    Args:
        argv: Absolute path of the program, and its arguments.
        input: Written to its stdin, which is then closed.
        grace_s: How long the group has between the request to end (cancelled, out of time) and SIGKILL; 0: at once.
        interrupt_first: The request is SIGINT (pytest then reports what it has) instead of SIGTERM.
        max_output_bytes: Bound of stdout and of stderr each; the rest is dropped and `truncated` set.
        guarded: Its descendants are ended too when we die (costs 8 MiB while it runs).

    Raises:
        ProgramMissingError: it is not there or cannot be executed.
    """
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    exited: asyncio.Future[int] = loop.create_future()
    process, lifeline = _launch(argv, exited.set_result, priority_class, cwd, env, subprocess.PIPE, guarded)
    request = signal.SIGINT if interrupt_first and sys.platform != "win32" else signal.SIGTERM
    transports: list[asyncio.BaseTransport] = []
    timed_out = False
    try:
        out_transport, out = await loop.connect_read_pipe(lambda: GatheredBytes(max_output_bytes), process.stdout)
        transports.append(out_transport)
        err_transport, err = await loop.connect_read_pipe(lambda: GatheredBytes(max_output_bytes), process.stderr)
        transports.append(err_transport)
        in_transport, _ = await loop.connect_write_pipe(asyncio.Protocol, process.stdin)
        transports.append(in_transport)
        in_transport.write(input)
        in_transport.write_eof()
        await asyncio.wait([exited], timeout=timeout_s)
        if process.returncode is None:
            timed_out = True
            await _end(process, request, grace_s)
        await asyncio.wait([out.closed, err.closed], timeout=_OUTPUT_AFTER_EXIT_S)
        return Completed(
            argv=tuple(argv),
            returncode=await process.wait(),
            stdout=bytes(out.data),
            stderr=bytes(err.data),
            timed_out=timed_out,
            truncated=out.truncated or err.truncated,
            ran_s=loop.time() - began_s,
        )
    finally:
        if process.returncode is None:
            await _end(process, request, grace_s)
        _close_fd(lifeline)
        close_streams(process, transports)


def _launch(
    argv: Sequence[str],
    on_exit: Callable[[int], None],
    priority_class: PriorityClass,
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
    pipe: int,
    guarded: bool,
) -> tuple[Process, int]:
    """Return the started process and our end of its lifeline (-1: it has none)."""
    program = argv[0]
    if not os.path.isabs(program):
        raise ProgramMissingError(program, "the path must be absolute")
    if not os.access(program, os.X_OK) or os.path.isdir(program):
        raise ProgramMissingError(program, "there is no such executable file")
    if cwd is not None and not os.path.isdir(cwd):
        raise ProgramMissingError(program, f"its working directory {os.fspath(cwd)!r} does not exist")
    inherited, ours = os.pipe() if guarded and sys.platform != "win32" else (-1, -1)
    try:
        process = Process(
            tied_to_us(argv, priority_class, inherited),
            on_exit=on_exit,
            priority_class=priority_class,
            cwd=cwd,
            env=clean_environment() if env is None else env,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            pass_fds=() if inherited < 0 else (inherited,),
        )
    except OSError as error:
        _close_fd(ours)
        raise ProgramMissingError(program, str(error)) from error
    finally:
        _close_fd(inherited)
    return process, ours


async def _end(process: Process, request: int, grace_s: float) -> int:
    """Ask, wait for `grace_s`, kill, reap. Cancelled while it waits, it kills at once."""
    try:
        if grace_s > 0:
            process.signal_group(request)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    return await process.wait()
    finally:
        process.kill()
    return await process.wait()


def _close_fd(fd: int) -> None:
    if fd >= 0:
        os.close(fd)
