"""What is answered over the wire where no engine can: by name and scope, from the text and the index."""

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.wire import Wire, run, server

SHAPES = "class Circle:\n    '''Round.'''\n    def draw(self): pass\n\ndef make():\n    '''Make one.'''\n"
MAIN = (
    "from shapes import Circle, make\n\nw = '😀'; one = Circle()\n"
    "def f(size):\n    return size + make(size)\none.draw()\n"
)
GO = "package a\n\ntype Circle struct {\n\tsize int\n}\n\nfunc Make() Circle {\n\tone := Circle{1}\n\treturn one\n}\n"
WITHOUT_ENGINES = {"settings": {"python": {"engines": ["index"]}}}


async def opened(wire: Wire, root: Path, name: str, language: str, *, markdown: bool = True) -> Any:
    """A workspace whose index is complete, with one document open; returns a function that asks about a place of it."""
    capabilities = {"textDocument": {"hover": {"contentFormat": ["markdown" if markdown else "plaintext"]}}}
    await wire.initialize(root, initializationOptions=WITHOUT_ENGINES, capabilities=capabilities)
    assert (await wire.ask("headway/submit", {"type": "index", "arguments": {}}))["state"] == "COMPLETED"
    uri = (root / name).as_uri()
    document = {"uri": uri, "languageId": language, "version": 1, "text": (root / name).read_text()}
    wire.notify("textDocument/didOpen", {"textDocument": document})

    async def ask(method: str, line: int = 0, character: int = 0, **more: Any) -> Any:
        place = {"line": line, "character": character}
        return await wire.ask(f"textDocument/{method}", {"textDocument": {"uri": uri}, "position": place, **more})

    return ask


def places(found: Any) -> list[tuple[str, int, int]]:
    """The file, line and column of each location."""
    return [
        (one["uri"].rpartition("/")[2], one["range"]["start"]["line"], one["range"]["start"]["character"])
        for one in found
    ]


def test_python_without_an_engine(tmp_path: Path) -> None:
    (tmp_path / "shapes.py").write_text(SHAPES)
    (tmp_path / "main.py").write_text(MAIN)
    (tmp_path / "other.py").write_text("import shapes\nshapes.make()\ndef g(make): return make\n")

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            ask = await opened(wire, tmp_path, "main.py", "python")
            marks = await ask("documentHighlight", 3, 6)
            assert [(mark["range"]["start"]["line"], mark["kind"]) for mark in marks] == [(3, 3), (4, 2), (4, 2)]
            found = await ask("references", 4, 19, context={"includeDeclaration": True})
            used = [("main.py", 4, 18), ("other.py", 1, 7)]
            assert sorted(places(found)) == sorted([("main.py", 0, 27), ("shapes.py", 4, 4), *used])
            found = await ask("references", 4, 19, context={"includeDeclaration": False})
            assert sorted(places(found)) == used
            hover = (await ask("hover", 4, 19))["contents"]
            assert hover["kind"] == "markdown"
            assert hover["value"].startswith("```python\ndef make():\n```\n\nMake one.\n\n*shapes.py*")
            assert hover["value"].endswith("*By name, from the index: no engine can tell more.*")
            local = (await ask("hover", 4, 12))["contents"]["value"]
            assert local.startswith("```python\ndef f(size):\n```")
            assert places(await ask("typeDefinition", 2, 11)) == [("shapes.py", 0, 6)]
            assert places(await ask("definition", 4, 12)) == [("main.py", 3, 6)]
            assert places(await ask("definition", 4, 19)) == [("shapes.py", 4, 4)]
            assert await ask("foldingRange") == [{"startLine": 3, "endLine": 4}]
            assert await ask("hover", 2, 6) is None  # in a string
            assert await ask("rename", 4, 19, newName="other") is None  # a guess is no ground for an edit

    run(scenario())


def test_another_language_without_an_engine(tmp_path: Path) -> None:
    (tmp_path / "a.go").write_text(GO)
    (tmp_path / "b.go").write_text("package a\n\nfunc g() { Make() }\n")

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            ask = await opened(wire, tmp_path, "a.go", "go", markdown=False)
            assert sorted(places(await ask("references", 6, 6, context={"includeDeclaration": True}))) == [
                ("a.go", 6, 5),
                ("b.go", 2, 11),
            ]
            assert places(await ask("typeDefinition", 8, 9)) == [("a.go", 2, 5)]
            assert [mark["kind"] for mark in await ask("documentHighlight", 8, 9)] == [3, 2]
            hover = (await ask("hover", 7, 9))["contents"]
            assert hover["kind"] == "plaintext"
            assert "Circle struct" in hover["value"]
            assert "*" not in hover["value"]
            assert [fold["startLine"] for fold in await ask("foldingRange")] == [2, 6]

    run(scenario())


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 10), ("utf-16", 8), ("utf-32", 7)])
def test_places_of_files_that_nobody_has_open_are_in_the_client_s_columns(
    tmp_path: Path, encoding: str, column: int
) -> None:
    (tmp_path / "main.py").write_text("from other import shared\n")
    (tmp_path / "other.py").write_text("w='😀'; shared = 1\n")

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            capabilities = {"general": {"positionEncodings": [encoding]}}
            await wire.initialize(tmp_path, initializationOptions=WITHOUT_ENGINES, capabilities=capabilities)
            assert (await wire.ask("headway/submit", {"type": "index", "arguments": {}}))["state"] == "COMPLETED"
            uri = (tmp_path / "main.py").as_uri()
            document = {"uri": uri, "languageId": "python", "version": 1, "text": "from other import shared\n"}
            wire.notify("textDocument/didOpen", {"textDocument": document})
            params = {
                "textDocument": {"uri": uri},
                "position": {"line": 0, "character": 20},
                "context": {"includeDeclaration": True},
            }
            found = await wire.ask("textDocument/references", params)
            (there,) = [one["range"] for one in found if one["uri"].endswith("other.py")]
            assert there["start"] == {"line": 0, "character": column}
            assert there["end"] == {"line": 0, "character": column + len("shared")}

    run(scenario())


def test_where_an_engine_answers_that_there_is_nothing_nothing_is_guessed(tmp_path: Path) -> None:
    """Another file defines that name, but ty knows that it is not meant here."""
    (tmp_path / "shapes.py").write_text("def make(): pass\n")
    source = "import os\n\nos.make\n"

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path)
            assert (await wire.ask("headway/submit", {"type": "index", "arguments": {}}))["state"] == "COMPLETED"
            uri = (tmp_path / "main.py").as_uri()
            document = {"uri": uri, "languageId": "python", "version": 1, "text": source}
            wire.notify("textDocument/didOpen", {"textDocument": document})
            place = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 4}}
            assert await wire.ask("textDocument/definition", place) in (None, [])
            hover = await wire.ask("textDocument/hover", place)
            assert "By name" not in str(hover)

    run(scenario())
