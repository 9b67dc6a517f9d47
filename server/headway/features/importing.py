"""The import line that a name needs before it can be used. Pure: text in, an edit out."""

from __future__ import annotations

import keyword
import re

from headway.workspace.python_text import paragraphs
from headway.workspace.text import Position, Range, Text

_IMPORT = re.compile(r"(?:from|import)\b")
_MAKES_NAME = re.compile(r"from\s+(?P<module>[.\w]+)\s+import\s+(?P<names>.*)", re.DOTALL)


def importable(module: str, name: str) -> bool:
    """Return whether a name of a module can be written in an import statement, and is meant to be."""
    parts = [*module.split("."), name]
    return all(part.isidentifier() and not keyword.iskeyword(part) for part in parts) and not name.startswith("_")


def import_edit(text: Text, module: str, name: str) -> tuple[Range, str] | None:
    """Return where to write `from module import name`, and the line; None where the text has it already.

    It goes behind the imports at the top, or else behind the module's docstring and leading comments.
    """
    place, known = _below_imports(text, module, name)
    if known:
        return None
    statement = f"from {module} import {name}"
    line_end = "\r\n" if "\r\n" in str(text)[:4096] else "\n"
    if place < text.line_count:
        at = Position(place, 0)
        return Range(at, at), statement + line_end
    last = text.line_count - 1
    at = Position(last, len(text.line(last)))
    return Range(at, at), (line_end if text.line(last) else "") + statement + line_end


def _below_imports(text: Text, module: str, name: str) -> tuple[int, bool]:
    """Return the line that an import goes to, and whether the name is imported already."""
    behind_imports: int | None = None
    first_code: int | None = None
    statement: list[str] = []
    for number, code in _code_lines(text):
        if statement or _IMPORT.match(code):
            statement.append(code)
            behind_imports = number + 1
            joined = "\n".join(statement)
            if joined.count("(") > joined.count(")") or code.rstrip().endswith("\\"):
                continue
            if _names(joined, module, name):
                return number, True
            statement = []
        elif code.strip():
            first_code = number
            break
    if behind_imports is not None:
        return behind_imports, False
    return (text.line_count if first_code is None else first_code), False


def _code_lines(text: Text) -> list[tuple[int, str]]:
    """Return the lines with strings and comments blanked, as far as the first paragraphs without imports."""
    lines: list[tuple[int, str]] = []
    for first, paragraph in paragraphs(text):
        lines += [(first + offset, code) for offset, code in enumerate(paragraph.code.split("\n")[:-1])]
        if paragraph.code and not paragraph.code.endswith("\n"):
            lines.append((first + paragraph.code.count("\n"), paragraph.code.rpartition("\n")[2]))
        if lines and lines[-1][0] > 400:
            break
    return lines


def _names(statement: str, module: str, name: str) -> bool:
    found = _MAKES_NAME.match(statement)
    if found is None or found["module"] != module:
        return False
    return name in {part.strip().partition(" ")[0] for part in found["names"].strip("() \n").split(",")}
