"""Sets of names as the bits of whole numbers, by what a name holds, and names as numbers that sort like them. Pure.

A million names are narrowed down by a few `&` of numbers, which cost microseconds, before any of them is looked at.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, compress
from typing import Final, NamedTuple

LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789_"
LETTER_INDEX: Final = {letter: index for index, letter in enumerate(LETTERS)}
_KEY_BYTES: Final = 8
# Pairs of neighbouring bytes share so many sets: a name of 18 bytes is in a quarter of them, so that a part of five
# letters leaves a few names in a thousand.
_PAIR_SETS: Final = 64
_PAIR_FACTOR: Final = 11
# So few bits are taken off a number one by one: a look at each of its words would take longer.
_FEW_BITS: Final = 5
_WORD_BITS: Final = 64
# A byte as the first and as the second of a pair; they are below 64 each, and so the sum of both is below 256.
_AS_FIRST: Final = bytes(byte * _PAIR_FACTOR % _PAIR_SETS for byte in range(256))
_AS_SECOND: Final = bytes(byte % _PAIR_SETS for byte in range(256))
# For each bit of a byte: the digit, 0 or 1, that it is in each byte.
_DIGITS: Final = [bytes(ord("0") + (byte >> bit & 1) for byte in range(256)) for bit in range(8)]


class _Bits(dict[str, int]):
    """A bit for each of our letters, none for others."""

    def __missing__(self, letter: str) -> int:
        return 0


_LETTER_BITS: Final = _Bits((letter, 1 << index) for letter, index in LETTER_INDEX.items())


def letter_sets(texts: Iterable[str]) -> list[int]:
    """Return for each of our letters the set of the texts that hold it, as the bits of a number."""
    bit_of = _LETTER_BITS.__getitem__
    return _sets([sum(map(bit_of, set(text))) for text in texts], len(LETTERS))


def pair_sets(texts: Sequence[bytes]) -> list[int]:
    """Return for each kind of pair of neighbouring bytes the set of the texts that hold one of it."""
    kinds = _pair_kinds(b"\n".join(texts))
    starts = accumulate((len(text) + 1 for text in texts), initial=0)
    bit_of = [1 << kind for kind in range(_PAIR_SETS)].__getitem__
    # Of a text of n bytes n - 1 pairs count: the two behind them reach over the line's end.
    held = ((start, start + len(text) - 1) for start, text in zip(starts, texts, strict=False))
    return _sets([sum(map(bit_of, set(kinds[low : max(low, high)]))) for low, high in held], _PAIR_SETS)


def with_pairs(sets: Sequence[int], part: bytes, among: int) -> int:
    """Return those of some texts that may hold a part, by its pairs of bytes."""
    for kind in _pair_kinds(part):
        among &= sets[kind]
    return among


def _pair_kinds(text: bytes) -> bytes:
    """Return the kind of each pair of neighbouring bytes.

    All at once, as two long numbers of which no byte flows over into the next one.
    """
    if len(text) < 2:
        return b""
    one = int.from_bytes(text[:-1].translate(_AS_FIRST), "little")
    other = int.from_bytes(text[1:].translate(_AS_SECOND), "little")
    return (one + other).to_bytes(len(text) - 1, "little").translate(_AS_SECOND)


def _sets(masks: Iterable[int], most: int) -> list[int]:
    """Return for each of so many bits the set of the numbers that hold it: a table of bits turned on its side."""
    words = array("Q", masks)
    if sys.byteorder == "big":
        words.byteswap()
    block = words.tobytes()
    if not block:
        return [0] * most
    columns = [block[at::8][::-1] for at in range((most + 7) // 8)]  # the first one is the lowest bit of a set
    return [int(columns[bit >> 3].translate(_DIGITS[bit & 7]), 2) for bit in range(most)]


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


def lowest_bits(bits: int, most: int) -> list[int]:
    """Return the positions of the lowest set bits of a number, lowest first.

    Args:
        most: So many at most. Where it is known that fewer are set, their number is the better one.
    """
    # Names that begin alike lie close together: what is below the first bit costs nothing more.
    base = (bits & -bits).bit_length() - 1
    if base < 0 or most <= 0:
        return []
    bits >>= base
    found: list[int] = []
    if most <= _FEW_BITS:
        base -= 1
        while bits and len(found) < most:
            distance = (bits & -bits).bit_length()
            base += distance
            found.append(base)
            bits >>= distance
        return found
    words = array("Q", bits.to_bytes((bits.bit_length() + _WORD_BITS - 1) // _WORD_BITS * 8, "little"))
    if sys.byteorder == "big":
        words.byteswap()
    for at in compress(range(len(words)), words):
        word, start = words[at], base + at * _WORD_BITS - 1
        while word:
            lowest = word & -word
            found.append(start + lowest.bit_length())
            word ^= lowest
        if len(found) >= most:
            break
    return found[:most]


def sort_keys(names: Iterable[bytes]) -> array[int]:
    """Return the first bytes of each name as a number: it sorts as the names do, and is found by bisecting in C."""
    keys = array("Q", b"".join(name[:_KEY_BYTES].ljust(_KEY_BYTES, b"\0") for name in names))
    if sys.byteorder == "little":
        keys.byteswap()
    return keys


class Start(NamedTuple):
    """How names begin, made once for all segments that are looked through.

    `text` and `folded` are in lower case; the keys of names that begin so lie between `low` and `high`. `tells_all`:
    what lies between them begins so.
    """

    text: str
    folded: bytes
    low: int
    high: int
    tells_all: bool


def start_of(prefix: str) -> Start:
    """Return how the names begin that start with a prefix, in whatever case."""
    text = prefix.lower()
    folded = text.encode("utf-8", "surrogatepass")
    # Keys are filled up with zero bytes, so a prefix that holds one is beyond them.
    start = b"" if b"\0" in folded else folded[:_KEY_BYTES]
    low = int.from_bytes(start.ljust(_KEY_BYTES, b"\0"), "big")
    high = int.from_bytes(start.ljust(_KEY_BYTES, b"\xff"), "big")
    return Start(text, folded, low, high, len(folded) <= _KEY_BYTES and b"\0" not in folded)


def key_range(keys: Sequence[int], start: Start) -> tuple[int, int]:
    """Return from where to where names lie that may begin so."""
    low = bisect_left(keys, start.low)
    if low == len(keys) or keys[low] > start.high:
        return low, low
    return low, bisect_right(keys, start.high, low)
