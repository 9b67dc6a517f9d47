"""What ty can do about a finding: import a name that is missing, take out an ignore comment that is not needed.

Names that are not defined are told by ruff, too, so they can be imported also where no type errors are shown. The ty
that is asked is the one that looks for references: it has to go through every module for a name, and no key waits for
it. It is asked only where there is something that it may mend, so that no cursor that moves starts it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from headway.engines.errors import EngineError
from headway.engines.mirror import LONGEST_TEXT
from headway.scheduler import JobHandle
from headway.scheduler.model import Priority, Requirement, TaskKind, TaskState, TimeoutPolicy
from headway.session.ports import SessionContext
from headway.session.python_engine import PythonEngine
from headway.session.type_findings import UNDEFINED, TypeFindings
from headway.workspace.documents import Document
from headway.workspace.uris import identity

_COST = Requirement(cpu_cores=0.0, memory_mb=1)  # ty computes; nothing is to wait for a core here
FIX_LIMIT_S: Final = 1.0  # a list of what can be done is not held up for longer than this
_LONGEST_S: Final = 60.0
_MOST_IMPORTS: Final = 10  # of one name; more would have to be read to find the right one
_IGNORE: Final = "ty: ignore"  # a comment that means something to whoever checks types with it only

_log = logging.getLogger(__name__)

Json = dict[str, Any]


class TypeFixes:
    """Asks ty for what can be done, as jobs.

    Args:
        types: Whether type errors are shown, and which are known.
        limit_s: How long it is waited for.
    """

    def __init__(
        self, context: SessionContext, engine: PythonEngine, types: TypeFindings, *, limit_s: float = FIX_LIMIT_S
    ) -> None:
        self._context = context
        self._engine = engine
        self._types = types
        self._limit_s = limit_s
        self._last: tuple[object, JobHandle] | None = None  # the question that was asked last, and its job

    async def actions(self, document: Document, place: Mapping[str, Any], reported: Sequence[Json]) -> list[Json]:
        """Return ty's quick fixes for a range, as it gives them; none where it is away, late, or about another text.

        Args:
            document: The text that they are for.
            place: An LSP range, counted as the client counts.
            reported: What ruff says of the range, as LSP's diagnostics.
        """
        missing = [_as_tys(one) for one in reported if one.get("code") == UNDEFINED[1]]
        lines = range(place["start"]["line"], place["end"]["line"] + 1)
        known = self._types.beside(document, ())
        shown = any(one.range.start.line < lines.stop and one.range.end.line >= lines.start for one in known)
        if not (missing or shown) or len(document.content) > LONGEST_TEXT:
            return []
        handle = self._asked(document, place, None if shown else missing)
        try:
            async with asyncio.timeout(self._limit_s):
                outcome = await handle
        except TimeoutError:
            _log.info("ty did not say what can be done about %s within %.1f s", document.uri, self._limit_s)
            return []
        made = [task.value for task in outcome.results.values() if task.state is TaskState.COMPLETED]
        return _chosen(made[0] if made else None, ignoring=self._types.wanted)

    def _asked(self, document: Document, place: Mapping[str, Any], found: Sequence[Json] | None) -> JobHandle:
        """Return the job of this question, begun or still going on.

        It goes on when nobody waits for it any more: what ty reads for the first name of a session takes seconds, and
        is there for whoever asks again.
        """
        question = (document, dict(place), found)
        if self._last is None or self._last[0] != question or self._last[1].done():
            handle = self._context.scheduler.run(
                self._answer,
                *question,
                priority=Priority.HIGH,
                name="ty codeAction",
                kind=TaskKind.COROUTINE,
                requirement=_COST,
                supersede_key=("ty's fixes", identity(document.uri)),
                timeout=TimeoutPolicy(hard_s=_LONGEST_S),
            )
            self._last = (question, handle)
        return self._last[1]

    async def _answer(self, document: Document, place: Mapping[str, Any], found: Sequence[Json] | None) -> Any:
        """Return ty's actions about these findings, or where None are given, about its own."""
        self._engine.need_searcher()
        server, key = self._engine.searcher, identity(document.uri)
        if server.name != "ty (references)" or not server.coming:
            return None  # Others were chosen for their names.
        await server.ready()
        about = {"textDocument": {"uri": document.uri}}
        try:
            if found is None:
                report = await server.ask("textDocument/diagnostic", about, about=key)
                items = report.get("items") if isinstance(report, Mapping) else None
                found = [item for item in items or () if touches(item["range"], place)]
            if not found or self._context.documents.get(document.uri) is not document:
                return None
            asked = {**about, "range": place, "context": {"diagnostics": found}}
            reply = server.ask("textDocument/codeAction", asked, about=key)
            made = await reply
        except EngineError as error:
            _log.info("ty does not say what can be done about %s: %s", document.uri, error)
            return None
        is_present = self._context.documents.get(document.uri) is document
        return made if is_present and not reply.disturbed and server.encoding == self._engine.encoding else None


def touches(one: Mapping[str, Any], other: object) -> bool:
    """Whether two LSP ranges have a place in common; what is no range has one with all."""
    if not isinstance(other, Mapping):
        return True
    return _place(one["start"]) <= _place(other["end"]) and _place(other["start"]) <= _place(one["end"])


def _place(position: Mapping[str, int]) -> tuple[int, int]:
    return position["line"], position["character"]


def _as_tys(one: Mapping[str, Any]) -> Json:
    return {"range": one["range"], "message": one.get("message", ""), "code": UNDEFINED[0], "source": "ty"}


def _chosen(made: object, *, ignoring: bool) -> list[Json]:
    """Return the actions that make sense here.

    Of several ways to import a name none is the preferred one: which is meant, only the person knows.
    """
    actions = [dict(one) for one in made if isinstance(one, Mapping)] if isinstance(made, list) else []
    actions = [one for one in actions if ignoring or _IGNORE not in str(one.get("edit"))]
    preferred = [one for one in actions if one.get("isPreferred")]
    if len(preferred) > 1:
        for one in preferred:
            del one["isPreferred"]
    dropped = [id(one) for one in preferred[_MOST_IMPORTS:]]
    return [one for one in actions if id(one) not in dropped]
