"""Which places mean the same name, what folds, where files use a name. In marks `<x>` is a use, `<=x>` binds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headway.workspace.documents import Document
from headway.workspace.files import ReadOptions
from headway.workspace.occurrences import Fold, Meant, Sort, Use, folds_of, meant_at, uses_in
from headway.workspace.text import Position, Range

_MARK = re.compile(r"\$0|<(=?)(\w+)>")


def check(source: str, language: str = "python", *, name: str = "x", owners: frozenset[str] = frozenset()) -> Meant:
    """Ask at `$0` and compare the uses with the marks."""
    text, uses, cursor, at = "", [], -1, 0
    for mark in _MARK.finditer(source):
        text += source[at : mark.start()]
        at = mark.end()
        if mark.group() == "$0":
            cursor = len(text)
        else:
            uses.append((len(text), mark[1] == "=", mark[2]))
            text += mark[2]
    text += source[at:]
    document = Document(uri="", language=language, version=0, text=text)
    found = meant_at(name, text, language, document.position_at(cursor), owners)
    assert found is not None
    expected = [
        Use(Range(document.position_at(start), document.position_at(start + len(word))), binds)
        for start, binds, word in uses
    ]
    assert [use._replace(wide=None) for use in found.uses] == expected
    return found


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\ndef f($0<=x>: int = x):\n    return <x>\n",
        "$0<=x> = 1\ndef f(x=<x>):\n    return x\nprint(<x>, f(x=3))\n",
        "def f(y):\n    return [$0<x> for <=x> in y]\nx = 3\n",
        "class A:\n    <=x> = 1\n    def m(self):\n        self.$0<=x> = 2\n        return x + self.<x>\nx = 5\n",
        "def f():\n    global <x>\n    <=x> = 1\n$0<=x> = 5\n",
        "def f(a):\n    with open(a) as <=x>:\n        $0<x>.read()\nx = 1\n",
        "from a import <=x>, c as d\n$0<x>()\ndef g():\n    return <x>\n",
        "for i, (<=x>, k) in q:\n    print($0<x>)\n",
        "def f():\n    if (<=x> := g()):\n        return $0<x>\nx = 1\n",
        "def f():\n    def <=x>(): return <x>\n    return $0<x>\nx = 1\n",
        "def f():\n    x = 1\n    def g():\n        nonlocal x\n        return x\n<=x> = 2\n$0<x>\n",
        "try:\n    pass\nexcept E as <=x>:\n    raise $0<x>\n'x'  # x\n",
        "lambda <=x>: $0<x> + 1\nx = 2\n",
    ],
)
def test_python_s_scopes(source: str) -> None:
    check(source)


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("go", "package a\nfunc f() { <=x> := Foo{1}; $0<x>.Bar() }\nfunc g() { x := 2; _ = x }\n"),
        ("rust", "fn f() { let <=x> = Foo::new(); $0<x>.bar() }\nfn g() { let x = 1; }\n"),
        ("javascript", "function f() { const <=x> = new Foo(); return $0<x> + 'x' }\nfunction g(x) {}\n"),
        ("typescript", "function f(<=x>: Foo) { return $0<x>.y } function g() { const x = 2 }"),
        ("java", "class A { int m() { Foo <=x> = new Foo(); return $0<x>.n; } int g(int x) { return x; } }"),
        ("c", "int f(struct Foo *<=x>) { return $0<x>->y; }\nint g(int x) {return x;}\n"),
        ("cpp", "int f() { Foo <=x>; return $0<x>.y; }\nint g(int x) { return x; }\n"),
        ("csharp", "class A { int M() { var <=x> = new Foo(); return $0<x>.q; } int G(int x) { return x; } }"),
        ("ruby", "def f\n  <=x> = Foo.new\n  $0<x>.bar\nend\nx = 3\n"),
        ("php", "<?php function f() { $<=x> = new Foo(); return $$0<x>; } $x = 2;"),
    ],
)
def test_a_local_name_of_another_language_is_its_function_s(language: str, source: str) -> None:
    found = check(source, language)
    assert found.sort is Sort.LOCAL
    assert "Foo" in found.types


def test_shell_variables_are_everybody_s() -> None:
    assert check("<x>=1\nf() { echo $$0<x>; }\n", "shellscript").sort is Sort.COMMON


@pytest.mark.parametrize(
    ("source", "types"),
    [
        ("def f($0<=x>: Foo | None): pass\n", ("Foo", "None")),
        ("<=x> = shapes.Circle(3)\n$0<x>\n", ("Circle", "shapes")),
        ("<=x> = [1]\n$0<x>\n", ()),
    ],
)
def test_types_are_what_bindings_say(source: str, types: tuple[str, ...]) -> None:
    assert check(source).types == types


def test_the_line_that_binds_a_name_is_told() -> None:
    assert check("def f():\n    <=x> = 1\n    <=x> = 2\n    $0<x>\n    <=x> = 3\n").line == "x = 2"


def test_behind_a_module_that_defines_it_a_name_is_no_member() -> None:
    source = "import shapes\nshapes.$0<x>\nself.x\n<x>\n"
    assert check(source, owners=frozenset({"shapes"})).sort is Sort.COMMON
    assert check("import shapes\nshapes.$0<x>\nself.<x>\nx\n").sort is Sort.MEMBER


@pytest.mark.parametrize("source", ["'te$0xt'\n", "# te$0xt\n", "1 $0 + 2\n", "\n\n$0"])
def test_what_is_no_name_means_nothing(source: str) -> None:
    offset = source.index("$0")
    text = source.replace("$0", "")
    place = Document(uri="", language="python", version=0, text=text).position_at(offset)
    assert meant_at("a.py", text, "python", place) is None


def test_a_language_without_a_grammar_means_nothing() -> None:
    assert meant_at("a.txt", "some words", "plaintext", Position(0, 1)) is None
    assert folds_of("a.txt", "some words", "plaintext") is None


def test_columns_behind_wide_characters_can_be_told_in_all_units() -> None:
    found = meant_at("a.py", "s = '😀'; x = 1\n", "python", Position(0, 9))
    assert found is not None
    (use,) = found.uses
    assert use.range.start == Position(0, 9)
    assert use.wide == (1, 1, 1, 1, 3, 3, 3, 3)


def test_files_that_use_a_name_where_it_is_not_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from shapes import draw\ndraw()\nself.draw()\n")
    (tmp_path / "b.py").write_text("def f(draw):\n    return draw\n")
    (tmp_path / "c.py").write_text("import shapes\nshapes.draw()\n")
    (tmp_path / ".env").write_text("draw = 1\n")
    paths = [str(tmp_path / name) for name in ("a.py", "b.py", "c.py", "d.py", ".env")]
    open_texts = {str(tmp_path / "d.py"): ("python", "draw()\n")}
    found = uses_in(paths, "draw", Sort.COMMON, frozenset({"shapes"}), ReadOptions(), open_texts)
    lines = {Path(file.path).name: [use.range.start.line for use in file.uses] for file in found}
    assert lines == {"a.py": [0, 1], "c.py": [1], "d.py": [0]}
    (members,) = uses_in(paths, "draw", Sort.MEMBER, frozenset({"shapes"}), ReadOptions(), open_texts)
    assert [use.range.start.line for use in members.uses] == [2]


@pytest.mark.parametrize(
    ("language", "text", "folds"),
    [
        ("python", "import a\nimport b\n\n# one\n# two\ndef f():\n    if a:\n        b\n\n\nc = 1\n",
         [Fold(0, 1, "imports"), Fold(3, 4, "comment"), Fold(5, 7), Fold(6, 7)]),
        ("python", "x = [\n    1,\n    2,\n]\n", [Fold(0, 2)]),
        ("go", "package a\n\nfunc f() {\n\tif x {\n\t\ty()\n\t}\n}\n", [Fold(2, 5), Fold(3, 4)]),
        ("json", '{\n  "a": [\n    1,\n    2\n  ]\n}\n', [Fold(0, 4), Fold(1, 3)]),
        ("python", "def f():\n    one()\n    two()\n", [Fold(0, 2)]),
        ("python", "x = 1\n", []),
    ],
)  # fmt: skip
def test_folds(language: str, text: str, folds: list[Fold]) -> None:
    assert folds_of("x", text, language) == folds
