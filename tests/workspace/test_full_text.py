"""The full-text part of the index: what counts how much, and the room that it takes. Real SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headway.workspace import placing
from headway.workspace.store import Store
from tests.workspace.test_store import record


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(str(tmp_path / "index.sqlite"), "/w") as made:
        yield made


def test_a_word_counts_by_where_it_stands(store: Store) -> None:
    """Each file is stored after what has to come behind it, so that an order of rows alone does not do."""
    said = 'def plain{n}():\n    """Opens."""\n    return {body}\n'
    store.write([record(f"{n}.py", said.format(n=n, body="gate"), str(n)) for n in range(20)])
    store.write([record("body.py", said.format(n=20, body="turnstile"), "b")])
    store.write([record("turnstile/path.py", said.format(n=21, body="gate"), "p")])
    store.write([record("doc.py", 'def plain22():\n    """Turnstile."""\n    return gate\n', "d")])
    store.write([record("name.py", 'def turnstile():\n    """Opens."""\n    return gate\n', "n")])
    names = ("turnstile", "plain20", "plain21", "plain22")
    by_file = [hit.path for hit in store.search(["turnstile"], 20) if hit.definition.name in names]
    assert by_file[:2] == ["name.py", "doc.py"]
    assert sorted(by_file[2:]) == ["body.py", "turnstile/path.py"]


def test_what_most_words_are_in_is_told_in_fewest_bytes(store: Store) -> None:
    folder = Path(placing.__file__).parent
    records = [record(f"workspace/{path.name}", path.read_text(encoding="utf-8")) for path in folder.glob("*.py")]
    store.write(records)
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(name, context, doc, body, content = '', tokenize = 'porter')")
        chunks = [chunk[1:] for one in records for chunk in one.chunks]
        db.executemany("INSERT INTO t (name, context, doc, body) VALUES (?, ?, ?, ?)", chunks)
        db.commit()
        (by_name_first,) = db.execute("SELECT sum(length(block)) FROM t_data").fetchone()
    (stored,) = store._db.execute("SELECT sum(length(block)) FROM chunks_data").fetchone()
    assert stored < 0.80 * by_name_first


def test_an_index_takes_less_than_two_thirds_of_the_text_that_it_is_of(store: Store) -> None:
    """Of code that says much in little: lines of 120 columns, no licences, as it is here."""
    folder = Path(placing.__file__).parent.parent
    texts = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    paths = sorted(texts)
    for at in range(0, len(paths), 20):
        store.write([record(path, texts[path]) for path in paths[at : at + 20]])
    while store.tidy():
        pass
    share = store.stats().size_bytes / sum(len(text.encode()) for text in texts.values())
    assert share < 0.63
