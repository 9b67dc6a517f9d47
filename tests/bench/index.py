"""The index of django beside what it is made of: bare parsing of the same files, ctags, git status."""

import asyncio
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from headway.demo import project
from headway.scheduler.probe import usable_cores
from headway.workspace.grammars.extraction import parser_of
from headway.workspace.grammars.registry import grammar_for
from headway.workspace.index import language_of
from headway.workspace.listing import ListingOptions, from_walk
from tests.bench.frame import Figure
from tests.session.test_indexing import Workspace

REPEATS = 3
TREE_FILES = 10_000
CHANGES = 20
CHUNK = 40
BETWEEN_SAVES_S = 0.6  # as a person would, and unlike a build


def bench() -> Iterator[Figure]:
    """A cold index beside bare parsing, its size, a warm start beside `git status`, and one changed file."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder).resolve()
        root = scratch / "django" / "w"
        project.copy(project.fetch(project.cache_folder()), root)
        yield from _cold(root, scratch)
        yield from _changed(root.parent)
        yield from _warm(scratch / "tree")


def _cold(root: Path, scratch: Path) -> Iterator[Figure]:
    files = from_walk(str(root), ListingOptions()).files
    paths = [str(root / file.path) for file in files]
    size = sum(file.size_bytes for file in files)
    bare_s, cold_s, bare_cpu_s, cold_cpu_s, stored = [], [], [], [], 0
    for turn in range(REPEATS):
        taken_s, cpu_s = _spent(lambda: _parsed(paths))
        bare_s.append(taken_s)
        bare_cpu_s.append(cpu_s)
        shutil.rmtree(root.parent / "cache", ignore_errors=True)
        taken_s, cpu_s = _spent(lambda: asyncio.run(_indexed(root.parent)))
        cold_s.append(taken_s)
        cold_cpu_s.append(cpu_s)
        if turn == 0:
            stored = sum(file.stat().st_size for file in (root.parent / "cache").rglob("index.sqlite*"))
    yield Figure(name="bare parsing of django", value=statistics.median(bare_s), unit="s")
    yield Figure(name="cold index of django", value=statistics.median(cold_s), unit="s")
    ratio = statistics.median(bare / cold for bare, cold in zip(bare_s, cold_s, strict=True))
    yield Figure(name="cold index, share of the bare parse rate", value=ratio, unit="share", better="higher")
    ratio = statistics.median(bare / cold for bare, cold in zip(bare_cpu_s, cold_cpu_s, strict=True))
    yield Figure(name="the same by CPU time", value=ratio, unit="share", better="higher")
    yield Figure(name="index size, share of the indexed text", value=stored / size, unit="share")
    if ctags := shutil.which("ctags"):
        command = [ctags, "-R", "-f", str(scratch / "tags"), str(root)]
        yield Figure(
            name="ctags of django, one core", value=_spent(lambda: subprocess.run(command, check=True))[0], unit="s"
        )


def _spent(work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds, and seconds of CPU of this process and of those that it started and that have ended."""
    before = os.times()
    began_s = time.perf_counter()
    work()
    after = os.times()
    return time.perf_counter() - began_s, sum(after[:4]) - sum(before[:4])


def _parsed(paths: list[str]) -> None:
    chunks = [paths[at : at + CHUNK] for at in range(0, len(paths), CHUNK)]
    with ProcessPoolExecutor(len(usable_cores())) as pool:
        for _ in pool.map(_parse, chunks):
            pass


def _parse(paths: list[str]) -> None:
    for path in paths:
        data = Path(path).read_bytes()
        language = language_of(path) or ""
        if language == "python":
            parser_of("tree_sitter_python", "language").parse(data)
        elif (grammar := grammar_for(path, language, "")) is not None:
            parser_of(grammar.package, grammar.function).parse(data)


async def _indexed(folder: Path) -> None:
    workspace = Workspace(folder)
    async with workspace.serving():
        await workspace.complete()


def _changed(folder: Path) -> Iterator[Figure]:
    taken_s = asyncio.run(_searchable(folder))
    yield Figure(name="a changed file is searchable p50", value=statistics.median(taken_s), unit="s")
    yield Figure(name="a changed file is searchable, slowest", value=max(taken_s), unit="s")


async def _searchable(folder: Path) -> list[float]:
    workspace = Workspace(folder)
    taken = []
    async with workspace.serving():
        await workspace.complete()
        for number in range(CHANGES):
            name = f"quite_new_{number}"
            path = workspace.define(name, "freshly_made.py")
            began_s = time.perf_counter()
            workspace.changed(path)
            await workspace.until(lambda name=name: workspace.shown(name))  # type: ignore[misc]
            taken.append(time.perf_counter() - began_s)
            await workspace.complete()
            await asyncio.sleep(BETWEEN_SAVES_S)
    return taken


def _warm(folder: Path) -> Iterator[Figure]:
    root = folder / "w"
    for number in range(TREE_FILES):
        path = root / f"pkg{number // 100}" / f"mod{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"""Module {number}."""\n\n\ndef function_{number}(value):\n    return value + {number}\n')
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"], ["status", "--porcelain"]):
        subprocess.run([*git, *command], check=True, stdout=subprocess.DEVNULL)
    asyncio.run(_indexed(folder))
    status_s, warm_s = [], []
    for _ in range(REPEATS):
        status = [*git, "status", "--porcelain"]
        status_s.append(_spent(lambda status=status: subprocess.run(status, check=True))[0])  # type: ignore[misc]
        warm_s.append(_spent(lambda: asyncio.run(_indexed(folder)))[0])
    yield Figure(name="git status of 10,000 files", value=statistics.median(status_s), unit="s")
    yield Figure(name="warm start of 10,000 files", value=statistics.median(warm_s), unit="s")
    ratio = statistics.median(warm / status for warm, status in zip(warm_s, status_s, strict=True))
    yield Figure(name="warm start, multiple of git status", value=ratio, unit="count")
