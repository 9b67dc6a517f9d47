"""Completion lists as LSP wants them, in as few bytes as the client's abilities allow. Pure."""

from __future__ import annotations

import re
from typing import Any

from headway.features.completion import Candidate, CompletionList, ResolvedCandidate
from headway.lsp.capabilities import ClientCapabilities
from headway.lsp.convert import Converter, Json, Lines

_DEPRECATED_TAG = 1
_SNIPPET = 2
_ESCAPED = re.compile(r"[\\$}]")
_AS_ESCAPED = r"\\\g<0>"


def completion_list(
    found: CompletionList, uri: str, lines: Lines, capabilities: ClientCapabilities, converter: Converter
) -> Json:
    """Return a CompletionList; the order of the candidates becomes the order in which the client shows them."""
    insert = converter.range_out(found.insert_range, lines)
    replace = insert
    if found.replace_range != found.insert_range:
        replace = converter.range_out(found.replace_range, lines)
    edit_range: Json = {"insert": insert, "replace": replace} if capabilities.insert_replace else insert
    result: Json = {"isIncomplete": found.incomplete}
    by_default = capabilities.default_edit_range
    if by_default and found.items:
        result["itemDefaults"] = {"editRange": edit_range}
    items: list[Json] = []
    for place, candidate in enumerate(found.items):
        item = _item(candidate, place, capabilities)
        item["data"] = [found.list_id, place] if candidate.import_from is None else [found.list_id, place, uri]
        new_text = candidate.insert or candidate.label
        if candidate.call and capabilities.snippets:
            item["insertTextFormat"] = _SNIPPET
            new_text = f"{_ESCAPED.sub(_AS_ESCAPED, new_text)}{candidate.call}$0"
        if not by_default:
            item["textEdit"] = _edit(edit_range, new_text, capabilities)
        elif new_text != candidate.label:
            item["textEditText"] = new_text
        items.append(item)
    result["items"] = items
    return result


def _item(candidate: Candidate, place: int, capabilities: ClientCapabilities) -> Json:
    item: Json = {"label": candidate.label, "kind": int(candidate.kind), "sortText": f"{place:03d}"}
    if candidate.filter_text is not None and candidate.filter_text != candidate.label:
        item["filterText"] = candidate.filter_text
    if candidate.detail:
        item["detail"] = candidate.detail
    if candidate.import_from is not None and capabilities.label_details:
        item["labelDetails"] = {"description": candidate.import_from}
    if candidate.deprecated:
        if capabilities.deprecated_tag:
            item["tags"] = [_DEPRECATED_TAG]
        else:
            item["deprecated"] = True
    return item


def _edit(edit_range: Json, new_text: str, capabilities: ClientCapabilities) -> Json:
    if capabilities.insert_replace:
        return {"newText": new_text, **edit_range}
    return {"newText": new_text, "range": edit_range}


def resolved_item(
    item: dict[str, Any],
    found: ResolvedCandidate | None,
    lines: Lines,
    capabilities: ClientCapabilities,
    converter: Converter,
) -> Json:
    """Return the client's item with what more is known of it."""
    if found is None:
        return item
    made = dict(item)
    if found.detail:
        made["detail"] = found.detail
    if found.documentation:
        text = found.documentation
        # A client that names no formats may know none; a plain string is understood by all.
        made["documentation"] = {"kind": "markdown", "value": text} if capabilities.markup.documentation else text
    if found.edits:
        made["additionalTextEdits"] = [converter.edit_out(range_, text, lines) for range_, text in found.edits]
    return made
