"""Who submits what takes long to read: the loop turns meanwhile, and nobody overtakes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from headway.scheduler.errors import QueueFullError
from headway.scheduler.model import Job
from headway.session.ports import Submission, Submitted
from headway.session.submitting import Submitting


class Counter:
    """Notes what is entered, in order."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.submitting = Submitting(self.enter)

    def enter(self, submission: Submission) -> Submitted:
        if submission.job.title == "too many":
            raise QueueFullError(0, 1, 1)
        self.entered.append(submission.job.title)
        handle: Any = None  # Nobody asks for it here.
        return Submitted(handle=handle, submission=submission)


def described(title: str) -> Submission:
    return Submission(job=Job(type="probe", title=title, tasks=()), result=lambda outcome: None)


def slow(title: str, parts: int = 1000) -> Iterator[Submission | None]:
    """Takes long enough for many turns: each part until the loop's clock has moved on."""
    loop = asyncio.get_running_loop()
    for _ in range(parts):
        until_s = loop.time() + 0.0001
        while loop.time() < until_s:
            pass
        yield None
    yield described(title)


@pytest.mark.asyncio
async def test_what_is_short_is_entered_at_once() -> None:
    counter = Counter()
    found = counter.submitting.take(described("short"))
    assert isinstance(found, Submitted)
    assert counter.entered == ["short"]
    with pytest.raises(QueueFullError):
        counter.submitting.take(described("too many"))


@pytest.mark.asyncio
async def test_while_a_long_one_is_read_the_loop_turns_and_those_behind_it_wait() -> None:
    counter = Counter()
    futures = [counter.submitting.take(made) for made in (slow("first"), described("second"), slow("third", 3))]
    turns = 0
    async with asyncio.timeout(60):
        while "first" not in counter.entered:
            await asyncio.sleep(0)
            turns += 1
    assert turns >= 10  # of a tenth of a second, with three milliseconds each
    for future in futures:
        assert isinstance(future, asyncio.Future)
        await future
    assert counter.entered == ["first", "second", "third"]
    assert isinstance(counter.submitting.take(described("fourth")), Submitted)


@pytest.mark.asyncio
async def test_who_gives_up_is_not_entered_and_whose_is_refused_is_told() -> None:
    counter = Counter()
    first = counter.submitting.take(slow("given up"))
    refused = counter.submitting.take(slow("too many", 3))
    last = counter.submitting.take(described("last"))
    assert isinstance(first, asyncio.Future)
    assert isinstance(refused, asyncio.Future)
    assert isinstance(last, asyncio.Future)
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(QueueFullError):
        await refused
    await last
    assert counter.entered == ["last"]
