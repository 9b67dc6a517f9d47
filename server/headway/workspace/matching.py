"""How a name fits what is typed, looked up in all segments of an index within bounds. Pure.

Five ways, the best first: the whole name, its start, its humps, a part of it, its letters in their order. Each way
tries so many names at most, and those first that are likely to be meant, so that a vast workspace answers nearly as
fast as a small one: there a query of few letters fits more names than anybody reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Final, Literal, TypeAlias

from headway.workspace.name_sets import start_of
from headway.workspace.segments import Fits, Segment

HOWS: Final = ("exact", "prefix", "humps", "part", "letters")

# Fewer names than these are sorted at once, instead of looking for each length in all of them.
_FEW_WITH_PREFIX: Final = 600
# Names that are tried against a pattern, and kept of those that hold a part.
_MOST_TRIED: Final = 1_500
_MOST_PARTS: Final = 2_000
_MOST_EXACT: Final = 50
_SHORTEST_FUZZY: Final = 3
_MOST_LENGTH: Final = 256  # in bytes, as segments tell it

_First: TypeAlias = Literal["name", "part", "none"]


class Lookup:
    """One query over some segments.

    Args:
        name: What is typed, without containers and spaces; not empty.
        is_live: Says whether the name with an index in a segment, by its number, is still there; None: all are.
    """

    def __init__(
        self, segments: Sequence[Segment], name: str, is_live: Callable[[int, int], bool] | None = None
    ) -> None:
        self._segments = segments
        self._is_live = is_live
        self._folded = name.lower()
        self._bare = self._folded.replace("_", "")
        self._start = start_of(name)
        self._starting = [segment.starting(self._start) for segment in segments]
        self._holding: dict[str, list[int]] = {}
        self._ordered: dict[tuple[str, _First], list[tuple[int, int, int]]] = {}

    def fitting(self, how: str, limit: int) -> list[tuple[int, int, int]]:
        """Return (length in bytes, number of the segment, index) of names that fit in one way, the shortest first.

        Names that fit in a better way may be among them. At most `limit`.
        """
        match how:
            case "exact":
                found = self._exact()
            case "prefix":
                return self._prefix(limit)
            case "humps":
                found = self._humps(limit)
            case "part":
                found = self._parts(max(limit, _MOST_PARTS // max(1, len(self._segments))))
            case _:
                found = self._letters(limit)
        found.sort()
        return found[:limit]

    def shortest(self) -> Iterator[tuple[int, int]]:
        """Yield number of the segment and index of names that start with the query, the shortest first."""
        return ((number, index) for _, number, index in self._shortest())

    def _lives(self, number: int, index: int) -> bool:
        return self._is_live is None or self._is_live(number, index)

    def _exact(self) -> list[tuple[int, int, int]]:
        found = []
        start = self._start
        for number, (segment, starting) in enumerate(zip(self._segments, self._starting, strict=True)):
            for index in starting[:_MOST_EXACT] if starting else ():
                if not segment.ends_there(index, start):
                    break  # What is longer follows.
                if self._lives(number, index):
                    found.append((segment.name_length(index), number, index))
        return found

    def _prefix(self, limit: int) -> list[tuple[int, int, int]]:
        return list(islice(self._shortest(), limit))

    def _shortest(self) -> Iterator[tuple[int, int, int]]:
        """Yield what starts with the query, the shortest first, in all segments, without looking at the names."""
        some = [
            (number, names.start, segment.lengths(names))
            for number, (segment, names) in enumerate(zip(self._segments, self._starting, strict=True))
            if names
        ]
        lives = self._is_live
        if sum(len(lengths) for _, _, lengths in some) < _FEW_WITH_PREFIX:
            every = ((length, n, start + at) for n, start, lengths in some for at, length in enumerate(lengths))
            yield from (hit for hit in sorted(every) if lives is None or lives(hit[1], hit[2]))
            return
        for length in range(self._least_length(), _MOST_LENGTH):
            for number, start, lengths in some:
                at = lengths.find(length)
                while at >= 0:
                    if lives is None or lives(number, start + at):
                        yield length, number, start + at
                    at = lengths.find(length, at + 1)

    def _least_length(self) -> int:
        """Return what `Segment.lengths` says at least of a name that starts with the query."""
        # Letters beyond ASCII may be longer in lower case.
        return min(len(self._folded) + 1, _MOST_LENGTH - 1) if self._folded.isascii() else 1

    def _with_letters(self, letters: str) -> list[int]:
        """Return of each segment the names that hold all of some letters."""
        known = self._holding.get(letters)
        if known is None:
            known = self._holding[letters] = [segment.with_letters(letters) for segment in self._segments]
        return known

    def _humps(self, limit: int) -> list[tuple[int, int, int]]:
        if len(self._bare) < 2:
            return []
        search = _hump_pattern(self._bare).search
        # First where each letter starts a part, then where at least the first one does.
        holding = self._with_letters(self._bare)
        whole = [segment.with_humps(self._bare, bits) for segment, bits in zip(self._segments, holding, strict=True)]
        found = self._tried(search, whole, limit)
        if len(found) < limit:
            names = [segment.fits for segment in self._segments]
            found += [
                hit
                for hit in chain(self._in_order(self._bare, "name"), self._in_order(self._bare, "part"))
                if not whole[hit[1]] >> hit[2] & 1 and names[hit[1]](search, hit[2])
            ]
        return found

    def _letters(self, limit: int) -> list[tuple[int, int, int]]:
        if len(self._bare) < _SHORTEST_FUZZY:
            return []
        # First where the first letter is the name's, then where it starts a part, then anywhere.
        found = list(self._in_order(self._folded, "name"))
        if len(found) < limit:
            found += self._in_order(self._folded, "part")
        if not found:
            found += self._in_order(self._folded, "none")
        return found

    def _in_order(self, letters: str, first: _First) -> Sequence[tuple[int, int, int]]:
        """Return the names in which letters occur in their order, of those in which the first one starts this."""
        known = self._ordered.get((letters, first))
        if known is None:
            holding = self._with_letters(letters)
            start = start_of(letters[:1])
            names = [segment.starting(start) for segment in self._segments]
            starts = [(1 << some.stop) - (1 << some.start) for some in names]
            if first == "name":
                wanted = [bits & some for bits, some in zip(holding, starts, strict=True)]
            else:
                wanted = []
                for segment, bits, some in zip(self._segments, holding, starts, strict=True):
                    inner = segment.with_humps(self._bare[:1], bits)
                    wanted.append((inner if first == "part" else bits & ~inner) & ~some)
            known = self._ordered[letters, first] = self._tried(_order_pattern(letters).match, wanted, _MOST_TRIED)
        return known

    def _tried(self, fits: Fits, candidates: Sequence[int], limit: int) -> list[tuple[int, int, int]]:
        """Try a pattern on the candidates of each segment; where they are too many, each has its share of the tries."""
        left = _MOST_TRIED
        found = []
        counts = {number: bits.bit_count() for number, bits in enumerate(candidates) if bits}
        numbers = sorted(counts, key=counts.__getitem__)
        for done, number in enumerate(numbers):
            segment = self._segments[number]
            share = min(counts[number], max(1, left // (len(numbers) - done)))
            left -= share
            hits = segment.matching(fits, candidates[number], share)
            if self._is_live is not None:
                hits = (index for index in hits if self._lives(number, index))
            found += [(segment.name_length(index), number, index) for index in islice(hits, limit)]
        return found

    def _parts(self, most: int) -> list[tuple[int, int, int]]:
        found = []
        for number, candidates in enumerate(self._with_letters(self._folded)):
            if candidates:
                segment = self._segments[number]
                holding = (i for i in segment.containing(self._folded, candidates) if self._lives(number, i))
                found += [(segment.name_length(i), number, i) for i in islice(holding, most)]
            if len(found) >= _MOST_PARTS:
                break
        return found


def _either_case(letter: str) -> bytes:
    variants = {re.escape(variant.encode("utf-8", "surrogatepass")) for variant in (letter.lower(), letter.upper())}
    return b"(?:" + b"|".join(sorted(variants)) + b")"


@lru_cache(maxsize=64)
def _order_pattern(letters: str) -> re.Pattern[bytes]:
    """A pattern that matches at the start of names in which the letters occur in their order.

    What stands before each letter holds none of it and is not given back: a name is read once at most.
    """
    return re.compile(b"".join(_up_to(letter) + _either_case(letter) for letter in letters))


def _up_to(letter: str) -> bytes:
    if letter.isascii() and letter.isalnum():
        return b"[^\n" + letter.lower().encode() + letter.upper().encode() + b"]*+"
    return b"(?:(?!" + _either_case(letter) + b")[^\n])*+"


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
