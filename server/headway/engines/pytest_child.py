"""Runs pytest in the workspace's interpreter and reports each test as a line of JSON. Run by path, never imported.

    python pytest_child.py ARGUMENT…

It may be any Python from 3.8 on and imports nothing of ours. The reports go to what was stdout at the start; before
anything of the workspace is imported, stdout is made the same as stderr, so that no test can write between them.
Exit codes are pytest's, and 97 where there is no pytest.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

NO_PYTEST = 97
LONGEST_MESSAGE = 4000


class Reporter:
    """A pytest plugin that writes what happens to a file of lines."""

    def __init__(self, wire: TextIO) -> None:
        self.wire = wire

    def tell(self, **what: Any) -> None:
        """Write one line."""
        self.wire.write(json.dumps(what, ensure_ascii=True) + "\n")
        self.wire.flush()

    def pytest_collection_finish(self, session: Any) -> None:
        self.tell(event="collected", count=len(session.items))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.tell(event="error", id=report.nodeid, message=_words(report))

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = _outcome(report)
        if outcome:
            self.tell(
                event=outcome,
                id=report.nodeid,
                seconds=round(report.duration, 4),
                message=_words(report) if outcome in ("failed", "error") else "",
            )

    def pytest_sessionfinish(self, session: Any, exitstatus: Any) -> None:
        self.tell(event="finished", status=int(exitstatus))


def _outcome(report: Any) -> str:
    """Return the event that a report of one phase amounts to, "" for none."""
    if report.failed:
        return "failed" if report.when == "call" else "error"
    if report.skipped:
        return "skipped"
    return "passed" if report.when == "call" else ""


def _words(report: Any) -> str:
    text = str(getattr(report, "longreprtext", "") or report.longrepr or "")
    return text if len(text) <= LONGEST_MESSAGE else "…" + text[-LONGEST_MESSAGE:]


def main() -> int:
    """Run pytest with the arguments of the command line and return its exit code."""
    wire = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    # As `python -m pytest` has it: the working directory, and not this file's folder, is looked in for modules.
    sys.path[0] = os.getcwd()
    sys.argv[0] = "pytest"
    try:
        import pytest
    except ModuleNotFoundError as error:
        if error.name != "pytest":
            raise
        return NO_PYTEST
    return int(pytest.main(sys.argv[1:], plugins=[Reporter(wire)]))


if __name__ == "__main__":
    sys.exit(main())
