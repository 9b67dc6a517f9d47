"""What a module's own text says that it holds: names to offer while an engine still reads it, and all that it imports.

Nothing is imported. Files are read, which may block on a slow disk, so call it in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from headway.workspace.python_modules import inside
from headway.workspace.python_scope import NameKind, Outline
from headway.workspace.text import Text

_LONGEST_BYTES = 300_000
_ENDINGS = (f"{os.sep}__init__.pyi", f"{os.sep}__init__.py", ".pyi", ".py")


def module_members(folders: Sequence[str], dotted: str) -> tuple[tuple[str, NameKind], ...] | None:
    """Return the public names of a module and the modules within it; None where no text of it is found.

    Args:
        folders: Where modules are looked for, in this order.
        dotted: The module's whole name.
    """
    parts = dotted.split(".")
    if not all(part.isidentifier() for part in parts):
        return None
    for folder in folders:
        base = os.path.join(folder, *parts)
        for ending in _ENDINGS:
            text = _read(f"{base}{ending}")
            if text is not None:
                return _members(text, frozenset(inside(base)))
    return None


def _members(text: str, modules: frozenset[str]) -> tuple[tuple[str, NameKind], ...]:
    whole = Text(f"{text}\n")
    outline = Outline(whole, whole.position_at(len(whole)))
    found = dict.fromkeys(modules, NameKind.MODULE)
    for name in outline.names():
        if name.name not in found:
            found[name.name] = _kind_of_import(name.name) if name.kind is NameKind.MODULE else name.kind
    return tuple((name, kind) for name, kind in sorted(found.items()) if not name.startswith("_"))


def _kind_of_import(name: str) -> NameKind:
    """Return what a name that is no module of the package is likely to stand for, by its spelling."""
    return NameKind.CLASS if name[:1].isupper() and not name.isupper() else NameKind.VARIABLE


def _read(path: str) -> str | None:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LONGEST_BYTES:
            return None
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None  # It is gone or may not be read: as if there were none.
