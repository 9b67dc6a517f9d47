"""When the symbols of a folder are packed anew: where they lie in more pieces than they have to, and never for ever."""

from __future__ import annotations

import pytest

from headway.session.folder_contents import LOADED_WEIGHT, FolderContents
from headway.workspace.index import Definition, SymbolKind
from headway.workspace.packs import FILE_WEIGHT
from headway.workspace.segments import IndexedFile, Segment
from headway.workspace.store import StoreStats


def contents(pieces: int, files: int, symbols: int) -> FolderContents:
    """Of so many files and symbols, in so many pieces; each is as small as can be, since only their number counts."""
    made = FolderContents("/w")
    made.stats = StoreStats(files=files, symbols=symbols, chunks=0, size_bytes=0, skipped={})
    for number in range(1, pieces + 1):
        definition = Definition(f"name_{number}", SymbolKind.FUNCTION, "", 0, 0, 0, 1, 0, 0, "", "")
        made.load(Segment([IndexedFile(number, 1, f"m{number}.py", [definition])]), repacked=False)
    assert made.table.segment_count == pieces
    return made


@pytest.mark.parametrize(
    ("pieces", "files", "symbols", "scattered"),
    [(3, 10, 100, False), (17, 10, 100, False), (18, 10, 100, True), (40, 50_000, 300_000, False)],
)
def test_pieces_are_too_many_where_a_load_would_give_far_fewer(
    pieces: int, files: int, symbols: int, scattered: bool
) -> None:
    assert contents(pieces, files, symbols).is_scattered is scattered


@pytest.mark.parametrize("files", [1, 1_000, 50_000, 300_000])
def test_what_was_just_loaded_is_never_loaded_again(files: int) -> None:
    """A part ends with the first file that makes it full; so many of them there are at most."""
    symbols = 6 * files
    loaded = -(-(symbols + FILE_WEIGHT * files) // LOADED_WEIGHT)
    assert not contents(loaded, files, symbols).is_scattered
