"""The steps of an index, as worker processes run them: index some files, load, pack. Values in, values out.

Each function is one bounded piece of work over one folder's store. Trouble with the store is part of the result, so
that the caller can wait, rebuild or go elsewhere. A function that is run again after its process died does no harm:
what was stored is recognised by its content.
"""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from headway.workspace import placing
from headway.workspace.database import StoreBusyError, StoreError, StoreUnusableError
from headway.workspace.files import FileText, ReadOptions, Skipped, digest, read_file, what_is
from headway.workspace.former import Content, fits
from headway.workspace.index import FileIndex, chunks_of, file_name, index_text, language_of
from headway.workspace.listing import would_belong
from headway.workspace.opened import FolderSpec, Trouble, close_stores, open_store, sibling_stores, trouble_of
from headway.workspace.packing import unpack
from headway.workspace.packs import FILE_WEIGHT, Pack
from headway.workspace.segments import IndexedFile, Segment
from headway.workspace.store import FileRecord, Store, StoredFile, StoreStats

if TYPE_CHECKING:
    from headway.workspace.trees import Trees

_TIDY_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What became of some files.

    Args:
        unknown: Files of which the store knows nothing, and which were therefore left alone: a listing has to say
            whether they belong to the workspace.
        segment: A packed `Segment` of those whose content is new, None where there is none.
        gone_ids: Files of which nothing is indexed any more, as of `stamp`.
        notes: What people should know of single files, as (path, note).
        reused: How many files were not parsed, since their content was known.
    """

    segment: bytes | None = None
    gone_ids: tuple[int, ...] = ()
    stamp: int = 0
    stats: StoreStats | None = None
    notes: tuple[tuple[str, str], ...] = ()
    reused: int = 0
    unknown: tuple[str, ...] = ()
    trouble: Trouble | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A part of a stored index: a packed segment, and the number of the last file in it."""

    segment: bytes | None = None
    last_file_id: int = 0
    trouble: Trouble | None = None
    reason: str = ""


# ---- indexing -------------------------------------------------------------------------------------------------------


def index_files(spec: FolderSpec, batch: str) -> Indexed:
    """Read, parse and store files from disk; what is gone by now is forgotten."""
    paths = batch.split("\0")
    with _without_collecting():
        return _stored(spec, {path: read_file(os.path.join(spec.root, path), spec.options.read) for path in paths})


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    """Look for no cycles meanwhile: among thousands of nodes and rows, which hold none, that takes a fifth of the time.

    A step is short, so what it leaves is bounded, and is looked through when the next one begins.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def index_known_files(spec: FolderSpec, batch: str) -> Indexed:
    """Look again at paths of which something was said: index what is stored already, forget what is gone.

    Files below a folder that is gone are forgotten with it. For the rest see `Indexed.unknown`.
    """
    paths = batch.split("\0")
    try:
        store = open_store(spec)
        known = store.get(paths)
        unknown: list[str] = []
        gone: list[str] = []
        for path in paths:
            if path not in known:
                kind = what_is(os.path.join(spec.root, path))
                if kind == "missing":
                    gone += store.below(path)
                elif kind == "folder" or (kind == "file" and language_of(path) is not None):
                    unknown.append(path)
    except (StoreError, OSError) as error:
        trouble, reason = trouble_of(error)
        return Indexed(trouble=trouble, reason=reason)
    found: dict[str, FileText | Skipped] = {
        path: read_file(os.path.join(spec.root, path), spec.options.read) for path in paths if path in known
    }
    found.update(dict.fromkeys(gone, Skipped(reason="missing")))
    return replace(_stored(spec, found), unknown=tuple(unknown))


def index_open_text(spec: FolderSpec, path: str, text: str, language: str) -> Indexed:
    """Parse and store the text that an editor holds of a file; the next start reads the file again.

    The file is known, or it is not on disk yet and would belong to the folder if it were.
    """
    try:
        if path not in open_store(spec).get([path]):
            is_new = what_is(os.path.join(spec.root, path)) == "missing"
            if not is_new or not would_belong(spec.root, path, spec.options):
                return Indexed(unknown=(path,))
    except (StoreError, OSError) as error:
        trouble, reason = trouble_of(error)
        return Indexed(trouble=trouble, reason=reason)
    if len(text) > spec.options.read.max_bytes:
        return _stored(spec, {path: Skipped(reason="tooLarge")})
    content = digest(text.encode("utf-8", "surrogatepass"))
    return _stored(spec, {path: FileText(text=text, digest=content, signature="")}, language, _trees())


@cache
def _trees() -> Trees:
    """Return the trees of what is being edited, as far as this process has seen it."""
    from headway.workspace.trees import Trees  # Loads tree-sitter, which steps without an edit may not need.

    return Trees()


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
        store = open_store(spec)
        ids = tuple(file.file_id for file in store.get(batch.split("\0")).values())
        stamp = store.write([], batch.split("\0"))
        return Indexed(gone_ids=ids, stamp=stamp, stats=store.stats())
    except StoreError as error:
        trouble, reason = trouble_of(error)
        return Indexed(trouble=trouble, reason=reason)


def _stored(
    spec: FolderSpec,
    found: Mapping[str, FileText | Skipped],
    language: str | None = None,
    trees: Trees | None = None,
) -> Indexed:
    try:
        store = open_store(spec)
        known = store.get(list(found))
        records: list[FileRecord] = []
        to_read: dict[str, FileText] = {}
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
                to_read[path] = file
        reused = _known_by_content(spec, store, to_read, language)
        records += reused
        for path in to_read.keys() - {record.path for record in reused}:
            record = _record(spec, path, to_read[path], language, trees)
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
            reused=len(reused),
        )
    except StoreError as error:
        trouble, reason = trouble_of(error)
        return Indexed(trouble=trouble, reason=reason)


def _known_by_content(
    spec: FolderSpec, store: Store, files: Mapping[str, FileText], language: str | None
) -> list[FileRecord]:
    """Return those of some files whose content this or another checkout's index knows, or has known."""
    found: dict[str, FileRecord] = {}
    for other in chain((store,), sibling_stores(spec)):
        missing = {path: file for path, file in files.items() if path not in found}
        if not missing:
            break
        try:
            known = other.contents({file.digest for file in missing.values()})
        except StoreError:
            if other is store:
                raise
            continue  # Another checkout's index only helps.
        by_digest: dict[bytes, list[Content]] = {}
        for content in known:
            by_digest.setdefault(content.digest, []).append(content)
        for path, file in missing.items():
            # One is enough: of what is empty there may be hundreds.
            alike = reversed(by_digest.get(file.digest, ()))
            former = next((one for one in alike if fits(one, path, language or language_of(path) or "text")), None)
            if former is not None:
                with contextlib.suppress(ValueError):  # Where it is damaged, the file is parsed.
                    found[path] = _again(path, file, former)
    return list(found.values())


def _again(path: str, file: FileText, content: Content) -> FileRecord:
    definitions, bodies = unpack(content.said)
    definitions[0] = definitions[0]._replace(name=file_name(path))
    return FileRecord(
        path=path,
        signature=file.signature,
        digest=file.digest,
        language=content.language,
        definitions=definitions,
        chunks=chunks_of(path, definitions, bodies),
        note=content.note,
    )


def _record(spec: FolderSpec, path: str, file: FileText, language: str | None, trees: Trees | None) -> FileRecord:
    parsed: FileIndex = index_text(path, file.text, language, trees, spec.root)
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


def open_place(cache_dir: str, root: str, owner_pid: int, avoid: str) -> placing.Placed:
    """Find a place for a folder's index; see `placing.place`."""
    close_stores()
    return placing.place(cache_dir, root, owner_pid=owner_pid, avoid=avoid)


def clear(spec: FolderSpec) -> Trouble | None:
    """Start a folder's index anew."""
    close_stores()
    try:
        placing.clear(spec.database, os.path.realpath(spec.root))
    except StoreError as error:
        return trouble_of(error)[0]
    return None


def load(spec: FolderSpec, after_file_id: int, max_weight: int) -> Loaded:
    """Return the next part of what is stored; `segment` None behind the last one.

    It is kept as it is, so that the next start has only to read it.
    """
    try:
        store = open_store(spec)
        kept = store.pack_after(after_file_id, max_weight)
        if kept is not None:
            return Loaded(segment=kept.content, last_file_id=kept.last_file_id)
        stamp = store.stamp
        files = store.load_after(after_file_id, max_weight)
        if not files:
            return Loaded(last_file_id=after_file_id)
        segment = Segment(files)
        made = Pack(files[-1].file_id, len(segment) + FILE_WEIGHT * len(files), segment.pack())
        with contextlib.suppress(StoreBusyError, StoreUnusableError):  # It is a matter of speed alone.
            store.keep_pack(after_file_id, made, stamp)
    except StoreError as error:
        trouble, reason = trouble_of(error)
        return Loaded(trouble=trouble, reason=reason)
    return Loaded(segment=made.content, last_file_id=made.last_file_id)


def pack(spec: FolderSpec, file_ids: Sequence[int]) -> Loaded:
    """Return some files in one segment."""
    try:
        files = open_store(spec).load(file_ids)
    except StoreError as error:
        trouble, reason = trouble_of(error)
        return Loaded(trouble=trouble, reason=reason)
    return Loaded(segment=Segment(files).pack() if files else None, last_file_id=max(file_ids, default=0))


def tidy(spec: FolderSpec) -> bool:
    """Put the stored index in order, for about a quantum; return whether something is left to do."""
    try:
        store = open_store(spec)
        stop_at_s = time.monotonic() + _TIDY_S
        while store.tidy():
            if time.monotonic() > stop_at_s:
                return True
    except StoreError:
        pass  # Whatever it is, who needs the index next says so; in disorder it is only slower and larger.
    return False
