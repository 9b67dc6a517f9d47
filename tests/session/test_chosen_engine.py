"""Another engine for Python, chosen by setting: a real pyrefly, one that is missing, and one that may not run."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from headway.engines.environment import own_program
from headway.session.completing import Completing
from headway.session.navigating import Navigating
from headway.session.python_engine import PythonEngine
from headway.workspace.symbols import IndexView

from .conftest import Office, OpenOffice

PYREFLY = own_program("pyrefly")
PATIENT = {"softDeadlineMs": 10_000, "hardDeadlineMs": 60_000}
SOURCE = """\
class Lantern:
    def light_up(self) -> int:
        '''Make it shine.'''
        return 1


"""


class Desk:
    def __init__(self, office: Office) -> None:
        self.office = office
        self.engine = PythonEngine(office.session)
        self.completing = Completing(office.session, self.engine.ty, IndexView)
        self.navigating = Navigating(office.session, self.engine)
        office.add(self.engine, self.completing, self.navigating)

    async def members(self) -> list[str]:
        text, position = self.office.at(SOURCE + "Lantern().$0\n")
        self.office.open("main.py", text)
        found = await self.completing.complete(self.office.uri("main.py"), position)
        return [item.label for item in found.items]

    async def ask(self, method: str, line: int, column: int) -> Any:
        uri = self.office.uri("main.py")
        params = {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}}
        body = await self.navigating.ask(f"textDocument/{method}", uri, params)
        return None if body is None else json.loads(body)


def engines(*names: str) -> dict[str, Any]:
    return {"python": {"engines": list(names)}, "completion": PATIENT}


@pytest.mark.asyncio
@pytest.mark.skipif(PYREFLY is None, reason="pyrefly has no wheel for this platform")
async def test_an_installed_engine_answers_and_can_be_changed(
    office: OpenOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert PYREFLY is not None
    monkeypatch.setenv("PATH", str(PYREFLY.parent), prepend=":")
    async with office(trusted=True, settings=engines("pyrefly", "index")) as place:
        desk = Desk(place)
        await place.start()
        assert "light_up" in await desk.members()
        assert desk.engine.ty.name == "pyrefly"
        assert "Make it shine." in str(await desk.ask("hover", 1, 9))
        assert place.session.trouble is None
        pid = desk.engine.ty.pid
        place.session.configure(engines("ty", "index"), whole=False)
        async with asyncio.timeout(60):
            while desk.engine.ty.pid in (None, pid):  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.01)
            await desk.engine.ty.ready()
        assert "Make it shine." in str(await desk.ask("hover", 1, 9))
        assert desk.engine.ty.name == "ty"


@pytest.mark.asyncio
async def test_one_that_is_missing_is_said_and_the_next_one_answers(office: OpenOffice) -> None:
    async with office(trusted=True, settings=engines("zuban", "ty", "index")) as place:
        desk = Desk(place)
        await place.start()
        assert "zuban is not installed" in str(place.session.trouble)
        assert "light_up" in await desk.members()
        place.session.configure(engines("ty", "jedi", "index"), whole=False)
        assert place.session.trouble is None  # who is not needed need not be there


@pytest.mark.asyncio
async def test_in_an_untrusted_workspace_only_our_own_runs(office: OpenOffice) -> None:
    async with office(settings=engines("pyrefly", "ty", "index")) as place:
        desk = Desk(place)
        await place.start()
        assert "pyrefly runs in trusted workspaces only" in str(place.session.trouble)
        assert "light_up" in await desk.members()
        assert desk.engine.ty.name == "ty"
