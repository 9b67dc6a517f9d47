"""How the store keeps what a file says: compressed JSON, since nothing that is read from a disk may run anything."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence

from headway.workspace.index import Chunk, Definition


def pack_definitions(definitions: Sequence[Definition]) -> bytes:
    """Return definitions in small."""
    return _packed(definitions)


def unpack_definitions(blob: bytes) -> list[Definition]:
    """Return what `pack_definitions` packed.

    Raises:
        zlib.error, ValueError: the blob is damaged.
    """
    return [Definition(*fields) for fields in json.loads(zlib.decompress(blob))]


def pack_chunks(chunks: Sequence[Chunk]) -> bytes:
    """Return the texts by which a file is found in small: the full-text table wants them back to forget them."""
    return _packed(chunks)


def unpack_chunks(blob: bytes) -> list[Chunk]:
    """Return what `pack_chunks` packed.

    Raises:
        zlib.error, ValueError: the blob is damaged.
    """
    return [Chunk(*fields) for fields in json.loads(zlib.decompress(blob))]


def _packed(rows: Sequence[object]) -> bytes:
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode("utf-8", "surrogatepass"), 1)
