"""The room of the language servers that a person has named for other languages than Python (`headway.engines`).

Each starts with the first document of its language, in trusted workspaces only, is started again when it dies, and is
given its part of the machine by the priority in its setting. What it reports is shown as far as it is about the present
text.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from headway.engines.environment import spelled_out
from headway.engines.keeping import ServerKeeper
from headway.engines.mirror import Encoding
from headway.engines.server import EngineState, ServerLaunch
from headway.scheduler.executors.children import clean_environment
from headway.session.lone_files import working_directory
from headway.session.ports import FileChange, Room, SessionContext
from headway.settings import OtherEngine, Settings
from headway.workspace.documents import Document
from headway.workspace.uris import identity

if TYPE_CHECKING:
    from headway.engines.other import OtherServer
    from headway.engines.ruff import RuffReport


class _Kept(NamedTuple):
    server: OtherServer
    keeper: ServerKeeper


class OtherEngines(Room):
    """Owns these servers.

    Args:
        encoding: How the client counts columns; they are asked to do the same.
    """

    def __init__(self, context: SessionContext, encoding: Encoding = "utf-16") -> None:
        self._context = context
        self._encoding = encoding
        self._kept: dict[OtherEngine, _Kept] = {}
        self._retired: list[ServerKeeper] = []
        self._resting: dict[str, asyncio.TimerHandle] = {}  # by language: until typing rests
        self._published: dict[str, str] = {}  # by document: the URI under which findings were shown

    def engine(self, language: str) -> OtherServer | None:
        """Return the server of a language, started if it was not; None where none is named for it."""
        for setting in self._context.settings.engines:
            if setting.language == language:
                kept = self._kept.get(setting) or self._make(setting)
                kept.keeper.begin()
                return kept.server
        return None

    async def start(self) -> None:
        self._begin()

    async def close(self) -> None:
        for timer in self._resting.values():
            timer.cancel()
        self._resting.clear()
        keepers = [*self._retired, *(kept.keeper for kept in self._kept.values())]
        await asyncio.gather(*(keeper.close() for keeper in keepers))

    def settings_changed(self, previous: Settings) -> None:
        if self._context.settings.engines != previous.engines:
            self._adapt()

    def trust_granted(self) -> None:
        self._adapt()

    def folders_changed(self) -> None:
        for kept in self._kept.values():
            kept.keeper.adapt()

    def document_opened(self, document: Document) -> None:
        if self.engine(document.language) is not None:
            self._catch_up_soon(document.language)

    def document_changed(self, document: Document) -> None:
        if self._kept and self.engine(document.language) is not None:
            self._catch_up_soon(document.language)

    def document_saved(self, document: Document) -> None:
        if self._kept and (server := self.engine(document.language)) is not None:
            server.catch_up()
            server.notify("textDocument/didSave", {"textDocument": {"uri": document.uri}})

    def document_closed(self, uri: str) -> None:
        self._clear(identity(uri))
        for kept in self._kept.values():
            kept.server.catch_up()

    def files_changed(self, changes: Sequence[FileChange]) -> None:
        # Whether a file is new is not said; a creation that was none is taken for a change.
        events = [{"uri": change.uri, "type": 3 if change.deleted else 2} for change in changes]
        for kept in self._kept.values():
            kept.server.notify("workspace/didChangeWatchedFiles", {"changes": events})

    # ---- which there are --------------------------------------------------------------------------------------------

    def _adapt(self) -> None:
        wanted = self._context.settings.engines
        for setting in [setting for setting in self._kept if setting not in wanted]:
            kept = self._kept.pop(setting)
            kept.keeper.rest()
            self._retired.append(kept.keeper)
            self._context.degraded(kept.server.name, None)
            self._context.client.offer_keys(setting.language, (), ())
            for key, document in self._context.documents.snapshot().items():
                if document.language == setting.language:
                    self._clear(key)
        self._begin()

    def _begin(self) -> None:
        for document in self._context.documents.snapshot().values():
            self.document_opened(document)

    def _make(self, setting: OtherEngine) -> _Kept:
        # Not before somebody has named one: a start is felt as the wait for the first list.
        from headway.engines.other import OtherServer

        server = OtherServer(
            setting.language,
            os.path.basename(setting.command[0]),
            self._context.documents.snapshot,
            lambda: self._changed(setting),
            self._reported,
        )
        keeper = ServerKeeper(server, lambda: self._wanted(setting), self._context.degraded)
        kept = self._kept[setting] = _Kept(server, keeper)
        return kept

    def _wanted(self, setting: OtherEngine) -> ServerLaunch:
        from headway.engines.other import launch

        folders = [folder for folder in self._context.folders if folder.path is not None]
        program = spelled_out(setting.command[0], [folder.path for folder in folders if folder.path is not None])
        return launch(
            (os.fspath(program) if program is not None else setting.command[0], *setting.command[1:]),
            priority=setting.priority,
            roots=tuple(folder.uri for folder in folders),
            cwd=working_directory(self._context),
            env=clean_environment(),
            encoding=self._encoding,
        )

    def _changed(self, setting: OtherEngine) -> None:
        if (kept := self._kept.get(setting)) is not None:
            kept.keeper.tell()
            if kept.server.state is EngineState.READY:
                self._context.client.offer_keys(setting.language, *kept.server.keys)
                kept.server.catch_up()

    # ---- what they report -------------------------------------------------------------------------------------------

    def _catch_up_soon(self, language: str) -> None:
        if (timer := self._resting.pop(language, None)) is not None:
            timer.cancel()
        rest_s = self._context.settings.diagnostics.debounce_ms / 1000
        self._resting[language] = asyncio.get_running_loop().call_later(rest_s, self._catch_up, language)

    def _catch_up(self, language: str) -> None:
        self._resting.pop(language, None)
        if (server := self.engine(language)) is not None:
            server.catch_up()

    def _reported(self, document: Document, report: RuffReport) -> None:
        from headway.features.analysis import findings

        if not self._context.settings.diagnostics.enabled:
            return
        server = self.engine(document.language)
        if server is not None:
            self._published[identity(document.uri)] = document.uri
            found = findings(document, report, server.encoding, source=server.program)
            self._context.client.publish(document.uri, document.version, found)

    def _clear(self, key: str) -> None:
        uri = self._published.pop(key, None)
        if uri is not None:
            self._context.client.publish(uri, None, ())
