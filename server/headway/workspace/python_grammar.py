"""Definitions of a Python file, by tree-sitter. Pure; runs in worker processes.

The walk visits statements only and keeps its own stack: nesting of any depth costs memory, never the interpreter's
stack. Source that does not parse gives what lies outside of the broken parts.
"""

from __future__ import annotations

import re
from functools import cache

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from headway.workspace.index import Definition, Parsed, SymbolKind
from headway.workspace.syntax import (
    MAX_BODY_LENGTH,
    MAX_DEFINITIONS,
    MAX_DETAIL_LENGTH,
    MAX_DOC_LENGTH,
    PARSE_LIMIT_S,
    SPACE,
    Parse,
    Source,
    parse_all,
)

_QUOTES = re.compile(r"^[A-Za-z]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$")
_ENUM_BASE = re.compile(r"\b(?:Int|Str)?(?:Enum|Flag)\b")

# What a function's body holds if anything in it is a definition or an import. Attributes that a method sets are, too.
_TELLING = re.compile(rb"\b(?:def|class|import)\b")
_TELLING_METHOD = re.compile(rb"\b(?:def|class|import)\b|\b(?:self|cls)\s*\.\s*(?:\w|[\x80-\xff])+\s*(?:=(?!=)|[:,)])")

# Statements that hold statements: the walk goes into these and into nothing else.
_HOLDERS = frozenset(
    {
        *("module", "block", "ERROR", "with_statement", "match_statement", "case_clause"),
        *("if_statement", "elif_clause", "else_clause", "for_statement", "while_statement"),
        *("try_statement", "except_clause", "except_group_clause", "finally_clause"),
    }
)


@cache
def parser() -> Parser:
    """Return the parser of Python."""
    return Parser(Language(tree_sitter_python.language()))


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


def _named(node: Node, at: int) -> Node | None:
    return node.named_child(at) if at < node.named_child_count else None


class _Walk:
    """One pass over the statements of a tree."""

    def __init__(self, source: Source) -> None:
        self._made_of = source
        self._source = source.data
        self.definitions: list[Definition] = []
        self.bodies: list[str] = []
        self.imports: list[str] = []
        self._attributes: set[tuple[str, str]] = set()

    @property
    def is_full(self) -> bool:
        return len(self.definitions) >= MAX_DEFINITIONS

    def run(self, root: Node) -> None:
        # (node, names of the enclosing definitions, what encloses: "" | "class" | "enum" | "method" | "function")
        stack: list[tuple[Node, str, str]] = [(root, "", "")]
        definitions = self.definitions
        while stack and len(definitions) < MAX_DEFINITIONS:
            node, container, scope = stack.pop()
            kind = node.type
            if kind == "expression_statement":
                # What is assigned within a function is nobody else's business.
                if scope != "function" and (first := _named(node, 0)) is not None and first.type == "assignment":
                    self._assignment(first, container, scope)
            elif kind in _HOLDERS:
                stack += [(child, container, scope) for child in reversed(node.named_children)]
            elif kind in ("function_definition", "class_definition"):
                stack += self._definition(node, node, container, scope)
            elif kind == "decorated_definition":
                inner = node.child_by_field_name("definition")
                if inner is not None:
                    stack += self._definition(inner, node, container, scope)
            elif kind in ("import_statement", "import_from_statement"):
                self._import(node)
            elif kind == "type_alias_statement":
                left = node.child_by_field_name("left")
                if left is not None and scope in ("", "class"):
                    name = left.named_children[:1] or [left]
                    self._add(name[0], node, SymbolKind.VARIABLE, container, self._text(node)[:MAX_DETAIL_LENGTH])

    def _definition(self, node: Node, whole: Node, container: str, scope: str) -> list[tuple[Node, str, str]]:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        text = "" if name is None else self._text(name)
        if name is None or not text.isidentifier():
            return [] if body is None else [(body, container, scope)]
        head_end = body.start_byte if body is not None else node.end_byte
        head = self._source[node.start_byte : head_end].decode("utf-8", "replace")
        detail = SPACE.sub(" ", head.split("#", 1)[0] if body is None else head).strip()[:MAX_DETAIL_LENGTH]
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
        self._add(name, whole, kind, container, detail, doc, f"{detail}\n{own_body}")
        if body is None:
            return []
        if not is_class:
            # Most bodies of functions define nothing: a search tells that much sooner than a look at each statement.
            telling = _TELLING_METHOD if inner_scope == "method" else _TELLING
            if telling.search(self._source, body.start_byte, body.end_byte) is None:
                return []
        return [(body, f"{container}.{text}" if container else text, inner_scope)]

    def _own_body(self, body: Node, *, is_class: bool, has_doc: bool) -> str:
        """Return what a body says besides the start of its docstring, which is kept already."""
        start = body.start_byte
        string = _named(body, 0) if has_doc else None
        if string is not None and string.type == "expression_statement":
            start = min(string.end_byte, start + MAX_DOC_LENGTH)
        if not is_class:
            return self._source[start : min(body.end_byte, start + MAX_BODY_LENGTH)].decode("utf-8", "replace")
        own = (child for child in body.named_children if child.type in ("expression_statement", "comment"))
        places = ((max(start, child.start_byte), child.end_byte) for child in own)
        return "\n".join(self._source[low:high].decode("utf-8", "replace") for low, high in places if low < high)

    def _decorators(self, whole: Node, node: Node) -> str:
        return self._source[whole.start_byte : node.start_byte].decode("utf-8", "replace")

    def _assignment(self, node: Node, container: str, scope: str) -> None:
        line = ""
        current: Node | None = node
        while current is not None and current.type == "assignment":
            left = current.child_by_field_name("left")
            for target in self._targets(left, scope) if left is not None else ():
                if not line:
                    start = node.start_byte
                    detail = self._source[start : min(node.end_byte, start + MAX_DETAIL_LENGTH)]
                    line = SPACE.sub(" ", detail.decode("utf-8", "replace"))
                self._target(target, node, container, scope, line)
            current = current.child_by_field_name("right")

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
                self._add(target, whole, kind, container, line)
        else:
            owner = target.child_by_field_name("object")
            name_node = target.child_by_field_name("attribute")
            if owner is None or name_node is None or self._text(owner) not in ("self", "cls"):
                return
            of_class = container.rpartition(".")[0]
            key = (of_class, self._text(name_node))
            if key not in self._attributes:
                self._attributes.add(key)
                self._add(name_node, whole, SymbolKind.FIELD, of_class, line)

    def _import(self, node: Node) -> None:
        module = node.child_by_field_name("module_name")
        if module is not None:
            prefix = self._text(module)
            self.imports.append(prefix)
            joint = "" if prefix.endswith(".") else "."
            self.imports += [f"{prefix}{joint}{name}" for name in self._imported(node)]
        else:
            self.imports += self._imported(node)

    def _imported(self, node: Node) -> list[str]:
        names = []
        for child in node.children_by_field_name("name"):
            inner = child.child_by_field_name("name") if child.type == "aliased_import" else child
            if inner is not None:
                names.append(self._text(inner))
        return names

    def docstring(self, body: Node) -> str:
        """Return the start of the docstring of a block or module, with its line ends, empty where there is none."""
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
        raw = self._source[string.start_byte : min(string.end_byte, string.start_byte + 2 * MAX_DOC_LENGTH)]
        lines = _QUOTES.sub("", raw.decode("utf-8", "replace")).splitlines()
        return "\n".join(line.strip() for line in lines).strip()[:MAX_DOC_LENGTH]

    def _add(
        self, name: Node, whole: Node, kind: SymbolKind, container: str, detail: str, doc: str = "", body: str = ""
    ) -> None:
        text = self._text(name)
        if not text:
            return
        self.definitions.append(self._made_of.definition(text, name, whole, kind, container, detail, doc))
        self.bodies.append(body)

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")
