"""Go."""

from __future__ import annotations

from headway.workspace.grammars.rules import SPACE, TYPE, Grammar, function, type_, value, words
from headway.workspace.index import SymbolKind

_NAMED_TYPE = type_(
    body="type",
    by=(
        "type",
        {
            "struct_type": type_(SymbolKind.STRUCT, body="type/*field_declaration_list"),
            "interface_type": type_(SymbolKind.INTERFACE, body="type"),
        },
    ),
)
_AT_TOP = frozenset({SPACE})

GO = Grammar(
    package="tree_sitter_go",
    rules={
        "function_declaration": function(),
        "method_declaration": function(SymbolKind.METHOD, owner="receiver/*parameter_declaration/type"),
        "type_spec": _NAMED_TYPE,
        "type_alias": type_(body=""),
        "field_declaration": value(SymbolKind.FIELD, within=frozenset({TYPE})),
        "method_elem": function(SymbolKind.METHOD),
        "method_spec": function(SymbolKind.METHOD),
        "const_spec": value(SymbolKind.CONSTANT, within=_AT_TOP),
        "var_spec": value(SymbolKind.VARIABLE, within=_AT_TOP),
    },
    holders=words("source_file var_spec_list"),
    groups=words("type_declaration var_declaration const_declaration"),
)
