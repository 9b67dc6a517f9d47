"""An endpoint that turns texts into vectors, in the form that OpenAI, Ollama, llama.cpp, vLLM and others share.

What comes back is a result in every case: vectors' bytes, or a `Setback` that says what to do about it. The key is sent
as a bearer token and stands in no message, no log and no representation.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from headway.engines.http import HttpClient, HttpError, Reply, SlowError

# What to do: wait as told (overloaded) or ever longer (unavailable), ask a person (refused), send less (unfit, slow).
SetbackKind: TypeAlias = Literal["overloaded", "unavailable", "refused", "unfit", "slow"]

_OVERLOADED: Final = frozenset({429, 503})
_REFUSED: Final = frozenset({301, 302, 303, 307, 308, 401, 402, 403, 404, 405})
_SHOWN_CHARS: Final = 200
_MOST_RETRY_AFTER_S: Final = 3_600.0


class EndpointAnswerError(ValueError):
    """The endpoint's answer holds no vectors for what was sent; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointConfig:
    """An endpoint. `url` ends where "/embeddings" is appended; `dimensions` None: as many as the model has."""

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    dimensions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setback:
    """Why there are no vectors. `reason` is for people; `retry_after_s` is what the endpoint asked for, if it did."""

    kind: SetbackKind
    reason: str
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What `vectors_of` reads, and how long it took to come."""

    body: bytes
    took_s: float


class Endpoint:
    """Asks for vectors. Lives on the loop.

    Raises:
        AddressError: the URL is none; see `http`.
    """

    def __init__(self, config: EndpointConfig) -> None:
        self._client = HttpClient(config.url)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if config.api_key:
            self._headers["Authorization"] = f"Bearer {config.api_key}"

    @property
    def server(self) -> str:
        """Host and port, for people."""
        return self._client.server

    def close(self) -> None:
        """Close what waits for a next time."""
        self._client.close()

    async def ask(self, body: bytes, limit_s: float) -> Answer | Setback:
        """Send what `request_body` gave."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        try:
            reply = await self._client.post("/embeddings", body, self._headers, limit_s)
        except SlowError as error:
            return Setback(kind="slow", reason=str(error))
        except HttpError as error:
            return Setback(kind="unavailable", reason=str(error))
        if reply.status == 200:
            return Answer(body=reply.body, took_s=loop.time() - began_s)
        return _setback(reply)


def request_body(config: EndpointConfig, texts: Sequence[str]) -> bytes:
    """Return the JSON that asks for the vectors of texts."""
    said: dict[str, Any] = {"model": config.model, "input": list(texts)}
    if config.dimensions is not None:
        said["dimensions"] = config.dimensions
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "replace")


def texts_of(body: bytes) -> list[str]:
    """Return the texts that `request_body` was given."""
    texts: list[str] = json.loads(body)["input"]
    return texts


def vectors_of(body: bytes, count: int) -> list[list[float]]:
    """Return the vectors in an endpoint's answer, in the order of the texts.

    Raises:
        EndpointAnswerError: see there.
    """
    try:
        items = json.loads(body)["data"]
        placed = sorted(items, key=lambda item: item.get("index", 0))
        found = [[float(value) for value in item["embedding"]] for item in placed]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise EndpointAnswerError(f"it is not of the expected form ({type(error).__name__})") from error
    if len(found) != count:
        raise EndpointAnswerError(f"{len(found)} vectors for {count} texts")
    if len({len(vector) for vector in found}) != 1:
        raise EndpointAnswerError("its vectors differ in length")
    return found


def _setback(reply: Reply) -> Setback:
    reason = f"HTTP {reply.status}{_said(reply.body)}"
    if reply.status in _OVERLOADED:
        after_s = _retry_after_s(reply.headers.get("retry-after"))
        return Setback(kind="overloaded", reason=reason, retry_after_s=after_s)
    if reply.status in _REFUSED:
        return Setback(kind="refused", reason=reason)
    if 400 <= reply.status < 500 or reply.status == 500:
        return Setback(kind="unfit", reason=reason)
    return Setback(kind="unavailable", reason=reason)


def _said(body: bytes) -> str:
    """Return an endpoint's own words about an error, in short; nothing where it has none."""
    try:
        error = json.loads(body)["error"]
        text = error["message"] if isinstance(error, dict) else error
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return f": {' '.join(str(text).split())[:_SHOWN_CHARS]}"


def _retry_after_s(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for (a number or a date), at most an hour."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        from email.utils import parsedate_to_datetime  # a start would wait for it

        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        known = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        seconds = (known - datetime.now(UTC)).total_seconds()
    return min(max(0.0, seconds), _MOST_RETRY_AFTER_S) if math.isfinite(seconds) else None
