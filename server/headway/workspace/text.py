"""Positions in text, edits of it, and text that stays cheap to edit when it is long.

Columns and offsets count Unicode code points; UTF-16 and UTF-8 units stay in `lsp/convert.py`. Lines end as the
Language Server Protocol says: at LF, CRLF or a lone CR. This room knows no documents, no disk and no protocol.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

_LINE_END = re.compile(r"\r\n|\r|\n")
# An edit copies one block, so a block is long enough to keep the list of blocks short and short enough to copy at once.
_BLOCK_LENGTH = 8_192


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place between two code points: zero-based line, and code points since the line's start."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """From `start` up to and without `end`."""

    start: Position
    end: Position


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `text` in the place of `range`; `range` None means the whole text."""

    range: Range | None
    text: str


class _Block:
    """A stretch of whole lines; only the last block of a text may end without a line end."""

    __slots__ = ("_lines", "line_ends", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        carriage_returns = text.count("\r")
        self.line_ends = text.count("\n") + (carriage_returns - text.count("\r\n") if carriage_returns else 0)
        # Where lines start (the last is where the line behind the last line end would), and by how much those behind
        # which line have moved since: keys that are typed in one line leave the list to the next text as it is. One
        # attribute, as other threads may read it meanwhile.
        self._lines: tuple[list[int], int, int] | None = None

    def typed(self, line: int, start: int, end: int, new: str) -> _Block:
        """Return the block after a change within one line that neither takes nor makes a line end."""
        starts, moved_from, moved = self._found()
        if moved and moved_from != line:
            starts, moved = self.starts, 0
        block = _Block.__new__(_Block)
        block.text = self.text[:start] + new + self.text[end:]
        block.line_ends = self.line_ends
        block._lines = starts, line, moved + len(new) - (end - start)
        return block

    @property
    def starts(self) -> list[int]:
        """Offsets at which lines start; the last is where the line behind the last line end would start."""
        starts, moved_from, moved = self._found()
        if moved:
            starts = [*starts[: moved_from + 1], *(start + moved for start in starts[moved_from + 1 :])]
            self._lines = starts, 0, 0
        return starts

    def line_at(self, number: int) -> tuple[int, int]:
        """Return the offsets of a line's start and of its end, without the line end."""
        starts, moved_from, moved = self._found()
        start = starts[number] + (moved if number > moved_from else 0)
        if number + 1 >= len(starts):
            return start, len(self.text)
        end = starts[number + 1] + (moved if number >= moved_from else 0) - 1
        if end > start and self.text[end] == "\n" and self.text[end - 1] == "\r":
            end -= 1
        return start, end

    def _found(self) -> tuple[list[int], int, int]:
        if self._lines is None:
            if "\r" in self.text:
                starts = [0, *(found.end() for found in _LINE_END.finditer(self.text))]
            else:  # Five times faster.
                ends = accumulate(map(len, self.text.split("\n")[:-1]))
                starts = [0, *(end + line for line, end in enumerate(ends, 1))]
            self._lines = starts, 0, 0
        return self._lines


class Text:
    """Immutable text: lines, positions and edits, each at the cost of one block and not of the whole text."""

    __slots__ = ("_blocks", "_joined", "_lines_before", "_offsets")

    def __init__(self, text: str = "") -> None:
        self._adopt(_cut(text))
        self._joined: str | None = text

    def _adopt(self, blocks: tuple[_Block, ...]) -> None:
        self._blocks = blocks
        self._offsets = list(accumulate((len(block.text) for block in blocks), initial=0))
        self._lines_before = list(accumulate((block.line_ends for block in blocks), initial=0))

    def __str__(self) -> str:
        if self._joined is None:
            self._joined = "".join(block.text for block in self._blocks)
        return self._joined

    def __len__(self) -> int:
        """Code points in the text."""
        return self._offsets[-1]

    def pieces(self) -> Iterator[tuple[int, str]]:
        """Yield stretches of whole lines, with the number of the first line of each.

        What an edit leaves alone is the same string object in the text after it, so work on a stretch can be kept.
        """
        for line, block in zip(self._lines_before, self._blocks, strict=False):
            yield line, block.text

    @property
    def line_count(self) -> int:
        """Lines in the text, at least 1: behind a last line end there is one more, empty line."""
        return self._lines_before[-1] + 1

    def line(self, number: int) -> str:
        """Return the line without its line end; empty where there is no such line."""
        if not 0 <= number < self.line_count:
            return ""
        index = self._block_of_line(number)
        block = self._blocks[index]
        start, end = block.line_at(number - self._lines_before[index])
        return block.text[start:end]

    def offset_at(self, position: Position) -> int:
        """Return the offset of a position in code points; what lies outside of the text is moved to the nearest end.

        A column behind the end of its line means the end of the line, as the protocol has it.
        """
        index, within = self._place(position)
        return self._offsets[index] + within

    def position_at(self, offset: int) -> Position:
        """Return the position of an offset in code points, which is moved into the text first."""
        offset = min(max(offset, 0), len(self))
        index = min(bisect_right(self._offsets, offset) - 1, len(self._blocks) - 1)
        within = offset - self._offsets[index]
        starts = self._blocks[index].starts
        line = bisect_right(starts, within) - 1
        return Position(self._lines_before[index] + line, within - starts[line])

    def slice(self, range_: Range) -> str:
        """Return the text of a range."""
        first, start = self._place(min(range_.start, range_.end))
        last, end = self._place(max(range_.start, range_.end))
        if first == last:
            return self._blocks[first].text[start:end]
        middle = "".join(block.text for block in self._blocks[first + 1 : last])
        return self._blocks[first].text[start:] + middle + self._blocks[last].text[:end]

    def apply(self, edits: Iterable[Edit]) -> Text:
        """Return the text after the edits, each applied to what the one before it left."""
        text = self
        for edit in edits:
            text = Text(edit.text) if edit.range is None else text._replaced(edit.range, edit.text)
        return text

    def _replaced(self, range_: Range, new: str) -> Text:
        typed = self._typed(range_, new)
        if typed is not None:
            return typed
        first, start = self._place(min(range_.start, range_.end))
        last, end = self._place(max(range_.start, range_.end))
        merged = self._blocks[first].text[:start] + new + self._blocks[last].text[end:]
        # CR at the end of the block before and LF at the start of this one have become one line end.
        if first > 0 and merged.startswith("\n") and self._blocks[first - 1].text.endswith("\r"):
            first -= 1
            merged = self._blocks[first].text + merged
        blocks, rest = _cut(merged), self._blocks[last + 1 :]
        if rest and not blocks[-1].text:
            # Only the last block may be empty: two line ends that meet are looked for in neighbours.
            blocks = blocks[:-1]
        return self._with(self._blocks[:first] + blocks + rest)

    def _typed(self, range_: Range, new: str) -> Text | None:
        """Return the text after what most edits are, in a third of the time: a key in the middle of a line.

        None where lines or blocks may come, go or meet.
        """
        number = range_.start.line
        if range_.end.line != number or not 0 <= number < self.line_count or "\n" in new or "\r" in new:
            return None
        index = self._block_of_line(number)
        block = self._blocks[index]
        if len(block.text) + len(new) > 2 * _BLOCK_LENGTH or "\r" in block.text:
            return None
        within = number - self._lines_before[index]
        low, high = block.line_at(within)
        start = min(max(low + range_.start.column, low), high)
        end = min(max(low + range_.end.column, low), high)
        made = block.typed(within, min(start, end), max(start, end), new)
        if index and made.text.startswith("\n") and self._blocks[index - 1].text.endswith("\r"):
            return None
        text = Text.__new__(Text)
        text._joined = None
        text._blocks = (*self._blocks[:index], made, *self._blocks[index + 1 :])
        longer = len(made.text) - len(block.text)
        offsets = self._offsets
        text._offsets = [*offsets[: index + 1], *[offset + longer for offset in offsets[index + 1 :]]]
        text._lines_before = self._lines_before
        return text

    def _with(self, blocks: tuple[_Block, ...]) -> Text:
        text = Text.__new__(Text)
        text._joined = None
        text._adopt(blocks)
        return text

    def _place(self, position: Position) -> tuple[int, int]:
        """Return the block of a position and the offset within it."""
        if position.line < 0:
            return 0, 0
        if position.line >= self.line_count:
            last = len(self._blocks) - 1
            return last, len(self._blocks[last].text)
        index = self._block_of_line(position.line)
        start, end = self._blocks[index].line_at(position.line - self._lines_before[index])
        return index, min(max(start + position.column, start), end)

    def _block_of_line(self, number: int) -> int:
        return min(bisect_right(self._lines_before, number) - 1, len(self._blocks) - 1)


def _cut(text: str) -> tuple[_Block, ...]:
    """Cut into blocks behind line ends; a line longer than a block stays whole."""
    if len(text) <= 2 * _BLOCK_LENGTH:
        return (_Block(text),)
    blocks = []
    start = 0
    while len(text) - start > 2 * _BLOCK_LENGTH:
        found = _LINE_END.search(text, start + _BLOCK_LENGTH)
        if found is None:
            break
        blocks.append(_Block(text[start : found.end()]))
        start = found.end()
    blocks.append(_Block(text[start:]))
    return tuple(blocks)
