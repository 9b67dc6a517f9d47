"""What a start finds out about a folder that has not changed, without a process of its own. Runs in threads.

Each function opens the database for itself and closes it. What would take long (a database that has to be read
through, symbols that are not packed yet, a folder in which something is different or that is very large) is left alone:
None says so, and `indexer` and `planning` do it in a worker process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping
from typing import Final

from headway.workspace.database import StoreError, is_sound, note_sound
from headway.workspace.indexer import Loaded
from headway.workspace.listing import from_git
from headway.workspace.opened import FolderSpec
from headway.workspace.placing import Placed, database_path, place
from headway.workspace.planning import Plan
from headway.workspace.store import Store, StoreStats

# A thread that compares many would be felt, although it steps aside for the loop within half a millisecond.
_MOST_FILES: Final = 20_000
_MOST_LOG_BYTES: Final = 1 << 20  # at the end nobody waits for more than that to be written


def opened(cache_dir: str, root: str, owner_pid: int, avoid: str) -> Placed | None:
    """Find a place as `placing.place` does, where there is a database of which it is known that it can be read."""
    if avoid or not is_sound(database_path(cache_dir, root)):
        return None
    return place(cache_dir, root, owner_pid=owner_pid)


def kept(spec: FolderSpec, after_file_id: int, max_weight: int) -> Loaded | None:
    """Return the next part of what is stored as `indexer.load` does, where it lies there packed."""
    try:
        with Store(spec.database, readonly=True) as store:
            pack = store.pack_after(after_file_id, max_weight)
            if pack is not None:
                return Loaded(segment=pack.content, last_file_id=pack.last_file_id)
            return None if store.has_after(after_file_id) else Loaded(last_file_id=after_file_id)
    except StoreError:
        return None  # Whatever it is, who looks closer says so.


def measured(spec: FolderSpec) -> StoreStats | None:
    """Return the size of the stored index, None where it cannot be read."""
    try:
        with Store(spec.database, readonly=True) as store:
            return store.stats()
    except StoreError:
        return None


def unchanged(
    spec: FolderSpec,
    lists: Mapping[str, bytes] | None,
    open_paths: Collection[str],
    seen_stamp: int,
    *,
    thorough: bool,
    most_files: int = _MOST_FILES,
) -> Plan | None:
    """Compare as `planning.plan` does; None where there is anything to do, or where it would take long to say.

    Args:
        lists, open_paths, seen_stamp, thorough: See `planning.plan`.
    """
    if lists is None or (thorough and not is_sound(spec.database)):
        return None
    if sum(raw.count(b"\0") for raw in lists.values()) > most_files:
        return None
    try:
        with Store(spec.database, readonly=True) as store:
            stamp = store.stamp
            signatures = {} if stamp > seen_stamp else store.signatures()
    except StoreError:
        return None
    if not signatures:
        return None
    listing = from_git(spec.root, lists, spec.options)
    if len(listing.files) != len(signatures):
        return None  # At least one is new or gone.
    held = set(open_paths)
    for path, signature, *_ in listing.files:
        stored = signatures.get(path)
        # Of an open file the editor's text is stored, without a signature.
        if stored != signature and (stored or path not in held):
            return None
    return Plan(total=len(listing.files), stamp=stamp, skipped=listing.skipped)


def left(spec: FolderSpec) -> None:
    """Leave a database that was in use and never broke, so that the next start need not read it through."""
    with contextlib.suppress(StoreError, OSError):  # Then it is read through.
        log = f"{spec.database}-wal"
        if os.path.exists(log) and os.path.getsize(log) <= _MOST_LOG_BYTES:
            with Store(spec.database) as store:
                store.empty_log()
        note_sound(spec.database)
