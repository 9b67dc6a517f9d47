"""Who gives his place up at a step boundary, and for whom. Pure; part of the core."""

from __future__ import annotations

from headway.scheduler.admission import Admission
from headway.scheduler.config import SchedulerConfig
from headway.scheduler.errand import Waiting
from headway.scheduler.model import Priority
from headway.scheduler.outbox import Outbox
from headway.scheduler.queues import Line
from headway.scheduler.records import Run, TaskRecord


def must_yield(admission: Admission, record: TaskRecord, run: Run, spent: bool, *, preempt: bool) -> bool:
    """Return whether a task gives its place up at a step boundary.

    Args:
        admission: Knows who waits, and for what.
        record: It runs, and would go on.
        run: Its last step, whose place it holds.
        spent: It has used its quantum up, so that its equals count as more urgent.
        preempt: Places are given up to the more urgent at all.
    """
    priority = record.priority
    if admission.paused[priority]:
        return True
    if admission.disciplines[priority].best_effort and admission.standback.holds(record, False, None):
        return True
    if not preempt or not admission.queue.size or admission.disciplines[priority].guaranteed:
        return False
    own = admission.disciplines[record.level].rank
    for line in admission.queue.lines():
        rank = admission.disciplines[line.level].rank
        if (rank < own or (spent and rank == own)) and _would_help(admission, line, record, run.pool):
            return True
    return False


def _would_help(admission: Admission, line: Line[Waiting], record: TaskRecord, own_pool: int) -> bool:
    """Return whether the head of a line could use the place of a task that runs."""
    priority: Priority = line.key[0]
    pool: int = line.key[1]
    entry = line.head()
    if entry is None or admission.paused[priority]:
        return False
    discipline = admission.disciplines[priority]
    if discipline.best_effort and admission.standback.holds(entry.item, False, None):
        return False
    if not admission.slots.free(pool):
        return own_pool == pool
    lack = admission.quota.lacking(entry.item.shape, discipline.guaranteed, discipline.ages)
    return lack == 0 or lack & record.shape.uses == lack


def spend_quantum(
    admission: Admission, config: SchedulerConfig, outbox: Outbox, record: TaskRecord, now_s: float
) -> bool:
    """Sink a task that keeps using its quantum up, at a step boundary; return whether it just did."""
    level = record.level
    if not admission.disciplines[level].ages or record.quantum_s < config.quanta_s[level]:
        return False
    record.quantum_s = 0.0
    record.quanta += 1
    if record.quanta >= config.sink_after_quanta and level < Priority.BATCH:
        record.quanta = 0
        record.level = level + 1
        if outbox.observed:
            outbox.task_moved(record, Priority(level), Priority(level + 1), "quantum", now_s)
    return True
