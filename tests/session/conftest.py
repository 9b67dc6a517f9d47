"""A session without a client process: a real scheduler all on this loop, real engines, a client that remembers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headway.features.analysis import Finding
from headway.scheduler import Scheduler, SchedulerConfig
from headway.scheduler.executors.inline import inline_executors
from headway.session.ports import Folder, MessageLevel, Room
from headway.session.session import Session, SessionOptions
from headway.workspace.documents import Document
from headway.workspace.text import Position, Text


class RememberingClient:
    """Takes what the session says."""

    def __init__(self) -> None:
        self.pulls_diagnostics = False
        self.watches_files = True
        self.published: list[tuple[str, int | None, list[Finding]]] = []
        self.keys: dict[str, tuple[Sequence[str], Sequence[str]]] = {}

    def publish(self, uri: str, version: int | None, findings: Sequence[Finding], text: Text | None = None) -> None:
        self.published.append((uri, version, list(findings)))

    def refresh_diagnostics(self) -> None:
        raise AssertionError("nobody said that the client can")

    def offer_keys(self, language: str, completion: Sequence[str], signatures: Sequence[str]) -> None:
        self.keys[language] = (completion, signatures)

    def show(self, level: MessageLevel, text: str) -> None:
        raise AssertionError(text)


class Office:
    """A session, and the hands that type in it."""

    def __init__(self, session: Session, client: RememberingClient, root: Path) -> None:
        self.session = session
        self.client = client
        self.root = root

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def add(self, *rooms: Room) -> None:
        self.session.rooms += rooms

    async def start(self) -> None:
        """The client is ready."""
        self.session.begin()
        for room in self.session.rooms:
            await room.start()

    def open(self, name: str, text: str, *, language: str = "python", uri: str | None = None) -> Document:
        document = Document(uri=uri or self.uri(name), language=language, version=1, text=text)
        self.session.open_document(document)
        return document

    def set(self, name: str, text: str) -> Document:
        known = self.session.documents.get(self.uri(name))
        assert known is not None
        changed = Document(uri=known.uri, language=known.language, version=known.version + 1, text=text)
        self.session.change_document(known.uri, changed.version, changed.content)
        newest = self.session.documents.get(known.uri)
        assert newest is not None
        return newest

    def at(self, source: str) -> tuple[str, Position]:
        """Return a text without its `$0`, and where that was."""
        offset = source.index("$0")
        text = source.replace("$0", "", 1)
        place = Document(uri="", language="", version=0, text=text).position_at(offset)
        return text, place


# However busy others keep this machine, what a test asks for is started.
HEEDLESS = SchedulerConfig(cpu_high=2.0, cpu_low=2.0, memory_high=2.0, memory_low=2.0)

OpenOffice = Callable[..., AbstractAsyncContextManager[Office]]


@pytest.fixture
def office(tmp_path: Path) -> OpenOffice:
    @asynccontextmanager
    async def opened(*, trusted: bool = False, settings: Any = None) -> AsyncIterator[Office]:
        root = tmp_path / "workspace"
        root.mkdir(exist_ok=True)
        client = RememberingClient()
        folder = Folder(uri=root.as_uri(), name=root.name, path=root)
        options = SessionOptions(
            cache_dir=tmp_path / "cache", folders=(folder,), trusted=trusted, settings_tree=settings
        )
        async with Scheduler(HEEDLESS, executors=inline_executors()) as scheduler:
            session = Session(scheduler=scheduler, client=client, options=options)
            try:
                yield Office(session, client, root)
            finally:
                await session.close()

    return opened
