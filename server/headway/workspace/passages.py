"""What of a file is searched by meaning, and as which texts: a passage for each definition worth finding. Pure.

A passage's key stands for its text alone, so that the same text in another file, branch or checkout has the same
vector; a content's key stands for a whole file, so that one that is known need not be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from headway.workspace.index import Definition, SymbolKind, language_of
from headway.workspace.words import split_identifier

# Raise it when the same definition would now be another text.
PASSAGE_VERSION: Final = 1

# Small models read 256 to 512 tokens; code has one in about three characters.
_MAX_CHARS: Final = 1_000
_MAX_DOC_CHARS: Final = 500
KEY_BYTES: Final = 16
# Names without a text of their own: what they mean is said where they stand.
_WITHOUT_PASSAGE: Final = frozenset(
    {
        *(SymbolKind.PROPERTY, SymbolKind.FIELD, SymbolKind.VARIABLE, SymbolKind.CONSTANT, SymbolKind.KEY),
        *(SymbolKind.ENUM_MEMBER, SymbolKind.OBJECT),
    }
)
_DATA: Final = frozenset({"json", "yaml", "toml", "ini"})


class Passage(NamedTuple):
    """A text by which one definition (`ordinal` among its file's) is found by meaning."""

    ordinal: int
    kind: int
    text: str

    @property
    def key(self) -> bytes:
        """16 bytes that stand for the text."""
        return hashlib.blake2b(self.text.encode("utf-8", "replace"), digest_size=KEY_BYTES).digest()


def content_key(path: str, digest: bytes, fingerprint: str) -> bytes:
    """Return 16 bytes that stand for all passages of a file.

    Args:
        digest: Of the file's content.
        fingerprint: Of what reads files; another one may find other definitions.
    """
    said = f"{PASSAGE_VERSION}\0{fingerprint}\0{language_of(path)}\0{PurePosixPath(path).stem}\0"
    return hashlib.blake2b(said.encode("utf-8", "replace") + digest, digest_size=KEY_BYTES).digest()


def passages(path: str, text: str, definitions: Sequence[Definition]) -> list[Passage]:
    """Return the passages of a file.

    Args:
        definitions: All that the index holds of it, the whole file first.
    """
    lines = text.split("\n")
    if language_of(path) in _DATA:
        definitions = definitions[:1]
    return [
        Passage(ordinal, definition.kind, _passage(definition, lines, is_file=ordinal == 0))
        for ordinal, definition in enumerate(definitions)
        if definition.kind not in _WITHOUT_PASSAGE
    ]


def _passage(definition: Definition, lines: Sequence[str], *, is_file: bool) -> str:
    name = f"{definition.container}.{definition.name}" if definition.container else definition.name
    said = " ".join(split_identifier(definition.name))
    parts = [f"{name}: {said}", definition.doc.strip()[:_MAX_DOC_CHARS]]
    if not is_file or not definition.doc:
        body = lines[definition.line : definition.end_line + 1]
        parts.append("\n".join(line.strip() for line in body[:80] if line.strip()))
    return "\n".join(part for part in parts if part)[:_MAX_CHARS]
