"""Trees of texts that are being edited: the next version of one is parsed only where it differs. For workers.

What an incremental parse gives for sound text is what parsing all of it gives. For broken text the parser may mend it
otherwise; such an index lasts until the text is sound, or read from disk.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, NamedTuple

from tree_sitter import Parser, Tree

from headway.workspace.syntax import Source

_MOST: Final = 4  # texts that somebody edits by turns; a tree takes some ten times its text


class _Kept(NamedTuple):
    data: bytes
    tree: Tree
    parser: Parser


class Trees:
    """The last trees of a few texts."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: dict[Hashable, _Kept] = {}  # the last one used is last
        self.reused = 0  # parses that began with a former tree

    def parse(self, key: Hashable, source: Source, parser: Parser) -> Tree | None:
        """Return the tree of a text, None where the parser is not done within the limit.

        Args:
            key: Says whose text it is; the former text of the same is what it is compared with.
        """
        former = self._kept.pop(key, None)
        edited = None
        if former is not None and former.parser is parser:
            edited = _edited(former, source.data)
            self.reused += 1
        tree = source.parse(parser, edited)
        if tree is not None:
            self._kept[key] = _Kept(source.data, tree, parser)
            if len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        return tree


def _edited(former: _Kept, data: bytes) -> Tree:
    """Return the former tree with where the texts differ marked: one range from the first to the last difference."""
    old = former.data
    start = _same(old, data, min(len(old), len(data)), from_end=False)
    tail = _same(old, data, min(len(old), len(data)) - start, from_end=True)
    old_end, new_end = len(old) - tail, len(data) - tail
    former.tree.edit(start, old_end, new_end, _point(old, start), _point(old, old_end), _point(data, new_end))
    return former.tree


def _same(one: bytes, other: bytes, most: int, *, from_end: bool) -> int:
    """Return how many bytes at the start, or at the end, are the same; at most so many."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        same = one[len(one) - middle :] == other[len(other) - middle :] if from_end else one[:middle] == other[:middle]
        if same:
            low = middle
        else:
            high = middle - 1
    return low


def _point(data: bytes, at: int) -> tuple[int, int]:
    return data.count(b"\n", 0, at), at - (data.rfind(b"\n", 0, at) + 1)
