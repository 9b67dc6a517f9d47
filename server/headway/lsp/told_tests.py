"""What test runs tell before they end, as `$/progress` under a `partialResultToken`: in order, several at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Final, cast

from headway.features.testing import TestNews
from headway.lsp import protocol as wire
from headway.session.ports import Folder, Parts
from headway.workspace.uris import path_to_uri, quoted_path

_INTERVAL_S: Final = 0.05
# A message of hundreds of kilobytes would hold up what comes behind it.
_MOST_TOGETHER: Final = 200


class ToldTests:
    """Sends what a job of type `tests` tells while this is entered; the last of it when it is left."""

    def __init__(self, parts: Parts, send: Callable[[wire.TestParts], None]) -> None:
        self._parts = parts
        self._send = send
        self._held: list[wire.TestEvent] = []
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> ToldTests:
        self._parts.listen(self._take)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parts.listen(None)
        self._flush()

    def _take(self, part: tuple[Folder, TestNews]) -> None:
        self._held.append(event_of(*part))
        if len(self._held) >= _MOST_TOGETHER:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_INTERVAL_S, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._held:
            held, self._held = self._held, []
            self._send({"tests": held})


def event_of(folder: Folder, news: TestNews) -> wire.TestEvent:
    """Return what a run said; what it did not say has no key."""
    event: wire.TestEvent = {
        "event": cast("wire.TestEventKind", news.kind),
        "folder": folder.uri,
        "id": news.test_id,
    }
    if news.path is not None:
        event["uri"] = _uri(folder, str(news.path))
    if news.line is not None:
        event["line"] = news.line
    if news.duration_s is not None:
        event["durationMs"] = news.duration_s * 1000
    if news.message:
        event["message"] = news.message
    if news.output:
        event["output"] = news.output
    if news.trace:
        event["trace"] = [
            {"uri": _uri(folder, str(place.path)), "line": place.line, "message": place.message} for place in news.trace
        ]
    if news.expected is not None and news.actual is not None:
        event.update({"expected": news.expected, "actual": news.actual})
    if news.kind == "covered":
        event.update(
            {"executed": [[*lines] for lines in news.executed], "missing": [[*lines] for lines in news.missing]}
        )
    if news.port is not None:
        event["port"] = news.port
    return event


def _uri(folder: Folder, path: str) -> str:
    """Return a file's URI as the client would spell it, below the folder as it spelled that."""
    root = f"{folder.path}/"
    if path.startswith(root):
        return f"{folder.uri.rstrip('/')}/{quoted_path(path[len(root) :])}"
    return path_to_uri(path)
