"""Which statements are typed, and what the sources prove about them."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from headway.demo.sources import Sources
from headway.demo.statements import LONGEST_KEYS, Statement, choose, statements_of

MakeProject = Callable[[Mapping[str, str]], Path]


def found(root: Path) -> list[Statement]:
    sources = Sources(root)
    modules = [sources.module(name) for name in sources.names()]
    return [statement for module in modules if module for statement in statements_of(sources, module)]


def method(*body: str) -> str:
    """A class with one method of these lines, and one that is worth completing."""
    lines = ["class Holder:", "    wanted_value = 1", "    def work(self, given):"]
    return "\n".join(
        [*lines, *(f"        {line}" for line in body), "    def helper_method(self):", "        return 1"]
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (method("self.helper_method()"), ("own", "self.helpe", "helper_method")),
        (method("x = self.wanted_value"), ("own", "x = self.wante", "wanted_value")),
        ("import textwrap\ndef f(a):\n    return textwrap.dedent(a)\n", ("module", "return textwrap.deden", "dedent")),
        ("import textwrap as t\ndef f(a):\n    return t.dedent(a)\n", ("module", "return t.deden", "dedent")),
        ("from urllib import parse\ndef f(a):\n    parse.quote_plus(a)\n", ("module", "parse.quote", "quote_plus")),
        ("def helper_function(a):\n    return helper_function(a)\n", ("scope", "return helpe", "helper_function")),
        (
            "def f(a):\n    if a:\n        raise WrongValue\nclass WrongValue: ...\n",
            ("scope", "raise Wrong", "WrongValue"),
        ),
    ],
)
def test_names_that_the_source_proves(source: str, expected: tuple[str, ...], make_project: MakeProject) -> None:
    """The text ends before the name does, at the place where the statement stands."""
    root = make_project({"pack/mod.py": source})
    (statement,) = found(root)
    assert (statement.kind, statement.text, statement.label) == expected
    line = source.splitlines()[statement.line]
    assert line[statement.column :].startswith(statement.text)
    assert statement.label in line
    assert 0 < statement.known_from <= len(statement.text)


@pytest.mark.parametrize(
    "source",
    [
        method("self.unknown_attribute()"),  # Nothing proves it.
        method("self.wanted_value = given"),  # Being made, not known.
        method("self = given", "print(f'{self.helper_method}')"),  # Inside an f-string there is no column.
        method("textwrap = given", "textwrap.dedent(1)"),  # No module is meant.
        "import textwrap\ndef f(textwrap):\n    textwrap.dedent(1)\n",
        "import nowhere_to_be_found\ndef f(a):\n    nowhere_to_be_found.something(a)\n",
        "def helper_function(helper_function):\n    return helper_function(1)\n",
        "def f(a):\n    return a.helper_method\n",
        "def f(a):\n\treturn f\n\ndef helper_function(a):\n\treturn helper_function\n",  # Tabs.
        "def helper_function(a):\r\n    return helper_function\r\n",
        "def helper_function(a:\n    return helper_function\n",  # No Python.
        "é = 1\ndef helper_function(a):\n    return helper_function\n",  # Columns are bytes in an ast.
        "def helper_function(a): return helper_function\n",  # Shares its line.
    ],
)
def test_what_is_uncertain_is_left_alone(source: str, make_project: MakeProject) -> None:
    assert found(make_project({"pack/mod.py": source})) == []


def test_members_of_bases_in_other_files_are_known(shop: Path) -> None:
    by_label = {(s.kind, s.label) for s in found(shop)}
    assert ("inherited", "load_fields") in by_label
    assert ("inherited", "mark_changed") in by_label
    assert ("imported", "StoredRecord") in by_label


def test_an_import_is_typed_only_where_the_project_has_the_name(make_project: MakeProject) -> None:
    known = make_project(
        {
            "pack/a.py": "from pack.b import PresentThing\nfrom pack.b import AbsentThing\nfrom os import environ\n",
            "pack/b.py": "PresentThing = 1\n",
        }
    )
    assert [(s.text, s.label) for s in found(known)] == [("from pack.b import Prese", "PresentThing")]


def test_bases_in_a_circle_end(make_project: MakeProject) -> None:
    source = (
        "class First(Second):\n    def helper_method(self):\n        self.helper_method()\nclass Second(First): ...\n"
    )
    assert [s.label for s in found(make_project({"pack/mod.py": source}))] == ["helper_method"]


def test_a_source_folder_is_no_package(make_project: MakeProject) -> None:
    root = make_project({"src/pack/mod.py": "def helper_function():\n    return helper_function()\n"})
    assert Sources(root).names() == ["pack.mod"]
    assert [s.file for s in found(root)] == ["src/pack/mod.py"]


def test_the_choice_is_the_same_each_time_and_mixed(shop: Path) -> None:
    first, again = (choose(Sources(shop), 8, seed=1) for _ in range(2))
    assert first == again
    assert len(first) == len(set(first)) == 8
    assert len({s.kind for s in first[:4]}) == 4
    assert all(len(s.text) <= LONGEST_KEYS for s in first)


def test_fewer_than_asked_for_is_all_there_is(make_project: MakeProject) -> None:
    root = make_project({"pack/mod.py": "def helper_function():\n    return helper_function()\n"})
    assert len(choose(Sources(root), 100, seed=1)) == 1


@pytest.mark.parametrize(
    ("name", "statement", "typed"),
    [
        ("pack/a.py", "from . import helper_module", "return helper_module.wante"),
        ("pack/sub/a.py", "from .. import helper_module", "return helper_module.wante"),
        ("pack/sub/__init__.py", "from ..helper_module import wanted_function as wanted", None),
        ("pack/__init__.py", "from . import helper_module", "return helper_module.wante"),
    ],
)
def test_relative_imports_lead_where_python_goes(
    name: str, statement: str, typed: str | None, make_project: MakeProject
) -> None:
    source = f"{statement}\ndef f(a):\n    return helper_module.wanted_function(a)\n"
    root = make_project({name: source, "pack/helper_module.py": "def wanted_function(a):\n    return a\n"})
    assert [s.text for s in found(root)] == ([typed] if typed else [])
