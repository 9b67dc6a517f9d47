"""Test runs: what is asked of pytest, and what came of it. Pure: arguments and lines in, values out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Exit codes of pytest under which a run was carried out: all passed, some failed, there were none.
_CARRIED_OUT = frozenset({0, 1, 5})
_MOST_LISTED = 200
NEWS = frozenset(
    {"found", "class", "deselected", "started", "passed", "failed", "skipped", "error", "covered", "debugger"}
)
_COUNTED = {"passed": "passed", "failed": "failed", "skipped": "skipped", "error": "errors"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TestFailure:
    """A test, or a file, that failed or could not be run."""

    __test__ = False  # pytest collects classes with such names

    test_id: str
    outcome: str  # "failed" or "error"
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A line that a failure went through, counted from 0."""

    path: Path
    line: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestNews:
    """Something that a run has just said, for whoever follows it.

    Attributes:
        kind: One of `NEWS`.
        test_id: pytest's node id; empty for "covered" and "debugger".
        line: Where the test or class begins, counted from 0.
        expected, actual: The two sides of the comparison that failed, where there was one.
        executed, missing: For "covered": (first, last) lines, counted from 1.
        port: For "debugger": where one is waited for on this machine.
    """

    __test__ = False

    kind: str
    test_id: str
    path: Path | None = None
    line: int | None = None
    duration_s: float | None = None
    message: str = ""
    output: str = ""
    trace: tuple[Place, ...] = ()
    expected: str | None = None
    actual: str | None = None
    executed: tuple[tuple[int, int], ...] = ()
    missing: tuple[tuple[int, int], ...] = ()
    port: int | None = None


@dataclass(slots=True, kw_only=True)
class TestReport:
    """What became of a run, counted while its lines come in."""

    __test__ = False

    collected: int | None = None
    can_cover: bool = False  # whether the interpreter has pytest-cov
    patterns: tuple[str, ...] = ()  # which files hold tests, as pytest is configured
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    status: int | None = None  # pytest's own exit status, once it has reported everything
    failures: list[TestFailure] = field(default_factory=list)
    truncated: bool = False

    @property
    def finished(self) -> bool:
        """Whether everything was reported."""
        return self.status is not None

    @property
    def done(self) -> int:
        """Tests whose end is known."""
        return self.passed + self.failed + self.skipped + self.errors

    def take(self, line: bytes) -> Mapping[str, Any]:
        """Count one line of `pytest_child` and return what it says; what is no such line is left aside."""
        event = _event(line)
        kind = event.get("event")
        if kind == "collected" and isinstance(event.get("count"), int):
            self.collected = event["count"]
            self.can_cover = event.get("canCover") is True
            self.patterns = tuple(str(pattern) for pattern in event.get("patterns") or ())
        elif kind == "finished" and isinstance(event.get("status"), int):
            self.status = event["status"]
        elif isinstance(kind, str) and kind in _COUNTED:
            setattr(self, _COUNTED[kind], getattr(self, _COUNTED[kind]) + 1)
            if kind in ("failed", "error"):
                self._note(TestFailure(test_id=str(event.get("id")), outcome=kind, message=str(event.get("message"))))
        return event

    def _note(self, failure: TestFailure) -> None:
        if len(self.failures) < _MOST_LISTED:
            self.failures.append(failure)
        else:
            self.truncated = True


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def news_of(event: Mapping[str, Any], root: Path) -> TestNews | None:
    """Return what an event of `pytest_child` tells those who follow the run of a root, None where it tells nothing."""
    kind = event.get("event")
    if kind not in NEWS:
        return None
    path, line, seconds = event.get("path"), event.get("line"), event.get("seconds")
    return TestNews(
        kind=kind,
        test_id=str(event.get("id", "")),
        path=root / path if isinstance(path, str) else None,
        line=line if isinstance(line, int) else None,
        duration_s=seconds if isinstance(seconds, int | float) else None,
        message=str(event.get("message", "")),
        output=str(event.get("output", "")),
        trace=tuple(
            Place(path=root / place["path"], line=max(0, place["line"] - 1), message=place["message"])
            for place in event.get("trace", ())
        ),
        expected=event.get("expected"),
        actual=event.get("actual"),
        executed=tuple((first, last) for first, last in event.get("executed", ())),
        missing=tuple((first, last) for first, last in event.get("missing", ())),
        port=event.get("port"),
    )


def arguments(
    root: Path, targets: Sequence[str], own: Sequence[str], extra: Sequence[str], *, collect: bool = False
) -> list[str]:
    """Return pytest's arguments for a run of one root.

    The root is fixed, so that the configuration and the `conftest.py` files of what lies around it are left alone.

    Args:
        targets: Paths and node ids, relative to the root or absolute; none means everything.
        own: From the settings.
        extra: From the request.
        collect: Find the tests only.
    """
    fixed = [f"--rootdir={root}", f"--confcutdir={root}", "--continue-on-collection-errors"]
    if collect:
        fixed.append("--collect-only")
    return [*fixed, *own, *extra, *(targets or [str(root)])]


def targets_of(root: Path, targets: Sequence[str]) -> list[str]:
    """Return the targets that are files or folders of a root, absolute where they were so."""
    return [target for target in targets if _is_in(root, target.partition("::")[0])]


def _is_in(root: Path, path: str) -> bool:
    place = Path(path)
    return place.is_relative_to(root) if place.is_absolute() else (root / place).exists()


def problem(report: TestReport, exit_code: int, last_words: Sequence[str], *, collect: bool = False) -> str | None:
    """Say why a run was not carried out, None where it was, failing tests or not.

    Args:
        collect: It was to find the tests only.
    """
    if exit_code < 0 and report.status is not None:
        exit_code = report.status  # It had to be ended when it was done, as a thread of a test held it.
    ran = collect or report.done > 0 or exit_code != 0  # `--collect-only` and the like end well, too, but run nothing.
    if exit_code in _CARRIED_OUT and report.finished and ran:
        return None
    reasons = {2: "the run was interrupted", 3: "pytest met an error of its own", 4: "pytest could not begin"}
    if exit_code in _CARRIED_OUT:
        what = "pytest ended without running anything; an argument may have asked for something else"
    elif exit_code < 0:
        what = f"pytest was ended by signal {-exit_code}"
    else:
        what = reasons.get(exit_code, "the process ended in the middle")
    words = [line.strip() for line in last_words if line.strip()]
    tail = " | ".join(words[-6:])[-900:]
    # pytest marks the reason so. It is what a person has to know, and rows of lists show no more than a beginning.
    reason = next((word[1:].strip() for word in reversed(words) if word.startswith("E ")), "")
    head = f"{reason} ({what}, exit code {exit_code})" if reason else f"{what} (exit code {exit_code})"
    return head + (f": {tail}" if tail else "")


def result_of(reports: Sequence[TestReport]) -> dict[str, Any]:
    """Return the result of a job, over all roots."""
    failures = [failure for report in reports for failure in report.failures]
    return {
        "passed": sum(report.passed for report in reports),
        "failed": sum(report.failed for report in reports),
        "skipped": sum(report.skipped for report in reports),
        "errors": sum(report.errors for report in reports),
        "failures": [
            {"id": failure.test_id, "outcome": failure.outcome, "message": failure.message}
            for failure in failures[:_MOST_LISTED]
        ],
        "collected": sum(report.collected or 0 for report in reports),
        "canCover": bool(reports) and all(report.can_cover for report in reports),
        "patterns": sorted({pattern for report in reports for pattern in report.patterns}),
        "truncated": len(failures) > _MOST_LISTED or any(report.truncated for report in reports),
    }
