"""How long clients wait for answers, for `queueState.latency` and the timeline."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from headway.lsp.protocol import Latency, PriorityName, TaskTimes
from headway.scheduler.model import Priority, TaskEnded
from headway.scheduler.sketch import Sketch

# What a person waits for, by the name that it has in `latency`.
WATCHED = {
    "textDocument/completion": "completion",
    "textDocument/hover": "hover",
    "textDocument/signatureHelp": "signatureHelp",
    "textDocument/definition": "definition",
    "headway/search": "search",
}

# So many completions are kept one by one: an hour of steady typing.
_MOST_COMPLETIONS = 5_000
# Of each priority so many of the newest tasks count; they are sorted with each state that is told.
_MOST_TASKS = 200


class Latencies:
    """Times from a request's arrival to its answer, by kind, in bounded memory."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` says when an answer went out; the scheduler's, so that both stand on one timeline."""
        self._clock = clock
        self._sketches: dict[str, Sketch] = {}
        self._completions: deque[tuple[float, float]] = deque(maxlen=_MOST_COMPLETIONS)

    def answered(self, method: str, took_s: float) -> None:
        """Count an answer that was no error."""
        name = WATCHED.get(method)
        if name is not None:
            self._sketches.setdefault(name, Sketch()).add(took_s)
            if name == "completion":
                self._completions.append((self._clock(), took_s))

    def completions(self, since_s: float) -> list[tuple[float, float]]:
        """Return (when it was answered, how long that took) of the completions of the last `since_s` seconds."""
        oldest_s = self._clock() - since_s
        return [answered for answered in self._completions if answered[0] >= oldest_s]

    def current(self) -> dict[str, Latency]:
        """Return what was measured so far."""
        shown: dict[str, Latency] = {}
        for name, sketch in self._sketches.items():
            p50_s, p95_s, p99_s = (found or 0.0 for found in sketch.quantiles_at((0.5, 0.95, 0.99)))
            shown[name] = {
                "count": sketch.count,
                "p50Ms": p50_s * 1000,
                "p95Ms": p95_s * 1000,
                "p99Ms": p99_s * 1000,
            }
        return shown


class RecentTimes:
    """How long the newest tasks of each priority waited and ran, for `queueState.times`."""

    def __init__(self) -> None:
        self._waited_s = [deque[float](maxlen=_MOST_TASKS) for _ in Priority]
        self._ran_s = [deque[float](maxlen=_MOST_TASKS) for _ in Priority]

    def ended(self, event: TaskEnded) -> None:
        """Count a task that has ended; one that never ran says nothing of running."""
        self._waited_s[event.priority].append(event.outcome.waited_s)
        if event.outcome.attempts:
            self._ran_s[event.priority].append(event.outcome.ran_s)

    def current(self) -> dict[PriorityName, TaskTimes]:
        """Return the 95th percentiles by priority, null where nothing has ended."""
        names: tuple[PriorityName, ...] = ("CRITICAL", "HIGH", "NORMAL", "LOW", "BATCH")
        return {
            name: {"waitP95Ms": _p95_ms(self._waited_s[level]), "runP95Ms": _p95_ms(self._ran_s[level])}
            for level, name in enumerate(names)
        }


def _p95_ms(seconds: deque[float]) -> float | None:
    if not seconds:
        return None
    return sorted(seconds)[int(0.95 * (len(seconds) - 1))] * 1000
