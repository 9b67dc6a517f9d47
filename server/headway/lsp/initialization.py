"""What `initialize` says about the workspace, read leniently: whatever is missing or odd has a sensible default."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.lsp.client import folder_name
from headway.lsp.negotiation import dig
from headway.session.ports import Folder
from headway.session.session import SessionOptions
from headway.workspace.uris import uri_to_path

_log = logging.getLogger(__name__)


def session_options(params: Mapping[str, Any], *, probes: bool) -> SessionOptions:
    """Return what the session starts with."""
    given = params.get("initializationOptions")
    cache = dig(given, "cacheDir")
    return SessionOptions(
        cache_dir=Path(cache) if isinstance(cache, str) and os.path.isabs(cache) else default_cache_dir(),
        folders=_folders(params),
        settings_tree=dig(given, "settings"),
        trusted=dig(given, "trusted") is True,
        probes=probes,
    )


def _folders(params: Mapping[str, Any]) -> tuple[Folder, ...]:
    listed = params.get("workspaceFolders")
    if isinstance(listed, list):
        return tuple(made for item in listed if (made := folder(item)) is not None)
    root = params.get("rootUri")
    if isinstance(root, str):
        made = folder({"uri": root})
        return () if made is None else (made,)
    path = params.get("rootPath")
    if isinstance(path, str) and os.path.isabs(path):
        return (Folder(uri=Path(path).as_uri(), name=Path(path).name, path=Path(path)),)
    return ()


def folder(item: object) -> Folder | None:
    """Read a WorkspaceFolder; None for what is none."""
    uri, name = dig(item, "uri"), dig(item, "name")
    if not isinstance(uri, str):
        _log.warning("a workspace folder without a uri was ignored")
        return None
    text = uri_to_path(uri)
    path = None if text is None else Path(text)
    return Folder(uri=uri, name=folder_name(uri, name if isinstance(name, str) else None, path), path=path)


def default_cache_dir() -> Path:
    """Return where this user's caches for Headway are, by the custom of the system."""
    home = Path.home()
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "headway" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "headway"
    given = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(given) if os.path.isabs(given) else home / ".cache") / "headway"
