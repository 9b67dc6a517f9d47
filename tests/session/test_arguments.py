"""Wrong arguments are named by their path and say what would be right."""

from collections.abc import Callable

import pytest

from headway.scheduler.model import Priority
from headway.session.arguments import Arguments
from headway.session.ports import InvalidArgumentError


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda a: a.text("gone"), "tasks[2].gone: is missing"),
        (lambda a: a.text("number"), "tasks[2].number: must be a string, not 5"),
        (lambda a: a.number("word"), "tasks[2].word: must be a number, not 'x'"),
        (lambda a: a.number("number", high=4), "tasks[2].number: must be from 0 to 4, not 5"),
        (lambda a: a.number("flag"), "tasks[2].flag: must be a number, not True"),
        (lambda a: a.number("endless"), "tasks[2].endless: must be a number, not inf"),
        (lambda a: a.integer("half"), "tasks[2].half: must be a whole number, not 0.5"),
        (lambda a: a.integer("minus"), "tasks[2].minus: must be from 0 to 9007199254740992, not -1"),
        (lambda a: a.flag("number"), "tasks[2].number: must be true or false, not 5"),
        (
            lambda a: a.choice("word", Priority, by_name=True),
            "tasks[2].word: must be one of CRITICAL, HIGH, NORMAL, LOW, BATCH, not 'x'",
        ),
        (lambda a: a.texts("mixed"), "tasks[2].mixed[1]: must be a string, not 2"),
        (lambda a: a.sequence("word"), "tasks[2].word: must be a list, not 'x'"),
        (lambda a: a.inner("word"), "tasks[2].word: must be an object, not 'x'"),
        (lambda a: list(a.each("mixed")), "tasks[2].mixed[0]: must be an object, not 'a'"),
        (lambda a: a.sequence("mixed", most=1), "tasks[2].mixed: must hold at most 1 items, not 2"),
        (lambda a: a.only({"word"}), "tasks[2].number: is not known; known are word"),
    ],
)
def test_what_is_wrong_is_named(read: Callable[[Arguments], object], message: str) -> None:
    given = {
        "number": 5,
        "word": "x",
        "flag": True,
        "endless": float("inf"),
        "half": 0.5,
        "minus": -1,
        "mixed": ["a", 2],
    }
    with pytest.raises(InvalidArgumentError) as caught:
        read(Arguments(given, "tasks[2]"))
    assert str(caught.value) == message


def test_null_counts_as_missing() -> None:
    read = Arguments({"a": None})
    assert not read.has("a")
    assert read.text("a", "default") == "default"
    assert read.choices("a", Priority, by_name=True) is None
