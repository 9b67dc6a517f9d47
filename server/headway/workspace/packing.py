"""How the store keeps what a file says: compressed JSON, since nothing that is read from a disk may run anything.

Definitions are kept by column, and their lines as differences, which takes a fifth less than one after the other. Of
the texts by which a file is found only the bodies are kept: the rest follows from the definitions.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from itertools import accumulate
from operator import add, sub

from headway.workspace.index import Chunk, Definition, chunks_of

_LEVEL = 6
_LINE, _COLUMN, _END_LINE, _NAME_LINE, _NAME_COLUMN = (
    Definition._fields.index(name) for name in ("line", "column", "end_line", "name_line", "name_column")
)
_RELATIVE = ((_END_LINE, _LINE), (_NAME_LINE, _LINE), (_NAME_COLUMN, _COLUMN))


def pack_definitions(definitions: Sequence[Definition]) -> bytes:
    """Return definitions in small."""
    columns = [list(column) for column in zip(*definitions, strict=True)]
    if columns:
        for column, base in _RELATIVE:
            columns[column] = list(map(sub, columns[column], columns[base]))
        lines = columns[_LINE]
        columns[_LINE] = list(map(sub, lines, [0, *lines]))
    return _packed(columns)


def unpack_definitions(blob: bytes) -> list[Definition]:
    """Return what `pack_definitions` packed.

    Raises:
        zlib.error, ValueError: the blob is damaged.
    """
    columns = json.loads(zlib.decompress(blob))
    if columns:
        columns[_LINE] = list(accumulate(columns[_LINE]))
        for column, base in _RELATIVE:
            columns[column] = list(map(add, columns[column], columns[base]))
    return list(map(Definition._make, zip(*columns, strict=True)))


def pack_bodies(chunks: Sequence[Chunk]) -> bytes:
    """Return in small what `unpack_chunks` needs of a file's texts besides its definitions."""
    return _packed(([chunk.ordinal for chunk in chunks], [chunk.body for chunk in chunks]))


def unpack_chunks(path: str, definitions: bytes, bodies: bytes) -> list[Chunk]:
    """Return the texts by which a file is found: the full-text table wants them back to forget them.

    Raises:
        zlib.error, ValueError: a blob is damaged.
    """
    return chunks_of(path, unpack_definitions(definitions), unpack_bodies(bodies))


def unpack_bodies(blob: bytes) -> list[tuple[int, str]]:
    """Return for each text of a file the number of its definition and the words of its body.

    Raises:
        zlib.error, ValueError: the blob is damaged.
    """
    ordinals, texts = json.loads(zlib.decompress(blob))
    return list(zip(ordinals, texts, strict=True))


def _packed(rows: object) -> bytes:
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode("utf-8", "surrogatepass"), _LEVEL)
