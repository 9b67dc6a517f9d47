"""Texts arrive in order and in the negotiated columns; settings, trust and folders take effect without a restart."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headway.lsp.convert import Converter
from headway.lsp.workspace_sync import WorkspaceSync
from headway.session.ports import FileChange, Room
from headway.session.session import Session, SessionOptions
from tests.lsp.wire import Wire, run, server
from tests.session.conftest import RememberingClient

FULL = {"workspace": {"configuration": True}}


def place(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def change(uri: str, version: int, line: int, character: int, text: str) -> dict[str, Any]:
    at = place(line, character)
    return {
        "textDocument": {"uri": uri, "version": version},
        "contentChanges": [{"range": {"start": at, "end": at}, "text": text}],
    }


def open_document(wire: Wire, uri: str, text: str) -> None:
    wire.notify(
        "textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}}
    )


async def labels(wire: Wire, uri: str, line: int, character: int) -> set[str]:
    found = await wire.ask(
        "textDocument/completion", {"textDocument": {"uri": uri}, "position": place(line, character)}
    )
    return {item["label"] for item in found["items"]}


@pytest.mark.parametrize(("encoding", "width"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_columns_are_those_that_were_agreed_on(tmp_path: Path, encoding: str, width: int) -> None:
    """Each insertion stands behind an emoji; were one of them misplaced, the name would not come out right."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            result = await wire.initialize(tmp_path, capabilities={"general": {"positionEncodings": [encoding]}})
            assert result["capabilities"]["positionEncoding"] == encoding
            uri = (tmp_path / "a.py").as_uri()
            open_document(wire, uri, "'😀'; \n")
            column = 1 + width + 1 + 2
            for version, letter in enumerate("marvellous_name = 1", 2):
                wire.notify("textDocument/didChange", change(uri, version, 0, column, letter))
                column += 1
            wire.notify("textDocument/didChange", change(uri, 99, 1, 0, "marvell"))
            assert "marvellous_name" in await labels(wire, uri, 1, len("marvell"))
            assert await wire.exit() == 0

    run(scenario())


def test_wrong_messages_about_texts_change_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path)
            uri = (tmp_path / "a.py").as_uri()
            open_document(wire, uri, "known_thing = 1\nknown")
            wire.notify("textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{}]})
            wire.notify(
                "textDocument/didChange",
                {"textDocument": {"uri": "file:///never.py", "version": 2}, "contentChanges": []},
            )
            wire.notify("textDocument/didOpen", {"textDocument": 3})
            wire.notify("textDocument/didClose", {"textDocument": {"uri": "file:///never.py"}})
            assert "known_thing" in await labels(wire, uri, 1, 5)
            error = await wire.refused(
                "textDocument/completion", {"textDocument": {"uri": uri}, "position": {"line": "a", "character": 0}}
            )
            assert error.code == -32602
            assert "position.line" in error.message
            assert await wire.exit() == 0

    run(scenario())


def test_a_wrong_setting_is_named_once_and_the_rest_counts(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path, initializationOptions={"settings": {"completion": {"maxItems": "all"}}})
            shown = await wire.note("window/showMessage")
            assert "headway.completion.maxItems" in shown["message"]
            for tree in (None, {}, {"headway": None}, {"headway": {"completion": {"maxItems": "all"}}}):
                wire.notify("workspace/didChangeConfiguration", {"settings": tree})
            uri = (tmp_path / "a.py").as_uri()
            open_document(wire, uri, "name_one = 1\nname_two = 2\nname_three = 3\nname_")
            wire.notify("workspace/didChangeConfiguration", {"settings": {"headway": {"completion": {"maxItems": 2}}}})
            assert len(await labels(wire, uri, 3, 5)) == 2
            assert len(wire.notes("window/showMessage")) == 1
            assert await wire.exit() == 0

    run(scenario())


def test_settings_are_pulled_where_the_client_offers_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            most = 1
            wire.replies["workspace/configuration"] = lambda params: [{"completion": {"maxItems": most}}]
            await wire.initialize(tmp_path, capabilities=FULL)
            uri = (tmp_path / "a.py").as_uri()
            open_document(wire, uri, "name_one = 1\nname_two = 2\nname_three = 3\nname_")
            await wire.until(lambda: [m for m in wire.seen if m.get("method") == "workspace/configuration"])
            await wire.ask("headway/snapshot", {})
            assert len(await labels(wire, uri, 3, 5)) == 1
            most = 2
            wire.notify("workspace/didChangeConfiguration", {"settings": None})
            await wire.until(lambda: len([m for m in wire.seen if m.get("method") == "workspace/configuration"]) == 2)
            await wire.ask("headway/snapshot", {})
            assert len(await labels(wire, uri, 3, 5)) == 2
            assert await wire.exit() == 0

    run(scenario())


class Listener(Room):
    """Counts what it is told of files."""

    def __init__(self) -> None:
        self.told: list[int] = []
        self.gone: set[str] = set()

    def files_changed(self, changes: Sequence[FileChange]) -> None:
        self.told.append(len(changes))
        for change in changes:
            (self.gone.add if change.deleted else self.gone.discard)(change.uri)


def test_very_many_changed_files_are_taken_with_turns_of_the_loop_in_between(tmp_path: Path) -> None:
    """In order, the last change of a file last; what is wrong among them costs the rest of its own message only."""

    def changes(count: int, kind: int) -> list[dict[str, Any]]:
        return [{"uri": (tmp_path / f"{number}.py").as_uri(), "type": kind} for number in range(count)]

    async def scenario() -> None:
        listener = Listener()
        session = Session(client=RememberingClient(), options=SessionOptions(cache_dir=tmp_path))
        session.rooms.append(listener)
        sync = WorkspaceSync(session, Converter(), lambda: False)
        sync.did_change_watched_files({"changes": changes(1_200, 1)})
        sync.did_change_watched_files({"changes": [*changes(700, 3), {"uri": 5}, *changes(1_200, 3)]})
        sync.did_change_watched_files({"changes": changes(3, 1)})
        assert sum(listener.told) < 1_200
        async with asyncio.timeout(60):
            while sum(listener.told) < 1_200 + 500 + 3:  # noqa: ASYNC110 - it has no news but these
                await asyncio.sleep(0)
        assert max(listener.told) == 500
        assert len(listener.gone) == 497

    run(scenario())
