"""ruff: what is wrong in a file. One `ruff server` for the open documents, `ruff check` for a whole workspace.

One server and no process for each run, because that was measured: 1 ms for a small file and 60 ms for 2,900 lines,
against 30 ms and more for the start of a process alone; and however fast a person types, there is one process. ruff
reads the workspace's configuration as data and executes nothing of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from headway.engines.client import Reply
from headway.engines.errors import EngineError
from headway.engines.mirror import LONGEST_TEXT, Encoding
from headway.engines.server import LanguageServer, ServerLaunch
from headway.scheduler.executors.children import PriorityClass, run
from headway.wording import say
from headway.workspace.documents import Document
from headway.workspace.uris import identity, names_something

_LIST_LIMIT_S = 60.0
_CHECK_LIMIT_S = 300.0
_FOUND_SOMETHING = 1  # ruff's exit code where there are findings


class RuffFailedError(EngineError):
    """ruff could not do its work; `reason` holds its words. Correct its configuration or its path."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"ruff failed: {self.reason}"


class WirePlace(msgspec.Struct, frozen=True):
    """A position as ruff gives it, in the encoding that was agreed on."""

    line: int
    character: int


class WireSpan(msgspec.Struct, frozen=True):
    start: WirePlace
    end: WirePlace


class WireLink(msgspec.Struct, frozen=True):
    href: str = ""


class RuffDiagnostic(msgspec.Struct, frozen=True):
    """One finding as ruff gives it."""

    range: WireSpan
    message: str
    severity: int = 2
    code: str | int | None = None
    codeDescription: WireLink | None = None  # noqa: N815 - LSP's name
    tags: list[int] = []


class RuffReport(msgspec.Struct, frozen=True):
    """All findings of a document."""

    items: list[RuffDiagnostic] = []


class ListedPlace(msgspec.Struct, frozen=True):
    """A place as `ruff check` lists it: lines and columns from 1, columns in code points."""

    row: int
    column: int


class ListedFinding(msgspec.Struct, frozen=True):
    """One finding of `ruff check --output-format json`."""

    filename: str
    message: str
    location: ListedPlace
    end_location: ListedPlace
    code: str | None = None
    url: str | None = None


_REPORTS = msgspec.json.Decoder(RuffReport | None)
_LISTS = msgspec.json.Decoder(list[ListedFinding])


class RuffEngine(LanguageServer):
    """The one ruff server of the sidecar; see `LanguageServer` for its arguments."""

    def __init__(
        self, documents: Callable[[], Mapping[str, Document]], state_changed: Callable[[], None] | None = None
    ) -> None:
        super().__init__("ruff", documents, state_changed, without=say("Meanwhile there are no new diagnostics."))

    def takes(self, key: str) -> bool:
        return names_something(key)  # The bytes of a path may be what they like.

    def diagnose(self, document: Document) -> Reply | None:
        """Ask for a `RuffReport` of an open document; None where it is too long to be looked at.

        Raises:
            EngineUnavailableError: it does not run or is not ready yet.
        """
        if len(document.content) > LONGEST_TEXT:
            return None
        params = {"textDocument": {"uri": document.uri}}
        return self.ask("textDocument/diagnostic", params, about=identity(document.uri), decoder=_REPORTS)


def launch(
    program: str, *, roots: tuple[str, ...], cwd: Path, env: Mapping[str, str], encoding: Encoding = "utf-16"
) -> ServerLaunch:
    """Describe how the server is started."""
    return ServerLaunch(
        argv=(program, "server"),
        roots=roots,
        cwd=cwd,
        env=env,
        encoding=encoding,
        options={"settings": {"logLevel": "error"}},
        priority_class=PriorityClass.POLITE,  # findings may come a moment later than the next key's list
        capabilities={
            "workspace": {"workspaceEdit": {"documentChanges": True}},
            "textDocument": {
                # Actions on a whole text are worked out when they are chosen.
                "codeAction": {
                    "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "source"]}},
                    "dataSupport": True,
                    "resolveSupport": {"properties": ["edit"]},
                },
                "diagnostic": {"relatedDocumentSupport": False},
                "publishDiagnostics": {"codeDescriptionSupport": True, "tagSupport": {"valueSet": [1, 2]}},
            },
        },
    )


async def list_files(program: str, root: Path, env: Mapping[str, str]) -> list[str]:
    """Return the absolute paths of the Python files below a folder that ruff would check.

    Raises:
        RuffFailedError: its configuration is wrong, or it took too long.
        ProgramMissingError: it is not there.
    """
    done = await run(
        [program, "check", "--show-files", "--no-cache", "--", os.fspath(root)],
        cwd=root,
        env=env,
        priority_class=PriorityClass.BACKGROUND,
        timeout_s=_LIST_LIMIT_S,
    )
    if done.returncode != 0:
        raise RuffFailedError(_words(done.stderr, timed_out=done.timed_out))
    return [line for line in done.stdout.decode("utf-8", "surrogateescape").splitlines() if line]


async def check_files(
    program: str, root: Path, files: Sequence[str], env: Mapping[str, str]
) -> Sequence[ListedFinding]:
    """Return ruff's findings in files of a folder; at most some hundred files at once.

    Raises:
        RuffFailedError: its configuration is wrong, or it took too long.
        ProgramMissingError: it is not there.
    """
    done = await run(
        [program, "check", "--quiet", "--no-cache", "--output-format", "json", "--", *files],
        cwd=root,
        env=env,
        priority_class=PriorityClass.BACKGROUND,
        timeout_s=_CHECK_LIMIT_S,
    )
    if done.returncode not in (0, _FOUND_SOMETHING) or done.truncated:
        raise RuffFailedError(_words(done.stderr, timed_out=done.timed_out))
    try:
        return _LISTS.decode(done.stdout)
    except msgspec.DecodeError as error:
        raise RuffFailedError(f"its report cannot be read ({error})") from error


def _words(stderr: bytes, *, timed_out: bool) -> str:
    if timed_out:
        return "it took too long and was ended"
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    return " ".join(lines[-3:])[:500] or "it said nothing"
