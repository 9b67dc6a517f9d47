"""Completion where no engine knows the language: words of the open text and names that the index knows in it.

Pure. Behind what asks for a member nothing is offered, since nothing is known of it: a wrong member is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from headway.features.completion import Candidate, CandidateKind, Source, Tier
from headway.workspace.index import SymbolKind
from headway.workspace.symbols import Found

# Line comments of each language that is served, as the editor calls it; the others hold prose or data.
LINE_COMMENTS: Final = {
    **dict.fromkeys(("javascript", "typescript", "javascriptreact", "typescriptreact"), "//"),
    **dict.fromkeys(("go", "rust", "java", "kotlin", "c", "cpp", "csharp", "php", "scala", "swift"), "//"),
    **dict.fromkeys(("ruby", "shellscript", "shell"), "#"),
    **dict.fromkeys(("sql", "lua"), "--"),
}
MOST_NAMES: Final = 40
_WORD: Final = re.compile(r"[^\W\d]\w{2,63}")
_MEMBER: Final = re.compile(r"(?:\.|->|::|\?\.)\s*\w*$")
_QUOTED: Final = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`")
_KINDS: Final = {
    **dict.fromkeys((SymbolKind.CLASS, SymbolKind.STRUCT), CandidateKind.CLASS),
    SymbolKind.INTERFACE: CandidateKind.INTERFACE,
    SymbolKind.ENUM: CandidateKind.ENUM,
    SymbolKind.FUNCTION: CandidateKind.FUNCTION,
    SymbolKind.CONSTANT: CandidateKind.CONSTANT,
    SymbolKind.VARIABLE: CandidateKind.VARIABLE,
    SymbolKind.NAMESPACE: CandidateKind.MODULE,
}


def offers(language: str, before: str) -> bool:
    """Return whether a name may be written here.

    Args:
        language: As the editor calls it.
        before: What stands before the cursor: its line, and some of the text above.
    """
    comment = LINE_COMMENTS.get(language)
    if comment is None:
        return False
    line = before[before.rfind("\n") + 1 :]
    bare = _QUOTED.sub("", line)
    if comment in bare or any(quote in bare for quote in "\"'`"):
        return False
    if comment == "//" and before.rfind("/*") > before.rfind("*/"):
        return False
    return _MEMBER.search(line) is None


def asks_for_member(before: str) -> bool:
    """Return whether what stands before a word in its line asks for a member."""
    return _MEMBER.search(before) is not None


def word_source(text: str, cursor: int) -> Source:
    """Return the words of a text, those that stand nearest to the cursor first; the one at the cursor is left out."""
    found: dict[str, int] = {}
    for word in _WORD.finditer(text):
        if word.start() <= cursor <= word.end():
            continue
        away = min(abs(word.start() - cursor), abs(word.end() - cursor))
        found[word.group()] = min(away, found.get(word.group(), away))
    labels = sorted(found, key=found.__getitem__)
    return Source(
        name="text",
        labels=labels,
        tiers=[Tier.MODULE] * len(labels),
        make=lambda index: Candidate(label=labels[index], kind=CandidateKind.TEXT, source="text"),
    )


def index_source(found: Sequence[Found], *, final: bool) -> Source:
    """Return names of the workspace that stand for themselves: what belongs to a type is a member and left out."""
    usable = [one for one in found if one.symbol.kind in _KINDS and not one.symbol.container]
    return Source(
        name="index",
        labels=[one.symbol.name for one in usable],
        tiers=[Tier.ELSEWHERE] * len(usable),
        make=lambda index: Candidate(
            label=usable[index].symbol.name,
            kind=_KINDS[SymbolKind(usable[index].symbol.kind)],
            detail=usable[index].symbol.path,
            source="index",
        ),
        final=final,
    )
