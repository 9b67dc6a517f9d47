"""Documents that are no files: unsaved ones, those of version control and virtual file systems, notebook cells."""

import os
from pathlib import Path

import pytest

from tests.lsp.wire import Wire, run, server
from tests.survival.ground import begin

TEXT = "import os\nlocal_thing = 1\nnowhere_defined\nlocal_t\n"
URIS = (
    "untitled:Untitled-1",
    "git:/x/a.py?%7B%22ref%22%3A%22HEAD%22%7D",
    "vscode-vfs://github/owner/repository/a.py",
    "vscode-notebook-cell:/x/n.ipynb#W0sZ",
    "inmemory://model/1",
)


async def labels(wire: Wire, uri: str, line: int, character: int) -> list[str]:
    place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
    return [item["label"] for item in (await wire.ask("textDocument/completion", place))["items"]]


@pytest.mark.parametrize("uri", URIS)
def test_it_works_from_memory_and_answers_with_the_uri_as_it_came(tmp_path: Path, uri: str) -> None:
    """Names and findings come from the text alone; closed, they are cleared; no file is made of it anywhere."""
    root = tmp_path / "work"
    root.mkdir()

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            opened = {"uri": uri, "languageId": "python", "version": 1, "text": TEXT}
            wire.notify("textDocument/didOpen", {"textDocument": opened})
            assert "local_thing" in await labels(wire, uri, 3, 7)
            told = await wire.note("textDocument/publishDiagnostics", lambda told: told["uri"] == uri)
            assert "F821" in [finding.get("code") for finding in told["diagnostics"]]
            wire.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            await wire.note("textDocument/publishDiagnostics", lambda told: told == {"uri": uri, "diagnostics": []})
            assert {told["uri"] for told in wire.notes("textDocument/publishDiagnostics")} == {uri}
            assert await wire.ask("workspace/symbol", {"query": "local_thing"}) == []
            assert await wire.exit() == 0

    run(scenario())
    assert os.listdir(root) == []
    assert set(os.listdir(tmp_path)) == {"work", "cache", "stderr.txt"}


ODD = (
    "file:///caf%E9.py",  # a name that is no UTF-8, as Linux has them
    "file:",
    "file://",
    "",
    "://",
    "http://[::1",
    "file://[::1/a.py",
    "file:///a%00b.py",
)
ABOUT = (
    "completion",
    "hover",
    "definition",
    "references",
    "documentSymbol",
    "foldingRange",
    "formatting",
    "codeAction",
)


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "not open"])
def test_a_name_that_is_none_is_answered_and_ends_no_engine(tmp_path: Path, is_open: bool) -> None:
    """Everything about it is answered, from the text where it is open, and the other documents lose nothing."""
    root = tmp_path / "work"
    root.mkdir()

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            other = (root / "a.py").as_uri()
            opened = {"uri": other, "languageId": "python", "version": 1, "text": "def spoken_of(): ...\n"}
            wire.notify("textDocument/didOpen", {"textDocument": opened})
            place = {"textDocument": {"uri": other}, "position": {"line": 0, "character": 5}}
            assert "spoken_of" in str(await wire.ask("textDocument/hover", place))
            for uri in ODD:
                if is_open:
                    opened = {"uri": uri, "languageId": "python", "version": 1, "text": TEXT}
                    wire.notify("textDocument/didOpen", {"textDocument": opened})
                    assert "local_thing" in await labels(wire, uri, 3, 7)
                wire.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
                there = {"line": 1, "character": 3}
                more = {"range": {"start": there, "end": there}, "context": {"includeDeclaration": True}}
                options = {"options": {"tabSize": 4, "insertSpaces": True}}
                for method in ABOUT:
                    asked = {"textDocument": {"uri": uri}, "position": there, **more, **options}
                    await wire.ask(f"textDocument/{method}", asked)
            assert "spoken_of" in str(await wire.ask("textDocument/hover", place))
            assert await wire.exit() == 0

    run(scenario())
    told = (tmp_path / "stderr.txt").read_text()
    assert "panic" not in told
    assert "Traceback" not in told
