"""Values as JSON text of bounded size, or not at all. Pure.

A value that a task returned may be anything of any size. It is measured before it is encoded, so that a huge one costs
no more than the limit.
"""

from __future__ import annotations

import json
from typing import Any

MOST_NODES = 20_000
MOST_DEPTH = 64


def storable(value: Any, limit_bytes: int) -> str | None:
    """Return `value` as JSON; None where it is no JSON value, larger than `limit_bytes`, or changed meanwhile.

    Tuples come back as lists. Keys of mappings must be strings: others would come back as something else.
    """
    try:
        if _size(value, limit_bytes) is None:
            return None
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # A lone surrogate is text in Python and nothing that can be stored.
        return text if len(text.encode()) <= limit_bytes else None
    except (TypeError, ValueError, RuntimeError):  # RuntimeError: its owner changed a mapping while it was read
        return None


def storable_text(text: str) -> str:
    """Return `text` as it can be stored: names of files may hold lone surrogates, and databases take none."""
    return text.encode("utf-8", "backslashreplace").decode()


def _size(value: Any, limit_bytes: int) -> int | None:
    """Return about how many bytes of JSON a value takes; None beyond the limits and for what JSON does not know."""
    size = nodes = 0
    stack: list[tuple[Any, int]] = [(value, 0)]
    while stack:
        node, depth = stack.pop()
        nodes += 1
        if isinstance(node, str):
            size += len(node) + 2
        elif node is None or isinstance(node, bool | float):
            size += 4
        elif isinstance(node, int):
            size += 1 + node.bit_length() // 4
        elif isinstance(node, list | tuple):
            size += 2 + len(node)
            if size <= limit_bytes:
                stack.extend((item, depth + 1) for item in node)
        elif isinstance(node, dict):
            size += 2 + 2 * len(node)
            if size <= limit_bytes:
                for key, item in node.items():
                    if not isinstance(key, str):
                        return None
                    size += len(key) + 2
                    stack.append((item, depth + 1))
        else:
            return None
        if size > limit_bytes or nodes > MOST_NODES or depth > MOST_DEPTH:
            return None
    return size
