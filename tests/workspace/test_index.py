"""What is read out of a file: definitions with their places, texts to be found by, and trouble as data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.workspace import syntax
from headway.workspace.documents import Document
from headway.workspace.index import Definition, FileIndex, SymbolKind, Wide, index_text, language_of, module_name
from headway.workspace.packing import pack, unpack_chunks, unpack_definitions


def defined(source: str, path: str = "pkg/mod.py") -> dict[str, Definition]:
    """The definitions of Python source by dotted name, without the file itself."""
    found = index_text(path, source)
    return {".".join(filter(None, (d.container, d.name))): d for d in found.definitions[1:]}


def check(source: str, expected: dict[str, SymbolKind]) -> None:
    assert {name: SymbolKind(d.kind) for name, d in defined(source).items()} == expected


def test_kinds_and_containers() -> None:
    check(
        "import enum\n"
        "LIMIT = 3\n"
        "value: int = 4\n"
        "a, b = 1, 2\n"
        "type Alias = int\n"
        "class Colour(enum.Enum):\n    RED = 1\n"
        "class Outer(Base):\n"
        "    field = 1\n"
        "    class Inner:\n        def method(self): self.made = 1; other.not_ours = 2\n"
        "    @property\n    def size(self): return 1\n"
        "async def function():\n    local = 1\n    def nested(): pass\n"
        "if True:\n    def conditional(): pass\n"
        "try:\n    import json\nexcept ImportError:\n    json = None\n",
        {
            "LIMIT": SymbolKind.CONSTANT,
            "value": SymbolKind.VARIABLE,
            "a": SymbolKind.VARIABLE,
            "b": SymbolKind.VARIABLE,
            "Alias": SymbolKind.VARIABLE,
            "Colour": SymbolKind.ENUM,
            "Colour.RED": SymbolKind.ENUM_MEMBER,
            "Outer": SymbolKind.CLASS,
            "Outer.field": SymbolKind.FIELD,
            "Outer.Inner": SymbolKind.CLASS,
            "Outer.Inner.method": SymbolKind.METHOD,
            "Outer.Inner.made": SymbolKind.FIELD,
            "Outer.size": SymbolKind.PROPERTY,
            "function": SymbolKind.FUNCTION,
            "function.nested": SymbolKind.FUNCTION,
            "conditional": SymbolKind.FUNCTION,
            "json": SymbolKind.VARIABLE,
        },
    )


def test_signature_and_docstring() -> None:
    found = defined('def f(\n    a: int,\n    b: str = "x",\n) -> None:\n    """First line.\n\n    More.\n    """\n')[
        "f"
    ]
    assert found.detail == 'def f( a: int, b: str = "x", ) -> None:'
    assert found.doc == "First line.\n\nMore."


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_places_count_code_points_and_the_protocol_s_line_ends(end: str) -> None:
    source = end.join(['x = "😀😀"; y = 1', "", "@decorated", 'def after(): return "😀𠀋"', ""])
    document = Document(uri="file:///a.py", language="python", version=1, text=source)
    found = defined(source)
    assert document.slice(found["after"].range) == f'@decorated{end}def after(): return "😀𠀋"'
    assert document.slice(found["after"].selection_range) == "after"
    assert document.slice(found["y"].range) == "y = 1"


@given(before=st.text(st.characters(codec="utf-8", exclude_characters='"\\\n\r\0'), max_size=8))
def test_columns_in_every_encoding(before: str) -> None:
    """What is kept beside a definition turns its columns into those of UTF-16 and UTF-8."""
    line = f'x = "{before}"; name_here = "{before}"'
    found = defined(f"{line}\n")["name_here"]
    wide = Wide.read(found.wide)
    for place, column in enumerate((found.column, found.end_column, found.name_column, found.name_column + 9)):
        head = line[:column]
        assert column + wide.utf16[place] == len(head.encode("utf-16-le")) // 2
        assert column + wide.utf8[place] == len(head.encode())


def test_broken_source_gives_what_lies_outside_of_the_breakage() -> None:
    found = index_text("a.py", "def whole():\n    pass\n\ndef broken(:\n\nclass Also:\n    def inside(self): pass\n")
    assert {"whole", "Also", "inside"} <= {d.name for d in found.definitions}
    assert found.problem == "syntax errors"


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "[" * 5_000 + "]" * 5_000 + "\n",
        "x = " + " + ".join(["1"] * 100_000) + "\n",
        "(" * 20_000 + "\n",
        "".join(" " * i + "if x:\n" for i in range(900)) + " " * 900 + "pass\n",
        "".join(" " * i + f"def f{i}():\n" for i in range(500)) + " " * 500 + "pass\n",
        "def (:\n" * 1_000,
        "\0" * 1_000,
        "\ud800 = '\udc00'\n",
        "",
    ],
    ids=["lists", "terms", "parens", "blocks", "functions", "errors", "nul", "surrogates", "empty"],
)
def test_no_source_is_too_odd(source: str) -> None:
    """Depth, length and nonsense cost time in proportion and raise nothing."""
    found = index_text("odd.py", source)
    assert found.definitions[0].kind == SymbolKind.MODULE
    for definition in found.definitions:
        definition.name.encode()


def test_a_parser_that_takes_too_long_is_stopped_and_the_next_file_is_unharmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(syntax, "PARSE_LIMIT_S", -1.0)
    stopped = index_text("slow.py", "def slow(): pass\n" * 5_000)
    assert stopped.problem is not None
    assert "too complex" in stopped.problem
    monkeypatch.undo()
    assert "quick" in defined("def quick(): pass\n")


def texts(found: FileIndex) -> dict[str, str]:
    return {found.definitions[c.ordinal].name: " ".join(c[1:]) for c in found.chunks}


def test_a_definition_is_found_by_its_own_words() -> None:
    found = texts(
        index_text(
            "shop/orders.py",
            '"""Orders."""\nrate = 3\nclass OrderBook:\n    """Keeps offers."""\n'
            "    def best_offer(self):\n        return highest_bid\n",
        )
    )
    assert set(found) == {"orders", "OrderBook", "best_offer"}
    assert {"order", "book", "orderbook", "Keeps", "shop"} <= set(found["OrderBook"].split())
    assert {"best", "offer", "bestoffer", "order", "highest", "bid"} <= set(found["best_offer"].split())
    assert "highest" not in found["OrderBook"].split()
    assert "rate" in found["orders"].split()


def test_other_languages_are_found_by_file() -> None:
    found = index_text("docs/guide.rst", "# Conversion\nHow temperatures are kept.\n")
    assert [d.name for d in found.definitions] == ["guide"]
    assert "temperatures" in texts(found)["guide"]


def test_imports_are_listed() -> None:
    found = index_text("a.py", "import os.path, json as j\nfrom ..pkg import name as n\nfrom . import other\n")
    assert set(found.imports) == {"os.path", "json", "..pkg", "..pkg.name", ".", ".other"}


@pytest.mark.parametrize(
    ("path", "module"),
    [("a/b.py", "a.b"), ("src/a/__init__.py", "a"), ("a.pyi", "a"), ("src.py", "src"), ("__init__.py", "__init__")],
)
def test_module_names(path: str, module: str) -> None:
    assert module_name(path) == module


def test_languages_go_by_the_name() -> None:
    assert language_of("a/B.PY") == "python"
    assert language_of("a/image.png") is None


def test_the_start_of_a_docstring_is_kept_once_and_the_rest_of_it_as_text() -> None:
    """Words of a docstring are found as such; those behind the part that is kept are found in the body."""
    filler = "filling " * 100
    for head in ("def work():", "class Work:"):
        source = f'{head}\n    """Beginning here. {filler} ending"""\n    value = compute()\n    # remark\n'
        (chunk,) = [chunk for chunk in index_text("a.py", source).chunks if chunk.ordinal == 1]
        assert chunk.doc.startswith("Beginning here. filling")
        assert "beginning" not in chunk.body
        assert {"ending", "compute"} <= set(chunk.body.split())
    (chunk,) = [c for c in index_text("a.py", 'def a():\n    """Only this."""\n').chunks if c.ordinal == 1]
    assert chunk.body == ""


def test_texts_follow_from_definitions_and_bodies() -> None:
    """What the store keeps of a file's texts gives each one's words back, as often as they stood there."""
    source = 'class OrderBook:\n    """Keeps."""\n    def get_it(self):\n        return self.of("é", it, self)\nX = 1\n'
    for path in ("pkg/deep/mod_name.py", "pkg/__init__.py", "x.py"):
        found = index_text(path, source)
        block = pack(found.definitions, found.chunks)
        kept = unpack_chunks(path, block)
        assert [sorted(chunk.body.split()) for chunk in kept] == [sorted(chunk.body.split()) for chunk in found.chunks]
        assert [chunk._replace(body="") for chunk in kept] == [chunk._replace(body="") for chunk in found.chunks]
        assert tuple(unpack_definitions(block)) == tuple(
            d._replace(wide=None if d.wide is None else list(d.wide)) for d in found.definitions
        )
    assert unpack_chunks("x.py", pack((), ())) == []
