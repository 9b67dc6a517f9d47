"""Names narrowed down by sets: never one less than looking at each would give."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.workspace.index import Definition, SymbolKind
from headway.workspace.name_sets import (
    LETTERS,
    bit_indices,
    key_range,
    letter_sets,
    lowest_bits,
    pair_sets,
    sort_keys,
    start_of,
    with_pairs,
)
from headway.workspace.segments import IndexedFile, Segment
from headway.workspace.symbols import IndexView, SymbolTable

WORDS = st.binary(max_size=12).filter(lambda text: b"\n" not in text and b"\xff" not in text)


def view_of(names: list[str]) -> IndexView:
    definitions = [Definition(name, SymbolKind.FUNCTION, "", 1, 0, 2, 0, 1, 4, "", "") for name in names]
    table = SymbolTable("/w")
    table.adopt(Segment.unpack(Segment([IndexedFile(1, 1, "a.py", definitions)]).pack()))
    return IndexView(parts=table.parts)


@given(st.lists(WORDS, max_size=20), WORDS)
def test_pairs_leave_every_text_that_holds_the_part(texts: list[bytes], part: bytes) -> None:
    left = set(bit_indices(with_pairs(pair_sets(texts), part, (1 << len(texts)) - 1)))
    assert left >= {number for number, text in enumerate(texts) if part in text}


@given(st.lists(WORDS, max_size=20))
def test_a_text_is_in_the_sets_of_its_own_pairs_and_in_no_other(texts: list[bytes]) -> None:
    alone = {pair: pair_sets([pair]) for text in texts for pair in map(bytes, pairwise(text))}
    for kind, held in enumerate(pair_sets(texts)):
        expected = [number for number, text in enumerate(texts) if any(alone[bytes(p)][kind] for p in pairwise(text))]
        assert list(bit_indices(held)) == expected


@given(st.lists(st.text(alphabet="azq09_éßж-\n", max_size=8), max_size=20))
def test_a_text_is_in_the_sets_of_its_letters_and_in_no_other(texts: list[str]) -> None:
    for letter, held in zip(LETTERS, letter_sets(texts), strict=True):
        assert list(bit_indices(held)) == [number for number, text in enumerate(texts) if letter in text]


@given(st.lists(st.text(max_size=12), max_size=20), st.text(max_size=12))
def test_keys_lead_to_every_name_that_starts_so(texts: list[str], prefix: str) -> None:
    names = sorted(text.lower().encode("utf-8", "surrogatepass") for text in texts)
    start = start_of(prefix)
    low, high = key_range(sort_keys(names), start)
    expected = {number for number, name in enumerate(names) if name.startswith(start.folded)}
    assert set(range(low, high)) >= expected
    if start.tells_all:
        assert set(range(low, high)) == expected


@given(st.sets(st.integers(0, 600), max_size=40), st.integers(0, 300), st.integers(0, 50))
def test_the_lowest_bits_are_the_first_of_all(places: set[int], above: int, most: int) -> None:
    bits = sum(1 << place for place in places) << above
    assert lowest_bits(bits, most) == list(bit_indices(bits))[:most]


def test_a_part_is_found_in_a_large_segment_by_its_pairs_and_by_reading_it() -> None:
    crowd = [f"number_{number}_of_many" for number in range(5_000)]
    view = view_of([*crowd, "the_quokka_jumps"])
    assert [found.symbol.name for found in view.symbols("uokka_j", 5)] == ["the_quokka_jumps"]
    assert [found.how for found in view.symbols("uokka_j", 5)] == ["part"]
    assert len(view.symbols("r_499", 50)) == 11  # in most names' letters: read through
    assert view.symbols("quokkas_j", 5) == []


def test_the_shortest_are_found_among_more_than_are_sorted_at_once() -> None:
    crowd = [f"order_{number:04}_with_a_long_name" for number in range(2_000)]
    view = view_of([*crowd, "order_zz", "order_z" * 40, "orderly"])
    assert [found.symbol.name for found in view.symbols("order", 2)] == ["orderly", "order_zz"]
    assert view.symbols("order_z", 5)[-1].symbol.name == "order_z" * 40


@pytest.mark.parametrize("start", ["order", "k" * 260, "übung"])
def test_no_length_of_a_name_is_passed_over_by_what_it_starts_with(start: str) -> None:
    crowd = [f"{start}_{number:04}" for number in range(700)]
    view = view_of([*crowd, start, f"{start}x", start.upper()])
    found = [one.symbol.name for one in view.complete(start, 800)]
    assert found[:2] == [start, f"{start}x"]
    assert set(found) == {*crowd, start, f"{start}x", start.upper()}


def test_looser_ways_are_tried_where_better_ones_give_too_little() -> None:
    few = view_of(["order_book", "record", "OtherRouteDelta"])
    assert [found.how for found in few.symbols("ord", 9)] == ["prefix", "humps", "part"]
    many = view_of([*(f"order_{number}" for number in range(30)), "my_order"])
    assert {found.how for found in many.symbols("order", 100)} == {"prefix"}
