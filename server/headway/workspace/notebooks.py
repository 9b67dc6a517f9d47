"""Notebooks: which cells they have, in which order. The texts of the cells are documents like any other.

Pure values; what the cells say together is the business of engines that know notebooks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

CODE: Final = 2  # a cell's kind, as LSP numbers it; 1 is prose


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell by the URI of its text. `kind`: see `CODE`."""

    uri: str
    kind: int = CODE


@dataclass(frozen=True, slots=True, kw_only=True)
class Notebook:
    """An open notebook. `type` is what the editor calls its format, such as "jupyter-notebook"."""

    uri: str
    type: str
    cells: tuple[Cell, ...] = ()

    def spliced(self, start: int, delete_count: int, cells: Sequence[Cell]) -> Notebook:
        """Return it with cells put in the place of others; places beyond its end are its end."""
        kept = [*self.cells[:start], *cells, *self.cells[start + delete_count :]]
        return replace(self, cells=tuple(kept))

    def with_kinds(self, cells: Sequence[Cell]) -> Notebook:
        """Return it with these cells' kinds instead of those that they had."""
        kinds = {cell.uri: cell for cell in cells}
        return replace(self, cells=tuple(kinds.get(cell.uri, cell) for cell in self.cells))

    def code(self) -> Iterator[str]:
        """Give the URIs of the cells with code, in order."""
        return (cell.uri for cell in self.cells if cell.kind == CODE)
