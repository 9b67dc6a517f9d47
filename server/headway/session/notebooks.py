"""Which notebooks are open: their cells come, go and move here, and are documents for everything else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from headway.session.session import Session
from headway.workspace.documents import Document
from headway.workspace.notebooks import Notebook


class Notebooks:
    """Takes what the editor tells of notebooks, for a session and its rooms."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def open(self, notebook: Notebook, texts: Sequence[Document]) -> None:
        """A notebook is open now, with the texts of its cells; one that was open under this URI is closed first."""
        self.close(notebook.uri)
        self._session.documents.set_notebook(notebook)
        for text in texts:
            self._session.open_document(text)

    def get(self, uri: str) -> Notebook | None:
        """Return an open notebook."""
        return self._session.documents.notebook(uri)

    def arrange(
        self,
        uri: str,
        rearranged: Callable[[Notebook], Notebook],
        *,
        opened: Sequence[Document] = (),
        closed: Collection[str] = (),
    ) -> None:
        """Cells came, went or moved; a notebook that is not open is none of our business.

        Args:
            rearranged: Gives the notebook as it is now.
            opened: The texts of cells that came.
            closed: The URIs of those that went. One that is among both has another language now, or another place.
        """
        notebook = self.get(uri)
        if notebook is None:
            return
        notebook = rearranged(notebook)
        self._session.documents.set_notebook(notebook)
        for gone in closed:
            self._session.close_document(gone)
        for text in opened:
            self._session.open_document(text)
        self._tell(notebook, [text.uri for text in opened])

    def changed(self, uri: str, cells: Collection[str]) -> None:
        """The texts of some cells, by URI, are others now."""
        notebook = self.get(uri)
        if notebook is not None:
            self._session.settle()
            self._tell(notebook, cells)

    def close(self, uri: str) -> None:
        """A notebook is no longer open, nor is any of its cells."""
        notebook = self._session.documents.remove_notebook(uri)
        for cell in notebook.cells if notebook is not None else ():
            self._session.close_document(cell.uri)

    def _tell(self, notebook: Notebook, told: Collection[str]) -> None:
        documents = self._session.documents
        cells = [documents.get(uri) for uri in notebook.code() if uri not in told]
        others = [cell for cell in cells if cell is not None]
        if others:
            for room in self._session.rooms:
                room.notebook_changed(others)
