"""PHP."""

from __future__ import annotations

from headway.workspace.grammars.rules import ENUM, SPACE, TYPE, Grammar, Rule, function, space, type_, value, words
from headway.workspace.index import SymbolKind

_MEMBER = frozenset({TYPE, ENUM})

PHP = Grammar(
    package="tree_sitter_php",
    function="language_php",
    rules={
        # Without a body of its own it stands before what belongs to it, which then has no container.
        "namespace_definition": space(),
        "class_declaration": type_(),
        "interface_declaration": type_(SymbolKind.INTERFACE),
        "trait_declaration": type_(),
        "enum_declaration": type_(SymbolKind.ENUM),
        "enum_case": value(SymbolKind.ENUM_MEMBER, within=frozenset({ENUM})),
        "function_definition": function(),
        "method_declaration": function(SymbolKind.METHOD),
        "const_element": value(SymbolKind.CONSTANT, name="*name", within=frozenset({SPACE, TYPE, ENUM})),
        "property_element": value(SymbolKind.FIELD, name="name/*name|name", within=_MEMBER),
        "anonymous_function": Rule(name="", inside="function"),
    },
    holders=words("program declaration_list enum_declaration_list compound_statement if_statement else_clause"),
    wrappers=words("const_declaration property_declaration"),
    leading=words("attribute_list"),
    constructors=words("__construct"),
)
