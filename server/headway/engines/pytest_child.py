"""Runs pytest in the workspace's interpreter and reports each test as a line of JSON. Run by path, never imported.

    python pytest_child.py [--headway-debugger=FOLDER] [--headway-coverage=FILE] ARGUMENT…

With `--headway-coverage` pytest-cov writes its JSON report to that file, and what it says is reported file by file.
With `--headway-debugger` it takes debugpy from that folder, reports at which port of this machine that listens, and
waits for a debugger before anything of the workspace is imported.
It may be any Python from 3.8 on and imports nothing of ours. The reports go to what was stdout at the start; before
anything of the workspace is imported, stdout is made the same as stderr, so that no test can write between them.
Exit codes are pytest's, 97 where there is no pytest, 98 where pytest-cov is asked for and is not there, and 96 where
debugpy is asked for and there is none that this Python can use.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pprint
import sys
from collections.abc import Iterable
from typing import Any, TextIO

NO_DEBUGGER = 96
NO_PYTEST = 97
NO_COVERAGE = 98
LONGEST_MESSAGE = 4000
LONGEST_OUTPUT = 16_000
LONGEST_VALUE = 16_000
MOST_PLACES = 20
MOST_COMPARED = 5000  # A value of more items takes seconds to be written out.
_COVERAGE = "--headway-coverage="
_DEBUGGER = "--headway-debugger="


class Reporter:
    """A pytest plugin that writes what happens to a file of lines."""

    def __init__(self, wire: TextIO, coverage: str = "") -> None:
        self.wire = wire
        self.coverage = coverage
        self.values: dict[str, str] = {}  # both sides, where they are what the next report is about
        self.root = os.getcwd()  # asked for now: a test may go elsewhere
        self.classes: set[str] = set()
        self.compared: tuple[Any, int, Any, Any] | None = None  # where two values were last found to differ, and both

    def tell(self, **what: Any) -> None:
        """Write one line."""
        self.wire.write(json.dumps(what, ensure_ascii=True) + "\n")
        self.wire.flush()

    def pytest_itemcollected(self, item: Any) -> None:
        if item.config.option.collectonly:
            self.tell_classes(item)
            self.tell(event="found", id=item.nodeid, **self.place(item.location))

    def pytest_deselected(self, items: Any) -> None:
        for item in items:
            if item.config.option.collectonly:
                self.tell(event="deselected", id=item.nodeid)

    def pytest_collection_finish(self, session: Any) -> None:
        config = session.config
        self.tell(
            event="collected",
            count=len(session.items),
            canCover=config.pluginmanager.hasplugin("pytest_cov"),
            patterns=list(config.getini("python_files")),
        )

    def tell_classes(self, item: Any) -> None:
        """Say where the classes around a test begin, each once."""
        for node in item.listchain():
            if type(node).__name__ in ("Class", "UnitTestCase") and node.nodeid not in self.classes:
                self.classes.add(node.nodeid)
                path, line, _ = node.reportinfo()
                self.tell(event="class", id=node.nodeid, path=self.spelled(str(path)), line=line)

    def spelled(self, path: str) -> str:
        """Return a path relative to the root where it lies there; the root may have several names."""
        return os.path.relpath(path, self.root) if path.startswith(self.root + os.sep) else path

    def place(self, location: Any) -> dict[str, Any]:
        """Return where a test stands; lines are counted from 0 here."""
        path, line, _ = location
        return {"path": self.spelled(path), "line": line}

    def trace(self, report: Any) -> list[dict[str, Any]]:
        """Return where a failure went through, outermost first; lines are counted from 1, as in messages."""
        chain = getattr(report.longrepr, "chain", None)
        traceback = chain[-1][0] if chain else getattr(report.longrepr, "reprtraceback", None)
        entries = getattr(traceback, "reprentries", [])
        places = [entry.reprfileloc for entry in entries if getattr(entry, "reprfileloc", None) is not None]
        return [
            {"path": self.spelled(place.path), "line": place.lineno, "message": _end(str(place.message), 300)}
            for place in places[-MOST_PLACES:]
        ]

    def pytest_runtest_logstart(self, nodeid: Any, location: Any) -> None:
        self.compared = None
        self.tell(event="started", id=nodeid, **self.place(location))

    def pytest_assertrepr_compare(self, op: Any, left: Any, right: Any) -> None:
        """Keep the two sides of an assertion that failed; pytest goes on to explain it as ever."""
        frame: Any = sys._getframe()
        while frame is not None and frame.f_code.co_name != "_call_reprcompare":
            frame = frame.f_back
        asserting = None if frame is None else frame.f_back
        if op == "==" and asserting is not None:
            self.compared = (asserting.f_code, asserting.f_lineno, _written(left), _written(right))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.tell(event="error", id=report.nodeid, message=_words(report), trace=self.trace(report))

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Keep the two values for the report that follows, if they are those of the assertion that ended the test."""
        compared, self.compared, self.values = self.compared, None, {}
        if compared is None or call.excinfo is None or not isinstance(call.excinfo.value, AssertionError):
            return
        last = call.excinfo.traceback[-1]._rawentry
        code, line, actual, expected = compared
        if last.tb_frame.f_code is code and last.tb_lineno == line and None not in (actual, expected):
            self.values = {"actual": actual, "expected": expected}

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = _outcome(report)
        if outcome:
            self.tell(
                event=outcome,
                id=report.nodeid,
                seconds=round(report.duration, 4),
                message=_words(report) if outcome in ("failed", "error") else _reason(report),
                output=_end(report.capstdout + report.capstderr, LONGEST_OUTPUT),
                **({"trace": self.trace(report)} if outcome in ("failed", "error") else {}),
                **self.values,
            )

    def pytest_sessionfinish(self, session: Any, exitstatus: Any) -> None:
        if self.coverage and os.path.exists(self.coverage):  # It is not where there was nothing to cover.
            with open(self.coverage, encoding="utf-8") as file:
                for path, found in json.load(file)["files"].items():
                    executed, missing = (_ranges(found[key]) for key in ("executed_lines", "missing_lines"))
                    self.tell(event="covered", path=self.spelled(path), executed=executed, missing=missing)
        self.tell(event="finished", status=int(exitstatus))


def _outcome(report: Any) -> str:
    """Return the event that a report of one phase amounts to, "" for none."""
    if report.failed:
        return "failed" if report.when == "call" else "error"
    if report.skipped:
        return "skipped"
    return "passed" if report.when == "call" else ""


def _words(report: Any) -> str:
    return _end(str(getattr(report, "longreprtext", "") or report.longrepr or ""), LONGEST_MESSAGE)


def _reason(report: Any) -> str:
    """Return why a test was skipped, "" for what passed."""
    longrepr = report.longrepr
    reason = longrepr[2] if isinstance(longrepr, tuple) else getattr(report, "wasxfail", "")
    return _end(str(reason), LONGEST_MESSAGE)


def _end(text: str, longest: int) -> str:
    return text if len(text) <= longest else "…" + text[-longest:]


def _written(value: Any) -> str | None:
    """Write one side of a comparison out for a person, or None where that cannot or need not be."""
    if isinstance(value, (str, bytes)):
        return str(value) if len(value) <= LONGEST_VALUE else None
    try:
        if hasattr(value, "__len__") and len(value) > MOST_COMPARED:
            return None
        text = pprint.pformat(value, width=80)
    except Exception:  # noqa: BLE001 - `__len__` and `__repr__` are the workspace's own.
        return None
    return text if len(text) <= LONGEST_VALUE else None


def _ranges(lines: Iterable[int]) -> list[list[int]]:
    """Return sorted line numbers as [first, last] pairs."""
    found: list[list[int]] = []
    for line in lines:
        if found and found[-1][1] == line - 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return found


def wait_for_debugger(wire: TextIO, folder: str) -> bool:
    """Listen with the debugpy of a folder until a debugger has come; return whether there is one that works here.

    Another one that is installed here, of whatever age, is not meant: nobody may ever come to it.
    """
    if not os.path.isdir(os.path.join(folder, "debugpy")):
        sys.stderr.write(f"there is no debugpy in {folder}\n")
        return False
    sys.path.insert(0, folder)
    try:
        import debugpy
    except ImportError as error:  # None there, or one for another Python.
        sys.stderr.write(f"{error}\n")
        return False
    finally:
        sys.path.remove(folder)
    _, port = debugpy.listen(("127.0.0.1", 0))
    wire.write(json.dumps({"event": "debugger", "port": port}) + "\n")
    wire.flush()
    debugpy.wait_for_client()
    return True


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
    coverage, given = "", sys.argv[1:]
    if given and given[0].startswith(_DEBUGGER) and not wait_for_debugger(wire, given.pop(0)[len(_DEBUGGER) :]):
        return NO_DEBUGGER
    if given and given[0].startswith(_COVERAGE):
        coverage = given.pop(0)[len(_COVERAGE) :]
        if importlib.util.find_spec("pytest_cov") is None:
            return NO_COVERAGE
        given = ["--cov=.", f"--cov-report=json:{coverage}", *given]
    return int(pytest.main(given, plugins=[Reporter(wire, coverage)]))


if __name__ == "__main__":
    sys.exit(main())
