"""ty as it is: started, asked, killed and started again."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import resource
import signal
from pathlib import Path

import psutil
import pytest

from headway.engines.errors import EngineUnavailableError
from headway.engines.server import EngineState, ServerLaunch
from headway.engines.ty import COMPLETIONS, TyEngine, TyList, documentation, listed
from headway.workspace.text import Edit, Position
from headway.workspace.uris import identity

from .conftest import Desk, Running


async def labels(engine: TyEngine, desk: Desk, name: str, source: str) -> list[str]:
    """Complete at `$0`."""
    offset = source.index("$0")
    document = desk.write(name, source.replace("$0", "", 1))
    position = document.position_at(offset)
    line = document.line(position.line)
    end = position.column
    while end < len(line) and line[end].isidentifier():
        end += 1
    reply = engine.complete(identity(document.uri), document, position, word_end=Position(position.line, end))
    answer = await reply
    assert isinstance(answer, TyList)
    return [item.label for item in answer.items]


@pytest.mark.asyncio
async def test_members_also_in_the_middle_of_a_word_and_behind_wide_characters(desk: Desk, running: Running) -> None:
    engine = TyEngine(lambda: desk.open)
    async with running(engine, desk.launch_ty()):
        assert "startswith" in await labels(engine, desk, "a.py", '"text".start$0')
        assert "path" in await labels(engine, desk, "b.py", "import os\nx = os.$0path\ny = 1\n")
        assert "join" in await labels(engine, desk, "c.py", "import os\nx = '😀é', os.path.jo$0\n")


@pytest.mark.asyncio
async def test_the_standard_library_is_known_and_what_we_are_made_of_is_not(desk: Desk, running: Running) -> None:
    engine = TyEngine(lambda: desk.open)
    async with running(engine, desk.launch_ty()):
        modules = await labels(engine, desk, "a.py", "import $0")
        assert "os" in modules
        assert not {"headway", "pygls", "msgspec"} & set(modules)


@pytest.mark.asyncio
async def test_it_gets_ready_by_itself_and_a_question_meanwhile_goes_first(desk: Desk, running: Running) -> None:
    engine = TyEngine(lambda: desk.open)
    async with running(engine, desk.launch_ty()):
        assert "first_name" in await labels(engine, desk, "a.py", "first_name = 1\nfirst$0")
        while not engine.is_warm:
            await engine.idle()
            await asyncio.sleep(0)
        assert engine.pending == 0
        assert "os" in await labels(engine, desk, "b.py", "import $0")


@pytest.mark.asyncio
async def test_one_that_is_not_asked_for_completions_does_nothing_by_itself(desk: Desk, running: Running) -> None:
    engine = TyEngine(lambda: desk.open, completes=False)
    async with running(engine, desk.launch_ty()):
        assert engine.pending == 0


@pytest.mark.asyncio
async def test_unsaved_text_of_another_module_counts(desk: Desk, running: Running) -> None:
    (desk.root / "shapes.py").write_text("class Old: pass\n")
    engine = TyEngine(lambda: desk.open)
    async with running(engine, desk.launch_ty()):
        desk.write("shapes.py", "class Unsaved:\n    def area(self): pass\n")
        assert "area" in await labels(engine, desk, "main.py", "from shapes import Unsaved\nUnsaved().$0")


@pytest.mark.asyncio
async def test_what_a_function_without_annotations_returns_is_known(desk: Desk, running: Running) -> None:
    (desk.root / "shapes.py").write_text(
        "class Shape:\n    def area(self): pass\n\n\ndef make(x=None):\n    return Shape()\n"
    )
    engine = TyEngine(lambda: desk.open)
    async with running(engine, desk.launch_ty()):
        assert "area" in await labels(engine, desk, "main.py", "from shapes import make\nmade = make()\nmade.$0")


@pytest.mark.asyncio
async def test_documentation_is_decoded_only_when_it_is_looked_at(desk: Desk, running: Running) -> None:
    engine = TyEngine(lambda: desk.open)
    async with running(engine, desk.launch_ty()):
        document = desk.write("a.py", "def documented():\n    '''What it does.'''\n\n\ndocumente")
        end = document.position_at(len(document.text))
        answer = await engine.complete(identity(document.uri), document, end, word_end=end)
        found = next(item for item in answer.items if item.label == "documented")
        assert documentation(found) == "What it does."


@pytest.mark.asyncio
async def test_an_answer_is_for_the_text_that_was_asked_about_or_says_that_it_may_not_be(
    desk: Desk, running: Running
) -> None:
    engine = TyEngine(lambda: desk.open)
    async with running(engine, desk.launch_ty()):
        document = desk.write("a.py", "import os\nos")
        place = Position(1, 3)
        dotted = desk.open[identity(document.uri)].apply([Edit(None, "import os\nos.")], version=2)
        asked = engine.complete(identity(document.uri), dotted, place, word_end=place)
        # A request about another document leaves the text alone, though the editor's differs from it.
        other = desk.write("b.py", "x = 1\n")
        await engine.complete(identity(other.uri), other, Position(1, 0), word_end=Position(1, 0))
        answer = await asked
        assert not asked.disturbed
        assert "path" in [item.label for item in answer.items]
        # One about the same document needs the newest text, and the first answer may then be for that.
        again = engine.complete(identity(document.uri), dotted, place, word_end=place)
        hover = engine.ask(
            "textDocument/hover",
            {"textDocument": {"uri": document.uri}, "position": {"line": 1, "character": 1}},
            about=identity(document.uri),
        )
        await asyncio.wait([again, hover])
        assert again.disturbed
        assert not hover.disturbed


@pytest.mark.asyncio
async def test_killed_it_fails_what_waits_and_comes_back_with_our_texts(desk: Desk, running: Running) -> None:
    states: list[EngineState] = []
    engine = TyEngine(lambda: desk.open, lambda: states.append(engine.state))
    async with running(engine, desk.launch_ty()):
        assert "first_name" in await labels(engine, desk, "a.py", "first_name = 1\nfirst$0")
        pid = engine.pid
        assert pid is not None
        document = desk.open[identity((desk.root / "a.py").as_uri())]
        end = document.position_at(len(document.text))
        waiting = engine.complete(identity(document.uri), document, end, word_end=end)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(EngineUnavailableError):
            await waiting
        assert engine.state is EngineState.FAILED
        assert engine.message is not None
        async with asyncio.timeout(60):
            await engine.ready()
        assert engine.pid not in (None, pid)
        assert "first_name" in await labels(engine, desk, "a.py", "first_name = 1\nfirst$0")
        assert engine.restarts == 1
    assert states[0] is EngineState.STARTING
    assert states[-1] is EngineState.OFF


@pytest.mark.asyncio
async def test_its_process_is_gone_when_it_is_ended(desk: Desk, running: Running) -> None:
    engine = TyEngine(lambda: desk.open)
    async with running(engine, desk.launch_ty()):
        pid = engine.pid
        assert pid is not None
    assert not psutil.pid_exists(pid)
    with pytest.raises(EngineUnavailableError):
        engine.ask("textDocument/hover", {})


@pytest.mark.asyncio
async def test_a_program_that_is_not_there_is_said_and_used_when_it_comes(desk: Desk, tmp_path: Path) -> None:
    """As is one whose folder was away for a while; what was said is taken back."""
    states: list[tuple[EngineState, str | None]] = []
    failed = asyncio.Event()

    def changed() -> None:
        states.append((engine.state, engine.message))
        if engine.state is EngineState.FAILED:
            failed.set()

    engine = TyEngine(lambda: desk.open, changed)
    program, folder = tmp_path / "ty", tmp_path / "folder"
    launch = dataclasses.replace(desk.launch_ty(), cwd=folder)
    task = asyncio.create_task(
        engine.run(dataclasses.replace(launch, argv=(str(program), *launch.argv[1:])), missing_s=0.01)
    )
    async with asyncio.timeout(60):
        await failed.wait()
        assert str(program) in (engine.message or "")
        assert not engine.coming
        program.symlink_to(launch.argv[0])
        folder.mkdir()
        await engine.ready()
    assert (engine.state, engine.message) == (EngineState.READY, None)
    task.cancel()
    await asyncio.wait([task])
    assert {state for state, _ in states} == set(EngineState)


@pytest.mark.asyncio
async def test_a_machine_without_room_for_another_process_is_asked_again(desk: Desk) -> None:
    failed = asyncio.Event()
    engine = TyEngine(lambda: desk.open, lambda: failed.set() if engine.state is EngineState.FAILED else None)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")), before[1]))
    task = asyncio.create_task(engine.run(desk.launch_ty(), missing_s=0.01))
    try:
        async with asyncio.timeout(60):
            await failed.wait()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    async with asyncio.timeout(60):
        await engine.ready()
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.asyncio
@pytest.mark.parametrize("body", ["exit 3", "echo nonsense; sleep 60"])
async def test_a_program_that_is_no_server_is_ended_and_said(desk: Desk, tmp_path: Path, body: str) -> None:
    program = tmp_path / "pretender"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    failed = asyncio.Event()
    engine = TyEngine(lambda: desk.open, lambda: failed.set() if engine.state is EngineState.FAILED else None)
    launch = ServerLaunch(argv=(str(program), "server"), roots=(), cwd=desk.root, env={"PATH": "/usr/bin:/bin"})
    task = asyncio.create_task(engine.run(launch))
    async with asyncio.timeout(60):
        await failed.wait()
    assert "ended unexpectedly" in (engine.message or "")
    task.cancel()
    await asyncio.wait([task])
    assert engine.pid is None


@pytest.mark.parametrize(
    "body", [b'{"items": [{"label": "draw"}]}', b'[{"label": "draw", "kind": 2, "sortText": "00000"}]']
)
def test_a_list_is_one_with_or_without_more_about_it(body: bytes) -> None:
    """ty gives a CompletionList, zuban an array."""
    assert [item.label for item in listed(COMPLETIONS.decode(body))] == ["draw"]
    assert listed(COMPLETIONS.decode(b"null")) == ()
