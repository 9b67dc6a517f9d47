"""Which late work is given up so that what comes now is still on time. Pure; part of the core.

Under overload a queue that is served in order answers everybody too late, and all that it does is for nothing. Work
below HIGH is delayed by its rank and duplicates are gone by their keys; what is left is HIGH work that can no longer
be on time. It makes room, but only where somebody gains: while somebody behind it still can be. A burst after which
nothing comes is answered late, and whole.

Source: B. Maurer, "Fail at Scale", ACM Queue 13(8), 2015 (a standing queue is told by its waits, not by its length).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from headway.scheduler.admission import Admission
from headway.scheduler.config import SchedulerConfig
from headway.scheduler.endings import Endings
from headway.scheduler.errand import Errand
from headway.scheduler.model import ErrorKind, Failure, OnTimeout, Priority
from headway.scheduler.records import TaskRecord

_HIGH: Final = Priority.HIGH
_GAIN: Final = 0.125  # of a new run in what counts as usual
_DEVIATIONS: Final = 2.0
_RECOVERED: Final = 0.5  # of the promised time: whoever is first has waited less


def _folds_nothing(errand: Errand) -> TaskRecord:
    raise AssertionError("an errand without those who keep it")


class Overload:
    """Watches how long HIGH work waits, and gives up what is late while that lasts."""

    __slots__ = ("_admission", "_config", "_deviation_s", "_endings", "_late_since_s", "_mean_s", "sheds", "unfold")

    def __init__(self, config: SchedulerConfig, admission: Admission, endings: Endings) -> None:
        self._config = config
        self._admission = admission
        self._endings = endings
        self._mean_s = 0.0
        self._deviation_s = 0.0
        self._late_since_s: float | None = None  # whoever came first has been late ever since
        self.sheds = False
        self.unfold: Callable[[Errand], TaskRecord] = _folds_nothing  # of `Errands`

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold."""
        self._config = config

    def ran(self, ran_s: float) -> None:
        """Learn from a HIGH task that has completed how long one takes."""
        error_s = ran_s - self._mean_s
        self._mean_s += _GAIN * error_s
        self._deviation_s += _GAIN * (abs(error_s) - self._deviation_s)

    def relieve(self, now_s: float) -> None:
        """Give up the HIGH tasks whose turn has come but that can no longer be on time, if that helps others."""
        admission, config = self._admission, self._config
        if not admission.waiting[_HIGH] or admission.paused[_HIGH]:
            self._late_since_s, self.sheds = None, False
            return
        lines = [line for line in admission.queue.lines() if line.key[0] is _HIGH]
        oldest_s = min(head.since_s for line in lines if (head := line.head()) is not None)
        longest_s = config.high_promise_s - self._mean_s - _DEVIATIONS * self._deviation_s
        if now_s - oldest_s <= longest_s:
            self._late_since_s = None
            if now_s - oldest_s < config.high_promise_s * _RECOVERED:
                self.sheds = False
            return
        if self._late_since_s is None:
            self._late_since_s = now_s
        if not self.sheds and now_s - self._late_since_s < config.shed_after_s:
            return
        self.sheds = True
        for line in lines:
            if now_s - line.newest_s > longest_s:
                continue  # nobody would gain by it
            while (head := line.head()) is not None and now_s - head.since_s > longest_s:
                if head.item.in_attempt:
                    break  # what was begun is not thrown away
                self._shed(self.unfold(head.item) if isinstance(head.item, Errand) else head.item, now_s)

    def _shed(self, record: TaskRecord, now_s: float) -> None:
        waited_s = now_s - record.ready_at_s
        promise_s = self._config.high_promise_s
        failure = Failure(
            kind=ErrorKind.OVERLOADED,
            message=f"{record.task.name} was given up after {waited_s:.3g} s in the queue: more is asked for than can "
            f"be answered in time; ask again in {promise_s:g} s",
            retry_after_s=promise_s,
        )
        self._admission.remove(record, now_s)
        how = OnTimeout.FALLBACK if record.task.timeout.on_hard is OnTimeout.FALLBACK else OnTimeout.FAIL
        self._endings.end_by_policy(record, how, failure, now_s)
