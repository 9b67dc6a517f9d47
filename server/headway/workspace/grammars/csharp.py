"""C#."""

from __future__ import annotations

from headway.workspace.grammars.rules import ENUM, TYPE, Grammar, function, space, type_, value, words
from headway.workspace.index import SymbolKind

_MEMBER = frozenset({TYPE})
_PROPERTY = value(SymbolKind.PROPERTY, within=_MEMBER)

CSHARP = Grammar(
    package="tree_sitter_c_sharp",
    rules={
        "namespace_declaration": space(),
        "file_scoped_namespace_declaration": space(),
        "class_declaration": type_(),
        "record_declaration": type_(),
        "struct_declaration": type_(SymbolKind.STRUCT),
        "interface_declaration": type_(SymbolKind.INTERFACE),
        "enum_declaration": type_(SymbolKind.ENUM),
        "enum_member_declaration": value(SymbolKind.ENUM_MEMBER, within=frozenset({ENUM})),
        "delegate_declaration": type_(body=""),
        "method_declaration": function(SymbolKind.METHOD),
        "constructor_declaration": function(SymbolKind.CONSTRUCTOR),
        "local_function_statement": function(),
        "property_declaration": _PROPERTY,
        "event_declaration": _PROPERTY.but(kind=SymbolKind.EVENT),
        "event_field_declaration": _PROPERTY.but(
            kind=SymbolKind.EVENT, name="*variable_declaration/*variable_declarator/name"
        ),
        "field_declaration": value(
            SymbolKind.FIELD, name="*variable_declaration/*variable_declarator/name", within=_MEMBER
        ),
    },
    holders=words("compilation_unit declaration_list block preproc_if preproc_else preproc_elif preproc_region"),
    leading=words("attribute_list"),
)
