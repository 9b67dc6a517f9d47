"""A language server of a person's choice, for a language other than Python: what it offers and what it reports.

Nothing is known of it but the protocol. It is told of texts as ty is, just before it is asked, and besides when typing
rests, since such servers report what is wrong by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from headway.engines.client import Reply
from headway.engines.legend import TOKEN_MODIFIERS, TOKEN_TYPES
from headway.engines.mirror import LONGEST_TEXT, Encoding, own_position, wire_position
from headway.engines.ruff import RuffDiagnostic, RuffReport, WireSpan
from headway.engines.server import LanguageServer, ServerLaunch
from headway.scheduler.executors.children import PriorityClass
from headway.wording import say
from headway.workspace.documents import Document
from headway.workspace.text import Position, Range
from headway.workspace.uris import identity

# How much of the machine its process gets, by the priority in the setting.
CLASSES: Final[Mapping[str, PriorityClass]] = {
    "CRITICAL": PriorityClass.INTERACTIVE,
    "HIGH": PriorityClass.INTERACTIVE,
    "NORMAL": PriorityClass.POLITE,
    "LOW": PriorityClass.BACKGROUND,
    "BATCH": PriorityClass.BACKGROUND,
}


class OtherEdit(msgspec.Struct, frozen=True):
    """An edit of a completion; one without a range is of a kind that was not asked for."""

    newText: str  # noqa: N815 - LSP's name
    range: WireSpan | None = None


class OtherItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One completion; it goes back as it is when more is asked of it."""

    label: str
    kind: int = 1
    detail: str | None = None
    documentation: msgspec.Raw = msgspec.Raw()
    tags: list[int] | None = None
    deprecated: bool = False
    sortText: str | None = None  # noqa: N815
    filterText: str | None = None  # noqa: N815
    insertText: str | None = None  # noqa: N815
    insertTextFormat: int = 1  # noqa: N815
    textEdit: OtherEdit | None = None  # noqa: N815
    additionalTextEdits: list[OtherEdit] | None = None  # noqa: N815
    data: msgspec.Raw = msgspec.Raw()


class OtherList(msgspec.Struct, frozen=True):
    """A CompletionList."""

    items: list[OtherItem] = []
    isIncomplete: bool = False  # noqa: N815


class _Published(msgspec.Struct, frozen=True):
    uri: str
    diagnostics: list[RuffDiagnostic] = []
    version: int | None = None


_COMPLETIONS = msgspec.json.Decoder(OtherList | list[OtherItem] | None)
_ITEM = msgspec.json.Decoder(OtherItem | None)

# Told of a document, and what the server reports of its text; None for the text where it is no longer open.
Reported = Callable[[Document, RuffReport], None]


class OtherServer(LanguageServer):
    """One such server.

    Args:
        language: Whose documents it is given, as the editor calls it.
        program: What it is called in messages.
        documents: Gives the open documents, of whatever language.
        state_changed: See `LanguageServer`.
        reported: Is told what it finds wrong in the present text of a document.
    """

    def __init__(
        self,
        language: str,
        program: str,
        documents: Callable[[], Mapping[str, Document]],
        state_changed: Callable[[], None],
        reported: Reported,
    ) -> None:
        super().__init__(
            f"{program} ({language})",
            documents,
            state_changed,
            without=say("Meanwhile names come from the index and the open text."),
            language=language,
        )
        self.program = program
        self._all_documents = documents
        self._reported = reported

    def offers(self, provider: str) -> bool:
        """Return whether it says that it can do something, by the name of LSP's server capability."""
        return bool(self.capabilities.get(provider))

    @property
    def keys(self) -> tuple[list[str], list[str]]:
        """The keys behind which it wants to be asked: for completions, and for help on parameters."""
        found = []
        for provider in ("completionProvider", "signatureHelpProvider"):
            options = self.capabilities.get(provider)
            keys = options.get("triggerCharacters") if isinstance(options, dict) else None
            found.append([key for key in keys or () if isinstance(key, str) and len(key) == 1])
        return found[0], found[1]

    def complete(self, key: str, document: Document, position: Position) -> Reply:
        """Ask for completions; see `listed` for the result.

        Raises:
            EngineUnavailableError: It does not run or is not ready yet.
        """
        params = {
            "textDocument": {"uri": document.uri},
            "position": wire_position(document, position, self.encoding),
            "context": {"triggerKind": 1},
        }
        return self.ask("textDocument/completion", params, about=key, decoder=_COMPLETIONS)

    def resolve(self, item: OtherItem) -> Reply:
        """Ask for more of an item; the result is an `OtherItem` or None.

        Raises:
            EngineUnavailableError: It does not run or is not ready yet.
        """
        return self.ask("completionItem/resolve", msgspec.to_builtins(_plain(item)), decoder=_ITEM)

    def range_of(self, document: Document, span: WireSpan) -> Range:
        """Return a range of one of its answers as one of ours."""
        ends = (own_position(document, place.line, place.character, self.encoding) for place in (span.start, span.end))
        return Range(*ends)

    def catch_up(self) -> None:
        """Bring its texts up to ours without asking anything, so that it reports what is wrong in them."""
        client, mirror = self._client, self._mirror
        if client is not None and mirror is not None:
            for name, body in mirror.update(
                self._all_documents(), held=list(self._asked_about), language=self.language
            ):
                client.notify(name, body)

    def _notified(self, method: str, params: Any) -> None:
        if method != "textDocument/publishDiagnostics":
            super()._notified(method, params)
            return
        try:
            told = msgspec.convert(params, _Published)
        except msgspec.ValidationError:
            return  # What is no report in LSP's sense says nothing.
        key, mirror = identity(told.uri), self._mirror
        document = self._all_documents().get(key)
        if document is None or mirror is None or mirror.text(key) is not document.content:
            return  # It is about another text than the present one.
        if told.version is None or told.version == mirror.version(key):
            self._reported(document, RuffReport(items=told.diagnostics))


def listed(answer: object) -> tuple[Sequence[OtherItem], bool]:
    """Return the items of an answer to `OtherServer.complete`, best first, and whether there may be more."""
    items, incomplete = (answer.items, answer.isIncomplete) if isinstance(answer, OtherList) else (answer, False)
    if not isinstance(items, list):
        return (), False
    return sorted(items, key=lambda item: item.sortText or item.label), incomplete


def _plain(item: OtherItem) -> dict[str, Any]:
    """Return an item as plain JSON values, raw parts read."""
    made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(item))
    return made


def launch(
    command: Sequence[str],
    *,
    priority: str,
    roots: tuple[str, ...],
    cwd: Path,
    env: Mapping[str, str],
    encoding: Encoding,
) -> ServerLaunch:
    """Describe how such a server is started."""
    return ServerLaunch(
        argv=tuple(command),
        roots=roots,
        cwd=cwd,
        env=env,
        encoding=encoding,
        capabilities={"textDocument": _ANSWERS},
        priority_class=CLASSES[priority],
    )


def too_long(document: Document) -> bool:
    """Return whether a text is longer than any engine is given."""
    return len(document.content) > LONGEST_TEXT


_ANSWERS: Final[Mapping[str, Any]] = {
    "synchronization": {"didSave": True},
    "completion": {
        "completionItem": {
            "documentationFormat": ["markdown", "plaintext"],
            "tagSupport": {"valueSet": [1]},
            "deprecatedSupport": True,
            "resolveSupport": {"properties": ["documentation", "detail", "additionalTextEdits"]},
        }
    },
    "hover": {"contentFormat": ["markdown", "plaintext"]},
    "signatureHelp": {"signatureInformation": {"documentationFormat": ["markdown", "plaintext"]}},
    "definition": {"linkSupport": False},
    "declaration": {"linkSupport": False},
    "typeDefinition": {"linkSupport": False},
    "implementation": {"linkSupport": False},
    "rename": {"prepareSupport": True},
    "publishDiagnostics": {"versionSupport": True, "codeDescriptionSupport": True, "tagSupport": {"valueSet": [1, 2]}},
    "foldingRange": {},
    "codeAction": {
        "codeActionLiteralSupport": {
            "codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source", "source.organizeImports"]}
        },
        "dataSupport": True,
        "resolveSupport": {"properties": ["edit"]},
    },
    "formatting": {},
    "rangeFormatting": {},
    "semanticTokens": {
        "requests": {"full": True, "range": True},
        "tokenTypes": TOKEN_TYPES,
        "tokenModifiers": TOKEN_MODIFIERS,
        "formats": ["relative"],
    },
}
