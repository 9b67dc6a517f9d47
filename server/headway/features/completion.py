"""What can be written at a place: candidates from several sources made into one ranked list.

Pure: texts and candidates in, a list out. It knows no engine, no index and no clock; `features/scope.py` reads the open
text, the session asks the others.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from headway.workspace.text import Range


class CandidateKind(enum.IntEnum):
    """What a candidate is; the numbers are those of LSP's CompletionItemKind."""

    TEXT = 1
    METHOD = 2
    FUNCTION = 3
    CONSTRUCTOR = 4
    FIELD = 5
    VARIABLE = 6
    CLASS = 7
    INTERFACE = 8
    MODULE = 9
    PROPERTY = 10
    UNIT = 11
    VALUE = 12
    ENUM = 13
    KEYWORD = 14
    SNIPPET = 15
    COLOR = 16
    FILE = 17
    REFERENCE = 18
    FOLDER = 19
    ENUM_MEMBER = 20
    CONSTANT = 21
    STRUCT = 22
    EVENT = 23
    OPERATOR = 24
    TYPE_PARAMETER = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One name that may be meant.

    `insert` is what is written in place of the word, `filter_text` what the editor compares with it (None: `label`).
    `import_from` names the module that an import line is made for when the candidate is chosen.
    """

    label: str
    kind: CandidateKind
    insert: str = ""  # empty: the label
    filter_text: str | None = None
    detail: str | None = None
    documentation: str | None = None  # Markdown
    deprecated: bool = False
    import_from: str | None = None
    source: str = ""  # "ty", "text", "index", "builtin", "keyword"
    source_rank: int = 0  # place in the source's own order, 0 is best


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionList:
    """At most `max_items` candidates, best first.

    `incomplete`: the editor should ask again as the word grows. `insert_range` ends at the cursor, `replace_range` at
    the end of the word; both begin where the word begins. `list_id` and a candidate's place in `items` together name it
    for `resolve`.
    """

    list_id: int
    items: tuple[Candidate, ...]
    incomplete: bool
    insert_range: Range
    replace_range: Range


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedCandidate:
    """What is told of a candidate once a person looks at it. `edits` are (range, text), elsewhere in the document."""

    detail: str | None = None
    documentation: str | None = None  # Markdown
    edits: tuple[tuple[Range, str], ...] = field(default=())
