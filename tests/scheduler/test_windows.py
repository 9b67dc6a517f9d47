"""Counts of the recent past forget in time."""

from __future__ import annotations

from headway.scheduler.windows import CountWindow


def test_the_window_counts_by_kind_and_forgets() -> None:
    window = CountWindow(2, slice_s=5.0, slices=12)
    window.at(1.0)[0] += 1
    window.at(2.0)[1] += 1
    window.at(50.0)[1] += 1
    assert window.totals(50.0) == [1, 2]
    assert window.totals(66.0) == [0, 1]
    assert window.totals(200.0) == [0, 0]


def test_slices_do_not_pile_up() -> None:
    window = CountWindow(1, slice_s=1.0, slices=3)
    for second in range(100):
        window.at(float(second))[0] += 1
    assert len(window._slices) == 4
    assert window.totals(99.0) == [4]  # three whole slices and the one that begins


def test_the_span_is_what_has_passed_at_first_and_the_window_later() -> None:
    window = CountWindow(1, slice_s=5.0, slices=12)
    assert window.span_s(0.0) == 60.0
    window.at(100.0)[0] += 1
    assert window.span_s(100.0) == 1.0
    assert window.span_s(130.0) == 30.0
    assert window.span_s(1000.0) == 60.0
