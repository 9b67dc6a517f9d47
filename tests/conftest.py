"""What all tests share: a loop on which time passes without waiting."""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, not whether the code is right. The rest stays as it was set,
# on CI or by who tries mutants.
settings.register_profile("unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
RunVirtual = Callable[[Coroutine[Any, Any, T]], T]


class VirtualSelector(selectors.SelectSelector):
    """Reports that nothing has come, at once, and lets the loop's clock pass by the time it was asked to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise AssertionError("everybody waits, and nothing will ever happen")
            self.now_s += max(0.0, timeout)
        return ready


class Appointment(asyncio.TimerHandle):
    """Of several for one instant, which is common where time jumps, the one that was made first comes first."""

    __slots__ = ("_number",)
    _numbers = itertools.count()

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._number = next(self._numbers)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Appointment):
            return NotImplemented
        return (self.when(), self._number) < (other.when(), other._number)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Time stands still while code runs and jumps to the next appointment when none does."""

    def __init__(self) -> None:
        self._virtual = VirtualSelector()
        super().__init__(self._virtual)
        # Appointments within the clock's resolution count as due; the virtual clock has none.
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._virtual.now_s

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        timer = Appointment(when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]  # as the loop does with its own kind
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(coroutine)


@pytest.fixture
def run_virtual() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run a coroutine on a loop whose clock advances only when everybody waits: hours pass at once, in exact order."""
    return _run
