"""Nothing is parsed twice for the same content: after a rename, a branch and back, in another checkout. Real git."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.workspace import indexer, opened
from headway.workspace.former import FORMER_SCHEMA, retire, siblings
from headway.workspace.listing import ListingOptions
from headway.workspace.opened import FolderSpec
from headway.workspace.planning import plan
from headway.workspace.store import Store
from headway.workspace.words import query_words


class Checkout:
    """A folder and its index; `cache` is shared by all checkouts of a test."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        placed = indexer.open_place(str(cache), str(root), os.getpid(), "")
        assert placed.path is not None
        self.spec = FolderSpec(root=str(root), database=placed.path, options=ListingOptions())

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def update(self) -> tuple[int, int]:
        """Bring the index up to date; return how many files were read anew, and of how many the content was known."""
        made = plan(self.spec, None, (), ())
        for batch in made.forget:
            assert indexer.forget_files(self.spec, batch).trouble is None
        reused = files = 0
        for batch in made.batches:
            done = indexer.index_files(self.spec, batch)
            assert done.trouble is None
            reused += done.reused
            files += batch.count("\0") + 1
        return files, reused

    def found(self, words: str) -> list[tuple[str, str]]:
        with Store(self.spec.database, readonly=True) as store:
            return [(hit.path, hit.definition.name) for hit in store.search(query_words(words), 10)]

    def check(self) -> None:
        """The full-text table holds what the files say and nothing else."""
        with Store(self.spec.database) as store:
            store.check()
            everything = store.known()
            store.write([], list(everything))
            (left,) = store._db.execute(
                "SELECT count(*) FROM chunks WHERE chunks MATCH 'def OR value OR quokka'"
            ).fetchone()
            assert left == 0


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "cache"
    opened.close_stores()


def git(root: Path, *arguments: str) -> None:
    names = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *names, *arguments], cwd=root, check=True, capture_output=True)


def test_a_renamed_file_is_not_parsed_but_found_under_its_new_name(tmp_path: Path, cache: Path) -> None:
    here = Checkout(tmp_path / "w", cache)
    here.write("pkg/quokka.py", "def value():\n    return jumping()\n")
    assert here.update() == (1, 0)
    (here.root / "pkg/quokka.py").rename(here.root / "wombat.py")
    assert here.update() == (1, 1)
    assert ("wombat.py", "wombat") in here.found("wombat")
    assert here.found("quokka") == []
    assert here.found("jumping")[0] == ("wombat.py", "value")
    here.check()


def test_of_very_many_files_of_one_content_a_few_are_looked_at(tmp_path: Path, cache: Path) -> None:
    """Each of hundreds of empty files would otherwise be compared with hundreds of others."""
    here = Checkout(tmp_path / "w", cache)
    here.write("alike.txt", "")
    for number in range(40):
        here.write(f"pkg_{number}/__init__.py", "")
    here.update()
    for number in range(40):
        here.write(f"more_{number}/__init__.py", "")
        (here.root / f"pkg_{number}/__init__.py").unlink()
    assert here.update() == (40, 40)
    with Store(here.spec.database) as store:
        (digest,) = {file.digest for file in store.known().values()}
        known = store.contents([digest])
    assert len(known) == 32  # 16 of those that are gone, and 16 of those that are here: the newest
    assert {content.path.partition("_")[0] for content in known} == {"pkg", "more"}
    here.write("other.txt", "")
    assert here.update()[0] == 1  # parsed or not, it is there
    assert len(here.found("more")) == 10
    here.check()


def test_a_branch_and_back_parses_each_content_once(tmp_path: Path, cache: Path) -> None:
    here = Checkout(tmp_path / "w", cache)
    git(here.root, "init")
    for name in ("a.py", "b.py", "same.py"):
        here.write(name, f"def main_{name[0]}():\n    pass\n")
    git(here.root, "add", ".")
    git(here.root, "commit", "-m", "one")
    assert here.update() == (3, 0)
    git(here.root, "checkout", "-b", "other")
    here.write("a.py", "def other_a():\n    pass\n")
    here.write("only_here.py", "def other_only():\n    pass\n")
    git(here.root, "rm", "-q", "b.py")
    git(here.root, "add", ".")
    git(here.root, "commit", "-m", "two")
    assert here.update() == (2, 0)
    for branch, count in (("main", 2), ("other", 2), ("main", 2)):
        git(here.root, "checkout", branch)
        assert here.update() == (count, count)
    assert here.found("main")[0][1].startswith("main_")
    assert here.found("other") == []
    here.check()


def test_another_checkout_takes_over_what_is_known(tmp_path: Path, cache: Path) -> None:
    main = Checkout(tmp_path / "main", cache)
    git(main.root, "init")
    for number in range(5):
        main.write(f"lib/mod_{number}.py", f"def value_{number}():\n    pass\n")
    git(main.root, "add", ".")
    git(main.root, "commit", "-m", "one")
    git(main.root, "worktree", "add", "../second")
    assert main.update() == (5, 0)
    second = Checkout(tmp_path / "second", cache)
    second.write("lib/mod_0.py", "def value_changed():\n    pass\n")
    assert second.update() == (5, 4)
    assert main.update() == (0, 0)
    main.write("lib/mod_0.py", "def value_changed():\n    pass\n")
    assert main.update() == (1, 1)  # and the other way round
    inner = Checkout(tmp_path / "second" / "lib", cache)
    assert inner.update()[1] == 0  # that folder has no index in the other checkout
    assert siblings(str(inner.root)) == [str(main.root / "lib")]
    second.check()


def test_a_clone_is_no_checkout_of_the_same_repository(tmp_path: Path, cache: Path) -> None:
    main = Checkout(tmp_path / "main", cache)
    git(main.root, "init")
    main.write("a.py", "def value():\n    pass\n")
    git(main.root, "add", ".")
    git(main.root, "commit", "-m", "one")
    assert main.update() == (1, 0)
    git(tmp_path, "clone", "-q", "main", "clone")
    assert Checkout(tmp_path / "clone", cache).update() == (1, 0)


@pytest.mark.parametrize("link", ["", "gitdir:", "gitdir: /nowhere", "gitdir: .", "nonsense\n" * 9, "gitdir: ../\0"])
def test_links_that_lead_nowhere_have_no_siblings(tmp_path: Path, link: str) -> None:
    (tmp_path / ".git").write_text(link)
    (tmp_path / "inner").mkdir()
    assert siblings(str(tmp_path / "inner")) == []


def test_a_damaged_index_of_another_checkout_is_left_alone(tmp_path: Path, cache: Path) -> None:
    main = Checkout(tmp_path / "main", cache)
    git(main.root, "init")
    main.write("a.py", "def value():\n    pass\n")
    git(main.root, "add", ".")
    git(main.root, "commit", "-m", "one")
    git(main.root, "worktree", "add", "../second")
    main.update()
    with Store(main.spec.database) as store:
        store._db.execute("UPDATE files SET said = x'00'")
    second = Checkout(tmp_path / "second", cache)
    assert second.update() == (1, 0)
    second.write("a.py", "def value_two():\n    pass\n")
    opened.close_stores()
    Path(main.spec.database).write_bytes(b"nothing of the kind" * 1000)
    assert second.update() == (1, 0)


def test_what_is_understood_otherwise_is_parsed(tmp_path: Path, cache: Path) -> None:
    here = Checkout(tmp_path / "w", cache)
    here.write("a.ts", "export const value = 1;\n")
    here.update()
    here.write("b.tsx", "export const value = 1;\n")
    here.write("c.js", "export const value = 1;\n")
    assert here.update() == (2, 0)


def test_what_only_an_editor_held_is_not_kept(tmp_path: Path, cache: Path) -> None:
    here = Checkout(tmp_path / "w", cache)
    here.write("a.py", "def value():\n    pass\n")
    here.update()
    for text in ("def value_(", "def value_x():", "def value_xy():\n    pass\n"):
        assert indexer.index_open_text(here.spec, "a.py", text, "python").trouble is None
    with contextlib.closing(sqlite3.connect(here.spec.database)) as db:
        assert db.execute("SELECT count(*) FROM former").fetchone() == (1,)


def test_only_so_many_former_contents_are_kept() -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE files (id INTEGER PRIMARY KEY, digest, path, language, note, said, skipped, signature)")
    db.executescript(FORMER_SCHEMA)
    for number in range(10):
        db.execute("INSERT INTO files VALUES (?, ?, 'a.py', 'python', NULL, x'', NULL, '1')", (number, bytes([number])))
        retire(db, number, most=4)
    assert [digest for (digest,) in db.execute("SELECT digest FROM former ORDER BY id")] == [
        b"\6",
        b"\7",
        b"\x08",
        b"\t",
    ]
    db.close()
