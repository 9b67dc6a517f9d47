"""The way of a task from READY through its places and steps. Pure; part of the core.

How it ends is `endings`'s, what its limits do is `limits`'s, and what it means for its job is `jobs`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from headway.scheduler.admission import Admission
from headway.scheduler.attempts import Attempts
from headway.scheduler.config import SchedulerConfig
from headway.scheduler.endings import Endings, Listener
from headway.scheduler.errand import Errand
from headway.scheduler.executors.base import StepResult
from headway.scheduler.limits import Limits, late, partial_of
from headway.scheduler.model import ErrorKind, Failure, JobState, OnStepFailure, Priority, StepState, TaskState
from headway.scheduler.outbox import Outbox
from headway.scheduler.overload import Overload
from headway.scheduler.records import ENDED, Cause, Run, TaskRecord, Wait, pool_of
from headway.scheduler.resources import Grant
from headway.scheduler.retry import ON_REQUEST, RETRYABLE
from headway.scheduler.stimuli import PreemptRun
from headway.scheduler.timeouts import Timers
from headway.scheduler.yielding import must_yield, spend_quantum

if TYPE_CHECKING:
    from headway.scheduler.errands import Errands

_PENDING: Final = TaskState.PENDING
_READY: Final = TaskState.READY
_RUNNING: Final = TaskState.RUNNING
_COMPLETED: Final = TaskState.COMPLETED
_HIGH: Final = Priority.HIGH
_STEP_COMPLETED: Final = StepState.COMPLETED
_JOB_PENDING: Final = JobState.PENDING
_JOB_PAUSED: Final = JobState.PAUSED


class Flow:
    """Moves tasks. Every task that is given to `add` ends exactly once, by `Endings.end`.

    `errands` is set by who makes both: each needs the other.
    """

    errands: Errands

    def __init__(
        self,
        config: SchedulerConfig,
        admission: Admission,
        attempts: Attempts,
        timers: Timers[Run | TaskRecord],
        outbox: Outbox,
        listener: Listener,
    ) -> None:
        self.endings = Endings(admission, attempts, timers, outbox, listener)
        self.limits = Limits(config, admission, attempts, timers, outbox, self.endings)
        self.overload = Overload(config, admission, self.endings)
        self.queued = self.endings.queued
        self.running = self.endings.running
        self.runs: dict[int, Run] = {}
        self._background: dict[int, Run] = {}  # those of them that take only what is idle
        self._config = config
        self._admission = admission
        self._attempts = attempts
        self._timers = timers
        self._outbox = outbox
        self._listener = listener
        self.runs_begun = 0

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold, for each run from its next step on."""
        self._config = config
        self.limits.reconfigure(config)
        self.overload.reconfigure(config)
        self._attempts.reconfigure(config)

    # ---- waiting ----------------------------------------------------------------------------------------------------

    def new_order(self) -> int:
        """Return the next number of arrival, for a task that will be ready a little later."""
        return self._admission.queue.new_order()

    def add(self, record: TaskRecord) -> None:
        """Take a new task over; it counts as queued from now on."""
        self.queued[record.priority] += 1

    def first_ready(self, record: TaskRecord, now_s: float) -> None:
        """Let a new task wait or start, unless it has to wait for others or will not start any more."""
        if not record.missing and record.state is _PENDING and record.doom is None:
            self.ready(record, now_s)

    def ready(self, record: TaskRecord, now_s: float) -> None:
        """Let a task wait for its place, or start it at once. What is paused waits outside of the queue."""
        if record.state is _RUNNING:
            self.running[record.priority] -= 1
            self.queued[record.priority] += 1
        record.state = _READY
        record.ready_at_s = now_s
        task = record.task
        if self._outbox.observed:
            self._outbox.task_queued(record, now_s)
        limited = task.timeout.queue_s is not None or task.deadline_at_s is not None
        if limited and not self.limits.limit_waiting(record, now_s):
            return
        if record.job.state is _JOB_PAUSED:
            return
        admission = self._admission
        if not admission.queue.size:
            grant = admission.direct(record, now_s)
            if grant is not None:
                self._start(record, grant, False, now_s)
                return
        admission.push(record, now_s, now_s)

    def hold(self, record: TaskRecord, now_s: float) -> None:
        """Take a waiting task out of the queue; it stays READY until `unhold`."""
        self._admission.remove(record, now_s)

    def unhold(self, record: TaskRecord, now_s: float) -> None:
        """Let a task that was held wait for its place again; it keeps its number of arrival and its wait."""
        waits = record.state is _READY and record.wait is not Wait.RETRY and record.doom is None
        if waits and record.entry is None:
            self._admission.push(record, record.ready_at_s, now_s)

    def dispatch(self, now_s: float) -> None:
        """Start whatever may start now."""
        admission = self._admission
        if admission.waiting[_HIGH] or self.overload.sheds:
            self.overload.relieve(now_s)
        while admission.attention or now_s >= admission.keep_at_s:
            starts = admission.admit(now_s)
            if not starts:
                break
            for record, grant, by_credit in starts:
                if isinstance(record, Errand):
                    if self.errands.starts(record, grant, now_s):
                        self._outbox.commands.append(record)
                        continue
                    record = self.errands.unfold(record)
                if record.doom is None:
                    self._start(record, grant, by_credit, now_s)
                else:  # one that started before it failed at once, and ended the others of its job
                    self._hand_back(record, grant, by_credit, now_s)
        if admission.urgent_waits:
            admission.urgent_waits = False
            self._urge()

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
        record.pool = pool_of(record.kind, priority)
        record.quanta = 0
        if waited:
            self._admission.push(record, record.ready_at_s, now_s)
        if self._outbox.observed:
            self._outbox.task_moved(record, previous, priority, reason, now_s)

    # ---- running ----------------------------------------------------------------------------------------------------

    def _start(self, record: TaskRecord, grant: Grant, by_credit: bool, now_s: float) -> None:
        if record.timer is not None:
            self._timers.cancel(record.timer)
            record.timer = record.wait = None
        task = record.task
        if task.deadline_at_s is not None and now_s >= record.pays_until_s:
            self._hand_back(record, grant, by_credit, now_s)
            self.endings.end_by_policy(record, task.timeout.on_hard, late(record, now_s), now_s)
            return
        if not record.in_attempt:
            if task.retry.dependency is not None and not self._may_ask(record, grant, by_credit, now_s):
                return
            record.in_attempt = True
            if record.attempt:
                record.ran_s = 0.0
                record.soft_fired = False
                record.partial = None
            record.attempt += 1
            if record.started_at_s is None:
                record.started_at_s = now_s
        priority = record.priority
        self.queued[priority] -= 1
        self.running[priority] += 1
        record.state = _RUNNING
        waited_s = now_s - record.ready_at_s
        record.waited_s += waited_s
        if record.job.state is _JOB_PENDING:
            self._listener.job_started(record, now_s)
        if self._outbox.observed:
            self._outbox.task_started(record, waited_s, now_s)
        self._begin(record, grant, by_credit, now_s)

    def _may_ask(self, record: TaskRecord, grant: Grant, by_credit: bool, now_s: float) -> bool:
        """Return whether what a task depends on may be asked now; if not, the task waits for that, or has failed."""
        hold_s = self._attempts.hold_s(record.task, now_s)
        if hold_s > 0:
            self._hand_back(record, grant, by_credit, now_s)
            self.endings.leave_alone(record, hold_s, now_s)
            return False
        if record.started_at_s is None:
            self._attempts.first_attempt(record.task)
        return True

    def _begin(self, record: TaskRecord, grant: Grant, by_credit: bool, now_s: float) -> None:
        self.runs_begun = run_id = self.runs_begun + 1
        run = Run(run_id, record, grant, now_s)
        if by_credit:
            run.by_credit = True
        record.run = self.runs[run_id] = run
        if grant.best_effort:
            self._background[run_id] = run
        self.limits.arm(run)
        self._outbox.commands.append(run)

    def take_over(self, run: Run) -> None:
        """Watch over a run from now on."""
        run.record.run = self.runs[run.run_id] = run
        self.limits.arm(run)

    def wake_by(self, at_s: float) -> None:
        """See to it that time is looked at by then."""
        self._timers.soonest_s = min(self._timers.soonest_s, at_s)

    def run_ended(self, run_id: int, result: StepResult, now_s: float) -> None:
        """Take an executor's word that a run has ended."""
        run = self.runs.pop(run_id, None)
        if run is None:
            return
        if run.timer is not None:
            self._timers.cancel(run.timer)
        self._background.pop(run_id, None)
        record = run.record
        ran_s = result.ran_s
        if run.stuck:
            self._admission.release(run, ran_s)
            return
        record.run = None
        record.ran_s += ran_s
        record.quantum_s += ran_s
        if result.pid is not None:
            record.pid = result.pid
        cause = run.cause
        if cause is None and result.error is None and not result.cancelled:
            self._step_succeeded(record, run, result, now_s)
        elif cause is Cause.CANCEL or (cause is Cause.TIMEOUT and run.how is not None):
            self._note_step(record, StepState.FAILED, result, run.failure, now_s)
            self._admission.release(run, ran_s)
            self.endings.run_stopped(record, run, now_s)
        else:
            failure = run.failure if cause is Cause.TIMEOUT else result.error
            if failure is None:
                failure = Failure(kind=ErrorKind.CANCELLED, message=f"{record.step_name} was cancelled from inside")
            self._step_failed(record, run, result, failure, now_s)

    def _step_succeeded(self, record: TaskRecord, run: Run, result: StepResult, now_s: float) -> None:
        steps = record.task.steps
        if steps or self._outbox.observed:
            self._note_step(record, _STEP_COMPLETED, result, None, now_s)
        if not steps:
            self._admission.release(run, result.ran_s)
            if record.priority is _HIGH:
                self.overload.ran(record.ran_s)
            if record.task.retry.dependency is None:
                self.endings.end(record, _COMPLETED, now_s, value=result.value)
            else:
                self.endings.complete(record, result.value, now_s)
            return
        record.value = result.value
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
        self.endings.attempt_failed(record, failure, now_s)

    def _next_step(self, record: TaskRecord, run: Run, ran_s: float, now_s: float) -> None:
        record.step += 1
        record.step_repeats = 0
        steps = record.task.steps
        if record.step >= len(steps):
            self._admission.release(run, ran_s)
            if record.priority is _HIGH:
                self.overload.ran(record.ran_s)
            self.endings.complete(record, record.value, now_s)
            return
        record.kind = steps[record.step].kind
        record.pool = pool_of(record.kind, record.priority)
        self._go_on(record, run, ran_s, now_s)

    def _go_on(self, record: TaskRecord, run: Run, ran_s: float, now_s: float) -> None:
        """At a step boundary: keep the place, or give it up to somebody more urgent and wait for it again."""
        spent = spend_quantum(self._admission, self._config, self._outbox, record, now_s)
        if run.grant is not None and record.pool == run.pool and self._keeps_place(record, run, spent, now_s):
            self._admission.recharge(run, ran_s)
            self._begin(record, run.grant, run.by_credit, now_s)
            return
        self._admission.release(run, ran_s)
        if spent:
            record.order = None  # behind its equals when it waits next
        self.ready(record, now_s)

    def _keeps_place(self, record: TaskRecord, run: Run, spent: bool, now_s: float) -> bool:
        if record.job.state is _JOB_PAUSED or (record.task.deadline_at_s is not None and now_s >= record.pays_until_s):
            return False
        return not must_yield(self._admission, record, run, spent, preempt=self._config.preempt)

    # ---- from outside -----------------------------------------------------------------------------------------------

    def timer_fired(self, owner: Run | TaskRecord, now_s: float) -> None:
        """Look after a run or a waiting task whose appointment has come."""
        if isinstance(owner, Run):
            self.limits.timer_fired(owner, now_s)
            return
        owner.timer = None
        if owner.doom is not None:
            return
        wait, owner.wait = owner.wait, None
        if wait is Wait.RETRY:
            self.ready(owner, now_s)
        else:
            self.limits.waited_too_long(owner, now_s)

    def beat(self, run_id: int, now_s: float) -> None:
        """Take a sign of life of a run."""
        run = self.runs.get(run_id)
        if run is not None:
            self.limits.beat(run, now_s)

    def partial(self, run_id: int, value: Any) -> None:
        """Take what a run has found so far."""
        run = self.runs.get(run_id)
        if run is not None:
            partial_of(run, value)

    def preempt(self, priorities: tuple[Priority, ...]) -> None:
        """Ask what runs at these priorities to end its step early."""
        self.errands.unfold_running()
        for run in self.runs.values():
            if run.record.priority in priorities:
                self._preempt(run)

    def _urge(self) -> None:
        """Ask background work to end its steps early, since somebody for whom a person waits lacks what it holds."""
        if self._config.preempt:
            for run in self._background.values():
                self._preempt(run)

    def _preempt(self, run: Run) -> None:
        if not (run.urged or run.stuck) and run.cause is None:
            run.urged = True
            self._outbox.commands.append(PreemptRun(run.run_id))

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _hand_back(self, record: TaskRecord, grant: Grant, by_credit: bool, now_s: float) -> None:
        """Return the room of a task that does not start after all."""
        run = Run(0, record, grant, now_s)
        run.by_credit = by_credit
        self._admission.release(run, 0.0)

    def _note_step(
        self, record: TaskRecord, state: StepState, result: StepResult, failure: Failure | None, now_s: float
    ) -> None:
        if record.task.steps:
            if record.step_views is None:
                record.step_views = [(StepState.PENDING, 0.0, None)] * len(record.task.steps)
            record.step_views[record.step] = (state, result.ran_s, failure)
        if self._outbox.observed:
            self._outbox.step_ended(record, state, result, failure, now_s)
