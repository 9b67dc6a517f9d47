"""The databases that this process has open, and what their errors mean for an index. Used in worker processes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from headway.workspace.database import StoreBusyError, StoreError, StoreUnusableError
from headway.workspace.former import siblings
from headway.workspace.listing import ListingOptions
from headway.workspace.placing import database_path
from headway.workspace.store import Store

_log = logging.getLogger(__name__)

# What is wrong with a store, by what to do about it: wait, build it anew, go elsewhere.
Trouble: TypeAlias = Literal["busy", "damaged", "unusable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSpec:
    """A workspace folder and the database of its index."""

    root: str
    database: str
    options: ListingOptions = field(default_factory=ListingOptions)


_stores: dict[str, tuple[int, Store]] = {}  # of this process: path -> (file number, database)
_siblings: dict[str, list[str]] = {}  # database of a folder -> databases of the same in other checkouts


def open_store(spec: FolderSpec) -> Store:
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


def sibling_stores(spec: FolderSpec) -> Iterator[Store]:
    """Yield the databases of other checkouts of the folder's repository, for reading; those that can be read."""
    if spec.database not in _siblings:
        cache_dir = os.path.dirname(os.path.dirname(os.path.dirname(spec.database)))
        _siblings[spec.database] = [database_path(cache_dir, root) for root in siblings(spec.root)]
    for path in tuple(_siblings[spec.database]):
        if not os.path.isfile(path):
            continue
        key = f"{path} for reading"
        try:
            if key not in _stores:
                _stores[key] = (0, Store(path, readonly=True))
        except StoreError as error:
            _log.info("the index of another checkout is left alone: %s", error)
            _siblings[spec.database].remove(path)
            continue
        yield _stores[key][1]


def close_stores() -> None:
    """Close every database that this process has open."""
    for _, store in _stores.values():
        store.close()
    _stores.clear()
    _siblings.clear()


def trouble_of(error: StoreError | OSError) -> tuple[Trouble, str]:
    """Return what to do about an error, and why."""
    if isinstance(error, StoreBusyError):
        return "busy", error.reason
    close_stores()  # Whatever is wrong with it, the next step opens it anew.
    if isinstance(error, StoreUnusableError):
        return "unusable", error.reason
    return "damaged", error.reason if isinstance(error, StoreError) else str(error)
