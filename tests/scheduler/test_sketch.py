"""Quantiles stay within one per cent, whatever is counted, in memory that does not grow with the count."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.scheduler.sketch import MOST_BUCKETS, RELATIVE_ERROR, Sampler, Sketch, WindowedSketch

durations = st.floats(1e-6, 1e6, allow_nan=False)


def filled(values: list[float]) -> Sketch:
    sketch = Sketch()
    for value in values:
        sketch.add(value)
    return sketch


@given(values=st.lists(durations, min_size=1, max_size=200), share=st.floats(0, 1))
def test_a_quantile_is_within_one_per_cent_of_the_true_one(values: list[float], share: float) -> None:
    true = sorted(values)[math.floor(share * (len(values) - 1))]
    found = filled(values).quantile(share)
    assert found is not None
    assert abs(found - true) <= true * RELATIVE_ERROR * (1 + 1e-9)


@given(values=st.lists(durations, max_size=50), others=st.lists(durations, max_size=50))
def test_merging_is_counting_both(values: list[float], others: list[float]) -> None:
    merged = filled(values)
    merged.merge(filled(others))
    whole = filled(values + others)
    assert merged.count == whole.count
    assert math.isclose(merged.total_s, whole.total_s, abs_tol=1e-9)
    assert merged.quantiles_at((0.5, 0.95, 0.99)) == whole.quantiles_at((0.5, 0.95, 0.99))


@given(values=st.lists(st.floats(-1e300, math.inf), min_size=1, max_size=300))
def test_no_value_makes_it_grow_beyond_its_bound(values: list[float]) -> None:
    sketch = filled(values)
    assert len(sketch._buckets) <= MOST_BUCKETS
    assert sketch.count == len(values)


def test_the_bound_holds_when_every_bucket_is_hit() -> None:
    sketch = filled([1e-7 * 1.005**i for i in range(7_000)])
    assert len(sketch._buckets) == MOST_BUCKETS


def test_what_lies_below_counts_as_nothing_and_is_never_negative() -> None:
    sketch = filled([-5.0, 0.0, 1e-9])
    assert sketch.quantile(0.0) == 0.0
    assert sketch.quantile(1.0) == 0.0
    assert sketch.total_s == pytest.approx(1e-9)


def test_nothing_counted_has_no_quantile() -> None:
    assert Sketch().quantile(0.5) is None
    assert Sketch().summary().p99_s is None
    assert Sketch().summary().count == 0


def test_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        Sketch().add(math.nan)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_outside_of_the_whole_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        filled([1.0]).quantile(share)


@pytest.mark.parametrize(("bound_s", "expected"), [(0.0, 1), (0.5, 2), (1.5, 3), (150.0, 4), (1e9, 5)])
def test_at_most_counts_what_was_not_longer(bound_s: float, expected: int) -> None:
    assert filled([0.0, 0.1, 1.0, 100.0, 1e5]).at_most(bound_s) == expected


def test_the_summary_is_of_what_was_seen() -> None:
    summary = filled([1.0] * 90 + [10.0] * 10).summary()
    assert summary.count == 100
    assert summary.mean_s == pytest.approx(1.9)
    assert summary.p50_s == pytest.approx(1.0, rel=RELATIVE_ERROR)
    assert summary.p95_s == pytest.approx(10.0, rel=RELATIVE_ERROR)
    assert summary.max_s == 10.0


def test_the_window_forgets_and_the_lifetime_does_not() -> None:
    sketch = WindowedSketch(slice_s=5.0, slices=12)
    sketch.add(9.0, at_s=0.0)
    sketch.add(1.0, at_s=100.0)
    assert sketch.window(100.0).summary().max_s == 1.0
    assert sketch.lifetime().summary().max_s == 9.0
    assert sketch.lifetime().count == 2


def test_the_window_empties_without_new_values() -> None:
    sketch = WindowedSketch(slice_s=5.0, slices=12)
    sketch.add(9.0, at_s=3.0)
    assert sketch.window(60.0).count == 1
    assert sketch.window(65.1).count == 0


def test_slices_that_left_the_window_are_not_kept_one_by_one() -> None:
    sketch = WindowedSketch(slice_s=1.0, slices=5)
    for second in range(1000):
        sketch.add(0.5, at_s=float(second))
    assert len(sketch._slices) <= 7
    assert sketch.lifetime().count == 1000


def sampled(values: list[float], every_one: int) -> tuple[Sketch, int]:
    """All values of one moment through a sampler; and how many of them were looked at."""
    sampler, sketch, looked_at = Sampler(every_one=every_one), Sketch(), 0
    for value in values:
        weight = sampler.weigh(1.0)
        if weight:
            sketch.add(value, weight)
            looked_at += 1
    return sketch, looked_at


def test_at_high_rates_only_some_are_looked_at_but_all_are_counted() -> None:
    """A hundred thousand at once: the count is right to 15, quantiles to a few per cent, and most were passed over."""
    sketch, looked_at = sampled([0.001 * (i % 1000 + 1) for i in range(100_000)], every_one=1000)
    assert 100_000 - 16 <= sketch.count <= 100_000
    assert looked_at < 20_000
    assert sketch.quantile(0.5) == pytest.approx(0.5, rel=0.05)
    assert sketch.quantile(0.99) == pytest.approx(0.99, rel=0.03)


def test_a_rhythm_of_eight_does_not_hide_a_kind_of_work() -> None:
    """Every eighth value is slow: sampling at an even stride of eight would see all or none of them."""
    sketch, _ = sampled([5.0 if i % 8 == 0 else 0.01 for i in range(80_000)], every_one=100)
    assert (sketch.count - sketch.at_most(1.0)) / 80_000 == pytest.approx(1 / 8, rel=0.15)


def test_at_low_rates_every_one_counts_as_one() -> None:
    sampler = Sampler(slice_s=5.0, every_one=10)
    assert [sampler.weigh(float(second)) for second in range(100)] == [1] * 100


def test_a_new_slice_is_looked_at_closely_again() -> None:
    sampler = Sampler(slice_s=5.0, every_one=3)
    first = [sampler.weigh(0.0) for _ in range(100)]
    assert 0 in first
    second = [sampler.weigh(5.0) for _ in range(3)]
    assert 0 not in second
    assert sum(first) + sum(second) == 103


@given(st.lists(st.tuples(st.integers(1, 40), st.floats(0.0, 0.3)), max_size=60))
def test_passing_over_many_at_once_is_passing_over_each(batches: list[tuple[int, float]]) -> None:
    """The same ones are looked at, and stand for the same numbers."""
    one_by_one, at_once = Sampler(every_one=5), Sampler(every_one=5)
    at_s = 0.0
    for count, step_s in batches:
        instants = [at_s + step_s * position for position in range(count)]
        at_s = instants[-1]
        weights, position = [0] * count, 0
        while (position := position + at_once.pass_over(count - position, at_s)) < count:
            weights[position] = at_once.weigh(instants[position])
            position += 1
        assert weights == [one_by_one.weigh(instant) for instant in instants]
