"""What is there before most of the server is imported: the session and, reading already, ty.

ty needs a quarter of a second for what each first answer needs: the builtins and which modules there are. Importing the
rest of this server takes as long. So ty is started first and both go on side by side; in between the imports the loop
turns, so that ty is spoken to and a cancel is heard.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from headway.lsp.capabilities import ClientCapabilities
from headway.lsp.client import Client
from headway.lsp.connection import Connection
from headway.lsp.convert import Converter
from headway.lsp.initialization import session_options
from headway.lsp.tongue import Tongue
from headway.session.python_engine import PythonEngine
from headway.session.session import Session

# What takes the longest, in pieces of some 20 ms.
_MODULES: Final = (
    "headway.scheduler.model",
    "headway.scheduler.stimuli",
    "headway.scheduler.measures",
    "headway.scheduler.scheduler",
    "headway.scheduler.history",
    "headway.workspace.symbols",
    "headway.workspace.python_scope",
    "headway.session.completing",
    "headway.workspace.listing",
    "headway.session.indexing",
    "headway.session.diagnosing",
    "headway.session.searching",
    "headway.session.testing",
    "headway.lsp.assembly",
)
# From bytes that wait in a pipe to what their reader does with them.
_TURNS: Final = 4


class Groundwork:
    """The session of one client and its ty. Made on the event loop once `initialize` has come."""

    def __init__(
        self, connection: Connection, capabilities: ClientCapabilities, params: Mapping[str, Any], *, probes: bool
    ) -> None:
        self.converter = Converter(capabilities.encoding)
        self.tongue = Tongue(params.get("locale"))
        self.client = Client(connection, capabilities, self.converter, self.tongue)
        self.on_trouble: Callable[[], None] = lambda: None
        options = session_options(params, probes=probes)
        self.session = Session(client=self.client, options=options, on_trouble=lambda: self.on_trouble())
        self.client.documents = self.session.documents
        self.engine = PythonEngine(self.session, capabilities.encoding.value, capabilities.markup)

    async def start(self) -> None:
        """Start ty, and import the rest while it starts."""
        await self.engine.start()
        await _imported(_MODULES)

    async def close(self) -> None:
        """End ty; for a start that failed."""
        await self.engine.close()


async def _imported(names: Sequence[str]) -> None:
    """Import modules, with some turns of the loop before each."""
    for name in names:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        importlib.import_module(name)
