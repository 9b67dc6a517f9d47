"""Members that our own Python knows: of modules of the standard library and their classes, and of strings.

They answer while an engine is still reading. Only what is loaded here already is looked at, and only the standard
library's, so nothing is imported and nothing of a workspace is touched.
"""

from __future__ import annotations

import sys
import types
from functools import lru_cache

from headway.workspace.python_scope import NameKind

STRING = '""'  # stands for the receiver of a string's members


@lru_cache(maxsize=256)
def known_members(origin: str) -> tuple[tuple[str, NameKind], ...] | None:
    """Return the public members of what a dotted name of the standard library stands for, None if it is unknown."""
    target: object = str if origin == STRING else _found(origin)
    if isinstance(target, types.ModuleType):
        members = dict(vars(target))
    elif isinstance(target, type):
        members = {name: value for owner in reversed(target.__mro__) for name, value in vars(owner).items()}
    else:
        return None
    inside = isinstance(target, type)
    return tuple((name, _kind(value, inside)) for name, value in sorted(members.items()) if not name.startswith("_"))


def _found(origin: str) -> object | None:
    if origin.partition(".")[0] not in sys.stdlib_module_names:
        return None
    module = sys.modules.get(origin)
    if module is not None:
        return module
    parent, _, name = origin.rpartition(".")
    found = sys.modules.get(parent)
    return vars(found).get(name) if found is not None else None


def _kind(value: object, inside: bool) -> NameKind:
    if isinstance(value, type):
        return NameKind.CLASS
    if isinstance(value, types.ModuleType):
        return NameKind.MODULE
    if callable(value):
        return NameKind.METHOD if inside else NameKind.FUNCTION
    return NameKind.FIELD if inside else NameKind.VARIABLE
