"""What can be said of a place in a text, and where a name is used, without an engine. For worker processes.

Values in, values out: whoever calls has no tree and need not know of one. What is said goes by names and scopes (see
`bindings`), never by types; it is for the time in which no engine can answer.
"""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from headway.workspace.files import FileText, ReadOptions, read_file
from headway.workspace.index import language_of
from headway.workspace.text import Position, Range

if TYPE_CHECKING:  # They load tree-sitter, which only workers need.
    from tree_sitter import Node, Parser, Tree

    from headway.workspace.syntax import Source

MOST_FOLDS: Final = 5_000  # as many as VS Code shows of a document by default
_FOLDED: Final = re.compile(
    r".*(?:block|body|_list|class|function|method|definition|declaration|comment|object|array|dictionary|parameters"
    r"|arguments|import|comprehension|string|statement|clause|expression|element|section|table|mapping|sequence|_item"
    r"|heredoc|case|struct|enum|interface|tuple|list|set|call).*|pair|module|program"
)
# What only holds others begins where the first of them does: that one folds, or nothing does.
_HOLDING: Final = re.compile(r".*(?:block|body|list|sequence|section|mapping|statements|module|program)")
_EDITOR_NAMES: Final = {"shellscript": "shell", "jsonc": "json"}
_CLOSING: Final = re.compile(rb"[ \t]*(?:[)\]}]|end\b|fi\b|done\b|esac\b|</)")


class Use(NamedTuple):
    """A place where a name is written. `wide` is as in `Definition`; `binds`: it gets its value or meaning here."""

    range: Range
    binds: bool = False
    wide: Sequence[int] | None = None


class Sort(enum.Enum):
    """Whose a name is."""

    LOCAL = "local"  # one function's, comprehension's or, in Python, class body's
    MEMBER = "member"  # something's behind a dot, or what a class body defines: in Python only
    COMMON = "common"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What is meant at a place of a text: the uses of the same name in it, in order.

    Args:
        types: Names that may be the type of its values, as its bindings say them; the likeliest first.
        line: The text of the line that binds it last before the place; empty where none does.
    """

    name: str
    sort: Sort
    uses: tuple[Use, ...]
    types: tuple[str, ...] = ()
    line: str = ""


class Fold(NamedTuple):
    """Lines that can be folded into the first of them; `kind` is "comment", "imports" or empty."""

    start_line: int
    end_line: int
    kind: str = ""


class FileUses(NamedTuple):
    """Where one file uses a name."""

    path: str
    uses: tuple[Use, ...]


def meant_at(
    path: str, text: str, language: str, position: Position, owners: frozenset[str] = frozenset()
) -> Meant | None:
    """Return what is meant at a place; None where that is no name, or the language has no grammar.

    Args:
        owners: See `bindings.Names`.
    """
    from headway.workspace.bindings import Names, leaf_at
    from headway.workspace.syntax import Source

    source = Source(text)
    tree = _tree(path, source, text, language)
    leaf = None if tree is None else leaf_at(source, tree, position)
    if tree is None or leaf is None:
        return None
    return Names(source, tree, source.text(leaf), language, owners).at(leaf)


def uses_in(
    paths: Sequence[str],
    name: str,
    sort: Sort,
    owners: frozenset[str],
    options: ReadOptions,
    open_texts: Mapping[str, tuple[str, str]],
) -> list[FileUses]:
    """Return where files use a name that is everybody's or a member's; files that do not are left out.

    Args:
        paths: Absolute, or what stands for a text that is no file.
        owners: See `bindings.Names`.
        open_texts: By path the language and the text of what an editor holds, which counts for more than the file.
    """
    from headway.workspace.bindings import Names
    from headway.workspace.syntax import Source

    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    found = []
    for path in paths:
        language, text = open_texts.get(path, ("", ""))
        if path not in open_texts:
            file = read_file(path, options)
            if not isinstance(file, FileText):
                continue
            language, text = language_of(path) or "", file.text
        if not word.search(text):
            continue
        source = Source(text)
        tree = _tree(os.path.basename(path), source, text, language)
        if tree is not None and (uses := Names(source, tree, name, language, owners).uses(sort)):
            found.append(FileUses(path, tuple(uses)))
    return found


def folds_of(path: str, text: str, language: str) -> list[Fold] | None:
    """Return what of a text can be folded, one fold for each line; None where the language has no grammar."""
    from headway.workspace.syntax import Source

    source = Source(text)
    tree = _tree(path, source, text, language)
    if tree is None:
        return None
    lines = source.data.split(b"\n")
    folds: dict[int, Fold] = {}
    _comments(tree.root_node, folds, lines)
    waiting = [tree.root_node]
    while waiting and len(folds) < MOST_FOLDS:
        node = waiting.pop()
        row, end = node.start_point[0], _last_row(node, lines)
        if end > row and node.parent is not None and node.is_named and _folds(node):
            folds.setdefault(row, Fold(row, end, "comment" if "comment" in node.type else ""))
        waiting += [child for child in reversed(node.children) if child.end_point[0] > child.start_point[0]]
    return sorted(folds.values())


def _folds(node: Node) -> bool:
    if not _FOLDED.fullmatch(node.type):
        return False
    first = node.child(0) if node.child_count else None
    starts_with_it = first is not None and first.is_named and first.start_byte == node.start_byte
    return not (starts_with_it and _HOLDING.fullmatch(node.type))


def _comments(root: Node, folds: dict[int, Fold], lines: Sequence[bytes]) -> None:
    """Note runs of comments and of imports among the statements of a text."""
    for word, kind in (("comment", "comment"), ("import", "imports")):
        first: Node | None = None
        last = -1
        for child in [*root.children, None]:
            fits = child is not None and word in child.type
            if fits and child is not None and first is not None and child.start_point[0] <= last + 1:
                last = _last_row(child, lines)
                continue
            if first is not None and last > first.start_point[0]:
                folds[first.start_point[0]] = Fold(first.start_point[0], last, kind)
            first = child if fits else None
            last = -1 if child is None else _last_row(child, lines)


def _last_row(node: Node, lines: Sequence[bytes]) -> int:
    """Return the last line that a fold of a node hides: one that closes it stays to be seen."""
    row, column = node.end_point
    row -= column == 0 and row > node.start_point[0]
    while row > node.start_point[0] and row < len(lines) and not lines[row].strip():
        row -= 1
    if row < len(lines) and row > node.start_point[0] + 1 and _CLOSING.match(lines[row]):
        row -= 1
    return row


def _tree(path: str, source: Source, text: str, language: str) -> Tree | None:
    from headway.workspace.syntax import parse_all

    parser = _parser(path, text, language)
    return None if parser is None else parse_all(source, parser)


def _parser(path: str, text: str, language: str) -> Parser | None:
    if language == "python":
        from headway.workspace import python_grammar

        return python_grammar.parser()
    from headway.workspace.grammars.extraction import MissingGrammarError, parser_of
    from headway.workspace.grammars.registry import grammar_for

    language = _EDITOR_NAMES.get(language, language)
    grammar = grammar_for(path, language, text)
    if grammar is None or (grammar.unfit is not None and grammar.unfit.search(text)):
        return None
    try:
        return parser_of(grammar.package, grammar.function)
    except MissingGrammarError:
        return None  # The index says so already.
