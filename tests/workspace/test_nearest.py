"""The first step of looking for what is near."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.workspace.nearest import _least


@given(st.lists(st.integers(0, 30), max_size=200), st.integers(1, 20))
def test_the_least_are_found_whatever_else_is(distances: list[int], count: int) -> None:
    found = _least(distances, count)
    assert len(set(found)) == len(found) >= min(count, len(distances))
    taken = sorted(distances[at] for at in found)
    assert taken[:count] == sorted(distances)[:count]
    assert len(found) <= max(2 * count, 0) or len(distances) <= count
