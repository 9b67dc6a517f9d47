"""Rust."""

from __future__ import annotations

from headway.workspace.grammars.rules import ENUM, OUTSIDE, TYPE, Grammar, Rule, function, space, type_, value, words
from headway.workspace.index import SymbolKind

_STRUCT = type_(SymbolKind.STRUCT)

RUST = Grammar(
    package="tree_sitter_rust",
    rules={
        "function_item": function(),
        "function_signature_item": function(),
        "struct_item": _STRUCT,
        "union_item": _STRUCT,
        "enum_item": type_(SymbolKind.ENUM),
        "trait_item": type_(SymbolKind.INTERFACE),
        # What it holds belongs to the type; itself it has no name.
        "impl_item": Rule(name="type", inside=TYPE),
        "mod_item": space(),
        "macro_definition": function(body=""),
        "enum_variant": value(SymbolKind.ENUM_MEMBER, within=frozenset({ENUM})),
        "field_declaration": value(SymbolKind.FIELD, within=frozenset({TYPE})),
        "const_item": value(SymbolKind.CONSTANT, within=OUTSIDE),
        "static_item": value(SymbolKind.VARIABLE, within=OUTSIDE),
        "type_item": type_(body=""),
        "associated_type": value(SymbolKind.FIELD, within=frozenset({TYPE})),
    },
    holders=words("source_file block foreign_mod_item declaration_list"),
    comments=words("line_comment block_comment"),
    between=words("attribute_item"),
)
