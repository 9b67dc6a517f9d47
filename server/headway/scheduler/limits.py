"""The limits of what runs and of what waits: set, reached, and what is done then. Pure; part of the core."""

from __future__ import annotations

import math
from typing import Any, Final

from headway.scheduler.admission import Admission
from headway.scheduler.attempts import Attempts
from headway.scheduler.config import SchedulerConfig
from headway.scheduler.endings import Endings
from headway.scheduler.model import NO_LIMITS, ErrorKind, Failure, OnTimeout, StepKind
from headway.scheduler.outbox import Outbox
from headway.scheduler.records import Cause, Run, TaskRecord, Wait
from headway.scheduler.stimuli import AbandonRun, CancelRun
from headway.scheduler.timeouts import Limit, Timers, next_due

_TIMED_OUT: Final = {
    Limit.SOFT: "{} ran longer than its soft limit of {:.3g} s",
    Limit.HARD: "{} ran longer than its limit of {:.3g} s",
    Limit.STEP: "a step of {} ran longer than its limit of {:.3g} s",
    Limit.HEARTBEAT: "{} gave no sign of life for {:.3g} s",
    Limit.DEADLINE: "{} did not end by its deadline, {:.3g} s after its start",
}


class Limits:
    """Watches over the time of runs by one timer each."""

    def __init__(
        self,
        config: SchedulerConfig,
        admission: Admission,
        attempts: Attempts,
        timers: Timers[Run | TaskRecord],
        outbox: Outbox,
        endings: Endings,
    ) -> None:
        self._config = config
        self._admission = admission
        self._attempts = attempts
        self._timers = timers
        self._outbox = outbox
        self._endings = endings

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold."""
        self._config = config

    def arm(self, run: Run) -> None:
        """Set the timer of a run to the limit that it reaches first."""
        record = run.record
        task = record.task
        policy = task.timeout
        if policy is NO_LIMITS and task.deadline_at_s is None and not task.steps:
            run.allowed_s = allowed_s = task.requirement.longest_run_s
            due_at_s = run.began_at_s - record.ran_s + allowed_s
        else:
            due_at_s, run.limit, run.allowed_s = next_due(
                policy,
                task.requirement,
                began_at_s=run.began_at_s,
                ran_s=record.ran_s,
                soft_fired=record.soft_fired,
                step_timeout_s=record.step_timeout_s,
                beat_at_s=run.beat_at_s,
                deadline_at_s=task.deadline_at_s,
            )
        run.due_at_s = due_at_s
        run.timer = self._timers.set(due_at_s, run)

    def beat(self, run: Run, now_s: float) -> None:
        """Take a sign of life."""
        if run.cause is None and not run.stuck:
            run.beat_at_s = now_s
            if run.record.task.timeout.heartbeat_s is not None:
                if run.timer is not None:
                    self._timers.cancel(run.timer)
                self.arm(run)

    def excuse(self, run: Run, stood_still_s: float, now_s: float) -> None:
        """Take a time in which nothing could run for one that did not pass; deadlines are absolute and stay."""
        if run.timer is None or run.began_at_s > now_s - stood_still_s:
            return
        if run.limit is Limit.DEADLINE and run.due_at_s <= now_s:
            return
        self._timers.cancel(run.timer)
        if run.cause is None and not run.stuck:
            run.began_at_s += stood_still_s
            run.beat_at_s += stood_still_s
            self.arm(run)
        else:
            run.timer = self._timers.set(run.timer[0] + stood_still_s, run)

    def timer_fired(self, run: Run, now_s: float) -> None:
        """Look after a run whose appointment has come."""
        run.timer = None
        if run.stuck:
            self._admission.force_release(run)
        elif run.cause is not None:
            self._abandon(run, now_s)
        else:
            self._reached(run, now_s)

    def _reached(self, run: Run, now_s: float) -> None:
        record = run.record
        policy = record.task.timeout
        limit = run.limit
        failure = Failure(kind=ErrorKind.TIMEOUT, message=_TIMED_OUT[limit].format(record.task.name, run.allowed_s))
        if self._outbox.observed:
            self._outbox.task_timed_out(record, limit is not Limit.SOFT, run.allowed_s, now_s)
        how: OnTimeout | None
        if limit is Limit.SOFT:
            record.soft_fired = True
            how = policy.on_soft
            if how is OnTimeout.RETRY and not self._attempts.could_retry(record, failure):
                how = OnTimeout.WARN
            if how is OnTimeout.WARN:
                self.arm(run)
                return
        elif limit is Limit.STEP:
            how = None  # the step's own policy decides
        else:
            how = policy.on_hard
            if limit is Limit.DEADLINE and how is OnTimeout.RETRY:
                how = OnTimeout.FAIL
        run.cause, run.failure, run.how = Cause.TIMEOUT, failure, how
        self._tell(run, now_s)

    def cancel(self, run: Run, failure: Failure, now_s: float) -> None:
        """Tell a run to stop because its task is cancelled; one that was told already gets no second grace."""
        told = run.cause is not None
        run.cause, run.failure, run.how = Cause.CANCEL, failure, None
        if not told:
            self._tell(run, now_s)

    def _tell(self, run: Run, now_s: float) -> None:
        """Tell a run to stop, and look after the grace whether it did."""
        config = self._config
        grace_s = config.cancel_grace_s
        self._outbox.commands.append(CancelRun(run.run_id, grace_s))
        if run.timer is not None:
            self._timers.cancel(run.timer)
        # A process is killed by its executor after the grace; only if that fails, too, its task ends without it.
        kill_s = config.kill_grace_s if run.kind is StepKind.PROCESS else 0.0
        run.timer = self._timers.set(now_s + grace_s + kill_s, run)

    def _abandon(self, run: Run, now_s: float) -> None:
        """Go on without a run that does not stop: a coroutine is forgotten, a thread or process keeps its slot."""
        run.stuck = True
        record = run.record
        record.run = None
        record.ran_s += now_s - run.began_at_s
        if run.pool < 0:
            self._admission.release(run, now_s - run.began_at_s)
            self._outbox.commands.append(AbandonRun(run.run_id, record.task.name))
        else:
            run.timer = self._timers.set(now_s + self._config.forced_release_s, run)
        self._endings.run_stopped(record, run, now_s)

    # ---- of what waits ----------------------------------------------------------------------------------------------

    def limit_waiting(self, record: TaskRecord, now_s: float) -> bool:
        """Set the timer of a task that waits: its longest time in the queue, or when its deadline is out of reach.

        Returns:
            False: its deadline cannot be met, and it has ended.
        """
        task = record.task
        at_s = record.pays_until_s
        if task.timeout.queue_s is not None and not record.in_attempt:
            at_s = min(at_s, now_s + task.timeout.queue_s)
        if at_s == math.inf:
            return True
        if at_s <= now_s:
            self.waited_too_long(record, now_s)
            return False
        record.wait = Wait.QUEUE
        record.timer = self._timers.set(at_s, record)
        return True

    def waited_too_long(self, record: TaskRecord, now_s: float) -> None:
        """End a task whose time in the queue is over."""
        self._admission.remove(record, now_s)
        task = record.task
        waited_s = now_s - record.ready_at_s
        if self._outbox.observed:
            self._outbox.task_timed_out(record, True, waited_s, now_s)
        if now_s >= record.pays_until_s:
            failure = late(record, now_s)
        else:
            failure = Failure(kind=ErrorKind.TIMEOUT, message=f"{task.name} waited {waited_s:.3g} s for its place")
        self._endings.end_by_policy(record, task.timeout.on_hard, failure, now_s)


def late(record: TaskRecord, now_s: float) -> Failure:
    """Return the failure of a task that is not started, or not gone on with, as its deadline cannot be met."""
    left_s = (record.task.deadline_at_s or now_s) - now_s
    why = f"its deadline passed {-left_s:.3g} s ago"
    if left_s > 0:
        why = f"it takes {record.least_s:.3g} s at least, and its deadline is in {left_s:.3g} s"
    return Failure(kind=ErrorKind.TIMEOUT, message=f"{record.step_name} was not started: {why}")


def partial_of(run: Run, value: Any) -> None:
    """Keep what a step reported so far."""
    if not run.stuck:
        run.record.partial = (value,)
