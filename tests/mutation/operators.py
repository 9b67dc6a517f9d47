"""What can be broken in a module: small changes of its syntax tree, one at a time, each with its place and its words.

The operators are the usual ones (R. A. DeMillo et al., "Hints on Test Data Selection", 1978; the sets of mutmut and
cosmic-ray): comparisons, limits, conditions, arithmetic, numbers, returned values, left out statements. Only bodies of
functions are changed; words, types and what is raised are left alone.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any"}

Edit = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place in a module that can be broken, and which of the ways to break it is meant.

    Attributes:
        line: Where, from 1.
        function: Qualified name of the function of the module or of a class that it is in.
        number: The place's number in the module.
        way: Which of its edits.
    """

    line: int
    function: str
    number: int
    way: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A module with one thing changed.

    Attributes:
        site: Where.
        change: What was there and what is there now.
        tree: The whole module.
    """

    site: Site
    change: str
    tree: ast.Module


def sites(source: str) -> list[Site]:
    """Return all that can be broken in a module, in the order of its lines."""
    found = [
        Site(line=place.lineno, function=function, number=number, way=way)
        for number, (function, place) in enumerate(_places(ast.parse(source)))
        for way, _ in enumerate(_edits(place))
    ]
    return sorted(found, key=lambda site: site.line)


def broken(source: str, site: Site) -> Mutant:
    """Return a module with one of its `sites` broken."""
    tree = ast.parse(source)
    _, place = next(itertools.islice(_places(tree), site.number, None))
    before = ast.unparse(place)
    after = next(itertools.islice(_edits(place), site.way, None))(place)
    if after is not place:
        _replace(tree, place, after)
    ast.fix_missing_locations(tree)
    return Mutant(site=site, change=f"{_short(before)}  ->  {_short(ast.unparse(after))}", tree=tree)


def _places(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """Yield the expressions and statements that decide something, each with the name of its function."""
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for found in inner:
            if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in found.body:
                    yield prefix + found.name, statement
                    for place in _below(statement):
                        yield prefix + found.name, place


def _below(node: ast.AST) -> Iterator[Any]:
    for child in _children(node):
        if isinstance(child, ast.expr | ast.stmt):
            yield child
        yield from _below(child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from node.body
        case ast.AnnAssign():
            yield from () if node.value is None else (node.value,)
        case ast.Raise() | ast.JoinedStr() | ast.Assert() | ast.Call(func=ast.Name(id="assert_never" | "cast")):
            return
        case _:
            yield from ast.iter_child_nodes(node)


def _edits(node: Any) -> Iterator[Edit]:
    """Yield the ways to break one node; each changes it in place or returns another."""
    match node:
        case ast.Compare():
            for index, op in enumerate(node.ops):
                for other in _COMPARISONS[type(op)]:
                    yield _set_op(index, other)
        case ast.BoolOp():
            yield lambda found: _with(found, op=ast.Or() if isinstance(found.op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield lambda found: found.operand
        case ast.BinOp() | ast.AugAssign() if type(node.op) in _ARITHMETIC:
            yield lambda found: _with(found, op=_ARITHMETIC[type(found.op)]())
        case ast.Constant(value=bool()):
            yield lambda found: _with(found, value=not found.value)
        case ast.Constant(value=int() | float()):
            yield lambda found: _with(found, value=found.value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in _TWINS:
            yield lambda found: _with(found, func=ast.Name(id=_TWINS[found.func.id], ctx=ast.Load()))
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield lambda found: _with(found, value=ast.Constant(value=None))
        case ast.If() | ast.IfExp() if isinstance(node.test, ast.Name | ast.Attribute | ast.Call | ast.NamedExpr):
            yield lambda found: _with(found, test=ast.UnaryOp(op=ast.Not(), operand=found.test))
        case ast.Break():
            yield lambda _: ast.Continue()
        case ast.Continue():
            yield lambda _: ast.Break()
    if isinstance(node, ast.AugAssign) or _is_effect(node):
        yield lambda _: ast.Pass()


def _is_effect(node: Any) -> bool:
    """Return whether a statement is there for what it does to others: a call, or a value kept in an object."""
    match node:
        case ast.Expr(value=ast.Call() as call):
            return not (isinstance(call.func, ast.Name) and call.func.id == "assert_never")
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            return True
    return False


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _set_op(index: int, kind: type[ast.cmpop]) -> Edit:
    def edit(found: ast.Compare) -> ast.Compare:
        found.ops[index] = kind()
        return found

    return edit


def _with(node: Any, **fields: Any) -> Any:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def _replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return
            if isinstance(value, list) and any(item is old for item in value):
                value[:] = [new if item is old else item for item in value]
                return


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 90 else line[:87] + "..."
