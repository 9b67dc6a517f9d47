"""Notebooks: cells that see each other, come, go, move and change their language, with the real ty and ruff."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.lsp.wire import Wire, run, server
from tests.survival.ground import begin

KNOWS_NOTEBOOKS = {"notebookDocument": {"synchronization": {"dynamicRegistration": True}}}
DEFINES = "import os\n\n\ndef brew_tea(cups: int) -> str:\n    return os.sep * cups\n"
USES = "brew_tea(2)\nbrew_t\n"
PATIENT_S = 60.0


class Notebook:
    """A notebook in an editor."""

    def __init__(self, wire: Wire, path: Path, texts: Sequence[str]) -> None:
        self.wire = wire
        self.uri = path.as_uri()
        self.version = 1
        self.made = 0
        self.cells: list[str] = []
        items = [self.item(text) for text in texts]
        self.cells = [item["uri"] for item in items]
        told = {"uri": self.uri, "notebookType": "jupyter-notebook", "version": 1, "cells": cells(self.cells)}
        wire.notify("notebookDocument/didOpen", {"notebookDocument": told, "cellTextDocuments": items})

    def item(self, text: str, uri: str = "", language: str = "python") -> dict[str, Any]:
        self.made += 1
        uri = uri or f"vscode-notebook-cell:{self.uri.removeprefix('file://')}#W{self.made}sZ"
        return {"uri": uri, "languageId": language, "version": 1, "text": text}

    def change(self, **what: Any) -> None:
        self.version += 1
        identifier = {"uri": self.uri, "version": self.version}
        change = {"cells": what}
        self.wire.notify("notebookDocument/didChange", {"notebookDocument": identifier, "change": change})

    def write(self, cell: str, text: str) -> None:
        """Put a text in front of a cell's."""
        at = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        changed = {"document": {"uri": cell, "version": 2}, "changes": [{"range": at, "text": text}]}
        self.change(textContent=[changed])

    def splice(self, start: int, count: int, new: Sequence[dict[str, Any]], *, gone: bool = True) -> None:
        """Put cells in the place of others; `gone`: those are closed, and the new ones opened."""
        old = self.cells[start : start + count]
        uris = [item["uri"] for item in new]
        self.cells[start : start + count] = uris
        structure: dict[str, Any] = {"array": {"start": start, "deleteCount": count, "cells": cells(uris)}}
        if gone:
            structure |= {"didOpen": list(new), "didClose": [{"uri": uri} for uri in old]}
        self.change(structure=structure)

    def close(self) -> None:
        told = {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": [{"uri": uri} for uri in self.cells]}
        self.wire.notify("notebookDocument/didClose", told)

    async def asks(self, method: str, cell: str, line: int, character: int) -> Any:
        params = {"textDocument": {"uri": cell}, "position": {"line": line, "character": character}}
        return await self.wire.ask(f"textDocument/{method}", params)

    async def names(self, cell: str, line: int, character: int) -> list[str]:
        return [item["label"] for item in (await self.asks("completion", cell, line, character))["items"]]

    async def shows(self, cell: str, *codes: str) -> None:
        """Wait until exactly these findings are shown in a cell."""
        async with asyncio.timeout(PATIENT_S):
            await self.wire.until(lambda: self.shown(cell) == sorted(codes))

    def shown(self, cell: str) -> list[str] | None:
        told = [told for told in self.wire.notes("textDocument/publishDiagnostics") if told["uri"] == cell]
        return sorted(str(one.get("code")) for one in told[-1]["diagnostics"]) if told else None


def cells(uris: Sequence[str]) -> list[dict[str, Any]]:
    return [{"kind": 2, "document": uri} for uri in uris]


def test_cells_see_what_the_cells_before_them_define(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "ruff.toml").write_text('lint.select = ["F"]\n')

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root, capabilities=KNOWS_NOTEBOOKS)
            book = Notebook(wire, root / "n.ipynb", [DEFINES, USES])
            first, second = book.cells
            # What another cell defines is known, and no cell is wrong by itself.
            await book.shows(second, "F821")  # `brew_t`
            await book.shows(first)
            assert "brew_tea" in await book.names(second, 1, 6)
            assert "cups" in str(await book.asks("hover", second, 0, 3))
            (there,) = await book.asks("definition", second, 0, 3)
            assert (there["uri"], there["range"]["start"]["line"]) == (first, 3)
            # A name is the same in all of them; what is done to a whole notebook is not offered for one cell.
            place = {"textDocument": {"uri": second}, "position": {"line": 0, "character": 3}}
            renamed = await wire.ask("textDocument/rename", {**place, "newName": "brew"})
            assert sorted(renamed["changes"]) == [first, second]
            whole = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}
            context = {"diagnostics": [], "only": ["notebook.source.fixAll"]}
            asked = {"textDocument": {"uri": second}, "range": whole, "context": context}
            assert await wire.ask("textDocument/codeAction", asked) == []
            # A cell that comes between them is known to the one behind it; one that goes is not.
            book.splice(1, 0, [book.item("tea_leaves = 3\n")])
            assert "tea_leaves" in await names_after(book, second, "tea_l\n")
            book.splice(1, 1, [])
            await book.shows(second, "F821", "F821")
            assert "tea_leaves" not in await book.names(second, 0, 5)
            # Moved behind the one that uses it, the first one is of no use to it any more; and back again.
            book.splice(0, 2, [book.item("", second), book.item("", first)], gone=False)
            await book.shows(second, "F821", "F821", "F821")
            book.splice(0, 2, [book.item("", first), book.item("", second)], gone=False)
            await book.shows(second, "F821", "F821")
            # What is changed in one is seen in the other, there and back.
            book.write(first, "tea_l = 1\n")
            await book.shows(second, "F821")
            # A cell that is prose now, or in another language, defines nothing and has no findings.
            book.splice(0, 1, [book.item(DEFINES, first, "sql")])
            await book.shows(second, "F821", "F821", "F821")
            assert book.shown(first) == []
            # Two notebooks know nothing of each other; of one that is closed nothing is left.
            other = Notebook(wire, root / "other.ipynb", ["brew_tea\n"])
            await other.shows(other.cells[0], "F821")
            other.close()
            await other.shows(other.cells[0])
            book.close()
            await book.shows(second)
            assert await wire.exit() == 0

    run(scenario())
    assert sorted(os.listdir(root)) == ["ruff.toml"]


async def names_after(book: Notebook, cell: str, text: str) -> list[str]:
    book.write(cell, text)
    return await book.names(cell, 0, len(text) - 1)


def test_who_asks_for_findings_is_told_to_ask_again_for_the_other_cells(tmp_path: Path) -> None:
    pulls = {"textDocument": {"diagnostic": {}}, "workspace": {"diagnostics": {"refreshSupport": True}}}
    root = tmp_path / "work"
    root.mkdir()

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            wire.replies["workspace/diagnostic/refresh"] = lambda params: None
            said = await wire.initialize(root, capabilities={**KNOWS_NOTEBOOKS, **pulls})
            selector = said["capabilities"]["notebookDocumentSync"]["notebookSelector"]
            assert selector == [{"notebook": "*", "cells": [{"language": "python"}]}]
            book = Notebook(wire, root / "n.ipynb", ["x = 1\n", "print(later)\n"])
            second = {"textDocument": {"uri": book.cells[1]}}
            found = await wire.ask("textDocument/diagnostic", second)
            assert [one["code"] for one in found["items"]] == ["F821"]
            before = len(refreshes(wire))
            book.write(book.cells[0], "later = 2\n")
            async with asyncio.timeout(PATIENT_S):
                await wire.until(lambda: len(refreshes(wire)) > before)
            assert (await wire.ask("textDocument/diagnostic", second))["items"] == []
            assert await wire.exit() == 0
        async with server(tmp_path) as wire:
            said = await wire.initialize()
            assert "notebookDocumentSync" not in said["capabilities"]
            assert await wire.exit() == 0

    run(scenario())


def refreshes(wire: Wire) -> list[dict[str, Any]]:
    return [message for message in wire.seen if message.get("method") == "workspace/diagnostic/refresh"]
