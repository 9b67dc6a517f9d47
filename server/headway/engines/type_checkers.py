"""Whether a workspace is type-checked at all: whether its files configure a type checker. They are read as data."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

# Files that are there for a type checker alone, and the sections of shared ones.
_OWN_FILES: Final = ("ty.toml", "mypy.ini", ".mypy.ini", "pyrightconfig.json", "pyrefly.toml", "zuban.toml")
_TOOLS: Final = frozenset({"ty", "mypy", "pyright", "basedpyright", "pyrefly", "zuban"})
CONFIGURATIONS: Final = frozenset({*_OWN_FILES, "pyproject.toml", "setup.cfg"})


def is_type_checked(roots: Iterable[Path]) -> bool:
    """Return whether one of these folders configures a type checker. Reads some small files."""
    return any(_names_checker(root) for root in roots)


def _names_checker(root: Path) -> bool:
    if any((root / name).is_file() for name in _OWN_FILES):
        return True
    project, classic = root / "pyproject.toml", root / "setup.cfg"
    try:
        # A pipe of that name is not opened: it would never end.
        tools = tomllib.loads(project.read_text("utf-8")).get("tool") if project.is_file() else None
        if isinstance(tools, dict) and _TOOLS & tools.keys():
            return True
        return classic.is_file() and "[mypy" in classic.read_text("utf-8", errors="replace")
    except (OSError, ValueError):
        return False  # Whoever reads it for its own sake says what is wrong with it.
