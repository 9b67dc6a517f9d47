"""The full-text part of the index: what counts how much, and the room that it takes. Real SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headway.workspace import placing
from headway.workspace.store import Store
from headway.workspace.words import question_words
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


def asked(store: Store, question: str) -> list[str]:
    words = question_words(question)
    assert words
    return [f"{hit.path}:{hit.definition.name}" for hit in store.search(words, 20, asks=True)]


def test_what_holds_more_of_a_question_comes_before_what_is_named_by_less(store: Store) -> None:
    said = "def {name}():\n    gate({body})\n"
    bodies = ["bolt, ticket"] * 3 + ["bolt"] * 17
    store.write([record(f"{n}.py", said.format(name=f"plain{n}", body=body)) for n, body in enumerate(bodies)])
    store.write([record("named.py", said.format(name="turnstile", body="alpha, beta, gamma, delta"))])
    store.write([record("holds.py", "def enter():\n    ticket(turnstile)\n")])
    assert asked(store, "a ticket opens the turnstile")[:2] == ["holds.py:enter", "named.py:turnstile"]
    assert [hit.path for hit in store.search(["turnstile"], 1)] == ["named.py"]


def test_what_is_tested_comes_before_its_tests_unless_they_are_asked_for(store: Store) -> None:
    said = "def {name}():\n    turnstile(ticket, opened)\n"
    paths = ("a/test_gate.py", "b/tests/gate.py", "c/gate.test.ts", "d/gate_test.go", "e/conftest.py", "z/gate.py")
    for path in paths:
        grammar = {"ts": "function {name}() {{ turnstile(ticket, opened) }}", "go": None}.get(path[-2:], said)
        source = grammar or "package g\nfunc {name}() {{ turnstile(ticket, opened) }}\n"
        store.write([record(path, source.format(name="enter"), path)])
    code = "z/gate.py:enter"
    assert asked(store, "turnstile opened by a ticket")[0] == code
    assert len(asked(store, "turnstile opened by a ticket")) == len(paths)
    assert asked(store, "turnstile opened by a ticket, test")[0] != code
    # Whoever types a name may mean a test.
    assert store.search(["turnstile"], 20)[0].path != "z/gate.py"


def test_a_definition_comes_before_a_file_that_says_the_same(store: Store) -> None:
    store.write([record("a.py", "turnstile(ticket, opened)\n", "a")])
    store.write([record("b/c.py", "def b():\n    turnstile(ticket, opened)\n", "b")])
    assert asked(store, "turnstile opened by a ticket") == ["b/c.py:b", "a.py:a"]


def test_the_last_word_of_a_question_may_be_unfinished_and_counts_once(store: Store) -> None:
    said = "def {name}():\n    {body}\n"
    store.write([record("a.py", said.format(name="a1", body="turnstile"), "a")])
    store.write([record("b.py", said.format(name="b1", body="ticket"), "b")])
    store.write([record(f"{n}.py", said.format(name=f"plain{n}", body="gate"), str(n)) for n in range(9)])
    assert asked(store, "opens a ticket of a turnst") == ["a.py:a1", "b.py:b1"]
    ranks = [hit.rank for hit in store.search(question_words("opens a ticket of a turnstile"), 20, asks=True)]
    assert ranks[0] == pytest.approx(ranks[1])


def test_all_hits_of_a_question_come_however_many_there_are(store: Store) -> None:
    store.write([record(f"{n}.py", f"def d{n}():\n    turnstile(ticket)\n", str(n)) for n in range(210)])
    words = question_words("the turnstile takes a ticket")
    assert len({hit.path for hit in store.search(words, 500, asks=True)}) == 210


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
