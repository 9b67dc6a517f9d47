"""What an engine is told of notebooks, checked by a model of what it then has."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway.engines.mirror import Message, Mirror
from headway.workspace.documents import Document
from headway.workspace.notebooks import Cell, Notebook
from headway.workspace.text import Text

from .test_mirror import Engine as TextEngine

CELLS = ("cell:a", "cell:b", "cell:c", "file:///w/d.py")
BOOKS = ("file:///w/one.ipynb", "file:///w/two.ipynb")


class Engine(TextEngine):
    """Applies what it is told, as the protocol says."""

    def __init__(self) -> None:
        super().__init__("utf-16")
        self.books: dict[str, list[str]] = {}
        self.numbers: dict[str, int] = {}  # the highest that a cell ever had

    def told(self, messages: list[Message]) -> None:
        for method, params in messages:
            if not method.startswith("notebookDocument/"):
                super().told([(method, params)])
                continue
            uri = params["notebookDocument"]["uri"]
            match method.partition("/")[2]:
                case "didOpen":
                    assert uri not in self.books
                    self.books[uri] = [cell["document"] for cell in params["notebookDocument"]["cells"]]
                    assert self.books[uri] == [item["uri"] for item in params["cellTextDocuments"]]
                    for item in params["cellTextDocuments"]:
                        self._numbered(item)
                        super().told([("textDocument/didOpen", {"textDocument": item})])
                case "didClose":
                    cells = self.books.pop(uri)
                    assert cells == [item["uri"] for item in params["cellTextDocuments"]]
                    for cell in cells:
                        super().told([("textDocument/didClose", {"textDocument": {"uri": cell}})])
                case "didChange":
                    for one in params["change"]["cells"]["textContent"]:
                        self._numbered(one["document"])
                        change = {"textDocument": one["document"], "contentChanges": one["changes"]}
                        super().told([("textDocument/didChange", change)])

    def _numbered(self, item: dict[str, Any]) -> None:
        """A number never comes again in a notebook: who asked about another text would take it for that."""
        assert item["version"] > self.numbers.get(item["uri"], 0)
        self.numbers[item["uri"]] = item["version"]


def document(uri: str, text: str, language: str = "python") -> Document:
    return Document(uri=uri, language=language, version=1, text=text)


def book(uri: str, cells: list[str], kinds: list[int] | None = None) -> Notebook:
    made = [Cell(uri=cell, kind=kind) for cell, kind in zip(cells, kinds or [2] * len(cells), strict=True)]
    return Notebook(uri=uri, type="jupyter-notebook", cells=tuple(made))


@st.composite
def states(draw: st.DrawFn) -> tuple[dict[str, Document], list[Notebook]]:
    """Some texts that are open, and notebooks that have some of them as cells."""
    texts = draw(st.dictionaries(st.sampled_from(CELLS), st.text("ab\n", max_size=8)))
    languages = {uri: draw(st.sampled_from(["python", "python", "python", "sql"])) for uri in texts}
    order = draw(st.permutations(list(CELLS)))
    one, two = sorted(draw(st.tuples(st.integers(0, 4), st.integers(0, 4))))
    parts = {BOOKS[0]: order[:one], BOOKS[1]: order[one:two]}
    shown = draw(st.sets(st.sampled_from(BOOKS)))
    return {uri: document(uri, text, languages[uri]) for uri, text in texts.items()}, [
        book(uri, list(parts[uri])) for uri in BOOKS if uri in shown
    ]


@given(steps=st.lists(states(), min_size=1, max_size=6))
def test_the_engine_has_our_texts_and_our_order_after_each_update(
    steps: list[tuple[dict[str, Document], list[Notebook]]],
) -> None:
    mirror, engine = Mirror("utf-16"), Engine()
    for texts, books in steps:
        keyed = {uri.removeprefix("file://"): text for uri, text in texts.items()}
        engine.told(mirror.update(keyed, notebooks=books))
        python = {uri: str(text.content) for uri, text in texts.items() if text.language == "python"}
        assert engine.texts == python
        cells = {one.uri: [cell.uri for cell in one.cells if cell.uri in python] for one in books}
        assert engine.books == {uri: known for uri, known in cells.items() if known}
        assert mirror.update(keyed, notebooks=books) == []


def test_one_that_does_not_know_notebooks_has_each_cell_as_a_text_of_its_own() -> None:
    mirror, engine = Mirror("utf-16"), Engine()
    engine.told(mirror.update({uri: document(uri, "x") for uri in CELLS[:2]}))
    assert (engine.books, sorted(engine.texts)) == ({}, ["cell:a", "cell:b"])


def test_prose_is_no_part_of_it_and_a_cell_that_is_worked_at_is_held() -> None:
    mirror, engine = Mirror("utf-16"), Engine()
    texts = {uri: document(uri, "old") for uri in CELLS[:3]}
    books = [book(BOOKS[0], list(CELLS[:3]), [2, 1, 2])]
    engine.told(mirror.update(texts, notebooks=books))
    assert engine.books == {BOOKS[0]: ["cell:a", "cell:c"]}
    newer = {uri: document(uri, "new") for uri in CELLS[:3]}
    engine.told(mirror.update(newer, notebooks=books, held=["cell:a"]))
    assert (engine.texts["cell:a"], engine.texts["cell:c"]) == ("old", "new")
    engine.told(mirror.update(newer, notebooks=books, instead=("cell:a", Text("ne"))))
    assert (engine.texts["cell:a"], engine.texts["cell:c"]) == ("ne", "new")
