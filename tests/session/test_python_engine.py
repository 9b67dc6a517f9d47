"""Which Python the types come from, and what a person is told where it is another one than was meant."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from headway.engines.environment import own_program
from headway.session.completing import Completing
from headway.session.ports import FileChange
from headway.session.python_engine import PythonEngine
from headway.workspace.symbols import IndexView
from headway.workspace.uris import path_to_uri

from .conftest import Office, OpenOffice

SOURCE = "import only_there\nonly_there.$0\n"


def environment(prefix: Path) -> Path:
    """Make a virtual environment with a module of its own; return its interpreter."""
    packages = prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "only_there.py").write_text("def known_by_its_package(): pass\n")
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(sys.executable)
    (prefix / "pyvenv.cfg").write_text(f"home = {os.path.dirname(sys.executable)}\n")
    return prefix / "bin" / "python"


async def until(place: Office, words: str | None) -> None:
    """Wait until the session says this of itself; a test that waits in vain is ended."""
    async with asyncio.timeout(60):
        while True:
            told = place.session.trouble
            if told is None if words is None else words in (told or ""):
                return
            await asyncio.sleep(0.01)


async def until_known(place: Office, completing: Completing, known: bool = True) -> None:
    """Wait until the package's name is offered, or no longer; the engine is started anew meanwhile."""
    text, position = place.at(SOURCE)
    async with asyncio.timeout(60):
        while True:
            document = place.open("a.py", text)
            found = await completing.complete(document.uri, position)
            place.session.close_document(document.uri)
            if ("known_by_its_package" in [item.label for item in found.items]) is known:
                return
            await asyncio.sleep(0.05)


@pytest.mark.asyncio
async def test_an_interpreter_that_does_not_exist_is_said_and_taken_once_it_does(
    office: OpenOffice, tmp_path: Path
) -> None:
    """The setting names an environment that was deleted: plain words, completion goes on, and no restart is needed."""
    wanted = tmp_path / "elsewhere"
    settings = {"python": {"interpreter": str(wanted / "bin" / "python")}}
    async with office(trusted=True, settings=settings) as place:
        engine = PythonEngine(place.session, look_again_s=0.05)
        completing = Completing(place.session, engine.ty, IndexView)
        place.add(engine, completing)
        await place.start()
        await until(place, f"The Python interpreter {wanted}/bin/python does not exist")
        assert "headway.python.interpreter" in (place.session.trouble or "")
        environment(wanted)
        await until(place, None)
        await until_known(place, completing)


@pytest.mark.asyncio
async def test_the_workspace_s_own_environment_may_come_and_go(office: OpenOffice) -> None:
    """A `.venv` that is made while the editor runs counts once it is there; nobody sets anything."""
    async with office() as place:
        engine = PythonEngine(place.session)
        completing = Completing(place.session, engine.ty, IndexView)
        place.add(engine, completing)
        await place.start()
        environment(place.root / ".venv")
        told = place.root / ".venv" / "pyvenv.cfg"
        place.session.change_files([FileChange(uri=path_to_uri(str(told)), path=told, deleted=False)])
        await until_known(place, completing)
        shutil.rmtree(place.root / ".venv")
        place.session.change_files([FileChange(uri=path_to_uri(str(told)), path=told, deleted=True)])
        await until_known(place, completing, known=False)
        assert place.session.trouble is None


@pytest.mark.asyncio
async def test_a_launcher_is_asked_what_it_starts(office: OpenOffice, tmp_path: Path) -> None:
    """What merely starts another Python (pyenv's shims do) has no packages beside it; those of the other one count."""
    launcher = shim(tmp_path, f'exec "{environment(tmp_path / "elsewhere")}" "$@"')
    async with office(trusted=True, settings={"python": {"interpreter": str(launcher)}}) as place:
        engine = PythonEngine(place.session)
        completing = Completing(place.session, engine.ty, IndexView)
        place.add(engine, completing)
        await place.start()
        await until_known(place, completing)
        assert place.session.trouble is None


@pytest.mark.asyncio
async def test_a_launcher_that_starts_nothing_is_said_until_it_does(office: OpenOffice, tmp_path: Path) -> None:
    launcher = shim(tmp_path, "exit 9")
    async with office(trusted=True, settings={"python": {"interpreter": str(launcher)}}) as place:
        place.add(PythonEngine(place.session, look_again_s=0.05))
        await place.start()
        await until(place, "has no packages beside it")
        shim(tmp_path, f'exec "{environment(tmp_path / "elsewhere")}" "$@"')
        await until(place, None)


def shim(folder: Path, line: str) -> Path:
    """Write a launcher of one line; one that is there is replaced at once."""
    launcher = folder / "shims" / "python"
    launcher.parent.mkdir(exist_ok=True)
    new = launcher.with_name("new")
    new.write_text(f"#!/bin/sh\n{line}\n")
    new.chmod(0o755)
    return new.replace(launcher)


@pytest.mark.asyncio
async def test_a_ty_that_is_not_there_is_said_once_with_all_that_is_missed(office: OpenOffice, tmp_path: Path) -> None:
    nowhere = tmp_path / "ty"
    async with office(trusted=True, settings={"ty": {"path": str(nowhere)}}) as place:
        engine = PythonEngine(place.session)
        place.add(engine)
        await place.start()
        await until(place, "Meanwhile completions come from the index and the open text.")
        engine.need_searcher()
        await until(place, "the open text, and references cannot be found.")
        assert (place.session.trouble or "").count("cannot start") == 1
        # The right program is named: both are well again, and nothing is said any more.
        real = own_program("ty")
        assert real is not None
        place.session.configure({"ty": {"path": str(real)}}, whole=False)
        await until(place, None)
        # Of one alone only its own part is said.
        place.session.configure({"ty": {"path": str(nowhere)}}, whole=False)
        await until(place, "the open text, and references cannot be found.")
        engine._searchers_keeper.rest()
        await until(place, "Meanwhile completions come from the index and the open text.")
        assert "references" not in (place.session.trouble or "")
