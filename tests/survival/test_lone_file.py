"""A file is opened, and no folder: it works in the folder of the file, and nothing else of the machine is read."""

import asyncio
import os
from pathlib import Path

import psutil

from tests.lsp.wire import Wire, run, server
from tests.survival.ground import SETTINGS, begin, called, family, gone, indexed
from tests.survival.test_many import names, opened

TEXT = "import beside\nbeside.\nnowhere_defined\n"


def home_with(tmp_path: Path) -> Path:
    """A home folder full of code that is none of the lone file's business."""
    (tmp_path / "beside.py").write_text("def of_the_neighbour(): pass\n")
    for number in range(40):
        other = tmp_path / f"project{number}"
        other.mkdir()
        (other / "module.py").write_text("def somebody_else_s_function(): pass\n")
    return tmp_path


async def engines(wire: Wire) -> list[psutil.Process]:
    """ty and ruff, once all that was asked is known to them."""
    return called(family(wire), " server")


async def until_known(wire: Wire, uri: str, line: int, character: int, name: str) -> None:
    """Complete until the name is there: the engine learns of the file's folder when it is opened."""
    while True:
        if name in await names(wire, uri, line, character):
            return
        await asyncio.sleep(0.1)


async def until_they_work_in(wire: Wire, root: Path) -> None:
    """Wait until the engines were started anew in another folder."""
    while True:
        if {process.cwd() for process in await engines(wire)} == {str(root)}:
            return
        await asyncio.sleep(0.1)


def test_a_lone_file_works_in_its_own_folder(tmp_path: Path) -> None:
    """In the home folder: its neighbour's names, its findings; no index, no walk, and no word of trouble."""
    home = home_with(tmp_path)

    async def scenario() -> None:
        async with server(home) as wire:
            await begin(wire, None)
            uri = opened(wire, home / "lone.py", TEXT)
            await until_known(wire, uri, 1, 7, "of_the_neighbour")
            told = await wire.note("textDocument/publishDiagnostics", lambda told: told["uri"] == uri)
            assert told["diagnostics"]
            place = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 8}}
            assert await wire.ask("textDocument/definition", place)
            await wire.ask("textDocument/references", {**place, "context": {"includeDeclaration": True}})
            running = await engines(wire)
            assert len(running) == 3  # ty, the one for references, ruff
            for process in running:
                where = process.cwd()
                assert os.listdir(where) == [], f"{process.cmdline()} takes {where} for its workspace"
            found = await indexed(wire)
            assert (found["message"], found["index"]["files"], found["index"]["state"]) == (None, 0, "complete")
            assert await wire.ask("workspace/symbol", {"query": "somebody_else_s_function"}) == []
            assert (await wire.ask("headway/search", {"query": "somebody"}))["hits"] == []
            children = family(wire)
            assert await wire.exit() == 0
            await gone(children)

    run(scenario())


def test_what_needs_a_folder_says_so(tmp_path: Path) -> None:
    """Tests are run in a folder; without one the job says what to do."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(None, initializationOptions={"settings": SETTINGS, "trusted": True})
            opened(wire, tmp_path / "test_lone.py", "def test_it(): pass\n")
            ended = await wire.ask("headway/submit", {"type": "tests", "arguments": {}})
            assert ended["state"] == "FAILED"
            assert "open the folder" in ended["error"]["message"]
            assert await wire.exit() == 0

    run(scenario())


def test_a_lone_file_in_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """Nothing is written beside it, and it works all the same."""
    place = home_with(tmp_path) / "fixed"
    place.mkdir()
    (place / "beside.py").write_text("def of_the_neighbour(): pass\n")
    place.chmod(0o555)
    before = os.listdir(place)

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, None)
            uri = opened(wire, place / "lone.py", TEXT)
            await until_known(wire, uri, 1, 7, "of_the_neighbour")
            assert os.listdir(place) == before
            assert await wire.exit() == 0

    try:
        run(scenario())
    finally:
        place.chmod(0o755)


def test_a_folder_that_is_opened_later_takes_over(tmp_path: Path) -> None:
    """The lone file's folder becomes the workspace: now the engines work in it."""
    home = home_with(tmp_path)

    async def scenario() -> None:
        async with server(home) as wire:
            await begin(wire, None)
            root = home / "project0"
            uri = opened(wire, root / "lone.py", "import module\nmodule.\n")
            await until_known(wire, uri, 1, 7, "somebody_else_s_function")
            added = {"added": [{"uri": root.as_uri(), "name": "project0"}], "removed": []}
            wire.notify("workspace/didChangeWorkspaceFolders", {"event": added})
            await until_known(wire, uri, 1, 7, "somebody_else_s_function")
            await until_they_work_in(wire, root)
            assert await wire.exit() == 0

    run(scenario())
