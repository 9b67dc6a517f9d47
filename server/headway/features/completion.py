"""What can be written at a place: candidates from several sources made into one ranked list.

Pure: texts and candidates in, a list out. It knows no engine, no index and no clock; `features/scope.py` reads the open
text, the session asks the others. Names of all sources are ranked by their labels alone, and only those that are shown
become candidates: an engine may know a thousand.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
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
    `import_from` names the module that an import line is made for when the candidate is chosen. `call` is what follows
    the name where it is called, as a snippet: "()", "($1)", or empty.
    """

    label: str
    kind: CandidateKind
    insert: str = ""  # empty: the label
    filter_text: str | None = None
    detail: str | None = None
    documentation: str | None = None  # Markdown
    deprecated: bool = False
    import_from: str | None = None
    call: str = ""
    source: str = ""  # "ty", "text", "index", "python"


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


class Tier(enum.IntEnum):
    """How near a name is to the place, where the words fit equally well; lower is shown first."""

    ARGUMENT = 0  # a keyword argument of the call that is being written
    LOCAL = 1
    ENCLOSING = 2
    MODULE = 3
    ENGINE = 4  # in sight, but not by this text alone
    LANGUAGE = 5  # keywords and builtins
    ELSEWHERE = 6  # needs an import first


class Source:
    """Names from one source, best first.

    It remembers which names fit the prefix that was asked about last: as a word grows only those can fit.

    Args:
        tiers: One for each label.
        make: Builds the candidate of an index.
        final: Nothing that begins with the word as it stands is missing, however it grows.
    """

    __slots__ = ("_fitting", "_prefix", "final", "labels", "make", "name", "tiers")

    def __init__(
        self,
        *,
        name: str,
        labels: Sequence[str],
        tiers: Sequence[Tier],
        make: Callable[[int], Candidate],
        final: bool = True,
    ) -> None:
        self.name = name
        self.labels = labels
        self.tiers = tiers
        self.make = make
        self.final = final
        self._prefix = ""
        self._fitting: Sequence[tuple[int, int]] = ()

    def fitting(self, prefix: str) -> Sequence[tuple[int, int]]:
        """Return the indices of the labels that fit a prefix, each with how well (lower is better)."""
        if prefix and prefix == self._prefix:
            return self._fitting
        fits = _fit(prefix)
        # Behind underscores alone more may fit than before: `_n` is also looked for as `n`.
        narrowing = self._prefix.strip("_") and prefix.startswith(self._prefix)
        indices: Iterable[int] = [index for index, _ in self._fitting] if narrowing else range(len(self.labels))
        labels = self.labels
        found = [(index, fit) for index in indices if (fit := fits(labels[index])) is not None]
        self._prefix, self._fitting = prefix, found
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """The best candidates, and whether there are more, or may be."""

    items: tuple[Candidate, ...]
    incomplete: bool


# How well a label fits what is written of the word; lower is better.
_EXACT, _BEGINS, _BEGINS_IN_OTHER_CASE, _BEGINS_BEHIND_UNDERSCORE, _SCATTERED = range(5)


def merge(sources: Iterable[Source], prefix: str, max_items: int) -> Ranked:
    """Rank the names of all sources against the prefix; a name that several have is shown once.

    The source that comes first describes it; its place is the best that any source gives it.
    """
    best: dict[str, tuple[tuple[int, int, int, int], Source, int]] = {}
    final = True
    shows_private = prefix.startswith("_")
    for source in sources:
        final = final and source.final
        for index, fit in source.fitting(prefix):
            label = source.labels[index]
            hidden = 0 if shows_private and not label.startswith("__") else _hidden(label)
            rank = (fit, hidden, source.tiers[index], index)
            known = best.get(label)
            if known is None:
                best[label] = (rank, source, index)
            elif rank < known[0]:
                best[label] = (rank, known[1], known[2])
    chosen = sorted(best.values(), key=lambda found: found[0])
    items = tuple(source.make(index) for _, source, index in chosen[:max_items])
    return Ranked(items=items, incomplete=not final or len(chosen) > max_items)


def fits_any(source: Source, prefix: str) -> bool:
    """Return whether a source has a name that begins with the prefix."""
    low = prefix.lower()
    return any(label.lower().startswith(low) for label in source.labels)


def _hidden(label: str) -> int:
    if not label.startswith("_"):
        return 0
    return 2 if label.startswith("__") else 1


def _fit(prefix: str) -> Callable[[str], int | None]:
    if not prefix:
        return lambda label: _BEGINS
    low = prefix.lower()
    bare = low.lstrip("_")

    def fit(label: str) -> int | None:
        if label.startswith(prefix):
            return _EXACT if len(label) == len(prefix) else _BEGINS
        lowered = label.lower()
        if lowered.startswith(low):
            return _BEGINS_IN_OTHER_CASE
        if bare and lowered.lstrip("_").startswith(bare):
            return _BEGINS_BEHIND_UNDERSCORE
        return _SCATTERED if _scattered(label, lowered, low) else None

    return fit


def _scattered(label: str, lowered: str, low: str) -> bool:
    """Return whether the letters occur in this order, others between them, the first at the start of a word."""
    at = _word_with(label, lowered, low[0])
    for letter in low:
        at = lowered.find(letter, at) + 1
        if at == 0:
            return False
    return True


def _word_with(label: str, lowered: str, first: str) -> int:
    """Return where the first word of a label that begins with a letter begins; behind its end where there is none."""
    at = lowered.find(first)
    while at > 0 and label[at - 1] != "_" and not label[at].isupper():
        at = lowered.find(first, at + 1)
    return at if at >= 0 else len(label)
