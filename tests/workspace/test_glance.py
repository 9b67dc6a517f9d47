"""What is seen at a glance is what a worker process would say, or nothing at all. Real files, real SQLite."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.workspace import glance, indexer
from headway.workspace.database import note_sound
from headway.workspace.listing import ListingOptions
from headway.workspace.opened import FolderSpec
from headway.workspace.planning import Plan, plan
from headway.workspace.store import Store

from .test_indexer import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.define("d_a", "lib/d_b")
    made.write("notes.md", "# Notes\n")
    made.write(".env", "TOKEN=1\n")
    made.write("pipe.bin", "")
    made.update()
    # It was compared once more, and nothing was different.
    assert plan(made.spec, lists(made), (), ()).file_count == 0
    return made


def lists(folder: Folder) -> dict[str, bytes]:
    """What git would print."""
    root = folder.root
    names = sorted(os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names)
    return {"": "".join(f"{name}\0" for name in names).encode()}


def seen(folder: Folder, opened: tuple[str, ...] = (), *, thorough: bool = False, most: int = 100) -> Plan | None:
    with Store(folder.spec.database) as store:
        stamp = store.stamp
    return glance.unchanged(folder.spec, lists(folder), opened, stamp, thorough=thorough, most_files=most)


def test_where_nothing_has_changed_it_says_what_a_worker_says(folder: Folder) -> None:
    with Store(folder.spec.database) as store:
        stamp = store.stamp
    said = plan(folder.spec, lists(folder), (), (), seen_stamp=stamp)
    assert said.file_count == 0
    assert seen(folder) == said
    assert said.skipped == {"secret": 1}


def _touch(folder: Folder) -> None:
    os.utime(folder.root / "d_a.py", (1, 1))


def _change(folder: Folder) -> None:
    folder.write("d_a.py", "def d_a():\n    return\n")


def _add(folder: Folder) -> None:
    folder.define("lib/d_c")


def _remove(folder: Folder) -> None:
    (folder.root / "notes.md").unlink()


def _rename(folder: Folder) -> None:
    (folder.root / "d_a.py").rename(folder.root / "d_z.py")


def _break(folder: Folder) -> None:
    Path(folder.spec.database).write_bytes(b"no database" * 1000)


@pytest.mark.parametrize("what", [_touch, _change, _add, _remove, _rename, _break])
def test_whatever_is_different_is_left_to_a_worker(folder: Folder, what: Callable[[Folder], None]) -> None:
    with Store(folder.spec.database) as store:
        stamp = store.stamp
    what(folder)
    assert glance.unchanged(folder.spec, lists(folder), (), stamp, thorough=False) is None


def test_what_another_has_written_and_what_is_large_is_left_to_a_worker(folder: Folder) -> None:
    with Store(folder.spec.database) as store:
        stamp = store.stamp
    assert glance.unchanged(folder.spec, lists(folder), (), stamp - 1, thorough=False) is None
    assert glance.unchanged(folder.spec, None, (), stamp, thorough=False) is None
    assert seen(folder, most=4) is None
    assert seen(folder, most=5) is not None


def test_other_options_are_left_to_a_worker(folder: Folder) -> None:
    options = ListingOptions(exclude=("lib/",))
    folder.spec = FolderSpec(root=folder.spec.root, database=folder.spec.database, options=options)
    assert seen(folder) is None
    folder.update()
    assert seen(folder) is None  # something was to be done under them, and may not have been
    assert plan(folder.spec, lists(folder), (), ()).file_count == 0
    now = seen(folder)
    assert now is not None
    assert now.total == 2


def test_an_environment_that_a_folder_became_is_left_to_a_worker(folder: Folder) -> None:
    folder.write("lib/pyvenv.cfg", "")
    assert seen(folder) is None


def test_only_a_database_that_was_read_through_is_taken_as_it_is(folder: Folder, tmp_path: Path) -> None:
    place = (str(tmp_path / "cache"), str(folder.root), os.getpid())
    assert seen(folder, thorough=True) is None
    assert glance.opened(*place, "") is None
    note_sound(folder.spec.database)
    assert seen(folder, thorough=True) is not None
    found = glance.opened(*place, "")
    assert found is not None
    assert found.path == folder.spec.database
    assert glance.opened(*place, "it broke") is None


def test_an_editor_s_text_is_no_difference(folder: Folder) -> None:
    indexer.index_open_text(folder.spec, "d_a.py", "def d_editor():\n    pass\n", "python")
    assert seen(folder) is None  # the document was closed: the disk counts
    assert seen(folder, ("d_a.py",)) is not None
    folder.write("d_a.py", "def d_saved():\n    pass\n")
    assert seen(folder, ("d_a.py",)) is not None


def test_packed_symbols_are_read_and_what_is_not_packed_is_not(folder: Folder) -> None:
    assert glance.kept(folder.spec, 0, 1_000) is None
    made = indexer.load(folder.spec, 0, 1_000)
    assert glance.kept(folder.spec, 0, 1_000) == made
    end = glance.kept(folder.spec, made.last_file_id, 1_000)
    assert end is not None
    assert end.segment is None
    with contextlib.closing(sqlite3.connect(folder.spec.database, isolation_level=None)) as db:
        db.execute("UPDATE packs SET content = x'00'")
    assert glance.kept(folder.spec, 0, 1_000) is None
    assert glance.measured(folder.spec) is not None
