"""Words of identifiers and queries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.workspace.words import (
    _MOST_TOLD,
    _TOLD,
    MAX_QUERY_WORDS,
    body_words,
    query_words,
    question_words,
    searchable,
    split_identifier,
)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("HTTPServer_v2", ("http", "server", "v", "2")),
        ("order_book", ("order", "book")),
        ("größeÄndern", ("gr", "öß", "e", "ä", "ndern")),
        ("__init__", ("init",)),
        ("x", ("x",)),
        ("___", ()),
    ],
)
def test_identifiers_are_split(name: str, parts: tuple[str, ...]) -> None:
    assert split_identifier(name) == parts


def test_the_whole_identifier_is_a_word_too() -> None:
    assert searchable("OrderBook") == "order book orderbook"
    assert searchable("order") == "order"


def test_keywords_and_repetitions_are_left_out_of_bodies() -> None:
    assert body_words("return self.total + total  # sum", 10) == "total sum"
    assert body_words("one two three", 2) == "one two"


def test_what_is_kept_of_words_is_bounded_and_changes_nothing() -> None:
    numbers = range(100, 100 + _MOST_TOLD + 10)
    told = body_words(" ".join(f"getItem{number}" for number in numbers), len(numbers))
    assert told == " ".join(f"get item {number}" for number in numbers)
    assert len(_TOLD) <= _MOST_TOLD


def test_words_that_say_nothing_are_left_out_of_queries_unless_there_are_no_others() -> None:
    assert query_words("sending invoices to the customers") == ["sending", "invoices", "customers"]
    assert query_words("to be") == ["to", "be"]


@pytest.mark.parametrize(
    "query", ["orderBook", "order_book_of_the_day", "a.b.c.d", "order book", "order the book", "return if not order"]
)
def test_what_may_be_a_name_is_no_question(query: str) -> None:
    assert question_words(query) == []


def test_a_question_is_asked_in_its_telling_words() -> None:
    asked = "Return True if the invoice was sent to all customers."
    assert question_words(asked) == ["invoice", "sent", "all", "customers"]


def test_an_identifier_in_a_question_is_looked_for_in_one_piece_too() -> None:
    assert question_words("where OrderBook closes") == ["orderbook", "order", "book", "closes"]
    asked = question_words(" ".join(f"orderBook{chr(97 + at)}ook" for at in range(20)))
    assert len(asked) <= MAX_QUERY_WORDS
    assert asked[-1] == "booktook"


@given(st.text())
def test_any_string_is_a_query(query: str) -> None:
    assert len(question_words(query)) <= MAX_QUERY_WORDS
    assert all(word and '"' not in word for word in question_words(query))
    words = query_words(query)
    assert len(words) <= MAX_QUERY_WORDS
    assert all(word and '"' not in word for word in words)
