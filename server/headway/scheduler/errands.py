"""The short way of a coroutine that is a job of its own and has no wishes: one record instead of four. Pure; core.

Most of what comes in thousands is `run(call, *args)` with nothing else said. Of such a call an `Errand` is kept, which
has just what its usual life needs. Whoever wants more (its job, its run, to end it, to move it, to look at it, to watch
it) has it unfolded first; from then on there is a record of its task, in a job like any other. So there is one set of
rules: waiting, room and order are `admission`'s here as there, and what is out of the ordinary (it fails, it is
cancelled, its time is up, somebody subscribes) goes the long way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from headway.scheduler.admission import Admission
from headway.scheduler.book import JobBook
from headway.scheduler.calls import LIGHT, job_of_call
from headway.scheduler.config import SchedulerConfig
from headway.scheduler.errand import Errand, Waiting
from headway.scheduler.executors.base import NOTHING, StepContextData
from headway.scheduler.flow import Flow
from headway.scheduler.model import (
    NO_LIMITS,
    RETRY_BY_PRIORITY,
    JobOutcome,
    JobState,
    Outcome,
    Priority,
    TaskKind,
    TaskState,
)
from headway.scheduler.queues import Line
from headway.scheduler.records import JobRecord, Run, TaskRecord
from headway.scheduler.resources import Grant, Quota, Shape, Shapes

_READY: Final = TaskState.READY
_RUNNING: Final = TaskState.RUNNING
_COMPLETED: Final = TaskState.COMPLETED
_JOB_RUNNING: Final = JobState.RUNNING
_JOB_COMPLETED: Final = JobState.COMPLETED
_HIGH: Final = Priority.HIGH
_LOW: Final = Priority.LOW


def not_heard(errand: Errand) -> None:
    """Nobody wants to know what is unfolded."""


class Errands:
    """All errands in flight, by the number of their job.

    Attributes:
        open: Errands may be taken; not so where each step of each task has to be told.
        due_at_s: When the oldest that ran at that time reaches its longest run.
        unfolded: Is told of each that is unfolded before it has ended.
    """

    def __init__(
        self, config: SchedulerConfig, book: JobBook, flow: Flow, admission: Admission, quota: Quota, prefix: str
    ) -> None:
        self.in_flight: dict[int, Errand] = {}
        self._running: dict[int, Errand] = {}  # by the number of their run, in the order of their starts
        self.open = True
        self.due_at_s = math.inf
        self.unfolded: Callable[[Errand], None] = not_heard
        self._capacity = config.queue_capacity
        self._book = book
        self._flow = flow
        self._admission = admission
        self._quota = quota
        self._prefix = prefix
        self._shape: Shape = Shapes().add(LIGHT)
        self._passing: Line[Waiting] | None = None  # in which the last place was passed on from one to the next
        # Shares of LOW and BATCH work are kept by job, and what waits of it is counted as time passes.
        self._lines: list[Line[Waiting] | None] = [None] * len(Priority)  # where errands waited last
        self._fit = [
            level < _LOW and not (found.best_effort or found.shared)
            for level, found in enumerate(admission.disciplines)
        ]

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold."""
        self._capacity = config.queue_capacity

    # ---- their life -------------------------------------------------------------------------------------------------

    def submit(
        self, call: Callable[..., Any], args: tuple[Any, ...], name: str | None, priority: Priority, now_s: float
    ) -> Errand | None:
        """Take a call; it has its place at once (`run_id` tells) or waits. None: it has to go the long way."""
        shape, flow = self._shape, self._flow
        if not self.open or not self._fit[priority] or sum(flow.queued) >= self._capacity:
            return None
        if shape.fits_version != self._quota.version:
            if self._quota.impossible(shape, "", False) is not None:
                return None
            shape.fits_version = self._quota.version
        title: str = getattr(call, "__name__", "task") if name is None else name
        book = self._book
        book.jobs_made = number = book.jobs_made + 1
        errand = self.in_flight[number] = Errand(number, call, args, title, priority, shape, now_s)
        flow.queued[priority] += 1
        admission, line = self._admission, self._lines[priority]
        queue = admission.queue
        if line is not None and line.live and not line.heap:
            # What is below comes to for who stands behind others of his kind: nobody has to look at him yet.
            queue.append(line, errand)
            admission.waiting[priority] += 1
            return errand
        errand.order = -1
        if not queue.size:
            grant = admission.direct(errand, now_s)
            if grant is not None:
                self.start(errand, grant, now_s)
                return errand
        queue.enter(errand, priority, (priority, errand.pool, shape.size_class))
        admission.entered(errand, now_s)
        self._lines[priority] = errand.line
        return errand

    def starts(self, errand: Errand, grant: Grant, now_s: float) -> bool:
        """Let one that waited run. False: it has to start the long way."""
        if self.open:
            self.start(errand, grant, now_s)
        return self.open

    def start(self, errand: Errand, grant: Grant, now_s: float) -> None:
        """Let one that has its place run."""
        flow, priority = self._flow, errand.priority
        flow.queued[priority] -= 1
        flow.running[priority] += 1
        errand.state = _RUNNING
        errand.grant = grant
        errand.started_at_s = now_s
        flow.runs_begun = errand.run_id = run_id = flow.runs_begun + 1
        self._running[run_id] = errand
        if self.due_at_s == math.inf:
            self._watch_time(now_s)

    def end(self, errand: Errand, value: Any, ran_s: float, now_s: float) -> Errand | None:
        """Take the end of one that did well. Returns whom its place was passed on to, if that was all to be decided."""
        del self.in_flight[errand.number]
        del self._running[errand.run_id]
        priority, flow, admission = errand.priority, self._flow, self._admission
        flow.running[priority] -= 1
        errand.state = _COMPLETED
        errand.value = value
        errand.ran_s = ran_s
        errand.finished_at_s = now_s
        if priority is _HIGH:
            flow.overload.ran(ran_s)
        grant = errand.grant
        following = None if flow.overload.sheds else self._next_as_before(grant) or self._next_in_line(grant, now_s)
        if following is None:
            admission.take_back(grant, -1)
        else:
            self.start(following, grant, now_s)
        return following

    def _next_as_before(self, grant: Grant) -> Errand | None:
        """Return what `_next_in_line` would, where nothing has happened since it did so but more of the same.

        All else that bears on it (room, other lines, pauses, the first of the line) asks for attention, and then
        for a look at all that only the next place that is passed on asks for again.
        """
        admission, line = self._admission, self._passing
        if line is None or admission.attention or not admission.look_at_all or line.heap:
            return None
        row = line.row
        if len(row) < 2 or grant.cores != self._shape.cores or grant.critical:
            return None
        following, behind = row[0], row[1]
        if type(following) is not Errand or type(behind) is not Errand:
            return None
        if not (following.live and following.record is None and behind.live and behind.record is None):
            return None
        admission.queue.take_first(line)
        admission.waiting[following.priority] -= 1
        return following

    def _next_in_line(self, grant: Grant, now_s: float) -> Errand | None:
        """Return who gets the place of an errand that has ended, where a whole look at all who wait could but agree.

        That is so where they wait in one line and are all alike: its first lacked room before, has just what is freed
        now, and the second lacks it again. HIGH work that waits is also watched for being late, at each input.
        """
        admission = self._admission
        line = admission.queue.only_line()
        whole = grant.cores == self._shape.cores and not grant.critical
        if line is None or admission.attention or not whole or not self._quota.holds_together:
            return None
        priority = line.key[0]
        row = line.row
        if line.heap or not row or priority is _HIGH or admission.paused[priority]:
            return None
        following = row[0]
        if not following.live or admission.disciplines[priority].guaranteed:
            return None
        if not isinstance(following, Errand) or following.record is not None:
            return None
        admission.take(following, now_s)
        second = row[0] if row else None
        if second is None or (second.live and isinstance(second, Errand) and second.record is None):
            admission.keep_nothing()
            self._passing = line
        else:
            admission.changed()
        return following

    def outcome(self, errand: Errand) -> JobOutcome:
        """Return how the job of one that did well has ended."""
        outcome = None if errand.record is None else errand.record.outcome
        if outcome is None:
            outcome = Outcome(
                _COMPLETED,
                errand.value,
                None,
                False,
                False,
                1,
                errand.waited_s,
                errand.ran_s,
                errand.started_at_s,
                errand.finished_at_s,
                None,
            )
        return JobOutcome(self.id_of(errand.number), _JOB_COMPLETED, {errand.name: outcome}, None)

    # ---- by the watch -----------------------------------------------------------------------------------------------

    def _watch_time(self, began_at_s: float) -> None:
        self.due_at_s = began_at_s + LIGHT.longest_run_s
        self._flow.wake_by(self.due_at_s)

    def time_passed(self, now_s: float) -> None:
        """Unfold those whose longest run is over; their limits are then looked after as everybody's."""
        if now_s < self.due_at_s:
            return
        self.due_at_s = math.inf
        for errand in tuple(self._running.values()):
            if now_s < errand.started_at_s + LIGHT.longest_run_s:
                self._watch_time(errand.started_at_s)
                break
            self.unfold(errand)

    def resized(self) -> None:
        """Unfold them all where the machine has not even so much any more, so that they can be ended."""
        if self._quota.impossible(self._shape, "", False) is not None:
            self.unfold_all()

    # ---- unfolding --------------------------------------------------------------------------------------------------

    def id_of(self, number: int) -> str:
        """Return the id of a job by its number."""
        return f"{self._prefix}{number}"

    def oldest_s(self, priority: Priority, now_s: float) -> float:
        """Return since when the first in line of a priority waits, errand or not; `now_s` where none does."""
        heads = (line.head() for line in self._admission.queue.lines() if line.key[0] is priority)
        return min((head.since_s for head in heads if head is not None), default=now_s)

    def find(self, job_id: str) -> JobRecord | None:
        """Return the job of an errand in flight by its id, unfolded."""
        number = job_id.removeprefix(self._prefix)
        if not self.in_flight or not number.isdecimal():
            return None
        errand = self.in_flight.get(int(number))
        return self.unfold(errand).job if errand is not None and self.id_of(errand.number) == job_id else None

    def unfold_all(self) -> None:
        for errand in tuple(self.in_flight.values()):
            self.unfold(errand)

    def unfold_running(self) -> None:
        """Unfold those that run."""
        for errand in tuple(self._running.values()):
            self.unfold(errand)

    def unfold(self, errand: Errand) -> TaskRecord:
        """Return the record of its task, in a job: nothing tells it from one that came the long way."""
        if errand.record is not None:
            return errand.record
        state, book = errand.state, self._book
        described = job_of_call(
            errand.call,
            errand.args,
            errand.name,
            errand.priority,
            TaskKind.COROUTINE,
            None,
            NO_LIMITS,
            RETRY_BY_PRIORITY,
            None,
            None,
            None,
            None,
            False,
        )
        job = JobRecord(described, self.id_of(errand.number), errand.priority, errand.since_s)
        job.index = errand.number
        job.total = job.unended = 1
        task = described.tasks[0]  # type: ignore[index]  # a tuple, as `job_of_call` makes it
        job.total_weight = task.weight
        book.tasks_made = key = book.tasks_made + 1
        record = TaskRecord(task, job, key, 0, errand.priority, errand.shape)
        job.tasks = (record,)
        record.state, record.order, record.ready_at_s = state, errand.order, errand.since_s
        record.entry = errand if errand.live else None
        if state is not _READY:
            job.state = _JOB_RUNNING
            record.started_at_s = job.started_at_s = errand.started_at_s
            record.waited_s = errand.waited_s
            record.attempt = 1
            record.in_attempt = True
        if state is _COMPLETED:
            record.ran_s, record.outcome = errand.ran_s, self.outcome(errand).results[task.name]
            job.state, job.finished_at_s = _JOB_COMPLETED, errand.finished_at_s
            job.unended, job.done, job.done_weight = 0, 1, task.weight
            errand.record = record
            return record
        errand.record = record
        del self.in_flight[errand.number]
        book.enter(job, errand.ticket)
        if state is _RUNNING:
            del self._running[errand.run_id]
            self._flow.take_over(Run(errand.run_id, record, errand.grant, errand.started_at_s))
        self.unfolded(errand)
        return record

    def context_data(self, errand: Errand) -> StepContextData:
        """Say what `current_step()` shall show."""
        if errand.record is not None:
            return errand.record.context_data()
        job_id, name = self.id_of(errand.number), errand.name
        return StepContextData(
            job_id=job_id,
            task_id=f"{job_id}.0",
            task_name=name,
            step_name=name,
            attempt=1,
            results=NOTHING,
            previous=NOTHING,
        )
