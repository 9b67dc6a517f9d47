"""What is wrong in a file: findings, as the person is to see them. Knows no process and no editor."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headway.engines.mirror import Encoding, own_position
from headway.engines.ruff import ListedFinding, RuffDiagnostic, RuffReport
from headway.wording import say
from headway.workspace.documents import Document
from headway.workspace.text import Position, Range

# As many as an editor shows of one file; more would only take time and memory, on both sides of the wire.
MOST_FINDINGS: Final = 1000
# What ruff's server calls an error; a list does not tell.
_ERRORS: Final = frozenset({None, "invalid-syntax", "E902", "E999", "F821"})
# How ruff and ty end what they say with advice that an editor shows in another way, or nobody wants to read there.
_ADVICE = re.compile(r"\n\n(?:help|info):")


class Severity(enum.IntEnum):
    """How bad a finding is; the numbers are LSP's."""

    ERROR = 1
    WARNING = 2
    INFORMATION = 3
    HINT = 4


class FindingTag(enum.IntEnum):
    """How an editor may show a finding's text: faded or struck through; the numbers are LSP's."""

    UNNECESSARY = 1
    DEPRECATED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something to tell about a stretch of text. `href` explains the `code`."""

    range: Range
    message: str
    severity: Severity
    code: str | None = None
    href: str | None = None
    source: str = "ruff"
    tags: tuple[FindingTag, ...] = ()


def findings(
    document: Document, report: RuffReport | None, encoding: Encoding, *, source: str = "ruff"
) -> list[Finding]:
    """Return what an engine's report says, in terms of the text that it is about.

    Of more than `MOST_FINDINGS` the worst are kept, the first of them first, and one more finding says how many there
    are besides.

    Args:
        encoding: How the report counts columns.
        source: Who made it, as the person is to see it.
    """
    if report is None:
        return []
    kept = report.items
    if len(kept) > MOST_FINDINGS:
        worst = sorted(range(len(kept)), key=lambda index: kept[index].severity)[:MOST_FINDINGS]
        kept = [kept[index] for index in sorted(worst)]
    found = [_finding(document, item, encoding, source) for item in kept]
    left_out = len(report.items) - len(kept)
    if left_out:
        found.append(
            Finding(
                range=found[-1].range,
                message=say("{count:,} further findings in this file are not shown.", count=left_out),
                severity=Severity.INFORMATION,
                source="headway",
            )
        )
    return found


def listed_findings(items: Sequence[ListedFinding]) -> list[Finding]:
    """Return what `ruff check` lists of one file, at most `MOST_FINDINGS`, first lines first."""
    return [
        Finding(
            range=Range(
                Position(item.location.row - 1, item.location.column - 1),
                Position(item.end_location.row - 1, item.end_location.column - 1),
            ),
            message=item.message,
            severity=Severity.ERROR if item.code in _ERRORS else Severity.WARNING,
            code=item.code,
            href=item.url or None,
        )
        for item in items[:MOST_FINDINGS]
    ]


def _finding(document: Document, item: RuffDiagnostic, encoding: Encoding, source: str) -> Finding:
    start, end = (
        own_position(document, place.line, place.character, encoding) for place in (item.range.start, item.range.end)
    )
    return Finding(
        range=Range(start, end),
        message=_ADVICE.split(item.message, maxsplit=1)[0],
        severity=Severity(item.severity) if 1 <= item.severity <= 4 else Severity.WARNING,
        code=None if item.code is None else str(item.code),
        source=source,
        href=(item.codeDescription.href or None) if item.codeDescription else None,
        tags=tuple(FindingTag(tag) for tag in item.tags if tag in (1, 2)),
    )
