"""The life of a task from READY to its end: places, steps, limits, attempts. Pure; part of the core.

What a task means for its job and for those that depend on it is `core`'s; it is told by `Listener`.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

from headway.scheduler.admission import Admission
from headway.scheduler.attempts import Again, Attempts
from headway.scheduler.config import SchedulerConfig
from headway.scheduler.executors.base import StepResult, StepRun, role_of
from headway.scheduler.model import (
    ErrorKind,
    Failure,
    JobState,
    OnStepFailure,
    OnTimeout,
    Outcome,
    Priority,
    StepKind,
    StepState,
    TaskState,
)
from headway.scheduler.outbox import Outbox
from headway.scheduler.records import ENDED, Cause, Run, TaskRecord, Wait
from headway.scheduler.resources import Grant
from headway.scheduler.retry import ON_REQUEST, RETRYABLE
from headway.scheduler.stimuli import AbandonRun, Begin, CallFallback, CancelRun, PreemptRun
from headway.scheduler.timeouts import Limit, Timers, next_due

_ROLES: Final = {"critical": 0, "standard": 1, "background": 2}
# Pools by index, for `Slots`: a thread and a process pool per role. -1 is the loop, which is not counted.
POOLS: Final = 6
_POOL_OF_THREADS: Final = tuple(_ROLES[role_of(priority)] for priority in Priority)
_POOL_OF_PROCESSES: Final = tuple(3 + _ROLES[role_of(priority)] for priority in Priority)
# A process is killed by its executor after the grace; only if that fails, too, its task ends without it.
_KILL_S: Final = 0.5
_FORCED_RELEASE_S: Final = 300.0


def pool_of(kind: StepKind, priority: Priority) -> int:
    """Return the index of the pool that runs a kind of step for a priority."""
    if kind is StepKind.PROCESS:
        return _POOL_OF_PROCESSES[priority]
    return _POOL_OF_THREADS[priority] if kind is StepKind.THREAD else -1


class Listener(Protocol):
    def task_started(self, record: TaskRecord, now_s: float) -> None: ...
    def task_ended(self, record: TaskRecord, now_s: float) -> None: ...


class Flow:
    """Moves tasks. Every task that is given to `add` ends exactly once, by `end`."""

    def __init__(
        self,
        config: SchedulerConfig,
        admission: Admission,
        attempts: Attempts,
        timers: Timers[Run | TaskRecord],
        outbox: Outbox,
        listener: Listener,
    ) -> None:
        self.queued = [0] * len(Priority)
        self.running = [0] * len(Priority)
        self.runs: dict[int, Run] = {}
        self._fallbacks: dict[int, tuple[TaskRecord, Failure]] = {}
        self._config = config
        self._admission = admission
        self._attempts = attempts
        self._timers = timers
        self._outbox = outbox
        self._listener = listener
        self._next_run_id = 0

    # ---- waiting ----------------------------------------------------------------------------------------------------

    def add(self, record: TaskRecord) -> None:
        """Take a new task over; it counts as queued from now on."""
        self.queued[record.priority] += 1

    def ready(self, record: TaskRecord, now_s: float, since_s: float | None = None) -> None:
        """Let a task wait for its place, or start it at once. What is paused waits outside of the queue."""
        if record.state is TaskState.RUNNING:
            self.running[record.priority] -= 1
            self.queued[record.priority] += 1
        record.state = TaskState.READY
        job = record.job
        if self._outbox.observed:
            self._outbox.task_queued(record, now_s)
        record.ready_at_s = now_s if since_s is None else since_s
        policy = record.task.timeout
        if policy.queue_s is not None or record.task.deadline_at_s is not None:
            self._limit_waiting(record, now_s)
        if job.state is JobState.PAUSED:
            return
        pool = pool_of(record.kind, record.priority)
        grant = self._admission.direct(record, pool, now_s)
        if grant is not None:
            self._start(record, pool, grant, False, now_s)
        else:
            self._admission.push(record, pool, record.ready_at_s, now_s)

    def hold(self, record: TaskRecord, now_s: float) -> None:
        """Take a waiting task out of the queue; it stays READY until `ready` is called again."""
        self._admission.remove(record, now_s)

    def unhold(self, record: TaskRecord, now_s: float) -> None:
        """Let a task that was held wait for its place again; it keeps its number of arrival and its wait."""
        if record.state is TaskState.READY and record.entry is None and record.wait is not Wait.RETRY:
            pool = pool_of(record.kind, record.priority)
            self._admission.push(record, pool, record.ready_at_s, now_s)

    def dispatch(self, now_s: float) -> None:
        """Start whatever may start now."""
        while starts := self._admission.admit(now_s):
            for record, pool, grant, by_credit in starts:
                self._start(record, pool, grant, by_credit, now_s)

    def reprioritize(self, record: TaskRecord, priority: Priority, reason: str, now_s: float) -> None:
        """Move a task to another priority; it keeps its number of arrival and the time that it has waited."""
        previous = record.priority
        if previous is priority or record.state in ENDED:
            return
        counts = self.running if record.state is TaskState.RUNNING else self.queued
        counts[previous] -= 1
        counts[priority] += 1
        waited = self._admission.remove(record, now_s)
        record.priority = priority
        record.level = priority
        record.quanta = 0
        if waited:
            self._admission.push(record, pool_of(record.kind, priority), record.ready_at_s, now_s)
        if self._outbox.observed:
            self._outbox.task_moved(record, previous, priority, reason, now_s)

    # ---- running ----------------------------------------------------------------------------------------------------

    def _start(self, record: TaskRecord, pool: int, grant: Grant, by_credit: bool, now_s: float) -> None:
        if record.timer is not None:
            self._timers.cancel(record.timer)
            record.timer = record.wait = None
        task = record.task
        if task.deadline_at_s is not None and now_s >= task.deadline_at_s:
            self._hand_back(record, pool, grant, by_credit, now_s)
            self.end(record, TaskState.FAILED, now_s, error=_late(record, now_s))
            return
        if task.retry.dependency is not None and not record.in_attempt:
            hold_s = self._attempts.hold_s(task, now_s)
            if hold_s > 0:
                self._hand_back(record, pool, grant, by_credit, now_s)
                self._leave_alone(record, hold_s, now_s)
                return
        self.queued[record.priority] -= 1
        self.running[record.priority] += 1
        record.state = TaskState.RUNNING
        waited_s = now_s - record.ready_at_s
        record.waited_s += waited_s
        if not record.in_attempt:
            record.in_attempt = True
            record.attempt += 1
            record.ran_s = 0.0
            record.soft_fired = False
            record.partial = None
            if record.started_at_s is None:
                record.started_at_s = now_s
                self._attempts.first_attempt(task)
        self._listener.task_started(record, now_s)
        if self._outbox.observed:
            self._outbox.task_started(record, waited_s, now_s)
        self._begin(record, pool, grant, by_credit, now_s)

    def _begin(self, record: TaskRecord, pool: int, grant: Grant, by_credit: bool, now_s: float) -> None:
        self._next_run_id = run_id = self._next_run_id + 1
        run = Run(run_id, record, pool, grant, now_s)
        run.by_credit = by_credit
        run.best_effort = self._admission.is_best_effort(record.priority)
        record.run = self.runs[run_id] = run
        task = record.task
        steps = task.steps
        if steps:
            step = steps[record.step]
            call, args, kwargs, name = step.call, step.args, step.kwargs, step.name
        else:
            assert task.call is not None
            call, args, kwargs, name = task.call, task.args, task.kwargs, task.name
        self._arm(run)
        self._outbox.commands.append(
            Begin(
                StepRun(
                    run_id,
                    call,
                    args,
                    kwargs,
                    run.kind,
                    record.priority,
                    task.affinity,
                    name,
                    record.context_data,
                    record.shape.memory_mb,
                )
            )
        )

    def _arm(self, run: Run) -> None:
        record = run.record
        task = record.task
        run.due = due = next_due(
            task.timeout,
            task.requirement,
            began_at_s=run.began_at_s,
            ran_s=record.ran_s,
            soft_fired=record.soft_fired,
            step_timeout_s=record.step_timeout_s,
            beat_at_s=run.beat_at_s,
            deadline_at_s=task.deadline_at_s,
        )
        run.timer = self._timers.set(due.at_s, run)

    def run_ended(self, run_id: int, result: StepResult, now_s: float) -> None:
        """Take an executor's word that a run has ended."""
        run = self.runs.pop(run_id, None)
        if run is None:
            return
        if run.timer is not None:
            self._timers.cancel(run.timer)
        record = run.record
        if run.stuck:
            self._admission.release(run, result.ran_s)
            return
        record.run = None
        record.ran_s += result.ran_s
        record.quantum_s += result.ran_s
        if result.pid is not None:
            record.pid = result.pid
        if run.cause is Cause.CANCEL or (run.cause is Cause.TIMEOUT and run.how is not None):
            self._note_step(record, StepState.FAILED, result, run.failure, now_s)
            self._admission.release(run, result.ran_s)
            self._stopped(record, run, now_s)
            return
        failure = result.error
        if run.cause is Cause.TIMEOUT:
            failure = run.failure
        elif result.cancelled:
            failure = Failure(kind=ErrorKind.CANCELLED, message=f"{record.step_name} was cancelled from inside")
        if failure is None:
            self._step_succeeded(record, run, result, now_s)
        else:
            self._step_failed(record, run, result, failure, now_s)

    def _step_succeeded(self, record: TaskRecord, run: Run, result: StepResult, now_s: float) -> None:
        if record.task.steps or self._outbox.observed:
            self._note_step(record, StepState.COMPLETED, result, None, now_s)
        record.value = result.value
        steps = record.task.steps
        if not steps:
            self._admission.release(run, result.ran_s)
            self._complete(record, now_s)
            return
        if record.values is None:
            record.values = {}
        record.values[steps[record.step].name] = result.value
        self._next_step(record, run, result.ran_s, now_s)

    def _step_failed(self, record: TaskRecord, run: Run, result: StepResult, failure: Failure, now_s: float) -> None:
        policy = record.on_step_failure
        if policy is OnStepFailure.SKIP:
            self._note_step(record, StepState.SKIPPED, result, failure, now_s)
            self._next_step(record, run, result.ran_s, now_s)
            return
        self._note_step(record, StepState.FAILED, result, failure, now_s)
        if (
            policy is OnStepFailure.RETRY
            and record.step_repeats < self._config.step_retries
            and (failure.kind in RETRYABLE or failure.kind in ON_REQUEST)
        ):
            record.step_repeats += 1
            self._go_on(record, run, result.ran_s, now_s)
            return
        self._admission.release(run, result.ran_s)
        self._attempt_failed(record, failure, now_s)

    def _next_step(self, record: TaskRecord, run: Run, ran_s: float, now_s: float) -> None:
        record.step += 1
        record.step_repeats = 0
        steps = record.task.steps
        if record.step >= len(steps):
            self._admission.release(run, ran_s)
            self._complete(record, now_s)
            return
        record.kind = steps[record.step].kind
        self._go_on(record, run, ran_s, now_s)

    def _go_on(self, record: TaskRecord, run: Run, ran_s: float, now_s: float) -> None:
        """At a step boundary: keep the place, or give it up to somebody more urgent and wait for it again."""
        spent = self._spend_quantum(record, now_s)
        pool = pool_of(record.kind, record.priority)
        record.run = run
        keeps = (
            pool == run.pool
            and run.grant is not None
            and record.job.state is not JobState.PAUSED
            and not self._admission.must_yield(record, spent)
        )
        record.run = None
        if keeps and run.grant is not None:
            if run.by_credit:
                self._admission.recharge(run, ran_s)
            self._begin(record, pool, run.grant, run.by_credit, now_s)
            return
        self._admission.release(run, ran_s)
        if spent:
            self._admission.lose_order(record)
        self.ready(record, now_s)

    def _spend_quantum(self, record: TaskRecord, now_s: float) -> bool:
        """Sink a task that keeps using its quantum up; return whether it just did."""
        level = record.level
        if not self._admission.has_feedback(level) or record.quantum_s < self._config.quanta_s[level]:
            return False
        record.quantum_s = 0.0
        record.quanta += 1
        if record.quanta >= self._config.sink_after_quanta and level < Priority.BATCH:
            record.quanta = 0
            record.level = level + 1
            if self._outbox.observed:
                self._outbox.task_moved(record, Priority(level), Priority(level + 1), "quantum", now_s)
        return True

    # ---- limits -----------------------------------------------------------------------------------------------------

    def timer_fired(self, owner: Run | TaskRecord, now_s: float) -> None:
        """Look after a run or a waiting task whose appointment has come."""
        if isinstance(owner, Run):
            owner.timer = None
            if owner.stuck:
                self._force_release(owner)
            elif owner.cause is not None:
                self._abandon(owner, now_s)
            else:
                self._limit_reached(owner, now_s)
            return
        owner.timer = None
        wait, owner.wait = owner.wait, None
        if wait is Wait.RETRY:
            self.ready(owner, now_s)
        elif wait is Wait.QUEUE:
            self._admission.remove(owner, now_s)
            self._timed_out_waiting(owner, now_s)

    def beat(self, run_id: int, now_s: float) -> None:
        run = self.runs.get(run_id)
        if run is not None and run.cause is None and not run.stuck:
            run.beat_at_s = now_s
            if run.record.task.timeout.heartbeat_s is not None:
                if run.timer is not None:
                    self._timers.cancel(run.timer)
                self._arm(run)

    def partial(self, run_id: int, value: Any) -> None:
        run = self.runs.get(run_id)
        if run is not None and not run.stuck:
            run.record.partial = (value,)

    def stop(self, record: TaskRecord, failure: Failure, now_s: float) -> None:
        """Cancel a task wherever it is: at once what waits, within the grace what runs."""
        if record.state in ENDED:
            return
        run = record.run
        if run is None:
            self._admission.remove(record, now_s)
            self.end(record, TaskState.CANCELLED, now_s, error=failure)
            return
        told = run.cause is not None
        run.cause, run.failure, run.how = Cause.CANCEL, failure, None
        if not told:
            self._tell(run, now_s)

    def preempt(self, priorities: tuple[Priority, ...]) -> None:
        """Ask what runs at these priorities to end its step early."""
        for run in self.runs.values():
            if not run.stuck and run.cause is None and run.record.priority in priorities:
                self._outbox.commands.append(PreemptRun(run.run_id))

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

    def _limit_reached(self, run: Run, now_s: float) -> None:
        due = run.due
        if due is None or due.at_s > now_s:  # a heartbeat moved it
            self._arm(run)
            return
        record = run.record
        policy = record.task.timeout
        soft = due.limit is Limit.SOFT
        failure = Failure(kind=ErrorKind.TIMEOUT, message=_TIMED_OUT[due.limit].format(record.task.name, due.allowed_s))
        if self._outbox.observed:
            self._outbox.task_timed_out(record, not soft, due.allowed_s, now_s)
        how: OnTimeout | None
        if soft:
            record.soft_fired = True
            how = policy.on_soft
            if how is OnTimeout.RETRY and not self._attempts.could_retry(record, failure):
                how = OnTimeout.WARN
            if how is OnTimeout.WARN:
                self._arm(run)
                return
        elif due.limit is Limit.STEP:
            how = None  # the step's own policy decides
        else:
            how = policy.on_hard
            if due.limit is Limit.DEADLINE and how is OnTimeout.RETRY:
                how = OnTimeout.FAIL
        run.cause, run.failure, run.how = Cause.TIMEOUT, failure, how
        self._tell(run, now_s)

    def _tell(self, run: Run, now_s: float) -> None:
        """Tell a run to stop, and look after the grace whether it did."""
        grace_s = self._config.cancel_grace_s
        self._outbox.commands.append(CancelRun(run.run_id, grace_s))
        if run.timer is not None:
            self._timers.cancel(run.timer)
        run.timer = self._timers.set(now_s + grace_s + (_KILL_S if run.kind is StepKind.PROCESS else 0.0), run)

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
            run.timer = self._timers.set(now_s + _FORCED_RELEASE_S, run)
        self._stopped(record, run, now_s)

    def _force_release(self, run: Run) -> None:
        """Give back the room of what holds it for minutes after its end; its slot stays taken."""
        self._admission.force_release(run)

    def _stopped(self, record: TaskRecord, run: Run, now_s: float) -> None:
        failure = run.failure
        assert failure is not None
        if run.cause is Cause.CANCEL:
            self._attempts.ended(record.task, failure, now_s)
            self.end(record, TaskState.CANCELLED, now_s, error=failure)
        elif run.how is OnTimeout.RETRY or run.how is None:
            self._attempt_failed(record, failure, now_s)
        else:
            self._attempts.ended(record.task, failure, now_s)
            self._end_by_policy(record, run.how, failure, now_s)

    def _end_by_policy(self, record: TaskRecord, how: OnTimeout, failure: Failure, now_s: float) -> None:
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

    def _timed_out_waiting(self, record: TaskRecord, now_s: float) -> None:
        task = record.task
        waited_s = now_s - record.ready_at_s
        if self._outbox.observed:
            self._outbox.task_timed_out(record, True, waited_s, now_s)
        if task.deadline_at_s is not None and now_s >= task.deadline_at_s:
            failure = _late(record, now_s)
        else:
            failure = Failure(kind=ErrorKind.TIMEOUT, message=f"{task.name} waited {waited_s:.3g} s for its place")
        self._end_by_policy(record, task.timeout.on_hard, failure, now_s)

    def _limit_waiting(self, record: TaskRecord, now_s: float) -> None:
        task = record.task
        at_s = task.deadline_at_s
        if task.timeout.queue_s is not None and not record.in_attempt:
            longest = now_s + task.timeout.queue_s
            at_s = longest if at_s is None else min(at_s, longest)
        if at_s is not None:
            record.wait = Wait.QUEUE
            record.timer = self._timers.set(at_s, record)

    # ---- ends -------------------------------------------------------------------------------------------------------

    def _complete(self, record: TaskRecord, now_s: float) -> None:
        if record.task.retry.dependency is not None:
            self._attempts.ended(record.task, None, now_s)
        self.end(record, TaskState.COMPLETED, now_s, value=record.value)

    def _attempt_failed(self, record: TaskRecord, failure: Failure, now_s: float) -> None:
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

    def _wait_to_retry(self, record: TaskRecord, delay_s: float, now_s: float) -> None:
        record.wait = Wait.RETRY
        record.timer = self._timers.set(now_s + delay_s, record)

    def _leave_alone(self, record: TaskRecord, hold_s: float, now_s: float) -> None:
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

    def _hand_back(self, record: TaskRecord, pool: int, grant: Grant, by_credit: bool, now_s: float) -> None:
        """Return the room of a task that does not start after all."""
        run = Run(0, record, pool, grant, now_s)
        run.by_credit = by_credit
        run.best_effort = self._admission.is_best_effort(record.priority)
        self._admission.release(run, 0.0)

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
        """End a task, once and for all."""
        if record.state in ENDED:
            raise AssertionError(f"task {record.task_id} ended twice")
        if self._fallbacks:
            self._fallbacks.pop(record.key, None)
        counts = self.running if record.state is TaskState.RUNNING else self.queued
        counts[record.priority] -= 1
        if record.timer is not None:
            self._timers.cancel(record.timer)
            record.timer = record.wait = None
        record.state = state
        record.error = error
        record.values = None
        record.partial = None
        record.value = None
        record.outcome = Outcome(
            state=state,
            value=value,
            error=error,
            fallback=fallback,
            partial=partial,
            attempts=record.attempt,
            waited_s=record.waited_s,
            ran_s=record.ran_s,
            started_at_s=record.started_at_s,
            finished_at_s=now_s,
            pid=record.pid,
        )
        if self._outbox.observed:
            self._outbox.task_ended(record, now_s)
        self._listener.task_ended(record, now_s)

    def _note_step(
        self, record: TaskRecord, state: StepState, result: StepResult, failure: Failure | None, now_s: float
    ) -> None:
        if record.task.steps:
            if record.step_views is None:
                record.step_views = [(StepState.PENDING, 0.0, None)] * len(record.task.steps)
            record.step_views[record.step] = (state, result.ran_s, failure)
        if self._outbox.observed:
            self._outbox.step_ended(record, state, result, failure, now_s)


_TIMED_OUT: Final = {
    Limit.SOFT: "{} ran longer than its soft limit of {:.3g} s",
    Limit.HARD: "{} ran longer than its limit of {:.3g} s",
    Limit.STEP: "a step of {} ran longer than its limit of {:.3g} s",
    Limit.HEARTBEAT: "{} gave no sign of life for {:.3g} s",
    Limit.DEADLINE: "{} did not end by its deadline, {:.3g} s after its start",
}


def _late(record: TaskRecord, now_s: float) -> Failure:
    late_s = now_s - (record.task.deadline_at_s or now_s)
    return Failure(
        kind=ErrorKind.TIMEOUT,
        message=f"{record.task.name} was not started: its deadline passed {late_s:.3g} s ago",
    )
