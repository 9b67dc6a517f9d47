"""Which module imports which, read from the source without importing anything.

Imports inside functions and under `TYPE_CHECKING` count: they are knowledge, too.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One import: `module` at `line` names `target`, in full. At a module's top it is needed to load the module."""

    module: str
    target: str
    line: int
    at_load: bool


def modules_of(package: Path) -> dict[str, Path]:
    """Return every module of a package by its dotted name; a package's own name stands for its `__init__`."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(modules: Mapping[str, Path]) -> list[Import]:
    """Return every import of the given modules. `from package import module` names the module, not the package."""
    found = []
    for name, path in modules.items():
        base = name if path.name == "__init__.py" else name.rpartition(".")[0]
        tree = ast.parse(path.read_bytes(), filename=str(path))
        at_load = set(_loaded(tree.body))
        for node in ast.walk(tree):
            found += [
                Import(module=name, target=target, line=node.lineno, at_load=node in at_load)
                for target in _targets(node, base, modules)
                if isinstance(node, ast.Import | ast.ImportFrom)
            ]
    return found


def _loaded(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the module is loaded, also inside `if`, `try` and class bodies."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _loaded(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _loaded(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))


def _targets(node: ast.AST, base: str, modules: Mapping[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        origin = node.module or ""
        if node.level:
            parts = base.split(".")
            origin = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
        for alias in node.names:
            inner = f"{origin}.{alias.name}"
            yield inner if inner in modules else origin


def cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the groups of nodes that reach each other, each sorted.

    Source: R. Tarjan, "Depth-first search and linear graph algorithms", 1972.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in edges.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            cut = stack.index(node)
            group = stack[cut:]
            del stack[cut:]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return groups
