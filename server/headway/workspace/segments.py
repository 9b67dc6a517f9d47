"""Symbols of many files packed for instant look-up: made in worker processes, queried where answers must not wait.

A `Segment` is immutable. Its symbols lie in flat arrays sorted by name, its names in one block of bytes, so that it
costs some 60 bytes a symbol, travels between processes as one block and is unpacked by copying. Files are known by the
store's numbers, which are never used twice.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import NamedTuple, TypeAlias

from headway.workspace.index import Definition
from headway.workspace.name_sets import (
    LETTER_INDEX,
    Start,
    bit_indices,
    key_range,
    letter_sets,
    lowest_bits,
    pair_sets,
    sort_keys,
    with_pairs,
)
from headway.workspace.packs import joined, parted
from headway.workspace.text import Position, Range
from headway.workspace.words import split_identifier

_PLACES = 6  # line, column, end line, end column, line and column of the name
_END_OF_PLACES = 3 + _PLACES  # in a `Definition`
# Where so small a share of the names may hold a text, looking at each is quicker than reading all of them.
_FEW = 80
# From so many names on, sets of names by pairs of letters are worth their room: fewer are read through at once.
_PAIRS_FROM_NAMES = 2_000
# What a segment consists of, as it travels. A change of this, or of what one of them holds, makes what older stores
# keep unreadable: raise `versions.SCHEMA_VERSION` together with it.
_ARRAYS = {
    **dict.fromkeys(("file_ids", "stamps", "_keys"), "Q"),
    **dict.fromkeys(("_first_of", "_name_starts", "container_of", "_file_of", "_places"), "I"),
}
_BYTES = ("_names", "_lengths", "kind_of")
_SETS = ("_letters", "_starts_hump", "_pairs")

Fits: TypeAlias = Callable[[bytes, int, int], object]  # a pattern's `search` or `match`


class IndexedFile(NamedTuple):
    """A file as a segment knows it. `stamp` grows with every change of the store: the newest one counts."""

    file_id: int
    stamp: int
    path: str  # relative to the folder, with slashes
    definitions: Sequence[Definition]


class Symbol(NamedTuple):
    """A symbol found in the index; a tuple, since a look-up makes hundreds of them."""

    name: str
    kind: int
    container: str
    path: str
    place: Sequence[int]  # line, column, end line, end column, line and column of the name
    wide: Sequence[int] | None = None  # see `index.Wide`

    @property
    def range(self) -> Range:
        """The whole definition."""
        return Range(Position(self.place[0], self.place[1]), Position(self.place[2], self.place[3]))

    @property
    def selection_range(self) -> Range:
        """Its name."""
        line, column = self.place[4:6]
        return Range(Position(line, column), Position(line, column + len(self.name)))


class Segment:
    """The symbols of some files, by name. Names are compared without regard to case."""

    __slots__ = (
        "_containers",
        "_file_of",
        "_first_of",
        "_folded",
        "_keys",
        "_lengths",
        "_letters",
        "_name_starts",
        "_names",
        "_pairs",
        "_places",
        "_starts_hump",
        "_wide",
        "container_of",
        "file_ids",
        "kind_of",
        "paths",
        "stamps",
    )

    def __init__(self, files: Iterable[IndexedFile]) -> None:
        """Pack the files' symbols. Slow (some microseconds each): for worker processes."""
        files = list(files)
        self.file_ids = array("Q", (file.file_id for file in files))
        self.stamps = array("Q", (file.stamp for file in files))
        self.paths = [file.path for file in files]
        rows = sorted(
            (definition.name.lower(), definition.name, at, definition)
            for at, file in enumerate(files)
            for definition in file.definitions
            if "\n" not in definition.name
        )
        # By column, so that each definition is looked at once: they lie all over the memory.
        columns = list(zip(*[row[3] for row in rows], strict=True)) or [()] * len(Definition._fields)
        of_row, kinds, containers, *places = columns[:_END_OF_PLACES]
        names: list[str] = []
        first_of = array("I")
        former = None
        for row, name in enumerate(of_row):
            if name != former:
                names.append(name)
                first_of.append(row)
                former = name
        first_of.append(len(rows))
        container_index: dict[str, int] = {
            container: index for index, container in enumerate(dict.fromkeys(containers))
        }
        encoded = [name.encode("utf-8", "surrogatepass") for name in names]
        self._first_of = first_of
        self._names = b"\n".join(encoded)
        self._name_starts = array("I", accumulate((len(name) + 1 for name in encoded), initial=0))
        self._lengths = bytes([min(len(name) + 1, 255) for name in encoded])
        self._folded = _folded(self._names, encoded)
        self._containers = list(container_index)
        self.container_of = array("I", map(container_index.__getitem__, containers))
        self._file_of = array("I", [row[2] for row in rows])
        self.kind_of = bytes(kinds)
        self._places = array("I", chain.from_iterable(zip(*places, strict=True)))
        self._wide = {at: tuple(wide) for at, wide in enumerate(columns[-1]) if wide is not None}
        self._letters = letter_sets(name.lower() for name in names)
        self._starts_hump = letter_sets("".join([part[0] for part in split_identifier(name)]) for name in names)
        lines = [] if self._folded is None else self._folded.split(b"\n")[: len(names)]
        self._keys = sort_keys(lines)
        self._pairs = pair_sets(lines) if len(lines) >= _PAIRS_FROM_NAMES else []

    # ---- travelling ----

    def pack(self) -> bytes:
        """Return the segment as one block of bytes, which comes through pipes and lies in databases."""
        folded = b"" if self._folded is None or self._folded is self._names else self._folded
        has_folded = b"" if self._folded is None else b"1"
        texts = ("\0".join(self.paths), "\0".join(self._containers), json.dumps(list(self._wide.items())))
        size = (self.name_count + 7) // 8
        return joined(
            (
                *(getattr(self, name).tobytes() for name in _ARRAYS),
                *(getattr(self, name) for name in _BYTES),
                *(has_folded, folded),
                *(text.encode("utf-8", "surrogatepass") for text in texts),
                *(b"".join(bits.to_bytes(size, "little") for bits in getattr(self, name)) for name in _SETS),
            )
        )

    @classmethod
    def unpack(cls, packed: bytes) -> Segment:
        """Return the segment that `pack` made.

        Raises:
            ValueError: it did not make that.
        """
        parts = iter(parted(packed))
        segment = cls.__new__(cls)
        for name, kind in _ARRAYS.items():
            numbers = array(kind)
            numbers.frombytes(next(parts))
            setattr(segment, name, numbers)
        for name in _BYTES:
            setattr(segment, name, bytes(next(parts)))
        has_folded, folded = bytes(next(parts)), bytes(next(parts))
        segment._folded = (folded or segment._names) if has_folded else None
        paths, containers, wide = (str(next(parts), "utf-8", "surrogatepass") for _ in range(3))
        segment.paths = paths.split("\0") if len(segment.file_ids) else []
        segment._containers = containers.split("\0")
        segment._wide = {row: tuple(columns) for row, columns in json.loads(wide)}
        size = (segment.name_count + 7) // 8
        for name in _SETS:
            bits = next(parts)
            starts = range(0, len(bits), size) if size else range(0)
            setattr(segment, name, [int.from_bytes(bits[at : at + size], "little") for at in starts])
        if not size:
            segment._letters = segment._starts_hump = [0] * len(LETTER_INDEX)
        return segment

    @property
    def memory_bytes(self) -> int:
        """About what it occupies."""
        arrays = (self._first_of, self._keys, self._name_starts, self.container_of, self._file_of, self._places)
        sets = sum(bits.bit_length() // 8 + 32 for bits in (*self._letters, *self._starts_hump, *self._pairs))
        folded = 0 if self._folded is None or self._folded is self._names else len(self._folded)
        return (
            sum(len(a) * a.itemsize for a in arrays)
            + len(self.kind_of)
            + len(self._lengths)
            + len(self._names)
            + folded
            + sets
            + sum(len(path) + 57 for path in self.paths)
            + sum(len(container) + 57 for container in self._containers)
        )

    # ---- reading ----

    def __len__(self) -> int:
        """Symbols."""
        return len(self.kind_of)

    @property
    def name_count(self) -> int:
        """Different names."""
        return len(self._first_of) - 1

    def name(self, index: int) -> str:
        """Return the name with this index; indices follow the order of the folded names."""
        start = self._name_starts[index]
        return self._names[start : self._name_starts[index + 1] - 1].decode("utf-8", "surrogatepass")

    def name_length(self, index: int) -> int:
        """Return the bytes of a name, without making it."""
        return self._name_starts[index + 1] - self._name_starts[index]

    def rows(self, name_index: int) -> range:
        """Return the rows of the symbols with this name."""
        return range(self._first_of[name_index], self._first_of[name_index + 1])

    def some_rows(self, name_indices: Iterable[int], most: int) -> list[tuple[int, range]]:
        """Return names together with the rows of their symbols, of each at most so many."""
        first_of = self._first_of
        return [(at, range(first_of[at], min(first_of[at + 1], first_of[at] + most))) for at in name_indices]

    def file_at(self, row: int) -> int:
        """Return the position of a symbol's file among the segment's files."""
        return self._file_of[row]

    def container(self, row: int) -> str:
        """Return the dotted names that enclose a symbol."""
        return self._containers[self.container_of[row]]

    def symbols(self, named_rows: Iterable[tuple[int, Iterable[int]]]) -> list[Symbol]:
        """Return symbols in full: of some names, by their indices, some of their rows."""
        kinds, files, paths, places = self.kind_of, self._file_of, self.paths, self._places
        containers, container_of = self._containers, self.container_of
        names, starts, at_wide, make = self._names, self._name_starts, self._wide.get, tuple.__new__
        found = []
        for index, rows in named_rows:
            name = names[starts[index] : starts[index + 1] - 1].decode("utf-8", "surrogatepass")
            for row in rows:
                at = row * _PLACES
                owner, path = containers[container_of[row]], paths[files[row]]
                # As NamedTuple's own `__new__` does, which takes as long again for its arguments.
                symbol = make(Symbol, (name, kinds[row], owner, path, places[at : at + _PLACES], at_wide(row)))
                found.append(symbol)
        return found

    # ---- finding names ----

    def starting(self, start: Start) -> range:
        """Return the indices of the names that begin so."""
        if self._folded is not None:
            low, high = key_range(self._keys, start)
            if start.tells_all or low == high:
                return range(low, high)
            low = self._first_not_below(start.folded, low, high)
            # Behind every name that starts with the prefix, since no text holds this byte.
            return range(low, self._first_not_below(start.folded + b"\xff", low, high))
        low = bisect_left(_FoldedNames(self), start.text)
        high = bisect_left(_FoldedNames(self), start.text + "\U0010ffff", lo=low)
        return range(low, high)

    def _first_not_below(self, wanted: bytes, low: int, high: int) -> int:
        """Return the index of the first name from `low` on, below `high`, that is not below some bytes; else `high`."""
        folded, starts = self._folded, self._name_starts
        assert folded is not None
        length = len(wanted)
        while low < high:
            middle = (low + high) // 2
            start = starts[middle]
            # The line's end counts as part of the name: it is below all that names hold.
            if folded[start : min(start + length, starts[middle + 1] - 1)] < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def lengths(self, indices: range) -> bytes:
        """Return the lengths in bytes, line ends counted, of names that follow each other; 255 stands for all above."""
        return self._lengths[indices.start : indices.stop]

    def ends_there(self, index: int, start: Start) -> bool:
        """Return whether a name that begins so is nothing more than that."""
        if self._folded is None:
            return self.name(index).lower() == start.text
        return self._name_starts[index + 1] - self._name_starts[index] == len(start.folded) + 1

    def containing(self, part: str, candidates: int) -> Iterator[int]:
        """Yield the indices of the names that contain a text, in whatever case.

        Args:
            candidates: The names that hold its letters, as `with_letters` gives them.
        """
        wanted = part.lower().encode("utf-8", "surrogatepass")
        if not wanted or b"\n" in wanted:
            return
        if self._folded is None:
            yield from (index for index in range(self.name_count) if part.lower() in self.name(index).lower())
            return
        if self._pairs:
            candidates = with_pairs(self._pairs, wanted, candidates)
            if candidates.bit_count() <= self.name_count // _FEW:
                find, starts = self._folded.find, self._name_starts
                for index in bit_indices(candidates):
                    if find(wanted, starts[index], starts[index + 1] - 1) >= 0:
                        yield index
                return
        at = self._folded.find(wanted)
        while at >= 0:
            index = bisect_right(self._name_starts, at) - 1
            yield index
            at = self._folded.find(wanted, self._name_starts[index + 1])

    def matching(self, fits: Fits, candidates: int, most: int) -> Iterator[int]:
        """Return the indices of the names, of those in a set, which a pattern fits; at most `most` are tried."""
        names, starts = self._names, self._name_starts
        tried = lowest_bits(candidates, most)
        return (index for index in tried if fits(names, starts[index], starts[index + 1] - 1))

    def fits(self, fits: Fits, index: int) -> bool:
        """Return whether a pattern fits a name."""
        return bool(fits(self._names, self._name_starts[index], self._name_starts[index + 1] - 1))

    def with_letters(self, letters: str) -> int:
        """Return the set of the names that hold all the letters, as the bits of a number."""
        return _all_of(self._letters, letters, (1 << self.name_count) - 1)

    def with_humps(self, initials: str, among: int) -> int:
        """Return those of some names of which parts start with each of the letters, as the bits of a number."""
        return _all_of(self._starts_hump, initials, among)


def _all_of(sets: Sequence[int], letters: str, among: int) -> int:
    for letter in set(letters.lower()):
        index = LETTER_INDEX.get(letter)
        if index is not None:  # Letters without a set decide nothing here; the match itself does.
            among &= sets[index]
    return among


class _FoldedNames(Sequence[str]):
    """The names of a segment in lower case, for bisecting."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment

    def __len__(self) -> int:
        return self._segment.name_count

    def __getitem__(self, index):  # type: ignore[no-untyped-def]  # bisect asks for single items only
        return self._segment.name(index).lower()


def _folded(names: bytes, encoded: Sequence[bytes]) -> bytes | None:
    """Return the names in lower case, None where a name changes its length by it, which a few letters do.

    The very same object where all are in lower case already, as most are: then it costs nothing.
    """
    if names.isascii():
        folded = names.lower()
        return names if folded == names else folded
    lower = [name.decode("utf-8", "surrogatepass").lower().encode("utf-8", "surrogatepass") for name in encoded]
    if any(len(a) != len(b) for a, b in zip(lower, encoded, strict=True)):
        return None
    folded = b"\n".join(lower)
    return names if folded == names else folded
