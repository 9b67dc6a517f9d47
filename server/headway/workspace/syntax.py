"""Source text as tree-sitter sees it: parsed within a limit of time, its nodes told as definitions. For workers."""

from __future__ import annotations

import re
import time
from typing import Final, Protocol

from tree_sitter import Node, Parser, Tree

from headway.workspace.index import Definition, Wide

# Generous for the largest file that is indexed at all; beyond it the parser is lost in error recovery.
PARSE_LIMIT_S = 5.0
MAX_DEFINITIONS: Final = 20_000
MAX_DETAIL_LENGTH: Final = 240
MAX_DOC_LENGTH: Final = 600
MAX_BODY_LENGTH: Final = 16_384  # Nested definitions repeat their text at every level; this keeps that linear.
_READ_LENGTH: Final = 65_536
_LONE_CR: Final = re.compile(rb"\r(?!\n)")
SPACE: Final = re.compile(r"\s+")


class Parse(Protocol):
    """How a text becomes a tree: `parse_all`, or one that knows its former tree."""

    def __call__(self, source: Source, parser: Parser) -> Tree | None: ...


class Source:
    """A text in UTF-8 with the protocol's line ends, and where its lines begin."""

    __slots__ = ("_lines", "_text", "data")

    def __init__(self, text: str) -> None:
        self.data = _LONE_CR.sub(b"\n", text.encode("utf-8", "surrogatepass"))
        # Where a byte is a character, as nearly always, pieces need no decoding.
        self._text = self.data.decode("ascii") if text.isascii() else None
        self._lines = None if text.isascii() else [0, *(m.end() for m in re.finditer(rb"\n", self.data))]

    def parse(self, parser: Parser, former: Tree | None = None) -> Tree | None:
        """Return the tree, None where the parser is not done within the limit.

        Args:
            former: The tree of another text, edited to be that of this one; see `trees`.
        """
        data = self.data
        deadline_at_s = time.monotonic() + PARSE_LIMIT_S

        def read(offset: int, _point: object) -> bytes:
            return data[offset : offset + _READ_LENGTH]

        def is_late(_offset: int, _has_error: bool) -> bool:
            return time.monotonic() > deadline_at_s

        try:
            if former is None:
                return parser.parse(read, progress_callback=is_late)
            return parser.parse(read, former, progress_callback=is_late)
        except ValueError:
            parser.reset()  # Otherwise the next parse would go on with this text.
            return None

    def text(self, node: Node) -> str:
        """Return what a node spans."""
        return self.slice(node.start_byte, node.end_byte)

    def line_end(self, start: int, end: int) -> int:
        """Return where the line of a place ends, at the latest at another."""
        found = self.data.find(b"\n", start, end)
        return found if found >= 0 else end

    def slice(self, start: int, end: int) -> str:
        """Return what lies between two places in bytes."""
        if self._text is not None:
            return self._text[start:end]
        return self.data[start:end].decode("utf-8", "replace")

    def definition(
        self, text: str, name: Node, whole: Node, kind: int, container: str, detail: str, doc: str, skip: int = 0
    ) -> Definition:
        """Return a definition.

        Args:
            text: The name, as `name` spans it behind its first `skip` ASCII characters.
        """
        (line, column), (end_line, end_column) = whole.start_point, whole.end_point
        name_line, name_column = name.start_point
        name_column += skip
        wide = None
        if self._lines is not None:
            # Columns are bytes here and code points in the index.
            places = ((line, column), (end_line, end_column), (name_line, name_column), name.end_point)
            prefixes = [self._before(*place) for place in places]
            column, end_column, name_column, _ = map(len, prefixes)
            wide = Wide.of(prefixes)
        place = (line, column, end_line, end_column, name_line, name_column)
        # As NamedTuple's own `__new__` does, which takes as long again for its arguments.
        return tuple.__new__(Definition, (text, int(kind), container, *place, detail, doc, wide))

    def _before(self, row: int, column: int) -> str:
        """Return what stands before a place on its line."""
        assert self._lines is not None
        start = self._lines[row]
        return self.data[start : start + column].decode("utf-8", "replace")


def one_line(text: str) -> str:
    """Return a text that begins with a word with each run of white space in it as one space."""
    line = " ".join(text.split())
    return f"{line} " if text[-1:].isspace() else line  # in a fifth of the time that a pattern takes


def parse_all(source: Source, parser: Parser) -> Tree | None:
    """Return the tree of a text of which nothing was known before."""
    return source.parse(parser)
