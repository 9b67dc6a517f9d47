"""Names in large segments: bounded tries still find what is meant first, and the same as looking at every name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.workspace.index import Definition, SymbolKind
from headway.workspace.matching import HOWS, Lookup
from headway.workspace.segments import IndexedFile, Segment
from headway.workspace.symbols import IndexView, SymbolTable

NAMES = st.text(st.sampled_from("abAB_1éß😀"), min_size=1, max_size=6)


def segment(names: list[str], file_id: int = 1, path: str = "a.py") -> Segment:
    definitions = [Definition(name, SymbolKind.FUNCTION, "", 1, 0, 2, 0, 1, 4, "", "") for name in names]
    return Segment([IndexedFile(file_id, file_id, path, definitions)])


def fitting(segments: list[Segment], query: str, how: str, limit: int = 50) -> list[str]:
    return [segments[number].name(index) for _, number, index in Lookup(segments, query).fitting(how, limit)]


def in_order(name: str, letters: str) -> bool:
    at = 0
    for letter in letters:
        at = name.find(letter, at) + 1
        if at == 0:
            return False
    return True


@given(st.lists(st.lists(NAMES, max_size=8), max_size=4), NAMES)
def test_each_way_finds_what_looking_at_every_name_would(groups: list[list[str]], query: str) -> None:
    segments = [segment(names) for names in groups]
    low = query.lower()
    for how, fits in (
        ("exact", lambda name: name == low),
        ("prefix", lambda name: name.startswith(low)),
        ("part", lambda name: low in name),
    ):
        expected = sorted({(number, n) for number, names in enumerate(groups) for n in names if fits(n.lower())})
        found = [(number, segments[number].name(i)) for _, number, i in Lookup(segments, query).fitting(how, 500)]
        assert sorted(found) == expected, how
    assert all(in_order(name.lower(), low) for name in fitting(segments, query, "letters"))


def test_the_shortest_come_first_whichever_segment_they_are_in() -> None:
    segments = [segment(["order_book_entry", "order_bookings"]), segment(["order_book", "other"])]
    assert fitting(segments, "order_b", "prefix") == ["order_book", "order_bookings", "order_book_entry"]
    assert fitting(segments, "order_b", "prefix", limit=1) == ["order_book"]


def test_in_a_vast_index_names_that_begin_like_the_query_are_tried_first() -> None:
    """Of far more candidates than may be tried, the one that is meant is still found, however late it lies."""
    crowd = [f"x{number:05}_lea_ngt_hy" for number in range(20_000)]
    segments = [segment(crowd), segment([*crowd, "length_of_thing"])]
    assert "length_of_thing" in fitting(segments, "lengthy"[:6], "prefix")
    assert "length_of_thing" in fitting(segments, "lntthng", "letters")


def test_initials_are_found_among_many_that_merely_hold_the_letters() -> None:
    crowd = [f"aorderbook{number}" for number in range(20_000)]
    assert fitting([segment([*crowd, "OrderBook"])], "ob", "humps")[0] == "OrderBook"


def test_names_whose_case_changes_their_length_are_found_too() -> None:
    made = segment(["İstanbul", "istanbul_x", "STRASSE"])
    assert set(fitting([made], "i", "prefix")) == {"İstanbul", "istanbul_x"}
    assert fitting([made], "strasse", "exact") == ["STRASSE"]


def test_of_one_name_the_nearest_comes_first() -> None:
    table = SymbolTable("/w")
    for number, path in enumerate(("a/deep/far.py", "b/near.py", "c/other.py"), 1):
        table.adopt(segment(["make"], number, path))
    view = IndexView(parts=table.parts)
    assert [f.symbol.path for f in view.symbols("make", 5)] == ["a/deep/far.py", "b/near.py", "c/other.py"]
    assert next(f.symbol.path for f in view.symbols("make", 5, near=["/w/b/open.py"])) == "b/near.py"
    assert next(f.symbol.path for f in view.symbols("mak", 5, near=["/w/b/open.py"])) == "b/near.py"


def test_exact_names_of_some_files_only() -> None:
    table = SymbolTable("/w")
    table.adopt(segment(["make", "Make", "maker"], 1, "a.py"))
    table.adopt(segment(["make"], 2, "a.js"))
    view = IndexView(parts=table.parts)
    assert [f.symbol.path for f in view.named("make")] == ["a.js", "a.py"]
    assert [f.symbol.path for f in view.named("make", suffixes=(".py",))] == ["a.py"]
    assert view.named("a.make") == view.named("") == []


def test_completions_of_some_files_only() -> None:
    table = SymbolTable("/w")
    table.adopt(segment([f"ma{number}" for number in range(500)], 1, "a.js"))
    table.adopt(segment(["make_something_long"], 2, "a.py"))
    found = IndexView(parts=table.parts).complete("ma", 5, (".py",))
    assert [f.symbol.name for f in found] == ["make_something_long"]


def test_every_way_has_its_name() -> None:
    segments = [segment(["OrderBook"])]
    for query, how in (
        ("orderbook", "exact"),
        ("order", "prefix"),
        ("ob", "humps"),
        ("derb", "part"),
        ("odrk", "letters"),
    ):
        assert fitting(segments, query, how) == ["OrderBook"]
        assert how in HOWS


def test_what_is_gone_takes_no_place() -> None:
    """Names of files that are gone or newer elsewhere do not use up what may be shown."""
    table = SymbolTable("/w")
    table.adopt(segment([f"order_{number}" for number in range(50)], 1))
    table.adopt(segment(["order_book_kept"], 2, "b.py"))
    table.remove([1], 60)
    table.adopt(segment(["orders_kept_too", "x"], 3, "c.py"))
    table.adopt(segment(["y"], 3, "c.py"))
    view = IndexView(parts=table.parts)
    for query in ("ord", "obk", "rder", "orderkept"):
        assert [f.symbol.name for f in view.symbols(query, 1)] in (["order_book_kept"], ["orders_kept_too"])
    assert [f.symbol.name for f in view.complete("ord", 1)]


def test_what_was_used_lately_comes_before_what_is_shorter_but_not_before_what_fits_better() -> None:
    table = SymbolTable("/w")
    table.adopt(segment(["make", "make_it"], 1, "a.py"))
    table.adopt(segment(["make_something", "remake"], 2, "b.py"))
    table.adopt(segment(["make_other"], 3, "c.py"))
    view = IndexView(parts=table.parts)

    def found(used: list[str]) -> list[str]:
        return [f.symbol.name for f in view.symbols("make", 9, [], used)]

    assert found([]) == ["make", "make_it", "make_other", "make_something", "remake"]
    assert found(["/w/b.py"]) == ["make", "make_something", "make_it", "make_other", "remake"]
    assert found(["/w/c.py", "/w/b.py"]) == ["make", "make_other", "make_something", "make_it", "remake"]
