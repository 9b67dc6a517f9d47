"""Java and Kotlin."""

from __future__ import annotations

from headway.workspace.grammars.rules import ENUM, TYPE, Grammar, Rule, function, type_, value, words
from headway.workspace.index import SymbolKind

_MEMBER = frozenset({TYPE, ENUM})

JAVA = Grammar(
    package="tree_sitter_java",
    rules={
        "class_declaration": type_(),
        "record_declaration": type_(),
        "interface_declaration": type_(SymbolKind.INTERFACE),
        "annotation_type_declaration": type_(SymbolKind.INTERFACE),
        "enum_declaration": type_(SymbolKind.ENUM),
        "enum_constant": value(SymbolKind.ENUM_MEMBER, within=frozenset({ENUM}), body="body", inside=TYPE),
        "method_declaration": function(SymbolKind.METHOD),
        "constructor_declaration": function(SymbolKind.CONSTRUCTOR),
        "compact_constructor_declaration": function(SymbolKind.CONSTRUCTOR),
        "annotation_type_element_declaration": value(SymbolKind.METHOD, within=_MEMBER),
        "variable_declarator": value(SymbolKind.FIELD, within=_MEMBER),
    },
    holders=words("program class_body enum_body_declarations block"),
    wrappers=words("field_declaration constant_declaration"),
    comments=words("line_comment block_comment"),
)

_PROPERTY = Rule(
    kind=SymbolKind.VARIABLE,
    member=SymbolKind.PROPERTY,
    name="*variable_declaration/*identifier|*multi_variable_declaration/*variable_declaration/*identifier",
    body="",
    within=frozenset({"space", TYPE, ENUM}),
    chunk=False,
)

KOTLIN = Grammar(
    package="tree_sitter_kotlin",
    rules={
        "class_declaration": type_(name="name|*identifier", body="*class_body|*enum_class_body"),
        "object_declaration": type_(name="name|*identifier", body="*class_body"),
        # Its members are used as those of the class around it.
        "companion_object": Rule(name="", body="*class_body", inside=TYPE),
        "function_declaration": function(name="name|*identifier", body="*function_body"),
        "property_declaration": _PROPERTY,
        "enum_entry": value(SymbolKind.ENUM_MEMBER, name="*identifier", within=frozenset({TYPE, ENUM})),
        "type_alias": type_(name="type|*identifier", body=""),
    },
    holders=words("source_file class_body block function_body"),
    comments=words("line_comment block_comment"),
)
