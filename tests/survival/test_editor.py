"""An editor that floods, that reads nothing, that writes garbage, or that goes in the middle of a word."""

import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest

from headway.lsp.framing import frame
from tests.lsp.wire import Wire, probe, run, server, submission
from tests.soak import census
from tests.survival.ground import begin, family, gone, indexed, project, snapshot, stored

FLOOD = 10_000
JOBS = 40


def open_document(wire: Wire, uri: str, text: str) -> None:
    wire.notify(
        "textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}}
    )


def rss_mb(wire: Wire) -> float:
    return psutil.Process(wire.process.pid).memory_info().rss / 2**20


def change(uri: str, version: int, text: str) -> bytes:
    params = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]}
    return frame(json.dumps({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}).encode())


def test_ten_thousand_changes_at_once_leave_the_last_text_and_nothing_else(tmp_path: Path) -> None:
    """In one write, with requests among them; what is answered is about the text that was there then."""
    root = project(tmp_path, 5)
    uri = (root / "pkg" / "mod_1.py").as_uri()

    async def names(wire: Wire, column: int) -> set[str]:
        params = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": column}}
        return {item["label"] for item in (await wire.ask("textDocument/completion", params))["items"]}

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            open_document(wire, uri, "name_0 = 0\nname")
            await indexed(wire)
            await names(wire, 4)
            before = census.take(wire.process.pid)
            for version in range(2, FLOOD):
                wire.write(change(uri, version, f"name_{version} = {version}\nname"))
            asked = [wire.request("headway/snapshot", {})[1] for _ in range(10)]
            wire.write(change(uri, FLOOD, f"undefined_thing\nlast_name_{FLOOD} = 1\nlast_"))
            params = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 5}}
            last = await wire.ask("textDocument/completion", params)
            assert f"last_name_{FLOOD}" in [item["label"] for item in last["items"]]
            assert [(await answer)["seq"] > 0 for answer in asked] == [True] * 10
            await wire.note("textDocument/publishDiagnostics", lambda told: told.get("version") == FLOOD)
            versions = [told["version"] for told in wire.notes("textDocument/publishDiagnostics")]
            assert versions == sorted(versions)
            assert len(versions) < 50, "not each of them was looked at"
            await indexed(wire)
            assert census.leaks(before, census.take(wire.process.pid)) == []
            assert await wire.exit() == 0

    run(scenario())


def test_an_editor_that_reads_nothing_misses_only_what_is_old(tmp_path: Path) -> None:
    """Meanwhile work goes on in the memory that there was; afterwards answers come in order, and news once."""
    root = project(tmp_path, 5)

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            await indexed(wire)
            before_mb = rss_mb(wire)
            transport = wire.process.stdout._transport  # type: ignore[union-attr]
            transport.pause_reading()
            jobs = [
                wire.request("headway/submit", submission(f"j{n}", *(probe(f"t{k}", ms=1) for k in range(60))))[1]
                for n in range(JOBS)
            ]
            new = root / "new.py"
            new.write_text("def made_while_nobody_read(): pass\n")
            wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": new.as_uri(), "type": 1}]})
            asked = [wire.request("headway/snapshot", {}) for _ in range(30)]
            told = len(wire.seen)
            try:
                # The server cannot say that its work goes on, but its index does.
                while "new.py" not in [path for path, _ in stored(tmp_path / "cache")[0]]:
                    await (await asyncio.create_subprocess_exec("/bin/sleep", "0.1")).wait()
                assert len(wire.seen) == told, "nothing was read"
                assert rss_mb(wire) - before_mb < 64
            finally:
                transport.resume_reading()
            for job in jobs:
                assert (await job)["state"] == "COMPLETED"
            for _, answer in asked:
                assert (await answer)["seq"] > 0
            ids = [message["id"] for message in wire.seen if "method" not in message]
            order = [message_id for message_id, _ in asked]
            assert [message_id for message_id in ids if message_id in set(order)] == order
            for n in range(JOBS):
                await wire.job_id(f"j{n}", "COMPLETED")
            ended = Counter(view["title"] for view in wire.notes("headway/jobUpdated") if view["state"] == "COMPLETED")
            assert {ended[f"j{n}"] for n in range(JOBS)} == {1}, "an end is told once, however late"
            told_states = wire.notes("headway/queueState")
            assert [state["seq"] for state in told_states] == list(range(1, len(told_states) + 1))
            assert (await indexed(wire))["state"] == "idle"
            assert await wire.exit() == 0

    run(scenario())


GARBAGE = {
    "noise": random.Random(1).randbytes(200_000),
    "text": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a length that is none": b"Content-Length: many\r\n\r\n{}",
    "a negative length": b"Content-Length: -5\r\n\r\n{}",
    "an endless header": b"X" * 100_000,
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_garbage_on_the_wire_ends_the_server_with_all_its_children(tmp_path: Path, kind: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(None)
            await snapshot(wire)
            children = family(wire)
            wire.write(GARBAGE[kind])
            assert await wire.process.wait() == 1
            await gone(children)

    run(scenario())
    assert "cannot be read any further" in (tmp_path / "stderr.txt").read_text()


CUTS: dict[str, bytes] = {
    "before anything": b"",
    "in a header": b"Content-Len",
    "behind a header": b"Content-Length: 1000\r\n\r\n",
    "in a body": b'Content-Length: 1000\r\n\r\n{"jsonrpc":',
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("begun", [False, True])
def test_an_editor_that_goes_in_the_middle_of_a_word(tmp_path: Path, cut: str, begun: bool) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            children: list[psutil.Process] = []
            if begun:
                await wire.initialize(tmp_path)
                children = family(wire)
            wire.write(CUTS[cut])
            assert wire.process.stdin is not None
            wire.process.stdin.close()
            assert await wire.process.wait() == 1
            await gone(children)

    run(scenario())


def test_huge_messages_pass_and_are_forgotten(tmp_path: Path) -> None:
    """30 MB each way, read by the client in small pieces; afterwards the memory is as it was."""
    uri = (tmp_path / "huge.txt").as_uri()

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(None)
            await wire.ask("headway/submit", submission("warm", probe("a")))
            for size_mb in (30, 30):
                open_document(wire, uri, ("x" * 99 + "\n") * (size_mb * 10_000))
                title = "t" * (size_mb * 100_000)
                view: Any = await wire.ask("headway/submit", submission(title, probe("a")))
                assert view["title"] == title
                wire.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
                await snapshot(wire)
            assert await wire.exit() == 0

    run(scenario())
