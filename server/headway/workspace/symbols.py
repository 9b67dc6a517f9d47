"""All symbols of the workspace in memory, for answers at once. Frozen views, changed by file.

`SymbolTable` is the owner and lives on the loop; an `IndexView` is what features get: a few segments, each with the set
of its files that newer ones have replaced. Look-ups take microseconds to a few milliseconds and never wait.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from headway.workspace import matching
from headway.workspace.index import SymbolKind, module_name
from headway.workspace.segments import Segment, Symbol

_LONGEST_QUERY = 200
# So many names that fit in the better ways, and what fits worse is not looked for.
_ENOUGH = 20
_FEW = 10  # as above, before single letters in their order are tried
_SMALL_SYMBOLS = 4_000
_MANY_SMALL = 12
_POSITION_BITS = 20  # a segment holds far fewer files than 2^20
_POSITION_MASK = (1 << _POSITION_BITS) - 1
_KIND_ORDER: dict[int, int] = {
    **dict.fromkeys((SymbolKind.CLASS, SymbolKind.FUNCTION, SymbolKind.ENUM), 0),
    **dict.fromkeys((SymbolKind.INTERFACE, SymbolKind.STRUCT), 0),
    **dict.fromkeys((SymbolKind.METHOD, SymbolKind.CONSTRUCTOR, SymbolKind.NAMESPACE), 1),
    # Keys of data, headings of prose: seldom what is looked for by name.
    **dict.fromkeys((SymbolKind.KEY, SymbolKind.STRING, SymbolKind.OBJECT), 3),
}


class Found(NamedTuple):
    """A symbol of a workspace folder; a tuple, since a look-up makes hundreds of them.

    `root` is the folder's absolute path, `how` one of `matching.HOWS`.
    """

    root: str
    symbol: Symbol
    how: str

    @property
    def path(self) -> str:
        """Absolute path of the file."""
        return f"{self.root.rstrip('/')}/{self.symbol.path}"

    @property
    def module(self) -> str:
        """Dotted name by which the file would be imported from its folder."""
        return module_name(self.symbol.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    root: str
    segment: Segment
    dead: frozenset[int] = frozenset()  # positions of files that are gone or newer elsewhere

    def live_rows(self, name_index: int) -> Iterator[int]:
        rows = self.segment.rows(name_index)
        if not self.dead:
            return iter(rows)
        return (row for row in rows if self.segment.file_at(row) not in self.dead)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexView:
    """The symbols of all folders as they were at one moment."""

    parts: tuple[_Part, ...] = ()

    def stats(self) -> dict[str, int]:
        """Return the number of segments, symbols (replaced ones included) and bytes in memory."""
        return {
            "segments": len(self.parts),
            "symbols": sum(len(part.segment) for part in self.parts),
            "bytes": sum(part.segment.memory_bytes for part in self.parts),
        }

    def files(self, suffixes: tuple[str, ...] = ()) -> list[str]:
        """Return the absolute paths of the files, of those whose paths end with one of the suffixes if any."""
        found: dict[str, None] = {}
        for part in self.parts:
            root = part.root.rstrip("/")
            for position, path in enumerate(part.segment.paths):
                if position not in part.dead and (not suffixes or path.endswith(suffixes)):
                    found[f"{root}/{path}"] = None
        return list(found)

    def complete(self, prefix: str, limit: int, suffixes: tuple[str, ...] = ()) -> list[Found]:
        """Return symbols whose names start with a prefix, one for each name, the shortest names first.

        A name that occurs several times is represented by what a person would import: classes and functions at the top
        of a module come first. At most `limit` names.

        Args:
            suffixes: Only symbols of files whose paths end with one of these; empty: of all files.
        """
        found: dict[str, Found] = {}
        # Names of other languages may be the shorter ones: then more have to be looked at to find enough.
        for number, index in self._lookup(prefix).shortest():
            if len(found) >= 2 * limit:
                break
            best = self._best(self.parts[number], index, suffixes)
            if best is None:
                continue
            known = found.get(best.symbol.name)
            if known is None or _importance(best.symbol) < _importance(known.symbol):
                found[best.symbol.name] = best
        names = sorted(found, key=lambda name: (not name.startswith(prefix), *_by_length(name)))
        return [found[name] for name in names[:limit]]

    def symbols(self, query: str, limit: int, near: Sequence[str] = (), used: Sequence[str] = ()) -> list[Found]:
        """Return symbols by name, best first: the whole name, its start, its humps, a part of it, its letters in order.

        `Outer.name` looks for the name within that container. Case does not matter, but decides between equals. Among
        symbols that fit equally well those of files that were used lately come first, then the shorter names; of one
        name what is nearer to some files, and then what is more often meant. An empty query gives nothing.

        Args:
            near: Absolute paths of files that are worked on.
            used: Absolute paths of files that were used lately, the last one first.
        """
        query = query.strip()[:_LONGEST_QUERY]
        container, _, name = query.rpartition(".")
        name = "".join(name.split())
        if not name or "\n" in name or limit <= 0:
            return []
        lookup = self._lookup(name)
        taken: set[tuple[int, ...]] = set()  # a name's length is told in two ways
        found: list[Found] = []
        rank = _Rank(name, near, used)
        for how in matching.HOWS:
            # In a container few of the names may be meant, so more of them are looked at.
            hits = lookup.fitting(how, limit if not container else 20 * limit)
            level = self._all([hit for hit in hits if hit[1:] not in taken], how, container, limit)
            taken.update(hit[1:] for hit in hits)
            level.sort(key=rank)
            found += level
            # What fits worse is of interest only to whom what fits better is too little; it also takes longest to find.
            if len(found) >= (_FEW if how == "part" else _ENOUGH):
                break
        return found[:limit]

    def named(self, name: str, limit: int = 50, suffixes: tuple[str, ...] = ()) -> list[Found]:
        """Return the symbols with exactly this name, of files whose paths end with one of the suffixes if any."""
        if not name or "." in name or "\n" in name:
            return []
        hits = matching.Lookup([part.segment for part in self.parts], name).fitting("exact", limit * 4)
        wanted = [hit for hit in hits if self.parts[hit[1]].segment.name(hit[2]) == name]
        found = self._all(wanted, "exact", "", limit * 4)
        fitting = [f for f in found if not suffixes or f.symbol.path.endswith(suffixes)]
        return sorted(fitting, key=_Rank(name, (), ()))[:limit]

    def _lookup(self, name: str) -> matching.Lookup:
        parts = self.parts

        def is_live(number: int, index: int) -> bool:
            part = parts[number]
            return not part.dead or any(True for _ in part.live_rows(index))

        is_whole = not any(part.dead for part in parts)
        return matching.Lookup([part.segment for part in parts], name, None if is_whole else is_live)

    def _best(self, part: _Part, index: int, suffixes: tuple[str, ...]) -> Found | None:
        segment = part.segment
        rows = part.live_rows(index)
        if suffixes:
            paths = segment.paths
            rows = (row for row in rows if paths[segment.file_at(row)].endswith(suffixes))
        rows = islice(rows, 50)
        row = min(rows, key=lambda row: _rank(segment.kind_of[row], bool(segment.container_of[row])), default=None)
        return None if row is None else Found(part.root, segment.symbols([(index, (row,))])[0], "prefix")

    def _all(self, hits: Iterable[tuple[int, int, int]], how: str, container: str, limit: int) -> list[Found]:
        """Return the symbols of some names, see `Lookup.fitting`, of each name at most so many, in any order."""
        names: dict[int, list[int]] = {}
        for _, number, index in hits:
            names.setdefault(number, []).append(index)
        found: list[Found] = []
        make = tuple.__new__
        for number, indices in names.items():
            part = self.parts[number]
            root = part.root
            rows: Iterable[tuple[int, Iterable[int]]]
            if part.dead or container:
                rows = ((index, islice(self._meant(part, index, container), limit)) for index in indices)
            else:
                rows = part.segment.some_rows(indices, limit)
            # As in `Segment.symbols`: NamedTuple's own takes twice as long.
            found += [make(Found, (root, symbol, how)) for symbol in part.segment.symbols(rows)]
        return found

    def _meant(self, part: _Part, index: int, container: str) -> Iterator[int]:
        """Return the rows of a name that are still there and in a container, if one is named."""
        rows = part.live_rows(index)
        return (row for row in rows if _encloses(container, part, row)) if container else rows


class _Rank:
    """The order of symbols that fit equally well."""

    def __init__(self, name: str, near: Sequence[str], used: Sequence[str]) -> None:
        self._name = name
        self._used = {path: place for place, path in enumerate(used)}
        self._unused = len(used)
        self._near = [path.split("/") for path in near]
        self._distances: dict[tuple[str, str], int] = {}

    def __call__(self, found: Found) -> tuple[object, ...]:
        symbol = found.symbol
        name = symbol.name
        distance = self._distance(found) if self._near else 0
        # Whether it stands in something else decides first, then its kind.
        importance = 4 * bool(symbol.container) + _KIND_ORDER.get(symbol.kind, 2)
        use = self._used.get(found.path, self._unused) if self._used else 0
        return name != self._name, use, len(name), name, distance, importance, symbol.path, found.root

    def _distance(self, found: Found) -> int:
        """Return how many folders one goes through from the nearest of the files that are worked on."""
        key = (found.root, found.symbol.path)
        known = self._distances.get(key)
        if known is None:
            parts = found.path.split("/")
            known = self._distances[key] = min(_steps(parts, other) for other in self._near)
        return known


class SymbolTable:
    """The newest symbols of one folder; changed on the loop only, at a cost per changed file."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._serial = 0
        self._parts: dict[int, _Part] = {}  # by serial number
        self._newest: dict[int, int] = {}  # file id -> stamp of what counts
        self._place: dict[int, int] = {}  # file id -> serial and position of what counts, in one number

    @property
    def parts(self) -> tuple[_Part, ...]:
        return tuple(self._parts.values())

    @property
    def segment_count(self) -> int:
        return len(self._parts)

    @property
    def file_count(self) -> int:
        """Files that count."""
        return len(self._place)

    def adopt(self, segment: Segment, *, repacked: bool = False) -> None:
        """Add a segment: of each file the version with the newest stamp counts, in whatever order they come.

        Args:
            repacked: It holds what is here already, in fewer pieces, and takes its place.
        """
        self._serial += 1
        dead = set()
        replaced = []
        for position, (file_id, stamp) in enumerate(zip(segment.file_ids, segment.stamps, strict=True)):
            newest = self._newest.get(file_id, -1)
            if newest > stamp or (newest == stamp and not (repacked and file_id in self._place)):
                dead.add(position)
                continue
            self._newest[file_id] = stamp
            if file_id in self._place:
                replaced.append(self._place[file_id])
            self._place[file_id] = self._serial << _POSITION_BITS | position
        self._bury(replaced)
        if len(dead) < len(segment.file_ids):
            self._parts[self._serial] = _Part(root=self.root, segment=segment, dead=frozenset(dead))

    def remove(self, file_ids: Iterable[int], stamp: int) -> None:
        """Take files out as of a stamp; what was indexed later stays."""
        gone = [file_id for file_id in file_ids if self._newest.get(file_id, -1) <= stamp]
        self._newest.update(dict.fromkeys(gone, stamp))
        self._bury([self._place.pop(file_id) for file_id in gone if file_id in self._place])

    def retain(self, file_ids: Collection[int], stamp: int) -> None:
        """Take out all files but these, as of a stamp."""
        kept = set(file_ids)
        self.remove([file_id for file_id in self._place if file_id not in kept], stamp)

    def to_be_packed(self) -> list[int]:
        """Return the files of small segments, once there are so many that look-ups would feel them; else none."""
        small = [part for part in self._parts.values() if len(part.segment) < _SMALL_SYMBOLS]
        if len(small) < _MANY_SMALL:
            return []
        return [
            file_id
            for part in small
            for position, file_id in enumerate(part.segment.file_ids)
            if position not in part.dead
        ]

    def clear(self) -> None:
        """Forget everything."""
        self._parts.clear()
        self._newest.clear()
        self._place.clear()

    def _bury(self, places: Iterable[int]) -> None:
        """Mark files of older segments as dead and drop segments of which nothing is left."""
        by_part: dict[int, set[int]] = {}
        for place in places:
            by_part.setdefault(place >> _POSITION_BITS, set()).add(place & _POSITION_MASK)
        for serial, positions in by_part.items():
            part = self._parts[serial]
            dead = part.dead | positions
            if len(dead) == len(part.segment.file_ids):
                del self._parts[serial]
            else:
                self._parts[serial] = replace(part, dead=dead)


def _by_length(name: str) -> tuple[int, str]:
    return len(name), name


def _rank(kind: int, is_inner: bool) -> tuple[bool, int]:
    return is_inner, _KIND_ORDER.get(kind, 2)


def _importance(symbol: Symbol) -> tuple[bool, int]:
    return _rank(symbol.kind, bool(symbol.container))


def _encloses(container: str, part: _Part, row: int) -> bool:
    segment = part.segment
    module = module_name(segment.paths[segment.file_at(row)])
    within = f"{module}.{segment.container(row)}".lower()
    return container.lower() in within


def _steps(one: Sequence[str], other: Sequence[str]) -> int:
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return len(one) + len(other) - 2 * same
