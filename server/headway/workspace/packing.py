"""How the store keeps what a file says: as JSON and numbers, since what is read from a disk may run nothing.

Definitions are kept by column, and their lines as differences, which takes a fifth less than one after the other. Of
the texts by which a file is found only the bodies are kept: the rest follows from the definitions. They stand behind
them, so that both are compressed in one: they have most words in common. See `squeezing` for how.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, count, islice
from operator import add, sub

from headway.workspace.index import Chunk, Definition, chunks_of

_SEVEN_BITS = 0x7F
_MORE = 0x80
_LINE, _COLUMN, _END_LINE, _NAME_LINE, _NAME_COLUMN = (
    Definition._fields.index(name) for name in ("line", "column", "end_line", "name_line", "name_column")
)
_RELATIVE = ((_END_LINE, _LINE), (_NAME_LINE, _LINE), (_NAME_COLUMN, _COLUMN))


def pack(definitions: Sequence[Definition], chunks: Sequence[Chunk]) -> bytes:
    """Return what a file says as one block of bytes."""
    return b"\0".join((_pack_definitions(definitions), _pack_bodies(chunks)))


def unpack_definitions(block: bytes) -> list[Definition]:
    """Return the definitions of what `pack` packed.

    Raises:
        ValueError: the block is damaged.
    """
    return _definitions(block.partition(b"\0")[0])


def unpack(block: bytes) -> tuple[list[Definition], list[tuple[int, str]]]:
    """Return what `pack` packed: definitions, and of each text the number of its definition and its body's words.

    Raises:
        ValueError: the block is damaged.
    """
    definitions, _, bodies = block.partition(b"\0")
    return _definitions(definitions), _bodies(bodies)


def unpack_chunks(path: str, block: bytes) -> list[Chunk]:
    """Return the texts by which a file is found: the full-text table wants them back to forget them.

    Raises:
        ValueError: the block is damaged.
    """
    return chunks_of(path, *unpack(block))


def _pack_definitions(definitions: Sequence[Definition]) -> bytes:
    columns = [list(column) for column in zip(*definitions, strict=True)]
    if columns:
        for column, base in _RELATIVE:
            columns[column] = list(map(sub, columns[column], columns[base]))
        lines = columns[_LINE]
        columns[_LINE] = list(map(sub, lines, [0, *lines]))
    # In JSON no zero stands for itself, so one can end it.
    return json.dumps(columns, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _definitions(block: bytes) -> list[Definition]:
    columns = json.loads(block)
    if columns:
        columns[_LINE] = list(accumulate(columns[_LINE]))
        for column, base in _RELATIVE:
            columns[column] = list(map(add, columns[column], columns[base]))
    return list(map(Definition._make, zip(*columns, strict=True)))


def _pack_bodies(chunks: Sequence[Chunk]) -> bytes:
    """Return what `unpack_chunks` needs of a file's texts besides its definitions.

    Each word of a file once, and of each text which of them it holds: in their order in the file, since the full-text
    table counts words and knows no phrases. That takes a quarter less than the texts as they are.
    """
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    block = bytearray()
    former = 0
    for chunk in chunks:
        held = sorted(map(numbers.__getitem__, chunk.body.split()))
        block += _small((chunk.ordinal - former, len(held), *map(sub, held, (0, *held))))
        former = chunk.ordinal
    words = " ".join(numbers).encode("utf-8", "surrogatepass")
    return b"\0".join((words, block))


def _bodies(packed: bytes) -> list[tuple[int, str]]:
    told, _, block = packed.partition(b"\0")
    words = told.decode("utf-8", "surrogatepass").split(" ")
    values = iter(_large(block))
    found = []
    ordinal = 0
    try:
        for step in values:
            ordinal += step
            length = next(values)
            held = list(accumulate(islice(values, length)))
            found.append((ordinal, " ".join([words[number] for number in held])))
            if len(held) < length:
                raise IndexError(length)
    except (StopIteration, IndexError) as error:
        raise ValueError("the texts of a file are not what they say") from error
    return found


def _small(values: Sequence[int]) -> bytes:
    """Return numbers from 0 on, of which small ones take one byte: seven bits each, the last one without the eighth."""
    if max(values, default=0) <= _SEVEN_BITS:
        return bytes(values)
    found = bytearray()
    for value in values:
        rest = value
        while rest > _SEVEN_BITS:
            found.append(rest & _SEVEN_BITS | _MORE)
            rest >>= 7
        found.append(rest)
    return bytes(found)


def _large(block: bytes) -> list[int]:
    """Return the numbers that `_small` made small."""
    found = []
    value = shift = 0
    for byte in block:
        value |= (byte & _SEVEN_BITS) << shift
        shift += 7
        if byte < _MORE:
            found.append(value)
            value = shift = 0
    return found
