"""Real engines: each is started once for a test that asks for it, and is gone afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from headway.engines import ruff, ty
from headway.engines.environment import fallback_environment, own_program
from headway.engines.server import LanguageServer, ServerLaunch
from headway.scheduler.executors.children import clean_environment
from headway.workspace.documents import Document
from headway.workspace.uris import identity


class Desk:
    """Open documents of a workspace folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.open: dict[str, Document] = {}

    def write(self, name: str, text: str, *, version: int = 1) -> Document:
        document = Document(uri=(self.root / name).as_uri(), language="python", version=version, text=text)
        self.open[identity(document.uri)] = document
        return document

    def launch_ty(self, **more: object) -> ServerLaunch:
        return ty.launch(
            str(own_program("ty")),
            roots=(self.root.as_uri(),),
            cwd=self.root,
            env=clean_environment(),
            python=str(fallback_environment().prefix),
        )

    def launch_ruff(self) -> ServerLaunch:
        return ruff.launch(
            str(own_program("ruff")), roots=(self.root.as_uri(),), cwd=self.root, env=clean_environment()
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@asynccontextmanager
async def _running(server: LanguageServer, launch: ServerLaunch) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(server.run(launch))
    try:
        async with asyncio.timeout(60):
            await server.ready()
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


Running = Callable[[LanguageServer, ServerLaunch], AbstractAsyncContextManager[asyncio.Task[None]]]


@pytest.fixture
def running() -> Running:
    """Run a server for the time of a `with`, from when it is ready until its process is gone."""
    return _running
