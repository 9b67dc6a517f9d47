"""What a function's text says of what it returns, and where an expression's last name stands."""

from __future__ import annotations

import pytest

from headway.workspace.python_returns import (
    Spot,
    assigned_at,
    bases_around,
    binds,
    documented_parameter,
    documented_return,
    function_at,
    named_types,
    parameter_types,
    spot_before,
)


def at(source: str) -> tuple[list[str], int, int]:
    """Return the lines of a text without its `$0`, and where that was."""
    before = source[: source.index("$0")]
    line = before.count("\n")
    return source.replace("$0", "", 1).split("\n"), line, len(before.rpartition("\n")[2])


def pointed(lines: list[str], spot: Spot) -> str:
    """Return what stands at a spot, with brackets where it is called."""
    rest = lines[spot.line][spot.column :]
    name = rest[: next((at for at, letter in enumerate(rest) if not (letter.isalnum() or letter == "_")), len(rest))]
    return f"{name}()" if spot.called else name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Response", ("Response",)),
        (":class:`~requests.Response`", ("requests.Response",)),
        (":py:class:`Response <requests.Response>`", ("requests.Response",)),
        ("``str`` or None", ("str",)),
        ("Optional[Part]", ("Part",)),
        ("Union[Part, Other]", ("Part", "Other")),
        ("Part | other.Part | None", ("Part", "other.Part")),
        ("list[str]", ("list",)),
        ("'Part'", ("Part",)),
        ("the response.", ()),
        ("A, B", ()),
        ("list of str", ()),
        ("A or B or C or D", ()),
        ("", ()),
    ],
)
def test_types_are_named_and_sentences_are_not(text: str, expected: tuple[str, ...]) -> None:
    assert named_types(text) == expected


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("Do.\n\n:return: the part\n:rtype: Part\n", ("Part",)),
        ("Do.\n\nReturns:\n    Part: what was made.\n", ("Part",)),
        ("Do.\n\nReturns:\n    What was made: a part.\n", ()),
        ("Do.\n\nReturns:\n    What was made.\n", ()),
        ("Do.\n\nReturns\n-------\nPart\n    What was made.\n\nNotes\n-----\nNone\n", ("Part",)),
        ("Do.\n\nReturns\n-------\nmade : Part\n    It.\n", ("Part",)),
        ("Do.\n\nReturns\n-------\nmade : Part\n    It.\nother : int\n    How.\n", ()),
        ("Returns a Part.", ()),
    ],
)
def test_docstrings_of_three_styles_are_read(docstring: str, expected: tuple[str, ...]) -> None:
    assert documented_return(docstring) == expected


@pytest.mark.parametrize(
    "docstring",
    [
        "Do.\n\n:param one: it\n:type one: Part\n",
        "Do.\n\n:param Part one: it\n",
        "Do.\n\nArgs:\n    one (Part): it\n",
        "Do.\n\nArgs:\n    one (Part, optional): it\n",
        "Do.\n\nParameters\n----------\none : Part, optional\n    It.\n",
    ],
)
def test_parameters_have_types_in_docstrings(docstring: str) -> None:
    assert documented_parameter(docstring, "one") == ("Part",)
    assert documented_parameter(docstring, "on") == ()


def test_what_is_returned_is_found_beside_what_is_not() -> None:
    lines, line, column = at(
        "class A:\n"
        "    async def $0made(\n        self, how\n    ):\n"
        "        def inner():\n            return wrong()\n"
        "        if how:\n            return await self.first(how) or second\n"
        "        'ä'; return how.third['x'] if how else a.fourth(1)\n"
        "    def next(self):\n        return wrong()\n"
    )
    found = function_at(lines, line, column)
    assert found is not None
    assert (found.annotated, found.is_overload, found.is_property, found.types) == (False, False, False, ())
    assert [pointed(lines, spot) for spot in found.returned] == ["first()", "second", "fourth()"]


def test_the_name_of_a_function_is_not_its_parameter() -> None:
    lines, line, column = at("def made($0how):\n    return how\n")
    assert function_at(lines, line, column) is None


@pytest.mark.parametrize(
    ("source", "annotated", "overload", "is_property", "types"),
    [
        ('def $0f():\n    """:rtype: A"""\n', False, False, False, ("A",)),
        ('def $0f() -> B:\n    """:rtype: A"""\n', True, False, False, ()),
        ("@overload\ndef $0f(a: int) -> A | None: ...\n", True, True, False, ("A",)),
        ('@functools.cached_property\n@other\ndef $0f(self):\n    """:rtype: A"""\n', False, False, True, ("A",)),
        ("def $0f():\n    yield made()\n    return made()\n", False, False, False, ()),
    ],
)
def test_what_is_written_around_a_function_counts(
    source: str, annotated: bool, overload: bool, is_property: bool, types: tuple[str, ...]
) -> None:
    found = function_at(*at(source))
    assert found is not None
    assert (found.annotated, found.is_overload, found.is_property) == (annotated, overload, is_property)
    assert (found.types, found.returned) == (types, ())


def test_a_function_that_does_not_parse_says_nothing() -> None:
    assert function_at(*at("def $0f(:\n    return made()\n")) is None


def test_only_plain_parameters_without_annotation_are_looked_up() -> None:
    body = '    """\n    :param A one: .\n    :param A two: .\n    :param A three: .\n    """\n'
    for header, expected in (
        (f"def f(\n    $0one, two: int, *three\n):\n{body}", ("A",)),
        (f"def f(one, $0two: int, *three):\n{body}", ()),
        (f"def f(one, two: int, *$0three):\n{body}", ()),
    ):
        assert parameter_types(*at(header)) == expected


@pytest.mark.parametrize(
    ("line", "expression", "name"),
    [
        ("x.", "x", "x"),
        ("print(a.b.", "a.b", "b"),
        ("y = f(1, 'a)').g(x)[0].h().", "f(1, 'a)').g(x)[0].h()", "h()"),
        ("if not made(1)  .", "made(1)", "made()"),
        ("a[0].", None, None),
        ("'x'.join(a).", None, None),
        ("(a + b).", None, None),
        ("1.", None, None),
    ],
)
def test_the_expression_before_a_dot_is_found(line: str, expression: str | None, name: str | None) -> None:
    end = len(line) - 1
    found = spot_before(line, 0, end)
    if found is None:
        assert expression is None
    else:
        assert line[found[0] : end].rstrip() == expression
        assert pointed([line], found[1]) == name


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("$0x = made(1)\n", "made()"),
        ("    $0x = await a.made(\n        1,\n    )\n", "made()"),
        ("$0x = a.b(1)[0].c  # it\n", "c"),
        ("$0x = made(1).other()\n", "other()"),
        ("$0x = made(1) + 1\n", None),
        ("$0x = made(1), 2\n", None),
        ("$0x == made(1)\n", None),
        ("$0x: A = made(1)\n", None),
        ("y = $0x = made(1)\n", None),
        ("$0x = 1\n", None),
    ],
)
def test_what_is_assigned_is_found(source: str, name: str | None) -> None:
    lines, line, column = at(source)
    found = assigned_at(lines, line, column)
    assert (None if found is None else pointed(lines, found)) == name


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A(B, c.D[int], metaclass=M):\n    def f(self):\n        $0\n", ("B", "c.D[int]")),
        ("class A(\n    B,\n):\n    def f(self):\n        if 1:\n            $0x\n", ("B",)),
        ("if 1:\n    class A(B):\n        def f(self):\n            $0x\n", ("B",)),
        ("class A(B):\n    class C(D):\n        def f(self):\n            $0x\n", ()),
        ("def g():\n    class A(B):\n        def f(self):\n            $0x\n", ()),
        ("class A(B):\n    pass\ndef f():\n    $0x\n", ()),
        ("class A:\n    def f(self):\n        $0x\n", ()),
    ],
)
def test_the_bases_of_the_class_around_are_found(source: str, expected: tuple[str, ...]) -> None:
    lines, line, _ = at(source)
    assert bases_around(lines, line) == expected


def test_what_looks_as_if_it_made_a_name_is_told_from_what_uses_it() -> None:
    for line in (
        "import A",
        "from b import c, A",
        "from b import c as A",
        "class A:",
        "A = 1",
        "    A,",
        "    b as A,",
    ):
        assert binds(["x", line], "A"), line
    for line in ("f(A)", "return A", "import AB", "x = A", ":rtype: A.b"):
        assert not binds(["x", line], "A"), line
