"""The client as the session knows it: findings and messages out, within what the client said it supports."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from headway.lsp.capabilities import COMPLETION_KEYS, SIGNATURE_KEYS, ClientCapabilities
from headway.lsp.connection import Connection
from headway.lsp.convert import Converter, Json
from headway.lsp.tongue import Tongue
from headway.session.ports import MessageLevel
from headway.workspace.documents import Document, Documents

if TYPE_CHECKING:
    from headway.features.analysis import Finding
    from headway.workspace.text import Text

# What the client is asked to watch: sources, and what decides how they are read.
_WATCHED = "**/*"
_MESSAGE_CHARS = 1000

_log = logging.getLogger(__name__)


class Client:
    """The `ClientPort` of one connection."""

    def __init__(
        self, connection: Connection, capabilities: ClientCapabilities, converter: Converter, tongue: Tongue
    ) -> None:
        self._connection = connection
        self._tongue = tongue
        self._capabilities = capabilities
        self._converter = converter
        self._held: dict[str, Json] = {}
        self._offered: dict[tuple[str, str], list[str]] = {}  # by method and language: keys that were registered
        self.documents: Documents | None = None

    @property
    def pulls_diagnostics(self) -> bool:
        return self._capabilities.pulls_diagnostics

    @property
    def watches_files(self) -> bool:
        return self._capabilities.registers_watched_files

    def publish(self, uri: str, version: int | None, findings: Sequence[Finding], text: Text | None = None) -> None:
        document = self.documents.get(uri) if self.documents is not None else None
        if document is not None and version is not None and version != document.version:
            return  # Newer text has come; its own findings are on their way.
        params: Json = {"uri": uri, "diagnostics": self.diagnostics(document or text, findings)}
        if version is not None:
            params["version"] = version
        if self._connection.congested:
            self._held.pop(uri, None)
            self._held[uri] = params
        else:
            self._connection.notify("textDocument/publishDiagnostics", params)

    def diagnostics(self, document: Document | Text | None, findings: Sequence[Finding]) -> list[Json]:
        """Return findings as LSP diagnostics; columns are converted by the text of the document."""
        lines = document.line if document is not None else lambda number: ""
        made = []
        for finding in findings:
            diagnostic: Json = {
                "range": self._converter.range_out(finding.range, lines),
                "severity": int(finding.severity),
                "source": finding.source,
                "message": self._tongue.tell(finding.message),
            }
            if finding.code is not None:
                diagnostic["code"] = finding.code
                if finding.href is not None and self._capabilities.diagnostic_code_links:
                    diagnostic["codeDescription"] = {"href": finding.href}
            if finding.tags and self._capabilities.diagnostic_tags:
                diagnostic["tags"] = [int(tag) for tag in finding.tags]
            made.append(diagnostic)
        return made

    def refresh_diagnostics(self) -> None:
        if self._capabilities.refreshes_diagnostics:
            _ignore(self._connection.ask("workspace/diagnostic/refresh", None))

    def offer_keys(self, language: str, completion: Sequence[str], signatures: Sequence[str]) -> None:
        able = self._capabilities
        if able.registers_completion:
            self._offer("textDocument/completion", language, completion, COMPLETION_KEYS, {"resolveProvider": True})
        if able.registers_signatures:
            self._offer("textDocument/signatureHelp", language, signatures, SIGNATURE_KEYS, {})

    def _offer(self, method: str, language: str, keys: Sequence[str], known: Sequence[str], more: Json) -> None:
        # What is registered for all languages would else be asked for twice behind each such key.
        wanted = [key for key in dict.fromkeys(keys) if key not in known]
        before = self._offered.pop((method, language), [])
        registration = {"id": f"headway-keys-{method}-{language}", "method": method}
        if before and before != wanted:
            _ignore(self._connection.ask("client/unregisterCapability", {"unregisterations": [registration]}))
        if not wanted:
            return
        self._offered[method, language] = wanted
        if before != wanted:
            options = {"documentSelector": [{"language": language}], "triggerCharacters": wanted, **more}
            params = {"registrations": [{**registration, "registerOptions": options}]}
            _ignore(self._connection.ask("client/registerCapability", params))

    def show(self, level: MessageLevel, text: str) -> None:
        self._connection.notify(
            "window/showMessage", {"type": int(level), "message": self._tongue.tell(text)[:_MESSAGE_CHARS]}
        )

    def drained(self) -> None:
        """The client reads again: publish what was held back, as far as it is still about the newest text."""
        held, self._held = self._held, {}
        for uri, params in held.items():
            document = self.documents.get(uri) if self.documents is not None else None
            if document is None or params.get("version") in (None, document.version):
                self._connection.notify("textDocument/publishDiagnostics", params)

    def register(self) -> None:
        """Ask for changes of files and settings, where the client can be asked."""
        registrations: list[Json] = []
        if self._capabilities.registers_watched_files:
            registrations.append(
                {
                    "id": "headway-watched-files",
                    "method": "workspace/didChangeWatchedFiles",
                    "registerOptions": {"watchers": [{"globPattern": _WATCHED}]},
                }
            )
        if self._capabilities.registers_configuration:
            registrations.append(
                {
                    "id": "headway-configuration",
                    "method": "workspace/didChangeConfiguration",
                    "registerOptions": {"section": "headway"},
                }
            )
        if registrations:
            _ignore(self._connection.ask("client/registerCapability", {"registrations": registrations}))

    async def configuration(self) -> object:
        """Pull the settings under `headway`; None where the client offers none or will not tell."""
        if not self._capabilities.configuration:
            return None
        future = self._connection.ask("workspace/configuration", {"items": [{"section": "headway"}]})
        await asyncio.wait([future])
        if future.cancelled():
            return None
        if future.exception() is not None:
            _log.info("the client gave no settings: %s", future.exception())
            return None
        answer = future.result()
        return answer[0] if isinstance(answer, list) and answer else None


def _ignore(future: asyncio.Future[object]) -> None:
    """Nothing depends on the answer; a refusal is worth a line in the log."""

    def done(ended: asyncio.Future[object]) -> None:
        if not ended.cancelled() and ended.exception() is not None:
            _log.info("the client refused: %s", ended.exception())

    future.add_done_callback(done)


def folder_name(uri: str, name: str | None, path: PurePath | None) -> str:
    """Return what a root is called."""
    if name:
        return name
    return path.name if path is not None and path.name else uri
