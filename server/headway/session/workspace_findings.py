"""Findings of files that are not open: shown while a workspace is analysed, and gone as soon as they may be wrong.

What is open has findings of its own, of its present text. A file that was changed, deleted or moved since, one that a
changed configuration may leave out, and one of a folder that was removed loses what was shown of it.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from headway.engines import ruff
from headway.features.analysis import Finding, listed_findings
from headway.scheduler.executors.children import clean_environment
from headway.scheduler.model import JobOutcome, Requirement, Task, TaskKind, TaskState
from headway.session.ports import FileChange, Folder, SessionContext
from headway.workspace.files import decode
from headway.workspace.listing import glob_rules
from headway.workspace.text import Text
from headway.workspace.uris import identity, path_to_uri, quoted_path

_FILES_A_TASK: Final = 200
_COST: Final = Requirement(cpu_cores=1, memory_mb=200)
# More would be read by nobody, and would take the editor's time; an analysis goes on to count.
MOST_SHOWN: Final = 20_000
_LOOKED_AT: Final = (".py", ".pyi", ".pyw", ".ipynb")
# Files that decide which others are looked at, and for what.
DECIDING: Final = frozenset({"pyproject.toml", "ruff.toml", ".ruff.toml", ".gitignore", ".ignore"})


# Gets what was found in files: the URI of each, its findings, and the text in which columns are counted.
Told = Callable[[Sequence[tuple[str, Sequence[Finding], Text | None]]], None]


class WorkspaceFindings:
    """What is shown of files that are not open.

    Args:
        most_shown: How many findings are shown at most.
    """

    def __init__(self, context: SessionContext, *, most_shown: int = MOST_SHOWN) -> None:
        self._context = context
        self._most_shown = most_shown
        self._shown: dict[str, tuple[str, int]] = {}  # by file: its URI, and how many findings are shown
        self._total = 0
        self.changes = 0  # how often something changed that may make other findings
        self.is_pulled = False  # the client asks for these findings itself: none are shown
        self._news = asyncio.Event()
        self._touched: list[set[str]] = []  # for each batch that is being looked at: files that changed meanwhile

    async def changed_again(self) -> None:
        """Wait for the next change that may make other findings."""
        await self._news.wait()

    async def analysis(
        self, program: str | None, globs: Sequence[str], checked: list[int], told: Told | None = None
    ) -> AsyncIterator[Task]:
        """Give the tasks that look through all files of the workspace, or those that `globs` name.

        Args:
            program: ruff.
            checked: Gets the number of files of each batch that was looked at.
            told: Gets what is found, in place of the client.
        """
        number = itertools.count(1)
        for folder in self._context.folders:
            if folder.path is None or program is None:
                continue
            env = clean_environment()
            files = _chosen(await ruff.list_files(program, folder.path, env), folder.path, globs)
            for start in range(0, len(files), _FILES_A_TASK):
                batch = files[start : start + _FILES_A_TASK]
                yield Task(
                    name=f"analyze {folder.name} {next(number)}",
                    call=self._counted,
                    args=(program, folder, batch, env, checked, told),
                    kind=TaskKind.COROUTINE,
                    requirement=_COST,
                    weight=len(batch),
                )

    async def _counted(
        self,
        program: str,
        folder: Folder,
        batch: Sequence[str],
        env: Mapping[str, str],
        checked: list[int],
        told: Told | None,
    ) -> int:
        found = await self.analyze(program, folder, batch, env, told)
        checked.append(len(batch))
        return found

    async def analyze(
        self,
        program: str,
        folder: Folder,
        files: Sequence[str],
        env: Mapping[str, str],
        told: Told | None = None,
    ) -> int:
        """Look for findings in files of a folder, at most some hundred, show them, and return how many there are.

        Args:
            told: Gets them, in place of the client.

        Raises:
            RuffFailedError, ProgramMissingError: See `ruff.check_files`.
        """
        touched: set[str] = set()
        self._touched.append(touched)
        try:
            found = await ruff.check_files(program, folder.path or Path(), files, env)
            by_file: dict[str, list[ruff.ListedFinding]] = {file: [] for file in files}
            for one in found:
                by_file.setdefault(one.filename, []).append(one)
            with_some = [file for file, items in by_file.items() if items]
            texts = await asyncio.get_running_loop().run_in_executor(None, _texts, with_some)
            made = [(_uri(file, folder), listed_findings(items), texts.get(file)) for file, items in by_file.items()]
            true = [one for one in made if identity(one[0]) not in touched]
            if told is not None:
                told([one for one in true if one[2] is not None or not one[1]])
            else:
                for uri, shown, text in true:
                    self._show(uri, shown, text)
        finally:
            self._touched.remove(touched)
        return len(found)

    def opened(self, uri: str) -> None:
        """A document is open: what is found in it is shown elsewhere from now on."""
        self._touch((identity(uri),))

    def closed(self, uri: str) -> None:
        """A document is closed: what is found in its file counts again."""
        self._touch((identity(uri),))

    def changed(self, changes: Iterable[FileChange]) -> None:
        """Files changed on disk; a folder that was deleted takes with it what lay in it."""
        keys: list[str] = []
        for change in changes:
            name = change.uri.rpartition("/")[2]
            if name in DECIDING:
                self.clear()
            elif not (name.endswith(_LOOKED_AT) or (change.deleted and "." not in name)):
                continue  # no source, and no folder that may have held some
            keys.append(identity(change.uri))
            if change.deleted:
                below = f"{identity(change.uri).rstrip('/')}/"
                keys += [key for key in self._shown if key.startswith(below)]
        self._touch(keys)

    def folders_changed(self) -> None:
        """Only what lies in the folders of the workspace is shown."""
        roots = tuple(f"{identity(folder.uri).rstrip('/')}/" for folder in self._context.folders)
        self._touch([key for key in self._shown if not key.startswith(roots)])

    def clear(self) -> None:
        """Show nothing of files that are not open, until they are looked at again."""
        self._touch(list(self._shown))

    def _touch(self, keys: Iterable[str]) -> None:
        self.changes += 1
        self._news.set()
        self._news.clear()  # whoever waits has been woken
        for key in keys:
            for touched in self._touched:
                touched.add(key)
            self._take_back(key)

    def _take_back(self, key: str) -> None:
        uri, count = self._shown.pop(key, (None, 0))
        self._total -= count
        if uri is not None:
            self._context.client.publish(uri, None, ())

    def _show(self, uri: str, found: Sequence[Finding], text: Text | None) -> None:
        if self.is_pulled:
            return
        key = identity(uri)
        if self._context.documents.get(uri) is not None or not self._context.settings.diagnostics.enabled:
            return
        if not found or text is None or self._total + len(found) > self._most_shown:
            self._take_back(key)
            return
        self._total += len(found) - self._shown.get(key, ("", 0))[1]
        self._shown[key] = (uri, len(found))
        self._context.client.publish(uri, None, found, text)


def _uri(file: str, folder: Folder) -> str:
    """Return the URI of a file as the client would spell it, which has spelled the folder."""
    root = f"{os.fspath(folder.path)}{os.sep}" if folder.path is not None else ""
    if root and file.startswith(root):
        return f"{folder.uri.rstrip('/')}/{quoted_path(file[len(root) :].replace(os.sep, '/'))}"
    return path_to_uri(file)


def _texts(files: Sequence[str]) -> dict[str, Text]:
    """Read files, in a thread: where columns are counted in another way than ours, their text is needed."""
    found: dict[str, Text] = {}
    for file in files:
        try:
            found[file] = Text(decode(Path(file).read_bytes())[0])
        except OSError:
            continue  # It has gone meanwhile: then nothing of it is shown.
    return found


def analysis_result(outcome: JobOutcome, checked: Sequence[int]) -> Mapping[str, Any]:
    """Return the result of an analysis job, as the protocol has it."""
    found = [task.value for task in outcome.results.values() if task.state is TaskState.COMPLETED]
    return {"files": sum(checked), "diagnostics": sum(value for value in found if isinstance(value, int))}


def _chosen(files: Sequence[str], root: Path, globs: Sequence[str]) -> list[str]:
    if not globs:
        return list(files)
    wanted = glob_rules(globs)
    return [] if wanted is None else [file for file in files if wanted.match_file(os.path.relpath(file, root))]
