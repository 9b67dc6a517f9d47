"""What is wrong in a file: findings, as the person is to see them. Knows no process and no editor."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from headway.workspace.text import Range


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
