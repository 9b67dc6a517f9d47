"""Sets of names as the bits of whole numbers, by what a name holds, and names as numbers that sort like them. Pure.

A million names are narrowed down by a few `&` of numbers, which cost microseconds, before any of them is looked at.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789_"
LETTER_INDEX: Final = {letter: index for index, letter in enumerate(LETTERS)}
_KEY_BYTES: Final = 8
# Pairs of neighbouring bytes share so many sets: a name of 18 bytes is in a quarter of them, so that a part of five
# letters leaves a few names in a thousand.
_PAIR_SETS: Final = 64
_PAIR_FACTOR: Final = 11


def letter_sets(texts: Iterable[str]) -> list[int]:
    """Return for each of our letters the set of the texts that hold it, as the bits of a number."""
    found: list[list[int]] = [[] for _ in LETTERS]
    count = 0
    for number, text in enumerate(texts):
        count = number + 1
        for letter in set(text):
            index = LETTER_INDEX.get(letter)
            if index is not None:
                found[index].append(number)
    return [_bits(numbers, count) for numbers in found]


def pair_sets(texts: Sequence[bytes]) -> list[int]:
    """Return for each kind of pair of neighbouring bytes the set of the texts that hold one of it."""
    found: list[list[int]] = [[] for _ in range(_PAIR_SETS)]
    for number, text in enumerate(texts):
        for kind in _pair_kinds(text):
            found[kind].append(number)
    return [_bits(numbers, len(texts)) for numbers in found]


def with_pairs(sets: Sequence[int], part: bytes, among: int) -> int:
    """Return those of some texts that may hold a part, by its pairs of bytes."""
    for kind in _pair_kinds(part):
        among &= sets[kind]
    return among


def _pair_kinds(text: bytes) -> set[int]:
    return {(one * _PAIR_FACTOR + other) % _PAIR_SETS for one, other in pairwise(text)}


def _bits(numbers: Iterable[int], count: int) -> int:
    bits = bytearray((count + 7) // 8)
    for number in numbers:
        bits[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(bits, "little")


def bit_indices(bits: int) -> Iterator[int]:
    """Yield the positions of the set bits of a number, lowest first."""
    words = array("Q", bits.to_bytes((bits.bit_length() + 63) // 64 * 8, "little"))
    if sys.byteorder == "big":
        words.byteswap()
    base = -1
    for word in words:
        while word:
            lowest = word & -word
            yield base + lowest.bit_length()
            word ^= lowest
        base += 64


def sort_keys(names: Iterable[bytes]) -> array[int]:
    """Return the first bytes of each name as a number: it sorts as the names do, and is found by bisecting in C."""
    keys = array("Q", b"".join(name[:_KEY_BYTES].ljust(_KEY_BYTES, b"\0") for name in names))
    if sys.byteorder == "little":
        keys.byteswap()
    return keys


def key_range(keys: Sequence[int], prefix: bytes) -> tuple[int, int]:
    """Return from where to where names lie whose first bytes are the first bytes of a prefix without zero bytes."""
    start = prefix[:_KEY_BYTES]
    low = bisect_left(keys, int.from_bytes(start.ljust(_KEY_BYTES, b"\0"), "big"))
    return low, bisect_right(keys, int.from_bytes(start.ljust(_KEY_BYTES, b"\xff"), "big"), lo=low)


def is_all_of_it(prefix: bytes) -> bool:
    """Return whether `key_range` says all there is to say of a prefix."""
    return len(prefix) <= _KEY_BYTES and b"\0" not in prefix
