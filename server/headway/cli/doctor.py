"""`headway doctor`: what is found, what is missing and how to mend it. Nothing of a workspace is executed."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Literal

from headway.engines.environment import own_program, workspace_environment
from headway.lsp.initialization import default_cache_dir
from headway.scheduler.probe import Probe
from headway.workspace.database import StoreError
from headway.workspace.index import GRAMMARS
from headway.workspace.listing import find_git, git_environment
from headway.workspace.placing import database_path
from headway.workspace.store import Store

Verdict = Literal["good", "poor", "missing"]

_PACKAGES: Final = ("psutil", "nvidia-ml-py", "tree-sitter", "pathspec", "msgspec")
_MEND_PACKAGES: Final = "install the server's packages again: python -m pip install 'headway[server]'"
_LEAST_FREE_BYTES: Final = 500 << 20
_PROGRAM_LIMIT_S: Final = 10.0
_MARKS: Final = {"good": "✓", "poor": "!", "missing": "✗"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at. `remedy` says what to do where it is not good."""

    name: str
    verdict: Verdict
    found: str
    remedy: str = ""


def doctor(path: Path, *, as_json: bool = False, cache_dir: Path | None = None) -> int:
    """Look at everything and write what is there.

    Returns 0 where all is good, 1 where something is to be mended, 2 where there is no such folder.

    Args:
        path: The project's folder.
    """
    if not path.is_dir():
        sys.stderr.write(f"headway: {path} is no folder; name the folder of a project\n")
        return 2
    checks: list[Check] = []
    for check in _checks(path.resolve(), cache_dir or default_cache_dir()):
        checks.append(check)
        if not as_json:
            _write(f"{_MARKS[check.verdict]} {check.name}: {check.found}")
            if check.remedy:
                _write(f"    → {check.remedy}")
    wrong = sum(check.verdict != "good" for check in checks)
    if as_json:
        _write(json.dumps({"checks": [asdict(check) for check in checks], "good": wrong == 0}, indent=1))
    else:
        _write("all is well" if not wrong else f"{wrong} to mend")
    return 1 if wrong else 0


def _checks(root: Path, cache_dir: Path) -> Iterator[Check]:
    yield _python()
    for name in _PACKAGES:
        yield _package(name)
    yield _grammars()
    for name in ("ty", "ruff"):
        yield _program(name)
    yield _git(root)
    yield _sqlite()
    yield _cache(cache_dir)
    yield _index(root, cache_dir)
    yield _interpreter(root)
    yield from _machine()


def _python() -> Check:
    return Check(
        name="Python", verdict="good", found=f"{platform.python_version()} at {sys.executable}, {platform.platform()}"
    )


def _package(name: str) -> Check:
    try:
        return Check(name=name, verdict="good", found=version(name))
    except PackageNotFoundError:
        return Check(name=name, verdict="missing", found="not installed", remedy=_MEND_PACKAGES)


def _grammars() -> Check:
    try:
        from headway.workspace.grammars.extraction import MissingGrammarError, parser_of
    except ModuleNotFoundError as error:
        return Check(name="grammars", verdict="missing", found=f"none: {error}", remedy=_MEND_PACKAGES)

    functions = {"typescript": "language_typescript", "php": "language_php"}
    bad = []
    for name in GRAMMARS:
        try:
            parser_of(f"tree_sitter_{name.replace('-', '_')}", functions.get(name, "language"))
        except MissingGrammarError:
            bad.append(name)
    if bad:
        found = f"{len(GRAMMARS) - len(bad)} of {len(GRAMMARS)}; without {', '.join(bad)}"
        return Check(name="grammars", verdict="poor", found=found, remedy=f"definitions are missing; {_MEND_PACKAGES}")
    return Check(name="grammars", verdict="good", found=f"all {len(GRAMMARS)}")


def _program(name: str) -> Check:
    program = own_program(name)
    if program is None:
        return Check(name=name, verdict="missing", found="not installed beside us", remedy=_MEND_PACKAGES)
    said = _said([str(program), "--version"])
    if said is None:
        return Check(name=name, verdict="poor", found=f"{program} does not run", remedy=_MEND_PACKAGES)
    return Check(name=name, verdict="good", found=f"{said} at {program}")


def _git(root: Path) -> Check:
    git = find_git([str(root)])
    said = None if git is None else _said([git, "--version"])
    if git is None or said is None:
        return Check(
            name="git",
            verdict="poor",
            found="not found on PATH outside of the project",
            remedy="folders are walked with .gitignore's rules instead; install git for its own view and quicker lists",
        )
    return Check(name="git", verdict="good", found=f"{said.removeprefix('git version ')} at {git}")


def _said(command: list[str]) -> str | None:
    """Return the first line that one of our own programs, or git, says of itself."""
    try:
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROGRAM_LIMIT_S,
            check=True,
            stdin=subprocess.DEVNULL,
            env=git_environment(os.environ),
            cwd=tempfile.gettempdir(),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return next(iter(ran.stdout.splitlines()), "")


def _sqlite() -> Check:
    with sqlite3.connect(":memory:") as db:
        options = {row[0] for row in db.execute("PRAGMA compile_options")}
    db.close()
    if "ENABLE_FTS5" not in options:
        return Check(
            name="SQLite",
            verdict="missing",
            found=f"{sqlite3.sqlite_version} without full-text search (FTS5)",
            remedy="there can be no index; use a Python whose SQLite has FTS5, as those of python.org have",
        )
    return Check(name="SQLite", verdict="good", found=f"{sqlite3.sqlite_version} with full-text search")


def _cache(cache_dir: Path) -> Check:
    remedy = "make it writable, or set XDG_CACHE_HOME (LOCALAPPDATA on Windows); until then each start indexes anew"
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache_dir):
            free = shutil.disk_usage(cache_dir).free
    except OSError as error:
        found = f"{cache_dir} cannot be written: {error.strerror or error}"
        return Check(name="cache folder", verdict="poor", found=found, remedy=remedy)
    found = f"{cache_dir}, {free / 2**30:.1f} GiB free"
    if free < _LEAST_FREE_BYTES:
        return Check(name="cache folder", verdict="poor", found=found, remedy="make room there")
    return Check(name="cache folder", verdict="good", found=found)


def _index(root: Path, cache_dir: Path) -> Check:
    path = database_path(str(cache_dir), str(root))
    mend = f"run `headway index {root}`, or open the folder in the editor"
    if not os.path.isfile(path):
        return Check(name="index", verdict="good", found=f"none of {root} yet; {mend} to have one")
    try:
        with Store(path, readonly=True) as store:
            stats = store.stats()
    except StoreError as error:
        return Check(name="index", verdict="poor", found=f"{path}: {error.reason}", remedy=f"{mend}: it is made anew")
    skipped = ", ".join(f"{count} {reason}" for reason, count in stats.skipped.items())
    found = f"{stats.files} files, {stats.symbols} symbols, {stats.size_bytes / 2**20:.1f} MiB at {path}"
    return Check(name="index", verdict="good", found=found + (f"; passed over: {skipped}" if skipped else ""))


def _interpreter(root: Path) -> Check:
    environment = workspace_environment([root])
    if environment is None or environment.python is None:
        return Check(
            name="project's Python",
            verdict="poor",
            found="no virtual environment in the folder and none active",
            remedy="its packages are unknown to completion; make .venv there, or set headway.python.interpreter",
        )
    return Check(name="project's Python", verdict="good", found=str(environment.python))


def _machine() -> Iterator[Check]:
    totals = Probe().totals()
    gpus = f", {len(totals.gpus)} GPU" if totals.gpus else ""
    yield Check(
        name="machine",
        verdict="good",
        found=f"{totals.cpu_cores:g} cores and {totals.memory_mb / 1024:.1f} GiB for us{gpus}",
    )
    yield _scheduling(totals.cpu_cores)


def _scheduling(cores: float) -> Check:
    from headway.scheduler.simulator.health import HOURS, simulated_health, told

    words, good = told(simulated_health(cores))
    return Check(
        name="scheduling",
        verdict="good" if good else "poor",
        found=f"in {HOURS:g} simulated hours of work on a machine of this size: {words}",
        remedy="" if good else "background work is slower here than it could be; give Headway more cores",
    )


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
