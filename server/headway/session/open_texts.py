"""Which of the editor's documents lie in one folder, and where; it has two names where a link leads to it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from headway.session.ports import SessionContext
from headway.workspace.documents import Document
from headway.workspace.uris import path_below, path_identity, uri_to_path


class OpenTexts:
    """See the module.

    Args:
        root: The folder's path as the client named it, normalised.
    """

    def __init__(self, context: SessionContext, root: str) -> None:
        self.root = root
        self.real = root  # where it lies, once somebody has looked
        self._context = context

    def relative(self, path: str) -> str | None:
        """Return a path relative to the folder, whichever of its names it begins with; see `uris.path_below`."""
        inner = path_below(self.root, path)
        return path_below(self.real, path) if inner is None and self.real != self.root else inner

    def at(self, inner: str) -> Document | None:
        """Return the document at a path in the folder."""
        for root in dict.fromkeys((self.root, self.real)):
            document = self._context.documents.at_path(path_identity(os.path.join(root, inner)))
            if document is not None:
                return document
        return None

    def paths(self) -> list[str]:
        """Return the paths in the folder of all of them."""
        return [path for key in self._context.documents.snapshot() if (path := self.relative(key))]

    def all(self) -> Iterator[tuple[Document, str]]:
        """Give each with its absolute path."""
        for document in self._context.documents.snapshot().values():
            path = uri_to_path(document.uri)
            if path is not None and self.relative(path):
                yield document, path
