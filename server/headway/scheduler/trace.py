"""The recent past as a timeline in the Chrome trace-event format, which Perfetto and chrome://tracing open.

Kept are the newest step ends and samples of the queue depths, in rings of fixed length; nothing is formatted before it
is asked for. Where several steps shared a slot (coroutines on the loop), they are spread over rows of their own, as
slices of one row must not overlap.

Source: Google, "Trace Event Format" (phases X, C, i and M).
"""

from __future__ import annotations

import asyncio
import heapq
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from headway.scheduler.levels import nothing_left
from headway.scheduler.model import LoopStalled, Priority, StepEnded, StepState, WorkerChanged

MOST_STEPS = 5_000
MOST_DEPTHS = 2_000
DEPTH_INTERVAL_S = 0.05  # how far samples of the depths should be apart
_STALLS = "event loop stalled"
_LEVELS = tuple(priority.name for priority in Priority)
_AT_ONCE = 100  # events that are made in less than a millisecond

# What is kept of an errand: the number of its job, its name, its priority, when it ended, and how long it ran.
Short: TypeAlias = tuple[int, str, Priority, float, float]


class Trace:
    """Rings of what happened; `export` makes a timeline of them."""

    def __init__(
        self, clock: Callable[[], float], *, most_steps: int = MOST_STEPS, most_depths: int = MOST_DEPTHS
    ) -> None:
        """`clock` gives the instants of the events."""
        self._clock = clock
        self._origin_s = clock()
        self._steps: deque[StepEnded | Short] = deque(maxlen=most_steps)
        self.catch_up: Callable[[], None] = nothing_left  # is called before anything is told
        self.id_of: Callable[[int], str] = str  # the id of an errand's job by its number
        self._depths: deque[tuple[float, tuple[int, ...], tuple[int, ...]]] = deque(maxlen=most_depths)
        self._incidents: deque[LoopStalled | WorkerChanged] = deque(maxlen=1000)
        self.step = self._steps.append  # takes a `StepEnded`
        self.errands = self._steps.extend  # takes errands that ended well
        self.incident = self._incidents.append  # takes a stall of the loop or a change of a worker

    @property
    def origin_s(self) -> float:
        """The instant that `ts` counts from."""
        return self._origin_s

    def depths(self, at_s: float, queued: Sequence[int], running: Sequence[int]) -> None:
        """Take a sample of how many tasks wait and run, by priority."""
        sample = (at_s, tuple(queued), tuple(running))
        if not self._depths or self._depths[-1][1:] != sample[1:]:
            self._depths.append(sample)

    def export(self, since_s: float = 60.0) -> list[dict[str, Any]]:
        """Return what ended within the last `since_s` seconds as trace events.

        `ts` and `dur` are microseconds since the scheduler was made. Rows (`tid`) are named by "M" events. A full ring
        takes tens of milliseconds; on a loop where somebody waits, take `exported`.
        """
        return list(self._events(since_s))

    async def exported(self, since_s: float = 60.0) -> list[dict[str, Any]]:
        """Return what `export` does, but let the loop turn meanwhile."""
        events = []
        for event in self._events(since_s):
            events.append(event)
            if len(events) % _AT_ONCE == 0:
                await asyncio.sleep(0)
        return events

    def _step_of(self, short: Short) -> StepEnded:
        number, name, priority, at_s, ran_s = short
        job_id = self.id_of(number)
        ended = StepState.COMPLETED
        task_id = f"{job_id}.0"
        return StepEnded(at_s, job_id, task_id, name, name, priority, ended, at_s - ran_s, ran_s, "loop", None, None)

    def _events(self, since_s: float) -> Iterator[dict[str, Any]]:
        pid = os.getpid()
        oldest_s = self._clock() - since_s
        self.catch_up()
        rows = _Rows(self._origin_s)
        steps = (step if isinstance(step, StepEnded) else self._step_of(step) for step in tuple(self._steps))
        recent = [step for step in steps if step.started_at_s + step.ran_s >= oldest_s]
        recent.sort(key=lambda step: step.started_at_s)  # as `place` asks
        incidents = [incident for incident in self._incidents if incident.at_s >= oldest_s]
        depths = list(self._depths)
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "headway scheduler"}}
        for step in recent:
            yield _slice(step, rows, pid)
        for incident in incidents:
            yield _incident(incident, rows, pid)
        # The newest sample before the window says how it began.
        first = next((i for i, sample in enumerate(depths) if sample[0] >= oldest_s), len(depths))
        for at_s, queued, running in depths[max(0, first - 1) :]:
            for name, counts in (("waiting", queued), ("running", running)):
                yield {
                    "ph": "C",
                    "name": f"tasks {name}",
                    "pid": pid,
                    "tid": 0,
                    "ts": rows.microseconds(max(at_s, oldest_s)),
                    "args": dict(zip(_LEVELS, counts, strict=True)),
                }
        for name, tid in rows.names():
            yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}


class _Rows:
    """Which row of the timeline a slice goes to: one for each slot, and more where slices of a slot overlap."""

    def __init__(self, origin_s: float) -> None:
        self._origin_s = origin_s
        self._lanes: dict[str, list[tuple[float, int]]] = {}  # by slot a heap of (busy until, tid)
        self._next_tid = 1

    def microseconds(self, at_s: float) -> float:
        """Return an instant as a timestamp; what was before the origin counts as the origin."""
        return max(0.0, (at_s - self._origin_s) * 1e6)

    def place(self, slot: str, started_at_s: float, ran_s: float) -> int:
        """Return a row of the slot that is free; to be called by time of start. O(log rows)."""
        lanes = self._lanes.setdefault(slot, [])
        if lanes and lanes[0][0] <= started_at_s:
            tid = lanes[0][1]
            heapq.heapreplace(lanes, (started_at_s + ran_s, tid))
            return tid
        tid = self._next_tid
        self._next_tid += 1
        heapq.heappush(lanes, (started_at_s + ran_s, tid))
        return tid

    def names(self) -> list[tuple[str, int]]:
        """Return (name, tid) of all rows."""
        return [
            (slot if i == 0 else f"{slot} ({i + 1})", tid)
            for slot, lanes in sorted(self._lanes.items())
            for i, tid in enumerate(sorted(tid for _, tid in lanes))
        ]


def _slice(step: StepEnded, rows: _Rows, pid: int) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": step.task_name if step.name == step.task_name else f"{step.task_name}: {step.name}",
        "cat": step.priority.name,
        "pid": pid,
        "tid": rows.place(step.slot or "loop", step.started_at_s, step.ran_s),
        "ts": rows.microseconds(step.started_at_s),
        "dur": step.ran_s * 1e6,
        "args": _step_args(step),
    }


def _step_args(step: StepEnded) -> dict[str, Any]:
    args: dict[str, Any] = {"jobId": step.job_id, "taskId": step.task_id, "state": step.state.value}
    if step.pid is not None:
        args["pid"] = step.pid
    if step.error is not None:
        args["error"] = f"{step.error.kind}: {step.error.message}"[:500]
    return args


def _incident(incident: LoopStalled | WorkerChanged, rows: _Rows, pid: int) -> dict[str, Any]:
    if isinstance(incident, LoopStalled):
        started_at_s = incident.at_s - incident.stalled_s
        return {
            "ph": "X",
            "name": _STALLS,
            "cat": "stall",
            "pid": pid,
            "tid": rows.place(_STALLS, started_at_s, incident.stalled_s),
            "ts": rows.microseconds(started_at_s),
            "dur": incident.stalled_s * 1e6,
            "args": {"culprit": incident.culprit},
        }
    return {
        "ph": "i",
        "s": "p",
        "name": f"worker {incident.change}",
        "cat": "worker",
        "pid": pid,
        "tid": 0,
        "ts": rows.microseconds(incident.at_s),
        "args": {"pid": incident.pid, "role": incident.role, "detail": incident.detail},
    }
