"""Where the cursor stands in Python text: in a name, behind a dot, in an import, a string, a comment.

It reads text that need not parse, as text that is being written seldom does: a lexer of strings and comments and a few
patterns, no parser. Pure; each paragraph of a text is read once and remembered.
"""

from __future__ import annotations

import enum
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from headway.workspace.text import Position, Text

_WORD_BEFORE = re.compile(r"\w*$")
_WORD_AFTER = re.compile(r"\w*")
_STRING_OR_COMMENT = re.compile(
    r"#[^\n]*"
    r"|(?:'''|\"\"\")"
    r'|"(?:[^"\\\n]|\\(?:\r\n|[\s\S]))*"?'
    r"|'(?:[^'\\\n]|\\(?:\r\n|[\s\S]))*'?"
)
_RECEIVER = re.compile(r"((?:[^\W\d]\w*\s*\.\s*)*[^\W\d]\w*)\s*(\(\))?\s*\.\s*$")
_PLAIN_STRING = re.compile(r"(?:^|[^\w'\"])[rRfFuU]?(?:\"[^\"\n]*\"|'[^'\n]*')\s*\.$")
_FROM_MODULE = re.compile(r"^\s*from\s+([.\w]*)$")
_IMPORT_MODULE = re.compile(r"^\s*import\s+(?:[^#;]*,\s*)?([.\w]*)$")
_IMPORT_WORD = re.compile(r"^\s*from\s+[.\w]+\s+$")
_FROM_NAME = re.compile(r"^\s*from\s+([.\w]+)\s+import\s+(?:\(\s*)?[^#;()]*$")
_FROM_OPEN = re.compile(r"^\s*from\s+([.\w]+)\s+import\s*\([^)]*$", re.DOTALL)
_NEW_NAME = re.compile(r"\b(?:def|class)\s+$")
_AS_NAME = re.compile(r"^\s*(?:from|import)\b.*\bas\s+$")
_BLANK_LINE = re.compile(r"\n\r?\n")
_OPEN_IMPORT_LINES = 60


class PlaceKind(enum.StrEnum):
    """What may stand at a place. `NEW_NAME`: a name that is just being made up; `LITERAL`: a number.

    `IMPORT_WORD`: behind `from module`, where only the word `import` can stand.
    """

    NAME = "name"
    MEMBER = "member"
    MODULE = "module"
    IMPORTED = "imported"
    STRING = "string"
    COMMENT = "comment"
    NEW_NAME = "new name"
    IMPORT_WORD = "import word"
    LITERAL = "literal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The word at the cursor and what stands before it.

    `prefix` is what is written of the word, from `start` to the cursor; `end` is where the word ends. `receiver` is the
    dotted name before the dot of a MEMBER ("" where it is no plain name, with "()" behind it for a call, two quotes for
    a string), `module` the module of an IMPORTED name, or what is written of a MODULE's dotted name before the word.
    """

    kind: PlaceKind
    prefix: str
    start: Position
    end: Position
    receiver: str = ""
    module: str = ""

    @property
    def cursor(self) -> Position:
        """Where the cursor is."""
        return Position(self.start.line, self.start.column + len(self.prefix))


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A stretch of lines, and the same with its strings and comments blanked out (of equal length).

    `spans` are the strings and comments: start, end, quote ("#" for a comment). `ends_in` is the quote of a
    triple-quoted string that goes on behind it, or "".
    """

    text: str
    code: str
    spans: tuple[tuple[int, int, str], ...]
    ends_in: str


@lru_cache(maxsize=16_384)
def _read(text: str, begins_in: str) -> Paragraph:
    spans: list[tuple[int, int, str]] = []
    at, size = 0, len(text)
    quote = begins_in
    while at < size or quote:
        if quote:
            end = _string_end(text, at, quote)
            if end < 0:
                spans.append((at, size, quote))
                break
            spans.append((at, end, quote))
            at, quote = end, ""
            continue
        found = _STRING_OR_COMMENT.search(text, at)
        if found is None:
            break
        token = found.group()
        if token in ("'''", '"""'):
            end = _string_end(text, found.end(), token)
            if end < 0:
                spans.append((found.start(), size, token))
                quote = token
                break
            spans.append((found.start(), end, token))
            at = end
        else:
            spans.append((found.start(), found.end(), token[0]))
            at = found.end()
    return Paragraph(text, _blanked(text, spans), tuple(spans), quote)


def _string_end(text: str, at: int, quote: str) -> int:
    while True:
        end = text.find(quote, at)
        if end < 0:
            return -1
        backslashes = 0
        while end - backslashes > at and text[end - backslashes - 1] == "\\":
            backslashes += 1
        if backslashes % 2 == 0:
            return end + 3
        at = end + 1


def blanked(text: str) -> str:
    """Return a piece of text that begins in code, its strings and comments blanked out."""
    return _read(text, "").code


def _blanked(text: str, spans: list[tuple[int, int, str]]) -> str:
    if not spans:
        return text
    parts: list[str] = []
    at = 0
    for start, end, _ in spans:
        parts.append(text[at:start])
        inside = text[start:end]
        parts.append(" " * len(inside) if "\n" not in inside else re.sub(r"[^\r\n]", " ", inside))
        at = end
    parts.append(text[at:])
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class _Cut:
    """The paragraphs of a stretch of lines, each with its first line within the stretch."""

    paragraphs: tuple[tuple[int, Paragraph], ...]
    ends_in: str


@lru_cache(maxsize=1024)
def _cut(piece: str, quote: str) -> _Cut:
    found: list[tuple[int, Paragraph]] = []
    line = at = 0
    while at < len(piece):
        gap = _BLANK_LINE.search(piece, at)
        end = len(piece) if gap is None else gap.end()
        paragraph = _read(piece[at:end], quote)
        found.append((line, paragraph))
        quote = paragraph.ends_in
        line += paragraph.text.count("\n")
        at = end
    return _Cut(tuple(found), quote)


def paragraphs(text: Text) -> Iterator[tuple[int, Paragraph]]:
    """Yield the paragraphs of a text with the number of their first line."""
    quote = ""
    for first, piece in text.pieces():
        cut = _cut(piece, quote)
        for line, paragraph in cut.paragraphs:
            yield first + line, paragraph
        quote = cut.ends_in


def place_at(text: Text, position: Position) -> Place:
    """Return what the place at a position is; a position outside of the text is moved into it first."""
    position = text.position_at(text.offset_at(position))
    line = text.line(position.line)
    before = line[: position.column]
    prefix = _word(_WORD_BEFORE.search(before))
    head = before[: len(before) - len(prefix)]
    start = Position(position.line, len(head))
    end = Position(position.line, position.column + len(_word(_WORD_AFTER.match(line, position.column))))

    def place(kind: PlaceKind, *, receiver: str = "", module: str = "") -> Place:
        return Place(kind=kind, prefix=prefix, start=start, end=end, receiver=receiver, module=module)

    quote = _span_at(text, start)
    if quote == "#":
        return place(PlaceKind.COMMENT)
    if quote:
        return place(PlaceKind.STRING)
    if prefix[:1].isdigit():
        return place(PlaceKind.LITERAL)
    if found := _FROM_MODULE.match(head) or _IMPORT_MODULE.match(head):
        return place(PlaceKind.MODULE, module=found.group(1))
    if _IMPORT_WORD.match(head):
        return place(PlaceKind.IMPORT_WORD)
    if module := _imported_from(text, position.line, head):
        return place(PlaceKind.IMPORTED, module=module)
    if _NEW_NAME.search(head) or _AS_NAME.match(head):
        return place(PlaceKind.NEW_NAME)
    stripped = head.rstrip()
    if stripped.endswith(".") and not stripped.endswith(".."):
        if re.search(r"(?:^|[^\w.])\d[\d_]*\.$", stripped):
            return place(PlaceKind.LITERAL)
        receiver = _RECEIVER.search(head)
        name = re.sub(r"\s", "", receiver.group(1)) + (receiver.group(2) or "") if receiver else ""
        return place(PlaceKind.MEMBER, receiver='""' if _PLAIN_STRING.search(stripped) else name)
    return place(PlaceKind.NAME)


def _word(found: re.Match[str] | None) -> str:
    return found.group() if found else ""


def _span_at(text: Text, position: Position) -> str:
    """Return the quote of the string, or "#" of the comment, that a position is inside of; "" for code."""
    quote, cut, first = "", None, 0
    for line, piece in text.pieces():
        if line > position.line:
            break
        cut, first = _cut(piece, quote), line
        quote = cut.ends_in
    if cut is None or not cut.paragraphs:
        return ""
    index = bisect_right(cut.paragraphs, position.line - first, key=lambda item: item[0]) - 1
    within, paragraph = cut.paragraphs[index]
    line = first + within
    offset = 0
    for _ in range(position.line - line):
        offset = paragraph.text.find("\n", offset) + 1
    offset += position.column
    index = bisect_right(paragraph.spans, offset - 1, key=lambda span: span[0]) - 1
    if index < 0:
        return ""
    start, end, quote = paragraph.spans[index]
    if not start < offset <= end:
        return ""
    if offset < end or quote == "#":
        return quote
    # At the very end: behind a closed string, or still in one that nobody has closed yet.
    body = paragraph.text[start:end]
    closed = len(body) >= 2 * len(quote) and body.endswith(quote) and not body[: -len(quote)].endswith("\\")
    if end == len(paragraph.text) and paragraph.ends_in:
        closed = False
    return "" if closed else quote


def _imported_from(text: Text, number: int, head: str) -> str:
    """Return the module of the `from … import` that the cursor is in the names of, also over several lines; else ""."""
    found = _FROM_NAME.match(head)
    if found:
        return found.group(1)
    if not re.fullmatch(r"[\w\s,()]*", head):
        return ""
    lines = [head]
    for back in range(number - 1, max(number - _OPEN_IMPORT_LINES, -1), -1):
        line = text.line(back)
        if not re.fullmatch(r"[\w\s,.()]*(?:#.*)?", line):
            return ""
        lines.append(line.partition("#")[0])
        if re.match(r"\s*from\s", line):
            found = _FROM_OPEN.match("\n".join(reversed(lines)))
            return found.group(1) if found else ""
        if ")" in line or not line.strip():
            return ""
    return ""
