"""Brackets of calls over the wire: as snippets, for clients that take them and people who want them."""

from pathlib import Path
from typing import Any

from tests.lsp.wire import run, server

SOURCE = "def without(): pass\ndef with_one(a): pass\nwith"
PATIENT = {"softDeadlineMs": 10_000, "hardDeadlineMs": 60_000}


def test_calls_are_snippets_where_they_are_wanted_and_at_once_when_the_setting_changes(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            item = {"snippetSupport": True}
            await wire.initialize(
                tmp_path,
                capabilities={"textDocument": {"completion": {"completionItem": item}}},
                initializationOptions={"settings": {"completion": PATIENT}},
            )
            document = {"uri": uri, "languageId": "python", "version": 1, "text": SOURCE}
            wire.notify("textDocument/didOpen", {"textDocument": document})

            async def texts() -> dict[str, tuple[str, Any]]:
                place = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 4}}
                found = await wire.ask("textDocument/completion", place)
                return {
                    item["label"]: (item["textEdit"]["newText"], item.get("insertTextFormat"))
                    for item in found["items"]
                }

            plain = await texts()
            assert (plain["without"], plain["with_one"]) == (("without", None), ("with_one", None))
            settings = {"completion": {**PATIENT, "callParentheses": True}}
            wire.notify("workspace/didChangeConfiguration", {"settings": {"headway": settings}})
            called = await texts()
            assert (called["without"], called["with_one"]) == (("without()$0", 2), ("with_one($1)$0", 2))
            assert called["with"] == ("with", None)  # a keyword is none

    run(scenario())


def test_a_client_without_snippets_gets_names_alone(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            settings = {"completion": {**PATIENT, "callParentheses": True}}
            await wire.initialize(tmp_path, initializationOptions={"settings": settings})
            document = {"uri": uri, "languageId": "python", "version": 1, "text": SOURCE}
            wire.notify("textDocument/didOpen", {"textDocument": document})
            place = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 4}}
            found = await wire.ask("textDocument/completion", place)
            texts = {item["label"]: item["textEdit"]["newText"] for item in found["items"]}
            assert (texts["without"], texts["with_one"]) == ("without", "with_one")
            assert all("insertTextFormat" not in item for item in found["items"])

    run(scenario())
