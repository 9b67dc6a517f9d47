"""Whether a name that is completed is about to be called, and with arguments or without. Pure.

It goes by the statement around the place: a decorator, a base class, an annotation or an `except` names what it stands
for and calls nothing.
"""

from __future__ import annotations

import re
from typing import Final

from headway.workspace.python_text import paragraphs
from headway.workspace.text import Position, Text

_CLASS: Final = 7  # LSP's CompletionItemKind
_CALLED: Final = frozenset({2, 3, _CLASS})  # and methods and functions
_TAKES_NOTHING: Final = re.compile(r"(?:def |bound method )?[^(\[]*(?:\[[^(]*\][^(]*)?\(\) ->")
_BRACKETS: Final = {"(": ")", "[": "]", "{": "}"}
_NAME_BEFORE: Final = re.compile(r"[\w.]*$")
_NO_CALL: Final = re.compile(r"\s*(?:@|(?:from|import|global|nonlocal|del|except|type)\b)")
_HEADER: Final = re.compile(r"\s*(?:class|(?:async\s+)?def)\b")
_ANNOTATED: Final = re.compile(r"\s*(?!(?:else|try|finally|lambda)\b)[\w.]+\s*:[^=]*")
_AMONG_TYPES: Final = re.compile(r"\b(?:isinstance|issubclass|cast|TypeVar|NewType)\s*\($|[\w\])]\[$")
_GOES_ON: Final = re.compile(r"\s*[(\[]|\.")


class Calls:
    """How names are called at one place.

    Args:
        text: What is being written.
        start: Where the word begins.
        after: What follows the word on its line.
    """

    def __init__(self, text: Text, start: Position, after: str) -> None:
        self._before = _code_before(text, start)
        self._goes_on = bool(_GOES_ON.match(after))
        self._may: dict[bool, bool] = {}

    def of(self, kind: int, detail: str | None) -> str:
        """Return what follows a name as a snippet: "()", "($1)", or nothing where it is not likely to be called.

        Args:
            kind: LSP's CompletionItemKind.
            detail: Its signature as ty writes it, if known.
        """
        if self._goes_on or kind not in _CALLED:
            return ""
        of_class = kind == _CLASS
        if of_class not in self._may:
            self._may[of_class] = may_call(self._before, of_class=of_class)
        if not self._may[of_class]:
            return ""
        return "()" if _TAKES_NOTHING.match(detail or "") else "($1)"


def may_call(before: str, *, of_class: bool) -> bool:
    """Return whether a name may be called behind some code, which is that of a paragraph without its strings."""
    before = _NAME_BEFORE.sub("", before)
    start, opened = _statement(before)
    statement = before[start:]
    if _NO_CALL.match(statement):
        return bool(opened) and statement.lstrip().startswith("@")  # an argument of a decorator
    if _HEADER.match(statement):
        return bool(opened) and not _is_type(before[opened[0] + 1 :]) and "class" not in statement.split("(")[0]
    if not opened and _ANNOTATED.fullmatch(statement):
        return False
    if not of_class or not opened:
        return True
    return not _AMONG_TYPES.search(before[: opened[-1] + 1])


def _is_type(parameters: str) -> bool:
    """Return whether what is written of the last of some parameters is its annotation."""
    last = parameters.rpartition(",")[2]
    return ":" in last and "=" not in last


def _statement(code: str) -> tuple[int, list[int]]:
    """Return where the statement at the end of some code begins, and where the brackets are that are open there."""
    start = 0
    opened: list[int] = []
    for at, character in enumerate(code):
        if character in _BRACKETS:
            opened.append(at)
        elif opened and character == _BRACKETS[code[opened[-1]]]:
            opened.pop()
        elif character in "\n;" and not opened and not code[:at].endswith(("\\", "\\\r")):
            start = at + 1
    return start, opened


def _code_before(text: Text, place: Position) -> str:
    """Return the code of the paragraph up to a place."""
    found = ""
    for first, paragraph in paragraphs(text):
        if first > place.line:
            break
        lines = paragraph.code.split("\n")
        within = place.line - first
        found = "\n".join([*lines[:within], lines[within][: place.column]]) if within < len(lines) else ""
    return found
