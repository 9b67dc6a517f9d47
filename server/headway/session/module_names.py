"""What folders and files tell of modules while ty still reads: read in a thread, once for each word that is typed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from headway.engines.environment import InterpreterError, package_folders, workspace_environment
from headway.session.ports import SessionContext
from headway.session.typed_word import TypedWord
from headway.workspace.module_texts import module_members
from headway.workspace.python_modules import modules
from headway.workspace.python_scope import NameKind
from headway.workspace.python_text import PlaceKind
from headway.workspace.uris import uri_to_path


class ModuleNames:
    """Looks for the modules of the workspace and of its environment."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context

    def list_modules(self, word: TypedWord) -> None:
        """Have listed which modules can be named: ty needs 0.1 s to tell, by the soft deadline it is there."""
        if word.place.kind is PlaceKind.MODULE and word.modules is None:
            roots, own_path = [os.fspath(root) for root in self._roots()], uri_to_path(word.document.uri)
            loop = asyncio.get_running_loop()
            word.modules = loop.run_in_executor(None, modules, roots, own_path, word.place.module)

    def read_module(self, word: TypedWord) -> None:
        """Have the module read whose names may stand at the word, where it is one and ty does not tell in time.

        The first name of a large library takes ty seconds.
        """
        if word.module is not None and word.told is None:
            interpreter = self._context.settings.python.interpreter
            loop = asyncio.get_running_loop()
            word.told = loop.run_in_executor(None, _names, self._roots(), interpreter, word.module)

    def _roots(self) -> list[Path]:
        return [folder.path for folder in self._context.folders if folder.path is not None]


def search_folders(roots: Sequence[Path], interpreter: str | None) -> list[Path]:
    """Return the folders that modules of the workspace and of its environment are looked for in; it reads the disk."""
    try:
        environment = workspace_environment(roots, interpreter=interpreter)
    except InterpreterError:
        environment = None  # Who keeps ty running says so.
    folders = [folder for root in roots for folder in (root, root / "src")]
    return folders if environment is None else folders + package_folders(environment.prefix)


def _names(roots: Sequence[Path], interpreter: str | None, module: str) -> Sequence[tuple[str, NameKind]] | None:
    folders = search_folders(roots, interpreter)
    own = os.path.dirname(os.__file__)  # The standard library is much the same in every Python.
    return module_members([*map(os.fspath, folders), own], module)
