"""Open documents in the index: what the editor holds counts, soon after typing has paused. Jobs at NORMAL.

A newer text of a document takes the place of an older one that is still waiting to be indexed.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any, Final

from headway.scheduler.model import Job, Priority
from headway.session.folder_index import FolderIndex
from headway.session.ports import SessionContext
from headway.workspace import indexer
from headway.workspace.documents import Document
from headway.workspace.index import language_of
from headway.workspace.uris import identity, uri_to_path

_QUIET_S: Final = 0.3
_MAX_WAIT_S: Final = 2.0


class Edits:
    """See the module.

    Args:
        folder_of: Gives the folder's index that a path belongs to.
    """

    def __init__(self, context: SessionContext, folder_of: Callable[[str], FolderIndex | None]) -> None:
        self._context = context
        self._folder_of = folder_of
        self._numbers = itertools.count(1)
        self._waiting: dict[str, tuple[float, asyncio.TimerHandle]] = {}  # by identity: first edit, and when to index
        self._early: dict[str, str] = {}  # by identity: paths of what was edited before its folder's index had a place

    def edited(self, document: Document, *, at_once: bool = False) -> None:
        """A document has a new text."""
        path = uri_to_path(document.uri)
        if path is None or language_of(path) is None or self._folder_of(path) is None:
            return
        loop = asyncio.get_running_loop()
        key = identity(document.uri)
        now_s = loop.time()
        first_s, timer = self._waiting.get(key, (now_s, None))
        if timer is not None:
            timer.cancel()
        due_s = min(now_s if at_once else now_s + _QUIET_S, first_s + _MAX_WAIT_S)
        self._waiting[key] = (first_s, loop.call_at(due_s, self._due, key, path))

    def closed(self, uri: str) -> None:
        """The text on disk counts again."""
        self._forget(identity(uri))
        path = uri_to_path(uri)
        if path is not None and (folder := self._folder_of(path)) is not None:
            folder.disk_changed(path)

    def folder_changed(self) -> None:
        """A folder's index may have its place by now."""
        for key, path in tuple(self._early.items()):
            folder = self._folder_of(path)
            if folder is None or folder.spec is not None:
                del self._early[key]
                self._due(key, path)

    def close(self) -> None:
        """Index nothing any more."""
        for key in tuple(self._waiting):
            self._forget(key)

    def _forget(self, key: str) -> None:
        self._early.pop(key, None)
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            waiting[1].cancel()

    def _due(self, key: str, path: str) -> None:
        self._waiting.pop(key, None)
        document = self._context.documents.at_path(key)
        if document is not None:
            self.index(document, path)

    def index(self, document: Document, path: str) -> None:
        """Put the text of an open document into the index of its folder, if it belongs there."""
        folder = self._folder_of(path)
        if folder is None:
            return
        if folder.spec is None:
            self._early[identity(document.uri)] = path
            return
        self._early.pop(identity(document.uri), None)
        spec, inner = folder.spec, folder.relative(path)
        if not inner or language_of(inner) is None:
            return
        call: tuple[Any, ...] = (indexer.skip_files, spec, inner, "tooLarge")
        if len(document.content) <= spec.options.read.max_bytes:  # Else even joining its text would be felt.
            call = (indexer.index_open_text, spec, inner, document.text, document.language)
        name = f"index {folder.name}/{inner} as edited, {next(self._numbers)}"
        task, _ = folder.answers.asking(name, *call, take=lambda value: folder.took_text(inner, value))
        self._context.scheduler.submit(
            Job(
                type="index",
                title=f"Index {inner}",
                tasks=(task,),
                priority=Priority.NORMAL,
                visible=False,
                supersede_key=("index", document.uri),
            )
        )
