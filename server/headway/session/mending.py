"""Quick fixes, "fix all", organised imports and formatting, by the ruff server that also finds what is wrong.

Beside ruff's quick fixes stand ty's (see `TypeFixes`).

An editor may ask for these while a file is being saved, so answers are bounded: what is not there in time is nothing.
ruff counts columns as the client does, and its edits pass through as JSON. An edit for a text that is no longer the
present one is never given: applied to another text it would do damage.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headway.engines.errors import EngineAnswerError, EngineError
from headway.engines.mirror import LONGEST_TEXT
from headway.engines.ruff import RuffEngine
from headway.scheduler.model import Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.jobs import RequestSupersededError, value_of
from headway.session.ports import SessionContext
from headway.session.type_findings import UNDEFINED
from headway.session.type_fixes import TypeFixes, touches
from headway.workspace.documents import Document
from headway.workspace.uris import identity

_COST = Requirement(cpu_cores=0.0, memory_mb=1)  # ruff computes; nothing is to wait for a core here
# What a save may be made to wait for; our extension gives up at 750 ms by itself.
SAVE_LIMIT_S: Final = 0.7
_LOOK_LIMIT_S: Final = 3.0
_STALE_ANSWERS: Final = 4
FIX_ALL: Final = "source.fixAll.headway"
ORGANIZE_IMPORTS: Final = "source.organizeImports.headway"
QUICK_FIX: Final = "quickfix"
_MARK: Final = "\ufeff"
_OWN, _RUFFS = ".headway", ".ruff"  # how both end the kinds of what they do to a whole text

_log = logging.getLogger(__name__)

Json = dict[str, Any]


class _Changed(enum.Enum):
    """The text changed before ruff could be asked about it."""

    CHANGED = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class EditAbilities:
    """What the client can do with the edits of an action.

    `versions`: it takes edits that name the version they are for. `later`: it asks for an action's edits when the
    action is chosen (`codeAction/resolve`).
    """

    versions: bool
    later: bool


class Mending:
    """Asks ruff for edits, as jobs.

    Args:
        ruff: Another room keeps it running.
        abilities: Of the client.
        types: Knows what ty can do; None: ruff alone is asked.
        save_limit_s: How long a save is held up at most.
    """

    def __init__(
        self,
        context: SessionContext,
        ruff: RuffEngine,
        abilities: EditAbilities,
        types: TypeFixes | None = None,
        *,
        save_limit_s: float = SAVE_LIMIT_S,
    ) -> None:
        self._context = context
        self._ruff = ruff
        self._abilities = abilities
        self._types = types
        self._save_limit_s = save_limit_s

    async def format(
        self, method: str, uri: str, params: Mapping[str, Any], sent_for: Document | None = None
    ) -> list[Json] | None:
        """Return the edits that format a document or a range of it; None where there is nothing to say in time.

        Args:
            method: `textDocument/formatting` or `textDocument/rangeFormatting`.
            params: As the client sent them.
            sent_for: The text that they are about; None: the present one.

        Raises:
            RequestSupersededError: The text was changed meanwhile: the edits would be for another one.
            RequestCancelledError, RequestFailedError: See `jobs.value_of`.
        """
        document = self._document(uri, sent_for)
        if document is None:
            return None
        edits = await self._asked(document, method, params, Priority.CRITICAL, self._save_limit_s)
        if self._context.documents.get(uri) is not document:
            raise RequestSupersededError(f"the text changed while {method} was being answered")
        return _with_mark(document, edits) if isinstance(edits, list) else None

    async def actions(self, uri: str, params: Mapping[str, Any], sent_for: Document | None = None) -> list[Json]:
        """Return what can be done about a range of a document, as CodeActions; nothing where ruff is away or late.

        Args:
            params: Of `textDocument/codeAction`, as the client sent them.
            sent_for: As for `format`.

        Raises:
            RequestSupersededError, RequestCancelledError, RequestFailedError: As for `format`.
        """
        document = self._document(uri, sent_for)
        if document is None:
            return []
        context = params.get("context")
        context = context if isinstance(context, Mapping) else {}
        only = [kind for kind in context.get("only") or () if isinstance(kind, str)]
        on_whole = bool(only) and all(_is_within(kind, "source") for kind in only)
        limit_s = self._save_limit_s if on_whole else _LOOK_LIMIT_S
        loop = asyncio.get_running_loop()
        due_s = loop.time() + limit_s
        reported: list[Json] = []
        if not on_whole:
            report = await self._asked(
                document, "textDocument/diagnostic", {"textDocument": {"uri": uri}}, Priority.HIGH, limit_s
            )
            found = report.get("items") if isinstance(report, Mapping) else None
            # ruff's own findings, made now: what the client holds may be of an older text, and lacks ruff's fixes.
            reported = [item for item in found or () if touches(item["range"], params.get("range"))]
        asked: Json = {**params, "context": {**context, "diagnostics": reported}}
        if only:
            asked["context"]["only"] = [_ruffs(kind) for kind in only]
        priority = Priority.CRITICAL if on_whole else Priority.HIGH
        made, tys = await asyncio.gather(
            self._asked(document, "textDocument/codeAction", asked, priority, due_s - loop.time()),
            self._types_fixes(document, params.get("range"), reported, only),
        )
        known = [item for item in context.get("diagnostics") or () if isinstance(item, Mapping)]
        made = [action for action in made or () if isinstance(action, dict)]
        actions = [self._action(action, document, known) for action in made if not _is_wider(action)]
        at_hand = [action for action in actions if "edit" in action]
        for one in tys:
            action = self._tys(one, document, known)
            if action is not None and action not in at_hand:
                at_hand.append(action)
        return at_hand + await self._wholes(actions, document, only, due_s)

    async def resolve(self, action: Mapping[str, Any]) -> Json:
        """Return an action with its edits, for the present text; unchanged where there is nothing to say in time.

        Raises:
            RequestSupersededError, RequestCancelledError, RequestFailedError: As for `format`.
        """
        uri, kind = action.get("data"), action.get("kind")
        document = self._document(uri) if isinstance(uri, str) else None
        if document is None or not isinstance(kind, str):
            return dict(action)
        return await self._with_edit(dict(action), document, self._save_limit_s)

    async def _types_fixes(
        self, document: Document, place: object, reported: Sequence[Json], only: Sequence[str]
    ) -> list[Json]:
        """Return ty's quick fixes, where quick fixes are asked for."""
        asked_for = not only or any(_is_within(QUICK_FIX, kind) for kind in only)
        if self._types is None or not asked_for or not isinstance(place, Mapping):
            return []
        return await self._types.actions(document, place, reported)

    # ---- one action -------------------------------------------------------------------------------------------------

    async def _wholes(
        self, actions: Sequence[Json], document: Document, only: Sequence[str], due_s: float
    ) -> list[Json]:
        """Return the actions on a whole text: as promises where the client asks again, else with their edits.

        Who cannot ask again and has not asked for them gets none: working them out with each move of the cursor costs.
        """
        promised = [action for action in actions if "edit" not in action]
        if self._abilities.later:
            return promised
        wanted = [action for action in promised if any(_is_within(action.get("kind", ""), kind) for kind in only)]
        loop = asyncio.get_running_loop()
        made = [await self._with_edit(action, document, due_s - loop.time()) for action in wanted]
        return [action for action in made if "edit" in action]

    async def _with_edit(self, action: Json, document: Document, limit_s: float) -> Json:
        asked = {**action, "kind": _ruffs(action["kind"])}
        made = await self._asked(document, "codeAction/resolve", asked, Priority.CRITICAL, limit_s)
        return self._action(made, document, ()) if isinstance(made, dict) and "edit" in made else action

    def _action(self, made: Mapping[str, Any], document: Document, known: Sequence[Mapping[str, Any]]) -> Json:
        """Return ruff's action as ours: of our kind, about the client's own findings, for the text that it is for."""
        action: Json = {**made, "kind": _ours(str(made.get("kind", QUICK_FIX)))}
        about = action.pop("diagnostics", None) or ()
        codes = [(_said(item), item.get("range")) for item in about if isinstance(item, Mapping)]
        same = [item for item in known if (_said(item), item.get("range")) in codes]
        if same:
            action["diagnostics"] = same
        if isinstance(edit := action.get("edit"), Mapping):
            if not _is_about(edit, document):
                return {key: value for key, value in action.items() if key != "edit"}
            action["edit"] = self._edit(edit, document)
            action.pop("data", None)
        return action

    def _tys(self, made: Mapping[str, Any], document: Document, known: Sequence[Mapping[str, Any]]) -> Json | None:
        """Return ty's action as ours; None where it is not about this document alone, which is all that it was for."""
        edit = made.get("edit")
        changes = edit.get("changes") if isinstance(edit, Mapping) else None
        if not isinstance(changes, Mapping) or list(changes) != [document.uri]:
            return None
        return self._action({**made, "edit": {"documentChanges": [{"edits": changes[document.uri]}]}}, document, known)

    def _edit(self, edit: Mapping[str, Any], document: Document) -> Json:
        changes = edit.get("documentChanges")
        if not isinstance(changes, list):
            return dict(edit)
        edits = [one for change in changes for one in _with_mark(document, change["edits"])]
        if not self._abilities.versions:
            return {"changes": {document.uri: edits}}
        named = {"uri": document.uri, "version": document.version}
        return {"documentChanges": [{"textDocument": named, "edits": edits}]}

    # ---- asking -----------------------------------------------------------------------------------------------------

    def _document(self, uri: str, sent_for: Document | None = None) -> Document | None:
        document = sent_for or self._context.documents.get(uri)
        if document is None or document.language != "python" or len(document.content) > LONGEST_TEXT:
            return None
        return document

    async def _asked(
        self, document: Document, method: str, params: Mapping[str, Any], priority: Priority, limit_s: float
    ) -> Any:
        """Return ruff's answer about a document; None where there is none in time."""
        try:
            async with asyncio.timeout(limit_s):
                answer = await value_of(
                    self._context.scheduler.run(
                        self._answer,
                        document,
                        method,
                        params,
                        priority=priority,
                        name=f"ruff {method.rpartition('/')[2]}",
                        kind=TaskKind.COROUTINE,
                        requirement=_COST,
                        timeout=TimeoutPolicy(hard_s=_LOOK_LIMIT_S + 2),
                    )
                )
        except TimeoutError:
            _log.info("ruff did not answer %s for %s within %.1f s", method, document.uri, limit_s)
            return None
        if answer is _Changed.CHANGED:
            raise RequestSupersededError(f"the text changed before {method} could be answered")
        return answer

    async def _answer(self, document: Document, method: str, params: Mapping[str, Any]) -> Any:
        for _ in range(_STALE_ANSWERS):
            if not self._ruff.coming:
                return None
            await self._ruff.ready()
            if self._context.documents.get(document.uri) is not document:
                return _Changed.CHANGED
            try:
                reply = self._ruff.ask(method, params, about=identity(document.uri))
                answer = await reply
            except EngineAnswerError as error:
                if not error.stale:
                    _log.info("no answer to %s for %s: %s", method, document.uri, error)
                    return None
            except EngineError as error:
                _log.info("no answer to %s for %s: %s", method, document.uri, error)
                return None
            else:
                if not reply.disturbed:
                    return answer
        return None


def _with_mark(document: Document, edits: Sequence[Json]) -> list[Json]:
    """Return edits that leave a byte order mark at the text's beginning where it is; ruff would take it away."""
    if not document.line(0).startswith(_MARK):
        return list(edits)
    kept = []
    for edit in edits:
        start, end = edit["range"]["start"], edit["range"]["end"]
        if (start["line"], start["character"]) == (0, 0):
            if (end["line"], end["character"]) == (0, 1) and not edit["newText"]:
                continue
            edit = {**edit, "newText": _MARK + edit["newText"].removeprefix(_MARK)}
        kept.append(edit)
    return kept


def _is_wider(action: Mapping[str, Any]) -> bool:
    """Whether an action is about a whole notebook: its edits would be for other texts than the one asked about."""
    return str(action.get("kind", "")).startswith("notebook.")


def _is_about(edit: Mapping[str, Any], document: Document) -> bool:
    """Whether an edit changes this document alone, which is all that it was asked about."""
    changes = edit.get("documentChanges")
    uris = [change.get("textDocument", {}).get("uri") for change in changes] if isinstance(changes, list) else ()
    return all(identity(uri) == identity(document.uri) for uri in uris if isinstance(uri, str))


def _said(finding: Mapping[str, Any]) -> object:
    """Return what a finding says, in one word: a name that is not defined has two."""
    code = finding.get("code")
    return UNDEFINED[1] if code in UNDEFINED else code


def _ruffs(kind: str) -> str:
    return kind.removesuffix(_OWN) + _RUFFS if kind.endswith(_OWN) else kind


def _ours(kind: str) -> str:
    return kind.removesuffix(_RUFFS) + _OWN if kind.endswith(_RUFFS) else kind


def _is_within(kind: str, wider: str) -> bool:
    """Whether a kind of action is a wider one, or below it: `source.fixAll` is within `source`."""
    return kind == wider or kind.startswith(f"{wider}.")
