"""Quick fixes, fix all, organised imports and formatting end to end below the wire, with the real ruff."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headway.engines.mirror import own_position
from headway.session.diagnosing import Diagnosing
from headway.session.jobs import RequestSupersededError
from headway.session.mending import FIX_ALL, ORGANIZE_IMPORTS, EditAbilities, Mending
from headway.workspace.documents import Document
from headway.workspace.text import Edit, Range

from .conftest import Office, OpenOffice

OPTIONS = {"tabSize": 4, "insertSpaces": True}
# A machine that is busy with others is no reason to fail; what a save is held up for has a test of its own.
PATIENT_S = 120.0


class Bench:
    """Where a person mends a text."""

    def __init__(self, office: Office, *, later: bool = True, versions: bool = True, save_limit_s: float = PATIENT_S):
        self.office = office
        self.diagnosing = Diagnosing(office.session)
        office.add(self.diagnosing)
        abilities = EditAbilities(versions=versions, later=later)
        self.mending = Mending(office.session, self.diagnosing.ruff, abilities, save_limit_s=save_limit_s)

    async def begin(self) -> None:
        await self.office.start()
        async with asyncio.timeout(PATIENT_S):
            await self.diagnosing.ruff.ready()

    async def format(self, document: Document) -> str:
        params = {"textDocument": {"uri": document.uri}, "options": OPTIONS}
        edits = await self.mending.format("textDocument/formatting", document.uri, params)
        return edited(document, edits or ())  # ruff says nothing where nothing is to change

    async def actions(self, document: Document, *only: str, line: int = 0, to_line: int = 0) -> list[dict[str, Any]]:
        place = {"start": {"line": line, "character": 0}, "end": {"line": to_line, "character": 0}}
        params: dict[str, Any] = {"textDocument": {"uri": document.uri}, "range": place, "context": {"diagnostics": []}}
        if only:
            params["context"]["only"] = list(only)
        return await self.mending.actions(document.uri, params)


def edited(document: Document, edits: Sequence[Mapping[str, Any]]) -> str:
    """Return a text with LSP's edits; each must lie inside of it, where the positions exist."""
    made = []
    for edit in edits:
        ends = [edit["range"]["start"], edit["range"]["end"]]
        places = [own_position(document, end["line"], end["character"], "utf-16") for end in ends]
        for end in ends:
            assert end["line"] <= document.content.line_count, "beyond the end"
        made.append(Edit(Range(*places), edit["newText"]))
    return str(document.content.apply(tuple(made)))


def result(document: Document, action: Mapping[str, Any]) -> str:
    """Return a text after an action, which must be for this very version of it."""
    (change,) = action["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": document.uri, "version": document.version}
    return edited(document, change["edits"])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = {  'a':1 }\n", 'x = {"a": 1}\n'),
        ("x = 1\r\ny  = 2\r\n", "x = 1\r\ny = 2\r\n"),
        ("x = 1\r\ny  = 2", "x = 1\r\ny = 2\r\n"),
        ("x = 1\r\n", "x = 1\r\n"),
        ("\ufeffx = 1\n", "\ufeffx = 1\n"),
        ("\ufeffx  = '😀'\r\ny  = '𠮷e\u0301'  # 🏳️\u200d🌈\r\n", '\ufeffx = "😀"\r\ny = "𠮷e\u0301"  # 🏳️\u200d🌈\r\n'),
        ("", ""),
    ],
)
async def test_formatting_keeps_line_ends_and_marks_and_lands_exactly(
    office: OpenOffice, before: str, after: str
) -> None:
    async with office() as place:
        bench = Bench(place)
        document = place.open("main.py", before)
        await bench.begin()
        assert await bench.format(document) == after


@pytest.mark.asyncio
async def test_a_range_is_formatted_and_the_rest_left_alone(office: OpenOffice) -> None:
    async with office() as place:
        bench = Bench(place)
        document = place.open("main.py", "x  = 1\ny  = 2\n")
        await bench.begin()
        span = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 6}}
        params = {"textDocument": {"uri": document.uri}, "range": span, "options": OPTIONS}
        edits = await bench.mending.format("textDocument/rangeFormatting", document.uri, params)
        assert edits is not None
        assert edited(document, edits) == "x  = 1\ny = 2\n"


@pytest.mark.asyncio
async def test_a_text_that_cannot_be_parsed_is_left_as_it_is(office: OpenOffice) -> None:
    async with office() as place:
        bench = Bench(place)
        document = place.open("main.py", "def (:\n")
        await bench.begin()
        params = {"textDocument": {"uri": document.uri}, "options": OPTIONS}
        assert not await bench.mending.format("textDocument/formatting", document.uri, params)


@pytest.mark.asyncio
async def test_a_finding_is_mended_where_it_stands(office: OpenOffice) -> None:
    async with office() as place:
        bench = Bench(place)
        source = "x = '😀'; import os; y = x\nimport re\nprint(re)\n"
        document = place.open("main.py", source)
        await bench.begin()
        found = await bench.actions(document, "quickfix", to_line=1)
        fix = next(action for action in found if "Remove unused import" in action["title"])
        assert result(document, fix) == "x = '😀'; y = x\nimport re\nprint(re)\n"
        assert fix["isPreferred"] is True
        assert await bench.actions(document, "quickfix", line=2, to_line=2) == []


@pytest.mark.asyncio
async def test_whole_texts_are_mended_when_it_is_chosen(office: OpenOffice) -> None:
    async with office() as place:
        (place.root / "ruff.toml").write_text('lint.select = ["F"]\n')
        bench = Bench(place)
        document = place.open("main.py", "import re\nimport os\nimport sys\n\nprint(re, sys)\n")
        await bench.begin()
        promised = {action["kind"]: action for action in await bench.actions(document, "source")}
        assert promised.keys() == {FIX_ALL, ORGANIZE_IMPORTS}
        fixed = await bench.mending.resolve(promised[FIX_ALL])
        assert result(document, fixed) == "import re\nimport sys\n\nprint(re, sys)\n"
        # What is chosen later is for the text as it is by then.
        document = place.set("main.py", "import sys\nimport os\n\nprint(os, sys)\n")
        sorted_ = await bench.mending.resolve(promised[ORGANIZE_IMPORTS])
        assert result(document, sorted_) == "import os\nimport sys\n\nprint(os, sys)\n"


@pytest.mark.asyncio
async def test_who_cannot_ask_again_gets_the_edits_at_once_and_without_versions(office: OpenOffice) -> None:
    async with office() as place:
        bench = Bench(place, later=False, versions=False)
        document = place.open("main.py", "import os\n")
        await bench.begin()
        (action,) = await bench.actions(document, FIX_ALL)
        assert edited(document, action["edit"]["changes"][document.uri]) == ""
        assert all(action["kind"] == "quickfix" for action in await bench.actions(document, to_line=1))


@pytest.mark.asyncio
async def test_edits_for_an_older_text_are_refused(office: OpenOffice) -> None:
    async with office() as place:
        bench = Bench(place)
        document = place.open("main.py", "x  = 1\n")
        await bench.begin()
        formatting = asyncio.ensure_future(bench.format(document))
        await asyncio.sleep(0)  # it is asked
        place.set("main.py", "y = 2\nx  = 1\n")
        with pytest.raises(RequestSupersededError):
            await formatting


@pytest.mark.asyncio
async def test_a_save_is_not_held_up_by_a_ruff_that_does_not_answer(office: OpenOffice) -> None:
    async with office() as place:
        bench = Bench(place, save_limit_s=0.2)
        document = place.open("main.py", "x  = 1\nimport os\n")
        await bench.begin()
        pid = bench.diagnosing.ruff.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        params = {"textDocument": {"uri": document.uri}, "options": OPTIONS}
        async with asyncio.timeout(60):
            assert await bench.mending.format("textDocument/formatting", document.uri, params) is None
            assert await bench.actions(document, FIX_ALL) == []
            promise = {"title": "", "kind": FIX_ALL, "data": document.uri}
            assert await bench.mending.resolve(promise) == promise
        os.kill(pid, signal.SIGCONT)


@pytest.mark.asyncio
async def test_other_documents_are_none_of_its_business(office: OpenOffice) -> None:
    async with office() as place:
        bench = Bench(place)
        document = place.open("notes.md", "#  notes\n", language="markdown")
        assert await bench.actions(document) == []
        assert await bench.mending.format("textDocument/formatting", place.uri("missing.py"), {}) is None
