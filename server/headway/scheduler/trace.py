"""The recent past as a timeline in the Chrome trace-event format, which Perfetto and chrome://tracing open.

Kept are the newest step ends and samples of the queue depths, in rings of fixed length; nothing is formatted before it
is asked for. Where several steps shared a slot (coroutines on the loop), they are spread over rows of their own, as
slices of one row must not overlap.

Source: Google, "Trace Event Format" (phases X, C, i and M).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from headway.scheduler.model import LoopStalled, Priority, StepEnded, WorkerChanged

MOST_STEPS = 20_000
MOST_DEPTHS = 5_000
DEPTH_INTERVAL_S = 0.05  # how far samples of the depths should be apart
_STALLS = "event loop stalled"
_DEPTHS = "queue depth"


class Trace:
    """Rings of what happened; `export` makes a timeline of them."""

    def __init__(
        self, clock: Callable[[], float], *, most_steps: int = MOST_STEPS, most_depths: int = MOST_DEPTHS
    ) -> None:
        """`clock` gives the instants of the events."""
        self._clock = clock
        self._origin_s = clock()
        self._steps: deque[StepEnded] = deque(maxlen=most_steps)
        self._depths: deque[tuple[float, tuple[int, ...], tuple[int, ...]]] = deque(maxlen=most_depths)
        self._incidents: deque[LoopStalled | WorkerChanged] = deque(maxlen=1000)
        self.step = self._steps.append  # takes a `StepEnded`
        self.incident = self._incidents.append  # takes a stall of the loop or a change of a worker

    def depths(self, at_s: float, queued: Sequence[int], running: Sequence[int]) -> None:
        """Take a sample of how many tasks wait and run, by priority."""
        sample = (at_s, tuple(queued), tuple(running))
        if not self._depths or self._depths[-1][1:] != sample[1:]:
            self._depths.append(sample)

    def export(self, since_s: float = 60.0) -> list[dict[str, Any]]:
        """Return what ended within the last `since_s` seconds as trace events.

        `ts` and `dur` are microseconds since the scheduler was made. Rows (`tid`) are named by "M" events.
        """
        pid = os.getpid()
        oldest_s = self._clock() - since_s
        rows = _Rows(self._origin_s)
        recent = [step for step in self._steps if step.started_at_s + step.ran_s >= oldest_s]
        recent.sort(key=lambda step: step.started_at_s)  # as `place` asks
        slices = [_slice(step, rows, pid) for step in recent]
        slices += [_incident(incident, rows, pid) for incident in self._incidents if incident.at_s >= oldest_s]
        counters = self._counters(oldest_s, rows, pid)
        names = [
            {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
            for name, tid in rows.names()
        ]
        process = {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "headway scheduler"}}
        return [process, *names, *slices, *counters]

    def _counters(self, oldest_s: float, rows: _Rows, pid: int) -> list[dict[str, Any]]:
        """Counter events: the newest sample before the window says how it began."""
        held = list(self._depths)
        first = next((i for i, sample in enumerate(held) if sample[0] >= oldest_s), len(held))
        shown = held[max(0, first - 1) :]
        return [
            {
                "ph": "C",
                "name": f"{_DEPTHS} {priority.name}",
                "pid": pid,
                "tid": 0,
                "ts": rows.microseconds(max(at_s, oldest_s)),
                "args": {"queued": queued[priority], "running": running[priority]},
            }
            for at_s, queued, running in shown
            for priority in Priority
        ]


class _Rows:
    """Which row of the timeline a slice goes to: one for each slot, and more where slices of a slot overlap."""

    def __init__(self, origin_s: float) -> None:
        self._origin_s = origin_s
        self._lanes: dict[str, list[tuple[int, float]]] = {}  # by slot: (tid, busy until)
        self._next_tid = 1

    def microseconds(self, at_s: float) -> float:
        """Return an instant as a timestamp; what was before the origin counts as the origin."""
        return max(0.0, (at_s - self._origin_s) * 1e6)

    def place(self, slot: str, started_at_s: float, ran_s: float) -> int:
        """Return the first row of the slot that is free; to be called by time of start."""
        lanes = self._lanes.setdefault(slot, [])
        for i, (tid, until_s) in enumerate(lanes):
            if until_s <= started_at_s:
                lanes[i] = (tid, started_at_s + ran_s)
                return tid
        lanes.append((self._next_tid, started_at_s + ran_s))
        self._next_tid += 1
        return lanes[-1][0]

    def names(self) -> list[tuple[str, int]]:
        """Return (name, tid) of all rows."""
        return [
            (slot if i == 0 else f"{slot} ({i + 1})", tid)
            for slot, lanes in sorted(self._lanes.items())
            for i, (tid, _) in enumerate(lanes)
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
