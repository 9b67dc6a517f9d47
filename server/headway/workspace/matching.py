"""How a name fits what is typed, looked up in all segments of an index within bounds. Pure.

Five ways, the best first: the whole name, its start, its humps, a part of it, its letters in their order. Each way
tries so many names at most, and those first that are likely to be meant, so that a vast workspace answers nearly as
fast as a small one: there a query of few letters fits more names than anybody reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from headway.workspace.segments import Segment

HOWS: Final = ("exact", "prefix", "humps", "part", "letters")

# Names that are looked at for their length, tried against a pattern, and kept of those that hold a part.
_MOST_WITH_PREFIX: Final = 1_500
_MOST_TRIED: Final = 3_000
_MOST_PARTS: Final = 2_000
_MOST_EXACT: Final = 50
_SHORTEST_FUZZY: Final = 3


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
        self._is_live = is_live or (lambda number, index: True)
        self._all_live = is_live is None
        self._folded = name.lower()
        self._bare = self._folded.replace("_", "")
        self._starting = [segment.with_prefix(name) for segment in segments]

    def fitting(self, how: str, limit: int) -> list[tuple[int, int, int]]:
        """Return (length in bytes, number of the segment, index) of names that fit in one way, the shortest first.

        Names that fit in a better way may be among them. At most `limit`.
        """
        match how:
            case "exact":
                found = self._exact()
            case "prefix":
                found = self._prefix()
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
        return ((number, index) for _, number, index in self.fitting("prefix", _MOST_WITH_PREFIX))

    def _exact(self) -> list[tuple[int, int, int]]:
        found = []
        for number, (segment, starting) in enumerate(zip(self._segments, self._starting, strict=True)):
            for index in starting[:_MOST_EXACT]:
                if not segment.is_folded(index, self._folded):
                    break  # What is longer follows.
                if self._is_live(number, index):
                    found.append((segment.name_length(index), number, index))
        return found

    def _prefix(self) -> list[tuple[int, int, int]]:
        left = _MOST_WITH_PREFIX
        found = []
        for number, (segment, starting) in enumerate(zip(self._segments, self._starting, strict=True)):
            some = starting[:left]
            if some:
                left -= len(some)
                sizes = segment.shortest(some)
                if self._all_live:
                    found += [(length, number, index) for length, index in sizes]
                else:
                    found += [(length, number, index) for length, index in sizes if self._is_live(number, index)]
        return found

    def _humps(self, limit: int) -> list[tuple[int, int, int]]:
        if len(self._bare) < 2:
            return []
        pattern = _hump_pattern(self._bare)
        # First where each letter starts a part, then where at least the first one does.
        whole = [segment.with_humps(self._bare) & segment.with_letters(self._bare) for segment in self._segments]
        found = self._tried(pattern, whole, limit)
        if len(found) < limit:
            first = [
                segment.with_humps(self._bare[0]) & segment.with_letters(self._bare) & ~known
                for segment, known in zip(self._segments, whole, strict=True)
            ]
            found += self._tried(pattern, first, limit - len(found))
        return found

    def _letters(self, limit: int) -> list[tuple[int, int, int]]:
        if len(self._bare) < _SHORTEST_FUZZY:
            return []
        pattern = _order_pattern(self._folded)
        holding = [segment.with_letters(self._folded) for segment in self._segments]
        initial = [segment.with_prefix(self._folded[:1]) for segment in self._segments]
        # First where the first letter is the name's, then where it starts a part, then anywhere.
        near = [bits & (1 << names.stop) - (1 << names.start) for bits, names in zip(holding, initial, strict=True)]
        found = self._tried(pattern, near, limit)
        if len(found) < limit:
            rest = [bits & ~seen for bits, seen in zip(holding, near, strict=True)]
            inner = [
                bits & segment.with_humps(self._bare[:1]) for segment, bits in zip(self._segments, rest, strict=True)
            ]
            found += self._tried(pattern, inner, limit - len(found))
            if not found:
                last = [bits & ~seen for bits, seen in zip(rest, inner, strict=True)]
                found = self._tried(pattern, last, limit)
        return found

    def _tried(self, pattern: re.Pattern[bytes], candidates: Sequence[int], limit: int) -> list[tuple[int, int, int]]:
        """Try a pattern on the candidates of each segment; where they are too many, each has its share of the tries."""
        left = _MOST_TRIED
        found = []
        numbers = sorted(
            (number for number, bits in enumerate(candidates) if bits), key=lambda n: candidates[n].bit_count()
        )
        for done, number in enumerate(numbers):
            segment = self._segments[number]
            share = max(1, left // (len(numbers) - done))
            left -= min(share, candidates[number].bit_count())
            hits = (i for i in segment.matching(pattern, candidates[number], share) if self._is_live(number, i))
            found += [(segment.name_length(index), number, index) for index in islice(hits, limit)]
        return found

    def _parts(self, most: int) -> list[tuple[int, int, int]]:
        found = []
        for number, segment in enumerate(self._segments):
            holding = (i for i in segment.containing(self._folded) if self._is_live(number, i))
            found += [(segment.name_length(i), number, i) for i in islice(holding, most)]
            if len(found) >= _MOST_PARTS:
                break
        return found


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
