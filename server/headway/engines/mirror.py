"""The texts that an engine has, and the notifications that bring them up to ours.

An engine need not hear of each key: a change of text makes it drop what it is working at. So its texts are brought up
to date just before it is asked, by one ranged change per document that the comparison of both texts gives. That also
lets a question be put to a text that differs a little from the editor's (`Mirror.update` with `instead`).

Pure: documents in, messages out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from headway.workspace.documents import Document
from headway.workspace.text import Position, Text

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
class Mirror:
    """What the engine has been told. One for each run of the engine.

    `version` numbers are our own: they rise by one with each change that the engine hears of.
    """

    encoding: Encoding
    _copies: dict[str, _Copy] = field(default_factory=dict)

    def update(
        self,
        documents: Mapping[str, Document],
        *,
        instead: tuple[str, Text] | None = None,
        held: Collection[str] = (),
        language: str = "python",
    ) -> list[Message]:
        """Return the notifications after which the engine has these documents, in the order to send them.

        Args:
            documents: All open documents by identity; those of another language or too long are left out.
            instead: An identity and the text that the engine shall have for it until the next update.
            held: Documents whose text the engine is working at: it keeps what it has of them, if it has them at all.
        """
        wanted = {
            key: document
            for key, document in documents.items()
            if document.language == language and len(document.content) <= LONGEST_TEXT
        }
        messages = [self._close(key) for key in [key for key in self._copies if key not in wanted]]
        for key, document in wanted.items():
            if key in held and key in self._copies:
                continue
            text = instead[1] if instead is not None and instead[0] == key else document.content
            messages.extend(self._bring(key, document, text, language))
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
        own = text is document.content
        if copy is not None and copy.uri != document.uri:
            yield self._close(key)
            copy = None
        if copy is None:
            self._copies[key] = _Copy(document.uri, text, 1, document if own else None)
            item = {"uri": document.uri, "languageId": language, "version": 1, "text": str(text)}
            yield "textDocument/didOpen", {"textDocument": item}
            return
        if copy.text is text or (own and copy.source is document):
            return
        change = self._change(copy.text, text)
        copy.text = text
        copy.source = document if own else None
        if change is not None:
            copy.version += 1
            identifier = {"uri": document.uri, "version": copy.version}
            yield "textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]}

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
