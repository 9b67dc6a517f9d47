"""An exception of user code as a `Failure`: plain data that always travels, whatever the exception is made of."""

from __future__ import annotations

import os
import traceback
from types import TracebackType

from headway.scheduler.errors import StepError
from headway.scheduler.model import Failure
from headway.scheduler.retry import kind_of

_OURS = os.path.dirname(__file__)
_MESSAGE_CHARACTERS = 2_000
_TRACEBACK_CHARACTERS = 8_000


def failure_of(error: BaseException) -> Failure:
    """Return what became of a step that raised `error`. Never raises, also when the exception's own methods do."""
    retry_after_s = error.retry_after_s if isinstance(error, StepError) else None
    return Failure(
        kind=kind_of(error),
        message=_message_of(error),
        type_name=type(error).__qualname__,
        traceback=_traceback_of(error),
        retry_after_s=retry_after_s,
    )


def _message_of(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"the step called sys.exit({error.code!r})"[:_MESSAGE_CHARACTERS]
    try:
        text = str(error)
    # An exception's own method may raise anything; the failure that it describes is the one to report.
    except Exception as second:  # noqa: BLE001
        text = f"(its message cannot be read: {type(second).__qualname__})"
    return (text or type(error).__qualname__)[:_MESSAGE_CHARACTERS]


def _traceback_of(error: BaseException) -> str:
    try:
        text = "".join(traceback.format_exception(type(error), error, _users_part(error.__traceback__)))
    # As above: formatting asks the exception and its causes for their texts.
    except Exception as second:  # noqa: BLE001
        text = "".join(traceback.format_tb(error.__traceback__)) + f"{type(error).__qualname__} ({second!r})\n"
    if len(text) > _TRACEBACK_CHARACTERS:
        text = "…\n" + text[-_TRACEBACK_CHARACTERS:]
    return text


def _users_part(found: TracebackType | None) -> TracebackType | None:
    """Leave out the frames at the outer end that are ours: they say nothing about the step."""
    while found is not None and os.path.dirname(found.tb_frame.f_code.co_filename) == _OURS:
        found = found.tb_next
    return found
