"""Text against a plain model of it: lines as the protocol defines them, edits, offsets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.workspace import text as text_module
from headway.workspace.text import Edit, Position, Range, Text

_ATOMS = ["\n", "\r", "\r\n", "a", "bc", "é", "😀", "\u2028", "\x0c"]
PIECES = st.lists(st.sampled_from(_ATOMS), max_size=40).map("".join)
POSITIONS = st.builds(Position, st.integers(-1, 12), st.integers(-1, 8))
EDITS = st.builds(Edit, st.one_of(st.none(), st.builds(Range, POSITIONS, POSITIONS)), PIECES)


@pytest.fixture(params=[1, 4, 32_768], ids="block-{}".format)
def block_length(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Small blocks make every edit cross their borders."""
    monkeypatch.setattr(text_module, "_BLOCK_LENGTH", request.param)
    return int(request.param)


def model_lines(source: str) -> list[tuple[int, int]]:
    """Start and end (without the line end) of each line."""
    starts = [0, *(m.end() for m in re.finditer(r"\r\n|\r|\n", source))]
    ends = [*(m.start() for m in re.finditer(r"\r\n|\r|\n", source)), len(source)]
    return list(zip(starts, ends, strict=True))


def model_offset(source: str, position: Position) -> int:
    lines = model_lines(source)
    if position.line < 0:
        return 0
    if position.line >= len(lines):
        return len(source)
    start, end = lines[position.line]
    return min(max(start + position.column, start), end)


def model_apply(source: str, edit: Edit) -> str:
    if edit.range is None:
        return edit.text
    start, end = sorted((edit.range.start, edit.range.end))
    return source[: model_offset(source, start)] + edit.text + source[model_offset(source, end) :]


@pytest.mark.parametrize("length", [1, 4, 32_768])
@given(source=PIECES, edits=st.lists(EDITS, max_size=6), position=POSITIONS)
def test_edits_agree_with_the_model(length: int, source: str, edits: list[Edit], position: Position) -> None:
    """Whatever the edits and wherever the blocks end, text, lines and offsets are those of a plain string."""
    before = text_module._BLOCK_LENGTH
    text_module._BLOCK_LENGTH = length
    try:
        text = Text(source)
        for edit in edits:
            source = model_apply(source, edit)
            text = text.apply([edit])
        lines = model_lines(source)
        assert str(text) == source
        assert len(text) == len(source)
        assert text.line_count == len(lines)
        assert [text.line(n) for n in range(len(lines))] == [source[a:b] for a, b in lines]
        assert text.offset_at(position) == model_offset(source, position)
        for offset in range(len(source) + 1):
            found = text.position_at(offset)
            start, _ = lines[found.line]
            assert start + found.column == offset
            assert found.line == len(lines) - 1 or offset < lines[found.line + 1][0]
    finally:
        text_module._BLOCK_LENGTH = before


_LINES = st.lists(st.sampled_from(["", "a", "bcd", "é😀", "    x = 1"]), min_size=1, max_size=8).map("\n".join)
_KEYS = st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8), st.sampled_from(["", "k", "key"]))


@pytest.mark.parametrize("length", [4, 32_768])
@given(source=_LINES, keys=st.lists(_KEYS, max_size=12), looks=st.integers(1, 4))
def test_keys_within_lines_agree_with_the_model(
    length: int, source: str, keys: list[tuple[int, int, int, str]], looks: int
) -> None:
    """What moves behind them is where it has to be, however seldom somebody looks, and the older texts stay."""
    before = text_module._BLOCK_LENGTH
    text_module._BLOCK_LENGTH = length
    try:
        text = Text(source)
        olds = [(source, text)]
        for number, (line, start, end, new) in enumerate(keys):
            edit = Edit(Range(Position(line, start), Position(line, end)), new)
            source = model_apply(source, edit)
            text = text.apply([edit])
            if number % looks == 0:
                olds.append((source, text))
                assert text.position_at(text.offset_at(Position(line, start))).line == min(line, text.line_count - 1)
        for wanted, made in [*olds, (source, text)]:
            lines = model_lines(wanted)
            assert str(made) == wanted
            assert [made.line(n) for n in range(made.line_count)] == [wanted[a:b] for a, b in lines]
            for number, (start, _) in enumerate(lines):
                assert made.offset_at(Position(number, 0)) == start
                assert made.position_at(start) == Position(number, 0)
    finally:
        text_module._BLOCK_LENGTH = before


@pytest.mark.usefixtures("block_length")
def test_ranges_across_blocks_are_cut_out() -> None:
    text = Text("one\ntwo\r\nthree\rfour")
    assert text.slice(Range(Position(0, 1), Position(3, 2))) == "ne\ntwo\r\nthree\rfo"
    assert text.slice(Range(Position(3, 2), Position(0, 1))) == "ne\ntwo\r\nthree\rfo"


@pytest.mark.usefixtures("block_length")
def test_cr_and_lf_that_meet_become_one_line_end() -> None:
    text = Text("a\rX\nb").apply([Edit(Range(Position(1, 0), Position(1, 1)), "")])
    assert str(text) == "a\r\nb"
    assert [text.line(n) for n in range(text.line_count)] == ["a", "b"]


@pytest.mark.usefixtures("block_length")
def test_cr_and_lf_meet_across_what_an_earlier_edit_left_empty() -> None:
    """An edit that ends a block with a line end leaves no empty block behind which the next edit would not look."""
    text = Text("\r\n\r\n\n\r\n\n").apply(
        [
            Edit(Range(Position(3, 0), Position(6, 0)), "bcbc\r"),
            Edit(Range(Position(0, -1), Position(3, 2)), "\n"),
            Edit(Range(Position(3, 1), Position(6, -1)), "\n\r\na"),
        ]
    )
    whole = Text(str(text))
    assert [text.line(n) for n in range(text.line_count)] == [whole.line(n) for n in range(whole.line_count)]


def test_an_edit_of_a_long_text_touches_one_block() -> None:
    """An edit keeps every block but those it lies in, so its cost does not grow with the text."""
    text = Text("x = 'some line of code'\n" * 200_000)
    edited = text.apply([Edit(Range(Position(100_000, 0), Position(100_000, 1)), "y")])
    assert edited.line(100_000).startswith("y = ")
    kept = set(map(id, text._blocks)) & set(map(id, edited._blocks))
    assert len(text._blocks) > 50
    assert len(kept) == len(text._blocks) - 1
