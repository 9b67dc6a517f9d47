"""Where the workspace's Python is and where our own tools are. Looks at files only; nothing is run.

An interpreter of the workspace is data here: its folder tells an engine which packages there are. Whether it may be
executed is for others to ask.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway.engines.errors import EngineError
from headway.wording import say

_VENV_NAMES = (".venv", "venv", "env", ".env")
_WHERE_TY_IS_TOLD = (
    ("ty.toml", ("environment", "python")),
    ("pyproject.toml", ("tool", "ty", "environment", "python")),
)
_WINDOWS = os.name == "nt"
# Older ones are known to neither ty nor what runs the tests.
OLDEST: Final = (3, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A Python installation: its prefix, and its interpreter where there is one."""

    prefix: Path
    python: Path | None


class InterpreterError(EngineError):
    """The interpreter that was set cannot be used. Tell the person, who chooses another one or mends it."""

    def __init__(self, path: str, fault: str) -> None:
        super().__init__(path, fault)
        self.path = path
        self.fault = fault  # a sentence's end, such as "does not exist"

    @property
    def sentence(self) -> str:
        """What is wrong, without a full stop."""
        return say("The Python interpreter {path} {fault}", path=self.path, fault=self.fault)

    def __str__(self) -> str:
        return self.sentence


def workspace_environment(
    roots: Iterable[Path], *, interpreter: str | None = None, variables: Mapping[str, str] = os.environ
) -> Environment | None:
    """Return the environment that the code in these roots runs in, None where nothing tells.

    In this order: the interpreter that was set, a virtual environment in a root, the one that is active in our own
    environment variables (unless it is ours), one that a root names by the conventions of Poetry, pyenv or conda
    (`conventions`), conda's active one.

    Raises:
        InterpreterError: The interpreter that was set is not there or is none.
    """
    roots = tuple(roots)
    if interpreter:
        return chosen_environment(interpreter, roots)
    for root in roots:
        for name in _VENV_NAMES:
            if (root / name / "pyvenv.cfg").is_file():
                return environment_at(root / name)
    if active := _active("VIRTUAL_ENV", variables):
        return environment_at(active)
    # Only who has none of these pays for it: a start is felt as the wait for the first list.
    from headway.engines.conventions import named_environment

    for root in roots:
        found = named_environment(root, variables)
        if found is not None and not _is_ours(found):
            return environment_at(found)
    # conda's base is active in many a shell in which nobody has chosen anything.
    if active := _active("CONDA_PREFIX", variables):
        return environment_at(active)
    return None


def _active(variable: str, variables: Mapping[str, str]) -> Path | None:
    prefix = variables.get(variable)
    return Path(prefix) if prefix and os.path.isdir(prefix) and not _is_ours(Path(prefix)) else None


def chosen_environment(interpreter: str, roots: Iterable[Path] = ()) -> Environment:
    """Return the environment of an interpreter that a person chose: a program, or the folder of an environment.

    Raises:
        InterpreterError: It is not there, is no program, or is too old.
    """
    path = spelled_out(interpreter, roots)
    if path is None:
        raise InterpreterError(interpreter, say("is no absolute path, and no folder is open that it could lie in"))
    if path.is_dir():
        found = environment_at(path)
        if found.python is None:
            raise InterpreterError(str(path), say("is a folder without a Python in it"))
    else:
        if not path.is_file():
            raise InterpreterError(str(path), _missing(path))
        if not os.access(path, os.X_OK):
            raise InterpreterError(str(path), say("is a file that cannot be run"))
        # Not resolved: a virtual environment's interpreter is a link to that of another installation.
        beside = path.parent.name.lower() not in ("bin", "scripts")
        found = Environment(prefix=path.parent if beside else path.parent.parent, python=path)
    version = _version(found.prefix)
    if version is not None and version < OLDEST:
        words = {"version": ".".join(map(str, version)), "oldest": ".".join(map(str, OLDEST))}
        raise InterpreterError(str(path), say("is Python {version}; {oldest} or newer is needed", **words))
    return found


def spelled_out(interpreter: str, roots: Iterable[Path]) -> Path | None:
    """Return the absolute path that a setting means, None where it lies in a root and there is none.

    `~` and `${workspaceFolder}` are put in, a mere name is looked up in the search path, and what is left relative is
    meant to lie in the first root.
    """
    root = next(iter(roots), None)
    text = interpreter.strip()
    for name in ("${workspaceFolder}", "${workspaceRoot}"):
        if name in text:
            if root is None:
                return None
            text = text.replace(name, str(root))
    path = Path(os.path.expanduser(text))
    if path.is_absolute():
        return path
    if os.path.basename(text) == text and (program := shutil.which(text, path=absolute_search_path())):
        return Path(program)
    return None if root is None else root / path


def absolute_search_path() -> str:
    """Return the search path without what would mean another folder elsewhere."""
    return os.pathsep.join(folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder))


def has_packages(environment: Environment) -> bool:
    """Return whether packages are or could be installed there, where an engine looks for them."""
    return bool(package_folders(environment.prefix))


def environment_at(prefix: Path) -> Environment:
    """Return the environment of a prefix."""
    places = ("Scripts/python.exe", "python.exe") if _WINDOWS else ("bin/python", "bin/python3")
    python = next((prefix / place for place in places if (prefix / place).is_file()), None)
    return Environment(prefix=prefix, python=python)


def fallback_environment() -> Environment:
    """Return the installation that our own environment was made from: its standard library is as good as any.

    An engine is told so, as it would otherwise offer the packages that we are made of.
    """
    return environment_at(Path(sys.base_prefix))


def names_own_environment(root: Path) -> bool:
    """Return whether the configuration of a root tells ty itself which environment to read."""
    for name, keys in (
        ("ty.toml", ("environment", "python")),
        ("pyproject.toml", ("tool", "ty", "environment", "python")),
    ):
        path = root / name
        if not path.is_file():  # Nor is a pipe of that name opened: it would never end.
            continue
        try:
            tree: object = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError):
            continue  # ty itself says what is wrong with it.
        for key in keys:
            tree = tree.get(key) if isinstance(tree, dict) else None
        if isinstance(tree, str):
            return True
    return False


def own_program(name: str) -> Path | None:
    """Return a program that was installed with us, None where it is missing. The search path is not looked at."""
    suffix = ".exe" if _WINDOWS else ""
    for folder in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable)):
        path = Path(folder) / f"{name}{suffix}"
        if path.is_file() and os.access(path, os.X_OK):
            return path
    return None


def _missing(path: Path) -> str:
    """Say why there is no file at a path: a link may have lost what it led to, as when a Python was removed."""
    if path.is_symlink():
        return say("is a link to {target}, which does not exist", target=os.path.realpath(path))
    return say("does not exist")


def _version(prefix: Path) -> tuple[int, int] | None:
    """Return the version of an installation as its files tell it, None where they do not."""
    try:
        told = (prefix / "pyvenv.cfg").read_text("utf-8", errors="replace")
    except OSError:
        told = ""
    found = re.search(r"^version(?:_info)?\s*=\s*(\d+)\.(\d+)", told, re.MULTILINE)
    if found is not None:
        return int(found[1]), int(found[2])
    named = [re.search(r"python(\d)\.(\d+)", folder.parent.name) for folder in package_folders(prefix)]
    return max(((int(match[1]), int(match[2])) for match in named if match), default=None)


def package_folders(prefix: Path) -> list[Path]:
    """Return the folders of an installation in which packages are installed."""
    patterns = ("Lib/site-packages",) if _WINDOWS else ("lib*/py*/site-packages", "lib*/py*/dist-packages")
    return [folder for pattern in patterns for folder in prefix.glob(pattern)]


def _is_ours(prefix: Path) -> bool:
    return os.path.realpath(prefix) == os.path.realpath(sys.prefix)
