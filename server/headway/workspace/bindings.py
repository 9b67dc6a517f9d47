"""Which places of a text mean the same name, by its tree-sitter tree: scopes, as far as a tree tells them. For workers.

A name that a function binds (parameter, assignment, loop, nested definition) belongs to that function; Python's classes
and comprehensions are scopes of their own. Every other name is everybody's, and so is what stands behind a dot: what it
is a member of, only an engine knows. Blocks within a function are not told apart.

The tree is asked about the places where the name is written, never walked as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from tree_sitter import Node, Tree

from headway.workspace.index import Wide
from headway.workspace.occurrences import Meant, Sort, Use
from headway.workspace.syntax import Source
from headway.workspace.text import Position, Range

MOST_USES: Final = 5_000  # of one name in one text
_WORD: Final = re.compile(r"[@$]{0,2}[^\W\d]\w*")
_NO_CODE: Final = re.compile(r"comment|string|content|escape|regex|heredoc|inline|paragraph|text")
_SCOPE: Final = re.compile(
    r"(?:async_)?(?:function|method|constructor|lambda|closure|arrow_function|func)(?:_(?:definition|declaration|item"
    r"|expression|literal))?|generator_function(?:_declaration)?|local_function_statement|anonymous_function|do_block"
    r"|(?:list|set|dictionary)_comprehension|generator_expression|singleton_method|anonymous_method_expression"
)
_WRAPPER: Final = re.compile(
    r".*_pattern|pattern_list|tuple|expression_list|identifier_list|left_assignment_list"
    r"|(?:pointer|array|reference|init|function|parenthesized)_declarator|as_pattern_target|dotted_name|variable_name"
)
_DECLARING: Final = re.compile(
    r".*(?:declarat|definition|_item|parameter|_spec|binding|import|named_expression|catch|method|class|function|enum"
    r"|struct|interface|trait|field_|variant|alias|let_|for_|_clause|foreach|case_pattern).*|as_pattern|module"
)
_USING: Final = re.compile(r".*(?:invocation|call|keyword_argument|member_|_access|access_expression|_import_prefix).*")
_PARAMETERS: Final = re.compile(r".*parameters")
_NAMING: Final = frozenset({"name", "pattern", "declarator", "alias", "parameter"})
_LOOPS: Final = frozenset(
    {"for_statement", "for_in_clause", "for_in_statement", "for", "range_clause", "short_var_declaration"}
)
_ASSIGNMENTS: Final = frozenset({"assignment", "augmented_assignment", "assignment_expression", "operator_assignment"})
_ASSIGNING_BINDS: Final = frozenset({"python", "ruby", "php"})
_MEMBERS: Final = frozenset({"attribute", "member_expression", "field_expression", "selector_expression"})
_OUTER_FIELDS: Final = frozenset({"value", "type", "return_type"})
_MADE_BY: Final = re.compile(r"\s*:?=\s*(?:(?:await|new|&|\*)\s*)*([^\W\d]\w*(?:(?:\.|::|\\)[^\W\d]\w*)*)")
_NO_TYPE: Final = frozenset({"var", "auto", "let", "const", "dynamic"})
_LAST_WORD: Final = re.compile(r"\w+\s*$")
_NEAR: Final = 200  # bytes before a name in which what it is a member of is looked for
_MOST_TYPES: Final = 6
_TYPE_LENGTH: Final = 400


class _Place(NamedTuple):
    leaf: Node
    chain: tuple[Node, ...]  # from the root to the leaf's parent
    behind_dot: bool


class Names:
    """The uses of one name in one tree.

    Args:
        owners: Modules that define it: behind a dot behind one of these it is not a member's but everybody's.
    """

    def __init__(
        self, source: Source, tree: Tree, name: str, language: str, owners: frozenset[str] = frozenset()
    ) -> None:
        self._source = source
        self._root = tree.root_node
        self._name = name
        self._language = language
        self._is_python = language == "python"
        self._owners = owners
        self._places = [place for place in islice(self._written(), MOST_USES) if not self._is_keyword(place)]
        self._binders: set[int] = set()
        self._elsewhere: set[int] = set()
        self._bound = [self._bind(place) for place in self._places]

    def uses(self, sort: Sort) -> list[Use]:
        """Return the uses that are a member's or everybody's."""
        found = zip(self._places, self._bound, strict=True)
        return [self._use(place, binds) for place, binds in found if self._whose(place)[0] in self._alike(sort)]

    def _alike(self, sort: Sort) -> tuple[Sort, ...]:
        # Where members need no dot, by its name alone one is not to be told from the other.
        return (sort,) if self._is_python or sort is Sort.LOCAL else (Sort.MEMBER, Sort.COMMON)

    def at(self, leaf: Node) -> Meant | None:
        """Return what is meant at a leaf, None where that is no name in code."""
        here = next((place for place in self._places if place.leaf == leaf), None)
        if here is None:
            return None
        sort, scope = self._whose(here)
        alike = self._alike(sort)
        same = [
            (place, binds)
            for place, binds in zip(self._places, self._bound, strict=True)
            if (whose := self._whose(place))[0] in alike and (sort is not Sort.LOCAL or whose[1] == scope)
        ]
        before = [place for place, binds in same if binds and place.leaf.start_byte <= leaf.start_byte]
        line = ""
        if before:
            start = self._source.data.rfind(b"\n", 0, before[-1].leaf.start_byte) + 1
            line = self._source.slice(start, self._source.line_end(start, start + _TYPE_LENGTH)).strip()
        types = dict.fromkeys(name for place, binds in same if binds for name in self._types(place))
        return Meant(
            name=self._name,
            sort=sort,
            uses=tuple(self._use(place, binds) for place, binds in same),
            types=tuple(islice(types, _MOST_TYPES)),
            line=line,
        )

    # ---- places -----------------------------------------------------------------------------------------------------

    def _written(self) -> Iterator[_Place]:
        data = self._source.data
        pattern = re.compile(re.escape(self._name.encode("utf-8", "surrogatepass")))
        for match in pattern.finditer(data):
            start, end = match.span()
            leaf = self._root.named_descendant_for_byte_range(start, end)
            if leaf is None or (leaf.start_byte, leaf.end_byte) != (start, end) or not is_name(leaf):
                continue
            while leaf.named_child_count == 1 and leaf.named_children[0].byte_range == (start, end):
                leaf = leaf.named_children[0]
            yield _Place(leaf, self._chain(leaf), self._is_behind_dot(data, start))

    def _is_behind_dot(self, data: bytes, start: int) -> bool:
        before = data[max(start - _NEAR, 0) : start].rstrip()
        if before.endswith((b"->", b"::")):
            return True
        if not before.endswith(b".") or before.endswith(b".."):
            return False
        owner = _LAST_WORD.search(before[:-1].decode("utf-8", "replace"))
        return owner is None or owner[0].rstrip() not in self._owners

    def _chain(self, leaf: Node) -> tuple[Node, ...]:
        chain: list[Node] = []
        node: Node | None = self._root
        while node is not None and node != leaf:
            chain.append(node)
            node = node.child_with_descendant(leaf)
        return tuple(chain)

    def _is_keyword(self, place: _Place) -> bool:
        """Whether it names an argument of a call: it is the called one's."""
        parent = place.chain[-1] if place.chain else None
        return parent is not None and parent.type == "keyword_argument" and _field(parent, place.leaf) == "name"

    def _use(self, place: _Place, binds: bool) -> Use:
        leaf = place.leaf
        (row, start), (end_row, end) = leaf.start_point, leaf.end_point
        prefixes = [self._source.slice(leaf.start_byte - start, leaf.start_byte)]
        prefixes.append(self._source.slice(leaf.end_byte - end, leaf.end_byte))
        columns = [len(prefix) for prefix in prefixes]
        wide = Wide.of([*prefixes, *prefixes])
        return Use(Range(Position(row, columns[0]), Position(end_row, columns[1])), binds, wide)

    # ---- whose it is ------------------------------------------------------------------------------------------------

    def _whose(self, place: _Place) -> tuple[Sort, int]:
        if place.behind_dot:
            return Sort.MEMBER, 0
        passed_function = False
        for scope in self._scopes(place):
            is_class = scope.type == "class_definition"
            if scope.id in self._binders and not (is_class and passed_function):
                if is_class:
                    return Sort.MEMBER, 0
                return Sort.LOCAL, scope.id
            passed_function = passed_function or not is_class
        return Sort.COMMON, 0

    def _scopes(self, place: _Place) -> list[Node]:
        """Return the scopes that a place is in, innermost first."""
        found: list[Node] = []
        chain = (*place.chain, place.leaf)
        for at in range(len(chain) - 2, -1, -1):
            node, child = chain[at], chain[at + 1]
            if not self._is_scope(node) or self._is_own_name(chain, at):
                continue
            outer = child
            if _PARAMETERS.fullmatch(child.type) and at + 3 < len(chain):
                outer = chain[at + 3]
                if self._is_python and _field(chain[at + 2], outer) in _OUTER_FIELDS:
                    continue  # a default or an annotation is read where the function stands
            elif self._is_python and _field(node, child) in _OUTER_FIELDS | {"superclasses"} and node.type != "lambda":
                continue
            found.append(node)
        return found

    def _is_scope(self, node: Node) -> bool:
        return bool(_SCOPE.fullmatch(node.type)) or (self._is_python and node.type == "class_definition")

    def _is_own_name(self, chain: Sequence[Node], at: int) -> bool:
        """Whether the leaf is the name of the scope at `at`: then it is bound where the scope stands."""
        for inner in range(at + 1, len(chain)):
            field = _field(chain[inner - 1], chain[inner])
            if field not in ("name", "declarator"):
                return False
        return True

    def _bind(self, place: _Place) -> bool:
        """Note whose the name becomes if it is bound here; return whether it is."""
        parent = place.chain[-1] if place.chain else None
        if parent is not None and parent.type in ("global_statement", "nonlocal_statement"):
            for scope in self._scopes(place)[:1]:
                self._elsewhere.add(scope.id)
                self._binders.discard(scope.id)
            return False
        if not self._is_binding(place):
            return False
        if not place.behind_dot:
            for scope in self._scopes(place)[:1]:
                if scope.id not in self._elsewhere:
                    self._binders.add(scope.id)
        return True

    def _is_binding(self, place: _Place) -> bool:
        child = place.leaf
        if place.behind_dot and not place.chain:
            return False
        for parent in reversed(place.chain):
            field = _field(parent, child)
            kind = parent.type
            if place.behind_dot and kind in (
                "attribute",
                "member_expression",
                "field_expression",
                "selector_expression",
            ):
                child = parent
                continue
            if field == "left" and kind in _LOOPS:
                return True
            if field == "left" and kind in _ASSIGNMENTS:
                return place.behind_dot or self._language in _ASSIGNING_BINDS
            if _PARAMETERS.fullmatch(kind):
                return field is None or field in _NAMING
            if kind == "import_from_statement" and field == "module_name":
                return False
            if field in _NAMING and _DECLARING.fullmatch(kind) and not _USING.fullmatch(kind):
                if kind not in ("init_declarator", "function_declarator"):
                    return True
            elif kind in ("typed_parameter", "list_splat_pattern", "dictionary_splat_pattern") and field is None:
                pass
            elif kind == "for_in_clause" or not _WRAPPER.fullmatch(kind):
                return False
            child = parent
        return False

    # ---- what its values are ----------------------------------------------------------------------------------------

    def _types(self, place: _Place) -> list[str]:
        for parent in reversed(place.chain[-4:]):
            if self._is_scope(parent):
                break
            told = parent.child_by_field_name("type")
            if told is not None and not told.start_byte <= place.leaf.start_byte < told.end_byte:
                text = self._source.slice(told.start_byte, min(told.end_byte, told.start_byte + _TYPE_LENGTH))
                if text not in _NO_TYPE:
                    return _WORD.findall(text)
        after = self._source.slice(place.leaf.end_byte, place.leaf.end_byte + _TYPE_LENGTH)
        found = _MADE_BY.match(after)
        return _WORD.findall(found[1])[::-1] if found else []


def is_name(node: Node) -> bool:
    """Return whether a node is a name in code."""
    text = node.text
    if text is None or len(text) > 200 or _NO_CODE.search(node.type):
        return False
    return bool(_WORD.fullmatch(text.decode("utf-8", "replace"))) and not node.is_error


def leaf_at(source: Source, tree: Tree, position: Position) -> Node | None:
    """Return the name at a place, or right before it; None where there is none."""
    lines = source.data.split(b"\n", position.line + 1)
    if position.line >= len(lines):
        return None
    line = lines[position.line].decode("utf-8", "replace")
    start = sum(len(text) + 1 for text in lines[: position.line])
    at = start + len(line[: position.column].encode("utf-8", "replace"))
    for low, high in ((at, at + 1), (at - 1, at)):
        if low >= 0:
            node = tree.root_node.named_descendant_for_byte_range(low, min(high, len(source.data)))
            if node is not None and is_name(node):
                while node.named_child_count == 1 and node.named_children[0].byte_range == node.byte_range:
                    node = node.named_children[0]
                return node
    return None


def _field(parent: Node, child: Node) -> str | None:
    for at, one in enumerate(parent.children):
        if one == child:
            return parent.field_name_for_child(at)
    return None
