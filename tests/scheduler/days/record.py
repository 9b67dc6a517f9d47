"""Records a day: a real server over a copy of a real project, and a person who works in it. Made the files beside this.

`python -m tests.scheduler.days.record PROJECT OUT [--seconds 150] [--seed 1] [--tests FOLDER]` copies PROJECT, puts it
under git, opens it cold, and then types, looks things up, searches, saves, switches branches and runs tests, in bursts
and pauses of a person in a hurry, until the time is over. What work that made is in OUT; what was typed is not.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from tests.lsp.wire import AnswerError, Wire, server

_GIT = ("git", "-c", "user.name=day", "-c", "user.email=day@localhost", "-c", "commit.gpgsign=false")
_CHANGED_ON_BRANCH = 120


class Day:
    """A person at work: one document in front, everything else by what they feel like."""

    def __init__(self, wire: Wire, root: Path, seed: int, tests: str | None) -> None:
        self._wire = wire
        self._root = root
        self._draw = random.Random(seed)
        self._tests = tests
        self._files = sorted(path for path in root.rglob("*.py") if 2_000 < path.stat().st_size < 40_000)
        self._versions: dict[str, int] = {}
        self._open: dict[str, list[str]] = {}
        self._asked: list[asyncio.Future[Any]] = []
        self._branch = "main"
        self.done = 0

    async def work(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + seconds
        habits: Sequence[tuple[float, Callable[[str], Awaitable[None]]]] = (
            (10, self._type), (3, self._look_up), (2, self._search), (2, self._save), (0.5, self._run_tests),
            (0.35, self._switch_branch), (0.25, self._analyse), (1, self._reread),
        )  # fmt: skip
        await self._run_tests("")
        while loop.time() < until_s:
            uri = self._in_front()
            habit = self._draw.choices([act for _, act in habits], [often for often, _ in habits])[0]
            await habit(uri)
            await asyncio.sleep(self._draw.expovariate(1 / 0.9))
        await asyncio.wait(self._asked, timeout=20)
        for future in self._asked:
            if future.done() and (error := future.exception()) is not None:
                print(f"answered with an error: {error}", file=sys.stderr)
        self.done = sum(future.done() and future.exception() is None for future in self._asked)

    def _in_front(self) -> str:
        if self._open and self._draw.random() < 0.8:
            return self._draw.choice(list(self._open)[-3:])
        path = self._draw.choice(self._files)
        uri = path.as_uri()
        if uri not in self._open:
            text = path.read_text(encoding="utf-8")
            self._open[uri] = text.split("\n")
            self._versions[uri] = 1
            item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
            self._wire.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def _ask(self, method: str, params: object) -> int:
        message_id, answer = self._wire.request(method, params)
        self._asked.append(answer)
        return message_id

    def _at(self, uri: str, line: int, character: int) -> dict[str, Any]:
        return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}

    async def _type(self, uri: str) -> None:
        """A line that stands elsewhere in the file, key by key; each key asks, and gives the one before it up."""
        lines = self._open[uri]
        text = self._draw.choice([found for found in lines if len(found.strip()) > 12] or ["value = self.name"]).strip()
        at = self._draw.randrange(len(lines))
        self._edit(uri, at, 0, "\n")
        lines.insert(at, "")
        before: int | None = None
        for column, letter in enumerate(text[:40]):
            self._edit(uri, at, column, letter)
            lines[at] += letter
            if letter.isalnum() or letter in "._":
                if before is not None and self._draw.random() < 0.3:
                    self._wire.notify("$/cancelRequest", {"id": before})
                before = self._ask("textDocument/completion", self._at(uri, at, column + 1))
            elif letter == "(":
                self._ask("textDocument/signatureHelp", self._at(uri, at, column + 1))
            await asyncio.sleep(self._draw.uniform(0.08, 0.22))

    def _edit(self, uri: str, line: int, column: int, text: str) -> None:
        self._versions[uri] += 1
        at = {"line": line, "character": column}
        self._wire.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": self._versions[uri]},
                "contentChanges": [{"range": {"start": at, "end": at}, "text": text}],
            },
        )

    async def _look_up(self, uri: str) -> None:
        line = self._draw.randrange(len(self._open[uri]))
        column = len(self._open[uri][line]) // 2
        for method in self._draw.sample(("hover", "definition", "documentHighlight"), 2):
            self._ask(f"textDocument/{method}", self._at(uri, line, column))
            await asyncio.sleep(0.3)
        if self._draw.random() < 0.3:
            params = {**self._at(uri, line, column), "context": {"includeDeclaration": True}}
            asked = self._ask("textDocument/references", params)
            if self._draw.random() < 0.3:
                await asyncio.sleep(0.4)
                self._wire.notify("$/cancelRequest", {"id": asked})

    async def _search(self, uri: str) -> None:
        """A query that grows while it is typed, as in a picker."""
        words = [word for line in self._open[uri] for word in line.split() if word.isidentifier() and len(word) > 5]
        query = self._draw.choice(words or ["settings"])
        for end in range(3, len(query) + 1, 2):
            self._ask("workspace/symbol", {"query": query[:end]})
            await asyncio.sleep(0.2)
        self._ask("headway/search", {"query": query})

    async def _reread(self, uri: str) -> None:
        for method in ("documentSymbol", "foldingRange"):
            self._ask(f"textDocument/{method}", {"textDocument": {"uri": uri}})

    async def _save(self, uri: str) -> None:
        path = write(uri, self._open[uri])
        self._wire.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        self._changed([(path, 2)])

    def _changed(self, files: Sequence[tuple[Path, int]]) -> None:
        changes = [{"uri": path.as_uri(), "type": kind} for path, kind in files]
        self._wire.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    async def _run_tests(self, uri: str) -> None:
        if self._tests is None:
            return
        asked = self._ask("headway/submit", {"type": "tests", "arguments": {"targets": [self._tests]}})
        if uri and self._draw.random() < 0.2:
            await asyncio.sleep(1.5)
            self._wire.notify("$/cancelRequest", {"id": asked})

    async def _analyse(self, uri: str) -> None:
        self._ask("headway/submit", {"type": "analysis", "arguments": {}})

    async def _switch_branch(self, uri: str) -> None:
        git(self._root, "stash", "-q")
        self._branch = "other" if self._branch == "main" else "main"
        git(self._root, "checkout", "-q", self._branch)
        self._changed([(path, 2) for path in changed_on_branch(self._root)])


def write(uri: str, lines: Sequence[str]) -> Path:
    path = Path(uri.removeprefix("file://"))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def git(root: Path, *arguments: str) -> None:
    subprocess.run([*_GIT, *arguments], cwd=root, check=True, capture_output=True)


def changed_on_branch(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.py") if path.stat().st_size > 500)[::7][:_CHANGED_ON_BRANCH]


def copy_of(project: Path, into: Path) -> Path:
    """Copy a project and give it two branches that differ in many files."""
    root = into / project.name
    shutil.copytree(project, root, ignore=shutil.ignore_patterns(".git", "__pycache__", "node_modules", ".venv"))
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "as it was")
    git(root, "checkout", "-q", "-b", "other")
    for path in changed_on_branch(root):
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n\ndef on_other_branch_{path.stem.strip('_')}() -> int:\n    return 1\n")
    git(root, "commit", "-q", "-a", "-m", "as it may become")
    git(root, "checkout", "-q", "main")
    return root


async def record(project: Path, out: Path, seconds: float, seed: int, tests: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = copy_of(project, Path(folder))
        settings = {"tests": {"python": sys.executable}}
        options = {"trusted": True, "settings": settings}
        async with server(Path(folder), probes=False, env={"HEADWAY_RECORD_WORK": os.fspath(out)}) as wire:
            await wire.initialize(root, initializationOptions=options)
            day = Day(wire, root, seed, tests)
            try:
                await day.work(seconds)
            except AnswerError as error:
                print(f"an answer was an error: {error.message}", file=sys.stderr)
            print(f"{day.done} answers", file=sys.stderr)
            await wire.exit()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("project", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", help="what the test runs run, below the project")
    options = parser.parse_args()
    asyncio.run(record(options.project, options.out.resolve(), options.seconds, options.seed, options.tests))


if __name__ == "__main__":
    main()
