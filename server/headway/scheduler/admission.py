"""Who of those that wait may start now: order, room kept for the large, shares for the small. Pure.

Only the heads of lines (equal priority, pool and size) are looked at, so a pass costs the same with a hundred waiting
as with a hundred thousand. Nothing is looked at twice while neither room nor the order has changed.
"""

from __future__ import annotations

import heapq
import math
from typing import Final, TypeAlias

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.credit import BatchCredit
from headway.scheduler.errand import Errand, Waiting
from headway.scheduler.model import Priority
from headway.scheduler.queues import Entry, LevelQueue, Line
from headway.scheduler.records import Run, TaskRecord
from headway.scheduler.resources import SLOT, Grant, Quota, Shape, Slots
from headway.scheduler.standback import Standback
from headway.scheduler.strategies import Discipline, FairShares, Strategy, risen_rank

_CRITICAL: Final = Priority.CRITICAL
_HIGH: Final = Priority.HIGH
_LOW: Final = Priority.LOW
_BATCH: Final = Priority.BATCH
# Between CRITICAL and HIGH: where background work stands when its share is due. Where a busy machine leaves LOW work
# nothing else, it goes before BATCH work, as ever, unless that had nothing for as long as its share is owed in.
_DUE_RANK: Final = 0.5
_DUE_LATER_RANK: Final = 0.75
_BEFORE_HIGH: Final = 1.0
_OWED_WITHIN_S: Final = 10.0
_LEAST_COST: Final = 0.01
_DOOMED_AT_ONCE: Final = 200


# A task that was taken out of the queue, the room and the slot that it holds, and whether on BATCH's own share.
Start: TypeAlias = tuple[Waiting, Grant, bool]


class Admission:
    """The waiting tasks, the room they wait for, and the order in which they get it.

    Args:
        config: Marks, shares and waits.
        strategy: A discipline per priority.
        quota: Room; acquired here, released by who learns of the end.
        slots: Places of executors; the same.
    """

    def __init__(self, config: SchedulerConfig, strategy: Strategy, quota: Quota, slots: Slots) -> None:
        self.queue: LevelQueue[Waiting] = LevelQueue(len(Priority))
        self.waiting = [0] * len(Priority)  # by the caller's priority, not by level
        self.quota = quota
        self.slots = slots
        self.paused = [False] * len(Priority)
        self.standback = Standback(config)
        self.credit = BatchCredit(config)
        self._config = config
        self.disciplines = strategy.disciplines
        self._fair = [FairShares() if found.shared and config.fair_shares else None for found in strategy.disciplines]
        self.attention = False  # somebody is new, or something changed: `admit` has something to look at
        self.keep_at_s = math.inf  # when the next blocked task gets room kept for it
        self.look_at_all = False  # not only at who is new
        self._fresh: list[Entry[Waiting]] = []
        self._kept: list[tuple[tuple[float, float, int], int]] = []  # room that is kept, and by whose rank
        self.urgent_waits = False  # a CRITICAL or HIGH task was looked at and lacks something

    # ---- waiting ----------------------------------------------------------------------------------------------------

    def push(self, record: TaskRecord, since_s: float, now_s: float) -> None:
        """Let a task wait for its place, from `since_s` on. A number of arrival that it has already, it keeps."""
        fair, tag = self._fair[record.level], 0.0
        if fair is not None:
            tag = fair.tag(record.job.fair_finish)
            record.job.fair_finish = tag + max(_LEAST_COST, record.shape.cores / 1e6)
        key = (record.priority, record.pool, record.shape.size_class)
        entry = self.queue.push(record, record.level, since_s, key=key, order=record.order, tag=tag)
        record.entry = entry
        record.order = entry.order
        record.ready_at_s = since_s
        self.entered(entry, now_s)

    def entered(self, entry: Entry[Waiting], now_s: float) -> None:
        """Note that somebody waits who did not."""
        priority: Priority = entry.line.key[0]
        if priority >= _LOW:
            self._count(priority, 1, now_s)
        else:
            self.waiting[priority] += 1
            if entry.line.live > 1 and entry.line.head() is not entry:
                return  # whoever is first of its line has been looked at
        self.attention = True
        if not self.look_at_all:
            self._fresh.append(entry)

    def remove(self, record: TaskRecord, now_s: float) -> bool:
        """Let a task wait no longer. False: it did not."""
        entry = record.entry
        if entry is None:
            return False
        record.entry = None
        self.queue.remove(entry)
        self._count(entry.line.key[0], -1, now_s)
        if self._kept or self.standback.critical_waits:
            self.look_at_all = self.attention = True  # the room may have been kept for it
        return True

    def pause(self, priorities: tuple[Priority, ...], paused: bool, now_s: float) -> None:
        """Let nothing of these priorities start, or let it again. Nobody loses his place. O(1)."""
        for priority in priorities:
            self.paused[priority] = paused
            self._count(priority, 0, now_s)
        self.changed()

    def changed(self) -> None:
        """Note that room was freed, or that a rule changed."""
        self.look_at_all = self.attention = True

    def release(self, run: Run, ran_s: float) -> None:
        """Take back what a run holds; once, whatever ends it."""
        if run.grant is None:
            return
        grant, run.grant = run.grant, None
        self.take_back(grant, run.pool)
        if grant.pays:
            self._charge(run, grant, ran_s)

    def take_back(self, grant: Grant, pool: int) -> None:
        """Take back room and a place."""
        self.quota.release(grant)
        if pool >= 0:
            self.slots.release(pool)
        self.look_at_all = self.attention = True
        if grant.best_effort:
            self.standback.background_runs -= 1
        elif grant.critical:
            self.standback.critical_runs -= 1

    def force_release(self, run: Run) -> None:
        """Take back the room, but not the slot, of a run that will not end."""
        if run.grant is not None and self.quota.release(run.grant):
            self.changed()

    def recharge(self, run: Run, ran_s: float) -> None:
        """Charge BATCH's share for a step that ended, while its task goes on to the next."""
        if run.grant is not None and run.grant.pays:
            self._charge(run, run.grant, ran_s)
            self.credit.running += 1

    def _charge(self, run: Run, grant: Grant, ran_s: float) -> None:
        """Charge what a step of BATCH took from others: its place, for as long as it was held.

        However little it computed there: a claim goes before HIGH work, and so must never be had for nothing.
        """
        used = grant.cores / 1e6 * ran_s
        if run.by_credit:
            self.credit.charge(used)
        else:
            self.credit.ran(used, run.began_at_s + ran_s)

    def reconfigure(self, config: SchedulerConfig) -> None:
        """Let other numbers hold. Fair shares that were given up do not come back."""
        self._config = config
        self.credit.reconfigure(config)
        self.standback.reconfigure(config)
        if not config.fair_shares:
            self._fair = [None] * len(self._fair)
        self.changed()

    def keep_nothing(self) -> None:
        """Note that whom room was kept for has his place; the next look is at all of them."""
        self.look_at_all = True
        self.keep_at_s = math.inf
        if self._kept:
            self._kept = []

    # ---- starting ---------------------------------------------------------------------------------------------------

    def direct(self, record: Waiting, now_s: float) -> Grant | None:
        """Give a task its room at once where nobody waits and nothing stands against it; None: let it wait."""
        priority = record.priority
        if self.paused[priority]:
            return None
        discipline = self.disciplines[priority]
        if discipline.best_effort and self.standback.holds(record, False, now_s):
            return None
        if record.pool >= 0 and not self.slots.free(record.pool):
            return None
        shape = record.shape
        if shape.uses and self.quota.lacking(shape, discipline.guaranteed, discipline.ages):
            return None
        if record.order is None or record.order < 0:
            record.order = self.queue.new_order()
        return self._give(record, discipline, shape, False, now_s)

    def admit(self, now_s: float) -> list[Start]:
        """Take those that may start now out of the queue, most urgent first, and give them their room."""
        fresh = self._fresh
        self.attention = False
        queue = self.queue
        if not queue.size:
            self._begin_whole()
            return []
        if self.look_at_all or now_s >= self.keep_at_s or (fresh and self._due(now_s)):
            self._begin_whole()
            lines = queue.lines()
            if len(lines) == 1 and self.standback.pressed is None and lines[0].key[0] is not _BATCH:
                return self._pass_line(lines[0], now_s)
            return self._pass(lines, now_s, whole=True)
        if not fresh:
            return []
        # Whoever is new and first of its line may start beside what is blocked; all others have been looked at.
        heads = {id(entry.line): entry.line for entry in fresh if entry.live and entry.line.head() is entry}
        fresh.clear()
        return self._pass(list(heads.values()), now_s, whole=False) if heads else []

    def wake_at_s(self) -> float:
        """Return when time alone lets something start: what is held back for a while, or BATCH work with a claim."""
        due_at_s = self.credit.due_at_s() if self.standback.pressed == "cpu" else math.inf
        return min(due_at_s, self.standback.until_s) if self.standback.waits else due_at_s

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _begin_whole(self) -> None:
        self.look_at_all = False
        self.standback.critical_waits = self.standback.waits = False
        self._fresh.clear()
        self.keep_at_s = math.inf
        if self._kept:
            self._kept = []

    def _pass_line(self, line: Line[Waiting], now_s: float) -> list[Start]:
        """Do what `_pass` does where there is one line only, which is the usual case."""
        priority, pool, _ = line.key
        starts: list[Start] = []
        if self.paused[priority]:
            return starts
        discipline = self.disciplines[priority]
        guaranteed = discipline.guaranteed
        quota, slots = self.quota, self.slots
        while (entry := self._first(line, now_s)) is not None:
            record = entry.item
            if discipline.best_effort and self.standback.holds(record, False, now_s):
                break
            lack = quota.lacking(record.shape, guaranteed, discipline.ages)
            if lack or (pool >= 0 and not slots.free(pool)):
                self._keep(entry, None, lack, False, now_s)
                break
            self.take(entry, now_s)
            starts.append((record, self._give(record, discipline, record.shape, False, now_s), False))
        return starts

    def _pass(self, lines: list[Line[Waiting]], now_s: float, *, whole: bool) -> list[Start]:
        due = self._due(now_s)
        heads = [
            self._ranked(entry, now_s, due)
            for line in lines
            if not self.paused[line.key[0]] and (entry := self._first(line, now_s)) is not None
        ]
        if len(heads) > 1:
            heapq.heapify(heads)
        starts: list[Start] = []
        quota, slots = self.quota, self.slots
        kept_mask = 0
        while heads:
            rank, tag, order, entry = heapq.heappop(heads)
            by_credit = _BEFORE_HIGH > rank >= _DUE_RANK
            if by_credit and not due:  # another BATCH line took the claim
                heapq.heappush(heads, self._ranked(entry, now_s, due))
                continue
            record = entry.item
            line = entry.line
            priority, pool = line.key[0], line.key[1]
            discipline = self.disciplines[priority]
            if discipline.best_effort and self.standback.holds(record, by_credit, now_s):
                continue
            shape = record.shape
            if by_credit and self._config.squeeze_batch:
                parts, until_s = self.credit.content_with(now_s)
                shape = quota.squeezed(shape, heads[0][3].item.shape.cores if heads else 0, parts)
                self.keep_at_s = min(self.keep_at_s, until_s)
            fills = not (self.waiting[_HIGH] or self.waiting[_CRITICAL])
            lack = quota.lacking(shape, discipline.guaranteed, discipline.ages and not by_credit, fills)
            lack |= 0 if pool < 0 or slots.free(pool) else SLOT
            if not whole and self._kept:
                mine = (rank, tag, order)
                kept_mask = 0
                for whose, mask in self._kept:
                    if whose < mine:
                        kept_mask |= mask
            if by_credit:
                due = False
            if not lack and (discipline.guaranteed or not kept_mask & shape.uses):
                self.take(entry, now_s)
                starts.append((record, self._give(record, discipline, shape, by_credit, now_s), by_credit))
                if (following := self._first(line, now_s)) is not None:
                    heapq.heappush(heads, self._ranked(following, now_s, due))
            elif lack:
                kept_mask |= self._keep(entry, (rank, tag, order), lack, by_credit, now_s)
        return starts

    def _first(self, line: Line[Waiting], now_s: float) -> Entry[Waiting] | None:
        """Return who is first of a line; the doomed are taken out on the way, but never very many at once."""
        row = line.row
        if row and not line.heap and row[0].live and row[0].item.doom is None:  # the usual case
            return row[0]
        left = _DOOMED_AT_ONCE
        while (entry := line.head()) is not None and entry.item.doom is not None:
            if not left:
                self.changed()
                return None
            left -= 1
            assert isinstance(entry.item, TaskRecord)
            self.remove(entry.item, now_s)
        return entry

    def _keep(
        self, entry: Entry[Waiting], rank: tuple[float, float, int] | None, lack: int, by_credit: bool, now_s: float
    ) -> int:
        """Keep room for a task that is blocked, if it has a claim to it by now; return in which dimensions."""
        priority = entry.line.key[0]
        if priority is _CRITICAL:
            self.standback.critical_waits = True
        if priority <= _HIGH:
            self.urgent_waits = True
        lack &= ~SLOT
        if not lack:
            return 0
        keep_at_s = entry.since_s + self._config.reserve_after_s
        if by_credit or now_s >= keep_at_s or self.disciplines[priority].guaranteed:
            # By its present rank: room kept for who has risen is not for those that it has passed.
            self._kept.append((rank or self._ranked(entry, now_s, False)[:3], lack))
            return lack
        self.keep_at_s = min(self.keep_at_s, keep_at_s)
        return 0

    def _give(self, record: Waiting, discipline: Discipline, shape: Shape, by_credit: bool, now_s: float) -> Grant:
        if record.pool >= 0:
            self.slots.acquire(record.pool)
        grant = self.quota.acquire(shape, discipline.guaranteed, discipline.ages and not by_credit)
        if by_credit or (record.priority is _BATCH and self.credit.satisfied_by(grant.cpu_cores)):
            grant.pays = True
            self.credit.running += 1
        if discipline.best_effort:
            grant.best_effort = True
            record.job.served_at_s = now_s
            self.standback.background_runs += 1
        elif discipline.guaranteed:
            self.standback.critical_starts(now_s)
        return grant

    def _ranked(self, entry: Entry[Waiting], now_s: float, due: bool) -> tuple[float, float, int, Entry[Waiting]]:
        line = entry.line
        if due and (line.key[0] is _BATCH or (self.standback.pressed == "cpu" and line.key[0] is _LOW)):
            return self._due_rank(entry, now_s), entry.tag, entry.order, entry
        discipline, since_s = self.disciplines[line.level], entry.since_s
        # A job that is being served does not age: its tasks wait behind each other, which makes none of them urgent.
        if discipline.shared and self._config.rise_by_job and entry.item.job.served_at_s > since_s:
            since_s = entry.item.job.served_at_s
        rank = risen_rank(discipline, now_s - since_s, self._config.rise_after_s)
        return rank, entry.tag, entry.order, entry

    def _due_rank(self, entry: Entry[Waiting], now_s: float) -> float:
        if entry.line.key[0] is _LOW or self.standback.pressed != "cpu" or not self.waiting[_LOW]:
            return _DUE_RANK
        had_nothing_s = now_s - max(entry.since_s, entry.item.job.served_at_s)
        return _DUE_RANK if had_nothing_s >= _OWED_WITHIN_S else _DUE_LATER_RANK

    def take(self, entry: Entry[Waiting], now_s: float) -> None:
        """Let somebody wait no longer, as he has his place."""
        record = entry.item
        if not isinstance(record, Errand):
            record.entry = None
        self.queue.remove(entry)
        priority = entry.line.key[0]
        if priority >= _LOW:
            self._count(priority, -1, now_s)
        else:
            self.waiting[priority] -= 1
        fair = self._fair[entry.line.level]
        if fair is not None:
            fair.started(entry.tag)

    def _count(self, priority: Priority, change: int, now_s: float) -> None:
        self.waiting[priority] += change
        if priority >= _LOW:
            self.credit.update(now_s, self._may_claim())

    def _may_claim(self) -> bool:
        """Return whether somebody waits who has a share: BATCH, and LOW while foreign load holds it back, too."""
        if self.waiting[_BATCH] and not self.paused[_BATCH]:
            return True
        return self.standback.pressed == "cpu" and self.waiting[_LOW] > 0 and not self.paused[_LOW]

    def _due(self, now_s: float) -> bool:
        if not (self.waiting[_BATCH] or self.waiting[_LOW]):
            return False
        self.credit.update(now_s, self._may_claim())
        return self.credit.is_due
