"""Where log lines go: to standard error or a file, without ever making the server wait for who reads them.

Descriptors 1 and 2 of the process become a pipe. A thread empties it all the time and passes on what the real standard
error takes at once; what it does not take is dropped and counted. So nobody who writes there can be blocked: no logger,
no warning, no native library, no child.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import sys
import threading
import time
from pathlib import Path

# A pipe that polls as writable takes this much without blocking (POSIX: PIPE_BUF is at least 512, here it is 4096).
_PIECE_BYTES = 4096
_MAX_FILE_BYTES = 10 * 2**20
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class LogPump:
    """The thread between descriptors 1 and 2 and the real standard error or log file."""

    def __init__(self, target_fd: int, *, is_file: bool) -> None:
        self._target_fd = target_fd
        self._is_file = is_file
        self._read_fd, self._write_fd = os.pipe()
        self._dropped_bytes = 0
        os.dup2(self._write_fd, 2)
        os.dup2(self._write_fd, 1)
        os.close(self._write_fd)
        self._thread = threading.Thread(target=self._run, name="headway-log", daemon=True)
        self._thread.start()

    def close(self, timeout_s: float = 0.5) -> None:
        """Pass on what was written so far, as far as it is taken within the time."""
        sys.stderr.flush()
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        os.close(nothing)
        # Children may hold the pipe open, so its end is not waited for.
        until = time.monotonic() + timeout_s
        while select.select([self._read_fd], [], [], 0)[0] and time.monotonic() < until:
            self._thread.join(0.01)
            if not self._thread.is_alive():
                break

    def _run(self) -> None:
        while data := os.read(self._read_fd, 65_536):
            self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        if self._dropped_bytes and self._takes_more():
            note = f"headway: {self._dropped_bytes} bytes of log were dropped, as nobody read them\n"
            self._dropped_bytes = 0
            self._write(note.encode())
        for start in range(0, len(data), _PIECE_BYTES):
            piece = data[start : start + _PIECE_BYTES]
            if not (self._takes_more() and self._write(piece)):
                self._dropped_bytes += len(piece)

    def _takes_more(self) -> bool:
        if self._is_file:
            return True
        try:
            return bool(select.select([], [self._target_fd], [], 0)[1])
        except (OSError, ValueError):
            return False

    def _write(self, piece: bytes) -> bool:
        try:
            if self._is_file and os.lseek(self._target_fd, 0, os.SEEK_CUR) > _MAX_FILE_BYTES:
                # The file is bounded: it starts again, and what is lost is older than ten megabytes of log.
                os.ftruncate(self._target_fd, 0)
                os.lseek(self._target_fd, 0, os.SEEK_SET)
            while piece:
                piece = piece[os.write(self._target_fd, piece) :]
        except OSError:
            return False
        return True


def start(*, level: str, log_file: Path | None) -> LogPump:
    """Set up logging for the process; a log file that cannot be opened is said on standard error, which serves then."""
    target_fd, is_file = os.dup(2), False
    if log_file is not None:
        try:
            log_file.parent.mkdir(parents=True, exist_ok=True)
            target_fd, is_file = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), True
        except OSError as error:
            with contextlib.suppress(OSError):
                os.write(target_fd, f"headway: cannot log to {log_file}: {error.strerror}\n".encode())
    pump = LogPump(target_fd, is_file=is_file)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_FORMAT))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    logging.captureWarnings(True)
    return pump


def set_level(level: str) -> None:
    """Log from this level on (a name of `logging` in any case)."""
    logging.getLogger().setLevel(level.upper())
