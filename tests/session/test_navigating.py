"""Hover, definitions and references end to end below the wire, with the real ty and an index."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest

from headway.session.navigating import Navigating
from headway.session.other_engines import OtherEngines
from headway.session.python_engine import PythonEngine

from .conftest import Office, OpenOffice


class Desk:
    """Where a person points at names."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.engine = PythonEngine(office.session)
        self.navigating = Navigating(office.session, self.engine)
        office.add(self.engine, self.navigating)

    async def ask(self, method: str, name: str, source: str, **more: Any) -> Any:
        """Ask about `$0`; return the result, or "away"."""
        text, position = self.office.at(source)
        self.office.open(name, text)
        params = {
            "textDocument": {"uri": self.office.uri(name)},
            "position": {"line": position.line, "character": position.column},
            **more,
        }
        body = await self.navigating.ask(f"textDocument/{method}", self.office.uri(name), params)
        return "away" if body is None else json.loads(body)


@pytest.mark.asyncio
async def test_definitions_hovers_and_references(office: OpenOffice) -> None:
    async with office() as place:
        (place.root / "shapes.py").write_text("def make_circle():\n    '''Make one.'''\n")
        desk = Desk(place)
        await place.start()
        use = "from shapes import make_circle\n\nmake_cir$0cle()\n"
        (found,) = await desk.ask("definition", "main.py", use)
        assert found["uri"] == place.uri("shapes.py")
        assert found["range"]["start"] == {"line": 0, "character": 4}
        assert "Make one." in str(await desk.ask("hover", "main.py", use))
        references = await desk.ask("references", "main.py", use, context={"includeDeclaration": True})
        assert len(references) == 3
        assert desk.engine.searcher.pid not in (None, desk.engine.ty.pid)


@pytest.mark.asyncio
async def test_the_second_engine_runs_only_once_it_is_needed(office: OpenOffice) -> None:
    async with office() as place:
        desk = Desk(place)
        await place.start()
        await desk.ask("hover", "main.py", "na$0me = 1\n")
        assert desk.engine.searcher.pid is None


@pytest.mark.asyncio
async def test_unsaved_text_is_what_is_searched(office: OpenOffice) -> None:
    async with office() as place:
        (place.root / "main.py").write_text("")
        desk = Desk(place)
        await place.start()
        source = "def fresh_name(): pass\n\nfresh_na$0me()\nfresh_name()\n"
        assert len(await desk.ask("references", "main.py", source, context={"includeDeclaration": True})) == 3


@pytest.mark.asyncio
async def test_without_an_engine_nothing_is_answered_here(office: OpenOffice) -> None:
    async with office(settings={"python": {"engines": ["index"]}}) as place:
        desk = Desk(place)
        assert await desk.ask("definition", "main.py", "make_cir$0cle()\n") == "away"


@pytest.mark.asyncio
async def test_other_languages_are_none_of_its_business(office: OpenOffice) -> None:
    async with office() as place:
        desk = Desk(place)
        place.open("notes.md", "# text\n", language="markdown")
        body = await desk.navigating.ask("textDocument/hover", place.uri("notes.md"), {})
        assert body is None


@pytest.mark.asyncio
async def test_a_cancelled_request_ends_its_job(office: OpenOffice) -> None:
    async with office() as place:
        desk = Desk(place)
        await place.start()
        asking = asyncio.ensure_future(desk.ask("references", "main.py", "na$0me = 1\n", context={}))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()
        async with asyncio.timeout(30):
            while place.session.scheduler.snapshot().running:  # noqa: ASYNC110 - nothing tells of jobs that are not shown
                await asyncio.sleep(0)


MORTAL = r"""
import json, os, sys

while (header := sys.stdin.buffer.readline()):
    sys.stdin.buffer.readline()
    message = json.loads(sys.stdin.buffer.read(int(header.split(b":")[1])))
    if message["method"] == "textDocument/hover":
        os._exit(1)
    if message.get("id") is not None:
        result = {"capabilities": {"hoverProvider": True, "positionEncoding": "utf-16"}}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()
"""


@pytest.mark.asyncio
async def test_an_engine_that_dies_of_a_request_is_away_for_it_and_no_text_has_changed(office: OpenOffice) -> None:
    engine = {"language": "cpp", "command": [sys.executable, "-I", "-S", "-c", MORTAL]}
    async with office(trusted=True, settings={"engines": [engine]}) as place:
        python = PythonEngine(place.session)
        others = OtherEngines(place.session)
        navigating = Navigating(place.session, python, others)
        place.add(python, others, navigating)
        await place.start()
        document = place.open("main.cpp", "int a;\n", language="cpp")
        server = others.engine("cpp")
        assert server is not None
        about = {"textDocument": {"uri": document.uri}, "position": {"line": 0, "character": 4}}
        assert await navigating.ask("textDocument/hover", document.uri, about) is None
        assert server.restarts >= 3  # It was asked anew.
