"""The words in which tables of languages are written: what a rule says of one type of node. Pure data.

A way leads from a node to others: steps joined by "/", each the name of a field, "field:type" for a field where it
is of a type, "*type" for children of a type, or "field+" for following a field as long as there is one; "." is the node
itself. "a|b" is the first that leads anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from tree_sitter import Node

from headway.workspace.index import SymbolKind

Way = str
# Where a definition stands: at the top or in a namespace, or in the body of one of the others.
SPACE: Final = "space"
TYPE: Final = "type"
ENUM: Final = "enum"
FUNCTION: Final = "function"
OBJECT: Final = "object"
ANYWHERE: Final = frozenset({SPACE, TYPE, ENUM, FUNCTION, OBJECT})
OUTSIDE: Final = frozenset({SPACE, TYPE, ENUM})


class Name(NamedTuple):
    """A name that a node defines. `kind` and `owner`, where given, count for more than the rule's."""

    node: Node
    kind: SymbolKind | None = None
    owner: str = ""  # dotted; follows the container that the place gives
    skip: int = 0  # so many ASCII characters of the node stand before the name
    tail: str = ""  # characters that may follow the name in the node


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What a type of node defines.

    Args:
        kind: None for what only names that in which others stand.
        member: The kind within a type.
        name: The way to its names.
        names: In the place of `name`, where a way is not enough; gets the node.
        owner: The way to what names the type to which it belongs.
        body: The way to what may hold further definitions, and where the signature ends.
        inside: Where what is in the body stands; None: where this stands.
        within: Where it counts.
        by: A way, and for some types of the node at its end the rule that counts in the place of this one.
        chunk: It is found by the words of its body.
        whole: It counts only where it has a body: else it merely names something.
    """

    kind: SymbolKind | None = None
    member: SymbolKind | None = None
    name: Way = "name"
    names: Callable[[Node], Sequence[Name]] | None = None
    owner: Way = ""
    body: Way = "body"
    inside: str | None = None
    within: frozenset[str] = ANYWHERE
    by: tuple[Way, Mapping[str, Rule]] | None = None
    chunk: bool = True
    whole: bool = False

    def but(self, **changes: object) -> Rule:
        """Return the rule with some of it changed."""
        return replace(self, **changes)  # type: ignore[arg-type]  # the fields' own types are checked where they are set


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """How one language's trees are read.

    Args:
        package: The module of its grammar, and `function` what in it gives the language.
        rules: By type of node.
        holders: Types of nodes that may hold definitions of their own place.
        wrappers: Holders whose range and comment are those of what is in them, as `export` or a list of declarators.
        groups: Wrappers of what they hold where it is one thing only.
        comments: Types of comments; what stands right before a definition is its documentation.
        between: Types that may stand between a comment and its definition.
        leading: Types that begin a definition and are no part of its signature, as attributes.
        constructors: Names of methods that make their type; "." is the type's own name.
        unfit: A text in which this is found is not parsed: its nesting is beyond what the grammar stands.
        depth: Definitions in so many containers at most are told.
        most: At most so many definitions of a file are told.
    """

    package: str
    function: str = "language"
    rules: Mapping[str, Rule]
    holders: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset({"comment"})
    between: frozenset[str] = frozenset()
    leading: frozenset[str] = frozenset()
    constructors: frozenset[str] = frozenset()
    unfit: re.Pattern[str] | None = None
    depth: int = 50
    most: int = 20_000


def reach(node: Node, way: Way) -> list[Node]:
    """Return the nodes to which a way leads, none where it leads nowhere."""
    for one in way.split("|") if "|" in way else (way,):
        nodes: list[Node] = [node]
        if one != ".":
            for step in one.split("/"):
                nodes = _stepped(nodes, step)
        if nodes:
            return nodes
    return []


def _stepped(nodes: Iterable[Node], step: str) -> list[Node]:
    found: list[Node] = []
    if step.startswith("*"):
        wanted = step[1:]
        for node in nodes:
            found += [child for child in node.named_children if child.type == wanted]
    elif step.endswith("+"):
        name = step[:-1]
        for node in nodes:
            while (child := node.child_by_field_name(name)) is not None:
                node = child
            found.append(node)
    else:
        name, _, wanted = step.partition(":")
        for node in nodes:
            children = node.children_by_field_name(name)
            found += [child for child in children if child.is_named and wanted in ("", child.type)]
    return found


def words(text: str) -> frozenset[str]:
    """Return the words of a text, as tables list types of nodes."""
    return frozenset(text.split())


def space(kind: SymbolKind = SymbolKind.NAMESPACE, **changes: object) -> Rule:
    """A namespace: what is in it stands as at the top."""
    return Rule(kind=kind, inside=SPACE).but(**changes)


def type_(kind: SymbolKind = SymbolKind.CLASS, **changes: object) -> Rule:
    """A type with members."""
    return Rule(kind=kind, inside=ENUM if kind is SymbolKind.ENUM else TYPE).but(**changes)


def function(kind: SymbolKind = SymbolKind.FUNCTION, **changes: object) -> Rule:
    """A function, which is a method within a type."""
    member = SymbolKind.METHOD if kind is SymbolKind.FUNCTION else kind
    return Rule(kind=kind, member=member, inside=FUNCTION).but(**changes)


def value(kind: SymbolKind, **changes: object) -> Rule:
    """Something without a body of its own, outside of functions."""
    return Rule(kind=kind, within=OUTSIDE, body="", chunk=False).but(**changes)
