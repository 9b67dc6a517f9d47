"""The steps of an index, run one after another as workers would: plan, index, refresh, forget, after death, too."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import zlib
from pathlib import Path

import pytest

from headway.workspace import glance, indexer, opened
from headway.workspace.index import SymbolKind
from headway.workspace.indexer import Indexed
from headway.workspace.listing import ListingOptions
from headway.workspace.opened import FolderSpec
from headway.workspace.packs import Pack
from headway.workspace.planning import Plan, plan
from headway.workspace.segments import Segment
from headway.workspace.store import Store
from headway.workspace.symbols import IndexView, SymbolTable


def functions(table: SymbolTable) -> set[str]:
    """Names of the functions in a table that start with d_."""
    found = IndexView(parts=table.parts).symbols("d_", 1_000)
    return {f.symbol.name for f in found if f.symbol.kind == SymbolKind.FUNCTION}


class Folder:
    """A folder, its index, and the symbols that a session would hold."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "w"
        self.root.mkdir()
        placed = indexer.open_place(str(tmp_path / "cache"), str(self.root), os.getpid(), "")
        assert placed.path is not None
        self.spec = FolderSpec(root=str(self.root), database=placed.path, options=ListingOptions())
        self.table = SymbolTable(str(self.root))

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def define(self, *names: str) -> None:
        """Write a file for each name, which defines that name."""
        for name in names:
            self.write(f"{name}.py", f"def {name.rpartition('/')[2]}():\n    pass\n")

    def plan(self, opened: tuple[str, ...] = (), suspects: tuple[str, ...] = (), globs: tuple[str, ...] = ()) -> Plan:
        made = plan(self.spec, None, opened, suspects, globs)
        assert made.trouble is None
        self.table.remove(made.forgotten_ids, made.stamp)
        return made

    def take(self, result: Indexed) -> Indexed:
        assert result.trouble is None, result.reason
        if result.segment is not None:
            self.table.adopt(Segment.unpack(result.segment))
        self.table.remove(result.gone_ids, result.stamp)
        return result

    def update(self, **how: tuple[str, ...]) -> Plan:
        made = self.plan(**how)
        for batch in made.forget:
            self.take(indexer.forget_files(self.spec, batch))
        for batch in made.batches:
            self.take(indexer.index_files(self.spec, batch))
        return made

    def names(self) -> set[str]:
        """Names of functions that the table shows; what the store would load is the same."""
        again = SymbolTable(str(self.root))
        after = 0
        while (loaded := indexer.load(self.spec, after, 5)).segment is not None:
            again.adopt(Segment.unpack(loaded.segment))
            after = loaded.last_file_id
        shown, stored = (functions(t) for t in (self.table, again))
        assert shown == stored
        return shown


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_what_is_unchanged_is_not_read_again(folder: Folder) -> None:
    folder.define("d_a", "d_b")
    assert folder.update().file_count == 2
    assert folder.names() == {"d_a", "d_b"}
    assert folder.update().file_count == 0
    folder.write("d_a.py", "def d_other():\n    pass\n")
    assert folder.update().file_count == 1
    assert folder.names() == {"d_other", "d_b"}


def test_what_is_gone_or_renamed_vanishes(folder: Folder) -> None:
    folder.define("d_a", "d_b", "sub/d_c")
    folder.update()
    os.rename(folder.root / "d_a.py", folder.root / "d_moved.py")
    shutil.rmtree(folder.root / "sub")
    made = folder.plan()
    assert made.file_count == 3
    assert functions(folder.table) == {"d_b"}
    folder.update()
    view = IndexView(parts=folder.table.parts)
    assert [f.path for f in view.symbols("d_a", 1)] == [str(folder.root / "d_moved.py")]
    assert folder.names() == {"d_a", "d_b"}


def test_content_decides_where_a_change_was_told_of(folder: Folder) -> None:
    path = folder.write("a.py", "def d_one():\n    pass\n")
    folder.update()
    status = path.stat()
    path.write_text("def d_two():\n    pass\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    folder.take(indexer.index_known_files(folder.spec, "a.py"))
    assert folder.names() == {"d_two"}


def test_suspects_and_globs_are_read_whatever_their_time(folder: Folder) -> None:
    folder.define("d_a", "sub/d_b", "sub/d_c")
    folder.update()
    assert folder.plan(suspects=("sub",)).file_count == 2
    assert folder.plan(suspects=("",)).file_count == 3
    assert folder.plan(globs=("*_b.py",)).file_count == 1


def test_a_folder_that_is_gone_takes_its_files_along(folder: Folder) -> None:
    folder.define("d_a", "sub/d_b", "sub/deep/d_c", "subway/d_d")
    folder.update()
    shutil.rmtree(folder.root / "sub")
    result = folder.take(indexer.index_known_files(folder.spec, "sub"))
    assert len(result.gone_ids) == 2
    assert folder.names() == {"d_a", "d_d"}
    assert result.stats is not None
    assert result.stats.files == 2


def test_what_nobody_knows_is_left_to_a_listing(folder: Folder) -> None:
    folder.define("d_new")
    folder.write("notes.log", "x")
    (folder.root / "empty").mkdir()
    result = indexer.index_known_files(folder.spec, "\0".join(["d_new.py", "notes.log", "empty", "never.py"]))
    assert result.unknown == ("d_new.py", "empty")
    assert indexer.index_open_text(folder.spec, "d_new.py", "def d_x(): pass", "python").unknown == ("d_new.py",)


def test_open_text_counts_and_the_next_start_reads_the_file(folder: Folder) -> None:
    folder.define("d_a")
    folder.update()
    folder.take(indexer.index_open_text(folder.spec, "d_a.py", "def d_edited():\n    pass\n", "python"))
    assert folder.names() == {"d_edited"}
    assert folder.plan(opened=("d_a.py",)).file_count == 0
    assert folder.update().file_count == 1
    assert folder.names() == {"d_a"}


def test_open_text_counts_before_there_is_a_file(folder: Folder) -> None:
    folder.define("d_a")
    folder.write(".gitignore", "ignored/\n*.gen.py\n")
    folder.write("env/pyvenv.cfg", "")
    folder.update()
    new = "sub/d_new.py"
    folder.take(indexer.index_open_text(folder.spec, new, "def d_new():\n    pass\n", "python"))
    assert folder.names() == {"d_a", "d_new"}
    assert folder.plan(opened=(new,)).forget == ()
    for path in ("ignored/x.py", "x.gen.py", "env/x.py", "node_modules/x.py", "credentials.py", "x.unheard"):
        assert indexer.index_open_text(folder.spec, path, "def d_x(): pass", "python").unknown == (path,)
    folder.take(indexer.index_known_files(folder.spec, new))  # It was closed, and never saved.
    assert folder.names() == {"d_a"}


def test_a_worker_that_dies_after_storing_loses_nothing(folder: Folder) -> None:
    """The same piece of work again gives the same symbols, though all is stored by now."""
    folder.define("d_a", "d_b")
    (batch,) = folder.plan().batches
    indexer.index_files(folder.spec, batch)  # Its answer is lost.
    result = folder.take(indexer.index_files(folder.spec, batch))
    assert folder.names() == {"d_a", "d_b"}
    assert result.stats is not None
    assert result.stats.files == 2


def test_what_is_passed_over_is_counted_and_not_tried_again(folder: Folder) -> None:
    folder.define("d_ok")
    (folder.root / "binary.py").write_bytes(bytes(range(256)))
    folder.write("slow.py", "def d_slow():\n    pass\n")
    made = folder.plan()
    folder.take(indexer.skip_files(folder.spec, "slow.py", "failed"))
    for batch in made.batches:
        rest = "\0".join(path for path in batch.split("\0") if path != "slow.py")
        folder.take(indexer.index_files(folder.spec, rest))
    stats = glance.measured(folder.spec)
    assert stats is not None
    assert (stats.files, stats.skipped) == (1, {"binary": 1, "failed": 1})
    assert folder.plan().file_count == 0
    folder.write("slow.py", "def d_quick():\n    pass\n")
    folder.update()
    assert folder.names() == {"d_ok", "d_quick"}


def test_secrets_reach_neither_store_nor_symbols(folder: Folder, tmp_path: Path) -> None:
    token = "qzxv9secrettoken7"
    for name in (".env", "credentials.py", "deploy/server.key", "id_rsa.py"):
        folder.write(name, f"def d_{token}():\n    pass\n")
    folder.define("d_ok")
    folder.update()
    folder.take(indexer.index_files(folder.spec, "credentials.py"))
    opened.close_stores()
    assert all(token.encode() not in path.read_bytes() for path in tmp_path.joinpath("cache").rglob("*.sqlite*"))


def test_what_a_person_waits_for_comes_first(folder: Folder) -> None:
    folder.write("app/main.py", "from lib.near import thing\nimport lib.other\n")
    for number, name in enumerate(["app/beside.py", "lib/near.py", "lib/other.py", "far/old.py", "far/new.py", "a.md"]):
        path = folder.write(name, "x = 1\n")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    (batch,) = folder.plan(opened=("app/main.py",)).batches
    assert batch.split("\0") == [
        *("app/main.py", "lib/other.py", "lib/near.py", "app/beside.py"),
        *("far/new.py", "far/old.py", "a.md"),
    ]


def test_batches_are_small(folder: Folder) -> None:
    """A step takes about a quantum, whether files are many or large."""
    folder.define(*(f"d_{n}" for n in range(150)))
    folder.write("large.py", "x = 1\n" * 60_000)
    folder.write("middling.py", "x = 1\n" * 30_000)
    assert [batch.count("\0") + 1 for batch in folder.plan().batches] == [1, 1, 98, 52]


@pytest.mark.parametrize("how", ["gone", "random"])
def test_trouble_with_the_store_is_a_result(folder: Folder, how: str) -> None:
    folder.define("d_a")
    folder.update()
    opened.close_stores()
    if how == "gone":
        os.unlink(folder.spec.database)
    else:
        for suffix in ("-wal", "-shm"):
            Path(folder.spec.database + suffix).unlink(missing_ok=True)
        Path(folder.spec.database).write_bytes(b"\x07" * 10_000)
    expected = {"gone": "unusable", "random": "damaged"}[how]
    assert plan(folder.spec, None, (), ()).trouble == expected
    for result in (
        indexer.index_files(folder.spec, "d_a.py"),
        indexer.index_known_files(folder.spec, "d_a.py"),
        indexer.index_open_text(folder.spec, "d_a.py", "", "python"),
        indexer.forget_files(folder.spec, "d_a.py"),
        indexer.load(folder.spec, 0, 10),
    ):
        assert result.trouble == expected


def test_a_cleared_index_is_empty_and_usable(folder: Folder) -> None:
    folder.define("d_a")
    folder.update()
    assert indexer.clear(folder.spec) is None
    folder.table.clear()
    assert folder.names() == set()
    assert folder.update().file_count == 1
    assert folder.names() == {"d_a"}


def loaded(folder: Folder, max_weight: int) -> list[bytes]:
    """All that is stored, as a start loads it: packed symbols, part by part."""
    parts, after = [], 0
    while (part := indexer.load(folder.spec, after, max_weight)).segment is not None:
        parts.append(part.segment)
        after = part.last_file_id
    assert part.trouble is None
    return parts


def shown(parts: list[bytes]) -> set[str]:
    table = SymbolTable("/w")
    for part in parts:
        table.adopt(Segment.unpack(part))
    return functions(table)


def kept(folder: Folder) -> list[tuple[int, int]]:
    with contextlib.closing(sqlite3.connect(folder.spec.database)) as db:
        return db.execute("SELECT after, last FROM packs ORDER BY after").fetchall()


def test_packed_symbols_are_kept_until_a_file_of_theirs_changes(folder: Folder) -> None:
    folder.define(*(f"d_{letter}" for letter in "abcdef"))
    folder.update()
    first = loaded(folder, 12)  # two symbols a file, the file itself one of them
    before = kept(folder)
    assert len(first) == len(before) == 3
    assert loaded(folder, 12) == first
    assert kept(folder) == before
    folder.write("d_a.py", "def d_changed():\n    pass\n")
    folder.update()
    assert len(kept(folder)) == 2
    assert shown(loaded(folder, 12)) == {"d_changed", *(f"d_{letter}" for letter in "bcdef")}
    assert len(kept(folder)) == 3
    (folder.root / "d_b.py").unlink()
    folder.define("d_new")
    folder.update()
    assert shown(loaded(folder, 12)) == {"d_changed", "d_new", *(f"d_{letter}" for letter in "cdef")}
    assert loaded(folder, 12) == loaded(folder, 12)


def test_small_packs_become_one_when_others_follow(folder: Folder) -> None:
    for letter in "abc":
        folder.define(f"d_{letter}")
        folder.update()
        assert len(loaded(folder, 1_000)) == 1
    assert len(kept(folder)) == 1
    assert shown(loaded(folder, 1_000)) == {"d_a", "d_b", "d_c"}


def test_what_changes_while_it_is_packed_is_not_kept(folder: Folder) -> None:
    folder.define("d_a")
    folder.update()
    with Store(folder.spec.database) as store:
        stamp = store.stamp
        folder.write("d_a.py", "def d_other():\n    pass\n")
        folder.update()
        store.keep_pack(0, Pack(99, 1, b"old"), stamp)
        assert store.pack_after(0, 10) is None


@pytest.mark.parametrize("content", [b"", b"no zlib", zlib.compress(b""), zlib.compress(b"\xff" * 40)])
def test_a_kept_pack_that_cannot_be_read_is_damage(folder: Folder, content: bytes) -> None:
    folder.define("d_a")
    folder.update()
    loaded(folder, 10)
    with contextlib.closing(sqlite3.connect(folder.spec.database, isolation_level=None)) as db:
        db.execute("UPDATE packs SET content = ?", (content,))
    assert indexer.load(folder.spec, 0, 10).trouble == "damaged"
