"""Where the index of a folder lies, and what is done when that place is no good. Runs in worker processes.

Each folder has a database of its own, named by its real path, so that two checkouts never mix. What is damaged, too
new, or in the way is set aside and built anew; where the cache directory cannot be used at all, the index lies in a
temporary directory, and a message says so. Starting never fails because of a cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway.wording import say
from headway.workspace.database import (
    StoreBusyError,
    StoreDamagedError,
    StoreError,
    StoreUnusableError,
    is_sound,
    note_sound,
    runs,
)
from headway.workspace.store import Store

_FILE_NAME: Final = "index.sqlite"
_ASIDE: Final = "damaged-"
_UNUSED_AFTER_S: Final = 90 * 86_400
# Larger ones are checked later, by `indexer.plan`, so that the last index is there at once.
_MAX_CHECKED_AT_ONCE_BYTES: Final = 8 << 20
_TEMPORARY: Final = "headway-index-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where the index is.

    Args:
        path: The database, ready to be used; None where no place can be written at all.
        message: What is off and what to do about it, for people; None where all is well.
        temporary: The directory to be removed in the end, where the index is temporary.
        rebuilt: The index had to be started anew, and why.
        real: Where the folder lies, if a link leads to it.
    """

    path: str | None
    message: str | None = None
    temporary: str | None = None
    rebuilt: str | None = None
    real: str | None = None


def folder_identity(root: str) -> str:
    """Return a name for a folder's database: equal for one real folder, different for any two."""
    real = os.path.normcase(os.path.realpath(root))
    name = "".join(c if c.isalnum() else "-" for c in os.path.basename(real))[:40]
    return f"{name}-{hashlib.sha256(os.fsencode(real)).hexdigest()[:20]}"


def database_path(cache_dir: str, root: str) -> str:
    """Return where a folder's database lies in a cache directory."""
    return os.path.join(cache_dir, "index", folder_identity(root), _FILE_NAME)


def place(cache_dir: str, root: str, *, owner_pid: int, avoid: str = "") -> Placed:
    """Open or create a folder's database, wherever that is possible.

    Args:
        owner_pid: The process that uses it; what is temporary is left to others once that has ended.
        avoid: Why the database in the cache directory is not to be used; empty: it is.
    """
    path = database_path(cache_dir, root)
    _sweep()
    try:
        if avoid:
            raise StoreUnusableError(path, avoid)
        rebuilt = _prepare(path, root)
    except StoreBusyError as error:
        return _elsewhere(root, error, say("another program holds its lock"), owner_pid)
    except StoreError as error:
        return _elsewhere(root, error, error.reason, owner_pid)
    _forget_unused(Path(path).parent.parent, keep=Path(path).parent)
    return Placed(path=path, rebuilt=rebuilt, real=os.path.realpath(root))


def clear(path: str, root: str) -> None:
    """Start a database anew, in a file of its own: who has the old one open notices and lets it go."""
    _remove(path)
    Store.create(path, root).close()


def _prepare(path: str, root: str) -> str | None:
    """Make a sound database lie at a path; return why it had to be started anew, None where it is as it was."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise StoreUnusableError(path, error.strerror or str(error)) from error
    real = os.path.realpath(root)
    if not os.path.lexists(path):
        Store.create(path, real).close()
        return None
    try:
        with Store(path) as store:
            if os.path.normcase(store.root) != os.path.normcase(real):
                raise StoreDamagedError(path, f"the index of {store.root}")
            sound = is_sound(path)
            if not sound and os.path.getsize(path) <= _MAX_CHECKED_AT_ONCE_BYTES:
                store.check()
                sound = True
        os.utime(path)
        if sound:
            note_sound(path)
    except StoreDamagedError as error:
        _set_aside(path)
        Store.create(path, real).close()
        return error.reason
    except OSError as error:  # such as a disk that was made read-only since
        raise StoreUnusableError(path, error.strerror or str(error)) from error
    return None


def _elsewhere(root: str, error: StoreError, reason: str, owner_pid: int) -> Placed:
    message = say(
        "The index cannot be kept in {folder} ({reason}). It is in a temporary folder and will be made anew at the "
        "next start. Make room there, make it writable, or choose another cache directory.",
        folder=os.path.dirname(error.path),
        reason=reason,
    )
    for parent in _temporary_parents():
        with contextlib.suppress(OSError, StoreError):
            folder = tempfile.mkdtemp(prefix=f"{_TEMPORARY}{owner_pid}-", dir=parent)
            path, real = os.path.join(folder, _FILE_NAME), os.path.realpath(root)
            Store.create(path, real).close()
            return Placed(path=path, message=message, temporary=folder, real=real)
    return Placed(
        path=None,
        message=say(
            "There is no index: neither {folder} ({reason}) nor a temporary folder can be written. Make room in one of "
            "them, or make it writable, and restart.",
            folder=os.path.dirname(error.path),
            reason=reason,
        ),
    )


def _temporary_parents() -> Iterator[str]:
    with contextlib.suppress(OSError):
        yield tempfile.gettempdir()
    if sys.platform == "linux":
        yield "/dev/shm"


def _sweep() -> None:
    """Remove temporary indexes whose owners have ended without doing so."""
    for parent in _temporary_parents():
        with contextlib.suppress(OSError):
            for name in os.listdir(parent):
                pid = name.removeprefix(_TEMPORARY).partition("-")[0]
                if name.startswith(_TEMPORARY) and pid.isdigit() and not runs(int(pid)):
                    shutil.rmtree(os.path.join(parent, name), ignore_errors=True)


def _set_aside(path: str) -> None:
    """Move what lies at a path out of the way, keeping the newest such thing for whoever wants to look at it."""
    aside = os.path.join(os.path.dirname(path), f"{_ASIDE}{os.path.basename(path)}")
    _remove(aside)
    for suffix in ("-wal", "-shm", "-journal"):
        _remove(path + suffix)
    try:
        os.replace(path, aside)
    except OSError:
        _remove(path)


def _remove(path: str) -> None:
    for name in (path, path + "-wal", path + "-shm"):
        if os.path.isdir(name) and not os.path.islink(name):
            shutil.rmtree(name, ignore_errors=True)
            continue
        try:
            os.unlink(name)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreUnusableError(name, error.strerror or str(error)) from error


def remove_temporary(folder: str | None) -> None:
    """Remove the directory of a temporary index, where there is one."""
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _forget_unused(folder: Path, *, keep: Path) -> None:
    """Remove indexes of folders that nobody has opened for months."""
    limit = time.time() - _UNUSED_AFTER_S
    with contextlib.suppress(OSError):
        for other in folder.iterdir():
            database = other / _FILE_NAME
            if other != keep and database.is_file() and database.stat().st_mtime < limit:
                shutil.rmtree(other, ignore_errors=True)
