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
