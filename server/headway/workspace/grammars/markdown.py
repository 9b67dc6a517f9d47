"""Markdown: headings, each with what belongs to it."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from headway.workspace.grammars.rules import SPACE, Grammar, Name, Rule, reach, words
from headway.workspace.index import SymbolKind


def _heading(node: Node) -> Sequence[Name]:
    found = reach(node, "*atx_heading/heading_content|heading_content/*inline")
    return [Name(name, tail="# \t") for name in found[:1]]


MARKDOWN = Grammar(
    package="tree_sitter_markdown",
    rules={
        "section": Rule(kind=SymbolKind.STRING, names=_heading, body=".", inside=SPACE),
        # Underlined ones begin no section in this grammar.
        "setext_heading": Rule(kind=SymbolKind.STRING, names=_heading, body=""),
    },
    holders=words("document"),
    comments=frozenset(),
)
