"""Garbage in cycles is looked for in pauses, and what is alive is not looked through twice."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from headway.lsp.collecting import Collecting

HOUR_S = 3600.0


class Thing:
    """Garbage in a cycle, once nobody holds it."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    gc.enable()


def moved_on() -> weakref.ref[Thing]:
    """Return a cycle that is garbage and no longer young, after as much as makes a look worthwhile."""
    thing = Thing()
    seen = weakref.ref(thing)
    gc.collect(0)
    for _ in range(20):
        gc.collect(1)
    del thing
    return seen


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scenario())


def test_it_waits_for_a_pause_but_not_for_ever() -> None:
    async def scenario() -> None:
        silent_s = 0.0
        collecting = Collecting(lambda: silent_s)
        collecting.start()
        now_s = asyncio.get_running_loop().time()
        first = moved_on()
        collecting.look(now_s + 1)
        assert first() is not None, "somebody is typing"
        silent_s = 2.0
        collecting.look(now_s + 2)
        assert first() is None
        silent_s = 0.0
        second = moved_on()
        collecting.look(now_s + 30)
        assert second() is not None
        collecting.look(now_s + 90)
        assert second() is None, "there was no pause for too long"
        collecting.close()

    run(scenario)


def test_who_has_been_away_for_long_is_looked_after_rarely() -> None:
    async def scenario() -> None:
        silent_s = iter((0.0, 1.0, 8.0, 40.0, HOUR_S))
        collecting = Collecting(lambda: next(silent_s))
        assert [collecting.next_look_s() for _ in range(5)] == [0.5, 0.5, 2.0, 10.0, 15.0]

    run(scenario)


def test_what_is_alive_is_set_aside_and_looked_through_again_in_a_long_pause() -> None:
    async def scenario() -> None:
        silent_s = 2.0
        collecting = Collecting(lambda: silent_s)
        collecting.start()
        now_s = asyncio.get_running_loop().time()
        held = Thing()
        seen = weakref.ref(held)
        moved_on()
        collecting.look(now_s + 1)
        assert not any(found is held for found in gc.get_objects()), "the next look need not go through it"
        del held
        moved_on()
        collecting.look(now_s + 2)
        assert seen() is not None
        silent_s = 100.0
        collecting.look(now_s + HOUR_S)
        assert seen() is None
        collecting.close()

    run(scenario)


def test_full_collections_no_longer_come_by_themselves() -> None:
    async def scenario() -> None:
        collecting = Collecting(lambda: 0.0)
        collecting.start()
        full: list[int] = []

        def count(phase: str, info: dict[str, int]) -> None:
            if phase == "start":
                full.append(info["generation"])

        gc.callbacks.append(count)
        try:
            kept = [[number] for number in range(500_000)]
        finally:
            gc.callbacks.remove(count)
        assert len(kept) == 500_000
        assert full, "the young are looked through as ever"
        assert max(full) < 2
        collecting.close()

    run(scenario)
