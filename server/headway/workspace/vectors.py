"""Vectors in little room: quantised to a few bits a dimension, compared by their signs first. Pure.

A vector takes at most 448 bytes: 8 bits a dimension while that fits, else 4, else the sign alone. Near ones are found
in two steps: all are compared by signs (Hamming distance, a few nanoseconds a dimension's word), and the best of those
by what was stored, against the query in full precision.

Source of the two steps: "Binary and Scalar Embedding Quantization", Hugging Face, 2024 (the query stays in floats).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from operator import mul
from typing import Final

MAX_BYTES: Final = 448
MAX_DIMENSIONS: Final = MAX_BYTES * 8
_SIGNS_OF_BYTES: Final = bytes(0x31 if byte < 128 else 0x30 for byte in range(256))
_SIGNS_OF_DIGITS: Final = bytes(0x31 if chr(byte) in "89abcdef" else 0x30 for byte in range(256))
_NIBBLES: Final = tuple((byte >> 4, byte & 15) for byte in range(256))


class UnfitVectorError(ValueError):
    """These numbers are no vector that can be kept: not finite, all zero, or too many. The message says which."""


def bits_for(dimensions: int) -> int:
    """Return how many bits a dimension has: 8, 4 or 1.

    Raises:
        UnfitVectorError: there are more dimensions than signs fit.
    """
    for bits in (8, 4, 1):
        if 0 < dimensions * bits <= MAX_BYTES * 8:
            return bits
    raise UnfitVectorError(f"{dimensions} dimensions; between 1 and {MAX_DIMENSIONS} can be kept")


def quantised(vector: Sequence[float]) -> bytes:
    """Return a vector in little room; its length does not matter.

    Raises:
        UnfitVectorError: see there.
    """
    bits = bits_for(len(vector))
    if not all(map(math.isfinite, vector)):
        raise UnfitVectorError("it holds a number that is not finite")
    most = max(map(abs, vector))
    if most == 0:
        raise UnfitVectorError("all its numbers are zero")
    if bits == 8:
        scale = 127 / most
        return array("b", [round(value * scale) for value in vector]).tobytes()
    if bits == 1:
        signs = "".join("1" if value >= 0 else "0" for value in vector)
        return int(signs, 2).to_bytes((len(vector) + 7) // 8, "big")
    # Few numbers lie far out; cutting them off leaves finer steps for the rest.
    scale = 7 / min(most, 3 * math.sqrt(sum(map(mul, vector, vector)) / len(vector)))
    digits = [max(1, min(15, 8 + round(value * scale))) for value in vector]
    return bytes.fromhex("".join(f"{digit:x}" for digit in digits) + "0" * (len(digits) % 2))


def signs(stored: bytes, dimensions: int) -> int:
    """Return a bit for each dimension of what `quantised` gave, set where it is not negative."""
    match bits_for(dimensions):
        case 8:
            return int(stored.translate(_SIGNS_OF_BYTES), 2)
        case 4:
            return int(stored.hex().encode()[:dimensions].translate(_SIGNS_OF_DIGITS), 2)
        case _:
            return int.from_bytes(stored, "big")


def likeness(query: Sequence[float]) -> Callable[[bytes], float]:
    """Return what gives the cosine of a stored vector with a query of as many dimensions."""
    dimensions = len(query)
    bits = bits_for(dimensions)
    length = math.sqrt(sum(map(mul, query, query))) or 1.0

    def cosine(stored: bytes) -> float:
        values = _values(stored, bits, dimensions)
        norm = math.sqrt(sum(map(mul, values, values))) or 1.0
        return float(sum(map(mul, query, values))) / (length * norm)

    return cosine


def _values(stored: bytes, bits: int, dimensions: int) -> Sequence[int]:
    if bits == 8:
        return array("b", stored)
    if bits == 4:
        return [nibble - 8 for byte in stored for nibble in _NIBBLES[byte]][:dimensions]
    number = f"{int.from_bytes(stored, 'big'):0{dimensions}b}"
    return [1 if digit == "1" else -1 for digit in number]
