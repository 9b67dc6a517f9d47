"""Search and symbols over the wire: names, kinds, columns in the client's units, wrong params."""

from pathlib import Path
from typing import Any

import pytest

from tests.endpoint import Peer, endpoint
from tests.lsp.wire import Wire, run, server

# An emoji stands before a name: its column differs in every encoding.
SOURCE = 'class Outer:\n    def method(self): pass\n\nx = "😀"; wide_name = 1\n'


def open_document(wire: Wire, uri: str, text: str) -> None:
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    wire.notify("textDocument/didOpen", {"textDocument": document})


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 12), ("utf-16", 10), ("utf-32", 9)])
def test_places_are_in_the_client_s_columns(tmp_path: Path, encoding: str, column: int) -> None:
    """A file that nobody has open is placed as rightly as an open one."""
    (tmp_path / "a.py").write_text(SOURCE)
    uri = (tmp_path / "a.py").as_uri()

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path, capabilities={"general": {"positionEncodings": [encoding]}})
            job = await wire.ask("headway/submit", {"type": "index", "arguments": {}})
            assert job["state"] == "COMPLETED"
            start = {"line": 3, "character": column}
            end = {"line": 3, "character": column + len("wide_name")}
            hits = (await wire.ask("headway/search", {"query": "wide_name"}))["hits"]
            assert (hits[0]["uri"], hits[0]["selectionRange"]) == (uri, {"start": start, "end": end})
            (symbol, *_) = await wire.ask("workspace/symbol", {"query": "wide_name"})
            assert symbol["location"] == {"uri": uri, "range": {"start": start, "end": end}}

    run(scenario())


def test_symbols_of_a_file_that_was_opened_come_first(tmp_path: Path) -> None:
    """Also when it is closed again: somebody has just looked at it."""
    (tmp_path / "a.py").write_text("def find_it():\n    pass\n")
    used = tmp_path / "used.py"
    used.write_text("def find_something_longer():\n    pass\n")

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path)
            assert (await wire.ask("headway/submit", {"type": "index", "arguments": {}}))["state"] == "COMPLETED"
            found = await wire.ask("workspace/symbol", {"query": "find"})
            assert [symbol["name"] for symbol in found] == ["find_it", "find_something_longer"]
            open_document(wire, used.as_uri(), used.read_text())
            wire.notify("textDocument/didClose", {"textDocument": {"uri": used.as_uri()}})
            found = await wire.ask("workspace/symbol", {"query": "find"})
            assert [symbol["name"] for symbol in found] == ["find_something_longer", "find_it"]

    run(scenario())


@pytest.mark.parametrize("nested", [True, False])
def test_the_outline_is_as_the_client_can_take_it(tmp_path: Path, nested: bool) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            supported = {"documentSymbol": {"hierarchicalDocumentSymbolSupport": nested}}
            await wire.initialize(tmp_path, capabilities={"textDocument": supported})
            uri = (tmp_path / "unsaved.py").as_uri()
            open_document(wire, uri, SOURCE)
            found: list[dict[str, Any]] = await wire.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
            if nested:
                assert [s["name"] for s in found] == ["Outer", "x", "wide_name"]
                assert [s["name"] for s in found[0]["children"]] == ["method"]
            else:
                assert [s["name"] for s in found] == ["Outer", "method", "x", "wide_name"]
                assert {s["location"]["uri"] for s in found} == {uri}

    run(scenario())


def test_an_unknown_kind_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path)
            error = await wire.refused("headway/search", {"query": "x", "kinds": ["Funktion"]})
            assert error.code == -32602
            assert "Funktion" in error.message

    run(scenario())


def test_an_unknown_language_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path)
            error = await wire.refused("headway/search", {"query": "x", "languages": ["Klingon"]})
            assert error.code == -32602
            assert "'Klingon' is none of c, cpp" in error.message

    run(scenario())


def test_hits_come_in_parts_that_add_up_to_the_whole_answer(tmp_path: Path) -> None:
    """Names come first; what the words add comes next, with the scores that it has then."""
    (tmp_path / "a.py").write_text('def kelvinize(): pass\n\ndef other():\n    """Calls kelvinize for all."""\n')

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path)
            await wire.ask("headway/submit", {"type": "index", "arguments": {}})
            query = {"query": "kelvinize"}
            whole = await wire.ask("headway/search", query)
            assert [hit["name"] for hit in whole["hits"]][:2] == ["kelvinize", "other"]
            rest = await wire.ask("headway/search", {**query, "partialResultToken": "t"})
            assert rest == {**whole, "hits": []}
            parts = [
                message["params"]["value"]["hits"]
                for message in wire.seen
                if message.get("method") == "$/progress" and message["params"]["token"] == "t"
            ]
            assert [hit["name"] for hit in parts[0]] == ["kelvinize"]
            known = {(hit["uri"], hit["name"]): hit for part in parts for hit in part}
            assert sorted(known.values(), key=lambda hit: -hit["score"]) == whole["hits"]
            nothing = await wire.ask("headway/search", {"query": "zebra", "partialResultToken": "u"})
            assert nothing["hits"] == []

    run(scenario())


def test_meaning_counts_once_the_workspace_is_trusted_and_nothing_is_sent_before(tmp_path: Path) -> None:
    (tmp_path / "lot.py").write_text("def park(spot): pass\n")

    async def scenario(peer: Peer) -> None:
        async with server(tmp_path) as wire:
            settings = {"embeddings": {"url": peer.url, "model": "words"}}
            await wire.initialize(tmp_path, initializationOptions={"settings": settings})
            await wire.ask("headway/submit", {"type": "index", "arguments": {}})
            before = await wire.ask("headway/search", {"query": "automobile"})
            assert before["meaning"] == {"state": "off", "coverage": 0.0}
            assert peer.requests == 0
            wire.notify("headway/trustGranted", {})
            after = await wire.ask("headway/search", {"query": "automobile"})
            assert after["meaning"]["state"] != "off"
            assert peer.requests > 0

    with endpoint() as peer:
        run(scenario(peer))
