"""What was asked and what became of it: latencies, answers that are missing, work that was done twice."""

import collections
from collections.abc import Mapping, Sequence
from typing import Any

CANCELLED = -32800
CONTENT_MODIFIED = -32801
_ENDED = {"COMPLETED", "FAILED", "CANCELLED", "SKIPPED"}


class Ledger:
    """Counts while the load runs; `faults` lists what must not happen, at most a hundred of each kind."""

    def __init__(self) -> None:
        self.latencies_s: dict[str, list[float]] = collections.defaultdict(list)
        self.counts: collections.Counter[str] = collections.Counter()
        self._faults: collections.Counter[str] = collections.Counter()
        self._examples: dict[str, list[str]] = collections.defaultdict(list)

    def took(self, what: str, seconds: float) -> None:
        self.latencies_s[what].append(seconds)

    def fault(self, kind: str, detail: str) -> None:
        self._faults[kind] += 1
        if len(self._examples[kind]) < 5:
            self._examples[kind].append(detail)

    def faults(self) -> list[str]:
        return [
            f"{kind} ({count}×), such as: {'; '.join(self._examples[kind])}" for kind, count in self._faults.items()
        ]

    def job(self, sent: Sequence[str], view: Mapping[str, Any]) -> None:
        """Check a job that was answered: each task of it ended, and was started once unless it was tried again."""
        title = f"{view.get('title')} ({view.get('state')})"
        tasks = (view.get("result") or {}).get("tasks", {})
        order = (view.get("result") or {}).get("order", [])
        if view.get("state") in ("COMPLETED", "FAILED"):
            missing = sorted(set(sent) - set(tasks))
            if missing:
                self.fault("tasks lost", f"{title}: {missing}")
        for name, count in collections.Counter(order).items():
            if count > 1:
                self.fault("tasks started twice", f"{title}: {name} {count}×")
        for name, task in tasks.items():
            if view.get("state") == "COMPLETED" and task["state"] not in _ENDED:
                self.fault("tasks left open", f"{title}: {name} {task['state']}")
            self.counts[f"task {task['state']}"] += 1

    def table(self) -> str:
        """Return the latencies as a table, in milliseconds."""
        lines = [f"{'':22}{'count':>8}{'p50':>9}{'p95':>9}{'p99':>9}{'max':>9}  ms"]
        for what, seconds in sorted(self.latencies_s.items()):
            ordered = sorted(seconds)

            def at(share: float, ordered: list[float] = ordered) -> float:
                return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000

            lines.append(f"{what:22}{len(ordered):8}{at(0.5):9.1f}{at(0.95):9.1f}{at(0.99):9.1f}{at(1.0):9.1f}")
        return "\n".join(lines)
