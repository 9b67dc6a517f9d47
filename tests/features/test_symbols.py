"""The outline of a document."""

from __future__ import annotations

from headway.features.symbols import Outline, outline
from headway.workspace.index import index_text


def tree(outlines: list[Outline]) -> dict[str, object]:
    return {o.definition.name: tree(o.children) for o in outlines}


def check(source: str, expected: dict[str, object]) -> None:
    assert tree(outline(index_text("a.py", source).definitions)) == expected


def test_definitions_are_within_what_encloses_them() -> None:
    check(
        "X = 1\nclass A:\n    y = 2\n    def f(self):\n        self.z = 3\n        def g(): pass\n\ndef h(): pass\n",
        {"X": {}, "A": {"y": {}, "f": {"g": {}}, "z": {}}, "h": {}},
    )


def test_a_name_that_is_defined_twice_keeps_its_own_children() -> None:
    found = outline(
        index_text("a.py", "class A:\n    def f(self): pass\nclass A:\n    def g(self): pass\n").definitions
    )
    assert [[child.definition.name for child in top.children] for top in found] == [["f"], ["g"]]


def test_broken_source_has_the_outline_of_its_sound_parts() -> None:
    check("def (:\n\nclass A:\n    def f(self): pass\n", {"A": {"f": {}}})


def test_languages_without_a_grammar_have_none() -> None:
    assert outline(index_text("a.lua", "function f() end\n").definitions) == []
