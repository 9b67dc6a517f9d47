"""What an engine is told of texts, checked by a model of what it then has."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.engines.mirror import LONGEST_TEXT, Encoding, Mirror, own_position, units, wire_position
from headway.workspace.documents import Document
from headway.workspace.text import Position, Text

KEY = "/w/a.py"
TEXTS = st.text(alphabet="ab é😀\n\r\t", max_size=40)


def document(text: str, version: int = 1, language: str = "python") -> Document:
    return Document(uri="file:///w/a.py", language=language, version=version, text=text)


def offset_of(text: str, position: dict[str, int], encoding: Encoding) -> int:
    """Find a position as an engine would: by lines and code units."""
    model = Text(text)
    line, left, column = model.line(position["line"]), position["character"], 0
    while left > 0:
        left -= units(line[column], encoding)
        column += 1
    assert left == 0, "the position is inside of a character"
    return model.offset_at(Position(position["line"], column))


class Engine:
    """Applies what it is told, as the protocol says."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding: Encoding = encoding
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}

    def told(self, messages: list[tuple[str, dict[str, Any]]]) -> None:
        for method, params in messages:
            uri = params["textDocument"]["uri"]
            match method:
                case "textDocument/didOpen":
                    assert uri not in self.texts
                    self.texts[uri] = params["textDocument"]["text"]
                    self.versions[uri] = params["textDocument"]["version"]
                case "textDocument/didClose":
                    del self.texts[uri]
                case "textDocument/didChange":
                    assert params["textDocument"]["version"] > self.versions[uri]
                    self.versions[uri] = params["textDocument"]["version"]
                    for change in params["contentChanges"]:
                        text = self.texts[uri]
                        start = offset_of(text, change["range"]["start"], self.encoding)
                        end = offset_of(text, change["range"]["end"], self.encoding)
                        self.texts[uri] = text[:start] + change["text"] + text[end:]


@given(texts=st.lists(TEXTS, min_size=1, max_size=8), encoding=st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_the_engine_has_our_text_after_each_update(texts: list[str], encoding: Encoding) -> None:
    mirror, engine = Mirror(encoding), Engine(encoding)
    for version, text in enumerate(texts):
        engine.told(mirror.update({KEY: document(text, version)}))
        assert engine.texts == {"file:///w/a.py": text}


def test_nothing_is_told_twice() -> None:
    mirror = Mirror("utf-16")
    held = document("x = 1\n")
    assert len(mirror.update({KEY: held})) == 1
    assert mirror.update({KEY: held}) == []
    assert mirror.update({KEY: document("x = 1\n", version=2)}) == []


def test_a_small_change_of_a_long_text_is_told_as_a_small_change() -> None:
    mirror = Mirror("utf-16")
    lines = [f"name_{number} = {number}" for number in range(5000)]
    mirror.update({KEY: document("\n".join(lines))})
    lines[2500] += "0"
    (message,) = mirror.update({KEY: document("\n".join(lines), 2)})
    (change,) = message[1]["contentChanges"]
    assert change["text"] == "0"
    assert change["range"]["start"]["line"] == 2500


def test_a_text_put_in_its_place_holds_for_one_question() -> None:
    mirror, engine = Mirror("utf-16"), Engine("utf-16")
    held = document("self.name\n")
    engine.told(mirror.update({KEY: held}, instead=(KEY, Text("self.\n"))))
    assert engine.texts["file:///w/a.py"] == "self.\n"
    engine.told(mirror.update({KEY: held}))
    assert engine.texts["file:///w/a.py"] == "self.name\n"


def test_a_text_that_is_being_worked_at_is_held_unless_it_is_new_or_closed() -> None:
    mirror, engine = Mirror("utf-16"), Engine("utf-16")
    engine.told(mirror.update({KEY: document("old")}, held=[KEY]))
    assert engine.texts == {"file:///w/a.py": "old"}
    version = mirror.version(KEY)
    engine.told(mirror.update({KEY: document("new", 2)}, held=[KEY]))
    assert engine.texts == {"file:///w/a.py": "old"}
    assert mirror.version(KEY) == version
    engine.told(mirror.update({KEY: document("new", 2)}))
    assert engine.texts == {"file:///w/a.py": "new"}
    assert mirror.version(KEY) > version
    engine.told(mirror.update({}, held=[KEY]))
    assert engine.texts == {}
    assert mirror.version(KEY) == 0


def test_closed_foreign_and_huge_documents_are_not_with_the_engine() -> None:
    mirror, engine = Mirror("utf-16"), Engine("utf-16")
    engine.told(mirror.update({KEY: document("a")}))
    engine.told(mirror.update({}))
    assert engine.texts == {}
    engine.told(mirror.update({KEY: document("a", language="markdown")}))
    engine.told(mirror.update({KEY: document("x" * (LONGEST_TEXT + 1))}))
    assert engine.texts == {}


def test_another_spelling_of_the_uri_is_another_document_to_the_engine() -> None:
    mirror, engine = Mirror("utf-16"), Engine("utf-16")
    engine.told(mirror.update({KEY: document("a")}))
    engine.told(mirror.update({KEY: Document(uri="file:///w/%61.py", language="python", version=1, text="b")}))
    assert engine.texts == {"file:///w/%61.py": "b"}


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_positions_are_counted_in_the_units_that_were_agreed_on(encoding: Encoding, character: int) -> None:
    text = Text("😀x")
    assert wire_position(text, Position(0, 1), encoding) == {"line": 0, "character": character}
    assert own_position(text, 0, character, encoding) == Position(0, 1)
    assert own_position(text, 0, 99, encoding) == Position(0, 2)


def test_a_position_inside_of_a_character_is_before_it() -> None:
    assert own_position(Text("a😀x"), 0, 2, "utf-16") == Position(0, 1)
