"""What the client said it can do, and what the server says it can do."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from headway.engines.legend import TOKEN_MODIFIERS, TOKEN_TYPES
from headway.engines.markup import Markup
from headway.lsp.negotiation import Encoding, dig, negotiate
from headway.lsp.protocol import COMMANDS, PROTOCOL_VERSION, HeadwayCapability

# Behind which keys a client asks in documents of any language.
COMPLETION_KEYS = (".",)
SIGNATURE_KEYS = ("(", ",")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCapabilities:
    """The parts of the client's capabilities that decide what is sent to it. Whatever is missing counts as no."""

    encoding: Encoding
    progress: bool
    configuration: bool
    registers_configuration: bool
    registers_watched_files: bool
    watches_relative: bool
    pulls_diagnostics: bool
    refreshes_diagnostics: bool
    diagnostic_tags: bool
    diagnostic_code_links: bool
    insert_replace: bool
    snippets: bool
    registers_completion: bool
    registers_signatures: bool
    default_edit_range: bool
    default_data: bool
    label_details: bool
    deprecated_tag: bool
    markup: Markup
    hierarchical_symbols: bool
    prepares_rename: bool
    versioned_edits: bool
    takes_actions: bool
    resolves_actions: bool
    notebooks: bool


def client_capabilities(tree: object) -> ClientCapabilities:
    """Read the `capabilities` of `initialize`; anything that is not as it should be counts as missing."""

    def yes(*path: str) -> bool:
        return dig(tree, *path) is True

    completion = dig(tree, "textDocument", "completion")
    item = dig(completion, "completionItem")
    action = dig(tree, "textDocument", "codeAction")
    defaults = _texts(dig(completion, "completionList", "itemDefaults"))
    tags = dig(item, "tagSupport", "valueSet")
    return ClientCapabilities(
        encoding=negotiate(dig(tree, "general", "positionEncodings")),
        progress=yes("window", "workDoneProgress"),
        configuration=yes("workspace", "configuration"),
        registers_configuration=yes("workspace", "didChangeConfiguration", "dynamicRegistration"),
        registers_watched_files=yes("workspace", "didChangeWatchedFiles", "dynamicRegistration"),
        watches_relative=yes("workspace", "didChangeWatchedFiles", "relativePatternSupport"),
        pulls_diagnostics=dig(tree, "textDocument", "diagnostic") is not None,
        refreshes_diagnostics=yes("workspace", "diagnostics", "refreshSupport"),
        diagnostic_tags=dig(tree, "textDocument", "publishDiagnostics", "tagSupport") is not None,
        diagnostic_code_links=yes("textDocument", "publishDiagnostics", "codeDescriptionSupport"),
        registers_completion=yes("textDocument", "completion", "dynamicRegistration"),
        registers_signatures=yes("textDocument", "signatureHelp", "dynamicRegistration"),
        snippets=yes("textDocument", "completion", "completionItem", "snippetSupport"),
        insert_replace=yes("textDocument", "completion", "completionItem", "insertReplaceSupport"),
        default_edit_range="editRange" in defaults,
        default_data="data" in defaults,
        label_details=yes("textDocument", "completion", "completionItem", "labelDetailsSupport"),
        deprecated_tag=isinstance(tags, list) and 1 in tags,
        markup=_markup(tree),
        hierarchical_symbols=yes("textDocument", "documentSymbol", "hierarchicalDocumentSymbolSupport"),
        prepares_rename=yes("textDocument", "rename", "prepareSupport"),
        versioned_edits=yes("workspace", "workspaceEdit", "documentChanges"),
        takes_actions=dig(action, "codeActionLiteralSupport") is not None,
        resolves_actions="edit" in _texts(dig(action, "resolveSupport", "properties"))
        and dig(action, "dataSupport") is True,
        notebooks=dig(tree, "notebookDocument", "synchronization") is not None,
    )


def _markup(tree: object) -> Markup:
    hover = _texts(dig(tree, "textDocument", "hover", "contentFormat"))
    signature = dig(tree, "textDocument", "signatureHelp", "signatureInformation")
    item = dig(tree, "textDocument", "completion", "completionItem")
    return Markup(
        hover=not hover or "markdown" in hover,
        signatures="markdown" in _texts(dig(signature, "documentationFormat")),
        documentation="markdown" in _texts(dig(item, "documentationFormat")),
    )


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def server_capabilities(
    client: ClientCapabilities, *, job_types: Collection[str], probes: bool, whole_workspace: bool = False
) -> dict[str, Any]:
    """Return the `capabilities` of the answer to `initialize`.

    Args:
        client: Decides the encoding, and whether diagnostics are pulled.
        job_types: What `headway/submit` takes.
        probes: Whether probes are among it.
        whole_workspace: Whether the client shall pull the findings of files that are not open, too.
    """
    headway: HeadwayCapability = {"protocol": PROTOCOL_VERSION, "jobTypes": sorted(job_types), "probes": probes}
    capabilities: dict[str, Any] = {
        "positionEncoding": client.encoding.value,
        "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
        "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
        "completionProvider": {"triggerCharacters": list(COMPLETION_KEYS), "resolveProvider": True},
        "hoverProvider": True,
        "signatureHelpProvider": {"triggerCharacters": list(SIGNATURE_KEYS)},
        "definitionProvider": True,
        "declarationProvider": True,
        "typeDefinitionProvider": True,
        "implementationProvider": True,
        "referencesProvider": True,
        "documentHighlightProvider": True,
        "renameProvider": {"prepareProvider": True} if client.prepares_rename else True,
        "documentFormattingProvider": True,
        "documentRangeFormattingProvider": True,
        "foldingRangeProvider": True,
        "selectionRangeProvider": True,
        "semanticTokensProvider": {
            "legend": {"tokenTypes": list(TOKEN_TYPES), "tokenModifiers": list(TOKEN_MODIFIERS)},
            "full": True,
            "range": True,
        },
        "documentSymbolProvider": True,
        "workspaceSymbolProvider": True,
        "executeCommandProvider": {"commands": list(COMMANDS)},
        "experimental": {"headway": headway},
    }
    if client.notebooks:
        # Cells in other languages stay texts of their own, where a client tells of them.
        capabilities["notebookDocumentSync"] = {
            "notebookSelector": [{"notebook": "*", "cells": [{"language": "python"}]}],
            "save": True,
        }
    if client.takes_actions:
        kinds = ["quickfix", "source.fixAll.headway", "source.organizeImports.headway"]
        capabilities["codeActionProvider"] = {"codeActionKinds": kinds, "resolveProvider": client.resolves_actions}
    if client.pulls_diagnostics:
        capabilities["diagnosticProvider"] = {
            "identifier": "headway",
            "interFileDependencies": False,
            "workspaceDiagnostics": whole_workspace,
        }
    return capabilities
