"""The lists that were answered lately, so that more can be told of what is in them."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.engines.ty import documentation
from headway.features.completion import Candidate, CompletionList, ResolvedCandidate
from headway.features.importing import import_edit
from headway.session.typed_word import TypedWord
from headway.workspace.documents import Document
from headway.workspace.text import Position, Range

if TYPE_CHECKING:
    from headway.session.other_languages import OtherWord

_REMEMBERED_LISTS = 8


@dataclass(frozen=True, slots=True)
class Shown:
    """A list that was answered, for `resolve`."""

    items: tuple[Candidate, ...]
    word: TypedWord | OtherWord
    uri: str


class ShownLists:
    """Numbers lists and remembers the newest."""

    def __init__(self) -> None:
        self._shown: OrderedDict[int, Shown] = OrderedDict()
        self._ids = itertools.count(1)

    def list(
        self,
        document: Document | None,
        start: Position,
        position: Position,
        items: tuple[Candidate, ...],
        *,
        incomplete: bool,
        end: Position | None = None,
        word: TypedWord | OtherWord | None = None,
    ) -> CompletionList:
        """Make a list out of candidates; `start` and `end` are those of the word that the cursor is in."""
        list_id = next(self._ids)
        if document is not None and word is not None and items:
            self._shown[list_id] = Shown(items, word, document.uri)
            while len(self._shown) > _REMEMBERED_LISTS:
                self._shown.popitem(last=False)
        return CompletionList(
            list_id=list_id,
            items=items,
            incomplete=incomplete,
            insert_range=Range(start, position),
            replace_range=Range(start, end or position),
        )

    def get(self, list_id: int, index: int) -> Shown | None:
        """Return a list that has a candidate of this index; None where it is forgotten."""
        shown = self._shown.get(list_id)
        return None if shown is None or not 0 <= index < len(shown.items) else shown


def known_of(shown: Shown, word: TypedWord, index: int, document: Document | None) -> ResolvedCandidate:
    """Return what is known by now of a candidate of a list, in a document as it is now."""
    candidate = shown.items[index]
    item = None
    if candidate.import_from is None:
        # ty may have answered after the list was shown: then more is known of its names by now.
        word.engine_source()
        item = next((item for item in word.engine_items if item.label == candidate.label), None)
    edit = None
    if candidate.import_from is not None and document is not None:
        edit = import_edit(document.content, candidate.import_from, candidate.label)
    return ResolvedCandidate(
        detail=candidate.detail or (item.detail if item is not None else None),
        documentation=documentation(item) if item is not None else candidate.documentation,
        edits=() if edit is None else (edit,),
    )
