"""What is told of an exception, however large it is and whatever its own methods do."""

from __future__ import annotations

from typing import NoReturn

import pytest

from headway.scheduler.executors.failures import failure_of
from headway.scheduler.model import ErrorKind, Failure


def told(error: BaseException) -> Failure:
    try:
        raise error
    except BaseException as raised:  # noqa: BLE001
        return failure_of(raised)


def test_a_small_one_is_told_whole() -> None:
    failure = told(FileNotFoundError(2, "No such file", "x.py"))
    assert (failure.kind, failure.type_name) == (ErrorKind.NOT_FOUND, "FileNotFoundError")
    assert failure.message in failure.traceback
    assert failure.traceback.startswith("Traceback")


def test_of_a_large_one_the_beginning_of_the_message_and_the_end_of_the_traceback_are_kept() -> None:
    """Both travel through a pipe, and are shown to somebody."""
    error: BaseException = ValueError("first")
    for number in range(40):
        later = ValueError(f"{number} " + "x" * 5_000 + f" end of {number}")
        later.__cause__ = error
        error = later
    failure = told(error)
    assert failure.message.startswith("39 xxx")
    assert len(failure.message) == 2_000
    assert failure.traceback.startswith("…\n")
    assert failure.traceback.rstrip().endswith("end of 39")
    assert len(failure.traceback) < 9_000


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    @property
    def __cause__(self) -> NoReturn:  # type: ignore[override]
        raise RuntimeError("no cause")


def test_one_that_cannot_be_read_is_named_all_the_same() -> None:
    raised, failure = "", Failure(kind=ErrorKind.UNKNOWN, message="")
    try:
        failure = told(UnreadableError())
    except RuntimeError as error:
        raised = repr(error)  # not it itself: pytest could not show what it comes from
    assert raised == ""
    assert failure.message == "(its message cannot be read: RuntimeError)"
    assert "UnreadableError" in failure.traceback
    assert "in told" in failure.traceback


@pytest.mark.parametrize(
    ("error", "message"), [(SystemExit(3), "the step called sys.exit(3)"), (KeyError(), "KeyError")]
)
def test_what_says_nothing_is_told_by_what_it_is(error: BaseException, message: str) -> None:
    assert told(error).message == message
