"""Definitions that answer a query: by their names, by the words of their names, docstrings and bodies, by meaning.

Pure: gets what the index found in each way and fuses it. Knows no store, no scheduler and no protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from headway.workspace.index import Definition
from headway.workspace.nearest import Near
from headway.workspace.store import TextHit
from headway.workspace.symbols import Found
from headway.workspace.text import Range

Why = Literal["lexical", "semantic", "both"]

# Reciprocal rank fusion: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet …", SIGIR 2009.
_RANK_OFFSET: Final = 60
_MAX_SNIPPET_LENGTH: Final = 300
_MAX_SNIPPET_LINES: Final = 4
# How much a place in the list of names is worth, by how the name fits; a place in the list of words is worth 1.
_NAME_WEIGHTS: Final = {"exact": 3.0, "prefix": 1.2, "humps": 0.8, "part": 0.7, "letters": 0.2}
_NEAR_WEIGHT: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A definition that answers a query; `score` falls along a list of hits."""

    path: str  # absolute
    name: str
    kind: int
    container: str
    range: Range
    selection_range: Range
    score: float
    snippet: str
    wide: Sequence[int] | None = None  # see `index.Wide`
    why: Why = "lexical"


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What one folder's index found by words, and the definitions of files in which names were found."""

    root: str
    hits: Sequence[TextHit]
    definitions: Mapping[str, Sequence[Definition]]  # by path relative to the root


def fused(
    named: Sequence[Found],
    texts: Iterable[Texts],
    kinds: frozenset[int],
    limit: int,
    near: Sequence[Near] = (),
) -> list[Hit]:
    """Return the best hits of all lists, each definition once.

    Args:
        named: By name, best first.
        kinds: Only these kinds of symbols; empty: all.
        near: By meaning, best first.
    """
    texts = list(texts)
    scores = _Scores()
    places = {(text.root, path): definitions for text in texts for path, definitions in text.definitions.items()}
    for rank, found in enumerate(named):
        definition = _definition_of(found, places.get((found.root, found.symbol.path), ()))
        if definition is not None:
            weight = _NAME_WEIGHTS[found.how]
            scores.add(found.path, definition, weight / (_RANK_OFFSET + rank), "lexical")
    for text in texts:
        for rank, hit in enumerate(text.hits):
            path = f"{text.root.rstrip('/')}/{hit.path}"
            scores.add(path, hit.definition, 1 / (_RANK_OFFSET + rank), "lexical")
    for rank, neighbour in enumerate(near):
        path = f"{neighbour.root.rstrip('/')}/{neighbour.path}"
        scores.add(path, neighbour.definition, _NEAR_WEIGHT / (_RANK_OFFSET + rank), "semantic")
    return scores.best(kinds, limit)


class _Scores:
    """What each definition is worth, and by which lists."""

    def __init__(self) -> None:
        self._worth: dict[tuple[str, int, int, str], float] = {}
        self._known: dict[tuple[str, int, int, str], tuple[str, Definition, Why]] = {}

    def add(self, path: str, definition: Definition, score: float, why: Why) -> None:
        key = (path, definition.line, definition.column, definition.name)
        self._worth[key] = self._worth.get(key, 0.0) + score
        known = self._known.get(key)
        if known is None:
            self._known[key] = (path, definition, why)
        elif known[2] != why:
            self._known[key] = (*known[:2], "both")

    def best(self, kinds: frozenset[int], limit: int) -> list[Hit]:
        worth, known = self._worth, self._known
        in_order = sorted(worth, key=lambda key: (-worth[key], key))
        chosen = (key for key in in_order if not kinds or known[key][1].kind in kinds)
        return [_hit(*known[key], worth[key]) for key, _ in zip(chosen, range(limit), strict=False)]


def _definition_of(found: Found, definitions: Sequence[Definition]) -> Definition | None:
    """Return what the store says of a symbol; None where the file has changed since and it is gone."""
    place = found.symbol.selection_range.start
    for definition in definitions:
        if definition.name == found.symbol.name and definition.name_line == place.line:
            return definition
    return next((d for d in definitions if d.name == found.symbol.name), None)


def _hit(path: str, definition: Definition, why: Why, score: float) -> Hit:
    return Hit(
        path=path,
        name=definition.name,
        kind=definition.kind,
        container=definition.container,
        range=definition.range,
        selection_range=definition.selection_range,
        score=round(score, 6),
        snippet=snippet(definition),
        wide=definition.wide,
        why=why,
    )


def snippet(definition: Definition) -> str:
    """Return a few lines that show what a definition is: its signature and the start of its docstring."""
    text = f"{definition.detail}\n{definition.doc}".strip() or definition.name
    return "\n".join(text.splitlines()[:_MAX_SNIPPET_LINES])[:_MAX_SNIPPET_LENGTH]
