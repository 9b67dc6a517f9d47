"""Columns in the client's units and in ours, edits in sequence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.lsp.convert import Converter, column_at, units_before
from headway.lsp.negotiation import Encoding, negotiate
from headway.session.arguments import Arguments
from headway.session.ports import InvalidArgumentError
from headway.workspace.text import Position, Range, Text

TEXT = st.text(alphabet=st.sampled_from("aé€😀👩‍🔬\u0301\ud83dz "), max_size=20)


@given(line=TEXT, column=st.integers(0, 25), encoding=st.sampled_from(list(Encoding)))
def test_columns_survive_the_way_out_and_back(line: str, column: int, encoding: Encoding) -> None:
    column = min(column, len(line))
    assert column_at(line, units_before(line, column, encoding), encoding) == column


@pytest.mark.parametrize(
    ("encoding", "units"), [(Encoding.UTF8, 4 + 2 + 1), (Encoding.UTF16, 2 + 1 + 1), (Encoding.UTF32, 1 + 1 + 1)]
)
def test_units_are_those_of_the_encoding(encoding: Encoding, units: int) -> None:
    assert units_before("😀éa", 3, encoding) == units
    assert column_at("😀éa", units, encoding) == 3


def test_a_column_inside_a_character_counts_as_before_it() -> None:
    assert column_at("a😀b", 2, Encoding.UTF16) == 1


def test_a_column_behind_the_end_is_the_end() -> None:
    assert column_at("a😀", 99, Encoding.UTF16) == 2
    assert column_at("abc", 99, Encoding.UTF8) == 3


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (None, Encoding.UTF16),
        ([], Encoding.UTF16),
        (["utf-7", 5], Encoding.UTF16),
        (["utf-8", "utf-16"], Encoding.UTF8),
        (["utf-7", "utf-32", "utf-8"], Encoding.UTF32),
    ],
)
def test_the_first_encoding_that_both_know_is_chosen(offered: object, chosen: Encoding) -> None:
    assert negotiate(offered) is chosen


def place(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def test_changes_count_on_what_the_one_before_left() -> None:
    changes = {
        "contentChanges": [
            {"range": {"start": place(0, 0), "end": place(0, 0)}, "text": "😀"},
            {"range": {"start": place(0, 2), "end": place(0, 3)}, "text": "X\n"},
            {"range": {"start": place(1, 0), "end": place(1, 0)}, "text": "Y"},
        ]
    }
    assert str(Converter(Encoding.UTF16).changed(Text("ab"), Arguments(changes))) == "😀X\nYb"


@given(
    text=st.text(alphabet="a😀é\n", max_size=12),
    line=st.integers(0, 4),
    units=st.integers(0, 9),
    taken=st.integers(0, 2),
    typed=st.text(alphabet="b😀\n", max_size=3),
    encoding=st.sampled_from(list(Encoding)),
)
def test_a_key_is_read_as_any_other_change(
    text: str, line: int, units: int, taken: int, typed: str, encoding: Encoding
) -> None:
    key = {"range": {"start": place(line, units), "end": place(line, units + taken)}, "text": typed}
    nothing = {"range": {"start": place(0, 0), "end": place(0, 0)}, "text": ""}
    converter = Converter(encoding)
    alone = converter.changed(Text(text), Arguments({"contentChanges": [key]}))
    assert str(alone) == str(converter.changed(Text(text), Arguments({"contentChanges": [key, nothing]})))


@pytest.mark.parametrize(
    ("start", "typed", "wrong"),
    [
        ({"line": -1, "character": 0}, "a", "range.start.line"),
        ({"line": 0, "character": True}, "a", "range.start.character"),
        ({"line": 0, "character": 2**31}, "a", "range.start.character"),
        ({"line": 0}, "a", "range.start.character"),
        ({"line": 0, "character": 0}, 1, "text"),
        (None, "a", "range.start"),
    ],
)
def test_a_wrong_key_is_named(start: object, typed: object, wrong: str) -> None:
    changes = {"contentChanges": [{"range": {"start": start, "end": start}, "text": typed}]}
    with pytest.raises(InvalidArgumentError, match=rf"contentChanges\[0\]\.{wrong}"):
        Converter().changed(Text("old"), Arguments(changes))


def test_a_change_without_a_range_is_the_whole_text() -> None:
    changes = {"contentChanges": [{"text": "new"}, {"range": None, "text": "newer"}]}
    assert str(Converter().changed(Text("old"), Arguments(changes))) == "newer"


def test_a_wrong_position_is_named() -> None:
    with pytest.raises(InvalidArgumentError, match=r"position\.line: must be a whole number"):
        Converter().position_in(Arguments({"line": "a", "character": 0}, "position"), Text("").line)


def test_ranges_go_out_in_units() -> None:
    text = Text("😀a\nb")
    range_ = Range(Position(0, 1), Position(1, 1))
    assert Converter(Encoding.UTF16).range_out(range_, text.line) == {"start": place(0, 2), "end": place(1, 1)}
