"""JSON of the conversation: in and out, fast where it is long."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

_LONG_BYTES = 64 * 2**10  # a message from here on is decoded by what decodes fast


@dataclass(frozen=True, slots=True)
class Encoded:
    """A result that is JSON already."""

    body: bytes


def dumps(value: object) -> bytes:
    """Return compact JSON. ASCII only: a lone surrogate in a file's text must not break the stream."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")


def encoded(value: object) -> Encoded:
    """Encode a long result: ten times faster than `json`, which takes over where a text holds a lone surrogate."""
    import msgspec  # Nothing is long before `initialize` is answered, and that need not wait for it.

    try:
        return Encoded(msgspec.json.encode(value))
    except UnicodeEncodeError:
        return Encoded(dumps(value))


def loads(body: bytes) -> Any:
    """Decode a message, in less than half the time where `msgspec` is there by now and the message is well-formed."""
    if len(body) >= _LONG_BYTES or "msgspec" in sys.modules:
        import msgspec  # as above

        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            pass  # `json` takes lone surrogates, and says what is wrong with the rest
    return json.loads(body)
