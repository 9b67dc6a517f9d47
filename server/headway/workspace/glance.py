"""What a start finds out about a folder that has not changed, without a process of its own. Runs in threads.

Each function opens the database for itself and closes it. What would take long (a database that has to be read
through, symbols that are not packed yet, a folder in which something is different or that is very large) is left alone:
None says so, and `indexer` and `planning` do it in a worker process.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Collection, Mapping
from typing import Final

from headway.workspace.database import StoreError, is_sound, note_sound
from headway.workspace.files import stat_signature
from headway.workspace.indexer import Loaded
from headway.workspace.listing import Foreign, git_paths, listing_of
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
            is_seen = stamp <= seen_stamp and store.options == spec.options.named()
            signatures = store.signatures() if is_seen else {}
    except StoreError:
        return None
    if not signatures:
        return None
    paths = dict.fromkeys(git_paths(lists))
    held = {path for path in open_paths if not signatures.get(path)}
    if not all(map(paths.__contains__, signatures)) or not _are_same(spec.root, signatures, held):
        return None
    is_foreign = Foreign(spec.root)
    if any(map(is_foreign, {path.rpartition("/")[0] for path in signatures})):
        return None
    # What is there and not stored has to be what is left out.
    others = listing_of(spec.root, (path for path in paths if path not in signatures), spec.options, is_foreign)
    return None if others.files else Plan(total=len(signatures), stamp=stamp, skipped=others.skipped)


def _are_same(root: str, signatures: Mapping[str, str], held: Collection[str]) -> bool:
    """Return whether files are what they were; of what an editor holds, its text is what is stored."""
    base, lstat, regular = os.path.join(root, ""), os.lstat, stat.S_ISREG
    try:
        for path, signature in signatures.items():
            status = lstat(base + path)
            if stat_signature(status) != signature and not (path in held and regular(status.st_mode)):
                return False
    except OSError:
        return False
    return True


def left(spec: FolderSpec) -> None:
    """Leave a database that was in use and never broke, so that the next start need not read it through."""
    with contextlib.suppress(StoreError, OSError):  # Then it is read through.
        log = f"{spec.database}-wal"
        if os.path.exists(log) and os.path.getsize(log) <= _MOST_LOG_BYTES:
            with Store(spec.database) as store:
                store.empty_log()
        note_sound(spec.database)
