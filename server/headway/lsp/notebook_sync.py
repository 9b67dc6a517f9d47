"""The notifications of notebooks: decode, tell the session. Imported where a client knows notebooks."""

from __future__ import annotations

from functools import partial

from headway.lsp.connection import Connection
from headway.lsp.convert import Converter
from headway.lsp.workspace_sync import text_document
from headway.session.arguments import Arguments
from headway.session.notebooks import Notebooks
from headway.session.session import Session
from headway.workspace.notebooks import CODE, Cell, Notebook


class NotebookSync:
    """Handlers of one session's notifications."""

    def __init__(self, session: Session, converter: Converter) -> None:
        self._session = session
        self._converter = converter
        self._notebooks = Notebooks(session)

    def register(self, connection: Connection) -> None:
        """Make these the handlers of a connection."""
        connection.notifications.update(
            {
                "notebookDocument/didOpen": self.did_open,
                "notebookDocument/didChange": self.did_change,
                "notebookDocument/didSave": self.did_save,
                "notebookDocument/didClose": self.did_close,
            }
        )

    def did_open(self, params: object) -> None:
        read = Arguments(params)
        told = read.inner("notebookDocument")
        notebook = Notebook(
            uri=told.text("uri"),
            type=told.text("notebookType", "jupyter-notebook"),
            cells=tuple(_cell(cell) for cell in told.each("cells")),
        )
        self._notebooks.open(notebook, [text_document(item) for item in read.each("cellTextDocuments")])

    def did_change(self, params: object) -> None:
        read = Arguments(params)
        told = read.inner("notebookDocument")
        uri = told.text("uri")
        if self._notebooks.get(uri) is None:
            raise told.fail("uri", f"{uri[:200]} is not open")
        cells = read.inner("change").inner_or_empty("cells")
        if cells.has("structure"):
            structure = cells.inner("structure")
            array = structure.inner("array")
            new = [_cell(cell) for cell in array.each("cells")]
            place, count = array.integer("start"), array.integer("deleteCount")
            self._notebooks.arrange(
                uri,
                partial(Notebook.spliced, start=place, delete_count=count, cells=new),
                opened=[text_document(item) for item in structure.each("didOpen")],
                closed=[item.text("uri") for item in structure.each("didClose")],
            )
        if cells.has("data"):
            kinds = [_cell(cell) for cell in cells.each("data")]
            self._notebooks.arrange(uri, partial(Notebook.with_kinds, cells=kinds))
        self._take_texts(uri, cells)

    def _take_texts(self, uri: str, cells: Arguments) -> None:
        changed = []
        for one in cells.each("textContent"):
            identifier = one.inner("document")
            cell = identifier.text("uri")
            known = self._session.documents.get(cell)
            if known is None:
                raise identifier.fail("uri", f"{cell[:200]} is not open")
            version = identifier.integer("version", known.version + 1, low=-(2**31))
            text = self._converter.changed(known.content, one, "changes")
            self._session.change_document(cell, version, text)
            changed.append(known.uri)
        if changed:
            self._notebooks.changed(uri, changed)

    def did_save(self, params: object) -> None:
        notebook = self._notebooks.get(Arguments(params).inner("notebookDocument").text("uri"))
        for cell in notebook.cells if notebook is not None else ():
            self._session.save_document(cell.uri)

    def did_close(self, params: object) -> None:
        self._notebooks.close(Arguments(params).inner("notebookDocument").text("uri"))


def _cell(cell: Arguments) -> Cell:
    return Cell(uri=cell.text("document"), kind=cell.integer("kind", CODE))
