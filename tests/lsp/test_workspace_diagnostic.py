"""Findings of files that are not open, for a client that asks for them: in parts, again when something changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.wire import AnswerError, Wire, run, server

ABILITIES: dict[str, Any] = {"textDocument": {"diagnostic": {}}}
ON = {"settings": {"diagnostics": {"workspace": True}}}


def write(root: Path) -> None:
    (root / "ruff.toml").write_text('lint.select = ["F"]\n')
    (root / "a.py").write_text("s = '😀'; import os\n")
    (root / "b.py").write_text("print(nothing)\n")
    (root / "clean.py").write_text("x = 1\n")
    (root / "open.py").write_text("import re\n")


def told(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """By file name the codes of its findings, or the kind of a report that has none."""
    return {
        report["uri"].rpartition("/")[2]: [item["code"] for item in report["items"]]
        if report["kind"] == "full"
        else report["kind"]
        for report in reports
    }


def ids(reports: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{"uri": report["uri"], "value": report["resultId"]} for report in reports]


def parts(wire: Wire, token: str) -> list[dict[str, Any]]:
    notes = [note["value"]["items"] for note in wire.notes("$/progress") if note["token"] == token]
    return [report for items in notes for report in items]


def test_they_come_in_parts_and_again_when_something_has_changed(tmp_path: Path) -> None:
    write(tmp_path)

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            greeted = await wire.initialize(tmp_path, capabilities=ABILITIES, initializationOptions=ON)
            assert greeted["capabilities"]["diagnosticProvider"]["workspaceDiagnostics"] is True
            uri = (tmp_path / "open.py").as_uri()
            item = {"uri": uri, "languageId": "python", "version": 1, "text": "import re\n"}
            wire.notify("textDocument/didOpen", {"textDocument": item})
            asked = {"previousResultIds": [], "partialResultToken": "first"}
            assert (await wire.ask("workspace/diagnostic", asked))["items"] == []
            first = parts(wire, "first")
            assert told(first) == {"a.py": ["F401"], "b.py": ["F821"]}  # what is open is asked about by itself
            (found,) = next(report for report in first if report["uri"].endswith("a.py"))["items"]
            assert found["range"]["start"] == {"line": 0, "character": 17}  # UTF-16

            # Who has lost a part of them is given it again at once.
            kept = ids([one for one in first if one["uri"].endswith("a.py")])
            again = (await wire.ask("workspace/diagnostic", {"previousResultIds": kept}))["items"]
            assert told(again) == {"a.py": "unchanged", "b.py": ["F821"]}

            # Who asks again waits until something changes.
            question = {"previousResultIds": ids(first)}
            number, waiting = wire.request("workspace/diagnostic", question)
            job = await wire.ask("headway/submit", {"type": "analysis", "arguments": {}})
            assert job["result"]["diagnostics"] == 3
            jobs = {view["jobId"] for view in wire.notes("headway/jobUpdated") if view["type"] == "analysis"}
            assert len(jobs) == 3  # those of the answers, and this one
            wire.cancel(number)
            with pytest.raises(AnswerError) as cancelled:
                await waiting
            assert cancelled.value.code == -32800
            _, waiting = wire.request("workspace/diagnostic", question)
            (tmp_path / "b.py").unlink()
            (tmp_path / "clean.py").write_text("import os\n")
            changes = [
                {"uri": (tmp_path / "b.py").as_uri(), "type": 3},
                {"uri": (tmp_path / "clean.py").as_uri(), "type": 2},
            ]
            wire.notify("workspace/didChangeWatchedFiles", {"changes": changes})
            assert told((await waiting)["items"]) == {"a.py": "unchanged", "b.py": [], "clean.py": ["F401"]}
            # Whoever pulls them is not shown them a second time.
            shown = wire.notes("textDocument/publishDiagnostics")
            assert all(note["diagnostics"] == [] for note in shown)
            _, waiting = wire.request("workspace/diagnostic", question)  # the end does not wait for a change
            assert await wire.exit() == 0
            assert isinstance(waiting.exception(), AnswerError)

    run(scenario())


def test_by_default_no_client_is_asked_to_pull_them_but_one_that_does_is_answered(tmp_path: Path) -> None:
    write(tmp_path)

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            capabilities = (await wire.initialize(tmp_path, capabilities=ABILITIES))["capabilities"]
            assert capabilities["diagnosticProvider"]["workspaceDiagnostics"] is False
            found = await wire.ask("workspace/diagnostic", {"previousResultIds": []})
            assert told(found["items"]) == {"a.py": ["F401"], "b.py": ["F821"], "open.py": ["F401"]}
            refused = await wire.refused("workspace/diagnostic", {"previousResultIds": [{"uri": 3, "value": ""}]})
            assert (refused.code, "previousResultIds[0]" in refused.message) == (-32602, True)

    run(scenario())
