"""`headway index` and `headway search`: the workspace index without an editor, by the same rooms as with one."""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from headway.cli.kept_vectors import last_used
from headway.features.search import Hit
from headway.lsp.initialization import default_cache_dir
from headway.lsp.search_requests import KINDS
from headway.scheduler import Scheduler, SchedulerConfig
from headway.session.indexing import Indexing
from headway.session.meaning import Meaning
from headway.session.ports import Folder, MessageLevel
from headway.session.searching import SearchAnswer, Searching, SearchQuery
from headway.settings import EmbeddingsSettings, Settings
from headway.workspace.documents import Documents

_TOLD_EVERY_S = 0.2
_BAR_WIDTH = 30
# A person waits for it: it goes on, politely, however busy the machine is.
_CONFIG = SchedulerConfig(cpu_low=math.inf, cpu_high=math.inf, cpu_stalled_high=math.inf)


class _NoClient:
    """Stands where an editor would be: it watches nothing and hears messages on standard error."""

    pulls_diagnostics = True
    watches_files = False

    def publish(self, uri: str, version: int | None, findings: Sequence[object], text: object = None) -> None:
        """Show nothing: there is no document."""

    def refresh_diagnostics(self) -> None:
        """Refresh nothing, for the same reason."""

    def offer_keys(self, language: str, completion: Sequence[str], signatures: Sequence[str]) -> None:
        """Offer none, for the same reason."""

    def show(self, level: MessageLevel, text: str) -> None:
        _say(text)


class _Context:
    """The session of a single command: one folder, no documents, nothing of it executed."""

    def __init__(
        self, scheduler: Scheduler, root: Path, cache_dir: Path, embeddings: EmbeddingsSettings | None = None
    ) -> None:
        self.scheduler = scheduler
        self.client = _NoClient()
        self.documents = Documents()
        self.settings = Settings(embeddings=embeddings or EmbeddingsSettings())
        self.folders = (Folder(uri=root.as_uri(), name=root.name or str(root), path=root),)
        self.trusted = False
        self.cache_dir = cache_dir

    def degraded(self, source: str, message: str | None) -> None:
        if message is not None:
            _say(message)


def index(path: Path, cache_dir: Path | None = None) -> int:
    """Bring the index of a folder up to date and say what is in it. Return the exit code."""
    return asyncio.run(_indexed(path, cache_dir, None))


def search(
    query: SearchQuery, path: Path, cache_dir: Path | None = None, *, as_json: bool = False, by_meaning: bool = True
) -> int:
    """Bring the index of a folder up to date and write what answers a query. Return 1 where nothing does.

    Args:
        by_meaning: Where there are vectors, their endpoint is asked for the query's.
    """
    return asyncio.run(_indexed(path, cache_dir, query, as_json=as_json, by_meaning=by_meaning))


async def _indexed(
    path: Path,
    cache_dir: Path | None,
    query: SearchQuery | None,
    *,
    as_json: bool = False,
    by_meaning: bool = False,
) -> int:
    root = await asyncio.to_thread(path.resolve)
    if not await asyncio.to_thread(root.is_dir):
        _say(f"headway: {path} is no folder; name the folder of a project")
        return 2
    began_s = time.monotonic()
    news = asyncio.Event()
    cache_dir = cache_dir or default_cache_dir()
    vectors = await asyncio.to_thread(last_used, cache_dir) if by_meaning else None
    async with Scheduler(_CONFIG) as scheduler:
        indexing = Indexing(_Context(scheduler, root, cache_dir, vectors), on_change=news.set)
        meaning = None if vectors is None else Meaning(indexing.context, indexing, makes_vectors=False)
        await indexing.start()
        if meaning is not None:
            await meaning.start()
        try:
            if not await _finished(indexing, news):
                return 2  # What is wrong was said.
            figures = indexing.stats()
            if query is None:
                skipped = ", ".join(f"{count} {reason}" for reason, count in figures["skipped"].items())
                _write(
                    f"{root}: {figures['files']} files, {figures['symbols']} symbols, "
                    f"{figures['bytes'] / 2**20:.1f} MiB, {time.monotonic() - began_s:.1f} s"
                    + (f"; passed over: {skipped}" if skipped else "")
                )
                return 0
            answer = await Searching(indexing.context, indexing, meaning).search(query)
            if as_json:
                _write(_json(answer))
            else:
                for hit in answer.hits:
                    _write(_line(hit, root))
            return 0 if answer.hits else 1
        finally:
            if meaning is not None:
                await meaning.close()
            await indexing.close()


async def _finished(indexing: Indexing, news: asyncio.Event) -> bool:
    """Wait until the index is complete; False where it will not be."""
    told_s = 0.0
    shows = sys.stderr.isatty()
    while indexing.state != "complete":
        if indexing.has_given_up:
            return False
        if shows and time.monotonic() - told_s >= _TOLD_EVERY_S:
            told_s = time.monotonic()
            filled = int(indexing.coverage * _BAR_WIDTH)
            bar = "█" * filled + "░" * (_BAR_WIDTH - filled)
            sys.stderr.write(f"\rindexing {bar} {indexing.coverage:4.0%}  {indexing.stats()['files']} files ")
            sys.stderr.flush()
        news.clear()
        await news.wait()
    if shows:
        sys.stderr.write("\r\x1b[K")
    return True


def _line(hit: Hit, root: Path) -> str:
    first, *_ = hit.snippet.splitlines() or [hit.name]
    name = f"{hit.container}.{hit.name}" if hit.container else hit.name
    return f"{os.path.relpath(hit.path, root)}:{hit.selection_range.start.line + 1}: {name}  {first.strip()}"


def _json(answer: SearchAnswer) -> str:
    """Return an answer as in `headway/search`, with paths in the place of URIs and columns in code points."""
    hits = [
        {
            "path": hit.path,
            "range": asdict(hit.range),
            "selectionRange": asdict(hit.selection_range),
            "name": hit.name,
            "kind": KINDS[hit.kind - 1],
            "container": hit.container or None,
            "score": hit.score,
            "snippet": hit.snippet,
            "why": hit.why,
        }
        for hit in answer.hits
    ]
    return json.dumps({"hits": hits, "state": answer.state, "coverage": answer.coverage})


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
