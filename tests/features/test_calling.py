"""Where a completed name is written with the brackets of its call."""

import pytest

from headway.features.calling import Calls
from headway.features.completion import CandidateKind
from headway.workspace.text import Position, Text

FUNCTION = (CandidateKind.FUNCTION, "def fun(a: int) -> None")
CLASS = (CandidateKind.CLASS, "<class 'Fun'>")


def calls(source: str, *items: tuple[CandidateKind, str | None]) -> list[str]:
    """How each name is called at `$0`, where the word begins that is `fu` by now."""
    before, after = source.split("$0")
    text = Text(f"{before}fu{after}")
    line = before.count("\n")
    start = Position(line, len(before) - before.rfind("\n") - 1)
    found = Calls(text, start, after.split("\n")[0])
    return [found.of(kind, detail) for kind, detail in items]


@pytest.mark.parametrize(
    "source",
    [
        "$0",
        "x = $0",
        "x: int = $0",
        "print($0)",
        "x = [\n    a.$0\n]",
        "if $0:",
        "def f(a=$0): pass",
        "@cache\ndef f():\n    return $0",
        "@wraps($0)\ndef f(): pass",
        "raise $0",
        "class A(metaclass=B): pass\n$0",
        "lambda: $0",
        "{1: $0}",
        "'''\n@'''; $0",
        "case $0",
    ],
)
def test_functions_and_classes_are_called(source: str) -> None:
    assert calls(source, FUNCTION, CLASS) == ["($1)", "($1)"]


@pytest.mark.parametrize(
    "source",
    [
        "@$0\ndef f(): pass",
        "@a.$0\ndef f(): pass",
        "$0(1)",
        "$0 (1)",
        "$0.x",
        "x: $0",
        "self.x: a.$0 = 1",
        "def f(a: $0): pass",
        "def f(\n    a,\n    b: $0\n): pass",
        "def f() -> $0: pass",
        "class A($0): pass",
        "class A(B, a.$0): pass",
        "try: pass\nexcept $0: pass",
        "try: pass\nexcept (A, $0): pass",
        "del $0",
    ],
)
def test_what_is_named_and_not_called_is_left_alone(source: str) -> None:
    assert calls(source, FUNCTION, CLASS) == ["", ""]


@pytest.mark.parametrize("source", ["isinstance(x, $0)", "x = list[$0]"])
def test_classes_that_are_named_among_types_are_left_alone(source: str) -> None:
    assert calls(source, FUNCTION, CLASS) == ["($1)", ""]


@pytest.mark.parametrize(
    ("kind", "detail", "call"),
    [
        (CandidateKind.FUNCTION, "def fun() -> None", "()"),
        (CandidateKind.METHOD, "bound method list[Unknown].clear() -> None", "()"),
        (CandidateKind.METHOD, "bound method dict[str, Any].get(key: str) -> Any", "($1)"),
        (CandidateKind.FUNCTION, "Overload[() -> None, (x: int) -> int]", "($1)"),
        (CandidateKind.FUNCTION, "def fun(a: Callable[[], int]) -> int", "($1)"),
        (CandidateKind.FUNCTION, None, "($1)"),
        (CandidateKind.PROPERTY, "int", ""),
        (CandidateKind.VARIABLE, "() -> int", ""),
    ],
)
def test_what_takes_no_argument_leaves_the_cursor_behind_it(kind: CandidateKind, detail: str | None, call: str) -> None:
    assert calls("x.$0", (kind, detail)) == [call]
