"""What survival is tried on: a small project, a server that is not held back by other programs, and counts of both."""

import asyncio
import contextlib
import random
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from tests.lsp.wire import Wire
from tests.soak import workspace

MODULES = 60
# However busy others keep the machine that tests run on, background work goes on.
SETTINGS = {"scheduler": {"cpuHighPercent": 100, "cpuLowPercent": 99, "onBattery": "ignore"}}


def project(home: Path, modules: int = MODULES) -> Path:
    """Make the project; return its root."""
    root = home / "work"
    workspace.make(root, random.Random(1), modules)
    return root


async def begin(wire: Wire, root: Path | None, *, cache: Path | None = None, **more: Any) -> None:
    options: dict[str, Any] = {"settings": SETTINGS}
    if cache is not None:
        options["cacheDir"] = str(cache)
    await wire.initialize(root, initializationOptions=options, **more)


async def snapshot(wire: Wire) -> Mapping[str, Any]:
    found: Mapping[str, Any] = await wire.ask("headway/snapshot", {})
    return found


async def indexed(wire: Wire) -> Mapping[str, Any]:
    """Wait until the index is complete and nothing runs; return the snapshot."""
    while True:
        found = await snapshot(wire)
        quiet = not any(level["queued"] or level["running"] for level in found["queues"].values())
        if found["index"]["state"] in ("complete", "off") and quiet:
            return found
        await news(wire, len(wire.seen))


async def news(wire: Wire, known: int) -> None:
    """Wait until more than so many messages have come."""
    await wire.until(lambda: len(wire.seen) > known)


def family(wire: Wire) -> list[psutil.Process]:
    return psutil.Process(wire.process.pid).children(recursive=True)


def called(processes: list[psutil.Process], word: str) -> list[psutil.Process]:
    """Return those whose command line has this word."""
    found = []
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if word in " ".join(process.cmdline()):
                found.append(process)
    return found


async def gone(processes: list[psutil.Process]) -> None:
    _, alive = await asyncio.to_thread(psutil.wait_procs, processes, 20)
    assert alive == []


def stored(cache: Path) -> tuple[list[Any], int]:
    """Return the files of the only index below a cache directory with their digests, and how many chunks there are."""
    (path,) = cache.rglob("index.sqlite")
    db = sqlite3.connect(path)
    try:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        files = db.execute("SELECT path, digest FROM files ORDER BY path").fetchall()
        return files, db.execute("SELECT count(*) FROM chunks").fetchone()[0]
    finally:
        db.close()
