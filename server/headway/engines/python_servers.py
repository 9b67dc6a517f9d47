"""Other engines for Python than ty that a person may have installed and chosen: zuban, pyrefly, jedi's language server.

They are no part of Headway. They run in trusted workspaces only, since some start the workspace's interpreter or read
its configuration as programs; they are spoken to as ty is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from headway.engines import ty
from headway.engines.environment import Environment, absolute_search_path
from headway.engines.markup import Markup
from headway.engines.mirror import Encoding
from headway.engines.server import ServerLaunch
from headway.scheduler.executors.children import PriorityClass

# The program of each, and the arguments that make it a language server on its standard input and output.
_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "zuban": ("zuban", "server"),
    "pyrefly": ("pyrefly", "lsp"),
    "jedi": ("jedi-language-server",),
}
CHOOSABLE: Final = frozenset(_COMMANDS)


def installed(name: str, environment: Environment | None) -> Path | None:
    """Return the program of an engine of `CHOOSABLE`, of the environment or the search path, if any."""
    program = _COMMANDS[name][0]
    if environment is not None and environment.python is not None:
        found = shutil.which(program, path=os.fspath(environment.python.parent))
        if found is not None:
            return Path(found)
    found = shutil.which(program, path=absolute_search_path())
    return None if found is None else Path(found)


def launch(
    name: str,
    program: Path,
    *,
    roots: tuple[str, ...],
    cwd: Path,
    env: Mapping[str, str],
    environment: Environment,
    encoding: Encoding,
    markup: Markup,
    priority_class: PriorityClass,
) -> ServerLaunch:
    """Describe how such a server is started, for the packages of an environment."""
    python = os.fspath(environment.python) if environment.python is not None else None
    variables = {**env, "VIRTUAL_ENV": os.fspath(environment.prefix)}
    options: dict[str, Any] = {}
    if name == "pyrefly":
        options = {"pyrefly": {"displayTypeErrors": "force-off"}} | ({"pythonPath": python} if python else {})
    elif name == "jedi":
        options = {"diagnostics": {"enable": False}} | ({"workspace": {"environmentPath": python}} if python else {})
    return ServerLaunch(
        argv=(os.fspath(program), *_COMMANDS[name][1:]),
        roots=roots,
        cwd=cwd,
        env=variables,
        encoding=encoding,
        options=options,
        capabilities={"textDocument": ty.text_document(markup)},
        priority_class=priority_class,
    )
