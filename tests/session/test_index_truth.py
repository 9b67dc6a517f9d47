"""The index says what the disk holds, whatever times, sizes, encodings and languages say. With real processes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from headway.session.searching import Searching, SearchQuery
from headway.workspace.documents import Document
from headway.workspace.index import SymbolKind

from .test_indexing import Workspace


def test_a_file_made_anew_with_an_older_time_and_the_same_size_is_read(tmp_path: Path) -> None:
    """Content decides: what a tool deletes and makes again at once is no older for its time."""

    async def scenario() -> None:
        ws = Workspace(tmp_path)
        path = ws.define("first_name", "a.py")
        status = path.stat()
        async with ws.serving():
            await ws.complete()
            path.unlink()
            ws.define("other_name", "a.py")
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - 10**12))
            assert path.stat().st_size == status.st_size
            ws.changed(path, deleted=True)
            ws.changed(path)
            await ws.until(lambda: ws.shown("other_name"))
            assert not ws.shown("first_name")

    asyncio.run(scenario())


def test_one_saved_file_is_one_file_s_work_however_many_roots_there_are(tmp_path: Path) -> None:
    async def scenario() -> None:
        roots = [f"root{number}" for number in range(8)]
        ws = Workspace(tmp_path, *roots)
        for number, name in enumerate(roots):
            (tmp_path / name / "uses.py").write_text(f"import shared\n\ndef use_{number}():\n    pass\n")
        async with ws.serving():
            await ws.complete()
            before = len(ws.ended())
            ws.changed(ws.define("shared_thing", "shared.py"))
            await ws.until(lambda: ws.shown("shared_thing"))
            await ws.complete()
            since = ws.ended()[before:]
            # Nothing is known of a new file: its own root is listed, compared and brought up to date.
            assert len([name for name in since if name.startswith("index ")]) == 1
            assert not [name for name in since if any(root in name for root in roots[1:])], since
            before = len(ws.ended())
            path = ws.define("shared_again", "shared.py")
            ws.changed(path)
            await ws.until(lambda: ws.shown("shared_again"))
            await ws.complete()
            assert len(ws.ended()[before:]) == 1

    asyncio.run(scenario())


def test_files_of_every_kind_in_odd_encodings_are_indexed_or_counted(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        made = {
            "utf16.ts": "export class Überschrift { öffnen() {} }".encode("utf-16"),
            "bom.go": b"\xef\xbb\xbfpackage p\nfunc Marked() {}\n",
            "latin.java": "// für alle\nclass Grüße { void sage() {} }\n".encode("latin-1"),
            "sjis.py": "# -*- coding: shift_jis -*-\ndef 検索(): pass\n".encode("shift_jis"),
            "data.rs": b"\x00\x01\x02" * 100,
            "deep.yaml": b"- " * 4_000,
            "broken.c": b"int whole(void) { return 0; }\nint (((( {{{\n",
            "big.json": b'{"a": "' + b"x" * 2_000_000 + b'"}',
        }
        for name, data in made.items():
            (ws.root / name).write_bytes(data)
        if hasattr(os, "mkfifo"):
            os.mkfifo(ws.root / "pipe.js")
        async with ws.serving() as indexing:
            await ws.complete()
            for name in ("Überschrift", "öffnen", "Marked", "Grüße", "検索", "whole"):
                assert indexing.view.named(name), name
            (place,) = indexing.view.named("Marked")
            assert place.symbol.selection_range.start.column == len("func ")
            skipped = indexing.stats()["skipped"]
            assert skipped["binary"] == 1
            assert skipped["tooLarge"] == 1
            answer = await Searching(ws, indexing).search(SearchQuery(text="Marked"))
            assert [(hit.name, hit.kind) for hit in answer.hits] == [("Marked", SymbolKind.FUNCTION)]

    asyncio.run(scenario())


def test_a_workspace_without_python_is_indexed_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        (ws.root / "main.go").write_text("package main\n\n// Runs it all.\nfunc runEverything() {}\n")
        (ws.root / "README.md").write_text("# Handbook\n\nHow to begin.\n")
        async with ws.serving() as indexing:
            await ws.complete()
            found = await Searching(ws, indexing).search(SearchQuery(text="runs everything"))
            assert found.hits[0].name == "runEverything"
            assert "Runs it all." in found.hits[0].snippet
            assert [f.symbol.kind for f in indexing.view.named("Handbook")] == [SymbolKind.STRING]
            (ws.root / "main.go").unlink()
            ws.changed(ws.root / "main.go", deleted=True)
            await ws.until(lambda: not indexing.view.named("runEverything"))

    asyncio.run(scenario())


def _open(ws: Workspace, path: Path, name: str) -> Document:
    document = Document(uri=path.as_uri(), language="python", version=1, text=f"def {name}():\n    pass\n")
    ws.documents.open(document)
    ws.indexing.document_opened(document)
    return document


def test_what_the_editor_holds_outlives_the_index(tmp_path: Path) -> None:
    """Cleared, it is made of the texts as they are held: one that was never saved is nowhere else."""

    async def scenario() -> None:
        ws = Workspace(tmp_path)
        changed = ws.define("as_saved", "a.py")
        async with ws.serving() as indexing:
            await ws.complete()
            _open(ws, changed, "as_edited")
            _open(ws, ws.root / "new.py", "never_saved")
            await ws.until(lambda: ws.shown("as_edited") and ws.shown("never_saved"))
            await indexing.clear_cache()
            await ws.until(lambda: not ws.shown("never_saved"))
            await ws.until(lambda: ws.shown("as_edited") and ws.shown("never_saved"))
            await ws.complete()
            indexing.reindex()
            await ws.complete()
            assert ws.shown("as_edited")
            assert ws.shown("never_saved")
            assert not ws.shown("as_saved")

    asyncio.run(scenario())


def test_what_was_open_before_its_folder_came_is_found(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("here")
        other = ws.folder(tmp_path / "other")
        async with ws.serving() as indexing:
            await ws.complete()
            _open(ws, tmp_path / "other" / "new.py", "open_before")
            ws.folders = (*ws.folders, other)
            indexing.folders_changed()
            await ws.until(lambda: ws.shown("open_before"))

    asyncio.run(scenario())


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_folder_behind_a_link_knows_its_files_by_both_names(tmp_path: Path) -> None:
    async def scenario() -> None:
        real = tmp_path / "real"
        real.mkdir()
        (tmp_path / "w").symlink_to(real)
        ws = Workspace(tmp_path)
        ws.define("as_saved", "a.py")
        async with ws.serving() as indexing:
            await ws.complete()
            _open(ws, real / "a.py", "as_edited")
            _open(ws, real / "new.py", "never_saved")
            await ws.until(lambda: ws.shown("as_edited") and ws.shown("never_saved"))
            assert not ws.shown("as_saved")
            indexing.reindex()
            await ws.complete()
            assert ws.shown("as_edited")
            assert ws.shown("never_saved")
            assert await ws.found("never_saved", limit=1) == ["new.py:never_saved"]
            changed = real / "other.py"
            changed.write_text("def told_by_its_real_name():\n    pass\n")
            ws.changed(changed)
            await ws.until(lambda: ws.shown("told_by_its_real_name"))

    asyncio.run(scenario())
