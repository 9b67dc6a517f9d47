"""File URIs and paths, in both directions, and what makes two spellings of a URI the same document.

Pure: nothing here asks the disk. `windows` is a parameter so that both kinds of path are tried on any machine.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
from functools import lru_cache
from urllib.parse import quote, unquote

_WINDOWS = os.name == "nt"
_REMEMBERED = 1024  # each key asks some ten times about the document that it is typed in
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_DRIVE = re.compile(r"^/?([A-Za-z]):(?=$|[/\\])")


@lru_cache(maxsize=_REMEMBERED)
def uri_to_path(uri: str, *, windows: bool = _WINDOWS) -> str | None:
    """Return the path that a `file:` URI names, None for any other scheme and for what is no URI.

    A host becomes the server of a UNC path; on POSIX it is kept as the `//server/` in front.
    """
    scheme, _, rest = uri.partition(":")
    if scheme.lower() != "file":
        return None
    host, path = "", rest
    if rest.startswith("//"):
        host, slash, tail = rest[2:].partition("/")
        path = slash + tail
    path = unquote(path.split("?", 1)[0].split("#", 1)[0], errors="surrogateescape")
    host = unquote(host)
    if "\0" in path or not path:
        return None
    if host and host.lower() != "localhost":
        path = f"//{host}{path}"
    if not windows:
        return path
    drive = _DRIVE.match(path)
    if drive:
        path = f"{drive.group(1).upper()}:{path[drive.end() :] or '/'}"
    return path.replace("/", "\\")


def path_to_uri(path: str, *, windows: bool = _WINDOWS) -> str:
    """Return the `file:` URI of an absolute path, spelled as VS Code spells it."""
    if windows:
        path = path.replace("\\", "/")
        drive = _DRIVE.match(path)
        if drive:
            return f"file:///{drive.group(1).lower()}%3A{quoted_path(path[drive.end() :])}"
    if path.startswith("//") and not path.startswith("///"):
        host, _, tail = path[2:].partition("/")
        return f"file://{quote(host)}/{quoted_path(tail)}"
    return f"file://{quoted_path(path)}"


@lru_cache(maxsize=_REMEMBERED)
def identity(uri: str, *, windows: bool = _WINDOWS) -> str:
    """Return a key that is equal for two spellings of the same document.

    Percent signs, `.` and `..`, doubled slashes and, on Windows, the case of the path are spelling; the scheme of what
    is no file is not. The case of a drive's letter is spelling everywhere: an editor on Windows may be served from
    elsewhere.
    """
    path = uri_to_path(uri, windows=windows)
    if path is None:
        scheme = _SCHEME.match(uri)  # not urlsplit: it refuses what only looks like an address with a host
        return uri if scheme is None else scheme[0].lower() + uri[scheme.end() :]
    return path_identity(path, windows=windows)


def path_identity(path: str, *, windows: bool = _WINDOWS) -> str:
    """Return the `identity` of the document at an absolute path."""
    if windows:
        return ntpath.normcase(ntpath.normpath(path))
    drive = _DRIVE.match(path)
    return posixpath.normpath(path if drive is None else drive[0].lower() + path[drive.end() :])


def names_something(key: str) -> bool:
    """Return whether an `identity` is that of a document somewhere: a `file:` URI without a path is none."""
    return not key.startswith("file:")


def is_unicode(key: str) -> bool:
    """Return whether an `identity` can be said in UTF-8, as a file's name on Linux need not be."""
    if key.isascii():
        return True
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def path_below(root: str, path: str) -> str | None:
    """Return a path relative to a folder, with slashes; "" is the folder itself, None what does not lie in it.

    Args:
        root: Normalised.
    """
    path = os.path.normpath(path)
    if path == root:
        return ""
    prefix = os.path.join(root, "")
    return path[len(prefix) :].replace(os.sep, "/") if path.startswith(prefix) else None


def quoted_path(path: str) -> str:
    """Return a path with slashes as it stands in a URI."""
    return quote(path.encode("utf-8", "surrogateescape"), safe="/-._~!$&'()*+,;=@")
