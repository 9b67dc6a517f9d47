"""ty: the engine that knows types. It reads the workspace and its environment as data.

`untrustedWorkspace` is set so that it runs no other program of the workspace either. Its own search for importable
names is off: it looks through every module for each key.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from headway.engines.client import LspClient, Reply
from headway.engines.errors import EngineUnavailableError
from headway.engines.markup import ALL_MARKDOWN, Markup
from headway.engines.mirror import LONGEST_TEXT, Encoding, own_position, wire_position
from headway.engines.server import LanguageServer, ServerLaunch
from headway.scheduler.executors.children import PriorityClass
from headway.wording import say
from headway.workspace.documents import Document
from headway.workspace.text import Position, Text


class TyItem(msgspec.Struct, frozen=True):
    """One completion as ty gives it; what we do not use is skipped while decoding."""

    label: str
    kind: int = 1
    detail: str | None = None
    documentation: msgspec.Raw = msgspec.Raw()
    insertText: str | None = None  # noqa: N815 - LSP's name
    tags: list[int] | None = None


class TyList(msgspec.Struct, frozen=True):
    """A completion list of ty, best first."""

    items: list[TyItem] = []


COMPLETIONS = msgspec.json.Decoder(TyList | list[TyItem] | None)
_ANY = msgspec.json.Decoder(msgspec.Raw)
# A text that is no file, and what is asked for at the end of it: a name that may be a builtin, and a module.
_NOWHERE: Mapping[str, Any] = {"uri": "untitled:headway", "languageId": "python", "version": 1}
_WARMING = ("x", "from ")
_WARM_AGAIN_S = 0.2


class _Markup(msgspec.Struct):
    value: str = ""


_DOCUMENTATION = msgspec.json.Decoder(str | _Markup)


def documentation(item: TyItem) -> str | None:
    """Return an item's documentation as Markdown."""
    return documentation_of(item.documentation)


def documentation_of(raw: msgspec.Raw) -> str | None:
    """Return the `documentation` of a completion as Markdown, None where there is none."""
    if not bytes(raw):
        return None
    try:
        found = _DOCUMENTATION.decode(raw)
    except msgspec.DecodeError:
        return None
    return found.value if isinstance(found, _Markup) else found


def listed(answer: object) -> Sequence[TyItem]:
    """Return the items of an answer of `COMPLETIONS`, best first; zuban gives a list without more about it."""
    items = answer.items if isinstance(answer, TyList) else answer
    return items if isinstance(items, list) else ()


class TyEngine(LanguageServer):
    """A ty of the sidecar; see `LanguageServer` for its other arguments.

    Args:
        completes: It is asked for completions, and shall know beforehand what the first of them needs.
    """

    def __init__(
        self,
        documents: Callable[[], Mapping[str, Document]],
        state_changed: Callable[[], None] | None = None,
        *,
        name: str = "ty",
        without: str = say("Meanwhile completions come from the index and the open text."),
        completes: bool = True,
    ) -> None:
        super().__init__(name, documents, state_changed, without=without)
        self._completes = completes
        self._warming: Reply | None = None
        self.is_warm = False  # knows what each first completion needs

    def warm_up(self, client: LspClient) -> None:
        """Have it read the builtins and look which modules there are, about 0.1 s each, in texts that nobody sees.

        A person's question breaks this off; it goes on when there is a pause.
        """
        self.is_warm = False
        if self._completes:
            self._warm(client, list(_WARMING))

    def _warm(self, client: LspClient, texts: list[str]) -> None:
        if client is not self._client:
            return
        if client.pending:
            asyncio.get_running_loop().call_later(_WARM_AGAIN_S, self._warm, client, texts)
            return
        text = texts[0]
        client.notify("textDocument/didOpen", {"textDocument": {**_NOWHERE, "text": text}})
        params = {"textDocument": _NOWHERE, "position": {"line": 0, "character": len(text)}}
        reply = self._warming = client.request("textDocument/completion", params, decoder=_ANY)

        def answered(_: object) -> None:
            if reply.cancelled():
                self._warm(client, texts)
                return
            self._warming = None
            client.notify("textDocument/didClose", {"textDocument": _NOWHERE})
            if reply.exception() is not None:
                return  # Nothing depends on it: the first key will do it.
            if texts[1:]:
                self._warm(client, texts[1:])
            else:
                self.is_warm = True

        reply.add_done_callback(answered)

    def _stop_warming(self) -> None:
        """Break it off before a person's question: a change of texts behind the question would disturb that."""
        if self._warming is not None:
            self._warming.cancel()
            self._warming = None
            self.notify("textDocument/didClose", {"textDocument": _NOWHERE})

    def complete(self, key: str, document: Document, position: Position, *, word_end: Position) -> Reply:
        """Ask for completions; see `listed` for the result.

        What stands between the cursor and the end of its word is left out of the text that ty sees, as it gives
        nothing for a cursor inside of a member's name.

        Raises:
            EngineUnavailableError: it does not run or is not ready yet.
        """
        text = document.content
        if word_end > position:
            cut, end = text.offset_at(position), text.offset_at(word_end)
            whole = str(text)
            text = Text(whole[:cut] + whole[end:])
        params = {
            "textDocument": {"uri": document.uri},
            "position": wire_position(document, position, self.encoding),
            "context": {"triggerKind": 1},
        }
        if len(text) > LONGEST_TEXT:
            raise EngineUnavailableError(self.name, "the text is too long for it")
        self._stop_warming()
        return self.ask("textDocument/completion", params, about=key, instead=(key, text), decoder=COMPLETIONS)

    def files_changed(self, changes: Sequence[tuple[str, int]]) -> None:
        """Tell it of files that were created (1), changed (2) or deleted (3) on disk, by URI."""
        if changes:
            events = [{"uri": uri, "type": kind} for uri, kind in changes]
            self.notify("workspace/didChangeWatchedFiles", {"changes": events})

    def position(self, document: Document, line: int, character: int) -> Position:
        """Return a position in one of its answers as one of ours."""
        return own_position(document, line, character, self.encoding)


def launch(
    program: str,
    *,
    roots: tuple[str, ...],
    cwd: Path,
    env: Mapping[str, str],
    python: str | None,
    modules_in: Sequence[Path] = (),
    encoding: Encoding = "utf-16",
    markup: Markup = ALL_MARKDOWN,
    parallelism: int | None = None,
    diagnoses: bool = False,
    priority_class: PriorityClass = PriorityClass.INTERACTIVE,
) -> ServerLaunch:
    """Describe how ty is started.

    Args:
        python: The prefix of the environment whose packages it reads.
        modules_in: Folders whose modules can be imported, instead of the roots.
        markup: What it may answer in; its answers are passed on as they are.
        diagnoses: It is asked for type errors, too, of the documents that it is given.
        parallelism: The most threads that it computes with; None means as many as there are cores.
    """
    # Much Python has no annotations: what such a function returns is inferred from its body.
    configuration: dict[str, Any] = {"analysis": {"return-type-inference": "always"}}
    environment: dict[str, Any] = {} if python is None else {"python": python}
    if modules_in:
        environment["root"] = [os.fspath(folder) for folder in modules_in]
    if environment:
        configuration["environment"] = environment
    options: dict[str, Any] = {
        "completions": {"autoImport": False},
        "diagnosticMode": "openFilesOnly" if diagnoses else "off",
        "untrustedWorkspace": True,
        "configuration": configuration,
    }
    variables = {**env, "TY_LOG": "warn"}
    if parallelism is not None:
        variables["TY_MAX_PARALLELISM"] = str(parallelism)
    return ServerLaunch(
        argv=(program, "server"),
        roots=roots,
        cwd=cwd,
        env=variables,
        encoding=encoding,
        options=options,
        capabilities={"textDocument": {**text_document(markup), **({"diagnostic": {}} if diagnoses else {})}},
        priority_class=priority_class,
    )


def text_document(markup: Markup) -> dict[str, Any]:
    """Return what we understand of answers about a document, as LSP's client capabilities."""

    def formats(markdown: bool) -> list[str]:
        return ["markdown", "plaintext"] if markdown else ["plaintext"]

    signature = {
        "documentationFormat": formats(markup.signatures),
        "parameterInformation": {"labelOffsetSupport": False},
        "activeParameterSupport": True,
    }
    item = {"documentationFormat": formats(markup.documentation), "tagSupport": {"valueSet": [1]}}
    return {
        "completion": {"completionItem": item},
        "hover": {"contentFormat": formats(markup.hover)},
        "signatureHelp": {"signatureInformation": signature},
        **_ANSWERS,
    }


_ANSWERS: Mapping[str, Any] = {
    "definition": {"linkSupport": False},
    "declaration": {"linkSupport": False},
    "typeDefinition": {"linkSupport": False},
    "rename": {"prepareSupport": True},
    "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    "semanticTokens": {
        "requests": {"full": True, "range": True},
        "formats": ["relative"],
        "tokenTypes": [],
        "tokenModifiers": [],
    },
    "foldingRange": {},
}
