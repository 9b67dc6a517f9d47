"""Code of others as the engine meets it: what to call it in a message, and how it is brought to its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

_log = logging.getLogger(__name__)


async def end_source(feeder: asyncio.Task[None] | None, close: Callable[[], Any] | None) -> None:
    """Let a feeder end, then the generator that it read from; what they raise is of no use any more, but is said."""
    if feeder is not None:
        feeder.cancel()
        await asyncio.wait((feeder,))
    if close is None:
        return
    try:
        await close()
    # The generator's clean-up is user code, and nobody waits for it.
    except Exception:
        _log.exception("the source of a job failed while it was closed")


def name_of(call: Callable[..., Any]) -> str:
    """Return what a function calls itself."""
    return getattr(call, "__qualname__", repr(call))
