"""What probe tasks do, apart from waiting: known amounts of work. Runs in worker processes and threads.

Kept apart from `probing` so that a worker process imports next to nothing for it.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time

from headway.scheduler.context import current_step

_CHUNK = b"\0" * 65_536
_PAGE_BYTES = 4096
_MIB = 2**20


def burn(duration_s: float) -> int:
    """Keep one core busy for about `duration_s`, or until told to stop; return the chunks hashed.

    Hashing a large buffer does not hold the interpreter lock, so a thread that does this leaves the loop alone.
    """
    step = current_step()
    until = time.monotonic() + duration_s
    chunks = 0
    while time.monotonic() < until and not step.cancelled():
        hashlib.sha256(_CHUNK)
        chunks += 1
    return chunks


def hang() -> None:
    """Never end, and ignore every polite request to."""
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, signal.SIG_IGN)
    while True:
        time.sleep(3600)


def fill_memory(size_mb: float, duration_s: float) -> int:
    """Allocate `size_mb` MiB, touch every page, hold it for `duration_s` or until told to stop; return the bytes."""
    block = bytearray(int(size_mb * _MIB))
    for offset in range(0, len(block), _PAGE_BYTES):
        block[offset] = 1
    step = current_step()
    until = time.monotonic() + duration_s
    while time.monotonic() < until and not step.cancelled():
        time.sleep(0.005)
    return len(block)


def exit_worker() -> None:
    """End the worker process that runs this, without a word."""
    os._exit(7)
