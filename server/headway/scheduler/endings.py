"""How tasks and attempts end: well, by policy, by a fallback, or to be tried again. Pure; part of the core."""

from __future__ import annotations

from typing import Any, Final, Protocol

from headway.scheduler.admission import Admission
from headway.scheduler.attempts import Again, Attempts
from headway.scheduler.model import ErrorKind, Failure, OnTimeout, Outcome, Priority, TaskState
from headway.scheduler.outbox import Outbox
from headway.scheduler.records import ENDED, Cause, Run, TaskRecord, Wait
from headway.scheduler.stimuli import CallFallback
from headway.scheduler.timeouts import Timers

_RUNNING: Final = TaskState.RUNNING
_COMPLETED: Final = TaskState.COMPLETED


class Listener(Protocol):
    """Who is told what becomes of tasks."""

    def job_started(self, record: TaskRecord, now_s: float) -> None:
        """The first task of its job starts."""

    def task_ended(self, record: TaskRecord, now_s: float) -> None: ...


class Endings:
    """Ends tasks, each exactly once, and counts by priority how many wait and run."""

    def __init__(
        self,
        admission: Admission,
        attempts: Attempts,
        timers: Timers[Run | TaskRecord],
        outbox: Outbox,
        listener: Listener,
    ) -> None:
        self.queued = [0] * len(Priority)
        self.running = [0] * len(Priority)
        self._fallbacks: dict[int, tuple[TaskRecord, Failure]] = {}
        self._admission = admission
        self._attempts = attempts
        self._timers = timers
        self._outbox = outbox
        self._listener = listener

    def end(
        self,
        record: TaskRecord,
        state: TaskState,
        now_s: float,
        *,
        value: Any = None,
        error: Failure | None = None,
        fallback: bool = False,
        partial: bool = False,
    ) -> None:
        """End a task, once and for all. It holds nothing any more, or its run is being ended apart from it."""
        before = record.state
        if before is _RUNNING:
            self.running[record.priority] -= 1
        elif before in ENDED:
            raise AssertionError(f"task {record.task_id} ended twice")
        else:
            self.queued[record.priority] -= 1
        if record.timer is not None:
            self._timers.cancel(record.timer)
            record.timer = record.wait = None
        if self._fallbacks:
            self._fallbacks.pop(record.key, None)
        record.state = state
        record.error = error
        record.value = record.values = record.partial = None
        record.outcome = Outcome(
            state,
            value,
            error,
            fallback,
            partial,
            record.attempt,
            record.waited_s,
            record.ran_s,
            record.started_at_s,
            now_s,
            record.pid,
        )
        if self._outbox.observed:
            self._outbox.task_ended(record, now_s)
        self._listener.task_ended(record, now_s)

    def end_doomed(self, record: TaskRecord, now_s: float) -> None:
        """End a task that is not to start any more, if it has not ended by itself."""
        failure = record.doom
        if failure is not None and record.state not in ENDED:
            self._admission.remove(record, now_s)
            state = TaskState.SKIPPED if failure.kind is ErrorKind.SKIPPED else TaskState.CANCELLED
            self.end(record, state, now_s, error=failure)

    def complete(self, record: TaskRecord, value: Any, now_s: float) -> None:
        """End a task whose work is done."""
        if record.task.retry.dependency is not None:
            self._attempts.ended(record.task, None, now_s)
        self.end(record, _COMPLETED, now_s, value=value)

    def attempt_failed(self, record: TaskRecord, failure: Failure, now_s: float) -> None:
        """Let a task wait for its next attempt, or end it as failed."""
        self._attempts.ended(record.task, failure, now_s)
        record.in_attempt = False
        decision = self._attempts.after_failure(record, failure, now_s)
        if not isinstance(decision, Again):
            self.end(record, TaskState.FAILED, now_s, error=decision.failure)
            return
        if failure.kind is ErrorKind.OUT_OF_MEMORY:
            record.memory_factor *= 2
            record.shape = self._admission.quota.with_more_memory(record.shape, record.memory_factor)
        record.error = failure
        record.step_repeats = 0
        record.quantum_s = 0.0
        self.running[record.priority] -= 1
        self.queued[record.priority] += 1
        record.state = TaskState.READY
        self._wait_to_retry(record, decision.delay_s, now_s)
        if self._outbox.observed:
            self._outbox.task_retrying(record, decision.delay_s, failure, now_s)

    def leave_alone(self, record: TaskRecord, hold_s: float, now_s: float) -> None:
        """Let a task wait, or fail it, because what it depends on has failed too often of late."""
        if self._attempts.fails_fast(record.priority):
            failure = Failure(
                kind=ErrorKind.SERVICE_UNAVAILABLE,
                message=f"{record.task.retry.dependency} fails repeatedly and is left alone for {hold_s:.3g} s",
                retry_after_s=hold_s,
            )
            self.end(record, TaskState.FAILED, now_s, error=failure)
        else:
            self._wait_to_retry(record, hold_s, now_s)

    def run_stopped(self, record: TaskRecord, run: Run, now_s: float) -> None:
        """Draw the consequence of a run that was told to stop, and has, or is given up."""
        failure = run.failure
        assert failure is not None
        if run.cause is Cause.CANCEL:
            self._attempts.ended(record.task, failure, now_s)
            self.end(record, TaskState.CANCELLED, now_s, error=failure)
        elif run.how is OnTimeout.RETRY or run.how is None:
            self.attempt_failed(record, failure, now_s)
        else:
            self._attempts.ended(record.task, failure, now_s)
            self.end_by_policy(record, run.how, failure, now_s)

    def end_by_policy(self, record: TaskRecord, how: OnTimeout, failure: Failure, now_s: float) -> None:
        """End a task that ran out of time as its policy says."""
        if how is OnTimeout.SKIP:
            self.end(record, TaskState.SKIPPED, now_s, error=failure)
        elif how is not OnTimeout.FALLBACK:
            self.end(record, TaskState.FAILED, now_s, error=failure)
        else:
            fallback = record.task.timeout.fallback
            if callable(fallback):
                self._fallbacks[record.key] = (record, failure)
                self._outbox.commands.append(CallFallback(record.key, record.task.name, fallback))
            elif fallback is None and record.partial is not None:
                self.end(record, TaskState.COMPLETED, now_s, value=record.partial[0], error=failure, partial=True)
            else:
                self.end(record, TaskState.COMPLETED, now_s, value=fallback, error=failure, fallback=True)

    def fallback_given(self, key: int, value: Any, failure: Failure | None, now_s: float) -> None:
        """Take what a fallback function returned, or how it failed."""
        waiting = self._fallbacks.pop(key, None)
        if waiting is None:
            return
        record, reason = waiting
        if failure is None:
            self.end(record, TaskState.COMPLETED, now_s, value=value, error=reason, fallback=True)
        else:
            self.end(record, TaskState.FAILED, now_s, error=failure)

    def _wait_to_retry(self, record: TaskRecord, delay_s: float, now_s: float) -> None:
        record.wait = Wait.RETRY
        record.timer = self._timers.set(now_s + delay_s, record)
