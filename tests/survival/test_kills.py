"""kill -9 of everything, one after another and all at once: nothing is lost, doubled, or left behind."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from tests.lsp.wire import Wire, probe, run, server, submission
from tests.soak import census
from tests.survival.ground import begin, called, family, gone, indexed, project, stored

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


async def progressed(wire: Wire, share: float) -> None:
    """Wait until so much of what was left of the index is made, or all of it."""
    await wire.note(
        "headway/jobUpdated",
        lambda view: view["type"] == "index" and ((view["progress"] or 0) >= share or view["state"] == "COMPLETED"),
    )


async def first_words(wire: Wire) -> None:
    await wire.note("headway/queueState")


async def listing(wire: Wire) -> None:
    await wire.note("headway/queueState", lambda note: note["queues"]["BATCH"]["running"])


@pytest.mark.slow
def test_an_index_survives_the_death_of_the_server_at_any_moment(tmp_path: Path) -> None:
    """Killed at its start, while it lists, and twice at its work; the fifth start brings it to its end."""
    root = project(tmp_path, 150)

    async def killed(moment: str) -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            match moment:
                case "start":
                    await first_words(wire)
                case "listing":
                    await listing(wire)
                case _:
                    await progressed(wire, float(moment))  # There is always something left to do: see below.
            children = family(wire)
            wire.process.kill()
            await gone(children)

    async def scenario() -> None:
        for moment in ("start", "listing", "0.1", "0.5"):
            for n in range(50):
                (root / f"before_{moment[-1]}_{n}.py").write_text(f"def made_before_{moment[-1]}_{n}(): pass\n")
            await killed(moment)
        async with server(tmp_path) as wire:
            await begin(wire, root)
            found = await indexed(wire)
            assert (found["index"]["files"], found["message"]) == (351, None)
            assert await wire.exit() == 0
        async with server(tmp_path) as wire:
            await begin(wire, root, cache=tmp_path / "anew")
            fresh = await indexed(wire)
            assert fresh["index"]["symbols"] == found["index"]["symbols"]
            assert await wire.exit() == 0

    run(scenario())
    assert stored(tmp_path / "cache") == stored(tmp_path / "anew"), "no file and no definition twice or missing"


def test_whatever_is_killed_is_replaced_and_nothing_grows(tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / "test_it.py").write_text("import time\n\n\ndef test_long():\n    time.sleep(600)\n")
    document = (root / "pkg" / "mod_1.py").as_uri()

    async def works(wire: Wire) -> None:
        """Everything that was killed does its work again."""
        found = await wire.ask("headway/submit", submission("p", *(probe(str(n), "process", 5) for n in range(4))))
        assert found["state"] == "COMPLETED", found
        end = {"line": text.count("\n"), "character": 5}
        names = await wire.ask("textDocument/completion", {"textDocument": {"uri": document}, "position": end})
        assert "dumps" in [item["label"] for item in names["items"]]
        hits = await wire.ask("headway/search", {"query": "basket"})
        assert hits["hits"]

    async def found_in(wire: Wire, version: int) -> None:
        await wire.note(
            "textDocument/publishDiagnostics", lambda told: told["diagnostics"] and told["version"] == version
        )

    async def well_again(wire: Wire) -> None:
        """No word is left of what has passed, in the state that was told last."""
        await wire.until(
            lambda: (note := wire.notes("headway/queueState")[-1])["message"] is None and note["state"] == "idle"
        )

    text = "import json\njson."

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            opened = {"uri": document, "languageId": "python", "version": 1, "text": text}
            wire.notify("textDocument/didOpen", {"textDocument": opened})
            await indexed(wire)
            await works(wire)
            await wire.note("textDocument/publishDiagnostics", lambda told: told["diagnostics"])
            await well_again(wire)
            before = census.take(wire.process.pid)
            for version in (2, 3):
                killed = family(wire)
                assert len(killed) >= 4
                for process in killed:
                    process.kill()
                whole = {"textDocument": {"uri": document, "version": version}, "contentChanges": [{"text": text}]}
                wire.notify("textDocument/didChange", whole)
                (root / f"new_{version}.py").write_text(f"def made_for_{version}(): pass\n")
                done = await wire.ask("headway/submit", {"type": "index", "arguments": {}})
                assert done["state"] == "COMPLETED", done
                await found_in(wire, version)
                symbols = await wire.ask("workspace/symbol", {"query": f"made_for_{version}"})
                assert [symbol["name"] for symbol in symbols] == [f"made_for_{version}"]
                await works(wire)
                await gone(killed)
            await indexed(wire)
            await well_again(wire)
            assert census.leaks(before, census.take(wire.process.pid)) == []
            assert await wire.exit() == 0

    run(scenario())


@pytest.mark.skipif(sys.platform != "linux", reason="limits another process's memory as Linux can")
def test_workers_that_run_out_of_memory_in_the_middle_of_an_index_lose_nothing_of_it(tmp_path: Path) -> None:
    """Each that there is may not take another page; what they cannot do, others do."""
    root = project(tmp_path, 150)

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            await progressed(wire, 0.1)
            workers = called(family(wire), "worker")
            assert workers
            for worker in workers:
                with contextlib.suppress(psutil.NoSuchProcess):
                    worker.rlimit(psutil.RLIMIT_AS, (worker.memory_info().vms, worker.memory_info().vms))
            found = await indexed(wire)
            assert (found["index"]["files"], found["message"]) == (151, None)
            (root / "new.py").write_text("def made_afterwards(): pass\n")
            done = await wire.ask("headway/submit", {"type": "index", "arguments": {}})
            assert done["state"] == "COMPLETED", done
            assert (await indexed(wire))["index"]["files"] == 152
            assert await wire.exit() == 0

    run(scenario())


def test_a_test_run_that_is_killed_says_so_and_takes_along_what_it_had_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pids"
    os.mkfifo(pid_file)
    root = tmp_path / "work"
    root.mkdir()
    (root / "test_it.py").write_text(
        "import os, subprocess\n\n\ndef test_long():\n"
        "    child = subprocess.Popen(['sleep', '600'])\n"
        f"    open({str(pid_file)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "    child.wait()\n"
    )

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            options = {"trusted": True, "settings": {"tests": {"python": sys.executable}}}
            await wire.initialize(root, initializationOptions=options)
            _, running = wire.request("headway/submit", {"type": "tests", "arguments": {}})
            pytest_pid, _ = map(int, (await asyncio.to_thread(pid_file.read_text)).split())
            started = called(family(wire), "pytest") + called(family(wire), "sleep")
            assert started
            os.kill(pytest_pid, signal.SIGKILL)
            view = await running
            assert view["state"] == "FAILED"
            assert "signal 9" in view["error"]["message"]
            await gone(started)
            assert await wire.exit() == 0

    run(scenario())
