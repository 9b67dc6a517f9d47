"""Ranking names of several sources; a check is the typed prefix and the labels in their order."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.features.completion import Candidate, CandidateKind, Source, Tier, fits_any, merge


def source(
    *labels: str, name: str = "ty", tier: Tier = Tier.ENGINE, tiers: Sequence[Tier] | None = None, final: bool = True
) -> Source:
    return Source(
        name=name,
        labels=labels,
        tiers=tiers or [tier] * len(labels),
        make=lambda index: Candidate(label=labels[index], kind=CandidateKind.TEXT, source=name),
        final=final,
    )


def ranked(prefix: str, *sources: Source, most: int = 100) -> list[str]:
    return [item.label for item in merge(sources, prefix, most).items]


@pytest.mark.parametrize(
    ("prefix", "labels", "expected"),
    [
        ("fet", ["prefetch", "_fetch", "Fetch", "fetch", "fet", "x"], ["fet", "fetch", "Fetch", "_fetch"]),
        ("", ["b", "__dunder__", "_private", "a"], ["b", "a", "_private", "__dunder__"]),
        ("_", ["__init__", "_private", "public"], ["_private", "__init__"]),
        ("qs", ["EmptyQuerySet", "QuerySet", "quick_start", "requests"], ["EmptyQuerySet", "QuerySet", "quick_start"]),
        ("area", ["area_of", "other_area"], ["area_of", "other_area"]),
        ("é", ["école", "e"], ["école"]),
    ],
)
def test_labels_that_fit_better_come_first(prefix: str, labels: list[str], expected: list[str]) -> None:
    assert ranked(prefix, source(*labels)) == expected


def test_nearer_names_come_first_where_they_fit_equally() -> None:
    near, far = source("value_far", tier=Tier.MODULE), source("value_near", tier=Tier.LOCAL)
    assert ranked("value", near, far, source("value=", tier=Tier.ARGUMENT)) == ["value=", "value_near", "value_far"]


def test_a_name_of_two_sources_is_shown_once_described_by_the_first_and_placed_by_the_better() -> None:
    engine = source("alpha", "beta")
    text = source("beta", name="text", tier=Tier.LOCAL)
    found = merge([engine, text], "", 100).items
    assert [(item.label, item.source) for item in found] == [("beta", "ty"), ("alpha", "ty")]


def test_the_list_is_cut_and_says_so() -> None:
    many = source(*(f"name_{number:03d}" for number in range(150)))
    cut = merge([many], "", 100)
    assert len(cut.items) == 100
    assert cut.incomplete
    assert not merge([many], "name_14", 100).incomplete


def test_a_source_that_may_have_more_makes_the_list_incomplete() -> None:
    assert merge([source("a"), source("b", final=False)], "", 100).incomplete


def test_only_what_is_shown_is_made() -> None:
    made: list[int] = []

    def make(index: int) -> Candidate:
        made.append(index)
        return Candidate(label=f"n{index}", kind=CandidateKind.TEXT)

    labels = [f"n{index}" for index in range(1000)]
    merge([Source(name="ty", labels=labels, tiers=[Tier.ENGINE] * 1000, make=make)], "", 10)
    assert len(made) == 10


def test_whether_any_name_begins_so() -> None:
    assert fits_any(source("Alpha"), "al")
    assert not fits_any(source("Alpha"), "pha")


@given(
    labels=st.lists(st.text(alphabet="abAB_1", min_size=1, max_size=6), max_size=20, unique=True),
    prefixes=st.lists(st.text(alphabet="abAB_", max_size=4), max_size=6),
)
@example(labels=["A"], prefixes=["_", "_A"])
def test_what_was_asked_before_changes_no_answer(labels: list[str], prefixes: list[str]) -> None:
    kept = source(*labels)
    for prefix in prefixes:
        assert ranked(prefix, kept) == ranked(prefix, source(*labels))


LABELS = st.lists(st.text(alphabet="abAB_1", min_size=1, max_size=6), max_size=30, unique=True)


@given(labels=LABELS, prefix=st.text(alphabet="abAB_", max_size=3), most=st.integers(1, 10))
def test_names_that_begin_with_the_prefix_are_never_lost_to_others(labels: list[str], prefix: str, most: int) -> None:
    """Every name that begins so stands before every other, none twice, at most so many as asked for."""
    found = ranked(prefix, source(*labels), most=most)
    assert len(found) == len(set(found)) <= most
    beginning = {label for label in labels if label.startswith(prefix)}
    assert len(beginning & set(found)) == min(len(beginning), most) or len(found) == most
    marks = [label.startswith(prefix) for label in found]
    assert marks == sorted(marks, reverse=True)
