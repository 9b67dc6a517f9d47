"""Type errors of open documents, with the real ty and the real ruff."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.engines.type_checkers import is_type_checked
from headway.features.analysis import Finding
from headway.session.diagnosing import Diagnosing
from headway.session.ports import FileChange
from headway.session.python_engine import PythonEngine
from headway.workspace.text import Text

from .conftest import Office, OpenOffice

WRONG = "def double(x: int) -> int:\n    return x * 2\n\n\ndouble('a')\nprint(nothing)\n"
RIGHT = WRONG.replace("'a'", "4").replace("nothing", "4")


class Board:
    def __init__(self, office: Office) -> None:
        self.office = office
        self.engine = PythonEngine(office.session)
        self.diagnosing = Diagnosing(office.session, engine=self.engine)
        office.add(self.engine, self.diagnosing)
        self.news = asyncio.Event()
        publish = office.client.publish

        def publishing(uri: str, version: int | None, findings: list[Finding], text: Text | None = None) -> None:
            publish(uri, version, findings, text)
            self.news.set()

        office.client.publish = publishing  # type: ignore[assignment,method-assign]
        office.client.refresh_diagnostics = self.news.set  # type: ignore[method-assign]

    async def shows(self, fits: Callable[[int | None, set[str]], bool]) -> list[Finding]:
        async with asyncio.timeout(90):
            while True:
                for _, version, found in self.office.client.published[-1:]:
                    if fits(version, {str(one.code) for one in found}):
                        return found
                self.news.clear()
                await self.news.wait()


@pytest.mark.asyncio
async def test_where_types_are_checked_their_errors_are_shown_beside_the_others(office: OpenOffice) -> None:
    async with office() as place:
        (place.root / "pyproject.toml").write_text("[tool.mypy]\nstrict = true\n")
        board = Board(place)
        place.open("main.py", WRONG)
        await place.start()
        found = await board.shows(lambda version, codes: version == 1 and {"F821", "invalid-argument-type"} <= codes)
        # What both say is said once, and in a line.
        assert [one.source for one in found].count("ty") == 1
        assert all("\n\n" not in one.message for one in found)
        place.set("main.py", RIGHT)
        await board.shows(lambda version, codes: version == 2 and not codes)
        place.set("main.py", WRONG)
        await board.shows(lambda version, codes: version == 3 and "invalid-argument-type" in codes)
        place.session.configure({"diagnostics": {"types": "off"}}, whole=False)
        await board.shows(lambda version, codes: version == 3 and codes == {"F821"})


@pytest.mark.asyncio
async def test_elsewhere_no_second_engine_is_started_unless_somebody_wants_it(office: OpenOffice) -> None:
    async with office() as place:
        board = Board(place)
        place.open("main.py", WRONG)
        await place.start()
        await board.shows(lambda version, codes: codes == {"F821"})
        assert board.engine.searcher.pid is None
        place.session.configure({"diagnostics": {"types": "on"}}, whole=False)
        await board.shows(lambda version, codes: "invalid-argument-type" in codes)


@pytest.mark.asyncio
async def test_a_configuration_that_comes_counts(office: OpenOffice) -> None:
    async with office() as place:
        board = Board(place)
        place.open("main.py", WRONG)
        await place.start()
        await board.shows(lambda version, codes: codes == {"F821"})
        path = place.root / "ty.toml"
        path.write_text("")
        place.session.change_files([FileChange(uri=path.as_uri(), path=path, deleted=False)])
        await board.shows(lambda version, codes: "invalid-argument-type" in codes)


@pytest.mark.asyncio
async def test_who_pulls_is_told_to_pull_again_and_gets_them_then(office: OpenOffice) -> None:
    async with office(settings={"diagnostics": {"types": "on"}}) as place:
        place.client.pulls_diagnostics = True
        board = Board(place)
        place.open("main.py", WRONG)
        await place.start()
        async with asyncio.timeout(90):
            while not {"F821", "invalid-argument-type"} <= {
                str(one.code) for one in await board.diagnosing.pull(place.uri("main.py"))
            }:
                await board.news.wait()
                board.news.clear()
        assert place.client.published == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pyproject.toml", "[tool.pyright]\n", True),
        ("pyproject.toml", "[tool.ruff]\n", False),
        ("pyproject.toml", "[tool", False),
        ("setup.cfg", "[mypy-yaml]\nignore_missing_imports = True\n", True),
        ("setup.cfg", "[metadata]\n", False),
        ("pyrightconfig.json", "{}", True),
    ],
)
def test_what_configures_a_type_checker(tmp_path: Path, name: str, text: str, expected: bool) -> None:
    (tmp_path / name).write_text(text)
    assert is_type_checked([tmp_path / "elsewhere", tmp_path]) is expected
