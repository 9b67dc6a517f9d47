"""What is asked of pytest and what its reports amount to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway.features.testing import TestReport, arguments, problem, result_of, targets_of


def report(*events: dict[str, Any]) -> TestReport:
    made = TestReport()
    for event in events:
        made.take(json.dumps(event).encode())
    return made


def test_reports_are_counted() -> None:
    made = report(
        {"event": "collected", "count": 4},
        {"event": "passed", "id": "a"},
        {"event": "failed", "id": "b", "message": "assert 0"},
        {"event": "skipped", "id": "c"},
        {"event": "error", "id": "d", "message": "no fixture"},
        {"event": "finished", "status": 1},
    )
    assert (made.collected, made.passed, made.failed, made.skipped, made.errors) == (4, 1, 1, 1, 1)
    assert made.done == 4
    assert made.finished
    assert [failure.test_id for failure in made.failures] == ["b", "d"]


@pytest.mark.parametrize(
    "line", [b"", b"\xff\xfe", b"[1]", b"3", b'{"event": "passed"', b'{"event": ["x"]}', b'{"event": "else"}']
)
def test_lines_that_are_no_reports_are_left_aside(line: bytes) -> None:
    made = TestReport()
    made.take(line)
    assert made == TestReport()


def test_failures_are_listed_up_to_a_limit_that_is_told() -> None:
    made = report(*({"event": "failed", "id": str(number), "message": ""} for number in range(250)))
    result = result_of([made])
    assert result["failed"] == 250
    assert len(result["failures"]) == 200
    assert result["truncated"] is True


@pytest.mark.parametrize(("code", "status"), [(0, 0), (1, 1), (5, 5), (-9, 0), (-9, 1)])
def test_a_run_with_failing_tests_was_carried_out(code: int, status: int) -> None:
    ran = [{"event": "passed", "id": "test_a.py::test_a"}] if status == 0 else []
    assert problem(report(*ran, {"event": "finished", "status": status}), code, ()) is None


@pytest.mark.parametrize(
    ("code", "events", "words"),
    [
        (4, [], "could not begin"),
        (7, [], "ended in the middle"),
        (-11, [], "signal 11"),
        (2, [{"event": "finished", "status": 2}], "interrupted"),
        (0, [], "without running anything"),
        (0, [{"event": "collected", "count": 3}, {"event": "finished", "status": 0}], "without running anything"),
    ],
)
def test_a_run_that_was_not_carried_out_says_why(code: int, events: list[dict[str, Any]], words: str) -> None:
    why = problem(report(*events), code, ("ImportError: no such thing", ""))
    assert why is not None
    assert words in why
    assert "no such thing" in why


def test_the_reason_that_pytest_marks_stands_first() -> None:
    words = (
        "ImportError while loading conftest",
        "tests/conftest.py:12: in <module>",
        "E   ModuleNotFoundError: No module named 'shop'",
    )
    why = problem(report(), 4, words)
    assert why is not None
    assert why.startswith(
        "ModuleNotFoundError: No module named 'shop' (pytest could not begin, exit code 4): ImportError"
    )
    assert "conftest.py:12" in why


def test_the_root_is_fixed_and_everything_is_run_without_targets() -> None:
    root = Path("/w/project")
    assert arguments(root, (), ("-q",), ("-x",)) == [
        "--rootdir=/w/project",
        "--confcutdir=/w/project",
        "--continue-on-collection-errors",
        "-q",
        "-x",
        "/w/project",
    ]
    assert arguments(root, ["tests/test_a.py::test_b"], (), ())[-1] == "tests/test_a.py::test_b"


def test_targets_go_to_the_root_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "test_a.py").touch()
    targets = ["test_a.py::test_x", str(tmp_path / "two" / "test_b.py")]
    assert targets_of(tmp_path / "one", targets) == ["test_a.py::test_x"]
    assert targets_of(tmp_path / "two", targets) == [str(tmp_path / "two" / "test_b.py")]
