"""What a test run tells while it goes on, over the wire and with the real pytest."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import debugpy

from tests.lsp.wire import Wire, run, server

SOURCE = '''"""Tests of a shop."""
import shop


class TestPrice:
    def test_doubled(self):
        print("said aloud")
        assert shop.doubled(1) == 2

    def test_wrong(self):
        assert {"price": shop.doubled(2)} == {"price": 5}


def test_compared_before():
    try:
        assert 1 == 2
    except AssertionError:
        pass
    assert shop.doubled(3) is None
'''
SHOP = "def doubled(price):\n    if price > 9:\n        return 0\n    return 2 * price\n"
SETTINGS = {
    "tests": {"python": sys.executable, "args": ["-p", "no:cacheprovider"]},
    # What else this machine does holds up no run: that is not what is tried here.
    "scheduler": {"cpuHighPercent": 100, "cpuLowPercent": 99, "onBattery": "ignore"},
}


async def told(wire: Wire, **arguments: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return how a job of type `tests` ended, and what it told before."""
    token = f"parts {len(wire.seen)}"
    params = {"type": "tests", "arguments": arguments, "partialResultToken": token}
    view = await wire.ask("headway/submit", params)
    parts = [note["value"]["tests"] for note in wire.notes("$/progress") if note["token"] == token]
    return view, [event for part in parts for event in part]


async def opened(wire: Wire, root: Path, *, trusted: bool = True) -> None:
    await asyncio.to_thread(root.mkdir)
    (root / "shop.py").write_text(SHOP)
    (root / "test_shop.py").write_text(SOURCE)
    await wire.initialize(root, initializationOptions={"trusted": trusted, "settings": SETTINGS})


def test_tests_are_found_with_their_places_and_without_being_run(tmp_path: Path) -> None:
    root = tmp_path / "with space"

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await opened(wire, root)
            view, events = await told(wire, collect=True)
            assert view["title"] == "Find tests"
            assert view["result"]["collected"] == 3
            assert view["result"]["canCover"] is True
            assert view["result"]["patterns"] == ["*_test.py", "test_*.py"]
            assert [(event["event"], event["id"], event["line"]) for event in events] == [
                ("class", "test_shop.py::TestPrice", 4),
                ("found", "test_shop.py::TestPrice::test_doubled", 5),
                ("found", "test_shop.py::TestPrice::test_wrong", 9),
                ("found", "test_shop.py::test_compared_before", 13),
            ]
            assert {event["uri"] for event in events} == {f"{root.as_uri()}/test_shop.py"}
            assert {event["folder"] for event in events} == {root.as_uri()}

    run(scenario())


def test_saving_a_file_looks_for_no_tests(tmp_path: Path) -> None:
    root = tmp_path / "saved"

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await opened(wire, root)
            for name in ("shop.py", "test_shop.py"):
                path = root / name
                text = await asyncio.to_thread(path.read_text)
                document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
                wire.notify("textDocument/didOpen", {"textDocument": document})
                wire.notify("textDocument/didSave", {"textDocument": {"uri": path.as_uri()}, "text": text})
                changes = [{"uri": path.as_uri(), "type": 2}]
                wire.notify("workspace/didChangeWatchedFiles", {"changes": changes})
            # Who wants to know asks, and by then what a save had begun would have been told.
            await told(wire, collect=True)
            assert len({view["jobId"] for view in wire.notes("headway/jobUpdated") if view["type"] == "tests"}) == 1

    run(scenario())


def test_a_run_tells_each_test_with_its_output_its_values_and_its_trace(tmp_path: Path) -> None:
    root = tmp_path / "shop"

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await opened(wire, root)
            view, events = await told(wire)
            assert (view["result"]["passed"], view["result"]["failed"]) == (1, 2)
            by_id = {event["id"].rpartition("::")[2]: event for event in events if event["event"] != "started"}
            assert [event["event"] for event in events] == ["started", "passed", *["started", "failed"] * 2]
            assert by_id["test_doubled"]["output"] == "said aloud\n"
            wrong = by_id["test_wrong"]
            assert (wrong["actual"], wrong["expected"]) == ("{'price': 4}", "{'price': 5}")
            assert wrong["trace"] == [{"uri": f"{root.as_uri()}/test_shop.py", "line": 10, "message": "AssertionError"}]
            assert "assert {'price': 4} == {'price': 5}" in wrong["message"]
            # Two values were compared in it, but that is not what it failed of.
            assert "actual" not in by_id["test_compared_before"]

    run(scenario())


def test_some_tests_are_run_by_their_absolute_paths_and_coverage_is_told(tmp_path: Path) -> None:
    root = tmp_path / "shop"

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await opened(wire, root)
            target = f"{root}/test_shop.py::TestPrice::test_doubled"
            view, events = await told(wire, targets=[target], coverage=True)
            assert (view["result"]["passed"], view["result"]["failed"]) == (1, 0)
            covered = {event["uri"].rpartition("/")[2]: event for event in events if event["event"] == "covered"}
            assert covered["shop.py"]["executed"] == [[1, 2], [4, 4]]
            assert covered["shop.py"]["missing"] == [[3, 3]]
            left = {file.name for file in root.iterdir()} - {"__pycache__"}
            assert left == {"shop.py", "test_shop.py"}, "nothing is left behind"

    run(scenario())


async def debugged(port: int) -> str:
    """Attach to what waits at a port, let it run, and return the last that its debugger heard of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    def ask(number: int, command: str, **arguments: Any) -> None:
        body = json.dumps({"seq": number, "type": "request", "command": command, "arguments": arguments}).encode()
        writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    ask(1, "initialize", adapterID="debugpy")
    ask(2, "attach", name="tests")
    heard = ""
    try:
        while heard not in ("exited", "terminated"):
            header = await reader.readuntil(b"\r\n\r\n")
            said = json.loads(await reader.readexactly(int(header.split(b":")[1])))
            heard = str(said.get("event"))
            if heard == "initialized":
                ask(3, "configurationDone")
    except asyncio.IncompleteReadError:
        pass  # It hung up, as it does with the process.
    finally:
        writer.close()
    return heard


def test_a_run_waits_for_its_debugger_and_ends_as_others_do(tmp_path: Path) -> None:
    root = tmp_path / "shop"

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await opened(wire, root)
            folder = str(Path(debugpy.__file__).parents[1])
            going = asyncio.ensure_future(told(wire, targets=["test_shop.py::test_compared_before"], debugger=folder))
            waits = await wire.until(
                lambda: next(
                    (
                        event
                        for note in wire.notes("$/progress")
                        for event in note["value"].get("tests", ())
                        if event["event"] == "debugger"
                    ),
                    None,
                )
            )
            assert await debugged(waits["port"]) in ("exited", "terminated", "thread")
            view, events = await going
            assert (view["state"], view["result"]["failed"]) == ("COMPLETED", 1)
            assert [event["event"] for event in events] == ["debugger", "started", "failed"]

    run(scenario())


def test_a_folder_without_a_debugger_is_said_so(tmp_path: Path) -> None:
    root = tmp_path / "shop"

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await opened(wire, root)
            view, events = await told(wire, debugger=str(tmp_path / "nowhere"))
            assert view["state"] == "FAILED"
            assert "ms-python.debugpy" in view["error"]["message"]
            assert events == []

    run(scenario())


def test_what_is_not_trusted_is_not_even_looked_through(tmp_path: Path) -> None:
    root = tmp_path / "shop"

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await opened(wire, root, trusted=False)
            (root / "conftest.py").write_text("open('ran', 'w').close()\n")
            view, events = await told(wire, collect=True)
            assert view["state"] == "FAILED"
            assert "not trusted" in view["error"]["message"]
            assert events == []
            assert not (root / "ran").exists()

    run(scenario())
