"""Where the workspace's Python is and where our own tools are. Looks at files only; nothing is run.

An interpreter of the workspace is data here: its folder tells an engine which packages there are. Whether it may be
executed is for others to ask.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_VENV_NAMES = (".venv", "venv", "env", ".env")
_WHERE_TY_IS_TOLD = (
    ("ty.toml", ("environment", "python")),
    ("pyproject.toml", ("tool", "ty", "environment", "python")),
)
_WINDOWS = os.name == "nt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A Python installation: its prefix, and its interpreter where there is one."""

    prefix: Path
    python: Path | None


def workspace_environment(
    roots: Iterable[Path], *, interpreter: str | None = None, variables: Mapping[str, str] = os.environ
) -> Environment | None:
    """Return the environment that the code in these roots runs in, None where nothing tells.

    In this order: the interpreter that was set, a virtual environment in a root, the one that is active in our own
    environment variables (unless it is ours), conda's.
    """
    if interpreter:
        found = _of_interpreter(Path(interpreter))
        if found is not None:
            return found
    for root in roots:
        for name in _VENV_NAMES:
            if (root / name / "pyvenv.cfg").is_file():
                return environment_at(root / name)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        prefix = variables.get(variable)
        if prefix and os.path.isdir(prefix) and not _is_ours(Path(prefix)):
            return environment_at(Path(prefix))
    return None


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


def _of_interpreter(python: Path) -> Environment | None:
    if python.is_dir():
        return environment_at(python)
    if not python.is_file():
        return None
    # Not resolved: a virtual environment's interpreter is a link to that of another installation.
    return Environment(prefix=python.absolute().parent.parent, python=python.absolute())


def _is_ours(prefix: Path) -> bool:
    return os.path.realpath(prefix) == os.path.realpath(sys.prefix)
