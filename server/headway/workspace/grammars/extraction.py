"""One walk for all languages: a tree and a language's table in, definitions out. Runs in worker processes.

Nodes that no rule and no list of holders names are not gone into, and the walk keeps its own stack: nesting of any
depth costs memory, never the interpreter's stack. Source that does not parse gives what lies outside of the broken
parts.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from tree_sitter import Language, Node, Parser

from headway.workspace.grammars.rules import ENUM, OBJECT, SPACE, TYPE, Grammar, Name, Rule, reach
from headway.workspace.index import Definition, Parsed, SymbolKind
from headway.workspace.syntax import (
    MAX_BODY_LENGTH,
    MAX_DETAIL_LENGTH,
    MAX_DOC_LENGTH,
    PARSE_LIMIT_S,
    Parse,
    Source,
    parse_all,
)
from headway.workspace.syntax import SPACE as WHITE

_MOST_COMMENTS: Final = 40
_LONGEST_NAME: Final = 200
_LONGEST_PART: Final = 400  # of what stands in a type's body and is no function
_MEMBERS: Final = frozenset({TYPE, ENUM, OBJECT})
_MARKS: Final = re.compile(
    r"^[ \t]*(?:/\*+!?|//[/!]?|\*+/|\*(?!\*)|#+!?|--+|<!--|;+)?[ \t]?|[ \t]*(?:\*+/|-->)[ \t]*$", re.MULTILINE
)
_TAGS: Final = re.compile(r"</?[a-zA-Z][^<>\n]{0,80}>")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_INTERPRETER: Final = re.compile(r"\A#!.*")
_LEGAL: Final = re.compile(r"copyright|licen[cs]e|spdx|all rights", re.IGNORECASE)
_OPENING: Final = re.compile(r"\s*(?:\{|=>|=|:|->|;)?\s*$")


class _Standing(NamedTuple):
    """A node that is still to be looked at, and where it stands."""

    node: Node
    kind: str
    container: str
    scope: str
    depth: int
    whole: Node | None  # the outermost wrapper around it
    doc: Sequence[Node]  # the comments right before it


class MissingGrammarError(Exception):
    """A grammar's package is not there. Install `headway[server]` as it is locked."""


@cache
def parser_of(package: str, function: str) -> Parser:
    """Return the parser of a grammar.

    Raises:
        MissingGrammarError: it cannot be loaded.
    """
    try:
        module = importlib.import_module(package)
        return Parser(Language(getattr(module, function)()))
    except (ImportError, AttributeError, ValueError) as error:  # Not there, or made for another tree-sitter.
        raise MissingGrammarError(f"{package.replace('_', '-')} cannot be loaded: {error}") from error


def extract(text: str, grammar: Grammar, tree_of: Parse = parse_all) -> Parsed:
    """Return the definitions of source text, in the order in which they start."""
    try:
        parser = parser_of(grammar.package, grammar.function)
    except MissingGrammarError as error:
        return Parsed([], [], [], "", f"no grammar: {error}")
    if grammar.unfit is not None and grammar.unfit.search(text):
        return Parsed([], [], [], "", "too deep: not parsed")
    source = Source(text)
    tree = tree_of(source, parser)
    if tree is None:
        return Parsed([], [], [], "", f"too complex: not parsed within {PARSE_LIMIT_S:.0f} s")
    walk = _Walk(source, grammar)
    walk.run(tree.root_node)
    problem = "syntax errors" if tree.root_node.has_error else None
    if walk.is_full:
        problem = f"more than {grammar.most} definitions; the rest is left out"
    return Parsed(walk.definitions, walk.bodies, [], walk.file_doc, problem)


class _Walk:
    """One pass over the nodes that may define something."""

    def __init__(self, source: Source, grammar: Grammar) -> None:
        self._source = source
        self._grammar = grammar
        self.definitions: list[Definition] = []
        self.bodies: list[str] = []
        self.file_doc = ""
        self._stack: list[_Standing] = []
        self._seen: set[tuple[str, str, str]] = set()
        self._telling = grammar.holders | grammar.wrappers | grammar.groups | {"ERROR"}

    @property
    def is_full(self) -> bool:
        return len(self.definitions) >= self._grammar.most

    def run(self, root: Node) -> None:
        rules, holders = self._grammar.rules, self._grammar.holders
        wrappers, groups = self._grammar.wrappers, self._grammar.groups
        self._push(root, "", SPACE, 0, None, ())
        while self._stack and not self.is_full:
            at = self._stack.pop()
            rule = rules.get(at.kind)
            if rule is not None and self._applies(rule, at):
                self._apply(rule, at)
            elif at.kind in wrappers or (at.kind in groups and self._is_lone(at.node)):
                self._push(at.node, at.container, at.scope, at.depth, at.whole or at.node, at.doc)
            elif at.kind in holders or at.kind in groups or at.kind == "ERROR":
                self._push(at.node, at.container, at.scope, at.depth, None, ())

    def _is_lone(self, group: Node) -> bool:
        return sum(child.type in self._grammar.rules for child in group.named_children) == 1

    def _applies(self, rule: Rule, at: _Standing) -> bool:
        return at.scope in rule.within or rule.by is not None

    def _push(
        self, holder: Node, container: str, scope: str, depth: int, whole: Node | None, doc: Sequence[Node]
    ) -> None:
        """Put the children of a node on the stack that may define something, each with its comment."""
        grammar = self._grammar
        rules, telling = grammar.rules, self._telling
        comments: list[Node] = []
        last_row = end_row = -1
        found: list[_Standing] = []
        at_top = depth == 0 and not self.definitions and not self.file_doc
        for child in holder.named_children:
            kind = child.type
            if kind in grammar.comments:
                row = child.start_point[0]
                if row == last_row and not comments:
                    continue  # It ends the line of what stands before it.
                if comments and row > end_row + 1:
                    if at_top and not found and not self.file_doc:
                        self.file_doc = self._file_doc(comments)
                    comments.clear()
                comments.append(child)
                end_row = _end_row(child)
                continue
            if kind in grammar.between:
                end_row = child.end_point[0]
                continue
            near = tuple(comments) if comments and child.start_point[0] <= end_row + 1 else ()
            tells = kind in rules or kind in telling
            if tells:
                found.append(_Standing(child, kind, container, scope, depth, whole, near or doc))
            if comments:
                if at_top and not self.file_doc and len(found) <= tells and not (tells and near):
                    self.file_doc = self._file_doc(comments)
                comments.clear()
            last_row = child.end_point[0]
        found.reverse()
        self._stack += found

    def _apply(self, rule: Rule, at: _Standing) -> None:
        if rule.by is not None:
            for node in reach(at.node, rule.by[0])[:1]:
                rule = rule.by[1].get(node.type, rule)
        if at.scope not in rule.within:
            return
        bodies = reach(at.node, rule.body) if rule.body else []
        if rule.whole and not bodies:
            return
        names = self._names(rule, at.node)
        container = at.container
        owner = ""
        if rule.owner:
            owner = ".".join(filter(None, (self._word(node) for node in reach(at.node, rule.owner)[:1])))
        if rule.kind is not None and at.depth < self._grammar.depth:
            for name in names:
                self._define(rule, at, name, name.owner or owner, bodies)
        if not bodies:
            return
        inner = container
        depth = at.depth
        if names and rule.inside is not None:
            first = names[0]
            own = self._text(first) if rule.kind is not None else self._word(first.node)
            inner = ".".join(filter(None, (container, first.owner or owner, own)))
            depth += 1
        scope = rule.inside or at.scope
        if depth < self._grammar.depth:
            for body in reversed(bodies):
                kind = body.type
                if kind in self._grammar.rules and body != at.node:
                    self._stack.append(_Standing(body, kind, inner, scope, depth, None, ()))
                else:
                    self._push(body, inner, scope, depth, None, ())

    def _names(self, rule: Rule, node: Node) -> Sequence[Name]:
        if rule.names is not None:
            return rule.names(node)
        return [Name(found) for found in reach(node, rule.name)] if rule.name else ()

    def _define(self, rule: Rule, at: _Standing, name: Name, owner: str, bodies: Sequence[Node]) -> None:
        text = self._text(name)
        if not text or len(text) > _LONGEST_NAME or text.isspace() or "\n" in text:
            return
        container = ".".join(filter(None, (at.container, owner)))
        is_member = bool(owner) or at.scope in _MEMBERS
        kind = self._kind(rule, name, is_member)
        if kind is SymbolKind.METHOD and self._makes(text, container):
            kind = SymbolKind.CONSTRUCTOR
        elif kind is SymbolKind.VARIABLE and text.isupper() and len(text) > 1:
            kind = SymbolKind.CONSTANT
        if not rule.chunk:
            # What is assigned or declared again is the same thing.
            key = (container, text, at.kind)
            if key in self._seen:
                return
            self._seen.add(key)
        whole = at.whole or at.node
        detail = self._detail(at, bodies, name)
        doc = self._doc(at.doc) if at.doc else ""
        self.definitions.append(
            self._source.definition(text, name.node, whole, kind, container, detail, doc, name.skip)
        )
        self.bodies.append(self._body(rule, at.node, bodies, detail) if rule.chunk else "")

    def _text(self, name: Name) -> str:
        text = self._source.text(name.node)[name.skip :]
        return text.rstrip(name.tail) if name.tail else text

    def _kind(self, rule: Rule, name: Name, is_member: bool) -> SymbolKind:
        kind = name.kind or rule.kind
        assert kind is not None
        if not is_member:
            return kind
        if kind is SymbolKind.FUNCTION:
            return SymbolKind.METHOD
        return rule.member if rule.member is not None and name.kind is None else kind

    def _makes(self, text: str, container: str) -> bool:
        names = self._grammar.constructors
        return bool(names) and (text in names or ("." in names and text == container.rpartition(".")[2]))

    def _detail(self, at: _Standing, bodies: Sequence[Node], name: Name) -> str:
        start = self._start(at.node)
        if at.whole is not None and start - at.whole.start_byte <= MAX_DETAIL_LENGTH:
            start = self._start(at.whole)
        end = at.node.end_byte
        if bodies:
            end = bodies[0].start_byte
            if bodies[0] == at.node:  # A section or an element: what it holds begins behind its name.
                end = self._source.line_end(name.node.end_byte, at.node.end_byte)
        head = self._source.slice(start, min(end, start + 4 * MAX_DETAIL_LENGTH))
        return _OPENING.sub("", WHITE.sub(" ", head))[:MAX_DETAIL_LENGTH].strip()

    def _start(self, node: Node) -> int:
        if self._grammar.leading:
            for child in node.children:
                if child.type not in self._grammar.leading:
                    return child.start_byte
        return node.start_byte

    def _body(self, rule: Rule, node: Node, bodies: Sequence[Node], detail: str) -> str:
        if rule.inside not in _MEMBERS and rule.inside != SPACE:
            start = bodies[0].start_byte if bodies else node.start_byte
            return f"{detail}\n{self._source.slice(start, min(node.end_byte, start + MAX_BODY_LENGTH))}"
        parts = [detail]
        length = 0
        rules = self._grammar.rules
        for body in bodies:
            for child in body.named_children:
                inner = rules.get(child.type)
                if (inner is None or not inner.chunk) and length < MAX_BODY_LENGTH:
                    parts.append(
                        self._source.slice(child.start_byte, min(child.end_byte, child.start_byte + _LONGEST_PART))
                    )
                    length += len(parts[-1])
        return "\n".join(parts)

    def _doc(self, comments: Sequence[Node]) -> str:
        text = "\n".join(
            self._source.text(comment)[: 2 * MAX_DOC_LENGTH].rstrip("\n") for comment in comments[:_MOST_COMMENTS]
        )
        text = _INTERPRETER.sub("", text)
        plain = _MARKS.sub("", text)
        if "</" in plain:
            plain = _TAGS.sub("", plain)
        return "\n".join(line.strip() for line in plain.split("\n")).strip()[:MAX_DOC_LENGTH]

    def _file_doc(self, comments: Sequence[Node]) -> str:
        doc = self._doc(comments)
        return "" if _LEGAL.search(doc) else doc

    def _word(self, node: Node) -> str:
        """Return the name of a type as it is written: without its arguments and without what it is a pointer to."""
        text = self._source.slice(node.start_byte, min(node.end_byte, node.start_byte + _LONGEST_NAME))
        found = _WORD.findall(re.split(r"[<\[{]", text.strip("()&* \n"), maxsplit=1)[0])
        return found[-1] if found else ""


def _end_row(comment: Node) -> int:
    """Return the last row of a comment; some grammars count the line's end to it."""
    row, column = comment.end_point
    return row - (column == 0)
