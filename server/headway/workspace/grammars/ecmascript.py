"""JavaScript and TypeScript, with JSX and TSX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tree_sitter import Node

from headway.workspace.grammars.rules import (
    ENUM,
    FUNCTION,
    OBJECT,
    TYPE,
    Grammar,
    Name,
    Rule,
    function,
    space,
    type_,
    value,
    words,
)
from headway.workspace.index import SymbolKind

_NAMELESS = Rule(name="", inside=FUNCTION)
# What a name is, by what is assigned to it.
_FUNCTIONS = ("arrow_function", "function_expression", "generator_function", "function")
_LARGEST_OWNER_BYTES = 80


def _assigned(way: str, made: Rule) -> dict[str, Rule]:
    callables = dict.fromkeys(_FUNCTIONS, made.but(body=f"{way}/body"))
    classes = type_(body=f"{way}/body", name=made.name, names=made.names)
    return {**callables, "class": classes}


def _left(node: Node) -> Sequence[Name]:
    """The name of what an assignment makes: `Foo.prototype.bar = function…` is a method of Foo."""
    left = node.child_by_field_name("left")
    if left is None or left.type != "member_expression":
        return [] if left is None or left.type != "identifier" else [Name(left)]
    owner, name = left.child_by_field_name("object"), left.child_by_field_name("property")
    if name is None or owner is None or owner.end_byte - owner.start_byte > _LARGEST_OWNER_BYTES:
        return []
    parts = (owner.text or b"").decode("utf-8", "replace").removesuffix(".prototype").split(".")
    known = [part for part in parts if part not in ("module", "exports", "window", "globalThis", "self", "this")]
    if not all(part.isidentifier() for part in known):
        return []
    if not known and parts[0] == "module" and name.text == b"exports":
        return []
    return [Name(name, owner=".".join(known))]


_NAME = "name:identifier"  # What is taken apart by a pattern is named elsewhere.
_OF_OBJECT = value(SymbolKind.VARIABLE, name=_NAME, body="value", inside=OBJECT)
_VARIABLE = value(SymbolKind.VARIABLE, name=_NAME).but(
    by=("value", _assigned("value", function(name=_NAME)) | {"object": _OF_OBJECT})
)
_FIELD = value(SymbolKind.FIELD, within=frozenset({TYPE}))
_ASSIGNED = function(names=_left)

_RULES = {
    "class_declaration": type_(),
    "class": type_(),
    "function_declaration": function(),
    "generator_function_declaration": function(),
    "function_expression": _NAMELESS,
    "generator_function": _NAMELESS,
    "arrow_function": _NAMELESS,
    "method_definition": function(SymbolKind.METHOD),
    "variable_declarator": _VARIABLE,
    "field_definition": _FIELD.but(
        name="property|name", by=("value", _assigned("value", function(SymbolKind.METHOD, name="property|name")))
    ),
    "pair": Rule(
        name="",
        body="",
        by=("value", _assigned("value", function(SymbolKind.METHOD, name="key", within=frozenset({OBJECT})))),
    ),
    "assignment_expression": Rule(
        name="",
        body="",
        by=("right", _assigned("right", _ASSIGNED) | {"object": Rule(names=_left, body="right", inside=OBJECT)}),
    ),
}

_HOLDERS = words(
    "program statement_block expression_statement parenthesized_expression call_expression arguments return_statement"
    " if_statement else_clause try_statement catch_clause finally_clause for_statement for_in_statement while_statement"
    " do_statement switch_statement switch_body switch_case switch_default labeled_statement await_expression"
    " class_static_block unary_expression sequence_expression object"
)
_WRAPPERS = words("export_statement lexical_declaration variable_declaration ambient_declaration")
_TYPED = {
    **_RULES,
    "abstract_class_declaration": type_(),
    "public_field_definition": _FIELD.but(by=("value", _assigned("value", function(SymbolKind.METHOD)))),
    "abstract_method_signature": function(SymbolKind.METHOD),
    "method_signature": function(SymbolKind.METHOD),
    "property_signature": value(SymbolKind.PROPERTY, within=frozenset({TYPE})),
    "function_signature": function(),
    "interface_declaration": type_(SymbolKind.INTERFACE),
    "type_alias_declaration": type_(SymbolKind.CLASS, body="value"),
    "enum_declaration": type_(SymbolKind.ENUM),
    "enum_assignment": value(SymbolKind.ENUM_MEMBER, within=frozenset({ENUM})),
    "property_identifier": value(SymbolKind.ENUM_MEMBER, name=".", within=frozenset({ENUM})),
    "internal_module": space(),
    "module": space(name="name/*string_fragment|name"),
}


def _grammar(package: str, made_by: str, rules: Mapping[str, Rule]) -> Grammar:
    return Grammar(
        package=package,
        function=made_by,
        rules=rules,
        holders=_HOLDERS,
        wrappers=_WRAPPERS,
        comments=words("comment html_comment"),
        between=words("decorator"),
        leading=words("decorator"),
        constructors=words("constructor"),
    )


JAVASCRIPT = _grammar("tree_sitter_javascript", "language", _RULES)
TYPESCRIPT = _grammar("tree_sitter_typescript", "language_typescript", _TYPED)
TSX = _grammar("tree_sitter_typescript", "language_tsx", _TYPED)
