"""Passages near a vector, over all roots: brute force over signs, then over what was stored. In worker processes.

A process keeps the signs of the folders that it was asked about (about 100 bytes a passage) and refreshes them by file
when the index or the vectors have changed.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple

from headway.workspace.database import StoreError
from headway.workspace.index import Definition
from headway.workspace.opened import FolderSpec, open_store
from headway.workspace.passages import content_key
from headway.workspace.scope import Scope
from headway.workspace.store import StoredFile, fingerprint
from headway.workspace.vector_store import Placed, VectorsSpec, VectorStore, forget_open, open_vectors
from headway.workspace.vectors import likeness, signs

_RESCORED: Final = 100
_MOST_FOLDERS: Final = 8


class Near(NamedTuple):
    """A definition whose passage is near a vector; `likeness` is the cosine, at most 1."""

    root: str
    path: str  # relative to the root
    definition: Definition
    likeness: float


class _Entry(NamedTuple):
    """A passage of a file, as it is looked through."""

    signs: int
    vector_id: int
    ordinal: int
    kind: int
    path: str


@dataclass(slots=True)
class _Folder:
    """What this process knows of a folder, as of two changes."""

    stamp: int = -1
    change: int = -1
    dimensions: int | None = None
    epoch: int = -1
    files: dict[str, tuple[bytes, tuple[_Entry, ...]]] = field(default_factory=dict)
    entries: list[_Entry] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)


_folders: dict[tuple[str, str], _Folder] = {}


def nearest(
    specs: Sequence[FolderSpec],
    vectors: VectorsSpec,
    query: Sequence[float],
    limit: int,
    scope: Scope,
    kinds: frozenset[int],
) -> list[Near]:
    """Return the definitions whose passages are nearest, best first; none where there are no such vectors.

    Args:
        kinds: Only these kinds of symbols; empty: all.
    """
    found: list[Near] = []
    for spec in specs:
        try:
            found += _nearest(spec, open_vectors(vectors), query, limit, scope, kinds)
        except StoreError:
            forget_open(vectors.path)  # Whatever is wrong with it, who writes to it finds out and says so.
    return heapq.nlargest(limit, found, key=lambda near: near.likeness)


def _nearest(
    spec: FolderSpec,
    store: VectorStore,
    query: Sequence[float],
    limit: int,
    scope: Scope,
    kinds: frozenset[int],
) -> list[Near]:
    folder = _refreshed(spec, store)
    if folder.dimensions != len(query):
        return []
    entries, codes = folder.entries, folder.codes
    if kinds or not scope.is_everything:
        accepts = scope.accepting()
        fitting = {path for path in folder.files if accepts(path)}
        entries = [entry for entry in entries if entry.path in fitting and (not kinds or entry.kind in kinds)]
        codes = [entry.signs for entry in entries]
    wanted = sum((value >= 0) << at for at, value in enumerate(reversed(query)))
    distances = list(map(int.bit_count, map(wanted.__xor__, codes)))
    best = _least(distances, max(_RESCORED, 4 * limit))
    stored = store.vectors({entries[at].vector_id for at in best})
    cosine = likeness(query)
    scored = [(cosine(stored[entries[at].vector_id]), entries[at]) for at in best if entries[at].vector_id in stored]
    top = heapq.nlargest(limit, scored, key=lambda pair: pair[0])
    definitions = open_store(spec).definitions(entry.path for _, entry in top)
    return [
        Near(spec.root, entry.path, definitions[entry.path][entry.ordinal], score)
        for score, entry in top
        if entry.ordinal < len(definitions.get(entry.path, ()))
    ]


def _least(distances: Sequence[int], count: int) -> list[int]:
    """Return the places of at least `count` of the least distances: counting them is quicker than sorting."""
    held = Counter(distances)
    left = count
    for most in sorted(held):
        left -= held[most]
        if left <= 0:
            near = [at for at, distance in enumerate(distances) if distance <= most]
            return sorted(near, key=distances.__getitem__)[: 2 * count]
    return list(range(len(distances)))


def _refreshed(spec: FolderSpec, store: VectorStore) -> _Folder:
    key = (spec.database, store.path)
    folder = _folders.pop(key, None) or _Folder()
    _folders[key] = folder  # the one that was used last is at the end
    for old in list(_folders)[:-_MOST_FOLDERS]:
        del _folders[old]
    index = open_store(spec)
    stamp, change, dimensions = index.stamp, store.change, store.dimensions
    if (folder.stamp, folder.change) == (stamp, change):
        return folder
    if (epoch := store.epoch) != folder.epoch:
        folder.files = {}
    known = {path: file for path, file in index.known().items() if file.skipped is None}
    _take(folder, known, store, dimensions or 0)
    folder.stamp, folder.change, folder.dimensions, folder.epoch = stamp, change, dimensions, epoch
    return folder


def _take(folder: _Folder, known: Mapping[str, StoredFile], store: VectorStore, dimensions: int) -> None:
    said = fingerprint()
    keys = {path: content_key(path, file.digest, said) for path, file in known.items()}
    kept = {path: entry for path, entry in folder.files.items() if keys.get(path) == entry[0]}
    new = {path: key for path, key in keys.items() if path not in kept}
    contents = store.contents(new.values())
    wanted = {placed.vector_id for passages in contents.values() for placed in passages}
    codes = {number: signs(vector, dimensions) for number, vector in store.vectors(wanted).items()}
    for path, key in new.items():
        if key in contents:
            kept[path] = (key, _entries(path, contents[key], codes))
    folder.files = kept
    folder.entries = list(chain.from_iterable(entries for _, entries in kept.values()))
    folder.codes = [entry.signs for entry in folder.entries]


def _entries(path: str, placed: Sequence[Placed], codes: Mapping[int, int]) -> tuple[_Entry, ...]:
    return tuple(
        _Entry(codes[one.vector_id], one.vector_id, one.ordinal, one.kind, path)
        for one in placed
        if one.vector_id in codes
    )
