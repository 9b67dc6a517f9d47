"""Fusing what was found by name and by words, and what a hit shows."""

from __future__ import annotations

from collections.abc import Sequence

from headway.features.search import Hit, Texts, fused, snippet
from headway.workspace.index import Definition, SymbolKind, index_text
from headway.workspace.segments import IndexedFile, Segment
from headway.workspace.store import TextHit
from headway.workspace.symbols import Found, IndexView, SymbolTable

ROOT = "/w"


def definitions(source: str) -> tuple[Definition, ...]:
    return index_text("lib/a.py", source).definitions


def named(source: str, query: str) -> list[Found]:
    table = SymbolTable(ROOT)
    table.adopt(Segment([IndexedFile(1, 1, "lib/a.py", definitions(source))]))
    return IndexView(parts=table.parts).symbols(query, 50)


def check(source: str, query: str, by_words: Sequence[str], expected: Sequence[str], **how: int) -> list[Hit]:
    """Search for a name in source, and for words that are found in some definitions; the names of the hits."""
    stored = {definition.name: definition for definition in definitions(source)}
    texts = Texts(
        root=ROOT,
        hits=[TextHit("lib/a.py", stored[name], float(rank)) for rank, name in enumerate(by_words)],
        definitions={"lib/a.py": definitions(source)},
    )
    kinds = frozenset({how["kind"]} if "kind" in how else ())
    hits = fused(named(source, query), [texts], kinds, how.get("limit", 20))
    assert [hit.name for hit in hits] == list(expected)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    return hits


SOURCE = "def match(): pass\ndef matches(): pass\ndef other(): pass\nclass Matcher: pass\n"


def test_what_both_found_comes_before_what_one_found() -> None:
    check(SOURCE, "matc", ["other", "matches"], ["matches", "match", "Matcher", "other"])


def test_an_exact_name_comes_first_whatever_the_words_say() -> None:
    check(SOURCE, "match", ["other", "matches", "Matcher"], ["match", "Matcher", "matches", "other"])


def test_kinds_and_limit_hold() -> None:
    check(SOURCE, "match", ["Matcher"], ["Matcher"], kind=SymbolKind.CLASS)
    check(SOURCE, "match", [], ["match", "Matcher"], limit=2)


def test_each_definition_is_there_once_though_names_repeat() -> None:
    source = "class A:\n    def get(self): pass\nclass B:\n    def get(self): pass\n"
    hits = check(source, "get", [], ["get", "get"])
    assert {hit.container for hit in hits} == {"A", "B"}


def test_a_name_that_is_gone_from_the_store_by_now_is_left_out() -> None:
    texts = Texts(root=ROOT, hits=[], definitions={"lib/a.py": definitions("def changed(): pass\n")})
    assert fused(named("def gone(): pass\n", "gone"), [texts], frozenset(), 20) == []


def test_a_hit_shows_where_and_what() -> None:
    source = 'def kelvinize(value):\n    """Convert from Celsius.\n\n    More.\n    Still more.\n    """\n'
    (hit,) = check(source, "kelvinize", [], ["kelvinize"])
    assert hit.path == "/w/lib/a.py"
    assert (hit.range.start.line, hit.range.end.line) == (0, 5)
    assert (hit.selection_range.start.column, hit.selection_range.end.column) == (4, 13)
    assert hit.snippet == "def kelvinize(value):\nConvert from Celsius.\n\nMore."


def test_a_snippet_is_never_empty() -> None:
    (whole,) = index_text("empty.py", "").definitions
    assert snippet(whole) == "empty"
