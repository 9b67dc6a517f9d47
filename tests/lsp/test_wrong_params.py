"""Wrong, missing and foreign params for everything that can be asked: an error says so, and the server lives on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.wire import AnswerError, probe, run, server, submission

WRONG: tuple[Any, ...] = (
    None,
    [],
    5,
    {"textDocument": 5},
    {"textDocument": {"uri": 7}, "position": 3},
    {"textDocument": {"uri": "file:///x.py"}, "position": {"line": -1, "character": "a"}},
    {"textDocument": {"uri": "file:///x.py"}, "position": {"line": 10**18, "character": 10**18}},
    {"query": 7},
    {"type": 5},
    {"label": 3},
)
# What needs no params takes any object or array.
NEEDS_NONE = ("headway/pause", "headway/resume", "headway/timeline", "headway/metrics", "headway/snapshot")
ASKED = (
    "textDocument/completion",
    "completionItem/resolve",
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/rename",
    "textDocument/signatureHelp",
    "textDocument/documentHighlight",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/codeAction",
    "textDocument/semanticTokens/full",
    "workspace/symbol",
    "workspace/executeCommand",
    "headway/search",
    "headway/submit",
    "headway/setPriority",
    *NEEDS_NONE,
)
TOLD = (
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didSave",
    "textDocument/didClose",
    "workspace/didChangeConfiguration",
    "workspace/didChangeWatchedFiles",
    "workspace/didChangeWorkspaceFolders",
    "window/workDoneProgress/cancel",
    "$/setTrace",
    "$/nobody/knows",
    "nobody/knows",
)


def test_wrong_params_are_refused_and_unknown_methods_told_apart(tmp_path: Path) -> None:
    """Each answer is InvalidParams, or a result of LSP's type; an unknown request is MethodNotFound, also with `$/`."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path)
            for method in TOLD:
                for params in WRONG:
                    wire.notify(method, params)
            for method in ASKED:
                for params in WRONG:
                    answer = wire.request(method, params)[1]
                    await asyncio.wait([answer])
                    error = answer.exception()
                    if error is None:
                        about_file = isinstance(params, dict) and params.get("textDocument", 5) != 5
                        assert (method in NEEDS_NONE and params != 5) or about_file, (method, params)
                    else:
                        assert isinstance(error, AnswerError), (method, params, error)
                        assert error.code == -32602, (method, params, error)
            for method in ("nobody/knows", "$/nobody/knows", "exit", "initialized"):
                assert (await wire.refused(method, {})).code == -32601, method
            view = await wire.ask("headway/submit", submission("still here", probe("a")))
            assert view["state"] == "COMPLETED"
            assert await wire.exit() == 0

    run(scenario())
    log = (tmp_path / "stderr.txt").read_text()
    assert "Traceback" not in log, log[-2000:]


NOWHERE = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}


@pytest.mark.parametrize(
    ("context", "named"),
    [
        (5, "context"),
        ({"diagnostics": 5}, "context.diagnostics"),
        ({"diagnostics": [5]}, "context.diagnostics[0]"),
        ({"diagnostics": [{"message": "x"}]}, "context.diagnostics[0].range"),
        ({"diagnostics": [], "only": 5}, "context.only"),
        ({"diagnostics": [], "only": [5]}, "context.only[0]"),
        ({"diagnostics": [], "triggerKind": "1"}, "context.triggerKind"),
    ],
)
def test_what_a_question_for_actions_comes_with_is_of_the_right_type_or_named(
    tmp_path: Path, context: object, named: str
) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path)
            uri = (tmp_path / "a.py").as_uri()
            opened = {"uri": uri, "languageId": "python", "version": 1, "text": "import os\n"}
            wire.notify("textDocument/didOpen", {"textDocument": opened})
            params = {"textDocument": {"uri": uri}, "range": NOWHERE, "context": context}
            error = await wire.refused("textDocument/codeAction", params)
            assert error.code == -32602, error
            assert named + ":" in error.message

    run(scenario())
