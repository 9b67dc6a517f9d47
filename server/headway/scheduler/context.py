"""What code inside a step can ask and say: `current_step()`. Works alike on the loop, in threads and in workers."""

from __future__ import annotations

import contextlib
import contextvars

from headway.scheduler.errors import NoCurrentStepError

# As in `typing`, whose import, like that of the module below, a starting worker process can do without.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any

    from headway.scheduler.executors.base import StepContextData


class StepContext:
    """The step that runs. Executors make one per run and `enter` it around the call.

    Args:
        data: What the core says about the run.
        cancelled: Cheap and callable from the step's own thread.
        heartbeat: Says that the step lives; callable from the step's own thread.
        report_partial: Hands over a value that may serve when a time limit ends the step.
        preempted: Whether something more urgent waits.
        interruptible: Makes the block in which a cancel may interrupt whatever runs; by default nothing can.
    """

    __slots__ = ("_cancelled", "_heartbeat", "_interruptible", "_partial", "_preempted", "data")

    def __init__(
        self,
        data: StepContextData,
        *,
        cancelled: Callable[[], bool],
        heartbeat: Callable[[], None],
        report_partial: Callable[[Any], None],
        preempted: Callable[[], bool] = lambda: False,
        interruptible: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self.data = data
        self._cancelled = cancelled
        self._heartbeat = heartbeat
        self._partial = report_partial
        self._preempted = preempted
        self._interruptible = interruptible

    @property
    def job_id(self) -> str:
        return self.data.job_id

    @property
    def task_id(self) -> str:
        return self.data.task_id

    @property
    def attempt(self) -> int:
        """Runs of the task so far, this one included."""
        return self.data.attempt

    @property
    def results(self) -> Mapping[str, Any]:
        """Values of the tasks that this one depends on, by name."""
        return self.data.results

    @property
    def previous(self) -> Mapping[str, Any]:
        """Values of the task's earlier steps, by name."""
        return self.data.previous

    @property
    def deadline_at_s(self) -> float | None:
        """Instant of the monotonic clock after which nobody waits for this any more."""
        return self.data.deadline_at_s

    @property
    def devices(self) -> tuple[int, ...]:
        """Indices of the GPUs that were given to this step."""
        return self.data.devices

    def cancelled(self) -> bool:
        """Return whether the step was told to stop; code that computes long asks now and then."""
        return self._cancelled()

    def preempted(self) -> bool:
        """Return whether something more urgent waits for this place, so that an early end would help."""
        return self._preempted()

    def interruptible(self) -> AbstractContextManager[None]:
        """Return a block in which a cancel interrupts the code at once, by an exception, and the worker lives on.

        For long calls into code that cannot ask `cancelled()` and bears an interruption at any point. In worker
        processes only; elsewhere the block changes nothing.
        """
        return self._interruptible()

    def heartbeat(self) -> None:
        """Say that the step lives, where its task's `TimeoutPolicy.heartbeat_s` asks for it."""
        self._heartbeat()

    def report_partial(self, value: Any) -> None:
        """Hand over a value that becomes the outcome's (`partial`) if a time limit with FALLBACK ends the step."""
        self._partial(value)


CURRENT: contextvars.ContextVar[StepContext] = contextvars.ContextVar("headway_current_step")


def current_step() -> StepContext:
    """Return the context of the step that this code runs in.

    Raises:
        NoCurrentStepError: no step runs here.
    """
    try:
        return CURRENT.get()
    except LookupError:
        raise NoCurrentStepError from None
