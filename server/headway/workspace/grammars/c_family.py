"""C and C++."""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Node

from headway.workspace.grammars.rules import (
    ENUM,
    SPACE,
    TYPE,
    Grammar,
    Name,
    function,
    space,
    type_,
    value,
    words,
)
from headway.workspace.index import SymbolKind

_DEEPEST_DECLARATOR = 50
_NAMES = words("identifier field_identifier type_identifier destructor_name operator_name")


def _declared(node: Node) -> Sequence[Name]:
    """What a declaration declares: each declarator is followed through pointers, arrays and parameters to its name."""
    names = (_named(declarator) for declarator in node.children_by_field_name("declarator"))
    return [name for name in names if name is not None]


def _named(declarator: Node) -> Name | None:
    at: Node | None = declarator
    is_function = False
    is_pointer = False
    for _ in range(_DEEPEST_DECLARATOR):
        if at is None:
            return None
        kind = at.type
        if kind == "qualified_identifier":
            return _qualified(at, is_function)
        if kind == "operator_cast":
            return Name(at, SymbolKind.FUNCTION)
        if kind in _NAMES:
            return Name(at, SymbolKind.FUNCTION if is_function else None)
        if kind == "function_declarator" and not is_pointer:
            is_function = True
        elif kind == "parenthesized_declarator":
            # `int (*callback)(int)` is a variable, whatever it points to.
            is_function, is_pointer = False, True
        inner = at.child_by_field_name("declarator")
        at = inner if inner is not None else next(iter(reversed(at.named_children)), None)
    return None


def _qualified(node: Node, is_function: bool) -> Name | None:
    owners = []
    at: Node | None = node
    while at is not None and at.type == "qualified_identifier":
        scope = at.child_by_field_name("scope")
        if scope is not None:
            name = scope.child_by_field_name("name") or scope
            owners.append((name.text or b"").decode("utf-8", "replace"))
        at = at.child_by_field_name("name")
    if at is None:
        return None
    kind = SymbolKind.METHOD if is_function and owners else SymbolKind.FUNCTION if is_function else None
    return Name(at, kind, ".".join(filter(None, ("::".join(owners[:-1]), *owners[-1:]))))


def _defined(node: Node) -> Sequence[Name]:
    """The name of a function with a body; the rule says whether it is a method."""
    return [name._replace(kind=None if name.kind is SymbolKind.FUNCTION else name.kind) for name in _declared(node)]


def _typedef(node: Node) -> Sequence[Name]:
    return [name._replace(kind=None) for name in _declared(node)]


def _with_value(node: Node) -> Sequence[Name]:
    """The name of a macro that stands for something; one without a value is a mark, as of a header."""
    name = node.child_by_field_name("name")
    return [] if name is None or node.child_by_field_name("value") is None else [Name(name)]


_STRUCT = type_(SymbolKind.STRUCT, whole=True)
_ENUM = type_(SymbolKind.ENUM, whole=True)
_ENUMERATOR = value(SymbolKind.ENUM_MEMBER, within=frozenset({ENUM, SPACE, TYPE}))
_TYPEDEF = type_(names=_typedef, body="").but(
    by=(
        "type",
        {
            "struct_specifier": type_(SymbolKind.STRUCT, names=_typedef, body="type/body"),
            "union_specifier": type_(SymbolKind.STRUCT, names=_typedef, body="type/body"),
            "enum_specifier": type_(SymbolKind.ENUM, names=_typedef, body="type/body"),
        },
    )
)
# A struct that is defined within a declaration is told, too.
_SPECIFIERS = "*struct_specifier|*union_specifier|*enum_specifier|*class_specifier"
_DECLARATION = value(
    SymbolKind.VARIABLE, names=_declared, body=_SPECIFIERS, inside=None, within=frozenset({SPACE, TYPE})
)

_RULES = {
    "function_definition": function(names=_defined),
    "declaration": _DECLARATION,
    "field_declaration": value(
        SymbolKind.FIELD, names=_declared, body=_SPECIFIERS, inside=None, within=frozenset({TYPE})
    ),
    "type_definition": _TYPEDEF,
    "struct_specifier": _STRUCT,
    "union_specifier": _STRUCT,
    "enum_specifier": _ENUM,
    "enumerator": _ENUMERATOR,
    "preproc_def": value(SymbolKind.CONSTANT, names=_with_value),
    "preproc_function_def": function(body=""),
}
_HOLDERS = words(
    "translation_unit preproc_ifdef preproc_if preproc_else preproc_elif preproc_elifdef linkage_specification"
    " declaration_list field_declaration_list"
)

C = Grammar(package="tree_sitter_c", rules=_RULES, holders=_HOLDERS)

CPP = Grammar(
    package="tree_sitter_cpp",
    rules={
        **_RULES,
        "declaration": _DECLARATION,
        "class_specifier": type_(whole=True),
        "namespace_definition": space(),
        "alias_declaration": type_(body=""),
        "concept_definition": type_(SymbolKind.INTERFACE, body=""),
    },
    holders=_HOLDERS,
    wrappers=words("template_declaration"),
    leading=words("attribute_declaration"),
    constructors=words("."),
)
