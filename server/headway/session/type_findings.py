"""Type errors of open documents, by the ty that also looks for references: it takes seconds, and no key waits for it.

They are looked for in workspaces that configure a type checker, where the setting does not say otherwise: in other code
a person would be shown hundreds of errors that nobody ever meant to mend.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from headway.engines.errors import EngineAnswerError, EngineError
from headway.engines.mirror import LONGEST_TEXT
from headway.engines.ruff import RuffReport
from headway.engines.type_checkers import CONFIGURATIONS, is_type_checked
from headway.features.analysis import Finding, findings
from headway.scheduler.model import Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.ports import FileChange, SessionContext
from headway.session.python_engine import PythonEngine
from headway.workspace.documents import Document
from headway.workspace.uris import identity

_log = logging.getLogger(__name__)
_COST = Requirement(cpu_cores=0.0, memory_mb=1)  # ty computes; nothing is to wait for a core here
_LIMIT_S: Final = 60.0
_STALE_ANSWERS: Final = 3
_REPORTS: Final = msgspec.json.Decoder(RuffReport | None)
_SYNTAX: Final = "invalid-syntax"  # ruff says it, and sooner
UNDEFINED: Final = ("unresolved-reference", "F821")  # the same, by ty and by ruff


class TypeFindings:
    """Looks for them, and remembers those of the present texts.

    Args:
        found: Is told when there is something new to show for a document.
        first_after_s: How long ty is left alone at first: the first keys go first.
    """

    def __init__(
        self,
        context: SessionContext,
        engine: PythonEngine,
        found: Callable[[Document], None],
        *,
        first_after_s: float = 0.0,
    ) -> None:
        self._context = context
        self._engine = engine
        self._found = found
        self._first_after_s = first_after_s
        self._known: dict[str, tuple[Document, list[Finding]]] = {}
        self._is_type_checked: bool | None = None  # None: to be looked up
        self._voided = 0  # how often what was being looked for was no longer of use

    @property
    def wanted(self) -> bool:
        """Whether type errors are to be shown here."""
        match self._context.settings.diagnostics.types:
            case "off":
                return False
            case "on":
                return True
        if self._is_type_checked is None:
            roots = [folder.path for folder in self._context.folders if folder.path is not None]
            self._is_type_checked = is_type_checked(roots)
        return self._is_type_checked

    def changed(self, changes: Sequence[FileChange] = ()) -> bool:
        """Files, folders or settings changed; return whether what was found may no longer hold."""
        if changes and not any(change.uri.rpartition("/")[2] in CONFIGURATIONS for change in changes):
            return False
        self._is_type_checked = None
        self._known.clear()
        return True

    def closed(self, key: str) -> None:
        """A document was closed, or what it builds on is another: what was found in it, or is just being, is void."""
        self._known.pop(key, None)
        self._voided += 1

    def beside(self, document: Document, others: Sequence[Finding]) -> list[Finding]:
        """Return the type errors of a document's present text, as far as known, without what others have said."""
        known = self._known.get(identity(document.uri))
        if known is None or known[0] is not document or not self.wanted:
            return []
        undefined, same = UNDEFINED
        said = {one.range.start for one in others if one.code == same}
        return [one for one in known[1] if one.code != undefined or one.range.start not in said]

    def look(self, document: Document) -> None:
        """Have a document looked at, unless that was done or is not wanted."""
        key = identity(document.uri)
        known = self._known.get(key)
        if (known is not None and known[0] is document) or not self.wanted or len(document.content) > LONGEST_TEXT:
            return
        self._context.scheduler.run(
            self._look,
            key,
            document,
            priority=Priority.LOW,
            name=f"types of {document.uri.rpartition('/')[2][:80]}",
            kind=TaskKind.COROUTINE,
            requirement=_COST,
            supersede_key=("types", key),
            timeout=TimeoutPolicy(hard_s=_LIMIT_S + self._first_after_s + 5),
        )

    async def _look(self, key: str, document: Document) -> None:
        wait_s, self._first_after_s = self._first_after_s, 0.0
        await asyncio.sleep(wait_s)
        self._engine.need_searcher()
        ty = self._engine.searcher
        if ty.name != "ty (references)":
            return  # Others were chosen for their names, not for their errors.
        try:
            async with asyncio.timeout(_LIMIT_S):
                for _ in range(_STALE_ANSWERS):
                    if not ty.coming:
                        return
                    await ty.ready()
                    if self._context.documents.get(document.uri) is not document:
                        return  # The newer text is looked at in its turn.
                    params, voided = {"textDocument": {"uri": document.uri}}, self._voided
                    try:
                        reply = ty.ask("textDocument/diagnostic", params, about=key, decoder=_REPORTS)
                        report = await reply
                    except EngineAnswerError as error:
                        if not error.stale:
                            raise
                        continue
                    if not reply.disturbed and self._voided == voided:
                        self._take(key, document, findings(document, report, ty.encoding, source="ty"))
                        return
        except TimeoutError:
            _log.info("no type errors of %s within %.0f s", document.uri, _LIMIT_S)
        except EngineError as error:
            _log.info("no type errors of %s: %s", document.uri, error)

    def _take(self, key: str, document: Document, found: Sequence[Finding]) -> None:
        if self._context.documents.get(document.uri) is document:
            self._known[key] = (document, [one for one in found if one.code != _SYNTAX])
            self._found(document)
