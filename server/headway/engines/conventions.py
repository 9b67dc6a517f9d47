"""Environments that a workspace names but does not hold: Poetry's in its cache, pyenv's and conda's by name.

Files are read as data; no tool is run to ask it. What is not where these tools put it by default, or by their
variables, is found by the setting.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

_MOST_BYTES: Final = 262_144
_NOT_IN_NAMES: Final = re.compile(r'[ $`!*@"\\\r\n\t]')
_LONGEST_NAME: Final = 42
_CONDA_NAME: Final = re.compile(r"^name:[ \t]*[\"']?([\w.-]+)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)
_CONDAS: Final = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda")


def named_environment(root: Path, variables: Mapping[str, str]) -> Path | None:
    """Return the folder of the environment that a workspace's files name, None where none is there.

    Args:
        variables: Our environment variables: they say where a person has these tools' files.
    """
    for found in (*_poetrys(root, variables), *_pyenvs(root, variables), *_condas(root, variables)):
        if found.is_dir():
            return found
    return None


def _poetrys(root: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """Yield Poetry's environments of a project, the newest Python first.

    Source: Poetry's `EnvManager.generate_env_name`, poetry.readthedocs.io and its source, 1.8 and 2.1.
    """
    project = _toml(root / "pyproject.toml")
    poetry = _table(_table(project, "tool"), "poetry")
    if not poetry and not (root / "poetry.lock").is_file():
        return
    name = poetry.get("name") or _table(project, "project").get("name") or "non-package-mode"
    folder = variables.get("POETRY_VIRTUALENVS_PATH")
    places = Path(folder) if folder else _poetry_cache(variables) / "virtualenvs"
    path = os.path.normcase(os.path.realpath(root))
    digest = base64.urlsafe_b64encode(hashlib.sha256(os.fsencode(path)).digest()).decode()[:8]
    stem = f"{_NOT_IN_NAMES.sub('_', str(name).lower())[:_LONGEST_NAME]}-{digest}-py"
    try:
        found = [entry for entry in os.listdir(places) if entry.startswith(stem)]
    except OSError:
        return
    for entry in sorted(found, key=lambda entry: [int(part) for part in re.findall(r"\d+", entry[len(stem) :])])[::-1]:
        if (places / entry / "pyvenv.cfg").is_file():
            yield places / entry


def _poetry_cache(variables: Mapping[str, str]) -> Path:
    if cache := variables.get("POETRY_CACHE_DIR"):
        return Path(cache)
    home = _home(variables)
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "pypoetry"
    if sys.platform == "win32":
        return Path(variables.get("LOCALAPPDATA") or home / "AppData" / "Local") / "pypoetry" / "Cache"
    return Path(variables.get("XDG_CACHE_HOME") or home / ".cache") / "pypoetry"


def _pyenvs(root: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """Yield the version or the environment that `.python-version` names first and pyenv has."""
    versions = Path(variables.get("PYENV_ROOT") or _home(variables) / ".pyenv") / "versions"
    for line in _text(root / ".python-version").splitlines():
        name = line.partition("#")[0].strip()
        if name and re.fullmatch(r"[\w.+-]+(?:/envs/[\w.+-]+)?", name):
            yield versions / name


def _condas(root: Path, variables: Mapping[str, str]) -> Iterator[Path]:
    """Yield where conda may have the environment that `environment.yml` names."""
    text = _text(root / "environment.yml") or _text(root / "environment.yaml")
    named = _CONDA_NAME.search(text)
    if named is None:
        return
    home = _home(variables)
    # conda keeps this list of all environments that it has made, wherever they are.
    for line in _text(home / ".conda" / "environments.txt").splitlines():
        if os.path.basename(line.strip()) == named[1] and os.path.isabs(line.strip()):
            yield Path(line.strip())
    prefix = variables.get("MAMBA_ROOT_PREFIX")
    for base in (*([Path(prefix)] if prefix else ()), *(home / name for name in _CONDAS)):
        yield base / "envs" / named[1]


def _home(variables: Mapping[str, str]) -> Path:
    return Path(variables.get("HOME") or variables.get("USERPROFILE") or os.path.expanduser("~"))


def _text(path: Path) -> str:
    """Return a small regular file's text; nothing where there is none, as a pipe in its place would keep us waiting."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return ""
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _toml(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError:
        return {}  # Whoever needs it says so; nothing is named by it.


def _table(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = of.get(key)
    return found if isinstance(found, Mapping) else {}
