"""Vectors in little room: what is near stays near."""

from __future__ import annotations

import math
import random

import pytest

from headway.workspace.vectors import MAX_BYTES, UnfitVectorError, likeness, quantised, signs


def directions(dimensions: int, count: int, seed: int = 1) -> list[list[float]]:
    draw = random.Random(seed)
    return [[draw.gauss(0, 1) for _ in range(dimensions)] for _ in range(count)]


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


@pytest.mark.parametrize(("dimensions", "loss"), [(3, 0.01), (384, 0.005), (448, 0.005), (449, 0.03), (768, 0.03)])
def test_cosines_are_kept(dimensions: int, loss: float) -> None:
    a, noise = directions(dimensions, 2)
    b = [x + 0.7 * y for x, y in zip(a, noise, strict=True)]
    stored = quantised(a)
    assert len(stored) <= MAX_BYTES
    assert likeness(b)(stored) == pytest.approx(cosine(a, b), abs=loss)


@pytest.mark.parametrize("dimensions", [384, 767, 1536, 3584])
def test_the_nearest_of_many_is_found_in_both_steps(dimensions: int) -> None:
    many = directions(dimensions, 50)
    (noise,) = directions(dimensions, 1, seed=2)
    query = [x + 0.5 * y for x, y in zip(many[7], noise, strict=True)]
    stored = [quantised(vector) for vector in many]
    assert max(range(50), key=lambda at: likeness(query)(stored[at])) == 7
    wanted = signs(quantised(query), dimensions)
    assert min(range(50), key=lambda at: (signs(stored[at], dimensions) ^ wanted).bit_count()) == 7


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        ([], "0 dimensions"),
        ([1.0] * 3585, "3585"),
        ([0.0, 0.0], "zero"),
        ([1.0, math.nan], "finite"),
        ([math.inf], "fin"),
    ],
)
def test_what_is_no_vector_is_refused(vector: list[float], words: str) -> None:
    with pytest.raises(UnfitVectorError, match=words):
        quantised(vector)
