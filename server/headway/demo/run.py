"""One demo from start to end: server up, typing while the index is being built, typing when it is quiet, the report."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway.demo.client import Client
from headway.demo.document import Document
from headway.demo.figures import Report, figures_by_when
from headway.demo.screen import Scene, index_job
from headway.demo.statements import Statement
from headway.demo.typist import Key, Pace, Sight, When, type_statement

INDEX_LIMIT_S = 120.0
LOOK_EVERY_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done. `during` statements are typed while the index is built, `idle` ones when all is quiet.

    Both folders are the demo's own: `root` is a copy of the project, `scratch` takes the server's cache and log.
    """

    project: str
    root: Path
    scratch: Path
    sources: int
    server: Sequence[str]
    during: Sequence[Statement]
    idle: Sequence[Statement]
    pace: Pace


class Demo:
    """The one who holds what has been seen so far."""

    def __init__(self, plan: Plan, client: Client, show: Callable[[Scene], None]) -> None:
        self._plan = plan
        self._client = client
        self._show = show
        self._state: dict[str, Any] = {}
        self._changed = asyncio.Event()
        self._keys: list[Key] = []
        self._figures = figures_by_when([])
        self._documents: dict[str, Document] = {}
        self._sight: Sight | None = None
        self._phase = "starting"
        self._rounds = 0
        self._initialized_at_s = 0.0
        self._indexed_at_s: float | None = None
        client.listen("headway/queueState", self._queue_state)

    async def run(self) -> Report:
        """Do all of it.

        Raises:
            DemoError: The server ended, refused or stayed silent.
        """
        options = {"trusted": False, "cacheDir": str(self._plan.scratch / "cache")}
        start_s = await self._client.initialize(options)
        self._initialized_at_s = time.perf_counter()
        self._rounds = 1
        await self._type(self._plan.during, "typing while the index is being built", keep_busy=True)
        self._phase = "waiting for the index"
        snapshot = await self._quiet()
        await self._type(self._plan.idle, "typing when all is quiet", keep_busy=False)
        first = next((key for key in self._keys if key.wait_s is not None), None)
        index = snapshot.get("index", {})
        return Report(
            project=self._plan.project,
            server=self._server(),
            start_s=start_s,
            first_list_s=None if first is None else first.at_s + (first.wait_s or 0) - self._client.started_at_s,
            index_s=None if self._indexed_at_s is None else self._indexed_at_s - self._initialized_at_s,
            files=index.get("files", 0),
            symbols=index.get("symbols", 0),
            skipped=index.get("skipped", {}),
            sources=self._plan.sources,
            pause_reason=snapshot.get("pauseReason"),
            rounds=self._rounds,
            statements=len(self._plan.during) + len(self._plan.idle),
            by_when=self._figures,
            wall_s=time.perf_counter() - self._client.started_at_s,
        )

    async def _type(self, statements: Sequence[Statement], phase: str, *, keep_busy: bool) -> None:
        self._phase = phase
        for statement in statements:
            if keep_busy and not self._indexing():
                await self._client.call("workspace/executeCommand", {"command": "headway.reindex", "arguments": []})
                self._rounds += 1
            document = self._documents.get(statement.file)
            if document is None:
                document = self._documents[statement.file] = Document(self._client, self._plan.root / statement.file)
            self._keys += await type_statement(
                document, statement, pace=self._plan.pace, when=self._when, show=self._look
            )
            self._figures = figures_by_when(self._keys)
            if self._indexed_at_s is None:  # It may be complete before any queueState had to speak of it.
                await self._snapshot()
            self._draw()

    async def _quiet(self) -> dict[str, Any]:
        """Wait until the index is complete and nothing waits or runs; return the snapshot that says so.

        Where that does not come about in time, the last snapshot is returned, and the report says what is missing.
        """
        until_s = time.perf_counter() + INDEX_LIMIT_S
        while True:
            snapshot = await self._snapshot()
            self._draw()
            busy = any(queue["queued"] or queue["running"] for queue in snapshot.get("queues", {}).values())
            if (_complete(snapshot) and not busy) or time.perf_counter() > until_s:
                return snapshot
            await asyncio.sleep(LOOK_EVERY_S)

    async def _snapshot(self) -> dict[str, Any]:
        snapshot: dict[str, Any] = await self._client.call("headway/snapshot", {})
        self._state = snapshot
        if _complete(snapshot) and self._indexed_at_s is None:
            self._indexed_at_s = time.perf_counter()
        return snapshot

    def _queue_state(self, params: dict[str, Any]) -> None:
        was_building = index_job(self._state) is not None
        self._state = params
        if was_building and index_job(params) is None and self._indexed_at_s is None:
            self._indexed_at_s = time.perf_counter()

    def _indexing(self) -> bool:
        """Whether the index is being built or is about to be: until it was complete once, then by the newest state."""
        return self._indexed_at_s is None or index_job(self._state) is not None

    def _when(self) -> When:
        if time.perf_counter() - self._client.started_at_s < self._plan.pace.start_s:
            return When.START
        return When.INDEXING if self._indexing() else When.IDLE

    def _server(self) -> str:
        name, version = (self._client.server.get(key, "") for key in ("name", "version"))
        return f"{name} {version} (process {self._client.pid})".strip()

    def _look(self, sight: Sight) -> None:
        self._sight = sight
        self._draw()

    def _draw(self) -> None:
        self._show(
            Scene(
                project=self._plan.project,
                phase=self._phase,
                server=self._server(),
                queue_state=self._state,
                sight=self._sight,
                by_when=self._figures,
            )
        )


def _complete(snapshot: Mapping[str, Any]) -> bool:
    return bool(snapshot.get("index", {}).get("state") == "complete")


async def run(plan: Plan, show: Callable[[Scene], None]) -> Report:
    """Start the server, run the demo, end the server.

    Raises:
        DemoError: It could not be carried out; the server is gone in any case.
    """
    env = {"XDG_CACHE_HOME": str(plan.scratch / "xdg")}  # Nothing that an earlier run left makes this one faster.
    client = await Client.start(plan.server, root=plan.root, log=plan.scratch / "server.log", env=env)
    try:
        report = await Demo(plan, client, show).run()
    finally:
        code = await client.close()
    return replace(report, exit_code=code)
