"""CSS and HTML."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from headway.workspace.grammars.rules import SPACE, TYPE, Grammar, Name, Rule, reach, value, words
from headway.workspace.index import SymbolKind

_SELECTORS = words("class_selector id_selector")
_MOST_SELECTORS = 50
_HEADINGS = frozenset({b"title", *(b"h%d" % level for level in range(1, 7))})


def _selected(node: Node) -> Sequence[Name]:
    """The classes and ids of a rule's selectors."""
    names: list[Name] = []
    stack = list(reversed(reach(node, "*selectors")))
    while stack and len(names) < _MOST_SELECTORS:
        at = stack.pop()
        if at.type in _SELECTORS:
            # The name comes last: what it narrows stands before it.
            found = reach(at, "*class_name/*identifier|*class_name|*id_name")
            if found:
                names.append(Name(found[-1], SymbolKind.KEY if at.type == "id_selector" else SymbolKind.CLASS))
        stack += reversed(at.named_children)
    return names


def _custom_property(node: Node) -> Sequence[Name]:
    names = reach(node, "*property_name")[:1]
    return [Name(name) for name in names if (name.text or b"").startswith(b"--")]


CSS = Grammar(
    package="tree_sitter_css",
    rules={
        "rule_set": Rule(kind=SymbolKind.CLASS, names=_selected, body="*block", within=frozenset({SPACE})),
        "declaration": value(SymbolKind.VARIABLE, names=_custom_property, within=frozenset({SPACE, TYPE})),
        "keyframes_statement": Rule(
            kind=SymbolKind.FUNCTION, name="*keyframes_name", body="*keyframe_block_list", inside=TYPE
        ),
    },
    holders=words("stylesheet media_statement supports_statement at_rule block"),
)


def _identified(node: Node) -> Sequence[Name]:
    """An element's id, or what a heading says."""
    tag = next(iter(reach(node, "*start_tag|*self_closing_tag")), None)
    if tag is None:
        return []
    for attribute in reach(tag, "*attribute"):
        if any(name.text == b"id" for name in reach(attribute, "*attribute_name")):
            return [
                Name(found)
                for found in reach(attribute, "*quoted_attribute_value/*attribute_value|*attribute_value")[:1]
            ]
    if any(name.text in _HEADINGS for name in reach(tag, "*tag_name")):
        return [Name(found, SymbolKind.STRING, tail=" \n") for found in reach(node, "*text")[:1]]
    return []


HTML = Grammar(
    package="tree_sitter_html",
    rules={"element": Rule(kind=SymbolKind.KEY, names=_identified, body=".", inside=SPACE, chunk=False)},
    holders=words("document element"),
)
