"""Semantic tokens of one legend told in another's numbers. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_NUMBERS = 5  # of a token: lines and columns since the last one, length, type, modifiers


def translated(
    data: Sequence[int],
    types: Sequence[str],
    modifiers: Sequence[str],
    to_types: Sequence[str],
    to_modifiers: Sequence[str],
) -> list[int]:
    """Return the `data` of SemanticTokens in the numbers of another legend.

    Tokens of a type that the other legend lacks are left out, modifiers that it lacks are dropped.

    Args:
        data: Five numbers for each token, as LSP has them.
        types, modifiers: What they mean now.
        to_types, to_modifiers: The other legend.
    """
    new_type = {number: to_types.index(name) for number, name in enumerate(types) if name in to_types}
    new_bit = {
        1 << number: 1 << to_modifiers.index(name) for number, name in enumerate(modifiers) if name in to_modifiers
    }
    found: list[int] = []
    line = column = last_line = last_column = 0
    for at in range(0, len(data) - len(data) % _NUMBERS, _NUMBERS):
        lines, columns, length, kind, bits = data[at : at + _NUMBERS]
        line, column = line + lines, columns if lines else column + columns
        if kind not in new_type:
            continue
        since = column if line != last_line else column - last_column
        marks = sum(new for old, new in new_bit.items() if bits & old)
        found += (line - last_line, since, length, new_type[kind], marks)
        last_line, last_column = line, column
    return found
