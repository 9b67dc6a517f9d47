"""Search over 100,000 passages, end to end over LSP: by names and words, and by meaning with a real endpoint beside it.

The passages' vectors are random and put into the store directly: how long a search takes does not depend on what they
mean. The endpoint answers at once; what a model takes for a query comes on top.
"""

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headway.engines.embedder import SENTINEL, gather, lacking, settle
from headway.engines.embeddings import EndpointConfig
from headway.session.meaning import vectors_of_model
from headway.workspace.indexer import index_files
from headway.workspace.opened import FolderSpec, close_stores
from headway.workspace.placing import place
from headway.workspace.planning import plan
from headway.workspace.vector_store import VectorStore, forget_open
from headway.workspace.words import split_identifier
from tests.bench.frame import Figure
from tests.endpoint import Peer, endpoint
from tests.lsp.wire import Wire, server

FILES = 1_000
IN_A_FILE = 99  # and the file itself
QUERIES = 200
DIMENSIONS = 384
LIMIT_S = 900.0


def bench() -> Iterator[Figure]:
    """p50 and p95 of searches, and the room that a vector takes."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-", ignore_cleanup_errors=True) as folder, endpoint() as peer:
        peer.dimensions = DIMENSIONS
        home = Path(folder).resolve()
        root = home / "w"
        draw = random.Random(1)
        words = _vocabulary()
        _write(root, words, draw)
        spec = _indexed(home, root)
        queries = [" ".join(draw.sample(words, 3)) for _ in range(QUERIES)]
        yield from _figures("by names and words", asyncio.run(_measured(home, root, None, queries)))
        yield from _filled(home, spec, peer)
        yield from _figures("by meaning too", asyncio.run(_measured(home, root, peer, queries)))


def _vocabulary() -> list[str]:
    modules = [sys.modules[name] for name in sorted(sys.modules) if name.partition(".")[0] in sys.stdlib_module_names]
    names = {name for module in modules for name in vars(module)}
    words = {word for name in names for word in split_identifier(name)}
    return sorted(word for word in words if len(word) > 2 and word.isalpha())


def _write(root: Path, words: list[str], draw: random.Random) -> None:
    for number in range(FILES):
        path = root / f"pkg{number // 50}" / f"mod{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        functions = []
        for _ in range(IN_A_FILE):
            name, called = "_".join(draw.sample(words, 3)), "_".join(draw.sample(words, 2))
            said = " ".join(draw.sample(words, 6)).capitalize()
            functions.append(
                f'def {name}(value):\n    """{said}."""\n    return {called}(value, {draw.choice(words)}=1)\n'
            )
        path.write_text("\n\n".join(functions))


def _indexed(home: Path, root: Path) -> FolderSpec:
    """Index the folder by the steps that workers run, at this process's priority."""
    placed = place(str(home / "cache"), str(root), owner_pid=os.getpid())
    if placed.path is None:
        raise RuntimeError(f"there is no place for the index: {placed.message}")
    spec = FolderSpec(root=str(root), database=placed.path)
    for batch in plan(spec, None, (), ()).batches:
        index_files(spec, batch)
    return spec


def _filled(home: Path, spec: FolderSpec, peer: Peer) -> Iterator[Figure]:
    """Give every passage a random vector, by the steps that workers run."""
    config = EndpointConfig(url=peer.url, model="random")
    vectors = vectors_of_model(home / "cache", config, "")
    draw = random.Random(2)
    with VectorStore(vectors) as store:
        store.is_of_same_model(peer.vector(SENTINEL))
        for batch in lacking(spec, vectors).batches:
            gathered = gather(spec, vectors, config, "", 1_000, batch)
            store.put({key: draw.randbytes(DIMENSIONS) for request in gathered.requests for key in request.keys})
            settle(vectors, gathered.contents)
        count, size = store.stats()
    forget_open(vectors.path)
    close_stores()
    yield Figure(name="passages with vectors", value=count, unit="count", better="higher")
    yield Figure(name="bytes on disk for a passage's vector", value=size / count, unit="count")


async def _measured(home: Path, root: Path, peer: Peer | None, queries: list[str]) -> list[float]:
    embeddings = {} if peer is None else {"url": peer.url, "model": "random", "queryTimeoutMs": 5_000}
    # However busy the machine, what is measured can begin: background work is not held back.
    settings = {"embeddings": embeddings, "scheduler": {"cpuHighPercent": 100, "cpuLowPercent": 99}}
    options = {"cacheDir": str(home / "cache"), "trusted": True, "settings": settings}
    state = "off" if peer is None else "complete"
    async with asyncio.timeout(LIMIT_S), server(home, probes=False) as wire:
        await wire.initialize(root, initializationOptions=options)
        await _until(wire, state)
        for query in queries[:20]:
            await wire.ask("headway/search", {"query": f"{query} first"})
        taken = [await _search(wire, query, state) for query in queries]
        await wire.exit()
    return taken


async def _until(wire: Wire, state: str) -> None:
    # How search stands is told by searching, and by nothing else.
    for _ in range(int(LIMIT_S / 0.2)):
        if _stands(await wire.ask("headway/search", {"query": "warm up"}), state):
            return
        await asyncio.sleep(0.2)


def _stands(answer: Any, state: str) -> bool:
    return bool(answer["state"] == "complete" and answer["meaning"]["state"] == state)


async def _search(wire: Wire, query: str, state: str) -> float:
    began_s = time.perf_counter()
    answer = await wire.ask("headway/search", {"query": query})
    taken_s = time.perf_counter() - began_s
    # Now and then the folder is compared with the disk; that is part of what a search meets.
    if not answer["hits"] or answer["meaning"]["state"] != state:
        raise RuntimeError(f"{query!r} was not answered by all that is there: {str(answer)[:300]}")
    if state == "complete" and not any(hit["why"] != "lexical" for hit in answer["hits"]):
        raise RuntimeError(f"{query!r} was not looked for by meaning")
    return taken_s


def _figures(what: str, taken_s: list[float]) -> Iterator[Figure]:
    yield Figure(name=f"search {what} p50", value=statistics.median(taken_s), unit="s")
    yield Figure(name=f"search {what} p95", value=statistics.quantiles(taken_s, n=20)[-1], unit="s")
    yield Figure(name=f"search {what}, slowest", value=max(taken_s), unit="s")
