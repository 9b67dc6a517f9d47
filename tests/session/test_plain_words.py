"""Completion where no engine knows the language: by nearness, by language, and never a wrong member."""

from __future__ import annotations

import pytest

from headway.features.completion import CandidateKind, merge
from headway.session.plain_words import index_source, offers, word_source
from headway.workspace.index import index_text, suffixes_of
from headway.workspace.segments import IndexedFile, Segment
from headway.workspace.symbols import IndexView, SymbolTable


@pytest.mark.parametrize(
    ("language", "before", "expected"),
    [
        ("go", "func main() {\n\tpri", True),
        ("go", "x.pri", False),
        ("go", "x.\tpri", False),
        ("cpp", "this->si", False),
        ("cpp", "std::ve", False),
        ("typescript", "a?.b", False),
        ("typescript", "// see fo", False),
        ("typescript", "const url = 'http://a'; fo", True),
        ("typescript", "const text = 'unfinished fo", False),
        ("typescript", "`done` + fo", True),
        ("java", "/* open\n fo", False),
        ("java", "/* closed */\n fo", True),
        ("ruby", "x = 1 # no", False),
        ("shellscript", "dep", True),
        ("markdown", "wor", False),
        ("plaintext", "wor", False),
    ],
)
def test_where_names_are_offered(language: str, before: str, expected: bool) -> None:
    assert offers(language, before) is expected


def check(language: str, files: dict[str, str], source: str) -> list[str]:
    """Complete at `$0`: labels, with the kind of those that the index gives."""
    table = SymbolTable("/w")
    for number, (path, text) in enumerate(files.items(), 1):
        table.adopt(Segment([IndexedFile(number, number, path, index_text(path, text).definitions)]))
    cursor = source.index("$0")
    text = source.replace("$0", "")
    prefix = source[:cursor].split()[-1]
    found = IndexView(parts=table.parts).complete(prefix, 40, suffixes_of(language))
    ranked = merge((index_source(found, final=True), word_source(text, cursor)), prefix, 100)
    return [
        item.label if item.kind is CandidateKind.TEXT else f"{item.label} {item.kind.name.lower()}"
        for item in ranked.items
    ]


def test_words_near_the_cursor_and_names_of_the_same_language() -> None:
    files = {
        "lib/send.ts": "export function sendMail() {}\nexport class Sender { sendNow() {} }\n",
        "lib/send.py": "def send_python(): pass\n",
        "old.js": "function sendOld() {}\n",
    }
    source = "let sendFar = 1;\n\nlet other = 2;\nlet sendNear = 3;\nsen$0\n"
    found = check("typescript", files, source)
    assert found[:2] == ["sendNear", "sendFar"]
    assert sorted(found[2:]) == ["Sender class", "sendMail function", "sendOld function"]


def test_what_belongs_to_a_type_is_never_offered_alone() -> None:
    files = {"a.go": "package p\nfunc (s *Server) ListenLoud() {}\nfunc ListenAll() {}\n"}
    assert check("go", files, "Lis$0") == ["ListenAll function"]
