"""Our values and LSP's JSON, in both directions. Columns leave and enter code points here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from headway.lsp.negotiation import Encoding
from headway.session.arguments import Arguments
from headway.workspace.text import Edit, Position, Range, Text

Json: TypeAlias = dict[str, Any]
# Gives a line's text by its number; what converts a range of a document needs no more of it.
Lines: TypeAlias = Callable[[int], str]

# Beyond this LSP's `uinteger` ends.
_MAX_UINT = 2**31 - 1


def units_before(line: str, column: int, encoding: Encoding) -> int:
    """Return how many units of the encoding the first `column` code points of a line take."""
    head = line[: max(column, 0)]
    if encoding is Encoding.UTF32 or head.isascii():
        return len(head)
    if encoding is Encoding.UTF8:
        return len(head.encode("utf-8", "surrogatepass"))
    return len(head.encode("utf-16-le", "surrogatepass")) // 2


def column_at(line: str, units: int, encoding: Encoding) -> int:
    """Return the code points before a column that is counted in units; one inside a character counts as before it.

    What lies behind the end of the line is its end.
    """
    if encoding is Encoding.UTF32 or line.isascii():
        return min(max(units, 0), len(line))
    counted = 0
    for column, character in enumerate(line):
        size = _units_of(character, encoding)
        if counted + size > units:
            return column
        counted += size
    return len(line)


def _units_of(character: str, encoding: Encoding) -> int:
    point = ord(character)
    if encoding is Encoding.UTF16:
        return 2 if point > 0xFFFF else 1
    return 1 if point < 0x80 else 2 if point < 0x800 else 3 if point < 0x10000 else 4


def _key(changes: object) -> tuple[int, int, str] | None:
    """Read a change that is one typed key, as nearly all are: its line, its units and what was typed.

    None for any other, right or wrong: that is read with care. Of a flood of keys this is what each costs.
    """
    if type(changes) is not list or len(changes) != 1:
        return None
    try:
        range_, typed = changes[0]["range"], changes[0]["text"]
        start = range_["start"]
        line, units = start["line"], start["character"]
        in_place = start == range_["end"]
    except (TypeError, KeyError):
        return None
    plain = in_place and type(line) is type(units) is int and type(typed) is str
    return (line, units, typed) if plain and 0 <= line <= _MAX_UINT and 0 <= units <= _MAX_UINT else None


class Converter:
    """Converts positions for one conversation, whose encoding is settled at `initialize`."""

    def __init__(self, encoding: Encoding = Encoding.UTF16) -> None:
        self.encoding = encoding

    def position_in(self, arguments: Arguments, lines: Lines) -> Position:
        """Read a position of a document.

        Raises:
            InvalidArgumentError: It has no line or character, or they are no whole numbers.
        """
        line = arguments.integer("line", high=_MAX_UINT)
        units = arguments.integer("character", high=_MAX_UINT)
        return Position(line, column_at(lines(line), units, self.encoding))

    def range_in(self, arguments: Arguments, lines: Lines) -> Range:
        """Read a range of a document."""
        first, last = arguments.inner("start"), arguments.inner("end")
        start = self.position_in(first, lines)
        return Range(start, start if first.mapping == last.mapping else self.position_in(last, lines))

    def changed(self, text: Text, changes: Arguments, under: str = "contentChanges") -> Text:
        """Apply the `contentChanges` of a `didChange`, each counted on what the one before it left."""
        key = _key(changes.mapping.get(under))
        if key is not None:
            line, units, typed = key
            place = Position(line, column_at(text.line(line), units, self.encoding))
            return text.apply((Edit(Range(place, place), typed),))
        for change in changes.each(under):
            new = change.text("text")
            range_ = self.range_in(change.inner("range"), text.line) if change.has("range") else None
            text = text.apply((Edit(range_, new),))
        return text

    def position_out(self, position: Position, lines: Lines) -> Json:
        """Write a position of a document."""
        units = position.column and units_before(lines(position.line), position.column, self.encoding)
        return {"line": position.line, "character": units}

    def range_out(self, range_: Range, lines: Lines) -> Json:
        """Write a range of a document."""
        return {"start": self.position_out(range_.start, lines), "end": self.position_out(range_.end, lines)}

    def edit_out(self, range_: Range, new_text: str, lines: Lines) -> Json:
        """Write a TextEdit."""
        return {"range": self.range_out(range_, lines), "newText": new_text}
