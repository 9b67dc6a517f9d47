"""How soon a changed file is found, over LSP: from its event to the answer that holds the new name.

Once behind a start in a folder that has not changed, which needs no worker, and then as a person saves.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from headway.demo import project
from tests.bench.frame import Figure
from tests.lsp.wire import Wire, server

STARTS = 5
CHANGES = 20
BETWEEN_SAVES_S = 0.6  # as a person would, and unlike a build
BETWEEN_LOOKS_S = 0.01
AFTER_START_S = 6.0  # what is kept ready is there by then
LIMIT_S = 600.0
_WATCHES = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
_CREATED, _CHANGED = 1, 2


def bench() -> Iterator[Figure]:
    """The first change behind a start, and one save after the other."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder).resolve()
        root = home / "w"
        project.copy(project.fetch(project.cache_folder()), root)
        firsts, others = [], []
        asyncio.run(_served(home, root, "built", 1))
        for number in range(STARTS):
            asyncio.run(_served(home, root, "unchanged", 0))  # after which the next one has nothing to do for a worker
            first, *rest = asyncio.run(_served(home, root, f"start{number}", CHANGES if number == 0 else 1))
            firsts.append(first)
            others += rest
    yield Figure(name="first change after a start, p50", value=statistics.median(firsts), unit="s", target=0.3)
    yield Figure(name="first change after a start, slowest", value=max(firsts), unit="s")
    yield Figure(name="a changed file is searchable p50", value=statistics.median(others), unit="s", target=0.3)
    yield Figure(name="a changed file is searchable, slowest", value=max(others), unit="s")


async def _served(home: Path, root: Path, name: str, changes: int) -> list[float]:
    async with asyncio.timeout(LIMIT_S), server(home, probes=False) as wire:
        # However busy the machine, what is measured can begin: background work is not held back.
        settings = {"scheduler": {"cpuHighPercent": 100, "cpuLowPercent": 99}}
        options = {"cacheDir": str(home / "cache"), "settings": settings}
        await wire.initialize(root, capabilities=_WATCHES, initializationOptions=options)
        await _until(wire, "headway/snapshot", {}, lambda found: found["index"]["state"] == "complete")
        if changes:
            await asyncio.sleep(AFTER_START_S)
        taken_s = []
        for number in range(changes):
            taken_s.append(await _found(wire, root / "freshly_made.py", f"quite_new_{name}_{number}"))
            await asyncio.sleep(BETWEEN_SAVES_S)
        await wire.exit()
    return taken_s


async def _found(wire: Wire, path: Path, name: str) -> float:
    change = {"uri": path.as_uri(), "type": _saved(path, name)}
    began_s = time.perf_counter()
    wire.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
    await _until(wire, "workspace/symbol", {"query": name}, lambda found: name in {one["name"] for one in found})
    return time.perf_counter() - began_s


def _saved(path: Path, name: str) -> int:
    """Write a file that defines a function of this name; return what an editor would say happened to it."""
    kind = _CHANGED if path.exists() else _CREATED
    path.write_text(f"def {name}():\n    pass\n")
    return kind


async def _until(wire: Wire, method: str, params: object, fits: Callable[[Any], bool]) -> None:
    # Nothing tells when a name is found but asking for it; what never comes ends at the limit.
    for _ in range(int(LIMIT_S / BETWEEN_LOOKS_S)):
        if fits(await wire.ask(method, params)):
            return
        await asyncio.sleep(BETWEEN_LOOKS_S)
