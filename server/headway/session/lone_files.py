"""Where an engine works when no folder is open: in an empty one, so that it does not read the whole machine.

A language server takes its working directory for the workspace where it is given none, and walks through all of it. A
file that is opened alone has its own folder looked at instead, for the modules that it imports, without a walk.
"""

from __future__ import annotations

import logging
import sysconfig
from pathlib import Path

from headway.session.ports import SessionContext
from headway.workspace.uris import uri_to_path

_log = logging.getLogger(__name__)


def working_directory(context: SessionContext) -> Path:
    """Return the first root that is there, else an empty folder; it is made when it is first needed."""
    for folder in context.folders:
        if folder.path is not None and folder.path.is_dir():
            return folder.path
    empty = context.cache_dir / "no-folder"
    try:
        empty.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        # Not empty, but small, and there as long as we run.
        _log.info("%s cannot be made (%s); engines work elsewhere", empty, error)
        return Path(sysconfig.get_path("scripts"))
    return empty


def folders_of_lone_files(context: SessionContext) -> tuple[Path, ...]:
    """Return the folders of the open Python files where no folder is open, in order; none where one is."""
    if any(folder.path is not None for folder in context.folders):
        return ()
    found: set[Path] = set()
    for document in context.documents.snapshot().values():
        path = uri_to_path(document.uri) if document.language == "python" else None
        if path is not None:
            found.add(Path(path).parent)
    return tuple(sorted(found))
