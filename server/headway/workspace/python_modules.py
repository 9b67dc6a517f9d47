"""Which modules can be imported, as far as the folders of the workspace and our own Python tell.

They answer while an engine still looks through all environments. Names only: nothing is read and nothing imported. It
lists folders, which may block on a slow disk, so call it in a thread.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence

from headway.workspace.python_scope import NameKind

_SUFFIXES = (".py", ".pyi")
_MOST_ENTRIES = 5_000
_TYPESHED = re.compile(r".*[/\\]typeshed[/\\](?:\w+[/\\])?(?:stdlib|stubs[/\\][^/\\]+)(?=[/\\]|$)")


def modules(roots: Sequence[str], path: str | None, written: str) -> tuple[tuple[str, NameKind], ...]:
    """Return the modules that may be named next.

    Args:
        roots: Folders that modules are looked for in.
        path: The file that imports, for relative names.
        written: What is written of the dotted name, up to a dot: "", "package.inner.", "..".
    """
    below = written.lstrip(".")
    dots = len(written) - len(below)
    if dots and path is None:
        return ()
    inner = [part for part in below.split(".") if part]
    if dots:
        base = path or ""
        for _ in range(dots):
            base = os.path.dirname(base)
        folders = [base]
    else:
        folders = [folder for root in roots for folder in (root, os.path.join(root, "src"))]
    found = {name for folder in folders for name in inside(os.path.join(folder, *inner))}
    if not written:
        found.update(name for name in sys.stdlib_module_names if not name.startswith("_"))
    return tuple((name, NameKind.MODULE) for name in sorted(found))


def inside(folder: str) -> Iterator[str]:
    """Yield the names of the modules and packages of a folder, those without `__init__.py` included."""
    try:
        with os.scandir(folder) as entries:
            for _, entry in zip(range(_MOST_ENTRIES), entries, strict=False):
                name, suffix = os.path.splitext(entry.name)
                is_module = suffix in _SUFFIXES or (not suffix and entry.is_dir())
                if is_module and name.isidentifier() and name != "__init__":
                    yield name
    except OSError:
        return  # no such package here


def module_name(path: str, roots: Sequence[str]) -> str | None:
    """Return the dotted name that a file is imported by; None where it has none.

    Packages are followed upwards by their `__init__` files, which may block on a slow disk; those without one are known
    by the folder of `roots` that they are in. What engines bring along of typeshed may lie there without the rest.
    """
    base, name = os.path.split(path)
    stem, suffix = os.path.splitext(name)
    if suffix not in _SUFFIXES:
        return None
    if brought := _TYPESHED.match(base):
        roots = [*roots, brought.group()]
    parts = [] if stem == "__init__" else [stem]
    while any(os.path.isfile(os.path.join(base, f"__init__{ending}")) for ending in _SUFFIXES):
        base, package = os.path.split(base)
        parts.insert(0, package)
    if base not in roots:
        above = [root for root in roots if base.startswith(f"{root}{os.sep}")]
        outer = os.path.relpath(base, max(above, key=len)).split(os.sep) if above else []
        if all(part.isidentifier() for part in outer):
            parts = outer + parts
    return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else None
