"""What the content of an index depends on besides the files: whatever of it changes, the index is made anew."""

from __future__ import annotations

import contextlib
from functools import cache
from typing import Final

from headway.workspace.index import GRAMMARS, INDEX_VERSION

# Raise it with the tables of `store.py` and `packs.py`.
SCHEMA_VERSION: Final = 4


@cache
def fingerprint() -> str:
    """Return what the content of a database depends on besides the files: schema, extraction, grammars."""
    from importlib.metadata import PackageNotFoundError, version

    grammars = []
    for name in GRAMMARS:
        with contextlib.suppress(PackageNotFoundError):
            grammars.append(f"{name} {version(f'tree-sitter-{name}')}")
    return f"schema {SCHEMA_VERSION}, index {INDEX_VERSION}, {', '.join(grammars)}"
