"""What becomes of an index's steps when the process that makes them dies. Real worker processes, killed in earnest."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from headway.scheduler.model import Event, JobState, TaskStarted

from .test_indexing import Workspace


class Killer:
    """Kills the worker processes whenever a task of one of these names starts."""

    def __init__(self, workspace: Workspace, *names: str) -> None:
        self._workspace = workspace
        self._names = names
        self.killed: list[str] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, TaskStarted) and event.name in self._names:
            # The event is told before the worker gets the task, or at once afterwards: let it have it.
            asyncio.get_running_loop().call_soon(self._kill, event.name)

    def _kill(self, name: str) -> None:
        self.killed.append(name)
        for worker in self._workspace.scheduler.snapshot().workers:
            with contextlib.suppress(ProcessLookupError):  # It has died of the last one by now.
                os.kill(worker.pid, signal.SIGKILL)


@pytest.mark.parametrize("step", ["open the index of w", "load the index of w from 0", "compare w"])
def test_a_step_whose_process_dies_is_made_again(tmp_path: Path, step: str) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("made")
        if step.startswith("load"):  # There is something to be loaded, and it was not packed yet.
            async with ws.serving():
                await ws.complete()
            ws.events.clear()
        async with ws.serving():  # Nothing of it can be seen at a glance.
            killer = Killer(ws, step)
            ws.scheduler.subscribe(killer)
            await ws.complete()
            assert killer.killed == [step]
            assert f"{step}, again" in ws.ended()
            assert ws.shown("made")
            assert ws.troubles.get("index") is None

    asyncio.run(scenario())


def test_a_start_in_an_unchanged_folder_needs_no_process(tmp_path: Path) -> None:
    """The first start indexes, the second one packs the symbols, and the third one has nothing to do for a worker."""

    async def scenario() -> list[str]:
        ws = Workspace(tmp_path)
        async with ws.serving():
            await ws.complete()
            assert all(ws.shown(f"made_{n}") for n in range(30))
            assert ws.files() == 30
        return [name for name in ws.ended() if not name.startswith("list ")]

    ws = Workspace(tmp_path)
    subprocess.run(["git", "init", "-q", ws.root], check=True)
    for n in range(30):
        ws.define(f"made_{n}")
    assert any(name.startswith("index ") for name in asyncio.run(scenario()))
    assert "load the index of w from 0" in asyncio.run(scenario())
    third = asyncio.run(scenario())
    assert all(name.endswith(" at a glance") or name == "measure the index of w" for name in third), third
    (ws.root / "made_0.py").write_text("def made_0():\n    return\n")
    assert "compare w" in asyncio.run(scenario())


def test_an_index_that_cannot_be_opened_is_tried_three_times_and_again_later(tmp_path: Path) -> None:
    """What kills each of its processes in turn is said to have failed, tried again after a while, and works then."""

    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("made")
        name = "open the index of w"
        async with ws.serving():
            killer = Killer(ws, name, f"{name}, again", f"{name}, once more")
            unsubscribe = ws.scheduler.subscribe(killer)
            await ws.until(lambda: len(killer.killed) >= 3)
            assert killer.killed[:3] == [name, f"{name}, again", f"{name}, once more"]
            unsubscribe()
            await ws.complete()
            assert ws.ended().count(name) >= 2
            assert ws.shown("made")

    asyncio.run(scenario())


def test_a_file_that_kills_whatever_reads_it_is_left_out_and_tried_again_when_it_is_asked_for(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("made")
        tries = ["index w/made.py", "index w/made.py, try 2", "index w/made.py, try 3"]
        async with ws.serving() as indexing:
            killer = Killer(ws, *tries)
            unsubscribe = ws.scheduler.subscribe(killer)
            await ws.complete()
            assert killer.killed == tries
            assert (ws.shown("made"), indexing.stats()["skipped"]) == (False, {"failed": 1})
            unsubscribe()
            outcome = await ws.scheduler.submit(indexing.submission({}, title=None, priority=None).job)
            assert outcome.state is JobState.COMPLETED
            assert (ws.shown("made"), indexing.stats()["skipped"]) == (True, {})

    asyncio.run(scenario())
