"""A person at the keys: types a statement at a steady pace and asks for a list with each key, as editors do."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.demo.client import Answer, Request
from headway.demo.document import Document
from headway.demo.statements import Statement

WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """`key_s` between keys, `pause_s` between statements; for the last list of each a person waits `patience_s`.

    `start_s` are the first seconds of a server, in which processes come up and engines read their first files.
    """

    key_s: float = 0.06
    pause_s: float = 0.25
    patience_s: float = 5.0
    start_s: float = 5.0


class When(enum.StrEnum):
    """What the server had to do at a key: come up, build the index, or nothing else."""

    START = "the first seconds"
    INDEXING = "while indexing"
    IDLE = "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A list asked for when the first `count` characters of a statement stood there."""

    at_s: float
    when: When
    count: int
    request: Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key that asked for a list.

    `wait_s` is from this key to the first list that was asked for at it or after it: what a person perceives, however
    many requests in between were cancelled. None: no such list came. `hit` says whether the known name was in this
    key's own list; None where none was due or the next key came first.
    """

    at_s: float
    when: When
    wait_s: float | None
    hit: bool | None
    failed: str | None = None  # the error, where this key's own answer was one and nobody had cancelled it


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is to be seen at the moment: the text so far, the known name, and the newest list's labels."""

    statement: Statement
    typed: str
    labels: tuple[str, ...]
    hit: bool | None


async def type_statement(
    document: Document,
    statement: Statement,
    *,
    pace: Pace,
    when: Callable[[], When],
    show: Callable[[Sight], None],
) -> list[Key]:
    """Type, wait for the last list, and put the line back. `show` is called when no answer is being waited for.

    Raises:
        ServerEndedError: The server is gone.
    """
    document.cut((statement.line, statement.column))
    asked: list[Asked] = []
    started_s = time.perf_counter()
    for count, key in enumerate(statement.text, 1):
        await asyncio.sleep(max(0.0, started_s + count * pace.key_s - time.perf_counter()))
        at_s = time.perf_counter()
        document.insert(key)
        if key == "." or key in WORD:
            if asked and not asked[-1].request.answer.done():
                document.cancel(asked[-1].request)
            asked.append(Asked(at_s=at_s, when=when(), count=count, request=document.complete(key)))
            # A frame takes as long as some answers do: it is drawn where it delays none.
            answer = await _within(asked[-1].request, started_s + (count + 1) * pace.key_s - time.perf_counter())
            if answer is not None:
                show(_seen(statement, count, answer))
    if asked:
        last = asked[-1].request
        answer = await _within(last, pace.patience_s)
        if answer is None:
            document.cancel(last)
        show(_seen(statement, len(statement.text), answer))
    gone_s = time.perf_counter()
    document.restore()
    await asyncio.sleep(pace.pause_s)
    return keys_of(statement, asked, gone_s)


async def _within(request: Request, limit_s: float) -> Answer | None:
    if limit_s > 0 or request.answer.done():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, limit_s)):
                return await asyncio.shield(request.answer)
    return None


def keys_of(statement: Statement, asked: Sequence[Asked], gone_s: float) -> list[Key]:
    """Judge each key; what came after `gone_s`, when the person had gone on, is nothing that came."""
    keys: list[Key] = []
    served_at_s: float | None = None
    for one in reversed(asked):  # Since a key is also served by the list of a later one.
        request = one.request
        answer = request.answer.result() if request.answer.done() else None
        hit, failed = None, None
        if answer is not None and answer.at_s <= gone_s and not request.cancelled:
            if answer.error is None:
                served_at_s = answer.at_s if served_at_s is None else min(served_at_s, answer.at_s)
                hit = holds(answer.result, statement.label) if one.count >= statement.known_from else None
            else:
                failed = str(answer.error.get("message", "error"))
        wait_s = None if served_at_s is None else served_at_s - one.at_s
        keys.append(Key(at_s=one.at_s, when=one.when, wait_s=wait_s, hit=hit, failed=failed))
    return keys[::-1]


def _seen(statement: Statement, count: int, answer: Answer | None) -> Sight:
    found = items(answer.result) if answer is not None and answer.error is None else []
    ranked = sorted(found, key=lambda item: str(item.get("sortText") or item.get("label")))
    hit = holds(answer.result, statement.label) if answer is not None and count >= statement.known_from else None
    labels = tuple(str(item.get("label")) for item in ranked[:8])
    return Sight(statement=statement, typed=statement.text[:count], labels=labels, hit=hit)


def items(result: Any) -> list[Mapping[str, Any]]:
    """The items of a completion result in any of its three forms."""
    if result is None:
        return []
    return list(result) if isinstance(result, list) else list(result.get("items") or [])


def holds(result: Any, name: str) -> bool:
    """Whether a list offers `name`, also with its parameters (`name(self)`) or an import behind it."""
    return any(_word(item.get("label")) == name or _word(item.get("insertText")) == name for item in items(result))


def _word(text: str | None) -> str:
    """The identifier that a label begins with."""
    for index, character in enumerate(text or ""):
        if character not in WORD:
            return (text or "")[:index]
    return text or ""
