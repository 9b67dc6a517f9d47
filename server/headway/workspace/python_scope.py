"""Which names an open text itself offers at a place, without any engine: what answers while no engine does.

It goes by indentation and by patterns of single lines, so text that does not parse is no obstacle. Pure; each paragraph
is read once and remembered.
"""

from __future__ import annotations

import builtins
import enum
import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from headway.workspace.python_text import paragraphs
from headway.workspace.text import Position, Text

_DEFINING = re.compile(
    r"^(?P<indent>[ \t]*)(?:"
    r"(?:async[ \t]+)?(?P<word>def|class)[ \t]+(?P<name>[^\W\d]\w*)(?P<rest>[^\n]*)"
    r"|(?P<imports>(?:from[ \t]+[.\w]+[ \t]+import|import)[ \t]+(?:\([^)]*\)?|[^\n]*))"
    r"|(?P<binds>(?:async[ \t]+)?(?:for|with|except|case)\b[^\n]*)"
    r"|(?P<fields>(?:self|cls)\.[^\W\d]\w*(?:[ \t]*,[ \t]*\*?[^\W\d][.\w]*+)*+)"
    r"[ \t]*(?::[^=\n]+)?=(?!=)(?P<assigned>[^\n]*)"
    r"|(?P<targets>[^\W\d][\w \t,*()\[\]]*+)(?:(?::[^=\n]*)?=(?!=)|:[ \t]*[\w\"'])(?P<value>[^\n]*)"
    r")",
    re.MULTILINE,
)
_NAME = re.compile(r"[^\W\d]\w*")
_FIELD = re.compile(r"(?<![.\w])(?:self|cls)\.([^\W\d]\w*+)(?!\.)")
_FIELD_AGAIN = re.compile(r"[ \t]*(?:self|cls)\.([^\W\d]\w*)[ \t]*=(?!=)")
_IMPORT = re.compile(r"(?:([^\W\d][.\w]*)[ \t\r\n]+as[ \t\r\n]+)?([^\W\d][.\w]*)")
_IMPORT_WORD = re.compile(r"\bimport\b")
_FOR = re.compile(r"\bfor\s+(.+?)\s+in\b")
_AS = re.compile(r"\bas\s+\(?([^:]+)")
_WALRUS = re.compile(r"([^\W\d]\w*)\s*:=")
_PARAMETERS = re.compile(r"\b(?:def|lambda)\b[^(:]*\((?P<list>[^)]*)", re.DOTALL)
_PARAMETER = re.compile(r"(?:^|,)\s*\*{0,2}([^\W\d]\w*)")
_BASES = re.compile(r"^\s*\(([^)]*)")
_ALL_BASES = re.compile(r"^\s*\(([\w\s,]*)\)\s*:")
_MADE_BY = re.compile(r"^\s*(?:await\s+)?([^\W\d]\w*)\(")
_INDEX_OR_TUPLE = re.compile(r"\[[^\]]*\]?|\([^)]*\)?")
_USE = re.compile(r"(\w*)\.(?=([^\W\d]\w*))")
_HEADER_LINES = 40
_NOT_TARGETS = frozenset(keyword.kwlist) | {"print"}


class NameKind(enum.StrEnum):
    """What a name stands for, as far as its line tells."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS = "class"
    VARIABLE = "variable"
    FIELD = "field"
    MODULE = "module"


@dataclass(frozen=True, slots=True)
class ScopeName:
    """A name and how near it is: `distance` 0 is a local name, then enclosing functions, the module, builtins."""

    name: str
    kind: NameKind
    distance: int
    line: int


@dataclass(frozen=True, slots=True)
class _Entry:
    line: int  # within the paragraph
    indent: int
    kind: NameKind
    name: str
    rest: str = ""  # of a class or function: what follows the name; of a variable: its value; of an import: its origin
    field: bool = False  # assigned to self or cls
    makes_block: bool = False


@lru_cache(maxsize=16_384)
def _entries(code: str) -> tuple[_Entry, ...]:
    """Return the lines of blanked code that make names."""
    found: list[_Entry] = []
    line = at = 0
    for match in _DEFINING.finditer(code):
        line += code.count("\n", at, match.start())
        at = match.start()
        indent = len(match["indent"].expandtabs())
        if match["word"]:
            kind = NameKind.CLASS if match["word"] == "class" else NameKind.FUNCTION
            found.append(_Entry(line, indent, kind, match["name"], match["rest"], makes_block=True))
        elif match["imports"]:
            names = _imported(match["imports"])
            found.extend(_Entry(line, indent, NameKind.MODULE, name, origin) for name, origin in names)
        elif match["fields"]:
            fields, value = _FIELD.findall(match["fields"]), match["assigned"]
            while again := _FIELD_AGAIN.match(value):
                fields.append(again[1])
                value = value[again.end() :]
            made_by = "" if "," in match["fields"] else value
            found.extend(_Entry(line, indent, NameKind.FIELD, name, made_by, field=True) for name in fields)
        else:
            targets = match["targets"] or ", ".join(_bound(match["binds"]))
            bound: list[str] = _NAME.findall(_INDEX_OR_TUPLE.sub(_inner, targets))
            if _NOT_TARGETS.isdisjoint(bound):
                value = match["value"] or ""
                found.extend(_Entry(line, indent, NameKind.VARIABLE, name, value) for name in bound)
    return tuple(found)


def _inner(match: re.Match[str]) -> str:
    """Keep the names of a tuple that is assigned to; an index is no name."""
    return match.group()[1:-1] if match.group().startswith("(") else ""


def _imported(statement: str) -> Iterator[tuple[str, str]]:
    """Yield the names that an import makes, each with the dotted name of what it stands for."""
    head, names = _IMPORT_WORD.split(statement, maxsplit=1)
    module = head.strip().removeprefix("from").strip()
    for part in names.strip("() \t\r\n").split(","):
        match = _IMPORT.fullmatch(part.strip().rstrip(")").strip())
        if not match:
            continue
        name, of = match[2], match[1] or match[2]
        if module:
            yield name, f"{module}.{of}"
        elif match[1]:
            yield name, of
        else:
            yield name.partition(".")[0], name.partition(".")[0]


def _bound(statement: str) -> Iterator[str]:
    for pattern in (_FOR, _AS, _WALRUS):
        for match in pattern.finditer(statement):
            yield from _NAME.findall(match[1])


class _Block(NamedTuple):
    """A class or function, and the line of its header."""

    entry: _Entry
    line: int


class _Placed(NamedTuple):
    entry: _Entry
    line: int
    owners: tuple[_Block, ...]  # the classes and functions that it is in, outermost first


def _placed(text: Text, cursor: Position) -> tuple[list[_Placed], tuple[_Block, ...]]:
    """Return all names with what they are in, and the classes and functions that the cursor is in."""
    placed: list[_Placed] = []
    stack: tuple[_Block, ...] = ()
    around: tuple[_Block, ...] | None = None
    current = text.line(cursor.line)
    content = current.lstrip()
    indent = len(current[: len(current) - len(content)].expandtabs()) if content else cursor.column
    for first, paragraph in paragraphs(text):
        for entry in _entries(paragraph.code):
            line = first + entry.line
            if around is None and line >= cursor.line:
                around = _still_open(stack, indent)
            if stack and stack[-1].entry.indent >= entry.indent:
                stack = _still_open(stack, entry.indent)
            placed.append(_Placed(entry, line, stack))
            if entry.makes_block:
                stack = (*stack, _Block(entry, line))
    return placed, _still_open(stack, indent) if around is None else around


def _still_open(stack: tuple[_Block, ...], indent: int) -> tuple[_Block, ...]:
    while stack and stack[-1].entry.indent >= indent:
        stack = stack[:-1]
    return stack


class Outline:
    """What a text says about one place in it; made once for a word that is being typed."""

    def __init__(self, text: Text, cursor: Position) -> None:
        self._text = text
        self._cursor = cursor
        self._placed, self._around = _placed(text, cursor)

    def names(self) -> list[ScopeName]:
        """Return the names that can be seen from the place, nearest first, each once."""
        best: dict[str, ScopeName] = {}
        innermost = self._around[-1] if self._around else None
        depth = len(self._around)
        for level, block in enumerate(self._around):
            if block.entry.kind is NameKind.FUNCTION:
                for name in _parameters(self._text, block.line):
                    _keep(best, ScopeName(name, NameKind.VARIABLE, depth - level - 1, block.line))
        for entry, line, owners in self._placed:
            if owners:
                owner = owners[-1]
                if len(owners) > depth or owner.line != self._around[len(owners) - 1].line:
                    continue
                if owner.entry.kind is NameKind.CLASS and owner is not innermost:
                    continue
            if entry.field or (line == self._cursor.line and self._under_cursor(entry)):
                continue
            _keep(best, ScopeName(entry.name, entry.kind, depth - len(owners), line))
        here = self._cursor.line
        return sorted(best.values(), key=lambda name: (name.distance, abs(here - name.line)))

    def _under_cursor(self, entry: _Entry) -> bool:
        """Return whether an entry is nothing but the word that is being typed."""
        line = self._text.line(self._cursor.line)
        return line[self._cursor.column :].startswith(entry.name)

    def members(self, receiver: str) -> list[ScopeName] | None:
        """Return the members of a receiver whose class is in this text; None where that cannot be told."""
        owner = self._class_of(receiver)
        if owner is None:
            return None
        found: dict[str, ScopeName] = {}
        self._collect(owner, found, seen=set(), distance=0)
        return sorted(found.values(), key=lambda name: (name.distance, name.line))

    def all_here(self, receiver: str) -> bool:
        """Return whether all that `self` or `cls` has stands in this text: its class has no base from elsewhere."""
        owner = self._class_of(receiver) if receiver in ("self", "cls") else None
        return owner is not None and self._whole(owner, set())

    def _whole(self, owner: _Placed, seen: set[int]) -> bool:
        if owner.line in seen or owner.entry.rest.lstrip().startswith(":"):
            return True
        seen.add(owner.line)
        listed = _ALL_BASES.match(owner.entry.rest)  # on the line itself, and nothing but names
        names = [part.strip() for part in listed[1].split(",") if part.strip()] if listed else [""]
        bases = [self._class_named(name) for name in names if name != "object"]
        return all(base is not None and self._whole(base, seen) for base in bases)

    def origin(self, receiver: str) -> str | None:
        """Return the dotted name of what an imported receiver stands for, None where it is not imported here."""
        name, dot, rest = receiver.partition(".")
        for item in reversed(self._placed):
            if item.entry.name == name and item.line <= self._cursor.line:
                return f"{item.entry.rest}{dot}{rest}" if item.entry.kind is NameKind.MODULE else None
        return None

    def _collect(self, owner: _Placed, found: dict[str, ScopeName], *, seen: set[int], distance: int) -> None:
        if owner.line in seen:
            return
        seen.add(owner.line)
        for item in self._placed:
            entry = item.entry
            classes = [block for block in item.owners if block.entry.kind is NameKind.CLASS]
            if not classes or classes[-1].line != owner.line:
                continue
            direct = item.owners[-1].line == owner.line
            if entry.field or direct:
                kind = {NameKind.FUNCTION: NameKind.METHOD, NameKind.VARIABLE: NameKind.FIELD}
                name = ScopeName(entry.name, kind.get(entry.kind, entry.kind), distance, item.line)
                found.setdefault(entry.name, name)
        for base in self._bases(owner.entry):
            self._collect(base, found, seen=seen, distance=distance + 1)

    def _bases(self, entry: _Entry) -> Iterable[_Placed]:
        match = _BASES.match(entry.rest)
        for part in match[1].split(",") if match else ():
            base = self._class_named(part.strip())
            if base is not None:
                yield base

    def _class_named(self, name: str) -> _Placed | None:
        for item in reversed(self._placed):
            if item.entry.kind is NameKind.CLASS and item.entry.name == name:
                return item
        return None

    def _class_of(self, receiver: str) -> _Placed | None:
        if receiver in ("self", "cls"):
            for block in reversed(self._around):
                if block.entry.kind is NameKind.CLASS:
                    return _Placed(block.entry, block.line, ())
            return None
        if receiver.endswith("()"):
            return self._class_named(receiver[:-2])
        named = self._class_named(receiver)
        if named is not None or "." in receiver:
            return named
        for item in reversed(self._placed):
            if item.entry.name == receiver and item.entry.kind is NameKind.VARIABLE:
                made = _MADE_BY.match(item.entry.rest) if item.line <= self._cursor.line else None
                if made:
                    return self._class_named(made[1])
        return None


def _keep(best: dict[str, ScopeName], name: ScopeName) -> None:
    known = best.get(name.name)
    if known is None or (name.distance, -name.line) < (known.distance, -known.line):
        best[name.name] = name


def _parameters(text: Text, line: int) -> list[str]:
    """Return the parameters of the function whose header begins on a line, which may go on over some lines."""
    header = "\n".join(
        text.line(number).partition("#")[0] for number in range(line, min(line + _HEADER_LINES, text.line_count))
    )
    found = _PARAMETERS.search(header)
    return _PARAMETER.findall(re.sub(r"\[[^\]]*\]", "", found["list"])) if found else []


def keywords() -> Sequence[str]:
    """Return Python's keywords, soft ones included."""
    return (*keyword.kwlist, *(word for word in keyword.softkwlist if word != "_"))


def builtin_names() -> Sequence[tuple[str, NameKind]]:
    """Return the names of `builtins`, with what they are."""
    return [(name, _builtin_kind(name)) for name in dir(builtins) if not name.startswith("_")]


def _builtin_kind(name: str) -> NameKind:
    return NameKind.CLASS if isinstance(getattr(builtins, name), type) else NameKind.FUNCTION


@lru_cache(maxsize=16_384)
def _uses(code: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that stand behind a dot in blanked code, and the same with the name before the dot."""
    found = _USE.findall(code)
    return frozenset(name for _, name in found), frozenset(f"{receiver}.{name}" for receiver, name in found)


class Uses:
    """Which members a text uses already: they are likely to be used again."""

    def __init__(self, text: Text) -> None:
        found = [_uses(paragraph.code) for _, paragraph in paragraphs(text)]
        self._names: frozenset[str] = frozenset().union(*(names for names, _ in found))
        self._dotted: frozenset[str] = frozenset().union(*(dotted for _, dotted in found))

    def distance(self, receiver: str, name: str) -> int:
        """Return 0 for a member that the text uses of this receiver, 1 for one that it uses at all, 2 for others."""
        if f"{receiver.rpartition('.')[2]}.{name}" in self._dotted:
            return 0
        return 1 if name in self._names else 2


def warm(text: Text) -> Iterator[None]:
    """Read a text paragraph by paragraph, so that an outline of it is cheap later; yields after each."""
    for _, paragraph in paragraphs(text):
        _entries(paragraph.code)
        _uses(paragraph.code)
        yield
