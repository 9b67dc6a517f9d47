"""ruff's report in terms of the text."""

from __future__ import annotations

from typing import Any

import msgspec

from headway.engines.ruff import RuffReport
from headway.features.analysis import MOST_FINDINGS, FindingTag, Severity, findings
from headway.workspace.documents import Document
from headway.workspace.text import Position, Range

REPORT = {
    "items": [
        {
            "range": {"start": {"line": 0, "character": 5}, "end": {"line": 0, "character": 9}},
            "message": "`json` imported but unused\n\nhelp: Remove unused import: `json`",
            "severity": 2,
            "code": "F401",
            "codeDescription": {"href": "https://docs.astral.sh/ruff/rules/unused-import"},
            "tags": [1],
        },
        {
            "range": {"start": {"line": 9, "character": 0}, "end": {"line": 9, "character": 1}},
            "message": "odd",
            "severity": 7,
        },
    ]
}


def test_findings_are_where_the_person_sees_them() -> None:
    document = Document(uri="file:///a.py", language="python", version=1, text="😀 = json\n")
    report = msgspec.convert(REPORT, RuffReport)
    first, second = findings(document, report, "utf-16")
    assert first.range == Range(Position(0, 4), Position(0, 8))
    assert first.message == "`json` imported but unused"
    assert (first.code, first.severity, first.tags) == ("F401", Severity.WARNING, (FindingTag.UNNECESSARY,))
    assert first.href == "https://docs.astral.sh/ruff/rules/unused-import"
    assert second.severity is Severity.WARNING
    assert second.code is None


def test_no_report_means_no_findings() -> None:
    document = Document(uri="file:///a.py", language="python", version=1, text="")
    assert findings(document, None, "utf-16") == []


def test_of_very_many_findings_the_worst_are_shown_and_the_rest_is_counted() -> None:
    """A generated file with tens of thousands of findings: a bounded list that says that it is one."""
    lines = MOST_FINDINGS + 500
    document = Document(uri="file:///a.py", language="python", version=1, text="x\n" * lines)
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
    items: list[dict[str, Any]] = [
        {"range": {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 1}}, "message": "m"}
        for line in range(lines)
    ]
    items[-1] |= {"severity": 1}
    found = findings(document, msgspec.convert({"items": items}, RuffReport), "utf-16")
    assert len(found) == MOST_FINDINGS + 1
    assert [finding.range.start.line for finding in found[:-2]] == list(range(MOST_FINDINGS - 1))
    assert (found[-2].severity, found[-2].range.start.line) == (Severity.ERROR, lines - 1)
    assert found[-1].message == "500 further findings in this file are not shown."
    assert findings(document, msgspec.convert({"items": [{"range": place, "message": "m"}]}, RuffReport), "utf-16")
