"""Counts of the recent past forget in time; ages of what waits are right in any order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.scheduler.windows import CountWindow, WaitingAges


def test_the_window_counts_by_kind_and_forgets() -> None:
    window = CountWindow(2, slice_s=5.0, slices=12)
    window.add(0, 1.0)
    window.add(1, 2.0)
    window.add(1, 50.0)
    assert window.totals(50.0) == [1, 2]
    assert window.totals(66.0) == [0, 1]
    assert window.totals(200.0) == [0, 0]


def test_slices_do_not_pile_up() -> None:
    window = CountWindow(1, slice_s=1.0, slices=3)
    for second in range(100):
        window.add(0, float(second))
    assert len(window._slices) == 4
    assert window.totals(99.0) == [4]  # three whole slices and the one that begins


def test_the_span_is_what_has_passed_at_first_and_the_window_later() -> None:
    window = CountWindow(1, slice_s=5.0, slices=12)
    assert window.span_s(0.0) == 60.0
    window.add(0, 100.0)
    assert window.span_s(100.0) == 1.0
    assert window.span_s(130.0) == 30.0
    assert window.span_s(1000.0) == 60.0


@given(waits=st.lists(st.tuples(st.floats(0, 1000), st.booleans()), max_size=60))
def test_the_longest_wait_is_that_of_the_oldest(waits: list[tuple[float, bool]]) -> None:
    """Whatever came and went, the longest wait is understated by at most a quarter of a second, never overstated."""
    ages = WaitingAges()
    for since_s, _ in waits:
        ages.add(since_s)
    left = []
    for since_s, goes in waits:
        if goes:
            ages.remove(since_s)
        else:
            left.append(since_s)
    true_s = 1000 - min(left, default=1000)
    assert true_s - WaitingAges.GRAIN_S <= ages.longest_s(1000.0) <= true_s
    assert len(ages._counts) <= len(left)


def test_removing_what_does_not_wait_is_an_error() -> None:
    with pytest.raises(KeyError):
        WaitingAges().remove(1.0)
