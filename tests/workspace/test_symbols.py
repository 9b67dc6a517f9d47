"""Symbols in memory: what is found by name, in which order, and how changes by file come in, in any order."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.workspace.index import Definition, SymbolKind, index_text
from headway.workspace.name_sets import bit_indices, start_of
from headway.workspace.segments import IndexedFile, Segment
from headway.workspace.symbols import IndexView, SymbolTable

NAMES = st.text(st.sampled_from("abAB_1éß😀"), min_size=1, max_size=6)


def definition(name: str, container: str = "", kind: int = SymbolKind.FUNCTION) -> Definition:
    return Definition(name, kind, container, 3, 0, 5, 8, 3, 4, f"def {name}():", "")


def segment(*files: tuple[int, int, str, list[Definition]]) -> Segment:
    return Segment.unpack(Segment([IndexedFile(*file) for file in files]).pack())


def view_of(*names: str) -> IndexView:
    table = SymbolTable("/w")
    table.adopt(segment((1, 1, "a.py", [definition(name) for name in names])))
    return IndexView(parts=table.parts)


def found(view: IndexView, query: str, limit: int = 10) -> list[str]:
    return [f.symbol.name for f in view.symbols(query, limit)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("OrderBook", ["OrderBook", "orderbook", "OrderBooks", "my_order_book"]),
        ("orderbook", ["orderbook", "OrderBook", "OrderBooks", "my_order_book"]),
        ("ob", ["OrderBook", "OrderBooks", "my_order_book"]),
        ("orbo", ["OrderBook", "OrderBooks", "my_order_book", "orderbook"]),
        ("book", ["OrderBook", "OrderBooks", "my_order_book", "orderbook"]),
        ("koob", []),
        ("oderbk", ["OrderBook", "orderbook", "OrderBooks", "my_order_book"]),
        ("zebra", ["zebra"]),
        ("nothing", []),
        ("", []),
        ("  ", []),
        ("\n", []),
    ],
)
def test_names_are_found_from_the_best_fit_to_the_loosest(query: str, expected: list[str]) -> None:
    view = view_of("OrderBook", "orderbook", "OrderBooks", "my_order_book", "zebra")
    assert found(view, query) == expected


def test_a_container_narrows_the_search() -> None:
    table = SymbolTable("/w")
    definitions = [definition("get", "Cache"), definition("get", "Client"), definition("get")]
    table.adopt(segment((1, 1, "pkg/net.py", definitions)))
    view = IndexView(parts=table.parts)
    assert [f.symbol.container for f in view.symbols("Cache.get", 10)] == ["Cache"]
    assert [f.symbol.container for f in view.symbols("net.Client.get", 10)] == ["Client"]
    assert [f.symbol.container for f in view.symbols("get", 10)] == ["", "Cache", "Client"]


def test_completions_are_one_for_each_name_with_what_can_be_imported_first() -> None:
    table = SymbolTable("/w")
    table.adopt(segment((1, 1, "src/pkg/a.py", [definition("make", "Maker", SymbolKind.METHOD), definition("maker")])))
    table.adopt(segment((2, 2, "pkg/b.py", [definition("make"), definition("Make", kind=SymbolKind.CLASS)])))
    view = IndexView(parts=table.parts)
    completed = view.complete("mak", 10)
    assert [f.symbol.name for f in completed] == ["make", "maker", "Make"]
    assert (completed[0].module, completed[1].module) == ("pkg.b", "pkg.a")
    assert completed[0].path == "/w/pkg/b.py"
    assert [f.symbol.name for f in view.complete("mak", 1)] == ["make"]


@given(names=st.lists(NAMES, max_size=12), query=NAMES)
def test_looking_up_agrees_with_looking_at_every_name(names: list[str], query: str) -> None:
    made = segment((1, 1, "a.py", [definition(name) for name in names]))
    indexed = [made.name(index) for index in range(made.name_count)]
    assert sorted(set(names)) == sorted(indexed)
    assert {made.name(i) for i in made.starting(start_of(query))} == {
        n for n in names if n.lower().startswith(query.lower())
    }
    containing = made.containing(query, made.with_letters(query))
    assert {made.name(i) for i in containing} == {n for n in names if query.lower() in n.lower()}
    letters = {c for c in query.lower() if c in "ab1_"}
    holding = {made.name(i) for i in bit_indices(made.with_letters(query))}
    assert holding == {n for n in names if letters <= set(n.lower())}


@given(st.integers(0, 2**200))
def test_bits_are_enumerated(bits: int) -> None:
    assert sum(1 << index for index in bit_indices(bits)) == bits


def test_places_survive_packing() -> None:
    source = 'x = "😀"; y = 1\nclass A:\n    def b(self):\n        pass\n'
    definitions = index_text("a.py", source).definitions
    made = segment((1, 1, "a.py", list(definitions)))
    for index in range(made.name_count):
        for row in made.rows(index):
            (symbol,) = made.symbols([(index, (row,))])
            (original,) = [d for d in definitions if d.name == symbol.name and d.kind == symbol.kind]
            assert (symbol.range, symbol.selection_range) == (original.range, original.selection_range)
            assert (symbol.container, list(symbol.wide or [])) == (original.container, list(original.wide or []))


@given(data=st.data())
def test_the_newest_version_of_each_file_counts_in_whatever_order_they_come(data: st.DataObject) -> None:
    """Segments of several versions, packed copies and removals, shuffled: the table shows what came last by stamp."""
    steps = data.draw(
        st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["write", "remove"])), min_size=1, max_size=12)
    )
    shown: dict[int, str] = {}
    happened: list[tuple[int, int, str]] = []
    for stamp, (file_id, what) in enumerate(steps, 1):
        happened.append((file_id, stamp, what))
        if what == "write":
            shown[file_id] = f"name_{stamp}"
        else:
            shown.pop(file_id, None)
    table = SymbolTable("/w")
    shuffled = list(happened)
    random.Random(data.draw(st.integers(0, 1000))).shuffle(shuffled)
    for file_id, stamp, what in shuffled:
        if what == "write":
            table.adopt(segment((file_id, stamp, f"{file_id}.py", [definition(f"name_{stamp}")])))
        else:
            table.remove([file_id], stamp)
    newest = {file_id: stamp for file_id, stamp, what in happened if what == "write"}
    packed = [
        (file_id, stamp, f"{file_id}.py", [definition(f"name_{stamp}")])
        for file_id, stamp in newest.items()
        if file_id in shown
    ]
    for repacked in (False, True):
        view = IndexView(parts=table.parts)
        assert sorted(f.symbol.name for f in view.symbols("name_", 100)) == sorted(shown.values())
        assert table.file_count == len(shown)
        if packed:
            table.adopt(segment(*packed), repacked=True)
        if repacked and packed:
            assert table.segment_count == 1


def test_many_small_pieces_are_to_be_packed() -> None:
    table = SymbolTable("/w")
    for n in range(12):
        assert table.to_be_packed() == []
        table.adopt(segment((n, 1, f"{n}.py", [definition(f"name_{n}")]), (100 + n, 1, "x.py", [])))
    table.remove([3], 2)
    assert sorted(table.to_be_packed()) == [0, 1, 2, *range(4, 12), *range(100, 112)]
    files = [(n, 1, f"{n}.py", [definition(f"name_{n}")]) for n in table.to_be_packed()]
    table.adopt(segment(*files), repacked=True)
    assert table.segment_count == 1
    assert table.to_be_packed() == []


def test_memory_a_symbol_costs() -> None:
    """The packed form stays near the arrays' own size."""
    definitions = [definition(f"symbol_number_{n}") for n in range(5_000)]
    assert segment((1, 1, "a.py", definitions)).memory_bytes / 5_000 < 100
