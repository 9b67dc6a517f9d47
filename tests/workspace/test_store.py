"""The index on disk: what is stored, found, replaced and forgotten; damaged databases. Real SQLite."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.workspace import placing
from headway.workspace.database import StoreBusyError, StoreDamagedError, is_sound
from headway.workspace.index import Chunk, index_text
from headway.workspace.packing import pack, unpack, unpack_definitions
from headway.workspace.placing import database_path, place
from headway.workspace.store import FileRecord, Store
from headway.workspace.words import query_words

SOURCE = '''
def kelvinize(value):
    """Convert a temperature from Celsius degrees to absolute degrees."""


class OrderBook:
    """Keeps orders of a market."""

    def match_best_offers(self):
        """Pair the highest bid with the lowest ask."""
'''


def record(path: str, source: str = SOURCE, signature: str = "1") -> FileRecord:
    found = index_text(path, source)
    return FileRecord(
        path=path,
        signature=signature,
        digest=source.encode()[:16],
        language=found.language,
        definitions=found.definitions,
        chunks=found.chunks,
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(str(tmp_path / "index.sqlite"), "/w") as made:
        yield made


def found(store: Store, query: str) -> list[tuple[str, str]]:
    return [(hit.path, hit.definition.name) for hit in store.search(query_words(query), 10)]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("kelvinize", "kelvinize"),
        ("convert temperature celsius", "kelvinize"),
        ("converting temperatures", "kelvinize"),
        ("pair highest bid with lowest ask", "match_best_offers"),
        ("order book", "OrderBook"),
        ("orderbook", "OrderBook"),
        ("best offer", "match_best_offers"),
        ("kelv", "kelvinize"),
    ],
)
def test_definitions_are_found_by_words_and_their_forms(store: Store, query: str, name: str) -> None:
    store.write([record("lib/temp.py"), record("other.py", "def unrelated():\n    pass\n")])
    assert found(store, query)[0] == ("lib/temp.py", name)


@pytest.mark.parametrize(
    "query", ['"', "a AND", "NEAR(", "name:x", "*", "'; DROP TABLE files; --", "\0", "-x", "^a", "😀"]
)
def test_no_query_is_an_operator(store: Store, query: str) -> None:
    store.write([record("a.py")])
    store.search(query_words(query), 10)
    assert store.stats().files == 1


def test_a_file_is_replaced_as_a_whole_and_keeps_its_number(store: Store) -> None:
    first = store.write([record("a.py")])
    number = store.get(["a.py"])["a.py"].file_id
    second = store.write([record("a.py", "def replaced():\n    pass\n")])
    assert second > first
    assert store.get(["a.py"])["a.py"].file_id == number
    assert found(store, "kelvinize") == []
    assert found(store, "replaced")[0] == ("a.py", "replaced")
    assert (store.stats().files, store.stats().symbols, store.stats().chunks) == (1, 2, 2)


def test_what_is_forgotten_is_gone_and_its_number_is_not_used_again(store: Store) -> None:
    store.write([record("a.py")])
    number = store.get(["a.py"])["a.py"].file_id
    store.write([], ["a.py", "never.py"])
    store.write([record("b.py")])
    assert found(store, "kelvinize") == [("b.py", "kelvinize")]
    assert store.get(["b.py"])["b.py"].file_id > number
    assert store.known().keys() == {"b.py"}


def test_skipped_files_are_counted_by_reason(store: Store) -> None:
    skipped = FileRecord(path="a.py", signature="1", digest=b"", language="python", skipped="binary")
    store.write([skipped, record("b.py")])
    assert (store.stats().files, store.stats().skipped) == (1, {"binary": 1})
    store.write([record("a.py")])
    assert (store.stats().files, store.stats().skipped) == (2, {})


def test_parts_of_a_path_are_accepted_or_not(store: Store) -> None:
    store.write([record(f"{folder}/{n}.py") for folder in ("src", "tests") for n in range(5)])
    hits = store.search(["kelvinize"], 10, lambda path: path.startswith("src/"))
    assert {hit.path for hit in hits} == {f"src/{n}.py" for n in range(5)}


def test_files_below_a_folder(store: Store) -> None:
    store.write([record(path) for path in ("a/x.py", "a/b/y.py", "ab/z.py", "a.py")])
    assert sorted(store.below("a")) == ["a/b/y.py", "a/x.py"]


def test_loading_goes_on_where_it_ended(store: Store) -> None:
    store.write([record(f"{n}.py") for n in range(7)])
    loaded: list[str] = []
    after = 0
    while files := store.load_after(after, max_weight=22):
        assert len(files) == (3 if len(loaded) < 6 else 1)
        loaded += [file.path for file in files]
        after = files[-1].file_id
    assert loaded == [f"{n}.py" for n in range(7)]


def test_a_failed_change_leaves_what_was(store: Store) -> None:
    store.write([record("a.py")])
    broken = record("b.py")
    object.__setattr__(broken, "signature", object())
    with pytest.raises(StoreDamagedError):
        store.write([record("c.py"), broken], ["a.py"])
    assert store.known().keys() == {"a.py"}


def test_readers_do_not_wait_for_a_writer_and_a_writer_waits_for_a_bounded_time(store: Store) -> None:
    store.write([record("a.py")])
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store._db.execute("PRAGMA busy_timeout = 10")
    assert found(store, "kelvinize") == [("a.py", "kelvinize")]
    with pytest.raises(StoreBusyError, match="locked"):
        store.write([record("b.py")])
    other.execute("ROLLBACK")
    other.close()
    store.write([record("b.py")])


def test_definitions_survive_packing() -> None:
    definitions = index_text("a.py", 'x = "😀"; y = 1\n' + SOURCE).definitions
    assert [tuple(d)[:11] for d in unpack_definitions(pack(definitions, ()))] == [tuple(d)[:11] for d in definitions]


# ---- places ----


def stored(cache: Path, root: Path) -> str:
    """Make an index with one file, closed again; return its path."""
    placed = place(str(cache), str(root), owner_pid=os.getpid())
    assert placed.path is not None
    assert placed.message is None
    with Store(placed.path) as made:
        made.write([record("a.py")])
    return placed.path


DAMAGES: dict[str, Callable[[str], object]] = {
    "random": lambda path: Path(path).write_bytes(bytes((i * 37 + 11) % 256 for i in range(20_000))),
    "truncated": lambda path: os.truncate(path, os.path.getsize(path) // 2),
    "empty": lambda path: os.truncate(path, 0),
    "folder": lambda path: _folder(path),
    "newer": lambda path: _sql(path, "UPDATE meta SET value = 'schema 999' WHERE key = 'fingerprint'"),
    "no table": lambda path: _sql(path, "DROP TABLE files"),
    "foreign": lambda path: _sql(path, "UPDATE meta SET value = '/another/place' WHERE key = 'root'"),
    "full text": lambda path: _sql(path, "DELETE FROM chunks_data WHERE id > 10"),
}


def _folder(path: str) -> None:
    os.unlink(path)
    os.mkdir(path)
    Path(path, "x").write_text("in the way")


def _sql(path: str, statement: str) -> None:
    db = sqlite3.connect(path)
    db.execute(statement)
    db.commit()
    db.close()


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_index_is_set_aside_and_made_anew(tmp_path: Path, how: str) -> None:
    root = tmp_path / "w"
    root.mkdir()
    path = stored(tmp_path / "cache", root)
    DAMAGES[how](path)
    placed = place(str(tmp_path / "cache"), str(root), owner_pid=os.getpid())
    assert placed.path == path
    assert placed.rebuilt
    assert placed.message is None
    with Store(path) as made:
        assert made.known() == {}
        made.write([record("b.py")])
    again = place(str(tmp_path / "cache"), str(root), owner_pid=os.getpid())
    assert (again.path, again.rebuilt) == (path, None)


@pytest.mark.parametrize("way", ["w", "link"])
def test_a_sound_index_is_used_as_it_is(tmp_path: Path, way: str) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "link").symlink_to("w")
    path = stored(tmp_path / "cache", tmp_path / way)
    placed = place(str(tmp_path / "cache"), str(tmp_path / way), owner_pid=os.getpid())
    assert (placed.path, placed.rebuilt, placed.message, placed.temporary) == (path, None, None, None)
    with Store(path) as made:
        assert made.known().keys() == {"a.py"}


@pytest.mark.parametrize("where", ["a file", "below a file", "nowhere"])
def test_a_cache_that_cannot_be_used_is_no_reason_not_to_start(tmp_path: Path, where: str) -> None:
    (tmp_path / "in-the-way").write_text("x")
    below = tmp_path / "in-the-way" / "below"
    cache = {"a file": tmp_path / "in-the-way", "below a file": below, "nowhere": Path("/proc/no/such")}[where]
    placed = place(str(cache), str(tmp_path), owner_pid=os.getpid())
    assert placed.path is not None
    assert placed.temporary is not None
    assert placed.message is not None
    assert "temporary" in placed.message
    with Store(placed.path) as made:
        made.write([record("a.py")])
    placing.remove_temporary(placed.temporary)
    assert not os.path.exists(placed.temporary)


def test_a_place_that_broke_is_left_for_a_temporary_one(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    kept = stored(tmp_path / "cache", root)
    placed = place(str(tmp_path / "cache"), str(root), owner_pid=os.getpid(), avoid="the disk is full")
    assert placed.temporary is not None
    assert placed.message is not None
    assert "the disk is full" in placed.message
    placing.remove_temporary(placed.temporary)
    with Store(kept) as made:
        assert made.known().keys() == {"a.py"}, "what is there is left alone"


def test_temporary_indexes_of_the_dead_are_swept_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    died = subprocess.Popen(["/bin/true"])
    died.wait()
    left = place("/proc/no/such", str(tmp_path), owner_pid=died.pid)
    ours = place("/proc/no/such", str(tmp_path), owner_pid=os.getpid())
    assert left.temporary is not None
    assert ours.temporary is not None
    assert not os.path.exists(left.temporary)
    (tmp_path / "headway-index-of-somebody").mkdir()
    place(str(tmp_path / "cache"), str(tmp_path), owner_pid=os.getpid())
    assert sorted(name for name in os.listdir(tmp_path) if "index" in name) == [
        os.path.basename(ours.temporary),
        "headway-index-of-somebody",
    ]


def test_a_database_appears_whole_and_what_a_killed_maker_left_is_swept(tmp_path: Path) -> None:
    died = subprocess.Popen(["/bin/true"])
    died.wait()
    path = tmp_path / "index.sqlite"
    left, live = tmp_path / f"index.sqlite.new-{died.pid}", tmp_path / "index.sqlite.new-1"
    left.write_text("half")
    live.write_text("somebody else's")
    first = Store.create(str(path), "/w")
    first.write([record("a.py")])
    with Store.create(str(path), "/w") as second, first:
        assert second.known().keys() == {"a.py"}, "who comes second takes what is there"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["index.sqlite", live.name]


def test_two_checkouts_have_two_indexes_and_two_ways_to_one_have_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "same").mkdir(parents=True)
    (tmp_path / "link").symlink_to("one")
    cache = str(tmp_path / "cache")
    one, two = (database_path(cache, str(tmp_path / name / "same")) for name in ("one", "two"))
    assert one != two
    assert database_path(cache, str(tmp_path / "link" / "same")) == one
    assert database_path(cache, str(tmp_path / "one" / "same") + "/") == one


def test_indexes_that_nobody_opens_are_removed_after_months(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    old = stored(tmp_path / "cache", tmp_path / "old")
    os.utime(old, (1_000_000_000, 1_000_000_000))
    kept = stored(tmp_path / "cache", tmp_path)
    assert not os.path.exists(old)
    assert os.path.exists(kept)


def test_what_is_forgotten_is_gone_from_the_full_text_too(store: Store) -> None:
    """The full-text table keeps no texts: after many versions and removals it holds the words of what is there."""
    for _ in range(3):
        store.write([record("a.py"), record("b.py")])
    store.write([], ["b.py"])
    assert found(store, "kelvinize") == [("a.py", "kelvinize")]
    rows = store._db.execute("SELECT count(*) FROM chunks").fetchone()
    assert rows == (store.stats().chunks,)
    store.check()


def test_what_was_read_through_is_read_through_again_once_somebody_has_written_to_it(tmp_path: Path) -> None:
    path = database_path(str(tmp_path), "/w")
    place(str(tmp_path), "/w", owner_pid=os.getpid())
    assert not is_sound(path)  # it has just been made
    place(str(tmp_path), "/w", owner_pid=os.getpid())
    assert is_sound(path)
    with Store(path) as store:
        assert is_sound(path)  # opening writes nothing
        store.write([record("a.py")])
        assert not is_sound(path)
    assert not is_sound(path)
    place(str(tmp_path), "/w", owner_pid=os.getpid())
    assert is_sound(path)
    os.utime(path, ns=(1, 1))
    assert not is_sound(path)


def test_tidying_gives_room_back_and_loses_nothing(store: Store) -> None:
    for number in range(40):
        store.write([record(f"{number}_{part}.py", SOURCE.replace("value", f"value_{number}")) for part in range(20)])
    store.write([], [path for path in store.known() if not path.startswith("1_")])
    store._db.execute("DELETE FROM former")  # kept in case that it comes back
    before = store.stats().size_bytes
    for _ in range(1_000):
        if not store.tidy():
            break
    else:
        pytest.fail("tidying does not end")
    assert store.stats().size_bytes < before / 2
    assert {path for path, _ in found(store, "kelvinize")} <= {f"1_{part}.py" for part in range(20)}
    assert len(found(store, "kelvinize")) == 10
    store.check()


BODIES = st.lists(st.lists(st.sampled_from(["order", "book", "größe", "x", "日本", *map(str, range(300))])), max_size=9)


@given(BODIES, st.lists(st.integers(1, 400), min_size=9, max_size=9))
def test_each_text_keeps_its_words_and_how_often_it_holds_them(bodies: list[list[str]], steps: list[int]) -> None:
    places = list(accumulate(steps))
    chunks = [Chunk(at, "name", "", "", " ".join(body)) for at, body in zip(places, bodies, strict=False)]
    _, kept = unpack(pack((), chunks))
    assert [at for at, _ in kept] == places[: len(bodies)]
    assert [sorted(text.split()) for _, text in kept] == [sorted(body) for body in bodies]


@pytest.mark.parametrize("block", [b"a b\0\x01\x02\x00", b"a b\0\x01\x01\x07", b"a b\0\x01"])
def test_damaged_texts_are_said_to_be(block: bytes) -> None:
    with pytest.raises(ValueError, match="texts of a file"):
        unpack(b"[]\0" + block)


def test_each_row_leads_to_its_own_file_whatever_came_and_went(store: Store) -> None:
    draw = random.Random(1)
    said: dict[str, str] = {}
    for turn in range(60):
        path = f"m{draw.randrange(12)}.py"
        if path in said and draw.random() < 0.4:
            store.write([], [path])
            del said[path]
        else:
            said[path] = "".join(draw.choices("abcdefgh", k=12))
            source = "".join(f"def f{n}():\n    {said[path]}\n\n\n" for n in range(draw.randrange(5)))
            store.write([record(path, source + f"def {said[path]}():\n    pass\n", str(turn))])
        for path, word in said.items():
            assert found(store, word)[0] == (path, word)
            assert {hit[0] for hit in found(store, word)} == {path}
    store.check()


def test_the_rarer_word_and_the_word_in_the_name_come_first(store: Store) -> None:
    """Each file is stored after what has to come behind it, so that an order of rows alone does not do."""
    store.write([record(f"{n}.py", f'def plain{n}():\n    """Opens a gate."""\n', str(n)) for n in range(20)])
    store.write([record("rare.py", 'def other():\n    """Opens a turnstile."""\n', "rare")])
    store.write([record("named.py", 'def turnstile():\n    """Opens it."""\n', "named")])
    assert [name for _, name in found(store, "opens gate turnstile")][:2] == ["turnstile", "other"]
