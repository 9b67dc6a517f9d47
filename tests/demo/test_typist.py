"""What counts as an answer to a key, and what as the known name found."""

import asyncio
from collections.abc import Sequence

from headway.demo.client import Answer, Request
from headway.demo.statements import Statement
from headway.demo.typist import Asked, Key, When, keys_of

STATEMENT = Statement(file="a.py", line=0, column=0, text="a.wan", label="wanted", known_from=2, kind="module")
RIGHT = [{"label": "wanted"}]
WRONG = [{"label": "other"}]


def judged(*rows: tuple[int, Answer | None, bool], gone_s: float = 100.0) -> list[Key]:
    """Keys pressed at seconds 0, 1, 2 …; each row: characters typed, its answer, whether it was cancelled."""

    async def judge() -> list[Key]:
        asked = []
        for second, (count, answer, cancelled) in enumerate(rows):
            request = Request(second, "textDocument/completion")
            request.cancelled = cancelled
            if answer is not None:
                request.answer.set_result(answer)
            asked.append(Asked(at_s=float(second), when=When.IDLE, count=count, request=request))
        return keys_of(STATEMENT, asked, gone_s)

    return asyncio.run(judge())


def answer(at_s: float, labels: Sequence[dict[str, str]]) -> Answer:
    return Answer(at_s=at_s, result=labels)


def test_a_key_waits_for_the_first_list_of_its_own_or_later() -> None:
    """The first key was cancelled, the second answered after the third."""
    keys = judged((2, None, True), (3, answer(2.9, RIGHT), False), (4, answer(2.5, RIGHT), False))
    assert [key.wait_s for key in keys] == [2.5, 1.5, 0.5]


def test_the_answer_to_a_cancelled_request_is_nobodys() -> None:
    refused = Answer(at_s=0.2, error={"code": -32800, "message": "cancelled"})
    keys = judged((2, refused, True), (3, answer(0.4, RIGHT), True), (4, answer(2.5, WRONG), False))
    assert [(key.wait_s, key.hit, key.failed) for key in keys] == [
        (2.5, None, None),
        (1.5, None, None),
        (0.5, False, None),
    ]


def test_what_comes_when_the_person_has_gone_on_is_nothing() -> None:
    (key,) = judged((3, answer(6.0, RIGHT), False), gone_s=5.0)
    assert (key.wait_s, key.hit) == (None, None)


def test_the_name_is_due_only_where_the_source_proves_it() -> None:
    keys = judged((1, answer(0.1, WRONG), False), (2, answer(1.1, RIGHT), False), (3, answer(2.1, WRONG), False))
    assert [key.hit for key in keys] == [None, True, False]


def test_an_error_nobody_asked_for_is_kept() -> None:
    (key,) = judged((2, Answer(at_s=0.1, error={"code": -32603, "message": "broken"}), False))
    assert (key.wait_s, key.failed) == (None, "broken")
