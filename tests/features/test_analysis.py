"""ruff's report in terms of the text."""

from __future__ import annotations

import msgspec

from headway.engines.ruff import RuffReport
from headway.features.analysis import FindingTag, Severity, findings
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
