"""Percentiles, recall, and when a run is not good enough."""

from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.demo.figures import Figures, Report, figures, figures_by_when, percentile, shortcomings
from headway.demo.typist import Key, When

FINE = Figures(keys=40, p50_s=0.01, p95_s=0.03, due=10, found=8, unserved=0, failed=0)
GOOD = Report(
    project="p", server="s", pause_reason=None, start_s=0.3,
    first_list_s=0.9, index_s=2.0, files=12, symbols=90, skipped={},
    sources=12, rounds=1, statements=8, by_when=dict.fromkeys(When, FINE), wall_s=9.0, exit_code=0,
)  # fmt: skip


def worse(when: When, **changed: int) -> Report:
    """The good run with one condition's figures changed."""
    part = Figures(**{**asdict(FINE), **changed})
    return replace(GOOD, by_when={**GOOD.by_when, when: part})


def key(wait_s: float | None = 0.01, hit: bool | None = None, failed: str | None = None) -> Key:
    return Key(at_s=0.0, when=When.IDLE, wait_s=wait_s, hit=hit, failed=failed)


def test_only_lists_that_were_due_count_for_recall() -> None:
    seen = figures([key(hit=True), key(hit=False), key(), key(wait_s=None, failed="gone")])
    assert (seen.keys, seen.due, seen.found, seen.recall) == (4, 2, 1, 0.5)
    assert (seen.unserved, seen.failed) == (1, 1)
    assert seen.p50_s == pytest.approx(0.01)


def test_nothing_typed_is_no_figure() -> None:
    empty = figures([])
    assert (empty.p50_s, empty.p95_s, empty.recall) == (None, None, None)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=50), st.floats(0, 1))
def test_a_percentile_lies_among_the_values(values: list[float], share: float) -> None:
    found = percentile(values, share)
    assert found is not None
    # Interpolation may lose a last digit.
    assert min(values) <= found <= max(values) or found == pytest.approx(max(values))
    assert percentile(values, 0) == min(values)
    assert percentile(values, 1) == max(values)


def test_a_percentile_is_of_a_share() -> None:
    with pytest.raises(ValueError, match=r"1\.5"):
        percentile([1.0], 1.5)


def test_a_good_run_has_no_shortcomings() -> None:
    assert shortcomings(GOOD) == []
    assert shortcomings(replace(GOOD, files=11, skipped={"generated": 1})) == []


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (replace(GOOD, index_s=None), "index was not finished"),
        (replace(GOOD, index_s=None, pause_reason="user"), "paused (user)"),
        (replace(GOOD, index_s=None, pause_reason="cpu"), "paused (cpu) at the end: other programs need this machine"),
        (replace(GOOD, files=11), "11 of 12 files"),
        (replace(GOOD, files=10, skipped={"generated": 1}), "10 of 12 files"),
        (worse(When.INDEXING, found=7), "while indexing: 7 of 10"),
        (worse(When.IDLE, found=7), "idle: 7 of 10"),
        (worse(When.IDLE, due=0, found=0), "idle: no list was there in time"),
        (worse(When.START, unserved=1), "1 of 40 keys had no list"),
        (worse(When.IDLE, failed=2), "2 requests ended in an error"),
        (replace(GOOD, exit_code=None), "had to be killed"),
        (replace(GOOD, exit_code=1), "ended with 1"),
    ],
)
def test_each_shortcoming_is_named(report: Report, words: str) -> None:
    (found,) = shortcomings(report)
    assert words in found


def test_a_small_project_may_be_indexed_before_a_list_is_due() -> None:
    nothing = worse(When.INDEXING, keys=3, due=0, found=0)
    assert shortcomings(replace(nothing, index_s=0.4)) == []
    assert shortcomings(replace(nothing, index_s=40.0)) != []


def test_the_first_seconds_need_lists_and_not_yet_every_name() -> None:
    assert shortcomings(worse(When.START, found=1)) == []


def test_keys_are_told_apart_by_what_the_server_had_to_do() -> None:
    parts = figures_by_when([key(), replace(key(hit=True), when=When.INDEXING)])
    assert [(when, part.keys, part.due) for when, part in parts.items()] == [
        (When.START, 0, 0),
        (When.INDEXING, 1, 1),
        (When.IDLE, 1, 0),
    ]
