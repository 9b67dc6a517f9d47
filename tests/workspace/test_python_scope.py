"""Names that an open text itself offers, source inline with `$0` at the cursor."""

from __future__ import annotations

import pytest

from headway.workspace.python_scope import NameKind, Outline, Uses
from headway.workspace.python_text import place_at
from headway.workspace.text import Text


def outline(source: str) -> tuple[Outline, str]:
    offset = source.index("$0")
    text = Text(source.replace("$0", "", 1))
    place = place_at(text, text.position_at(offset))
    return Outline(text, place.start), place.receiver


def names(source: str) -> list[str]:
    return [name.name for name in outline(source)[0].names()]


def members(source: str) -> list[str] | None:
    found, receiver = outline(source)
    listed = found.members(receiver)
    return None if listed is None else [name.name for name in listed]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os\nimport a.b\nfrom c import d as e, f\n$0", {"os", "a", "e", "f"}),
        ("from c import (\n    d,\n    e as g,\n)\n$0", {"d", "g"}),
        ("def f(one, *two, three: int = 3, **four):\n    $0", {"one", "two", "three", "four", "f"}),
        ("def f(\n    one,\n    two=None,\n):\n    $0", {"one", "two", "f"}),
        ("a = b = 1\n(x, y) = 1, 2\nfor i, j in z:\n    pass\nwith open() as fh:\n    $0", {"a", "i", "j", "fh"}),
        ("try:\n    pass\nexcept OSError as err:\n    $0", {"err"}),
        ("value: int\nother: 'str' = 1\n$0", {"value", "other"}),
        ("def broken(:\n    ((\n\ndef sound():\n    pass\n\n$0", {"broken", "sound"}),
    ],
)
def test_what_is_in_sight(source: str, expected: set[str]) -> None:
    assert expected <= set(names(source))


@pytest.mark.parametrize(
    ("source", "hidden"),
    [
        ("def f():\n    inner = 1\n\n$0", "inner"),
        ("class C:\n    field = 1\n    def m(self):\n        $0", "field"),
        ("class C:\n    def m(self):\n        self.attr = 1\n\n$0", "attr"),
        ("def f(arg):\n    pass\n\ndef g():\n    $0", "arg"),
        ('"""\nnot_code = 1\n"""\n$0', "not_code"),
        ("# not_code = 1\n$0", "not_code"),
        ("if a == b:\n    $0", "b"),
    ],
)
def test_what_is_not_in_sight(source: str, hidden: str) -> None:
    assert hidden not in names(source)


def test_the_nearest_names_come_first() -> None:
    source = "outer = 1\ndef f(arg):\n    early = 1\n    late = 2\n    $0"
    assert names(source) == ["late", "early", "arg", "f", "outer"]


def test_the_word_that_is_being_typed_is_no_name_yet() -> None:
    assert "typed" not in names("def f():\n    $0typed = 1\n")


def test_members_of_self_come_from_methods_assignments_and_bases_in_this_text() -> None:
    source = (
        "class Base:\n    def inherited(self): pass\n\n"
        "class C(Base):\n    limit = 3\n    def m(self):\n        self.field = 1\n        self.$0\n"
    )
    assert members(source) == ["limit", "m", "field", "inherited"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("self.a, self.b = 1, 2", ["a", "b"]),
        ("self.a = self.b = None", ["a", "b"]),
        ("self.a, x, *self.b = found", ["a", "b"]),
        ("self.a: dict[str, int] = self.b", ["a"]),
        ("self.a = self.b.c = 1", ["a"]),
        ("self.a = self.b == self.c", ["a"]),
        ("self.a = other.self.b = 1", ["a"]),
        ("self.a.b = 1", []),
        ("self.a == self.b", []),
    ],
)
def test_each_field_that_a_line_assigns_is_a_member(line: str, expected: list[str]) -> None:
    assert members(f"class C:\n    def m(self):\n        {line}\n        self.$0") == ["m", *expected]


@pytest.mark.parametrize("use", ["Circle().$0", "Circle.$0", "c = Circle(1)\nc.$0"])
def test_members_of_a_class_of_this_text(use: str) -> None:
    assert members("class Circle:\n    def area(self):\n        return 1\n\n" + use) == ["area"]


@pytest.mark.parametrize("use", ["other.$0", "f(1).$0", "import os\nos.$0"])
def test_members_of_what_this_text_does_not_define_are_not_guessed(use: str) -> None:
    assert members("class Circle:\n    def area(self): pass\n\n" + use) is None


def test_kinds() -> None:
    found = {name.name: name.kind for name in outline("import m\nclass C: pass\ndef f(): pass\nv = 1\n$0")[0].names()}
    assert found == {"m": NameKind.MODULE, "C": NameKind.CLASS, "f": NameKind.FUNCTION, "v": NameKind.VARIABLE}


def test_a_class_that_is_its_own_base_ends() -> None:
    assert members("class A(A):\n    def m(self):\n        self.$0") == ["m"]


def test_members_that_are_used_already_are_nearer() -> None:
    uses = Uses(Text("self.query.filter(a.total)\n# self.comment\n'self.string'\n"))
    assert [uses.distance("self", name) for name in ("query", "total", "comment", "string")] == [0, 1, 2, 2]
    assert uses.distance("self.query", "filter") == 0


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ("import os\nos.$0", "os"),
        ("import os.path\nos.path.$0", "os.path"),
        ("import numpy as np\nnp.linalg.$0", "numpy.linalg"),
        ("from os import path as p\np.$0", "os.path"),
        ("from importlib import util\nutil.$0", "importlib.util"),
        ("os = 1\nos.$0", None),
        ("import os\nos = 1\nos.$0", None),
        ("unknown.$0", None),
    ],
)
def test_what_an_imported_name_stands_for(source: str, origin: str | None) -> None:
    found, receiver = outline(source)
    assert found.origin(receiver) == origin


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("class C:", True),
        ("class C():", True),
        ("class C(object):", True),
        ("class C(Here):", True),
        ("class C(Here, object,):", True),
        ("class C(C):", True),
        ("class C(Further):", False),
        ("class C(There):", False),
        ("class C(Here, There):", False),
        ("class C(there.Here):", False),
        ("class C(Here[int]):", False),
        ("class C(Here, metaclass=There):", False),
        ("class C(\n    Here,\n):", False),
        ("class C(", False),
    ],
)
def test_a_class_with_nothing_from_elsewhere_is_known_whole(header: str, expected: bool) -> None:
    before = "import There\n\nclass Here:\n    def m(self): pass\n\nclass Further(There):\n    pass\n\n"
    found, receiver = outline(f"{before}{header}\n    def own(self):\n        self.$0")
    assert found.all_here(receiver) is expected


def test_only_of_self_and_cls_it_is_told_whether_all_is_known() -> None:
    found, receiver = outline("class C:\n    def own(self):\n        pass\n\nc = C()\nc.$0")
    assert not found.all_here(receiver)
