"""What a project's sources say of names, by syntax alone: modules, classes, members. Nothing of them is executed."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LINES_AT_MOST = 2500
HOPS = 5  # through re-exports


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One file as read. `imports`: local name -> (module, name in it), or (module, None) for the module itself."""

    name: str
    file: str  # relative to the project, with /
    plain: bool  # columns are characters are bytes, and lines end as they do everywhere: fit to be typed in
    lines: tuple[str, ...]
    tree: ast.Module
    classes: Mapping[str, ast.ClassDef]
    functions: frozenset[str]
    assigned: frozenset[str]
    imports: Mapping[str, tuple[str, str | None]]

    def defines(self, name: str) -> bool:
        """Whether the name is there when the module has been loaded, as far as its top level says."""
        return name in self.classes or name in self.functions or name in self.assigned or name in self.imports


def read_module(name: str, path: Path, file: str) -> Module | None:
    """Read one file; None for what cannot be read or is no Python."""
    try:
        text = path.read_bytes().decode("utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError):
        return None
    lines = tuple(text.split("\n"))
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    imports: dict[str, tuple[str, str | None]] = {}
    assigned: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    imports[alias.asname] = (alias.name, None)
                elif "." not in alias.name:
                    imports[alias.name] = (alias.name, None)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(node, package)
            imports.update({alias.asname or alias.name: (origin, alias.name) for alias in node.names})
        elif isinstance(node, ast.Assign):
            assigned.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            assigned.add(node.target.id)
    return Module(
        name=name,
        file=file,
        plain=text.isascii() and not set(text) & set("\r\t\f") and len(lines) <= LINES_AT_MOST,
        lines=lines,
        tree=tree,
        classes={node.name: node for node in tree.body if isinstance(node, ast.ClassDef)},
        functions=frozenset(n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)),
        assigned=frozenset(assigned),
        imports=imports,
    )


def _origin(node: ast.ImportFrom, package: str) -> str:
    """The full name of the module that `from … import` names, in a module of `package`."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


class Sources:
    """The modules of a project, and of the standard library where asked for; each is read once, when asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: dict[str, Path] = {}
        self._read: dict[str, Module | None] = {}
        self._inherited: dict[ast.ClassDef, frozenset[str]] = {}
        for path in sorted(root.rglob("*.py")):
            parts = list(path.relative_to(root).with_suffix("").parts)
            if parts[0] == "src":  # A layout in which the packages lie one deeper.
                parts = parts[1:]
            name = ".".join(parts[:-1] if parts[-1:] == ["__init__"] else parts)
            if name:
                self._files[name] = path

    def names(self) -> list[str]:
        """The project's modules, in order."""
        return list(self._files)

    def own(self, name: str) -> bool:
        """Whether a module is one of the project's."""
        return name in self._files

    def module(self, name: str) -> Module | None:
        """A module of the project, else of the standard library; None where it is neither, or cannot be read."""
        if name not in self._read:
            path = self._files.get(name)
            self._read[name] = (
                read_module(name, path, path.relative_to(self._root).as_posix()) if path else self._standard(name)
            )
        return self._read[name]

    @staticmethod
    def _standard(name: str) -> Module | None:
        folder = Path(sysconfig.get_path("stdlib"), *name.split("."))
        for path in (folder.with_suffix(".py"), folder / "__init__.py"):
            if path.is_file():
                return read_module(name, path, "")
        return None

    def as_module(self, module: Module, name: str) -> Module | None:
        """The module that `name` stands for inside `module`, if it stands for one."""
        origin, inner = module.imports.get(name, (None, None))
        if origin is None:
            return None
        if inner is None:
            return self.module(origin)
        parent = self.module(origin)
        own_import = parent is not None and parent.imports.get(inner) == (origin, inner)
        if parent is not None and parent.defines(inner) and not own_import:
            return None
        return self.module(f"{origin}.{inner}")

    def as_class(self, module: Module, name: str, hops: int = HOPS) -> tuple[Module, ast.ClassDef] | None:
        """The class of the project that `name` stands for inside `module`, through imports."""
        if name in module.classes:
            return module, module.classes[name]
        origin, inner = module.imports.get(name, (None, None))
        if origin is None or inner is None or not hops or not self.own(origin):
            return None
        source = self.module(origin)
        return self.as_class(source, inner, hops - 1) if source is not None else None

    def inherited(self, module: Module, node: ast.ClassDef) -> frozenset[str]:
        """Members that a class has from its bases, as far as these are of the project."""
        if node not in self._inherited:
            self._inherited[node] = frozenset()  # A class that is its own base, by mistake, ends here.
            found: set[str] = set()
            for base in node.bases:
                known = self.as_class(module, base.id) if isinstance(base, ast.Name) else None
                if known is not None:
                    found |= members(known[1]) | self.inherited(*known)
            self._inherited[node] = frozenset(found)
        return self._inherited[node]


def members(node: ast.ClassDef) -> set[str]:
    """Methods and class attributes that the body of a class states."""
    found: set[str] = set()
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(child.name)
        elif isinstance(child, ast.Assign):
            found.update(target.id for target in child.targets if isinstance(target, ast.Name))
        elif isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            found.add(child.target.id)
    return found
