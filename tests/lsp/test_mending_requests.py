"""Formatting and quick fixes over the wire: between keys, with a ruff that stands still, and with wrong params."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil

from headway.engines.environment import own_program
from headway.lsp.convert import Converter
from headway.session.arguments import Arguments
from headway.workspace.text import Edit, Text
from tests.lsp.wire import AnswerError, Wire, run, server

ABILITIES: dict[str, Any] = {
    "workspace": {"workspaceEdit": {"documentChanges": True}},
    "textDocument": {
        "codeAction": {
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "source"]}},
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        }
    },
}
OPTIONS = {"tabSize": 4, "insertSpaces": True}
_CHANGED = (-32800, -32801)


async def opened(wire: Wire, root: Path, text: str) -> str:
    params = {"processId": None, "rootUri": root.as_uri(), "capabilities": ABILITIES}
    await wire.ask("initialize", params)
    wire.notify("initialized", {})
    uri = (root / "main.py").as_uri()
    item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    wire.notify("textDocument/didOpen", {"textDocument": item})
    return uri


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    content, converter = Text(text), Converter()
    made = [Edit(converter.range_in(Arguments(edit["range"]), content.line), edit["newText"]) for edit in edits]
    return str(content.apply(made))


def formatted(text: str) -> str:
    """Format a text by ruff's command line."""
    command = [str(own_program("ruff")), "format", "--isolated", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


async def until_formatted(wire: Wire, uri: str, text: str) -> str:
    """Have a text formatted; a machine that is too busy for an answer in time gives none, and is asked again."""
    params = {"textDocument": {"uri": uri}, "options": OPTIONS}
    while True:
        edits = await wire.ask("textDocument/formatting", params)
        if edits:
            return applied(text, edits)
        await asyncio.sleep(0.05)


def test_edits_between_keys_are_for_the_true_text_or_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            text = "'😀';x  = 1\n"
            uri = await opened(wire, tmp_path, text)
            await until_formatted(wire, uri, text)  # ruff is there
            asked: list[tuple[int, asyncio.Future[Any]]] = []
            texts: list[str] = []
            about = {"textDocument": {"uri": uri}}
            for number in range(200):
                new = "y  = [ 1,2 ]\n" if number % 3 else "'🏳';"
                place = {"line": number % 3, "character": 0}
                changes = [{"range": {"start": place, "end": place}, "text": new}]
                identifier = {"uri": uri, "version": number + 2}
                wire.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": changes})
                text = applied(text, [{"range": changes[0]["range"], "newText": new}])
                texts.append(text)
                if number % 5 == 0:
                    _, answer = wire.request("textDocument/formatting", {**about, "options": OPTIONS})
                    asked.append((number, answer))
                elif number % 5 == 1:
                    wire.request("textDocument/completion", {**about, "position": {"line": 0, "character": 3}})
                elif number % 5 == 2:
                    span = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
                    wire.request("textDocument/codeAction", {**about, "range": span, "context": {"diagnostics": []}})
            for since, answer in asked:
                await asyncio.wait([answer])
                refused = answer.exception()
                if refused is not None:
                    assert isinstance(refused, AnswerError)
                    assert refused.code in _CHANGED
                elif edits := answer.result():
                    assert applied(texts[since], edits) == formatted(texts[since])
            assert await until_formatted(wire, uri, text) == formatted(text)

    run(scenario())


def test_a_ruff_that_stands_still_holds_up_no_save(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            text = "import os\nx  = 1\n"
            uri = await opened(wire, tmp_path, text)
            await until_formatted(wire, uri, text)
            (ruff,) = [
                child for child in psutil.Process(wire.process.pid).children(recursive=True) if child.name() == "ruff"
            ]
            os.kill(ruff.pid, signal.SIGSTOP)
            span = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}
            about = {"textDocument": {"uri": uri}}
            whole = {"diagnostics": [], "only": ["source.fixAll", "source.organizeImports"]}
            for _ in range(3):
                assert await wire.ask("textDocument/formatting", {**about, "options": OPTIONS}) is None
                assert await wire.ask("textDocument/codeAction", {**about, "range": span, "context": whole}) == []
            os.kill(ruff.pid, signal.SIGCONT)
            assert await until_formatted(wire, uri, text) == formatted(text)

    run(scenario())


def test_what_is_wrong_in_the_params_is_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            uri = await opened(wire, tmp_path, "")
            refused = await wire.refused("textDocument/codeAction", {"textDocument": {"uri": uri}})
            assert (refused.code, "range" in refused.message) == (-32602, True)
            refused = await wire.refused("textDocument/formatting", {})
            assert (refused.code, "textDocument" in refused.message) == (-32602, True)

    run(scenario())
