"""How well code is found by what it does: the first sentence of a docstring asks, and docstrings are out of the index.

The hard half are questions without a word in common with the name that is looked for. Beside names, words and meaning
as the server fuses them stand a plain FTS5 table over the same definitions, and ripgrep where it is installed: places
with most of the question's words first.

With HEADWAY_EMBEDDINGS_URL, and HEADWAY_EMBEDDINGS_MODEL, meaning takes part. HEADWAY_QUALITY_PARTS narrows django to
some folders, comma-separated, and HEADWAY_QUALITY_OWN_PARTS this repository (Python and TypeScript), so that a small
model is done with them in minutes; HEADWAY_QUALITY_CACHE keeps vectors.
"""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import os
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from headway.demo import project
from headway.features.search import Hit
from headway.session.meaning import Meaning
from headway.session.searching import Searching, SearchQuery
from headway.settings import EmbeddingsSettings
from headway.workspace.index import Definition, index_text
from headway.workspace.words import query_words, split_identifier
from tests.bench.frame import Figure
from tests.session.test_indexing import Workspace

QUESTIONS = 150  # of each half, at most
LEAST_WORDS = 4
BEST = 10
LIMIT_S = 6 * 3600.0
ROOT = Path(__file__).resolve().parent.parent.parent
# Comments that say what follows, in languages whose docstrings are such.
_COMMENT = re.compile(r"/\*\*.*?\*/|^[ \t]*//[^\n]*", re.DOTALL | re.MULTILINE)
_CODE = frozenset({".py", ".ts", ".tsx", ".js", ".mjs", ".go", ".rs", ".java"})


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and where the answer is."""

    text: str
    path: str
    name: str
    container: str
    is_hard: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A definition, as the contestants see it."""

    path: str
    definition: Definition
    text: str  # without docstrings

    def answers(self, question: Question) -> bool:
        """Whether this is what was looked for."""
        found = (self.path, self.definition.name, self.definition.container)
        return found == (question.path, question.name, question.container)


def bench() -> Iterator[Figure]:
    """recall@10 and MRR of each way to search, on two code bases."""
    with tempfile.TemporaryDirectory(prefix="headway-quality-", ignore_cleanup_errors=True) as folder:
        django = project.fetch(project.cache_folder())
        parts = _parts("HEADWAY_QUALITY_PARTS", "")
        yield from _measured("django", django, parts, Path(folder) / "django")
        own = _parts("HEADWAY_QUALITY_OWN_PARTS", "server,client-vscode/src,tests")
        yield from _measured("headway", ROOT, own, Path(folder) / "headway")


def _parts(variable: str, otherwise: str) -> list[str]:
    return [part for part in os.environ.get(variable, otherwise).split(",") if part]


def _measured(name: str, source: Path, parts: Sequence[str], scratch: Path) -> Iterator[Figure]:
    questions, places = _corpus(source, parts, scratch / "w")
    yield Figure(name=f"{name}: definitions", value=len(places), unit="count", better="higher")
    ways = {"plain FTS5": _plain(places, questions)}
    if shutil.which("rg"):
        ways["ripgrep"] = [_grepped(scratch / "w", places, question) for question in questions]
    url = os.environ.get("HEADWAY_EMBEDDINGS_URL", "")
    ways["headway, names and words"] = asyncio.run(_ours(scratch, questions, ""))
    if url:
        ways["headway, meaning too"] = asyncio.run(_ours(scratch, questions, url))
    for is_hard in (False, True):
        half = "hard" if is_hard else "easy"
        chosen = [at for at, question in enumerate(questions) if question.is_hard is is_hard]
        yield Figure(name=f"{name}, {half}: questions", value=len(chosen), unit="count", better="higher")
        for way, ranks in ways.items():
            some = [ranks[at] for at in chosen]
            found = sum(rank is not None for rank in some) / max(1, len(some))
            mean = sum(1 / rank for rank in some if rank is not None) / max(1, len(some))
            yield Figure(name=f"{name}, {half}: {way}, recall@10", value=found, unit="share", better="higher")
            yield Figure(name=f"{name}, {half}: {way}, MRR", value=mean, unit="share", better="higher")


# ---- the set --------------------------------------------------------------------------------------------------------


def _corpus(source: Path, parts: Sequence[str], root: Path) -> tuple[list[Question], list[Place]]:
    """Copy code without docstrings; return questions by what they said, and all definitions that there are.

    Raises:
        SystemExit: a part holds no code, or nothing in any of them asks a question; figures would be 0 and say nothing.
    """
    asked: list[Question] = []
    places: list[Place] = []
    unused = dict.fromkeys(parts)
    for file in sorted(path for part in parts or ["."] for path in (source / part).rglob("*")):
        relative = file.relative_to(source).as_posix()
        if file.suffix not in _CODE or not file.is_file() or "/locale/" in relative or "node_modules" in relative:
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        bare = _without_docs(text) if file.suffix == ".py" else _COMMENT.sub(_blank, text)
        if bare is None:
            continue
        for part in [part for part in unused if file.is_relative_to(source / part)]:
            del unused[part]
        target = root / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(bare, encoding="utf-8")
        lines = bare.split("\n")
        for definition in index_text(relative, bare).definitions[1:]:
            body = "\n".join(lines[definition.line : definition.end_line + 1])
            places.append(Place(relative, definition, body))
        asked += _questions(relative, text)
    there = {(place.path, place.definition.name, place.definition.container) for place in places}
    asked = [question for question in asked if (question.path, question.name, question.container) in there]
    if unused or not asked:
        lacking = f"no code in {', '.join(unused)}" if unused else "no docstring or comment that asks a question"
        raise SystemExit(
            f"{source} holds {lacking}: name folders below it in HEADWAY_QUALITY_PARTS (django) or "
            "HEADWAY_QUALITY_OWN_PARTS (this repository)"
        )
    draw = random.Random(1)
    halves = [[question for question in asked if question.is_hard is hard] for hard in (False, True)]
    return [question for half in halves for question in draw.sample(half, min(QUESTIONS, len(half)))], places


def _questions(path: str, text: str) -> Iterator[Question]:
    for definition in index_text(path, text).definitions[1:]:
        sentence = re.split(r"(?<=[.!?])\s|\n\s*\n", definition.doc.strip(), maxsplit=1)[0]
        sentence = " ".join(sentence.split())
        words = query_words(sentence)
        if len(words) < LEAST_WORDS or definition.name.startswith("test"):
            continue
        named = {_stem(part) for part in split_identifier(definition.name)}
        is_hard = named.isdisjoint(map(_stem, words))
        yield Question(sentence, path, definition.name, definition.container, is_hard)


def _stem(word: str) -> str:
    """Return what forms of a word have in common, roughly."""
    return re.sub(r"(ations?|ings?|ions?|ies|ers?|ed|es|s|e|y)$", "", word)[:6]


def _without_docs(text: str) -> str | None:
    """Return Python without docstrings, each line where it was; None where it cannot be parsed."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    lines = text.split("\n")
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            end = first.end_lineno or first.lineno
            lines[first.lineno - 1 : end] = [""] * (end - first.lineno + 1)
            if len(node.body) == 1 and not isinstance(node, ast.Module):
                lines[first.lineno - 1] = " " * first.col_offset + "pass"
    return "\n".join(lines)


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


# ---- the ways to search ---------------------------------------------------------------------------------------------


async def _ours(scratch: Path, questions: Sequence[Question], url: str) -> list[int | None]:
    ws = Workspace(scratch)
    if url:
        model = os.environ.get("HEADWAY_EMBEDDINGS_MODEL", "")
        settings = EmbeddingsSettings(url=url, model=model, query_timeout_ms=10_000)
        ws.settings = dataclasses.replace(ws.settings, embeddings=settings)
        if kept := os.environ.get("HEADWAY_QUALITY_CACHE"):
            ws.cache_dir = Path(kept)
    async with asyncio.timeout(LIMIT_S), ws.serving() as indexing:
        await ws.complete()
        meaning = Meaning(ws, indexing, rests_s=0.1)
        await meaning.start()
        told = -1.0
        while url and meaning.standing.state != "complete":
            await asyncio.sleep(0.5)
            meaning.index_changed()
            if meaning.standing.coverage >= told + 0.1:
                told = meaning.standing.coverage
                print(f"  {told:.0%} have vectors", flush=True)
        searching = Searching(ws, indexing, meaning if url else None)
        ranks = []
        is_heard = not url
        for question in questions:
            answer = await searching.search(SearchQuery(text=question.text, limit=BEST))
            ranks.append(next((n for n, hit in enumerate(answer.hits, 1) if _is(hit, ws.root, question)), None))
            is_heard = is_heard or any(hit.why != "lexical" for hit in answer.hits)
        await meaning.close()
    if not is_heard:
        raise RuntimeError("no search heard anything of meaning: see the log, and try on a quieter machine")
    return ranks


def _is(hit: Hit, root: Path, question: Question) -> bool:
    path = Path(hit.path).relative_to(root).as_posix()
    return (path, hit.name, hit.container) == (question.path, question.name, question.container)


def _plain(places: Sequence[Place], questions: Sequence[Question]) -> list[int | None]:
    """FTS5 as it comes: each definition's path, name and text, and the question's words joined by OR."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(path, name, text)")
        db.executemany("INSERT INTO t VALUES (?, ?, ?)", ((p.path, p.definition.name, p.text) for p in places))
        ranks = []
        for question in questions:
            terms = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
            rows = db.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (terms, BEST)).fetchall()
            ranks.append(_rank([places[rowid - 1] for (rowid,) in rows], question))
    return ranks


def _grepped(root: Path, places: Sequence[Place], question: Question) -> int | None:
    """Search the question's words as a person would, and read the places where most of them stand."""
    words = query_words(question.text)
    command = ["rg", "--ignore-case", "--line-number", "--no-heading", "--only-matching", "--no-ignore"]
    for word in words:
        command += ["-e", re.escape(word)]
    run = subprocess.run([*command, "."], cwd=root, capture_output=True, text=True, errors="replace", check=False)
    by_line: dict[tuple[str, int], set[str]] = {}
    for line in run.stdout.splitlines():
        path, number, word = line.split(":", 2)
        by_line.setdefault((path.removeprefix("./"), int(number) - 1), set()).add(word.lower())
    by_file: dict[str, list[tuple[int, set[str]]]] = {}
    for (path, at), found in by_line.items():
        by_file.setdefault(path, []).append((at, found))
    scored = []
    for order, place in enumerate(places):
        low, high = place.definition.line, place.definition.end_line
        held = set().union(*(found for at, found in by_file.get(place.path, ()) if low <= at <= high))
        if held:
            scored.append((-len(held), high - low, order))
    return _rank([places[order] for _, _, order in sorted(scored)[:BEST]], question)


def _rank(found: Sequence[Place], question: Question) -> int | None:
    return next((rank for rank, place in enumerate(found, 1) if place.answers(question)), None)
