"""What the content of an index depends on besides the files: whatever of it changes, the index is made anew."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from functools import cache
from typing import Final

from headway.workspace.index import GRAMMARS, INDEX_VERSION

# Raise it with the tables of `store.py`, `full_text.py`, `packs.py`, `former.py` and `squeezing.py`.
SCHEMA_VERSION: Final = 9


_FOUND: Final = re.compile(r"tree[_-]sitter[_-](.+?)-([^-]+)\.(?:dist|egg)-info")


@cache
def fingerprint() -> str:
    """Return what the content of a database depends on besides the files: schema, extraction, grammars."""
    installed = _installed()
    grammars = [f"{name} {installed[name]}" for name in GRAMMARS if name in installed]
    return f"schema {SCHEMA_VERSION}, index {INDEX_VERSION}, {', '.join(grammars)}"


def _installed() -> dict[str, str]:
    """Return the versions of the grammars that are installed, by name.

    By the names of their records alone: `importlib.metadata` reads each of them, which every start would wait for.
    """
    versions: dict[str, str] = {}
    for folder in sys.path:
        with contextlib.suppress(OSError):
            for found in filter(None, map(_FOUND.fullmatch, os.listdir(folder or os.curdir))):
                versions.setdefault(found.group(1).replace("_", "-").lower(), found.group(2))
    return versions
