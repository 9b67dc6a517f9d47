"""The room that keeps ty running: which program, which environment, when it starts and when it starts anew.

There are two. The first answers what a person waits for with each key and is never given anything long to do. The
second looks for references all over the workspace; it starts when it is first asked, at a lower priority, and ends when
it was not asked for a while. With one for both, each key would break off the search, and the search slow each key.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from headway.engines import ty
from headway.engines.environment import (
    Environment,
    InterpreterError,
    fallback_environment,
    has_packages,
    names_own_environment,
    own_program,
    workspace_environment,
)
from headway.engines.keeping import ServerKeeper
from headway.engines.markup import ALL_MARKDOWN, Markup
from headway.engines.mirror import Encoding
from headway.engines.server import ServerLaunch
from headway.scheduler.executors.children import PriorityClass, clean_environment
from headway.session.launchers import Launchers
from headway.session.lone_files import folders_of_lone_files, working_directory
from headway.session.ports import FileChange, Room, SessionContext
from headway.settings import Settings
from headway.wording import say
from headway.workspace.documents import Document
from headway.workspace.uris import identity

_CREATED, _CHANGED, _DELETED = 1, 2, 3
_PYTHON_FILES = (".py", ".pyi", ".toml", ".cfg")
_SEARCHER_RESTS_AFTER_S = 600.0
_BOTH = "ty's program"  # what is off where neither can be started


class PythonEngine(Room):
    """Owns the sidecar's `TyEngine`s.

    Args:
        encoding: How the client counts columns; ty is asked to do the same, so that its answers can be passed on.
        markup: Where the client shows Markdown, for the same reason.
        look_again_s: How long until an environment that is meant but not there is looked for again.
    """

    def __init__(
        self,
        context: SessionContext,
        encoding: Encoding = "utf-16",
        markup: Markup = ALL_MARKDOWN,
        *,
        look_again_s: float = 5.0,
    ) -> None:
        self._context = context
        self._look_again_s = look_again_s
        self.encoding = encoding
        self._markup = markup
        self._seen: set[str] = set()
        self.ty = ty.TyEngine(lambda: context.documents.snapshot(), lambda: self._keeper.tell())
        self.searcher = ty.TyEngine(
            lambda: context.documents.snapshot(),
            lambda: self._searchers_keeper.tell(),
            name="ty (references)",
            without=say("Meanwhile references cannot be found."),
            completes=False,
        )
        self.ty.notebooks = self.searcher.notebooks = lambda: context.documents.notebooks()
        # One core stays free for what else the first one's answers need; the second gives way to everything by itself.
        cores = os.cpu_count() or 2
        self._keeper = ServerKeeper(
            self.ty, lambda: self._wanted(self.ty, PriorityClass.INTERACTIVE, max(1, cores - 1)), self._degraded
        )
        self._searchers_keeper = ServerKeeper(
            self.searcher, lambda: self._wanted(self.searcher, PriorityClass.POLITE, cores), self._degraded
        )
        self._resting: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._launchers = Launchers(context, self._adapt)
        self._closed = False
        self._both_missing = False
        self._lone: tuple[Path, ...] = ()  # Folders of files that were opened without one.

    async def start(self) -> None:
        self._keeper.begin()

    async def close(self) -> None:
        for timer in (self._resting, self._looking):
            if timer is not None:
                timer.cancel()
        self._closed = True
        self._launchers.close()
        await asyncio.gather(self._keeper.close(), self._searchers_keeper.close())

    def need_searcher(self) -> None:
        """The second ty is about to be asked."""
        self._searchers_keeper.begin()
        if self._resting is not None:
            self._resting.cancel()
        loop = asyncio.get_running_loop()
        self._resting = loop.call_later(_SEARCHER_RESTS_AFTER_S, self._searchers_keeper.rest)

    def document_opened(self, document: Document) -> None:
        self._seen.add(identity(document.uri))
        if document.language == "python":
            if lone := set(folders_of_lone_files(self._context)) - set(self._lone):
                self._lone = (*self._lone, *sorted(lone))
                self._adapt()
            self._keeper.begin()

    def settings_changed(self, previous: Settings) -> None:
        self._adapt()

    def trust_granted(self) -> None:
        self._adapt()

    def folders_changed(self) -> None:
        self._lone = folders_of_lone_files(self._context)
        self._adapt()

    def files_changed(self, changes: Sequence[FileChange]) -> None:
        told: list[tuple[str, int]] = []
        for change in changes:
            if not change.uri.endswith(_PYTHON_FILES):
                continue
            key = identity(change.uri)
            if not self.ty.takes(key):
                continue
            if change.deleted:
                self._seen.discard(key)
                told.append((change.uri, _DELETED))
            else:
                # Whether it is new is not said; ty takes a creation that was none for a change.
                told.append((change.uri, _CHANGED if key in self._seen else _CREATED))
                self._seen.add(key)
            if change.uri.endswith("/pyvenv.cfg"):
                self._adapt()  # An environment was made or removed.
        self.ty.files_changed(told)
        self.searcher.files_changed(told)

    def _adapt(self) -> None:
        self._keeper.adapt()
        self._searchers_keeper.adapt()

    def _wanted(self, server: ty.TyEngine, priority_class: PriorityClass, parallelism: int) -> ServerLaunch | None:
        settings = self._context.settings
        folders = self._context.folders
        roots = [folder.path for folder in folders if folder.path is not None]
        chosen = self._chosen(roots)
        if chosen is None:
            return None
        name, program = chosen
        self._call(server, name)
        uris = tuple(folder.uri for folder in folders if folder.path is not None)
        cwd, env = working_directory(self._context), clean_environment()
        if name != "ty":
            from headway.engines import python_servers

            return python_servers.launch(
                name,
                program,
                roots=uris,
                cwd=cwd,
                env=env,
                environment=self._environment(roots or self._lone),
                encoding=self.encoding,
                markup=self._markup,
                priority_class=priority_class,
            )
        prefix: str | None = None
        if settings.python.interpreter or not any(names_own_environment(root) for root in roots):
            prefix = os.fspath(self._environment(roots or self._lone).prefix)
        else:
            self._context.degraded("interpreter", None)
        return ty.launch(
            os.fspath(program),
            roots=uris,
            cwd=cwd,
            env=env,
            python=prefix,
            modules_in=self._lone,
            encoding=self.encoding,
            markup=self._markup,
            parallelism=parallelism,
            diagnoses=server is self.searcher,
            priority_class=priority_class,
        )

    def _chosen(self, roots: Sequence[Path]) -> tuple[str, Path] | None:
        """Return the first engine of the setting that can be used, and its program; None where only the index is left.

        What was named before it and cannot be used is said.
        """
        settings = self._context.settings
        missing: list[str] = []
        found: tuple[str, Path] | None = None
        for name in settings.python.engines:
            program: Path | str | None = None
            if name == "ty":
                program = settings.ty.path or own_program("ty")
            elif name != "index":
                from headway.engines import python_servers  # nobody else needs it at the start

                if self._context.trusted:
                    environment = self._environment(roots or self._lone)
                    program = python_servers.installed(name, environment)
            if program is not None:
                found = (name, Path(program))
                break
            if name != "index":
                missing.append(name)
        self._say(missing, found)
        if found is None:
            self._context.degraded("interpreter", None)
        return found

    def _say(self, missing: Sequence[str], found: tuple[str, Path] | None) -> None:
        if missing and found is None and "ty" in missing:
            self._context.degraded(
                "engines", say("ty is not installed beside Headway: completions know the open text only.")
            )
        elif missing and not self._context.trusted:
            self._context.degraded(
                "engines",
                say("{engine} runs in trusted workspaces only (setting headway.python.engines).", engine=missing[0]),
            )
        elif missing:
            self._context.degraded(
                "engines",
                say(
                    "{engine} is not installed, neither in the workspace's environment nor in the search path: install "
                    "it, or take it out of the setting headway.python.engines.",
                    engine=missing[0],
                ),
            )
        else:
            self._context.degraded("engines", None)

    def _degraded(self, source: str, message: str | None) -> None:
        """Say what is off with one of the two; that the program of both is not there is said once."""
        self._context.degraded(source, message)
        first, second = self.ty, self.searcher
        if first.missing is None or first.missing != second.missing:
            if self._both_missing:
                self._both_missing = False
                self._context.degraded(_BOTH, None)
                for server in (first, second):
                    self._context.degraded(server.name, server.message)
            return
        self._both_missing = True
        self._context.degraded(first.name, None)
        self._context.degraded(second.name, None)
        self._context.degraded(
            _BOTH,
            say(
                "{problem}. Meanwhile completions come from the index and the open text, and references cannot be "
                "found.",
                problem=first.missing,
            ),
        )

    def _call(self, server: ty.TyEngine, name: str) -> None:
        """Have messages name the engine that really runs."""
        called = name if server is self.ty else f"{name} (references)"
        if server.name != called:
            self._context.degraded(server.name, None)
            server.name = called

    def _environment(self, roots: Sequence[Path]) -> Environment:
        """Return the environment whose packages are known; where another one was meant, that is said and looked for."""
        fault: str | None = None
        chosen = self._context.settings.python.interpreter
        try:
            found = workspace_environment(roots, interpreter=chosen)
            if found is not None and not has_packages(found):
                if not chosen or found.python is None:
                    self._look_again()  # It is being made.
                    found = None
                elif self._launchers.unknown(found.python):
                    self._launchers.ask(found.python, next((root for root in roots if root.is_dir()), Path(os.sep)))
                    return fallback_environment()
                else:
                    found = self._launchers.started_by(found.python)
        except InterpreterError as error:
            self._look_again()
            found = workspace_environment(roots)
            if found is not None and not has_packages(found):
                found = None
            fault = say(
                "{problem}. Choose another one (setting headway.python.interpreter, or the Python extension's choice), "
                "or mend it. Meanwhile completion knows the packages of {prefix}.",
                problem=error.sentence,
                prefix=(found or fallback_environment()).prefix,
            )
        self._context.degraded("interpreter", fault)
        return found or fallback_environment()

    def _look_again(self) -> None:
        if self._looking is None and not self._closed:
            self._looking = asyncio.get_running_loop().call_later(self._look_again_s, self._looked_again)

    def _looked_again(self) -> None:
        self._looking = None
        self._adapt()
