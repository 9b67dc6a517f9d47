"""The room that keeps ty running: which program, which environment, when it starts and when it starts anew."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from pathlib import Path

from headway.engines.environment import fallback_environment, own_program, workspace_environment
from headway.engines.mirror import Encoding
from headway.engines.ty import EngineState, TyEngine, TyLaunch
from headway.scheduler.executors.children import clean_environment
from headway.session.ports import FileChange, Room, SessionContext
from headway.settings import Settings
from headway.workspace.documents import Document
from headway.workspace.uris import identity

_log = logging.getLogger(__name__)
_CREATED, _CHANGED, _DELETED = 1, 2, 3
_PYTHON_FILES = (".py", ".pyi", ".toml", ".cfg")


class PythonEngine(Room):
    """Owns the one `TyEngine`; it runs from the first Python document on, or from `start`, until `close`.

    Args:
        encoding: How the client counts columns; ty is asked to do the same, so that its answers can be passed on.
    """

    def __init__(self, context: SessionContext, encoding: Encoding = "utf-16") -> None:
        self._context = context
        self._encoding = encoding
        self._running: asyncio.Task[None] | None = None
        self._launch: TyLaunch | None = None
        self._seen: set[str] = set()
        self.ty = TyEngine(lambda: context.documents.snapshot(), self._told)

    async def start(self) -> None:
        self._begin()

    async def close(self) -> None:
        await _ended(self._running)
        self._running = None

    def document_opened(self, document: Document) -> None:
        self._seen.add(identity(document.uri))
        if document.language == "python":
            self._begin()

    def settings_changed(self, previous: Settings) -> None:
        self._begin_anew()

    def trust_granted(self) -> None:
        self._begin_anew()

    def folders_changed(self) -> None:
        self._begin_anew()

    def files_changed(self, changes: Sequence[FileChange]) -> None:
        told: list[tuple[str, int]] = []
        for change in changes:
            if not change.uri.endswith(_PYTHON_FILES):
                continue
            key = identity(change.uri)
            if change.deleted:
                self._seen.discard(key)
                told.append((change.uri, _DELETED))
            else:
                # Whether it is new is not said; ty takes a creation that was none for a change.
                told.append((change.uri, _CHANGED if key in self._seen else _CREATED))
                self._seen.add(key)
        self.ty.files_changed(told)

    def _begin(self) -> None:
        if self._running is not None or "ty" not in self._context.settings.python.engines:
            return
        launch = self._wanted()
        if launch is None:
            self._context.degraded("ty", "ty is not installed beside Headway: completions know the open text only.")
            return
        self._launch = launch
        self.ty.expect()
        self._running = asyncio.create_task(self.ty.run(launch), name="ty")

    def _begin_anew(self) -> None:
        """Start again where it would be started otherwise now."""
        if self._running is None:
            return
        if "ty" in self._context.settings.python.engines and self._wanted() == self._launch:
            return
        previous = self._running
        self._running = asyncio.create_task(self._replace(previous), name="ty")

    async def _replace(self, previous: asyncio.Task[None]) -> None:
        try:
            await _ended(previous)
        except asyncio.CancelledError:
            await _ended(previous)
            raise
        self._launch = self._wanted()
        if self._launch is not None and "ty" in self._context.settings.python.engines:
            await self.ty.run(self._launch)

    def _wanted(self) -> TyLaunch | None:
        settings = self._context.settings
        program = settings.ty.path or own_program("ty")
        if program is None:
            return None
        folders = self._context.folders
        roots = [folder.path for folder in folders if folder.path is not None]
        found = workspace_environment(roots, interpreter=settings.python.interpreter) or fallback_environment()
        return TyLaunch(
            program=os.fspath(program),
            roots=tuple(folder.uri for folder in folders if folder.path is not None),
            cwd=roots[0] if roots and roots[0].is_dir() else Path(os.sep),
            env=clean_environment(),
            python=os.fspath(found.prefix),
            encoding=self._encoding,
            parallelism=max(1, (os.cpu_count() or 2) - 1),
        )

    def _told(self) -> None:
        if self.ty.state is EngineState.FAILED:
            self._context.degraded("ty", self.ty.message)
        elif self.ty.state in (EngineState.READY, EngineState.OFF):
            self._context.degraded("ty", None)


async def _ended(task: asyncio.Task[None] | None) -> None:
    """Cancel a task and wait until it has really ended."""
    if task is None:
        return
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("ty's supervision failed", exc_info=error)
