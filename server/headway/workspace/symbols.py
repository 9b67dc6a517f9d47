"""All symbols of the workspace in memory, for answers at once. Frozen views, changed by file.

`SymbolTable` is the owner and lives on the loop; an `IndexView` is what features get: a few segments, each with the set
of its files that newer ones have replaced. Look-ups take microseconds to a few milliseconds and never wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from headway.workspace.index import SymbolKind, module_name
from headway.workspace.segments import Segment, Symbol

# Bounds of one look-up, so that a letter typed into a vast workspace costs no more than in a small one.
_MAX_NAMES_LOOKED_AT = 1_500
_SHORTEST_FUZZY_QUERY = 3
_LONGEST_QUERY = 200
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A symbol of a workspace folder. `how`: "exact", "prefix", "humps", "part" or "letters"."""

    root: str  # the folder's absolute path
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

    def complete(self, prefix: str, limit: int, suffixes: tuple[str, ...] = ()) -> list[Found]:
        """Return symbols whose names start with a prefix, one for each name, the shortest names first.

        A name that occurs several times is represented by what a person would import: classes and functions at the top
        of a module come first. At most `limit` names.

        Args:
            suffixes: Only symbols of files whose paths end with one of these; empty: of all files.
        """
        found: dict[str, Found] = {}
        # Names of other languages may be the shorter ones: then more have to be looked at to find enough.
        for number, index in self._shortest(prefix, _MAX_NAMES_LOOKED_AT if suffixes else 2 * limit):
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

    def symbols(self, query: str, limit: int) -> list[Found]:
        """Return symbols by name, best first: the whole name, its start, its humps, a part of it, its letters in order.

        `Outer.name` looks for the name within that container. Case does not matter, but decides between equals. An
        empty query gives nothing.
        """
        query = query.strip()[:_LONGEST_QUERY]
        container, _, name = query.rpartition(".")
        name = "".join(name.split())
        if not name or limit <= 0:
            return []
        taken: set[tuple[int, int]] = set()
        found: list[Found] = []
        for how in ("exact", "prefix", "humps", "part", "letters"):
            level: list[Found] = []
            for place in self._fitting(name, how, limit):
                if place not in taken:
                    taken.add(place)
                    level += self._all(*place, how, container, limit)
            level.sort(key=lambda f: (f.symbol.name != name, *_by_length(f.symbol.name), _importance(f.symbol), f.path))
            found += level
            if len(found) >= limit:
                break
        return found[:limit]

    def named(self, name: str, limit: int = 50) -> list[Found]:
        """Return the symbols with exactly this name."""
        found = (f for f in self.symbols(name, limit * 4) if f.symbol.name == name)
        return list(islice(found, limit))

    def _fitting(self, name: str, how: str, limit: int) -> Iterator[tuple[int, int]]:
        """Yield part and index of names that fit in one way; names that fit in a better way may be among them."""
        if how == "prefix":
            yield from self._shortest(name, limit)
            return
        for number, part in enumerate(self.parts):
            for index in islice(_names(part.segment, name, how), limit):
                yield number, index

    def _shortest(self, prefix: str, limit: int) -> list[tuple[int, int]]:
        """Return part and index of the shortest names with a prefix."""
        left = _MAX_NAMES_LOOKED_AT
        keys: list[tuple[int, int, int]] = []
        for number, part in enumerate(self.parts):
            indices = part.segment.with_prefix(prefix)[:left]
            left -= len(indices)
            keys += [(part.segment.name_length(index), number, index) for index in indices]
        keys.sort()
        return [(number, index) for _, number, index in keys[:limit]]

    def _best(self, part: _Part, index: int, suffixes: tuple[str, ...]) -> Found | None:
        segment = part.segment
        rows = part.live_rows(index)
        if suffixes:
            paths = segment.paths
            rows = (row for row in rows if paths[segment.file_at(row)].endswith(suffixes))
        rows = islice(rows, 50)
        row = min(rows, key=lambda row: _rank(segment.kind_of[row], bool(segment.container_of[row])), default=None)
        return None if row is None else Found(root=part.root, symbol=segment.symbol(index, row), how="prefix")

    def _all(self, number: int, index: int, how: str, container: str, limit: int) -> list[Found]:
        part = self.parts[number]
        rows = part.live_rows(index)
        if container:
            rows = (row for row in rows if _encloses(container, part, row))
        return [Found(root=part.root, symbol=part.segment.symbol(index, row), how=how) for row in islice(rows, limit)]


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


def _names(segment: Segment, name: str, how: str) -> Iterator[int]:
    folded = name.lower()
    if how == "exact":
        return (index for index in segment.with_prefix(name)[:50] if segment.name(index).lower() == folded)
    if how == "humps" and len(folded) >= 2:
        candidates = segment.with_humps(folded.lstrip("_")[:1]) & segment.with_letters(folded.replace("_", ""))
        return segment.matching(_hump_pattern(folded.replace("_", "")), candidates)
    if how == "part":
        return segment.containing(folded)
    if how == "letters" and len(folded) >= _SHORTEST_FUZZY_QUERY:
        return segment.matching(_order_pattern(folded), segment.with_letters(folded))
    return iter(())


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


def _either_case(letter: str) -> bytes:
    variants = {re.escape(variant.encode("utf-8", "surrogatepass")) for variant in (letter.lower(), letter.upper())}
    return b"(?:" + b"|".join(sorted(variants)) + b")"


@lru_cache(maxsize=64)
def _order_pattern(letters: str) -> re.Pattern[bytes]:
    """A pattern that is found where the letters occur in their order."""
    return re.compile(b"[^\n]*?".join(map(_either_case, letters)))


@lru_cache(maxsize=64)
def _hump_pattern(letters: str) -> re.Pattern[bytes]:
    """A pattern that is found where the letters are made of starts of a name's parts: `orbo` or `ob` in OrderBook.

    Each letter follows the one before it directly or starts a part: behind an underscore, or in upper case behind what
    is not.
    """
    pattern = b""
    for letter in letters:
        upper = re.escape(letter.upper().encode("utf-8", "surrogatepass"))
        part = b"(?:(?<![A-Za-z0-9])" + _either_case(letter) + b"|(?<![A-Z])" + upper + b")"
        pattern += b"(?:" + _either_case(letter) + b"|[^\n]*?" + part + b")" if pattern else part
    return re.compile(pattern)
