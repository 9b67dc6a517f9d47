"""SQL: what is created."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from headway.workspace.grammars.rules import TYPE, Grammar, Name, function, reach, type_, value, words
from headway.workspace.index import SymbolKind


def _created(node: Node) -> Sequence[Name]:
    """What a statement makes is what it names first."""
    return [Name(found) for found in reach(node, "*object_reference/name|*identifier")[:1]]


_TABLE = type_(SymbolKind.STRUCT, names=_created, body="*column_definitions")
_CODE = function(names=_created, body="*function_body|*procedure_body")

SQL = Grammar(
    package="tree_sitter_sql",
    rules={
        "create_table": _TABLE,
        "create_view": _TABLE.but(body="*create_query"),
        "create_materialized_view": _TABLE.but(body="*create_query"),
        "create_type": _TABLE.but(kind=SymbolKind.CLASS, body=""),
        "create_function": _CODE,
        "create_procedure": _CODE,
        "create_trigger": _CODE.but(body=""),
        "create_index": value(SymbolKind.KEY, name="column"),
        "create_sequence": value(SymbolKind.VARIABLE, names=_created),
        "create_schema": value(SymbolKind.NAMESPACE, names=_created),
        "create_database": value(SymbolKind.NAMESPACE, names=_created),
        "column_definition": value(SymbolKind.FIELD, within=frozenset({TYPE})),
    },
    holders=words("program transaction block"),
    wrappers=words("statement"),
    comments=words("comment marginalia"),
)
