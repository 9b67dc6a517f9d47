"""What a place in Python text is, source inline with `$0` at the cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.workspace.python_text import Place, PlaceKind, paragraphs, place_at
from headway.workspace.text import Text


def place(source: str) -> Place:
    offset = source.index("$0")
    text = Text(source.replace("$0", "", 1))
    return place_at(text, text.position_at(offset))


@pytest.mark.parametrize(
    ("source", "kind", "prefix"),
    [
        ("na$0", PlaceKind.NAME, "na"),
        ("$0", PlaceKind.NAME, ""),
        ("self.fie$0", PlaceKind.MEMBER, "fie"),
        ("self.$0", PlaceKind.MEMBER, ""),
        ("(query\n    .filt$0", PlaceKind.MEMBER, "filt"),
        ("f(x)[0].$0", PlaceKind.MEMBER, ""),
        ("# a com$0ment", PlaceKind.COMMENT, "com"),
        ("x = 1  # $0", PlaceKind.COMMENT, ""),
        ("x = '# no $0comment'", PlaceKind.STRING, ""),
        ("x = 'done'$0", PlaceKind.NAME, ""),
        ("x = 'open $0", PlaceKind.STRING, ""),
        ("x = 'it\\'s $0'", PlaceKind.STRING, ""),
        ('"""doc\n\nstill $0\n"""\n', PlaceKind.STRING, ""),
        ('"""doc\n\ndone"""\nna$0', PlaceKind.NAME, "na"),
        ("'''a\n\"\"\"\n\n'''\nna$0", PlaceKind.NAME, "na"),
        ("x = 12$0", PlaceKind.LITERAL, "12"),
        ("x = 1.$0", PlaceKind.LITERAL, ""),
        ("x = a1.$0", PlaceKind.MEMBER, ""),
        ("def ne$0", PlaceKind.NEW_NAME, "ne"),
        ("class $0", PlaceKind.NEW_NAME, ""),
        ("import numpy as n$0", PlaceKind.NEW_NAME, "n"),
        ("x = ...$0", PlaceKind.NAME, ""),
        ("from os imp$0", PlaceKind.IMPORT_WORD, "imp"),
        ("from . $0", PlaceKind.IMPORT_WORD, ""),
    ],
)
def test_places(source: str, kind: PlaceKind, prefix: str) -> None:
    found = place(source)
    assert (found.kind, found.prefix) == (kind, prefix)


@pytest.mark.parametrize(
    ("source", "kind", "module"),
    [
        ("from os.pa$0", PlaceKind.MODULE, "os."),
        ("from $0", PlaceKind.MODULE, ""),
        ("from .mod$0", PlaceKind.MODULE, "."),
        ("import a.b, c.d$0", PlaceKind.MODULE, "c."),
        ("from os import pa$0", PlaceKind.IMPORTED, "os"),
        ("from os import (path, en$0", PlaceKind.IMPORTED, "os"),
        ("from a.b import (\n    c,  # why\n    d$0\n)", PlaceKind.IMPORTED, "a.b"),
        ("from a import (\n    c,\n)\nd$0", PlaceKind.NAME, ""),
    ],
)
def test_imports(source: str, kind: PlaceKind, module: str) -> None:
    found = place(source)
    assert (found.kind, found.module) == (kind, module)


@pytest.mark.parametrize(
    ("source", "receiver"),
    [
        ("'text'.up$0", '""'),
        ('f"text".$0', '""'),
        ("b'text'.$0", ""),
        ("self.$0", "self"),
        ("a . b.c$0", "a.b"),
        ("Circle().ar$0", "Circle()"),
        ("f(1).x$0", ""),
        ("x[0].y$0", ""),
    ],
)
def test_the_receiver_of_a_member(source: str, receiver: str) -> None:
    assert place(source).receiver == receiver


def test_the_word_goes_on_behind_the_cursor() -> None:
    found = place("call(first_ar$0gument)")
    assert (found.start.column, found.cursor.column, found.end.column) == (5, 13, 19)


@given(st.lists(st.sampled_from(['"', "'", '"""', "'''", "#", "\\", "\n", "\n\n", "\r\n", "a", " ", "."]), max_size=40))
def test_any_text_has_a_place_everywhere_and_paragraphs_that_make_it_up(parts: list[str]) -> None:
    source = "".join(parts)
    text = Text(source)
    cut = [paragraph for _, paragraph in paragraphs(text)]
    assert "".join(paragraph.text for paragraph in cut) == source
    for paragraph in cut:
        assert len(paragraph.code) == len(paragraph.text)
        assert "#" not in paragraph.code
    for offset in range(len(source) + 1):
        position = text.position_at(offset)
        found = place_at(text, position)
        assert found.start <= found.cursor <= found.end
