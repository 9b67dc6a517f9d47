"""Formatting and quick fixes by the language servers that a person has named for other languages.

As with ruff (`mending.py`) answers are bounded, since a save may wait for them, and an edit for a text that is no more
the present one is never given. What a server would have to carry out itself (a command) is left out: nothing here runs
commands of another server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from headway.engines.errors import EngineAnswerError, EngineError
from headway.scheduler.model import Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.jobs import RequestSupersededError, value_of
from headway.session.mending import SAVE_LIMIT_S
from headway.session.other_engines import OtherEngines
from headway.session.ports import SessionContext
from headway.workspace.documents import Document
from headway.workspace.uris import identity

if TYPE_CHECKING:
    from headway.engines.other import OtherServer

_COST: Final = Requirement(cpu_cores=0.0, memory_mb=1)  # the server computes
_LOOK_LIMIT_S: Final = 3.0
_STALE_ANSWERS: Final = 4
_OURS: Final = "headway"
_PROVIDERS: Final = {
    "textDocument/formatting": "documentFormattingProvider",
    "textDocument/rangeFormatting": "documentRangeFormattingProvider",
    "textDocument/codeAction": "codeActionProvider",
}

_log = logging.getLogger(__name__)

Json = dict[str, Any]


class OtherEdits:
    """Asks these servers for edits, as jobs.

    Args:
        others: Their room.
        encoding: How the client counts columns; the edits of a server that counts otherwise are not passed on.
        later: The client asks for an action's edits when the action is chosen.
    """

    def __init__(self, context: SessionContext, others: OtherEngines, encoding: str, *, later: bool) -> None:
        self._context = context
        self._others = others
        self._encoding = encoding
        self._later = later

    async def format(self, method: str, document: Document, params: Mapping[str, Any]) -> list[Json] | None:
        """Return the edits that format a document or a range of it; None where there is nothing to say in time.

        Raises:
            RequestSupersededError: The text was changed meanwhile.
            RequestCancelledError, RequestFailedError: See `jobs.value_of`.
        """
        found = await self._asked(document, method, params, SAVE_LIMIT_S)
        return found if isinstance(found, list) else None

    async def actions(self, document: Document, params: Mapping[str, Any]) -> list[Json]:
        """Return what can be done about a range, as CodeActions that consist of edits.

        Raises:
            RequestSupersededError, RequestCancelledError, RequestFailedError: As for `format`.
        """
        context = params.get("context")
        only = context.get("only") if isinstance(context, Mapping) else None
        on_save = isinstance(only, list) and bool(only) and all(str(kind).startswith("source") for kind in only)
        found = await self._asked(
            document, "textDocument/codeAction", params, SAVE_LIMIT_S if on_save else _LOOK_LIMIT_S
        )
        made = [action for action in found or () if isinstance(action, dict)]
        return [
            self._promised(action, document) if "edit" not in action else action
            for action in made
            if "command" not in action and ("edit" in action or (self._later and self._resolves(document)))
        ]

    async def resolve(self, action: Mapping[str, Any]) -> Json | None:
        """Return an action with its edits; None where it is none of these servers'.

        Raises:
            RequestSupersededError, RequestCancelledError, RequestFailedError: As for `format`.
        """
        match action.get("data"):
            case {"headway": {"uri": str(uri), "version": int(version), **kept}}:
                document = self._context.documents.get(uri)
            case _:
                return None
        plain = {key: value for key, value in action.items() if key != "data"}
        if document is None:
            return plain
        if document.version != version:
            raise RequestSupersededError("the text changed before the action was chosen")
        asked = {**plain, **({"data": kept["data"]} if "data" in kept else {})}
        made = await self._asked(document, "codeAction/resolve", asked, SAVE_LIMIT_S)
        return {**plain, "edit": made["edit"]} if isinstance(made, dict) and "edit" in made else plain

    def _promised(self, action: Json, document: Document) -> Json:
        kept = {"uri": document.uri, "version": document.version}
        return {**action, "data": {_OURS: {**kept, **({"data": action["data"]} if "data" in action else {})}}}

    def _resolves(self, document: Document) -> bool:
        server = self._others.engine(document.language)
        provider = None if server is None else server.capabilities.get("codeActionProvider")
        return isinstance(provider, dict) and provider.get("resolveProvider") is True

    async def _asked(self, document: Document, method: str, params: Mapping[str, Any], limit_s: float) -> Any:
        server = self._others.engine(document.language)
        if server is None:
            return None
        try:
            async with asyncio.timeout(limit_s):
                answer = await value_of(
                    self._context.scheduler.run(
                        self._answer,
                        server,
                        document,
                        method,
                        params,
                        priority=Priority.CRITICAL if limit_s == SAVE_LIMIT_S else Priority.HIGH,
                        name=f"{server.program} {method.rpartition('/')[2]}",
                        kind=TaskKind.COROUTINE,
                        requirement=_COST,
                        timeout=TimeoutPolicy(hard_s=_LOOK_LIMIT_S + 2),
                    )
                )
        except TimeoutError:
            _log.info("%s did not answer %s within %.1f s", server.name, method, limit_s)
            return None
        if self._context.documents.get(document.uri) is not document:
            raise RequestSupersededError(f"the text changed while {method} was being answered")
        return answer

    async def _answer(self, server: OtherServer, document: Document, method: str, params: Mapping[str, Any]) -> Any:
        for _ in range(_STALE_ANSWERS):
            if not server.coming:
                return None
            await server.ready()
            provider = _PROVIDERS.get(method)
            if server.encoding != self._encoding or (provider is not None and not server.offers(provider)):
                return None
            if self._context.documents.get(document.uri) is not document:
                return None  # whoever waits looks at that, too
            try:
                reply = server.ask(method, params, about=identity(document.uri))
                answer = await reply
            except EngineAnswerError as error:
                if not error.stale:
                    _log.info("no answer to %s by %s: %s", method, server.name, error)
                    return None
            except EngineError as error:
                _log.info("no answer to %s by %s: %s", method, server.name, error)
                return None
            else:
                if not reply.disturbed:
                    return answer
        return None
