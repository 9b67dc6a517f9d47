"""Ruby."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from headway.workspace.grammars.rules import SPACE, TYPE, Grammar, Name, Rule, function, type_, value, words
from headway.workspace.index import SymbolKind

_ATTRIBUTES = words("attr_accessor attr_reader attr_writer attribute has_many has_one belongs_to scope")
_CONSTANTS = frozenset({"constant", "global_variable"})


def _declared(node: Node) -> Sequence[Name]:
    """The attributes that a call such as `attr_reader :size` makes."""
    method = node.child_by_field_name("method")
    arguments = node.child_by_field_name("arguments")
    if method is None or arguments is None or (method.text or b"").decode("utf-8", "replace") not in _ATTRIBUTES:
        return []
    return [Name(child, skip=1) for child in arguments.named_children if child.type == "simple_symbol"]


def _constant(node: Node) -> Sequence[Name]:
    left = node.child_by_field_name("left")
    if left is None or left.type not in _CONSTANTS:
        return []
    return [Name(left, SymbolKind.CONSTANT if left.type == "constant" else SymbolKind.VARIABLE)]


RUBY = Grammar(
    package="tree_sitter_ruby",
    rules={
        "module": type_(SymbolKind.NAMESPACE),
        "class": type_(),
        "singleton_class": Rule(name="", inside=TYPE),
        "method": function(),
        "singleton_method": function(),
        "assignment": value(SymbolKind.CONSTANT, names=_constant, within=frozenset({SPACE, TYPE})),
        "call": Rule(
            kind=SymbolKind.PROPERTY, names=_declared, body="arguments", within=frozenset({SPACE, TYPE}), chunk=False
        ),
    },
    holders=words("program body_statement if unless begin then else argument_list"),
    constructors=words("initialize"),
)
