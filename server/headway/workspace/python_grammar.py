"""Definitions of a Python file, by tree-sitter. Pure; runs in worker processes.

The walk visits statements only and keeps its own stack: nesting of any depth costs memory, never the interpreter's
stack. Source that does not parse gives what lies outside of the broken parts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from headway.workspace.index import Definition, Parsed, SymbolKind
from headway.workspace.syntax import (
    MAX_BODY_LENGTH,
    MAX_DEFINITIONS,
    MAX_DETAIL_LENGTH,
    MAX_DOC_LENGTH,
    PARSE_LIMIT_S,
    Parse,
    Source,
    one_line,
    parse_all,
)

_QUOTES = re.compile(r"^[A-Za-z]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$")
_QUOTE = re.compile(r"[A-Za-z]*(?:\"\"\"|'''|\"|')")
# How a body begins that has no docstring: with a name or a keyword, and no quote close behind it.
_PLAIN_START = re.compile(rb"[A-Za-z_][^\"']{3}")
_ENUM_BASE = re.compile(r"\b(?:Int|Str)?(?:Enum|Flag)\b")

# What a function's body holds if anything in it is a definition or an import. Attributes that a method sets are, too.
# Each pattern begins with the word that it looks for, and only then asks what stands before it: so the search is for
# those letters, instead of a look at length at each byte.
_ATTRIBUTE = rb"\s*+\.\s*+[A-Za-z0-9_\x80-\xff]++\s*+(?:=(?!=)|[:,)])"
_DEFINES = tuple(re.compile(word + rb"(?<!\w" + word + rb")\b") for word in (b"def", b"class", b"import"))
_SETS = tuple(re.compile(word + rb"(?<!\w" + word + rb")" + _ATTRIBUTE) for word in (b"self", b"cls"))

# Statements that hold statements: the walk goes into these and into nothing else.
_HOLDERS = frozenset(
    {
        *("module", "block", "ERROR", "with_statement", "match_statement", "case_clause"),
        *("if_statement", "elif_clause", "else_clause", "for_statement", "while_statement"),
        *("try_statement", "except_clause", "except_group_clause", "finally_clause"),
    }
)


_LANGUAGE = Language(tree_sitter_python.language())


def _field(name: str) -> int:
    number = _LANGUAGE.field_id_for_name(name)
    assert number is not None, name
    return number


# Fields by number: by name, each look at a node would begin with a search among all names.
_NAME, _BODY, _LEFT, _RIGHT = map(_field, ("name", "body", "left", "right"))
_DEFINITION, _OBJECT, _ATTRIBUTE_NAME, _MODULE = map(_field, ("definition", "object", "attribute", "module_name"))


@cache
def parser() -> Parser:
    """Return the parser of Python."""
    return Parser(_LANGUAGE)


def parse(text: str, tree_of: Parse = parse_all) -> Parsed:
    """Return the definitions of Python source, in the order in which they start."""
    source = Source(text)
    tree = tree_of(source, parser())
    if tree is None:
        return Parsed([], [], [], "", f"too complex: not parsed within {PARSE_LIMIT_S:.0f} s")
    root = tree.root_node
    walk = _Walk(source)
    walk.run(root)
    problem = "syntax errors" if root.has_error else None
    if walk.is_full:
        problem = f"more than {MAX_DEFINITIONS} definitions; the rest is left out"
    return Parsed(walk.definitions, walk.bodies, walk.imports, walk.docstring(root), problem)


# A node, the names of the definitions around it, what encloses it ("" | "class" | "enum" | "method" | "function"), and
# where in the source something tells that there is more to find; None where everything has to be looked at.
_Standing: TypeAlias = tuple[Node, str, str, "list[int] | None"]


def _named(node: Node, at: int) -> Node | None:
    return node.named_child(at) if at < node.named_child_count else None


def _places(data: bytes, telling: Sequence[re.Pattern[bytes]]) -> list[int]:
    """Return where one of some patterns fits, in order."""
    return sorted([found.start() for pattern in telling for found in pattern.finditer(data)])


def _children_at(node: Node, places: Sequence[int]) -> list[Node]:
    """Return the children that hold at least one of some places, which are sorted.

    One after the other: tree-sitter 0.26 can crash when it is asked for the child at a byte.
    """
    found: list[Node] = []
    at, beyond = bisect_left(places, node.start_byte), bisect_left(places, node.end_byte)
    for child in node.named_children:
        if at == beyond:
            break
        start, end = child.byte_range
        first = bisect_left(places, start, at, beyond)
        at = bisect_left(places, end, first, beyond)
        if at > first:
            found.append(child)
    return found


def _unquoted(text: str) -> str:
    """Return a string literal, or the start of one, without its quotes and what stands before them."""
    if text.endswith("\n"):
        return _QUOTES.sub("", text)  # a pattern's end may lie before a line's
    opening = _QUOTE.match(text)
    start = opening.end() if opening is not None else 0
    end = len(text)
    if text.endswith(('"', "'")):
        end -= 3 if text.endswith(('"""', "'''")) else 1
    return text[start:end] if start <= end else _QUOTES.sub("", text)


class _Walk:
    """One pass over the statements of a tree."""

    def __init__(self, source: Source) -> None:
        self._made_of = source
        self._source = source.data
        self._slice = source.slice
        self.definitions: list[Definition] = []
        self.bodies: list[str] = []
        self.imports: list[str] = []
        self._attributes: set[tuple[str, str]] = set()
        self._telling = _places(source.data, _DEFINES)
        self._telling_method = sorted((*self._telling, *_places(source.data, _SETS)))

    @property
    def is_full(self) -> bool:
        return len(self.definitions) >= MAX_DEFINITIONS

    def run(self, root: Node) -> None:
        stack: list[_Standing] = [(root, "", "", None)]
        definitions = self.definitions
        while stack and len(definitions) < MAX_DEFINITIONS:
            node, container, scope, telling = stack.pop()
            kind = node.type
            if kind == "expression_statement":
                # What is assigned within a function is nobody else's business.
                if scope != "function" and (first := _named(node, 0)) is not None and first.type == "assignment":
                    self._assignment(first, container, scope)
            elif kind in _HOLDERS:
                children = node.named_children if telling is None else _children_at(node, telling)
                stack += [(child, container, scope, telling) for child in reversed(children)]
            elif kind in ("function_definition", "class_definition"):
                stack += self._definition(node, node, container, scope)
            elif kind == "decorated_definition":
                inner = node.child_by_field_id(_DEFINITION)
                if inner is not None:
                    stack += self._definition(inner, node, container, scope)
            elif kind in ("import_statement", "import_from_statement"):
                self._import(node)
            elif kind == "type_alias_statement":
                left = node.child_by_field_id(_LEFT)
                if left is not None and scope in ("", "class"):
                    name = (left.named_children or [left])[0]
                    line = self._text(node)[:MAX_DETAIL_LENGTH]
                    self._add(self._text(name), name, node, SymbolKind.VARIABLE, container, line)

    def _definition(self, node: Node, whole: Node, container: str, scope: str) -> list[_Standing]:
        name = node.child_by_field_id(_NAME)
        body = node.child_by_field_id(_BODY)
        text = "" if name is None else self._text(name)
        if name is None or not text.isidentifier():
            return [] if body is None else [(body, container, scope, None)]
        start, end = (node if body is None else body).byte_range
        head = self._slice(node.start_byte, end if body is None else start)
        detail = one_line(head.split("#", 1)[0] if body is None else head).strip()[:MAX_DETAIL_LENGTH]
        if node.type == "class_definition":
            inner_scope = "enum" if _ENUM_BASE.search(detail.partition("(")[2]) else "class"
            kind = SymbolKind.ENUM if inner_scope == "enum" else SymbolKind.CLASS
        else:
            is_method = scope in ("class", "enum")
            inner_scope = "method" if is_method else "function"
            kind = SymbolKind.METHOD if is_method else SymbolKind.FUNCTION
            if is_method and whole is not node and "property" in self._decorators(whole, node):
                kind = SymbolKind.PROPERTY
        doc = self.docstring(body) if body is not None else ""
        is_class = inner_scope in ("class", "enum")
        own_body = self._own_body(body, is_class=is_class, has_doc=bool(doc)) if body is not None else ""
        self._add(text, name, whole, kind, container, detail, doc, f"{detail}\n{own_body}")
        if body is None:
            return []
        places: list[int] | None = None
        if not is_class:
            # Most bodies of functions define nothing, and the others at few places: a search tells that much sooner
            # than a look at each statement.
            places = self._telling_method if inner_scope == "method" else self._telling
            if bisect_left(places, start) == bisect_left(places, end):
                return []
        return [(body, f"{container}.{text}" if container else text, inner_scope, places)]

    def _own_body(self, body: Node, *, is_class: bool, has_doc: bool) -> str:
        """Return what a body says besides the start of its docstring, which is kept already."""
        start = body.start_byte
        string = _named(body, 0) if has_doc else None
        if string is not None and string.type == "expression_statement":
            start = min(string.end_byte, start + MAX_DOC_LENGTH)
        if not is_class:
            return self._slice(start, min(body.end_byte, start + MAX_BODY_LENGTH))
        own = (child for child in body.named_children if child.type in ("expression_statement", "comment"))
        places = ((max(start, child.start_byte), child.end_byte) for child in own)
        return "\n".join(self._slice(low, high) for low, high in places if low < high)

    def _decorators(self, whole: Node, node: Node) -> str:
        return self._slice(whole.start_byte, node.start_byte)

    def _assignment(self, node: Node, container: str, scope: str) -> None:
        line = ""
        current: Node | None = node
        while current is not None and current.type == "assignment":
            left = current.child_by_field_id(_LEFT)
            for target in self._targets(left, scope) if left is not None else ():
                if not line:
                    start = node.start_byte
                    line = one_line(self._slice(start, min(node.end_byte, start + MAX_DETAIL_LENGTH)))
                self._target(target, node, container, scope, line)
            current = current.child_by_field_id(_RIGHT)

    def _targets(self, left: Node, scope: str) -> list[Node]:
        wanted = "attribute" if scope == "method" else "identifier"
        kind = left.type
        if kind in ("pattern_list", "tuple_pattern"):
            return [child for child in left.named_children if child.type == wanted]
        return [left] if kind == wanted else []

    def _target(self, target: Node, whole: Node, container: str, scope: str, line: str) -> None:
        if scope != "method":
            name = self._text(target)
            if scope == "":
                kind = SymbolKind.CONSTANT if name.isupper() and len(name) > 1 else SymbolKind.VARIABLE
            else:
                kind = SymbolKind.ENUM_MEMBER if scope == "enum" else SymbolKind.FIELD
            if (container, name) not in self._attributes:
                self._attributes.add((container, name))
                self._add(name, target, whole, kind, container, line)
        else:
            owner = target.child_by_field_id(_OBJECT)
            name_node = target.child_by_field_id(_ATTRIBUTE_NAME)
            if owner is None or name_node is None or self._text(owner) not in ("self", "cls"):
                return
            of_class = container.rpartition(".")[0]
            name = self._text(name_node)
            if (of_class, name) not in self._attributes:
                self._attributes.add((of_class, name))
                self._add(name, name_node, whole, SymbolKind.FIELD, of_class, line)

    def _import(self, node: Node) -> None:
        module = node.child_by_field_id(_MODULE)
        if module is not None:
            prefix = self._text(module)
            self.imports.append(prefix)
            joint = "" if prefix.endswith(".") else "."
            self.imports += [f"{prefix}{joint}{name}" for name in self._imported(node)]
        else:
            self.imports += self._imported(node)

    def _imported(self, node: Node) -> list[str]:
        names = []
        for child in node.children_by_field_id(_NAME):
            inner = child.child_by_field_id(_NAME) if child.type == "aliased_import" else child
            if inner is not None:
                names.append(self._text(inner))
        return names

    def docstring(self, body: Node) -> str:
        """Return the start of the docstring of a block or module, with its line ends, empty where there is none."""
        start = body.start_byte
        if _PLAIN_START.match(self._source, start) is not None:
            return ""
        at = 0
        first = _named(body, 0)  # one by one: the others of a long body would be made for nothing
        while first is not None and first.type == "comment":
            at += 1
            first = _named(body, at)
        if first is None or first.type != "expression_statement":
            return ""
        string = _named(first, 0)
        if string is None or string.type != "string":
            return ""
        start = string.start_byte
        lines = _unquoted(self._slice(start, min(string.end_byte, start + 2 * MAX_DOC_LENGTH))).splitlines()
        return "\n".join(map(str.strip, lines)).strip()[:MAX_DOC_LENGTH]

    def _add(
        self,
        text: str,
        name: Node,
        whole: Node,
        kind: SymbolKind,
        container: str,
        detail: str,
        doc: str = "",
        body: str = "",
    ) -> None:
        if text:
            self.definitions.append(self._made_of.definition(text, name, whole, kind, container, detail, doc))
            self.bodies.append(body)

    def _text(self, node: Node) -> str:
        return self._slice(*node.byte_range)
