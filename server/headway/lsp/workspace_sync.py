"""The notifications by which the client keeps the session up to date: texts, files, folders, settings, trust."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from headway.lsp.connection import Connection
from headway.lsp.convert import Converter
from headway.lsp.errors import answer
from headway.lsp.initialization import folder
from headway.lsp.negotiation import dig
from headway.lsp.protocol import TRUST_GRANTED
from headway.session.arguments import Arguments
from headway.session.ports import FileChange
from headway.session.session import Session
from headway.workspace.documents import Document
from headway.workspace.uris import uri_to_path

_DELETED = 3
# How many files are taken in a turn of the loop: a branch that is checked out may change fifty thousand at once.
_FILES_A_TURN = 500

_log = logging.getLogger(__name__)


class WorkspaceSync:
    """Handlers of one session's notifications. `pull_settings` asks the client, where it can be asked."""

    def __init__(self, session: Session, converter: Converter, pull_settings: Callable[[], bool]) -> None:
        self._session = session
        self._converter = converter
        self._pull_settings = pull_settings
        self._files: deque[Iterator[Arguments]] = deque()  # changes that were told and not taken yet

    def register(self, connection: Connection) -> None:
        """Make these the handlers of a connection."""
        connection.before_request = self._session.settle
        connection.notifications.update(
            {
                "textDocument/didOpen": self.did_open,
                "textDocument/didChange": self.did_change,
                "textDocument/didSave": self.did_save,
                "textDocument/didClose": self.did_close,
                "workspace/didChangeWatchedFiles": self.did_change_watched_files,
                "workspace/didChangeWorkspaceFolders": self.did_change_folders,
                "workspace/didChangeConfiguration": self.did_change_configuration,
                TRUST_GRANTED: self.trust_granted,
                "$/setTrace": _nothing,
            }
        )

    def did_open(self, params: object) -> None:
        document = text_document(Arguments(params).inner("textDocument"))
        self._session.open_document(document)

    def did_change(self, params: object) -> None:
        read = Arguments(params)
        identifier = read.inner("textDocument")
        uri = identifier.text("uri")
        known = self._session.documents.get(uri)
        if known is None:
            raise identifier.fail("uri", f"{uri[:200]} is not open")
        version = identifier.integer("version", known.version + 1, low=-(2**31))
        self._session.change_document(uri, version, self._converter.changed(known.content, read))

    def did_save(self, params: object) -> None:
        self._session.save_document(Arguments(params).inner("textDocument").text("uri"))

    def did_close(self, params: object) -> None:
        self._session.close_document(Arguments(params).inner("textDocument").text("uri"))

    def did_change_watched_files(self, params: object) -> None:
        self._files.append(iter(Arguments(params).each("changes")))
        if len(self._files) == 1:
            self._take_files()

    def _take_files(self) -> None:
        """Take some of the changes that were told, and the rest with later turns of the loop."""
        result = answer(self._take_some_files, "workspace/didChangeWatchedFiles")
        if result.error is not None:
            _log.warning("workspace/didChangeWatchedFiles was ignored from here on: %s", result.error)
        if result.error is not None or not result.value:
            self._files.popleft()
        if self._files:
            asyncio.get_running_loop().call_soon(self._take_files)

    def _take_some_files(self) -> bool:
        """Tell the session of some changes; return whether there may be more."""
        newest: dict[str, FileChange] = {}
        taken = list(islice(self._files[0], _FILES_A_TURN))
        for change in taken:
            uri = change.text("uri")
            path = uri_to_path(uri)
            deleted = change.integer("type") == _DELETED
            # Of several changes of a file only the last one says how it is now.
            newest.pop(uri, None)
            newest[uri] = FileChange(uri=uri, path=None if path is None else Path(path), deleted=deleted)
        self._session.change_files(tuple(newest.values()))
        return len(taken) == _FILES_A_TURN

    def did_change_folders(self, params: object) -> None:
        event = Arguments(params).inner("event")
        added = [made for item in event.sequence("added") if (made := folder(item)) is not None]
        removed = [uri for item in event.sequence("removed") if isinstance(uri := dig(item, "uri"), str)]
        self._session.change_folders(added=added, removed=removed)

    def did_change_configuration(self, params: object) -> None:
        if not self._pull_settings():
            self._session.configure(dig(params, "settings", "headway"), whole=False)

    def trust_granted(self, params: object) -> None:
        self._session.grant_trust()


def text_document(item: Arguments) -> Document:
    """Return the document that a `TextDocumentItem` is."""
    return Document(
        uri=item.text("uri"),
        language=item.text("languageId", "plaintext"),
        version=item.integer("version", 0, low=-(2**31)),
        text=item.text("text"),
    )


def _nothing(params: Any) -> None:
    """Messages about how much is traced: the log's level is set elsewhere."""
