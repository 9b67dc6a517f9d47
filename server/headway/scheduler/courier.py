"""Carries errands between the public face, the core and the loop's lanes: the short way through the shell.

What `Engine` does with inputs and commands is done here with plain calls, as several come with each of very many tasks.
Which calls may go this way, and what becomes of them, is the core's matter (see `errands`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from headway.scheduler.core import SchedulerCore
from headway.scheduler.errand import Errand
from headway.scheduler.executors.base import Executors, StepContextData, StepResult
from headway.scheduler.executors.loop import LoopExecutor
from headway.scheduler.handle import JobHandle
from headway.scheduler.model import Priority
from headway.scheduler.stimuli import HeartbeatSeen, PartialReported

if TYPE_CHECKING:
    from headway.scheduler.engine import Engine


AT_ONCE: Final = 200  # are counted within a third of a millisecond


class Tallying(Protocol):
    """Who counts errands: each is put where it belongs as it comes, starts and has done well; see `tally`."""

    queued: list[Errand]
    started: list[Errand]
    ended: list[Errand]
    turn_s: float

    def turn(self, now_s: float) -> None: ...
    def unfolded(self, errand: Errand) -> None: ...


class Courier:
    """Where errands come in, are begun, and end.

    Args:
        engine: Does what is out of the ordinary.
        core: Decides.
        executors: Errands run on the loop, if that is the one of this package.
    """

    __slots__ = ("_core", "_engine", "_errands", "_loop", "tally")

    def __init__(self, engine: Engine, core: SchedulerCore, executors: Executors) -> None:
        self._engine = engine
        self._core = core
        self._errands = core.errands
        self._loop = executors.loop if isinstance(executors.loop, LoopExecutor) else None
        self.tally: Tallying | None = None
        core.errands.unfolded = self._unfolded

    def run(
        self, call: Callable[..., Any], args: tuple[Any, ...], name: str | None, priority: Priority
    ) -> JobHandle | None:
        """Submit a coroutine's call without wishes. None: it has to go the long way, where it may be refused."""
        if self._loop is None:
            return None
        engine, core = self._engine, self._core
        now_s = engine.clock()
        errand = core.run_errand(call, args, name, priority, now_s)
        if errand is None:
            return None
        handle = errand.waiter = JobHandle(engine, -errand.number, errand)
        tally = self.tally
        if tally is not None:
            queued = tally.queued
            if now_s >= tally.turn_s or len(queued) >= AT_ONCE:
                tally.turn(now_s)
            queued.append(errand)
        if errand.run_id:
            self.begin(errand)
        commands = core.follow()
        if commands:
            engine.apply(commands)
        if engine.timers.soonest_s < engine.armed_at_s:
            engine.look_at_time()
        return handle

    def begin(self, errand: Errand) -> None:
        """Hand one over that has its place."""
        assert self._loop is not None
        if self.tally is not None:
            self.tally.started.append(errand)
        self._engine.running[errand.run_id] = self._loop.begin_call(errand, self)

    # ---- from the lanes ---------------------------------------------------------------------------------------------

    def succeeded(self, errand: Errand, value: Any, began_at_s: float, now_s: float) -> None:
        """Take what a call has returned."""
        if errand.record is not None or not self._errands.open:  # somebody is to be told by events
            self.ended(errand, StepResult(value, None, False, began_at_s, now_s - began_at_s, None, "loop"))
            return
        engine, core, tally, waiter = self._engine, self._core, self.tally, errand.waiter
        running = engine.running
        del running[errand.run_id]
        following = core.errand_ended(errand, value, now_s - began_at_s, now_s)
        if tally is not None:
            ended = tally.ended
            if now_s >= tally.turn_s or len(ended) >= AT_ONCE:
                tally.turn(now_s)
            ended.append(errand)
        errand.waiter = None  # They hold each other: left so, only the collector would find them.
        waiter.resolve(errand)
        if following is not None:
            if tally is not None:
                tally.started.append(following)
            assert self._loop is not None
            running[following.run_id] = self._loop.begin_call(following, self)
        if following is None or core.admission.attention:  # else nobody's turn has come
            commands = core.follow()
            if commands:
                engine.apply(commands)
        if engine.timers.soonest_s < engine.armed_at_s:
            engine.look_at_time()

    def ended(self, errand: Errand, result: StepResult) -> None:
        """Take an end that is out of the ordinary."""
        self._core.errands.unfold(errand)
        if self._engine.running.pop(errand.run_id, None) is not None:
            self._engine.step_ended(errand.run_id, result)

    def heartbeat(self, errand: Errand) -> None:
        self._engine.handle(HeartbeatSeen(errand.run_id))

    def partial(self, errand: Errand, value: Any) -> None:
        self._core.errands.unfold(errand)
        self._engine.handle(PartialReported(errand.run_id, value))

    def context_data(self, errand: Errand) -> StepContextData:
        return self._core.errands.context_data(errand)

    # ---- from the core ----------------------------------------------------------------------------------------------

    def _unfolded(self, errand: Errand) -> None:
        self._engine.waiters[errand.ticket] = errand.waiter
        if self.tally is not None:
            self.tally.unfolded(errand)
