"""Open documents: edits in order, versions, and one document whatever the spelling of its URI."""

from __future__ import annotations

import pytest

from headway.workspace.documents import Document, Documents, UnknownDocumentError
from headway.workspace.text import Edit, Position, Range


def opened(uri: str, text: str, version: int = 1) -> Documents:
    documents = Documents()
    documents.open(Document(uri=uri, language="python", version=version, text=text))
    return documents


def at(line: int, column: int) -> Range:
    return Range(Position(line, column), Position(line, column))


def test_edits_of_one_notification_count_one_after_another() -> None:
    documents = opened("file:///w/a.py", "x = 1\n")
    changed = documents.change("file:///w/a.py", 2, [Edit(at(0, 0), "a = 1\n"), Edit(at(0, 0), "b = 2\n")])
    assert changed.text == "b = 2\na = 1\nx = 1\n"
    assert changed.version == 2


def test_a_snapshot_stays_as_it_was() -> None:
    documents = opened("file:///w/a.py", "old")
    before = documents.snapshot()
    documents.change("file:///w/a.py", 2, [Edit(None, "new")])
    (old,) = before.values()
    assert (old.text, old.version) == ("old", 1)
    current = documents.get("file:///w/a.py")
    assert current is not None
    assert current.text == "new"


def test_spellings_of_a_uri_are_one_document_and_keep_the_client_s_spelling() -> None:
    documents = opened("file:///w/%61%20b.py", "x")
    assert len(documents) == 1
    for spelling in ("file:///w/a%20b.py", "file:///w/./a%20b.py", "FILE:///w//a%20b.py"):
        found = documents.get(spelling)
        assert found is not None, spelling
        assert found.uri == "file:///w/%61%20b.py"
    assert documents.close("file:///w/a%20b.py") is not None
    assert documents.get("file:///w/%61%20b.py") is None


def test_a_document_without_a_file_keeps_its_uri() -> None:
    documents = opened("untitled:Untitled-1", "x")
    found = documents.get("untitled:Untitled-1")
    assert found is not None
    assert found.uri == "untitled:Untitled-1"
    assert documents.get("untitled:untitled-1") is None


def test_a_change_of_a_closed_document_says_which() -> None:
    with pytest.raises(UnknownDocumentError, match=r"file:///w/a\.py is not open"):
        Documents().change("file:///w/a.py", 1, [])
