"""An open document with one caret, kept the same here and at the server."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from headway.demo.client import Client, Request

Place: TypeAlias = tuple[int, int]  # line, column in code points; from 0


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


class Document:
    """Opened at once; each edit is one incremental change with its own version."""

    def __init__(self, client: Client, path: Path) -> None:
        self.uri = path.as_uri()
        self.version = 1
        self._client = client
        self._lines = path.read_bytes().decode("utf-8").split("\n")
        self.caret: Place = (0, 0)
        self._removed = ""
        self._home: Place = (0, 0)
        provider = client.capabilities.get("completionProvider") or {}
        self._triggers = frozenset(provider.get("triggerCharacters") or ())
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": self.text}
        client.notify("textDocument/didOpen", {"textDocument": item})

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def line(self, number: int) -> str:
        return self._lines[number]

    def cut(self, place: Place) -> None:
        """Put the caret at `place` and take away the rest of that line, to be given back by `restore`."""
        line, column = place
        self._home, self._removed = place, self._lines[line][column:]
        self.caret = place
        self._replace((line, column), (line, len(self._lines[line])), "")

    def insert(self, text: str) -> None:
        """Type at the caret, within its line."""
        line, column = self.caret
        self._replace(self.caret, self.caret, text)
        self.caret = (line, column + len(text))

    def restore(self) -> None:
        """Take back what was typed since `cut` and put back what had been there."""
        self._replace(self._home, self.caret, self._removed)
        self.caret = self._home

    def complete(self, key: str) -> Request:
        """Ask for the list at the caret, after `key` was typed."""
        trigger = {"triggerKind": 2, "triggerCharacter": key} if key in self._triggers else {"triggerKind": 1}
        position = self._position(self.caret)
        params = {"textDocument": {"uri": self.uri}, "position": position, "context": trigger}
        return self._client.request("textDocument/completion", params)

    def cancel(self, request: Request) -> None:
        """Say that nobody waits for this list any more."""
        self._client.cancel(request)

    def _position(self, place: Place) -> dict[str, int]:
        line, column = place
        return {"line": line, "character": utf16_units(self._lines[line][:column])}

    def _replace(self, start: Place, end: Place, text: str) -> None:
        line = start[0]
        whole = {"start": self._position(start), "end": self._position(end)}
        old = self._lines[line]
        self._lines[line] = old[: start[1]] + text + old[end[1] :]
        self.version += 1
        params = {
            "textDocument": {"uri": self.uri, "version": self.version},
            "contentChanges": [{"range": whole, "text": text}],
        }
        self._client.notify("textDocument/didChange", params)
