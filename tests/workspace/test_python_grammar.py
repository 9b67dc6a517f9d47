"""What the walk over a Python file leaves out changes nothing: looked at is what something in the text speaks for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.workspace import python_grammar
from headway.workspace.index import Parsed
from headway.workspace.syntax import one_line

LINES = [
    *(
        "self.a = 1",
        "self.b: int = 2",
        "self.c, cls.d = 3, 4",
        "(self.e, x) = f(self.y, self.z)",
        "self.f = self.g = 0",
    ),
    *("call(self.h, key=self.i)", "self.j == 1", "x = 5; self.k = 6", "import os, sys", "from a.b import c as d"),
    *("def inner(q): self.l = 1", "class Inner: field = 1", "@self.deco\ndef made(): pass", "'''self.m = 1'''"),
    *(
        "# self.n = 1 def class",
        "größe = self.ö; self.ö = 1",
        "return [self.o for self.p in q]",
        "lambda self: (self, )",
    ),
    *("type Alias = int", "self.r =", "def (", "selfish.s = 1; myself.t = 1"),
]
HEADS = [
    "if self.u:",
    "for self.v in w:",
    "with x as self.w:",
    "try:",
    "else:",
    "while True:",
    "def f(self):",
    "class C(Enum):",
]


@st.composite
def sources(draw: st.DrawFn) -> str:
    """A class with a method, in which statements stand in statements; not all of it has to parse."""
    lines = ["class Outer:", "    def method(self):"]
    depth = 2
    for _ in range(draw(st.integers(1, 14))):
        depth = max(1, depth - draw(st.integers(0, 2)))
        opens = draw(st.booleans())
        statement = draw(st.sampled_from(HEADS if opens else LINES))
        lines += ["    " * depth + line for line in statement.split("\n")]
        depth += opens
    return "\n".join([*lines, "    " * depth + "pass", ""])


def parsed_by_looking_at_everything(source: str) -> Parsed:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(python_grammar, "_children_at", lambda node, _: node.named_children)
        patch.setattr(python_grammar, "_places", lambda data, _: list(range(len(data))))
        patch.setattr(python_grammar, "_PLAIN_START", re.compile(rb"(?!)"))
        return python_grammar.parse(source)


@given(sources())
def test_what_is_passed_over_holds_nothing(source: str) -> None:
    assert python_grammar.parse(source) == parsed_by_looking_at_everything(source)


@given(
    st.one_of(
        sources(),
        st.lists(st.sampled_from(["self", "cls", "def", "class", "import", *" .=,:)(a_1ö\n"]), max_size=24).map(
            "".join
        ),
    )
)
def test_places_are_where_the_words_stand(source: str) -> None:
    data = source.encode()
    defines = rb"\b(?:def|class|import)\b"
    sets = rb"\b(?:self|cls)\s*\.\s*(?:\w|[\x80-\xff])+\s*(?:=(?!=)|[:,)])"
    for telling, plain in ((python_grammar._DEFINES, defines), (python_grammar._SETS, sets)):
        assert python_grammar._places(data, telling) == [found.start() for found in re.finditer(plain, data)]


@pytest.mark.parametrize(
    ("body", "doc"),
    [
        ('"""Said."""', "Said."),
        ("'Said.'", "Said."),
        ('rb"""Said."""', "Said."),
        ("Rb'Said.'", "Said."),
        ('"""Said "so"."""', 'Said "so".'),
        ('""""So" it is."""', '"So" it is.'),
        ('""', ""),
        ('""""""', ""),
        ('# A remark.\n    """Said."""', "Said."),
        ("'''Said,\n\n      more.\n    '''", "Said,\n\nmore."),
        ('x = "not said"', ""),
        ('x["not said"]', ""),
        ('f("not said")', ""),
        ('"""Said"""; x = 1', "Said"),
        ('"""' + "word " * 400 + '"""', ("word " * 120).strip() + " "),
        ('"""' + "x" * 1196 + "'" + '"""', "x" * 600),
    ],
)
def test_docstrings_are_told_without_their_quotes(body: str, doc: str) -> None:
    (function,) = python_grammar.parse(f"def f():\n    {body}\n").definitions
    assert function.doc == doc


@given(st.text(alphabet="ab \t\n\r\f\x1c\x85\u2003ö", max_size=12))
def test_a_line_is_what_a_pattern_makes_of_it(text: str) -> None:
    assert one_line(f"x{text}") == re.sub(r"\s+", " ", f"x{text}")
