"""What two sides agree on at `initialize`, and looking into the JSON that says so. Imports next to nothing."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any


class Encoding(enum.StrEnum):
    """How the client counts columns."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"


def negotiate(offered: object) -> Encoding:
    """Choose the position encoding: the first that the client offers and we know; UTF-16 where it offers none."""
    if isinstance(offered, list):
        for name in offered:
            if name in set(Encoding):
                return Encoding(name)
    return Encoding.UTF16


def dig(tree: object, *keys: str) -> Any:
    """Return what stands under nested keys of JSON objects, None where any of them is missing."""
    for key in keys:
        if not isinstance(tree, Mapping):
            return None
        tree = tree.get(key)
    return tree
