"""The outline of a document: its definitions, each within the one that encloses it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headway.workspace.index import Definition, SymbolKind

_WHOLE_FILE = (SymbolKind.MODULE, SymbolKind.FILE)


@dataclass(slots=True, kw_only=True)
class Outline:
    """A definition and those in it."""

    definition: Definition
    children: list[Outline] = field(default_factory=list)


def outline(definitions: Sequence[Definition]) -> list[Outline]:
    """Return the definitions of a file as trees, in order.

    A definition belongs to the newest one before it that has its container's name and encloses it; the file itself is
    left out.
    """
    tops: list[Outline] = []
    by_name: dict[str, Outline] = {}
    for definition in definitions:
        if definition.kind in _WHOLE_FILE:
            continue
        made = Outline(definition=definition)
        parent = by_name.get(definition.container)
        if parent is not None and _encloses(parent.definition, definition):
            parent.children.append(made)
        else:
            tops.append(made)
        full_name = f"{definition.container}.{definition.name}" if definition.container else definition.name
        by_name[full_name] = made
    return tops


def _encloses(outer: Definition, inner: Definition) -> bool:
    return (outer.line, outer.column) <= (inner.line, inner.column) and (inner.end_line, inner.end_column) <= (
        outer.end_line,
        outer.end_column,
    )
