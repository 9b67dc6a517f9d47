"""The steps of an index, as worker processes run them: plan, index some files, load, pack. Values in, values out.

Each function is one bounded piece of work over one folder's store. Trouble with the store is part of the result, so
that the caller can wait, rebuild or go elsewhere. A function that is run again after its process died does no harm:
what was stored is recognised by its content.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, Literal, TypeAlias

from headway.workspace import placing
from headway.workspace.database import StoreBusyError, StoreError, StoreUnusableError
from headway.workspace.files import FileText, ReadOptions, Skipped, digest, read_file
from headway.workspace.index import FileIndex, index_text, language_of
from headway.workspace.listing import ListedFile, ListingOptions, from_git, from_walk
from headway.workspace.segments import IndexedFile, Segment
from headway.workspace.store import FileRecord, Store, StoredFile, StoreStats

Trouble: TypeAlias = Literal["busy", "damaged", "unusable"]

_BATCH_FILES: Final = 30
_BATCH_BYTES: Final = 300_000
_FORGET_FILES: Final = 100
_MAX_CHECKED_BYTES: Final = 256 << 20
_IMPORT: Final = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+\(?([\w \t,]*)|import[ \t]+([\w., \t]+))", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSpec:
    """A workspace folder and the database of its index."""

    root: str
    database: str
    options: ListingOptions = field(default_factory=ListingOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What an index of a folder has to do.

    Args:
        total: Files that belong to the index.
        batches: What is to be read, in the order in which people wish it; each about one quantum: paths joined by NUL.
        forget: Stored files that are gone, in the same form.
        forgotten_ids: Their numbers, and `stamp` as of when they are gone.
        skipped: Files passed over by their name or state, by reason.
    """

    total: int = 0
    batches: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()
    forgotten_ids: tuple[int, ...] = ()
    stamp: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    trouble: Trouble | None = None
    reason: str = ""

    @property
    def file_count(self) -> int:
        """Files in the batches, those to be forgotten included."""
        return sum(batch.count("\0") + 1 for batch in (*self.batches, *self.forget))


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What became of some files.

    Args:
        segment: A packed `Segment` of those whose content is new, None where there is none.
        gone_ids: Files of which nothing is indexed any more, as of `stamp`.
        notes: What people should know of single files, as (path, note).
    """

    segment: bytes | None = None
    gone_ids: tuple[int, ...] = ()
    stamp: int = 0
    stats: StoreStats | None = None
    notes: tuple[tuple[str, str], ...] = ()
    trouble: Trouble | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A part of a stored index: a packed segment, and the number of the last file in it."""

    segment: bytes | None = None
    last_file_id: int = 0
    trouble: Trouble | None = None
    reason: str = ""


# ---- planning -------------------------------------------------------------------------------------------------------


def plan(
    spec: FolderSpec, lists: Mapping[str, bytes] | None, open_paths: Collection[str], suspects: Collection[str]
) -> Plan:
    """Compare what is on disk with what is stored.

    Args:
        lists: git's lists (see `listing.from_git`), None to walk the folder.
        open_paths: Files that the editor holds: not read from disk; what is near them comes first.
        suspects: Files (or folders) that were said to have changed: read whatever their time and size.
    """
    try:
        store = _store(spec)
        if os.path.getsize(spec.database) <= _MAX_CHECKED_BYTES and not suspects:
            store.check()
        known = store.known()
        stamp = store.stamp
    except (StoreError, OSError) as error:
        trouble, reason = _trouble(error)
        return Plan(trouble=trouble, reason=reason)
    listing = from_walk(spec.root, spec.options) if lists is None else from_git(spec.root, lists, spec.options)
    listed = {file.path for file in listing.files}
    opened = set(open_paths)
    suspected = set(suspects)
    changed = [
        file
        for file in listing.files
        if file.path not in opened and (_differs(file, known) or (suspected and _is_under(file.path, suspected)))
    ]
    gone = [path for path in known if path not in listed and path not in opened]
    return Plan(
        total=len(listing.files),
        batches=tuple(_batches(_in_order(spec.root, changed, opened))),
        forget=tuple("\0".join(gone[at : at + _FORGET_FILES]) for at in range(0, len(gone), _FORGET_FILES)),
        forgotten_ids=tuple(known[path].file_id for path in gone),
        stamp=stamp,
        skipped=listing.skipped,
    )


def _differs(file: ListedFile, known: Mapping[str, StoredFile]) -> bool:
    stored = known.get(file.path)
    return stored is None or stored.signature != file.signature


def _is_under(path: str, suspects: Collection[str]) -> bool:
    return path in suspects or any(str(parent) in suspects for parent in PurePosixPath(path).parents)


def _batches(files: Sequence[ListedFile]) -> Iterable[str]:
    batch: list[str] = []
    size = 0
    for file in files:
        if batch and (len(batch) >= _BATCH_FILES or size + file.size_bytes > _BATCH_BYTES):
            yield "\0".join(batch)
            batch, size = [], 0
        batch.append(file.path)
        size += file.size_bytes
    if batch:
        yield "\0".join(batch)


def _in_order(root: str, files: list[ListedFile], opened: Collection[str]) -> list[ListedFile]:
    """Sort by what a person waits for: what open files import, their folders, what was changed lately, code."""
    folders = {path.rpartition("/")[0] for path in opened}
    imported = {name for path in opened for name in _imports(root, path)}

    def key(file: ListedFile) -> tuple[int, bool, int, str]:
        stem = file.path.rpartition(".")[0].removesuffix("/__init__")
        if any(stem == name or stem.endswith(f"/{name}") for name in imported):
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


# ---- indexing -------------------------------------------------------------------------------------------------------


def index_files(spec: FolderSpec, batch: str) -> Indexed:
    """Read, parse and store files from disk; what is gone by now is forgotten."""
    paths = batch.split("\0")
    return _stored(spec, {path: read_file(os.path.join(spec.root, path), spec.options.read) for path in paths})


def index_text_of(spec: FolderSpec, path: str, text: str, language: str) -> Indexed:
    """Parse and store the text that an editor holds; the next start reads the file again."""
    if len(text) > spec.options.read.max_bytes:
        return _stored(spec, {path: Skipped(reason="tooLarge")})
    content = digest(text.encode("utf-8", "surrogatepass"))
    return _stored(spec, {path: FileText(text=text, digest=content, signature="")}, language)


def skip_files(spec: FolderSpec, batch: str, reason: str) -> Indexed:
    """Note that files could not be indexed, so that they are not tried again until they change."""
    skipped: dict[str, FileText | Skipped] = {}
    for path in batch.split("\0"):
        found = read_file(os.path.join(spec.root, path), ReadOptions(max_bytes=spec.options.read.max_bytes))
        skipped[path] = Skipped(reason=reason, signature=found.signature)
    return _stored(spec, skipped)


def forget_files(spec: FolderSpec, batch: str) -> Indexed:
    """Remove files from the store."""
    try:
        store = _store(spec)
        ids = tuple(file.file_id for file in store.get(batch.split("\0")).values())
        stamp = store.write([], batch.split("\0"))
        return Indexed(gone_ids=ids, stamp=stamp, stats=store.stats())
    except StoreError as error:
        trouble, reason = _trouble(error)
        return Indexed(trouble=trouble, reason=reason)


def _stored(spec: FolderSpec, found: Mapping[str, FileText | Skipped], language: str | None = None) -> Indexed:
    try:
        store = _store(spec)
        known = store.get(list(found))
        records: list[FileRecord] = []
        touched: list[tuple[str, str]] = []
        same: list[int] = []
        missing: list[str] = []
        notes: list[tuple[str, str]] = []
        for path, file in found.items():
            stored = known.get(path)
            if isinstance(file, Skipped):
                if file.reason == "missing":
                    missing.append(path)
                else:
                    records.append(_skipped(path, file))
            elif stored is not None and stored.digest == file.digest and stored.skipped is None:
                same.append(stored.file_id)
                if stored.signature != file.signature:
                    touched.append((path, file.signature))
            else:
                record = _record(path, file, language)
                records.append(record)
                if record.note:
                    notes.append((path, record.note))
        gone = [known[path].file_id for path in (*missing, *(r.path for r in records if r.skipped)) if path in known]
        stamp = store.write(records, missing) if records or any(path in known for path in missing) else store.stamp
        if touched:
            store.touch(touched)
        fresh = store.get([record.path for record in records if record.skipped is None])
        # What was stored already comes along: whoever asked may not have it, if its process died after storing it.
        files = [*_indexed(records, fresh, stamp), *store.load(same)]
        return Indexed(
            segment=Segment(files).pack() if files else None,
            gone_ids=tuple(gone),
            stamp=stamp,
            stats=store.stats(),
            notes=tuple(notes),
        )
    except StoreError as error:
        trouble, reason = _trouble(error)
        return Indexed(trouble=trouble, reason=reason)


def _record(path: str, file: FileText, language: str | None) -> FileRecord:
    parsed: FileIndex = index_text(path, file.text, language)
    note = "; ".join(part for part in (file.note, parsed.problem) if part) or None
    return FileRecord(
        path=path,
        signature=file.signature,
        digest=file.digest,
        language=parsed.language,
        definitions=parsed.definitions,
        chunks=parsed.chunks,
        note=note,
    )


def _skipped(path: str, file: Skipped) -> FileRecord:
    return FileRecord(
        path=path, signature=file.signature, digest=b"", language=language_of(path) or "", skipped=file.reason
    )


def _indexed(records: Iterable[FileRecord], fresh: Mapping[str, StoredFile], stamp: int) -> list[IndexedFile]:
    return [
        IndexedFile(fresh[record.path].file_id, stamp, record.path, record.definitions)
        for record in records
        if record.path in fresh
    ]


# ---- loading --------------------------------------------------------------------------------------------------------


def open_place(cache_dir: str, root: str) -> placing.Placed:
    """Find a place for a folder's index; see `placing.place`."""
    _forget_stores()
    return placing.place(cache_dir, root)


def clear(spec: FolderSpec) -> Trouble | None:
    """Start a folder's index anew."""
    _forget_stores()
    try:
        placing.clear(spec.database, os.path.realpath(spec.root))
    except StoreError as error:
        return _trouble(error)[0]
    return None


def load(spec: FolderSpec, after_file_id: int, max_symbols: int) -> Loaded:
    """Return the next part of what is stored; `segment` None behind the last one."""
    try:
        files = _store(spec).load_after(after_file_id, max_symbols)
    except StoreError as error:
        trouble, reason = _trouble(error)
        return Loaded(trouble=trouble, reason=reason)
    if not files:
        return Loaded(last_file_id=after_file_id)
    return Loaded(segment=Segment(files).pack(), last_file_id=files[-1].file_id)


def pack(spec: FolderSpec, file_ids: Sequence[int]) -> Loaded:
    """Return some files in one segment."""
    try:
        files = _store(spec).load(file_ids)
    except StoreError as error:
        trouble, reason = _trouble(error)
        return Loaded(trouble=trouble, reason=reason)
    return Loaded(segment=Segment(files).pack() if files else None, last_file_id=max(file_ids, default=0))


def measure(spec: FolderSpec) -> StoreStats | None:
    """Return the size of the stored index, None where it cannot be read."""
    try:
        return _store(spec).stats()
    except StoreError:
        return None


# ---- the open database ----------------------------------------------------------------------------------------------

_stores: dict[str, tuple[int, Store]] = {}  # of this process: path -> (file number, database)


def _store(spec: FolderSpec) -> Store:
    """Return the database of a folder, opened anew where another file lies there by now."""
    path = spec.database
    try:
        number = os.stat(path).st_ino
    except OSError as error:
        raise StoreUnusableError(path, error.strerror or str(error)) from error
    kept = _stores.get(path)
    if kept is not None and kept[0] == number:
        return kept[1]
    if kept is not None:
        kept[1].close()
        del _stores[path]
    store = Store(path)
    _stores[path] = (number, store)
    return store


def _forget_stores() -> None:
    for _, store in _stores.values():
        store.close()
    _stores.clear()


def _trouble(error: StoreError | OSError) -> tuple[Trouble, str]:
    if isinstance(error, StoreBusyError):
        return "busy", error.reason
    _forget_stores()  # Whatever is wrong with it, the next step opens it anew.
    if isinstance(error, StoreUnusableError):
        return "unusable", error.reason
    return "damaged", error.reason if isinstance(error, StoreError) else str(error)
