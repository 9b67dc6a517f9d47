"""Findings of files that are not open: shown by an analysis of the workspace, and never longer than they are true."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from headway.lsp.convert import Converter
from headway.scheduler.model import JobState
from headway.session.diagnosing import Diagnosing
from headway.session.ports import FileChange, Folder, Submitted
from headway.workspace.text import Text

from .conftest import Office, OpenOffice


class Board:
    """Where findings of a workspace are shown; `texts` is what columns would be counted in."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.texts: dict[str, Text | None] = {}
        self.diagnosing = Diagnosing(
            office.session, ruff_after_s=3600.0
        )  # nothing but the analysis is to show anything
        office.add(self.diagnosing)
        office.session.job_sources["analysis"] = self.diagnosing
        publish = office.client.publish

        def publishing(uri: str, version: int | None, findings: object, text: Text | None = None) -> None:
            assert version is None
            publish(uri, version, findings)  # type: ignore[arg-type]
            self.texts[uri] = text

        office.client.publish = publishing  # type: ignore[method-assign]

    async def analyze(self) -> None:
        submitted = self.office.session.submit("analysis", {})
        assert isinstance(submitted, Submitted)
        outcome = await submitted.handle
        assert outcome.state is JobState.COMPLETED

    def shown(self) -> dict[str, list[str | None]]:
        """Return what is shown now, by file name: the codes of its findings."""
        newest = {uri: [one.code for one in found] for uri, _, found in self.office.client.published}
        return {uri.rpartition("/")[2]: codes for uri, codes in newest.items() if codes}

    def change(self, path: Path, *, deleted: bool = False) -> None:
        self.office.session.change_files([FileChange(uri=path.as_uri(), path=path, deleted=deleted)])


def write(root: Path) -> None:
    (root / "ruff.toml").write_text('lint.select = ["F"]\n')
    (root / "sub").mkdir()
    (root / "a.py").write_text("import os\n")
    (root / "b.py").write_text("print(nothing)\n")
    (root / "sub" / "c.py").write_text("import re\n")
    (root / "clean.py").write_text("x = 1\n")


ALL = {"a.py": ["F401"], "b.py": ["F821"], "c.py": ["F401"]}


@pytest.mark.asyncio
async def test_an_analysis_shows_what_it_finds_and_takes_back_what_is_mended(office: OpenOffice) -> None:
    async with office() as place:
        write(place.root)
        board = Board(place)
        await board.analyze()
        assert board.shown() == ALL
        (place.root / "a.py").write_text("x = 1\n")
        await board.analyze()
        assert board.shown() == {"b.py": ["F821"], "c.py": ["F401"]}


@pytest.mark.asyncio
async def test_columns_are_counted_in_the_text_of_the_file(office: OpenOffice) -> None:
    async with office() as place:
        (place.root / "a.py").write_text("x = '😀𠮷'; import os\n")
        board = Board(place)
        await board.analyze()
        (uri, _, found) = place.client.published[-1]
        text = board.texts[uri]
        assert text is not None
        span = next(one.range for one in found if one.code == "F401")
        assert Converter().range_out(span, text.line)["start"] == {"line": 0, "character": 19}  # UTF-16


@pytest.mark.asyncio
async def test_what_is_changed_deleted_ignored_or_removed_is_cleared(office: OpenOffice) -> None:
    async with office() as place:
        write(place.root)
        board = Board(place)
        place.client.refresh_diagnostics = lambda: None  # type: ignore[method-assign]
        await board.analyze()
        board.change(place.root / "a.py")
        assert board.shown() == {"b.py": ["F821"], "c.py": ["F401"]}
        shutil.rmtree(place.root / "sub")
        board.change(place.root / "sub", deleted=True)
        assert board.shown() == {"b.py": ["F821"]}
        board.change(place.root / "b.py", deleted=True)
        assert board.shown() == {}
        for name in (".gitignore", "ruff.toml", "pyproject.toml"):
            await board.analyze()
            assert board.shown()
            board.change(place.root / name)
            assert board.shown() == {}
        await board.analyze()
        folder = Folder(uri=place.root.as_uri(), name="", path=place.root)
        place.session.change_folders(added=[], removed=[folder.uri])
        assert board.shown() == {}


@pytest.mark.asyncio
async def test_an_open_document_has_findings_of_its_own(office: OpenOffice) -> None:
    async with office() as place:
        write(place.root)
        board = Board(place)
        await board.analyze()
        place.open("a.py", "import os\n")
        assert "a.py" not in board.shown()
        await board.analyze()
        assert "a.py" not in board.shown()
        place.session.close_document(place.uri("a.py"))
        await board.analyze()
        assert board.shown() == ALL


@pytest.mark.asyncio
async def test_what_changes_while_it_is_looked_at_is_not_shown(office: OpenOffice) -> None:
    async with office() as place:
        write(place.root)
        board = Board(place)
        analyzing = asyncio.ensure_future(board.analyze())
        async with asyncio.timeout(60):
            while not board.diagnosing.elsewhere._touched:  # noqa: ASYNC110 - the batch is begun
                await asyncio.sleep(0)
        board.change(place.root / "a.py")
        await analyzing
        assert board.shown() == {"b.py": ["F821"], "c.py": ["F401"]}


@pytest.mark.asyncio
async def test_switched_off_nothing_is_shown(office: OpenOffice) -> None:
    async with office() as place:
        write(place.root)
        board = Board(place)
        place.client.refresh_diagnostics = lambda: None  # type: ignore[method-assign]
        await board.analyze()
        place.session.configure({"diagnostics": {"enabled": False}}, whole=False)
        assert board.shown() == {}
