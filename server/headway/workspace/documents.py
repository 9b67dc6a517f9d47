"""Open buffers over the disk: what the editor holds counts, saved or not.

A `Document` is an immutable snapshot that tasks may keep; `Documents` is the one place where the newest ones live.
URIs are kept exactly as the client spelled them and compared by `uris.identity`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from headway.workspace.notebooks import Notebook
from headway.workspace.text import Edit, Position, Range, Text
from headway.workspace.uris import identity


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Document:
    """The text of one open document at one version."""

    uri: str
    language: str
    version: int
    content: Text

    def __init__(self, *, uri: str, language: str, version: int, text: str | Text) -> None:
        object.__setattr__(self, "uri", uri)
        object.__setattr__(self, "language", language)
        object.__setattr__(self, "version", version)
        object.__setattr__(self, "content", text if isinstance(text, Text) else Text(text))

    @property
    def text(self) -> str:
        """The whole text; joined once for each version, on first use."""
        return str(self.content)

    @property
    def line_count(self) -> int:
        """Lines, at least 1."""
        return self.content.line_count

    def line(self, number: int) -> str:
        """Return a line without its line end; empty where there is no such line."""
        return self.content.line(number)

    def offset_at(self, position: Position) -> int:
        """Return the offset of a position in code points, moved into the text where it lies outside."""
        return self.content.offset_at(position)

    def position_at(self, offset: int) -> Position:
        """Return the position of an offset in code points, moved into the text where it lies outside."""
        return self.content.position_at(offset)

    def slice(self, range_: Range) -> str:
        """Return the text of a range."""
        return self.content.slice(range_)

    def apply(self, edits: Iterable[Edit], *, version: int) -> Document:
        """Return the document after the edits, each applied to what the one before it left."""
        return Document(uri=self.uri, language=self.language, version=version, text=self.content.apply(edits))


class UnknownDocumentError(LookupError):
    """The document is not open. Ask the editor to open it before it is changed."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self.uri = uri

    def __str__(self) -> str:
        return f"{self.uri} is not open"


class Documents:
    """The open documents, by identity; owned by the session and changed on the loop only."""

    def __init__(self) -> None:
        self._open: dict[str, Document] = {}
        self._notebooks: dict[str, Notebook] = {}

    def open(self, document: Document) -> None:
        """Add a document; one that is open already is replaced, spelling included."""
        self._open[identity(document.uri)] = document

    def change(self, uri: str, version: int, edits: Iterable[Edit]) -> Document:
        """Apply edits and return the new document.

        Raises:
            UnknownDocumentError: it is not open.
        """
        key = identity(uri)
        document = self._open.get(key)
        if document is None:
            raise UnknownDocumentError(uri)
        changed = document.apply(edits, version=version)
        self._open[key] = changed
        return changed

    def close(self, uri: str) -> Document | None:
        """Remove and return the document; None where it was not open."""
        return self._open.pop(identity(uri), None)

    def get(self, uri: str) -> Document | None:
        """Return the open document of a URI in any spelling."""
        return self._open.get(identity(uri))

    def at_path(self, path_identity: str) -> Document | None:
        """Return the open document whose `uris.path_identity` is given."""
        return self._open.get(path_identity)

    def snapshot(self) -> Mapping[str, Document]:
        """Return all open documents by identity, as they are now."""
        return MappingProxyType(dict(self._open))

    def set_notebook(self, notebook: Notebook) -> None:
        """Add a notebook, or take it as it is now; the texts of its cells are opened by themselves."""
        self._notebooks[identity(notebook.uri)] = notebook

    def remove_notebook(self, uri: str) -> Notebook | None:
        """Remove and return a notebook; None where it is not open."""
        return self._notebooks.pop(identity(uri), None)

    def notebook(self, uri: str) -> Notebook | None:
        """Return the open notebook of a URI."""
        return self._notebooks.get(identity(uri))

    def notebooks(self) -> tuple[Notebook, ...]:
        """Return all open notebooks."""
        return tuple(self._notebooks.values())

    def in_notebook(self, uri: str) -> bool:
        """Return whether a document is a cell of an open notebook."""
        key = identity(uri) if self._notebooks else ""
        return any(identity(cell) == key for notebook in self._notebooks.values() for cell in notebook.code())

    def __len__(self) -> int:
        return len(self._open)
