"""What typing showed: waits and recall, and whether that is good enough. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headway.demo.typist import Key, When

RECALL_AT_LEAST = 0.8
BUSY = ("cpu", "memory")
SHORT_INDEX_S = 5.0  # a small project's index may be complete before a list was due


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Of some keys: how long until a list was there, and in how many lists the known name was.

    `unserved` keys had no list at all; `failed` answers were errors that nobody had asked for by a cancel.
    """

    keys: int
    p50_s: float | None
    p95_s: float | None
    due: int
    found: int
    unserved: int
    failed: int

    @property
    def recall(self) -> float | None:
        """Share of the lists that had to hold a known name and did; None where none had to."""
        return self.found / self.due if self.due else None


def figures(keys: Iterable[Key]) -> Figures:
    """Sum up keys; waits of unserved keys are left out of the percentiles and counted instead."""
    keys = list(keys)
    waits = [key.wait_s for key in keys if key.wait_s is not None]
    return Figures(
        keys=len(keys),
        p50_s=percentile(waits, 0.50),
        p95_s=percentile(waits, 0.95),
        due=sum(key.hit is not None for key in keys),
        found=sum(key.hit is True for key in keys),
        unserved=sum(key.wait_s is None for key in keys),
        failed=sum(key.failed is not None for key in keys),
    )


def figures_by_when(keys: Sequence[Key]) -> dict[When, Figures]:
    """The figures of each condition, in its order; also of one in which no key was pressed."""
    return {when: figures(key for key in keys if key.when is when) for when in When}


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value below which `share` of the values lie, interpolated linearly; None for no values.

    Raises:
        ValueError: share is not in [0, 1].
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}, not in [0, 1]")
    if not values:
        return None
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a whole run showed.

    `files` and `symbols` are what the index says it holds, `skipped` what it left out, by reason; `sources` are the
    Python files that there are.
    """

    project: str
    server: str
    start_s: float  # from the process's start to the answer to `initialize`
    first_list_s: float | None  # from the same start to the first list
    index_s: float | None  # from `initialized` to the first complete index; None: it never was
    files: int
    symbols: int
    skipped: Mapping[str, int]
    sources: int
    pause_reason: str | None  # why the server held its background work back, at the end
    rounds: int  # how often the index was built while typing went on
    statements: int
    by_when: Mapping[When, Figures]
    wall_s: float
    exit_code: int | None = None  # the server's, after shutdown and exit; None: it had to be killed


def shortcomings(report: Report, recall_at_least: float = RECALL_AT_LEAST) -> list[str]:
    """What was not as it must be, in words; empty: all is well.

    In the first seconds a list must come, but need not yet hold what only a server that has settled can know.
    """
    found = []
    if report.index_s is None:
        why = f"; background work was paused ({report.pause_reason}) at the end" if report.pause_reason else ""
        remedy = ": other programs need this machine, run again later" if report.pause_reason in BUSY else ""
        found.append(f"the index was not finished{why}{remedy}")
    elif report.files + sum(report.skipped.values()) < report.sources:
        found.append(f"the index holds {report.files} of {report.sources} files and does not say why")
    if report.exit_code != 0:
        found.append(
            "the server " + ("had to be killed" if report.exit_code is None else f"ended with {report.exit_code}")
        )
    long_index = report.index_s is None or report.index_s > SHORT_INDEX_S
    for when, part in report.by_when.items():
        if not part.due and (when is When.IDLE or (when is When.INDEXING and long_index)):
            found.append(f"{when}: no list was there in time to be judged")
        elif when is not When.START and part.found < part.due * recall_at_least:
            share = f"fewer than {recall_at_least:.0%}"
            found.append(f"{when}: {part.found} of {part.due} lists held the known name, {share}")
        if part.unserved:
            found.append(f"{when}: {part.unserved} of {part.keys} keys had no list at all")
        if part.failed:
            found.append(f"{when}: {part.failed} requests ended in an error")
    return found
