"""Python by the real server: tests of a large suite found, and findings of a file that is being edited."""

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from tests.bench.frame import Figure
from tests.lsp.wire import Wire, server

FILES = 100
TESTS_A_FILE = 50
ROUNDS = 3
EDITS = 20
# A quarter of them gives ruff something to say.
LINES = 1_000
DEBOUNCE_MS = 150


def bench() -> Iterator[Figure]:
    """Find 5,000 tests, beside pytest doing the same; edit a file of 1,000 lines."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder).resolve()
        firsts_s, ratios = asyncio.run(_discovery(home, _suite(home / "suite")))
        yield Figure(name="first of 5,000 tests found", value=statistics.median(firsts_s), unit="s", target=2.0)
        yield Figure(name="5,000 tests found / pytest alone", value=statistics.median(ratios), unit="share", target=1.1)
        after_s = asyncio.run(_findings(home))
        yield Figure(name="findings after the pause p50", value=statistics.median(after_s), unit="s")
        yield Figure(name="findings after the pause max", value=max(after_s), unit="s", target=0.3)


def _suite(root: Path) -> Path:
    root.mkdir()
    for number in range(FILES):
        tests = (f"def test_{number}_{case}():\n    assert {case} >= 0\n\n" for case in range(TESTS_A_FILE))
        (root / f"test_{number}.py").write_text("import os\n\n" + "".join(tests))
    return root


async def _discovery(home: Path, root: Path) -> tuple[list[float], list[float]]:
    """Return the seconds to the first tests, and the whole time as multiples of pytest's own, taken in turns."""
    settings = {"python": {"interpreter": sys.executable}, "index": {"enabled": False}}
    firsts_s: list[float] = []
    ratios: list[float] = []
    async with server(home) as wire:
        await wire.initialize(root, initializationOptions={"trusted": True, "settings": settings})
        await _find(wire, "warm")
        for number in range(ROUNDS):
            alone_s = await asyncio.to_thread(_collect, root)
            first_s, all_s = await _find(wire, f"round {number}")
            firsts_s.append(first_s)
            ratios.append(all_s / alone_s)
    return firsts_s, ratios


def _collect(root: Path) -> float:
    began_s = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began_s


async def _find(wire: Wire, token: str) -> tuple[float, float]:
    """Have the tests found; return the seconds until the first are told and until all are."""
    began_s = time.perf_counter()
    params = {"type": "tests", "arguments": {"collect": True}, "partialResultToken": token}
    _, answer = wire.request("headway/submit", params)
    await wire.note("$/progress", lambda note: note["token"] == token)
    first_s = time.perf_counter() - began_s
    found = (await answer)["result"]["collected"]
    assert found == FILES * TESTS_A_FILE, f"{found} tests were found"
    return first_s, time.perf_counter() - began_s


def _is_for(version: int, note: Mapping[str, object]) -> bool:
    return note.get("version") == version


async def _findings(home: Path) -> list[float]:
    """Return the seconds from when typing rests to the findings of the newest text, for some edits."""
    root = home / "edited"
    root.mkdir()
    uri = (root / "main.py").as_uri()
    lines = [f"value_{number} = {number}\n" if number % 4 else f"import m{number}\n" for number in range(LINES)]
    taken_s: list[float] = []
    async with server(home) as wire:
        options = {"settings": {"diagnostics": {"debounceMs": DEBOUNCE_MS}}}
        await wire.initialize(root, initializationOptions=options)
        item = {"uri": uri, "languageId": "python", "version": 1, "text": "".join(lines)}
        wire.notify("textDocument/didOpen", {"textDocument": item})
        await wire.note("textDocument/publishDiagnostics", lambda note: note.get("version") == 1)
        for version in range(2, EDITS + 2):
            start = {"line": version * 40, "character": 0}
            for letter in (version * 2, version * 2 + 1):  # of two keys: one alone may be looked at sooner
                change = {"range": {"start": start, "end": start}, "text": "x"}
                identifier = {"uri": uri, "version": letter}
                wire.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})
            rests_s = time.perf_counter() + DEBOUNCE_MS / 1_000
            newest = version * 2 + 1
            await wire.note("textDocument/publishDiagnostics", partial(_is_for, newest))
            taken_s.append(max(time.perf_counter() - rests_s, 0.0))
    return taken_s
