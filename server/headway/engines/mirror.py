"""The texts that an engine has, and the notifications that bring them up to ours.

An engine need not hear of each key: a change of text makes it drop what it is working at. So its texts are brought up
to date just before it is asked, by one ranged change per document that the comparison of both texts gives. That also
lets a question be put to a text that differs a little from the editor's (`Mirror.update` with `instead`).

An engine that knows notebooks is given their cells as parts of them: each cell sees what those before it define. Where
cells have come, gone or moved, the notebook is closed and opened as it is now.

Pure: documents in, messages out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from headway.workspace.documents import Document
from headway.workspace.notebooks import CODE, Notebook
from headway.workspace.text import Position, Text
from headway.workspace.uris import identity

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
Message: TypeAlias = tuple[str, dict[str, Any]]

# Longer texts are not given to an engine: each of its answers would cost seconds of CPU time.
LONGEST_TEXT = 2_000_000


def units(text: str, encoding: Encoding) -> int:
    """Return the length of a piece of text in code units of an encoding."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def wire_position(text: Text | Document, position: Position, encoding: Encoding) -> dict[str, int]:
    """Return a position of ours as LSP writes it."""
    line = text.line(position.line)
    return {"line": position.line, "character": units(line[: position.column], encoding)}


def own_position(text: Text | Document, line: int, character: int, encoding: Encoding) -> Position:
    """Return a position of LSP as one of ours; inside of a character it is moved to the character's start."""
    content = text.line(line)
    if encoding == "utf-32" or content.isascii():
        return Position(line, min(character, len(content)))
    column = used = 0
    for letter in content:
        used += units(letter, encoding)
        if used > character:
            break
        column += 1
    return Position(line, column)


@dataclass(slots=True)
class _Copy:
    uri: str
    text: Text
    version: int = 1
    source: Document | None = None  # what `text` is the text of; None where it differs from the editor's


@dataclass(slots=True)
class _NotebookCopy:
    uri: str
    cells: tuple[str, ...]  # identities, in order
    version: int = 1


@dataclass(slots=True)
class Mirror:
    """What the engine has been told. One for each run of the engine.

    `version` numbers are our own: they rise by one with each change that the engine hears of.
    """

    encoding: Encoding
    _copies: dict[str, _Copy] = field(default_factory=dict)
    _notebooks: dict[str, _NotebookCopy] = field(default_factory=dict)  # by URI
    _highest: int = 0  # number of a text in a notebook that was closed

    def update(
        self,
        documents: Mapping[str, Document],
        *,
        instead: tuple[str, Text] | None = None,
        held: Collection[str] = (),
        language: str = "python",
        notebooks: Sequence[Notebook] = (),
    ) -> list[Message]:
        """Return the notifications after which the engine has these documents, in the order to send them.

        Args:
            documents: All open documents by identity; those of another language or too long are left out.
            instead: An identity and the text that the engine shall have for it until the next update.
            notebooks: The open notebooks, where the engine knows what they are.
            held: Documents whose text the engine is working at: it keeps what it has of them, if it has them at all.
        """
        wanted = {
            key: document
            for key, document in documents.items()
            if document.language == language and len(document.content) <= LONGEST_TEXT
        }
        cells = _cells(notebooks, wanted) if notebooks else {}
        messages: list[Message] = []
        if self._notebooks:
            shown = [uri for uri, known in self._notebooks.items() if cells.get(uri) != known.cells]
            messages += [self._close_notebook(uri) for uri in shown]
        in_notebooks = {key for keys in cells.values() for key in keys}
        told = {key for known in self._notebooks.values() for key in known.cells}
        gone = [key for key in self._copies if key not in told and (key not in wanted or key in in_notebooks)]
        messages += [self._close(key) for key in gone]
        for key, document in wanted.items():
            if key in in_notebooks or (key in held and key in self._copies):
                continue
            text = instead[1] if instead is not None and instead[0] == key else document.content
            messages.extend(self._bring(key, document, text, language))
        for notebook in notebooks:
            if keys := cells.get(notebook.uri):
                texts = {key: wanted[key].content for key in keys}
                if instead is not None and instead[0] in texts:
                    texts[instead[0]] = instead[1]
                if notebook.uri in self._notebooks:
                    messages += self._change_notebook(notebook, wanted, texts, held)
                else:
                    messages.append(self._open_notebook(notebook, wanted, texts, language))
        return messages

    def knows(self, key: str) -> bool:
        """Return whether the engine has the document open."""
        return key in self._copies

    def version(self, key: str) -> int:
        """Return the number of the text that the engine has for a document, 0 where it has none."""
        copy = self._copies.get(key)
        return copy.version if copy else 0

    def text(self, key: str) -> Text | None:
        """Return the text that the engine has for a document."""
        copy = self._copies.get(key)
        return copy.text if copy else None

    def _bring(self, key: str, document: Document, text: Text, language: str) -> Iterable[Message]:
        copy = self._copies.get(key)
        if copy is not None and copy.uri != document.uri:
            yield self._close(key)
            copy = None
        if copy is None:
            yield "textDocument/didOpen", {"textDocument": self._opened(key, document, text, 1, language)}
        elif (change := self._taken(copy, document, text)) is not None:
            identifier = {"uri": document.uri, "version": copy.version}
            yield "textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]}

    def _opened(self, key: str, document: Document, text: Text, version: int, language: str) -> dict[str, Any]:
        self._copies[key] = _Copy(document.uri, text, version, document if text is document.content else None)
        return {"uri": document.uri, "languageId": language, "version": version, "text": str(text)}

    def _taken(self, copy: _Copy, document: Document, text: Text) -> dict[str, Any] | None:
        """Make a text the copy's own; return the change that it is, None where it is none."""
        own = text is document.content
        if copy.text is text or (own and copy.source is document):
            return None
        change = self._change(copy.text, text)
        copy.text = text
        copy.source = document if own else None
        if change is not None:
            copy.version += 1
        return change

    def _open_notebook(
        self, notebook: Notebook, documents: Mapping[str, Document], texts: Mapping[str, Text], language: str
    ) -> Message:
        # A cell's number is never the same again: who asked about what stood there before sees that it was disturbed.
        items = [self._opened(key, documents[key], text, self._highest + 1, language) for key, text in texts.items()]
        self._notebooks[notebook.uri] = _NotebookCopy(notebook.uri, tuple(texts))
        cells = [{"kind": CODE, "document": item["uri"]} for item in items]
        opened = {"uri": notebook.uri, "notebookType": notebook.type, "version": 1, "cells": cells}
        return "notebookDocument/didOpen", {"notebookDocument": opened, "cellTextDocuments": items}

    def _change_notebook(
        self,
        notebook: Notebook,
        documents: Mapping[str, Document],
        texts: Mapping[str, Text],
        held: Collection[str],
    ) -> Iterator[Message]:
        changed = []
        for key, text in texts.items():
            copy = self._copies[key]
            if key not in held and (change := self._taken(copy, documents[key], text)) is not None:
                changed.append({"document": {"uri": copy.uri, "version": copy.version}, "changes": [change]})
        if changed:
            known = self._notebooks[notebook.uri]
            known.version += 1
            identifier = {"uri": notebook.uri, "version": known.version}
            change = {"cells": {"textContent": changed}}
            yield "notebookDocument/didChange", {"notebookDocument": identifier, "change": change}

    def _close_notebook(self, uri: str) -> Message:
        known = self._notebooks.pop(uri)
        copies = [self._copies.pop(key) for key in known.cells]
        self._highest = max(self._highest, *(copy.version for copy in copies))
        cells = [{"uri": copy.uri} for copy in copies]
        return "notebookDocument/didClose", {"notebookDocument": {"uri": uri}, "cellTextDocuments": cells}

    def _change(self, old: Text, new: Text) -> dict[str, Any] | None:
        before, after = str(old), str(new)
        if before == after:
            return None
        start, tail = common_ends(before, after)
        # A position between CR and LF does not exist in LSP: such a change takes the CR along.
        if start > 0 and before[start - 1] == "\r":
            start -= 1
        if tail and before[len(before) - tail] == "\n" and "\r" in (before[-tail - 1 :][:1], after[-tail - 1 :][:1]):
            tail -= 1
        end = len(before) - tail
        first, last = old.position_at(start), old.position_at(end)
        span = {
            "start": wire_position(old, first, self.encoding),
            "end": wire_position(old, last, self.encoding),
        }
        return {"range": span, "text": after[start : len(after) - tail]}

    def _close(self, key: str) -> Message:
        copy = self._copies.pop(key)
        return "textDocument/didClose", {"textDocument": {"uri": copy.uri}}


def _cells(notebooks: Sequence[Notebook], documents: Mapping[str, Document]) -> dict[str, tuple[str, ...]]:
    """Return the identities of the cells with code of each notebook that has any among these documents, by its URI."""
    cells: dict[str, tuple[str, ...]] = {}
    taken: set[str] = set()
    for notebook in notebooks:
        named = (identity(uri) for uri in notebook.code())
        keys = dict.fromkeys(key for key in named if key in documents and key not in taken)
        if keys:
            cells[notebook.uri] = tuple(keys)
            taken.update(keys)
    return cells


def common_ends(left: str, right: str) -> tuple[int, int]:
    """Return how many characters two texts have in common at their beginning, and then at their end."""
    start = _common_prefix(left, right)
    return start, _common_suffix(left, right, min(len(left), len(right)) - start)


def _common_prefix(left: str, right: str) -> int:
    """Return how many characters two texts begin with in common, by halving: comparing slices runs in C."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_suffix(left: str, right: str, limit: int) -> int:
    """Return how many characters, at most `limit`, two texts end with in common."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if left[len(left) - middle : len(left) - low] == right[len(right) - middle : len(right) - low]:
            low = middle
        else:
            high = middle - 1
    return low
