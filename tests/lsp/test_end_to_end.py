"""The server as editors of the field see it: pytest-lsp's client, with what each really announces, and real engines.

pytest-lsp warns where an answer uses what its editor never offered to understand; here a warning is an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from lsprotocol import types
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import register_lsp_features

from tests.lsp.wire import run

T = TypeVar("T")
_ASK_AGAIN_S = 0.5
EDITORS = ("visual-studio-code", "neovim", "emacs")
SOURCE = '''"""A module."""
import os
import re


class Lantern:
    """Gives light."""

    def light_up(self, brightness: int) -> str:
        """Return what is seen."""
        return f"{brightness}"


def carry(lantern: Lantern) -> str:
    return lantern.light_up(3)
'''


class Editor(LanguageClient):
    """A client that can be waited on for notifications."""

    def __init__(self) -> None:
        super().__init__(converter_factory=default_converter)
        register_lsp_features(self)
        self._news = asyncio.Event()

        self.feature("headway/queueState")(self._note_news())

    def _note_news(self) -> Callable[[object], None]:
        # pygls marks the handlers it is given, which bound methods do not allow.
        return lambda params: self._news.set()

    async def until(self, question: Callable[[], Awaitable[T]]) -> T:
        """Ask again until the answer is not empty: with each news of the server's work, and now and then without.

        Work that has come and gone between two looks at the queue is no news.
        """
        while True:
            self._news.clear()
            if answer := await question():
                return answer
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), _ASK_AGAIN_S)

    async def exit_code(self) -> int:
        assert self._server is not None
        return await self._server.wait()

    def kill(self) -> None:
        """End a server that is still there; `stop` would wait for it."""
        if self._server is not None and self._server.returncode is None:
            self._server.kill()

    async def problems(self, uri: str) -> Sequence[types.Diagnostic]:
        """Return the problems of a document in the way that this editor learns of them: by asking, or by being told."""
        assert self.capabilities is not None
        assert self.capabilities.text_document is not None
        if self.capabilities.text_document.diagnostic is not None:
            report = await self.text_document_diagnostic_async(
                types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
            )
            assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
            return report.items

        async def told() -> Sequence[types.Diagnostic]:
            return self.diagnostics.get(uri, ())

        return await self.until(told)


@asynccontextmanager
async def session(editor: str, home: Path) -> AsyncIterator[tuple[Editor, str]]:
    """An editor with the module open in a workspace of its own."""
    root = home / "project"
    root.mkdir()
    (root / "lantern.py").write_text(SOURCE)
    config = ClientServerConfig(
        server_command=[sys.executable, "-I", "-m", "headway", "serve", "--stdio"],
        client_factory=Editor,
        server_env={**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")},
    )
    client = await config.start()
    assert isinstance(client, Editor)
    try:
        await client.initialize_session(
            types.InitializeParams(
                process_id=os.getpid(),
                root_uri=root.as_uri(),
                workspace_folders=[types.WorkspaceFolder(uri=root.as_uri(), name="project")],
                capabilities=client_capabilities(editor),
            )
        )
        uri = (root / "lantern.py").as_uri()
        client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, SOURCE)))
        yield client, uri
        await client.shutdown_session()
        assert await client.exit_code() == 0
    finally:
        client.kill()
        await client.stop()  # type: ignore[no-untyped-call]
    assert client.error is None


def listed(found: Any) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else [found]


def target_line(place: types.Location | types.LocationLink) -> int:
    found = place.target_selection_range if isinstance(place, types.LocationLink) else place.range
    return found.start.line


def at(uri: str, line: int, character: int) -> Any:
    return {"text_document": types.TextDocumentIdentifier(uri), "position": types.Position(line, character)}


async def formatted(client: Editor, uri: str) -> None:
    """Have the text formatted; a machine that is too busy for an answer in time gets none, and is asked again."""
    params = types.DocumentFormattingParams(types.TextDocumentIdentifier(uri), types.FormattingOptions(4, True))
    edits = await client.until(lambda: client.text_document_formatting_async(params))
    assert edits is not None
    assert any(edit.new_text.startswith("\n") for edit in edits)


async def mended(client: Editor, uri: str) -> None:
    """Have an unused import removed where this editor takes actions."""
    assert client.capabilities is not None
    assert client.capabilities.text_document is not None
    takes = client.capabilities.text_document.code_action
    if takes is None or takes.code_action_literal_support is None:
        return
    place = types.Range(types.Position(2, 0), types.Position(2, 9))
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, types.CodeActionContext([]))
    found = await client.until(lambda: client.text_document_code_action_async(params))
    assert found is not None
    assert any("Remove unused import: `re`" in action.title for action in found)


@pytest.mark.parametrize("editor", EDITORS)
def test_a_day_in_an_editor(tmp_path: Path, editor: str) -> None:
    """Type, look, jump, see problems, search and leave, in words that this editor understands."""

    async def scenario() -> None:
        async with session(editor, tmp_path) as (client, uri):
            line = SOURCE.count("\n")
            client.text_document_did_change(
                types.DidChangeTextDocumentParams(
                    types.VersionedTextDocumentIdentifier(2, uri),
                    [
                        types.TextDocumentContentChangePartial(
                            range=types.Range(types.Position(line, 0), types.Position(line, 0)),
                            text="\n\nLantern().li",
                        )
                    ],
                )
            )
            offered = await client.text_document_completion_async(types.CompletionParams(**at(uri, line + 2, 12)))
            assert isinstance(offered, types.CompletionList)
            assert [item.label for item in offered.items][:1] == ["light_up"]
            resolved = await client.completion_item_resolve_async(offered.items[0])
            assert "Return what is seen." in str(resolved.documentation)

            hover = await client.text_document_hover_async(types.HoverParams(**at(uri, 14, 20)))
            assert hover is not None
            assert "light_up" in str(hover.contents)

            defined = await client.text_document_definition_async(types.DefinitionParams(**at(uri, 14, 20)))
            assert [target_line(place) for place in listed(defined)] == [8]

            outline = await client.text_document_document_symbol_async(
                types.DocumentSymbolParams(types.TextDocumentIdentifier(uri))
            )
            assert outline is not None
            assert {"Lantern", "carry"} <= {symbol.name for symbol in outline}

            assert any("`re`" in problem.message for problem in await client.problems(uri))

            await formatted(client, uri)
            await mended(client, uri)

            found = await client.until(lambda: client.workspace_symbol_async(types.WorkspaceSymbolParams("Lantern")))
            assert found is not None
            assert "Lantern" in {symbol.name for symbol in found}

    run(scenario())
