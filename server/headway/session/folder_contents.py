"""What is known of one folder's index: its symbols and its figures. Changed on the loop by `FolderIndex` alone."""

from __future__ import annotations

import asyncio
import logging
from array import array
from collections.abc import Mapping
from typing import Any, Final

from headway.workspace.indexer import Indexed
from headway.workspace.packs import FILE_WEIGHT
from headway.workspace.planning import GIVEN_UP, Plan
from headway.workspace.segments import Segment
from headway.workspace.store import StoreStats
from headway.workspace.symbols import SymbolTable

_log = logging.getLogger(__name__)

LOADED_WEIGHT: Final = 20_000  # of a part, see `packs.Pack`; adopting it takes the loop a few milliseconds
_MOST_PIECES: Final = 16  # more than there have to be
_EMPTY: Final = StoreStats(files=0, symbols=0, chunks=0, size_bytes=0, skipped={})


class FolderContents:
    """See the module."""

    def __init__(self, root: str) -> None:
        self.table = SymbolTable(root)
        self.stats = _EMPTY
        self.total = 0  # files that belong to the index, once they were listed
        self.left = 0  # of those, not yet brought up to date
        self.seen_stamp = 0  # of the store's changes: the newest that was taken over
        self._listing_skipped: Mapping[str, int] = {}
        self.git_lists: asyncio.Future[Any] | None = None  # asked for while the index was opened; to be used once

    @property
    def skipped(self) -> dict[str, int]:
        """How many files were passed over, by reason."""
        merged = dict(self._listing_skipped)
        for reason, count in self.stats.skipped.items():
            merged[reason] = merged.get(reason, 0) + count
        return merged

    @property
    def lacks(self) -> bool:
        """Whether files were given up."""
        return GIVEN_UP in self.stats.skipped

    @property
    def is_scattered(self) -> bool:
        """Whether its symbols lie in so many more pieces than a load would give that look-ups feel it."""
        loaded = (self.stats.symbols + FILE_WEIGHT * self.stats.files) // LOADED_WEIGHT + 1
        return self.table.segment_count > _MOST_PIECES + loaded

    @property
    def share_done(self) -> float:
        """The share of the listed files that is up to date, below 1 while any is not known to be."""
        return max(0.0, min(0.999, 1 - self.left / self.total)) if self.total else 0.0

    def plan(self, plan: Plan) -> None:
        """Take over what a comparison with the disk found; what is gone is gone at once."""
        self.total = plan.total
        self.left = plan.file_count
        self._listing_skipped = plan.skipped
        self.table.remove(plan.forgotten_ids, plan.stamp)
        if plan.stored_ids is not None:  # another process has been at work: what it forgot is forgotten here, too
            self.table.retain(array("Q", plan.stored_ids), plan.stamp)
        if plan.stats is not None:
            self.stats = plan.stats
        self.seen_stamp = max(self.seen_stamp, plan.stamp)

    def load(self, segment: Segment, *, repacked: bool) -> None:
        """Take over a part of what is stored."""
        self.table.adopt(segment, repacked=repacked)
        self.seen_stamp = max(self.seen_stamp, *segment.stamps, 0)

    def adopt(self, result: Indexed) -> None:
        """Take over what became of some files."""
        if result.segment is not None:
            self.table.adopt(Segment.unpack(result.segment))
        self.table.remove(result.gone_ids, result.stamp)
        self.seen_stamp = max(self.seen_stamp, result.stamp)
        if result.stats is not None:
            self.stats = result.stats
        for path, note in result.notes:
            _log.info("%s: %s", path, note)

    def settled(self, *, is_complete: bool) -> None:
        """A job has ended; where nothing is left to do, nothing is left to count."""
        if is_complete:
            self.left = 0

    def forget(self) -> None:
        """Nothing is known any more."""
        self.table.clear()
        self.stats = _EMPTY
        self.total = self.left = self.seen_stamp = 0
        self._listing_skipped = {}
