"""Real statements of a project that are worth typing: those with a name whose existence the sources prove.

Pure over `Sources`. A statement is typed where it stands: the rest of its line is taken away, typed anew up to just
before the end of the known name, and put back. What the list must hold meanwhile follows from the source alone.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from headway.demo.sources import Module, Sources, members

LONGEST_KEYS = 32
NAME_KEYS = 5  # typed of the known name, at most: by then a person has picked it from the list
SHORTEST_NAME = 6
KINDS = ("own", "inherited", "module", "scope", "imported")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """`text` is typed at (`line`, `column`) of `file`; from `known_from` typed characters on `label` must be listed.

    `kind`, one of KINDS: own and inherited members of self, members of modules, names in scope, names imported.
    """

    file: str  # relative to the project, with /
    line: int
    column: int
    text: str
    label: str
    known_from: int
    kind: str


def choose(sources: Sources, count: int, seed: int) -> list[Statement]:
    """Pick `count` statements of a project, or all: kinds in turn, files as varied as can be, the same for a seed."""
    draw = random.Random(seed)
    varied: dict[str, list[Statement]] = {kind: [] for kind in KINDS}
    rest: list[Statement] = []  # A second one of a file or a name, for small projects.
    for name in draw.sample(sources.names(), len(sources.names())):
        module = sources.module(name)
        found = list(statements_of(sources, module)) if module is not None else []
        for statement in draw.sample(found, len(found)):
            same = varied[statement.kind]
            alike = any(other.file == statement.file or other.label == statement.label for other in same)
            (rest if alike else same).append(statement)
        if all(len(same) * len(KINDS) >= 2 * count for same in varied.values()):
            break
    in_turn = [statement for group in zip_longest(*varied.values()) for statement in group if statement is not None]
    return [*in_turn, *rest][:count]


def statements_of(sources: Sources, module: Module) -> Iterator[Statement]:
    """Every statement of a module that qualifies, in the order of its parts."""
    if not module.plain:
        return
    for node in module.tree.body:
        if isinstance(node, ast.ImportFrom):
            yield from _imported(sources, module, node)
        elif isinstance(node, ast.ClassDef):
            for child in node.body:
                if isinstance(child, ast.FunctionDef):
                    yield from _in_function(sources, module, node, child)
        elif isinstance(node, ast.FunctionDef):
            yield from _in_function(sources, module, None, node)


def _in_function(
    sources: Sources, module: Module, owner: ast.ClassDef | None, function: ast.FunctionDef
) -> Iterator[Statement]:
    """Statements of one line in a function's body, also within its `if`, `for` and the like."""
    arguments = function.args
    is_method = owner is not None and bool(arguments.args) and arguments.args[0].arg == "self"
    is_method = is_method and not function.decorator_list
    local = {node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            local.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            local.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
    for node in _simple(function):
        line = node.lineno - 1
        if node.end_lineno != node.lineno or module.lines[line][: node.col_offset].strip():
            continue
        for name, kind, start in _known(sources, module, owner if is_method else None, local, node):
            statement = _typed(module, line, node.col_offset, start, name, kind)
            if statement is not None:
                yield statement
                break


def _simple(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    stack: list[ast.stmt] = list(reversed(function.body))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Return | ast.Raise):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            stack.extend(reversed(inner))


def _known(
    sources: Sources, module: Module, owner: ast.ClassDef | None, local: set[str], statement: ast.stmt
) -> Iterator[tuple[str, str, int]]:
    """(name, kind, column where it begins) of what the sources prove, from left to right.

    Only what is read counts: a name about to be assigned need not exist yet.
    """
    if any(isinstance(node, ast.JoinedStr) for node in ast.walk(statement)):
        return  # Before Python 3.12, what stands inside an f-string has no true column.
    nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Attribute | ast.Name)]
    for node in sorted(nodes, key=lambda node: (node.end_col_offset or 0, node.col_offset)):
        end = node.end_col_offset or 0
        if not isinstance(node.ctx, ast.Load) or node.end_lineno != statement.lineno:
            continue
        if isinstance(node, ast.Name):
            if (node.id in module.classes or node.id in module.functions) and node.id not in local:
                yield node.id, "scope", end - len(node.id)
        elif isinstance(node.value, ast.Name) and node.attr.isascii():
            kind = _kind(sources, module, owner, local, node.value.id, node.attr)
            if kind is not None:
                yield node.attr, kind, end - len(node.attr)


def _kind(
    sources: Sources, module: Module, owner: ast.ClassDef | None, local: set[str], base: str, name: str
) -> str | None:
    if base == "self":
        if owner is None:
            return None
        if name in members(owner):
            return "own"
        return "inherited" if name in sources.inherited(module, owner) else None
    if base in local:
        return None
    target = sources.as_module(module, base)
    return "module" if target is not None and target.defines(name) else None


def _imported(sources: Sources, module: Module, node: ast.ImportFrom) -> Iterator[Statement]:
    """`from package.module import Name`, where the project itself says that Name is there."""
    if node.level or node.end_lineno != node.lineno or node.module is None or node.col_offset:
        return
    name = node.names[0].name
    origin = sources.module(node.module) if sources.own(node.module) else None
    if origin is not None and origin.defines(name):
        start = len(f"from {node.module} import ")
        statement = _typed(module, node.lineno - 1, 0, start, name, "imported")
        if statement is not None:
            yield statement


def _typed(module: Module, line: int, column: int, start: int, name: str, kind: str) -> Statement | None:
    """The statement as it will be typed; None where the name or the way to it is too short or too long."""
    whole = module.lines[line]
    text = whole[column : start + min(len(name) - 1, NAME_KEYS)]
    if name.startswith("__") or len(name) < SHORTEST_NAME or len(text) > LONGEST_KEYS:
        return None
    if not whole.startswith(name, start):  # Written in parts, as `from x import (name)` is.
        return None
    # Of a bare name a character is typed before anybody expects a list; after a dot the list is due at once.
    known_from = start - column + (1 if kind in ("scope", "imported") else 0)
    return Statement(
        file=module.file, line=line, column=column, text=text, label=name, known_from=known_from, kind=kind
    )
