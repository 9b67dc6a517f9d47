"""Amid a flood of changes each request is answered for the text that it was sent for, or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.lsp.wire import AnswerError, Wire, run, server

CODE = "def target(): pass\n\ntarget()\n"
_CHANGED = (-32800, -32801)
_ROUNDS = 60


def start_line(place: Any) -> int:
    """The line of a Location, a range or something that has one."""
    found: int = (place.get("range") or place)["start"]["line"]
    return found


def test_answers_are_for_the_text_that_was_there_when_it_was_asked(tmp_path: Path) -> None:
    """Each change moves everything down by a line, so an answer says by its lines for which text it is."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path, capabilities={"textDocument": {"diagnostic": {}}})
            uri = (tmp_path / "a.py").as_uri()
            item = {"uri": uri, "languageId": "python", "version": 1, "text": CODE}
            wire.notify("textDocument/didOpen", {"textDocument": item})
            about = {"textDocument": {"uri": uri}}
            at_use = {**about, "position": {"line": 2, "character": 3}}
            assert start_line((await wire.ask("textDocument/definition", at_use))[0]) == 0  # ty is there
            asked = [request for number in range(1, _ROUNDS) for request in ask_after_a_change(wire, uri, number)]
            for number, kind, answer in asked:
                await asyncio.wait([answer])
                refused = answer.exception()
                if refused is not None:
                    assert isinstance(refused, AnswerError)
                    assert refused.code in _CHANGED, f"{kind}: {refused}"
                    continue
                found = answer.result()
                match kind:
                    case "definition" | "references":
                        assert [start_line(place) - number for place in found] in ([0], [0, 2], [2, 0])
                    case "documentSymbol":
                        assert start_line(found[0]["location"]) == number
                    case "hover":
                        assert found is not None
                        assert start_line(found) == number + 2
                    case "completion":
                        assert found["items"][0]["label"] == "target"
                        assert start_line(found["items"][0]["textEdit"]) == number + 2
                    case "diagnostic":
                        assert found["items"] == []
            # The last text is still answered for, so the flood has left nothing behind.
            last = {**about, "position": {"line": _ROUNDS + 1, "character": 3}}
            assert start_line((await wire.ask("textDocument/definition", last))[0]) == _ROUNDS - 1

    run(scenario())


def ask_after_a_change(wire: Wire, uri: str, number: int) -> list[tuple[int, str, asyncio.Future[Any]]]:
    """Put a line before all others, and ask about the text that is there then."""
    start = {"line": 0, "character": 0}
    change = {"range": {"start": start, "end": start}, "text": "#\n"}
    identifier = {"uri": uri, "version": number + 1}
    wire.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})
    about = {"textDocument": {"uri": uri}}
    at_use = {**about, "position": {"line": number + 2, "character": 3}}
    kinds: dict[str, dict[str, Any]] = {
        "definition": at_use,
        "documentSymbol": about,
        "hover": at_use,
        "completion": at_use,
        "diagnostic": about,
        "references": {**at_use, "context": {"includeDeclaration": True}},
    }
    (kind, params) = list(kinds.items())[number % len(kinds)]
    return [(number, kind, wire.request(f"textDocument/{kind}", params)[1])]
