"""A word that is being typed: how often the engine is asked for it."""

from __future__ import annotations

import pytest

from headway.engines.client import Reply
from headway.engines.ty import TyItem, TyList
from headway.session.typed_word import Surroundings, TypedWord
from headway.workspace.documents import Document
from headway.workspace.text import Position


def word_in(text: str, position: Position) -> TypedWord:
    document = Document(uri="file:///a.py", language="python", version=1, text=text)
    around = Surroundings.of(document.content, position.line)
    return TypedWord(document, around.place(position), text, "", around)


def answered(*, disturbed: bool, items: tuple[str, ...] = ()) -> Reply:
    reply = Reply(1, "textDocument/completion", None)
    reply.disturbed = disturbed
    reply.set_result(TyList(items=[TyItem(label=item) for item in items]))
    return reply


def wanted(word: TypedWord) -> bool:
    return word.to_be_asked


@pytest.mark.asyncio
async def test_a_word_whose_answers_all_fell_to_changes_is_asked_about_again_for_the_next_request() -> None:
    word = word_in("thing.", Position(0, 6))
    word.requested()
    while wanted(word):
        word.asked(answered(disturbed=True))
    assert word.engine_source() is None
    word.requested()
    assert wanted(word)
    word.asked(answered(disturbed=False, items=("name",)))
    assert not wanted(word)
    source = word.engine_source()
    assert source is not None
    assert list(source.labels) == ["name"]


@pytest.mark.asyncio
async def test_a_word_that_was_answered_is_not_asked_about_again() -> None:
    word = word_in("thing.", Position(0, 6))
    word.asked(answered(disturbed=False, items=("name",)))
    word.requested()
    assert not wanted(word)
