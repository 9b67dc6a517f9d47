"""JSON, YAML and TOML: the keys of the upper levels."""

from __future__ import annotations

import re

from headway.workspace.grammars.rules import OBJECT, Grammar, Rule, words
from headway.workspace.index import SymbolKind

_DEPTH = 3
_MOST_KEYS = 2_000  # A file with more of them holds data.

# The grammar keeps two levels for each column at most, in a buffer that ends, with its process, after some 300.
_DEEP = re.compile(r"^[ ?:-]{150}", re.MULTILINE)


def _key(name: str, body: str) -> Rule:
    return Rule(kind=SymbolKind.KEY, name=name, body=body, inside=OBJECT, chunk=False)


JSON = Grammar(
    package="tree_sitter_json",
    rules={"pair": _key("key/*string_content", "value")},
    holders=words("document object array"),
    depth=_DEPTH,
    most=_MOST_KEYS,
)

YAML = Grammar(
    package="tree_sitter_yaml",
    rules={
        "block_mapping_pair": _key("key/*plain_scalar|key/*double_quote_scalar|key/*single_quote_scalar", "value"),
        "flow_pair": _key("key/*plain_scalar|key/*double_quote_scalar|key/*single_quote_scalar", "value"),
    },
    unfit=_DEEP,
    holders=words(
        "stream document block_node flow_node block_mapping flow_mapping"
        " block_sequence block_sequence_item flow_sequence"
    ),
    depth=_DEPTH,
    most=_MOST_KEYS,
)

TOML = Grammar(
    package="tree_sitter_toml",
    rules={
        "table": _key("*dotted_key|*bare_key|*quoted_key", ".").but(kind=SymbolKind.OBJECT),
        "table_array_element": _key("*dotted_key|*bare_key|*quoted_key", ".").but(kind=SymbolKind.OBJECT),
        "pair": _key("*dotted_key|*bare_key|*quoted_key", "*inline_table"),
    },
    holders=words("document inline_table"),
    depth=_DEPTH,
    most=_MOST_KEYS,
)
