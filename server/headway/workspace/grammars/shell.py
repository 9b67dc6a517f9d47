"""Bash and its like."""

from __future__ import annotations

from headway.workspace.grammars.rules import SPACE, Grammar, function, value, words
from headway.workspace.index import SymbolKind

BASH = Grammar(
    package="tree_sitter_bash",
    rules={
        "function_definition": function(),
        "variable_assignment": value(SymbolKind.VARIABLE, name="name:variable_name", within=frozenset({SPACE})),
    },
    holders=words("program compound_statement if_statement elif_clause else_clause case_statement case_item list"),
    wrappers=words("declaration_command"),
)
