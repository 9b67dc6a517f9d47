"""The jobs in flight or remembered, who waits for them, and which of them are equal. Pure; part of the core."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Sequence

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.errors import DuplicateTaskError, ImpossibleRequirementError, InvalidJobError, SchedulerError
from headway.scheduler.graph import check_requirement, check_task, checked_order, inherited
from headway.scheduler.model import Job, Priority, StepKind, Task, TaskState
from headway.scheduler.records import ENDED, JobRecord, TaskRecord, pool_of
from headway.scheduler.resources import Quota, Shape, Shapes, Slots
from headway.scheduler.sweeps import Sweeps


def _none_folded(job_id: str) -> JobRecord | None:
    return None


class JobBook:
    """Finds jobs by id, ticket and key; makes records of descriptions that are in order.

    Args:
        config: How many ended jobs are remembered.
        id_prefix: Starts the ids that are made here, so that they differ between runs of the program.
        quota: Says what can never be given.
        slots: Says where nothing can ever run.
    """

    def __init__(self, config: SchedulerConfig, id_prefix: str, quota: Quota, slots: Slots) -> None:
        self.active: dict[str, JobRecord] = {}
        self.by_ticket: dict[int, JobRecord] = {}
        self.find_folded: Callable[[str], JobRecord | None] = _none_folded  # of `Errands`
        self.sweeps = Sweeps()
        self._ended: dict[str, JobRecord] = {}
        self._tasks_remembered = 0
        self._shared: dict[Hashable, JobRecord] = {}
        self._superseding: dict[Hashable, tuple[JobRecord, int]] = {}
        self._config = config
        self._prefix = id_prefix
        self._quota = quota
        self._slots = slots
        self._shapes = Shapes()
        self.jobs_made = 0  # so many numbers were given out
        self.tasks_made = 0

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold."""
        self._config = config

    def in_flight(self, job_id: str) -> JobRecord | None:
        """Return a job that has not ended."""
        return self.active.get(job_id) or self.find_folded(job_id)

    def find(self, job_id: str) -> JobRecord | None:
        """Return a job in flight, or one that is remembered."""
        return self.in_flight(job_id) or self._ended.get(job_id)

    def recent(self, limit: int) -> list[JobRecord]:
        """Return visible jobs, newest first."""
        known = [record for record in (*self._ended.values(), *self.active.values()) if record.job.visible]
        known.sort(key=lambda record: record.index, reverse=True)
        return known[:limit]

    # ---- making -----------------------------------------------------------------------------------------------------

    def make(self, job: Job, now_s: float) -> JobRecord:
        """Return the record of a job with its tasks; nothing is entered yet.

        Raises:
            SubmissionError: the description is not in order, or asks for what can never be.
        """
        job_id = job.job_id
        self.jobs_made += 1
        if job_id is None:
            job_id = f"{self._prefix}{self.jobs_made}"
        elif self.in_flight(job_id) is not None:
            raise DuplicateTaskError(job_id, "job")
        record = JobRecord(job, job_id, job.priority, now_s)
        record.index = self.jobs_made
        tasks = job.tasks
        if type(tasks) is tuple and len(tasks) == 1 and not tasks[0].depends_on:  # the usual case
            task = tasks[0]
            record.tasks = (
                self._make_task(record, task, 0, record.priority if task.priority is None else task.priority),
            )
            record.total_weight = task.weight
            record.total = record.unended = 1
        elif isinstance(tasks, Sequence):
            self._make_tasks(record, tasks)
        elif isinstance(tasks, AsyncIterator):
            if job.window < 1:
                raise InvalidJobError(f"job {job.title!r}", "its window is below 1")
            record.names = {}
            record.results = {}
            record.exhausted = False
            record.total = None
            record.total_weight = job.total or 0.0
            record.foretold = bool(job.total)
        else:
            raise InvalidJobError(f"job {job.title!r}", "tasks is neither a sequence nor an async iterator")
        return record

    def _make_tasks(self, record: JobRecord, tasks: Sequence[Task]) -> None:
        count = len(tasks)
        if count:
            order = checked_order(tasks)
            priorities = inherited(tasks, order, record.priority)
            names = record.names = {}
            for task, priority in zip(tasks, priorities, strict=True):
                made = self._make_task(record, task, len(names), priority)
                names[task.name] = made
                record.total_weight += task.weight
            record.tasks = tuple(names.values())
            for made in record.tasks:
                self._connect(made, names)
        record.total = record.unended = count

    def add_fed(self, record: JobRecord, task: Task) -> TaskRecord | SchedulerError:
        """Make one more task of a lazily fed job; what is wrong with it is returned, and is that task's own failure."""
        names = record.names
        assert names is not None
        try:
            if task.name in names:
                raise DuplicateTaskError(task.name)
            unknown = [name for name in task.depends_on if name not in names]
            if unknown:
                raise InvalidJobError(
                    f"task {task.name!r}", f"it depends on {unknown[0]!r}, which is none of the job's recent tasks"
                )
            priority = record.priority if task.priority is None else task.priority
            made = self._make_task(record, task, None, priority)
        except SchedulerError as error:
            return error
        names[task.name] = made
        self._connect(made, names)
        record.unended += 1
        return made

    def add_refused(self, record: JobRecord, task: Task) -> TaskRecord:
        """Make a record of a task that cannot run, so that it can end like any other."""
        self.tasks_made += 1
        made = TaskRecord(
            task, record, self.tasks_made, self.tasks_made, record.priority, Shape(0, 0, 0, 0), runs=False
        )
        record.unended += 1
        return made

    def _make_task(self, record: JobRecord, task: Task, index: int | None, priority: Priority) -> TaskRecord:
        check_task(task)
        shape = self._shapes.find(task.requirement)
        if shape is None:
            check_requirement(task)
            shape = self._shapes.add(task.requirement)
        # What ordinary work may ask for, CRITICAL work may, too.
        if shape.fits_version != self._quota.version:
            impossible = self._quota.impossible(shape, task.name, priority is Priority.CRITICAL)
            if impossible is not None:
                raise impossible
            if priority is not Priority.CRITICAL:
                shape.fits_version = self._quota.version
        self.tasks_made = key = self.tasks_made + 1
        # A lazily fed job lists no tasks, so their number cannot tell them apart.
        made = TaskRecord(task, record, key, key if index is None else index, priority, shape)
        if task.steps:
            for step in task.steps:
                self._check_pool(task, pool_of(step.kind, priority), step.kind)
        if made.pool >= 0:
            self._check_pool(task, made.pool, made.kind)
        return made

    def _check_pool(self, task: Task, pool: int, kind: StepKind) -> None:
        if not self._slots.possible(pool):
            raise ImpossibleRequirementError(task.name, f"{kind.value} slots", 1, 0)

    def _connect(self, made: TaskRecord, names: dict[str, TaskRecord]) -> None:
        if not made.task.depends_on:
            return
        made.deps = tuple(names[name] for name in dict.fromkeys(made.task.depends_on))
        for dep in made.deps:
            if dep.state in _OPEN:
                made.missing += 1
                if dep.dependents is None:
                    dep.dependents = []
                dep.dependents.append(made)

    # ---- entering and leaving ---------------------------------------------------------------------------------------

    def enter(self, record: JobRecord, ticket: int) -> None:
        self.active[record.job_id] = record
        record.tickets = (ticket,)
        self.by_ticket[ticket] = record
        job = record.job
        if job.share_key is not None:
            self._shared[job.share_key] = record
            record.waiters = {ticket: job.priority}
        if job.supersede_key is not None:
            self._note_superseding(record, ticket, job.supersede_key)

    def leave(self, record: JobRecord, now_s: float) -> tuple[int, ...]:
        """Take an ended job out of all books, remember it where it is visible, and return who waited for it."""
        del self.active[record.job_id]
        tickets, record.tickets = record.tickets, ()
        for ticket in tickets:
            del self.by_ticket[ticket]
        if record.waiters is not None or record.supersede_keys is not None:
            self._forget_keys(record)
        if record.job.visible:
            self._remember(record, now_s)
        return tickets

    def _remember(self, record: JobRecord, now_s: float) -> None:
        ended, config = self._ended, self._config
        if record.job_id in ended:
            self._forget(record.job_id, now_s)
        ended[record.job_id] = record
        self._tasks_remembered += len(record.tasks)
        while len(ended) > config.remembered_jobs or (
            self._tasks_remembered > config.remembered_tasks and len(ended) > 1
        ):
            self._forget(next(iter(ended)), now_s)

    def _forget(self, job_id: str, now_s: float) -> None:
        """Drop an ended job. Whoever still holds its record may look at it, but it holds itself no longer.

        Else it would be garbage in a cycle, which is looked for in pauses only, and not among what was old by then.
        """
        record = self._ended.pop(job_id)
        self._tasks_remembered -= len(record.tasks)
        alone = record.without_tasks()

        def let_go(task: TaskRecord, at_s: float) -> None:
            task.job = alone

        self.sweeps.over(record.tasks, let_go, now_s)

    def remember_result(self, job: JobRecord, record: TaskRecord) -> None:
        """Keep the newest results of a lazily fed job, and forget tasks that nobody can depend on any more."""
        results, names = job.results, job.names
        assert results is not None
        assert names is not None
        assert record.outcome is not None
        results[record.task.name] = record.outcome
        if len(results) > self._config.remembered_results:
            oldest = next(iter(results))
            del results[oldest]
            known = names.get(oldest)
            if known is not None and known.state in ENDED:
                del names[oldest]

    def shared(self, job: Job) -> JobRecord | None:
        """Return the equal job in flight that a new one joins, if any. One that is being cancelled is not joined."""
        if job.share_key is None:
            return None
        found = self._shared.get(job.share_key)
        return None if found is None or found.cancel_reason is not None else found

    def join(self, record: JobRecord, job: Job, ticket: int) -> None:
        record.tickets = (*record.tickets, ticket)
        self.by_ticket[ticket] = record
        assert record.waiters is not None
        record.waiters[ticket] = job.priority
        if job.supersede_key is not None:
            self._note_superseding(record, ticket, job.supersede_key)

    def part(self, record: JobRecord, ticket: int) -> None:
        """Let one of several waiters go."""
        record.tickets = tuple(found for found in record.tickets if found != ticket)
        del self.by_ticket[ticket]
        assert record.waiters is not None
        record.waiters.pop(ticket, None)
        self._forget_superseding(record, ticket)

    def superseded_by(self, job: Job) -> tuple[JobRecord, int] | None:
        """Return the older job, and the ticket of whom it was for, that a new one with the same key ends."""
        return None if job.supersede_key is None else self._superseding.get(job.supersede_key)

    def forget_share(self, record: JobRecord) -> None:
        key = record.job.share_key
        if key is not None and self._shared.get(key) is record:
            del self._shared[key]

    def _note_superseding(self, record: JobRecord, ticket: int, key: Hashable) -> None:
        self._superseding[key] = (record, ticket)
        if record.supersede_keys is None:
            record.supersede_keys = {}
        record.supersede_keys[ticket] = key

    def _forget_superseding(self, record: JobRecord, ticket: int) -> None:
        if record.supersede_keys is None:
            return
        key = record.supersede_keys.pop(ticket, None)
        if key is not None and self._superseding.get(key) == (record, ticket):
            del self._superseding[key]

    def _forget_keys(self, record: JobRecord) -> None:
        self.forget_share(record)
        if record.supersede_keys is not None:
            for ticket in tuple(record.supersede_keys):
                self._forget_superseding(record, ticket)


_OPEN = frozenset({TaskState.PENDING, TaskState.READY, TaskState.RUNNING})


def priorities_of(record: JobRecord) -> Iterable[tuple[TaskRecord, Priority]]:
    """Yield what the priority of each task of a job should be, by its own word, the job's, and who waits for it."""
    if record.names is None or not any(made.task.priority is not None for made in record.listed()):
        for made in record.listed():
            yield made, record.priority if made.task.priority is None else made.task.priority
        return
    listed = list(record.listed())
    wanted = {made.key: record.priority if made.task.priority is None else made.task.priority for made in listed}
    # A task is always made after those that it depends on were checked; walk until nothing changes, which for tasks in
    # their order of submission is soon.
    changed = True
    while changed:
        changed = False
        for made in reversed(listed):
            for dep in made.deps:
                if dep.key in wanted and wanted[made.key] < wanted[dep.key]:
                    wanted[dep.key] = wanted[made.key]
                    changed = True
    for made in listed:
        yield made, wanted[made.key]
