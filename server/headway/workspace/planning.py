"""What an index has to do: the listing compared with the store. Runs in worker processes; see `indexer`."""

from __future__ import annotations

import contextlib
import os
import re
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from headway.workspace.database import StoreError, is_sound, note_sound
from headway.workspace.files import ReadOptions, Skipped, read_file
from headway.workspace.index import language_of
from headway.workspace.listing import ListedFile, from_git, from_walk, glob_rules
from headway.workspace.opened import FolderSpec, Trouble, open_store, trouble_of
from headway.workspace.store import StoredFile, StoreStats

# About a quantum's worth: a file costs what some bytes of it would, before any of its bytes does.
_FILE_BYTES: Final = 2_000
_BATCH_BYTES: Final = 200_000
_FORGET_FILES: Final = 100
GIVEN_UP: Final = "failed"  # why a file is left out with which no try succeeded
_MAX_CHECKED_BYTES: Final = 256 << 20
_IMPORT: Final = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+\(?([\w \t,]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an index of a folder has to do.

    Args:
        total: Files that belong to the index.
        batches: What is to be read, in the order in which people wish it; each about one quantum: paths joined by NUL.
        forget: Stored files that are gone, in the same form.
        forgotten_ids: Their numbers, and `stamp` as of when they are gone.
        skipped: Files passed over by their name or state, by reason.
        stored_ids: Where the store has changes that the asker has not seen: the numbers of all stored files (8 bytes
            each, native order). What another window or `headway index` has indexed is in the batches then.
        stats: Sizes of the store, in the same case.
    """

    total: int = 0
    batches: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()
    forgotten_ids: tuple[int, ...] = ()
    stamp: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    stored_ids: bytes | None = None
    stats: StoreStats | None = None
    trouble: Trouble | None = None
    reason: str = ""

    @property
    def file_count(self) -> int:
        """Files in the batches, those to be forgotten included."""
        return sum(batch.count("\0") + 1 for batch in (*self.batches, *self.forget))


def plan(
    spec: FolderSpec,
    lists: Mapping[str, bytes] | None,
    open_paths: Collection[str],
    suspects: Collection[str],
    globs: Sequence[str] = (),
    *,
    thorough: bool = False,
    seen_stamp: int | None = None,
    again: bool = False,
) -> Plan:
    """Compare what is on disk with what is stored.

    Args:
        lists: git's lists (see `listing.from_git`), None to walk the folder.
        open_paths: Files that the editor holds. They come first, and what is near them next.
        suspects: Files (or folders; "" is the whole folder) that were said to have changed: read whatever their time
            and size.
        globs: Files that match one of these (as in `.gitignore`) are suspects, too.
        thorough: Look first whether the whole database can be read.
        seen_stamp: The newest stamp of the store that the asker has taken over; None where it does not look at that.
        again: What was given up is tried again.
    """
    try:
        store = open_store(spec)
        if thorough and not is_sound(spec.database) and os.path.getsize(spec.database) <= _MAX_CHECKED_BYTES:
            store.check()
            note_sound(spec.database)
        stamp = store.stamp  # first: what is stored meanwhile is then too new rather than overlooked
        known = store.known()
        unseen = seen_stamp is not None and stamp > seen_stamp
        stats = store.stats() if unseen else None
    except (StoreError, OSError) as error:
        trouble, reason = trouble_of(error)
        return Plan(trouble=trouble, reason=reason)
    listing = from_walk(spec.root, spec.options) if lists is None else from_git(spec.root, lists, spec.options)
    listed = {file.path for file in listing.files}
    opened = set(open_paths)
    suspected = set(suspects)
    if globs and (rules := glob_rules(globs)) is not None:
        suspected.update(path for path in listed if rules.match_file(path))
    if again:
        suspected.update(path for path, file in known.items() if file.skipped == GIVEN_UP)
    if unseen and seen_stamp is not None:
        suspected.update(path for path, file in known.items() if file.stamp > seen_stamp and file.skipped is None)
    changed = [
        file
        for file in listing.files
        if _differs(file, known, opened) or (suspected and file.path not in opened and _is_wanted(file.path, suspected))
    ]
    gone = [path for path in known if path not in listed and path not in opened]
    if lists is not None and not changed and not gone:
        with contextlib.suppress(StoreError):  # It only lets the next start see the same at a glance.
            store.note_options(spec.options.named())
    return Plan(
        total=len(listing.files),
        batches=tuple(_batches(_in_order(spec.root, changed, opened))),
        forget=tuple("\0".join(gone[at : at + _FORGET_FILES]) for at in range(0, len(gone), _FORGET_FILES)),
        forgotten_ids=tuple(known[path].file_id for path in gone),
        stamp=stamp,
        skipped=listing.skipped,
        stored_ids=array("Q", (file.file_id for file in known.values())).tobytes() if unseen else None,
        stats=stats,
    )


def _differs(file: ListedFile, known: Mapping[str, StoredFile], opened: Collection[str]) -> bool:
    stored = known.get(file.path)
    if stored is None:
        return True
    # Of an open file the editor's text is stored, without a signature: what is on disk does not count.
    return stored.signature != file.signature and not (file.path in opened and not stored.signature)


def _is_wanted(path: str, suspects: Collection[str]) -> bool:
    return "" in suspects or _is_under(path, suspects)


def _is_under(path: str, suspects: Collection[str]) -> bool:
    return path in suspects or any(str(parent) in suspects for parent in PurePosixPath(path).parents)


def _batches(files: Sequence[ListedFile]) -> Iterable[str]:
    batch: list[str] = []
    size = 0
    for file in files:
        cost = _FILE_BYTES + file.size_bytes
        if batch and size + cost > _BATCH_BYTES:
            yield "\0".join(batch)
            batch, size = [], 0
        batch.append(file.path)
        size += cost
    if batch:
        yield "\0".join(batch)


def _in_order(root: str, files: list[ListedFile], opened: Collection[str]) -> list[ListedFile]:
    """Sort by what a person waits for: what open files import, their folders, what was changed lately, code."""
    folders = {path.rpartition("/")[0] for path in opened}
    imported = {name for path in opened for name in _imports(root, path)}

    def key(file: ListedFile) -> tuple[int, bool, int, str]:
        stem = file.path.rpartition(".")[0].removesuffix("/__init__")
        if file.path in opened:
            nearness = -1
        elif any(stem == name or stem.endswith(f"/{name}") for name in imported):
            nearness = 0
        else:
            nearness = 1 if file.path.rpartition("/")[0] in folders else 2
        return nearness, language_of(file.path) != "python", -file.modified_at_ns, file.path

    return sorted(files, key=key)


def _imports(root: str, path: str) -> set[str]:
    """Return what a file imports, as paths without suffix, relative to wherever the package lies."""
    if language_of(path) != "python":
        return set()
    found = read_file(os.path.join(root, path), ReadOptions())
    if isinstance(found, Skipped):
        return set()
    names = set()
    for module, imported, plain in _IMPORT.findall(found.text[:100_000]):
        for name in (module, *plain.split(",")):
            names.add(name.strip().partition(" ")[0].lstrip(".").replace(".", "/"))
        base = module.lstrip(".").replace(".", "/")
        names.update(f"{base}/{name.strip().partition(' ')[0]}".lstrip("/") for name in imported.split(","))
    return {name for name in names if name and not name.endswith("/")}
