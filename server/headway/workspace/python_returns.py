"""What the text of a function says of what it returns, beside its annotations: its docstring and its `return`s.

For functions whose type an engine cannot infer. Pure: lines in, names of types and places of expressions out; a text
that does not parse says nothing, as does a sentence where the name of a type is expected.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headway.workspace.python_text import blanked

_LONGEST_FUNCTION = 400  # lines; a longer one is not read
_LONGEST_HEADER = 40
_MOST_TYPES = 3
_DEF = re.compile(r"^([ \t]*)(?:async[ \t]+)?def[ \t]+([^\W\d]\w*)")
_ROLE = re.compile(r":(?:\w+:)+`([^`]*)`")
_TITLED = re.compile(r"^[^<]*<([^<>]+)>$")
_TYPE = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*)(?:\[.*\])?")
_OPTIONAL = re.compile(r"(?:typing\.)?Optional\[(.*)\]")
_UNION = re.compile(r"(?:typing\.)?Union\[([^\[\]]*)\]")
_OR = re.compile(r"\s+or\s+|\s*\|\s*")
_SPHINX = re.compile(r"^[ \t]*:rtype:[ \t]*(\S.*)$", re.MULTILINE)
_GOOGLE = re.compile(r"^([ \t]*)Returns?:[ \t]*\n((?:\1[ \t]+\S.*(?:\n|$))+)", re.MULTILINE)
_NUMPY = re.compile(r"^([ \t]*)Returns?[ \t]*\n\1-{3,}[ \t]*\n((?:\1\S.*\n?|\1[ \t]+\S.*\n?)+)", re.MULTILINE)
_PARAMETERS = (
    r"^[ \t]*:type[ \t]+{name}:[ \t]*(\S.*)$",
    r"^[ \t]*:param[ \t]+(\S+)[ \t]+{name}:",
    r"^[ \t]*{name}[ \t]+:[ \t]*(\S.*)$",
    r"^[ \t]*{name}[ \t]*\(([^()]+)\):",
)


@dataclass(frozen=True, slots=True)
class Spot:
    """An expression by its last name: where that stands in a text, and whether it is called there."""

    line: int
    column: int
    called: bool


@dataclass(frozen=True, slots=True)
class Function:
    """What is written of what a function returns: `types` are dotted names, `returned` is what else it hands on.

    `annotated`: it is said in an annotation. `is_overload`: one of several signatures of one function; `types` are then
    those of its annotation. `is_property`: it is called by being named.
    """

    annotated: bool
    is_overload: bool
    is_property: bool
    types: tuple[str, ...]
    returned: tuple[Spot, ...] = ()


def function_at(lines: Sequence[str], line: int, column: int) -> Function | None:
    """Return the function whose name stands at a place; None where there is none that can be read."""
    header = _DEF.match(lines[line]) if line < len(lines) else None
    if header is None or header.start(2) != column or (node := _parsed(lines, line)) is None:
        return None
    names = {_last_name(decorator) for decorator in _decorators(lines, line)}
    overload = "overload" in names
    annotated = node.returns is not None
    types: tuple[str, ...] = ()
    returned: tuple[Spot, ...] = ()
    if node.returns is not None:
        types = named_types(ast.unparse(node.returns)) if overload else ()
    else:
        types = documented_return(ast.get_docstring(node) or "")
        if not types and not any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in _own(node)):
            returned = tuple(_returned(lines, line, node))
    return Function(
        annotated=annotated,
        is_overload=overload,
        is_property=any(name.endswith("property") for name in names),
        types=types,
        returned=returned,
    )


def parameter_types(lines: Sequence[str], line: int, column: int) -> tuple[str, ...]:
    """Return the types that a function's docstring gives to the parameter whose name stands at a place."""
    found = re.compile(r"[^\W\d]\w*").match(lines[line], column) if line < len(lines) else None
    if found is None:
        return ()
    name = found.group()
    for first in range(line, max(line - _LONGEST_HEADER, -1), -1):
        if _DEF.match(lines[first]):
            node = _parsed(lines, first)
            if node is None:
                return ()
            mentioned = [node.args.vararg, node.args.kwarg]
            plain = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if any(one is not None and one.arg == name for one in mentioned):
                return ()
            known = any(one.arg == name and one.annotation is None for one in plain)
            return documented_parameter(ast.get_docstring(node) or "", name) if known else ()
    return ()


# ---- docstrings -----------------------------------------------------------------------------------------------------


def documented_return(docstring: str) -> tuple[str, ...]:
    """Return the types that a docstring of Sphinx, Google or NumPy says are returned."""
    if found := _SPHINX.search(docstring):
        return named_types(found[1])
    if found := _NUMPY.search(docstring):
        indent = found[1]
        entries = [entry for entry in found[2].split("\n") if entry.startswith(indent) and entry[len(indent) :].strip()]
        heads = [entry for entry in entries if not entry[len(indent)].isspace()]
        if len(heads) == 1:  # several are the parts of a tuple
            return named_types(re.sub(r"^\s*\w+\s+:\s*", "", heads[0]))
    if found := _GOOGLE.search(docstring):
        head, colon, _ = found[2].partition("\n")[0].partition(": ")
        if colon or found[2].partition("\n")[0].rstrip().endswith(":"):
            return named_types(head.rstrip(": "))
    return ()


def documented_parameter(docstring: str, name: str) -> tuple[str, ...]:
    """Return the types that a docstring gives to a parameter."""
    for pattern in _PARAMETERS:
        if found := re.search(pattern.format(name=re.escape(name)), docstring, re.MULTILINE):
            return named_types(re.sub(r",\s*optional\b.*$", "", found[1]))
    return ()


def named_types(text: str) -> tuple[str, ...]:
    """Return the dotted names of the types that a piece of text names; none where it is a sentence or says too much."""
    text = _ROLE.sub(lambda role: _TITLED.sub(r"\1", role[1]).lstrip("~."), text)
    text = text.replace("`", "").strip().strip("'\"").rstrip(".").strip()
    if found := _OPTIONAL.fullmatch(text):
        text = found[1]
    if found := _UNION.fullmatch(text):
        text = " | ".join(part.strip() for part in found[1].split(","))
    names: list[str] = []
    for part in _OR.split(text):
        found = _TYPE.fullmatch(part.strip().strip("'\""))
        if found is None:
            return ()
        if found[1] != "None" and found[1] not in names:
            names.append(found[1])
    return tuple(names) if len(names) <= _MOST_TYPES else ()


# ---- the text of a function -----------------------------------------------------------------------------------------


def _parsed(lines: Sequence[str], line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    header = _DEF.match(lines[line]) if line < len(lines) else None
    if header is None:
        return None
    end = _end(lines, line, len(header[1].expandtabs()))
    try:
        tree = ast.parse(textwrap.dedent("\n".join(lines[line:end])))
    except (SyntaxError, ValueError, RecursionError):
        return None
    node = tree.body[0] if tree.body else None
    return node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None


def _end(lines: Sequence[str], line: int, indent: int) -> int:
    """Return the line behind a function: the first one that is not further in, the end of its header aside."""
    last = min(line + _LONGEST_FUNCTION, len(lines))
    for number in range(line + 1, last):
        content = lines[number].strip()
        if not content or content.startswith(("#", ")")):
            continue
        if len(lines[number].expandtabs()) - len(lines[number].expandtabs().lstrip()) <= indent:
            return number
    return last


def _decorators(lines: Sequence[str], line: int) -> Iterator[str]:
    while line > 0 and lines[line - 1].lstrip().startswith("@"):
        line -= 1
        yield lines[line].strip()


def _last_name(decorator: str) -> str:
    return decorator.lstrip("@").partition("(")[0].strip().rpartition(".")[2]


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is in a function, without what is in functions and classes within it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield child
            yield from _own(child)


def _returned(lines: Sequence[str], line: int, node: ast.AST) -> Iterator[Spot]:
    indent = len(lines[line]) - len(lines[line].lstrip())
    for statement in _own(node):
        if isinstance(statement, ast.Return) and statement.value is not None:
            for value in _branches(statement.value):
                called = isinstance(value, ast.Call)
                named = value.func if isinstance(value, ast.Call) else value
                if not isinstance(named, ast.Name | ast.Attribute) or named.end_lineno is None:
                    continue
                number = line + named.end_lineno - 1
                name = named.id if isinstance(named, ast.Name) else named.attr
                end = len(lines[number][indent:].encode()[: named.end_col_offset].decode()) + indent
                if name not in ("self", "cls"):
                    yield Spot(number, end - len(name), called)


def _branches(value: ast.expr) -> Iterator[ast.expr]:
    if isinstance(value, ast.IfExp):
        yield from _branches(value.body)
        yield from _branches(value.orelse)
    elif isinstance(value, ast.BoolOp):
        for part in value.values:
            yield from _branches(part)
    elif isinstance(value, ast.Await):
        yield from _branches(value.value)
    else:
        yield value


def binds(lines: Sequence[str], name: str) -> bool:
    """Return whether a text looks as if a name of its module were made in it, by an import or else."""
    made = re.compile(
        rf"(?:from\b.*)?\bimport\b.*\b{name}\b|[ \t]*(?:class|def)[ \t]+{name}\b|[ \t]*{name}[ \t]*[:=]"
        rf"|[ \t]+(?:\w+[ \t]+as[ \t]+)?{name}[ \t]*(?:,|$)|.*\bas[ \t]+{name}\b"
    )
    return any(name in line and made.match(line) is not None for line in lines)


# ---- expressions ----------------------------------------------------------------------------------------------------


def spot_before(line: str, number: int, end: int) -> tuple[int, Spot] | None:
    """Return where the expression that ends at a column of a line begins, and its last name.

    None where it is no name with what is asked of it: `name`, `name.name`, `name(…).name[…](…)`.
    """
    code = blanked(line)
    end = len(code[:end].rstrip())
    name_end, called = end, False
    if code[:end].endswith(")"):
        name_end, called = _opening(code, end), True
    name_start = _name_start(code, name_end)
    if name_start == name_end or code[name_start].isdigit():
        return None
    start = name_start
    while code[:start].endswith("."):
        at = start - 1
        while code[:at].endswith((")", "]")):
            at = _opening(code, at)
        start = _name_start(code, at)
        if start == at or code[start].isdigit():
            return None
    return start, Spot(number, name_start, called)


def assigned_at(lines: Sequence[str], line: int, column: int) -> Spot | None:
    """Return the last name of what is assigned to the name at a place; None where it is no such assignment.

    What is assigned may go on over some lines, within brackets.
    """
    if line >= len(lines) or lines[line][:column].strip():
        return None
    code = blanked("\n".join(lines[line : line + _LONGEST_HEADER]))
    found = re.compile(r"\w+[ \t]*=[ \t]*(?:await[ \t]+)?(?=[^\W\d=])").match(code, column)
    if found is None:
        return None
    at, spot = found.end(), None
    while (name := re.compile(r"[^\W\d]\w*").match(code, at)) is not None:
        at = name.end()
        called = code[at : at + 1] == "("
        while code[at : at + 1] in ("(", "["):
            at = _closing(code, at)
        spot = (name.start(), called)
        if code[at : at + 1] != ".":
            break
        at += 1
    if spot is None or code[at:].partition("\n")[0].strip():
        return None
    before = code[: spot[0]]
    return Spot(line + before.count("\n"), spot[0] - (before.rfind("\n") + 1), spot[1])


def _name_start(code: str, end: int) -> int:
    while end > 0 and (code[end - 1].isalnum() or code[end - 1] == "_"):
        end -= 1
    return end


def _opening(code: str, end: int) -> int:
    """Return where the bracket that is closed just before `end` is opened; 0 where it is not."""
    depth = 0
    for at in range(end - 1, -1, -1):
        depth += (code[at] in ")]}") - (code[at] in "([{")
        if depth == 0:
            return at
    return 0


def _closing(code: str, start: int) -> int:
    """Return what follows the bracket that closes the one at `start`; the end where none does."""
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] in "([{") - (code[at] in ")]}")
        if depth == 0:
            return at + 1
    return len(code)


# ---- classes --------------------------------------------------------------------------------------------------------

_CLASS = re.compile(r"^([ \t]*)class[ \t]+[^\W\d]\w*")


def bases_around(lines: Sequence[str], line: int) -> tuple[str, ...]:
    """Return the bases of the class of the module whose method a line is in, as they are written; none elsewhere."""
    indent = len(lines[line]) - len(lines[line].lstrip())
    found: int | None = None
    for number in range(line - 1, -1, -1):
        text = lines[number]
        own = len(text) - len(text.lstrip())
        if own >= indent or not text.strip() or text.lstrip().startswith((")", "#")):
            continue
        is_class, is_function = _CLASS.match(text), _DEF.match(text)
        if is_class or is_function:
            if found is not None or (is_function and own == 0):
                return ()  # a class in a class or function
            indent = own
            found = number if is_class else None
        if own == 0:
            break
    return () if found is None else _bases(lines, found)


def _bases(lines: Sequence[str], line: int) -> tuple[str, ...]:
    code = blanked("\n".join(lines[line : line + _LONGEST_HEADER]))
    opened = re.compile(r"[ \t]*class[ \t]+\w+[ \t]*\(").match(code)
    if opened is None:
        return ()
    text = "\n".join(lines[line : line + _LONGEST_HEADER])
    try:
        node = ast.parse(f"{text[: _closing(code, opened.end() - 1)].strip()}: pass").body[0]
    except (SyntaxError, ValueError, RecursionError):
        return ()
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    return tuple(ast.unparse(base) for base in bases if not isinstance(base, ast.Starred))
