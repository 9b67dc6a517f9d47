"""Which files of a folder belong to the workspace. Reads names and states, never contents of source files.

git says it where it can, called so that nothing named in the workspace is run; else a walk with `.gitignore` rules.
Both lists then lose what is recognised by content: environments, package folders, caches. Links are not followed, so
that each real file is there once and every walk ends.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from headway.workspace.files import ReadOptions, Skipped, is_secret, read_file, stat_signature
from headway.workspace.index import LANGUAGES, language_of
from headway.workspace.secret_names import holds_secrets

if TYPE_CHECKING:
    import pathspec

# What a listing holds at most: far beyond what anybody edits, it is a home directory or a data set.
MAX_FILES = 300_000
_MAX_FOLDERS = 200_000
_MAX_DEPTH = 256
_MAX_RULES_BYTES = 262_144
_TYPE = 0o170000  # of a mode's bits
_REGULAR = 0o100000

_SKIPPED_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".jj", "node_modules", "bower_components", "site-packages", "dist-packages"),
        *("__pycache__", "__pypackages__", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache"),
        *(".ipynb_checkpoints", ".eggs", ".idea", ".gradle", ".terraform"),
    }
)
# A folder that holds one of these is an environment or a cache, whatever its name.
_ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta", "CACHEDIR.TAG")
_NESTED = re.compile(rb"(?:^|(?<=\0))([^\0]+)/(?=\0)")
_SUBMODULE_PATH = re.compile(r"^\s*path\s*=\s*(.+?)\s*$", re.MULTILINE)


class ListedFile(NamedTuple):
    """A file to be indexed; a tuple, since a listing makes thousands of them.

    `path` is relative to the folder, with slashes; `modified_at_ns` is its modification time.
    """

    path: str
    signature: str
    size_bytes: int
    modified_at_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What was found, and how many files were passed over for which reason."""

    files: list[ListedFile]
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingOptions:
    """`exclude` holds globs as in `.gitignore`, over paths relative to the folder."""

    read: ReadOptions = field(default_factory=ReadOptions)
    exclude: tuple[str, ...] = ()

    def named(self) -> str:
        """Return a text that is the same for equal options, and for no others."""
        return json.dumps((self.read.max_bytes, self.read.allowed_secrets, self.exclude))


# ---- git ------------------------------------------------------------------------------------------------------------


def find_git(folders: Iterable[str], search_path: str | None = None) -> str | None:
    """Return the absolute path of git, None where there is none outside of the workspace folders."""
    roots = [os.path.realpath(folder) for folder in folders]
    for place in (os.environ.get("PATH", os.defpath) if search_path is None else search_path).split(os.pathsep):
        if not os.path.isabs(place):
            continue
        found = shutil.which("git", path=place)
        if found and not any(_lies_in(os.path.realpath(found), root) for root in roots):
            return found
    return None


def _lies_in(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def git_arguments(git: str) -> tuple[str, ...]:
    """Return the command that lists a folder, to be run in it.

    Nothing program-valued of the workspace's configuration can take effect.
    """
    safe = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.pager=cat")
    return (git, *safe, "--no-pager", "ls-files", "-co", "--exclude-standard", "-z")


def git_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which git sees this folder's repository, changes nothing and fetches nothing."""
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # Versions of git that do not know the one above fetch over no protocol.
        "LC_ALL": "C",
    }


def nested_repositories(root: str, raw: bytes) -> list[str]:
    """Return the repositories within a folder of which git's list names only the folder: nested ones and submodules."""
    nested = [os.fsdecode(found.group(1)) for found in _NESTED.finditer(raw)]
    modules = read_file(os.path.join(root, ".gitmodules"), ReadOptions(max_bytes=_MAX_RULES_BYTES))
    if not isinstance(modules, Skipped):
        nested += _SUBMODULE_PATH.findall(modules.text)
    safe = [path for path in dict.fromkeys(nested) if _is_inside(path)]
    return [path for path in safe if os.path.lexists(os.path.join(root, path, ".git"))]


def _is_inside(path: str) -> bool:
    return path != "" and not os.path.isabs(path) and (".." not in path or ".." not in path.split("/"))


def from_git(root: str, lists: Mapping[str, bytes], options: ListingOptions) -> Listing:
    """Make a listing of git's lists.

    Args:
        lists: By folder relative to the root ("" for the root itself): what git printed there.
    """
    return listing_of(root, dict.fromkeys(git_paths(lists)), options, Foreign(root))


def git_paths(lists: Mapping[str, bytes]) -> list[str]:
    """Return the paths that git's lists name, and some that are none: empty ones, folders, what lies elsewhere."""
    paths: list[str] = []
    for folder, raw in lists.items():
        named = os.fsdecode(raw).split("\0")
        if folder:
            named = [f"{folder}/{path}" for path in named if path and path[0] != "/"]
        elif raw[:1] == b"/" or b"\0/" in raw:
            named = [path for path in named if path[:1] != "/"]
        paths += named
    return paths


class Foreign:
    """Says of folders whether they are, or lie in, an environment, a package folder, a cache, or somewhere else."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._verdicts: dict[str, bool] = {"": False}

    def __call__(self, folder: str) -> bool:
        if not _is_inside(folder):
            return folder != ""
        verdicts = self._verdicts
        missing = []
        while folder not in verdicts:
            missing.append(folder)
            folder = folder.rpartition("/")[0]
        verdict = verdicts[folder]
        for inner in reversed(missing):
            verdict = verdict or _is_foreign_folder(self._root, inner)
            verdicts[inner] = verdict
        return verdict


def _is_foreign_folder(root: str, folder: str) -> bool:
    if folder.rpartition("/")[2] in _SKIPPED_FOLDERS:
        return True
    return any(os.path.lexists(os.path.join(root, folder, mark)) for mark in _ENVIRONMENT_MARKS)


# ---- walking --------------------------------------------------------------------------------------------------------


def from_walk(root: str, options: ListingOptions) -> Listing:
    """Walk a folder by the rules of its `.gitignore` files and of `.git/info/exclude`."""
    skipped: Counter[str] = Counter()
    return listing_of(root, _walk(root, skipped), options, skipped=skipped)


def _walk(root: str, skipped: Counter[str]) -> Iterator[str]:
    base = _rules(os.path.join(root, ".git", "info", "exclude"))
    # Each folder carries the rules above it: (folder that they count from, rules), the nearest last.
    stack: list[tuple[str, tuple[tuple[str, pathspec.GitIgnoreSpec], ...]]] = [("", (("", base),) if base else ())]
    folders = 0
    while stack:
        folder, rules = stack.pop()
        folders += 1
        if folders > _MAX_FOLDERS or folder.count("/") >= _MAX_DEPTH:
            skipped["tooDeep" if folders <= _MAX_FOLDERS else "tooMany"] += 1
            continue
        try:
            with os.scandir(os.path.join(root, folder)) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            skipped["unreadable"] += 1
            continue
        names = {entry.name for entry in entries}
        if folder and not names.isdisjoint(_ENVIRONMENT_MARKS):
            continue
        if ".gitignore" in names:
            own = _rules(os.path.join(root, folder, ".gitignore"))
            rules = (*rules, (folder, own)) if own else rules
        inner = []
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_FOLDERS and not _is_ignored(f"{path}/", rules):
                    inner.append((path, rules))
            elif not _is_ignored(path, rules):
                yield path
        stack += reversed(inner)


def _rules(path: str) -> pathspec.GitIgnoreSpec | None:
    found = read_file(path, ReadOptions(max_bytes=_MAX_RULES_BYTES))
    if isinstance(found, Skipped):
        return None
    return glob_rules(found.text.splitlines())


def glob_rules(lines: Iterable[str]) -> pathspec.GitIgnoreSpec | None:
    """Return rules as in `.gitignore`; lines that are no rules are left out. None where nothing is left.

    A range that is upside down (`[z-a]`) is no rule: for git, too, it matches nothing.
    """
    import pathspec  # only where there are rules: a start would wait for it longer than for all of this module

    kept = []
    for line in lines:
        try:
            pathspec.GitIgnoreSpec.from_lines([line])
        except (ValueError, TypeError, re.error):
            continue
        kept.append(line)
    return pathspec.GitIgnoreSpec.from_lines(kept) if kept else None


def _is_ignored(path: str, rules: Sequence[tuple[str, pathspec.GitIgnoreSpec]]) -> bool:
    for folder, spec in reversed(rules):
        verdict = spec.check_file(path[len(folder) + 1 :] if folder else path).include
        if verdict is not None:
            return verdict
    return False


# ---- both -----------------------------------------------------------------------------------------------------------


def listing_of(
    root: str,
    paths: Iterable[str],
    options: ListingOptions,
    is_foreign: Callable[[str], bool] = lambda folder: False,
    skipped: Counter[str] | None = None,
) -> Listing:
    """Return the listing of what lies at some paths; those of one folder had better follow each other.

    Args:
        skipped: What was passed over already, by reason; it is added to.
    """
    skipped = Counter() if skipped is None else skipped
    excluded = glob_rules(options.exclude)
    files: list[ListedFile] = []
    base, read, lstat = os.path.join(root, ""), options.read, os.lstat  # what follows is done for every file there is
    last, is_out = "", is_foreign("")
    for path in paths:
        folder, _, name = path.rpartition("/")
        if folder != last:
            last, is_out = folder, is_foreign(folder)
        if is_out:
            continue
        name = name.lower()
        if holds_secrets(name) and is_secret(path, read):
            skipped["secret"] += 1
            continue
        if name[name.rfind(".") :] not in LANGUAGES or (name[0] == "." and language_of(path) is None):
            continue
        if excluded is not None and excluded.match_file(path):
            continue
        if not (path.isascii() or _is_text(path)):
            skipped["oddName"] += 1
            continue
        try:
            status = lstat(base + path)
        except OSError as error:
            # In git's index but deleted is no loss.
            skipped["unreadable"] += not isinstance(error, FileNotFoundError | NotADirectoryError)
            continue
        mode = status.st_mode
        if mode & _TYPE != _REGULAR:
            skipped["notRegular"] += not (stat.S_ISLNK(mode) or stat.S_ISDIR(mode))
        elif status.st_size > read.max_bytes:
            skipped["tooLarge"] += 1
        elif len(files) >= MAX_FILES:
            skipped["tooMany"] += 1
        else:
            files.append(ListedFile(path, stat_signature(status), status.st_size, status.st_mtime_ns))
    return Listing(files=files, skipped={reason: n for reason, n in skipped.items() if n})


def would_belong(root: str, path: str, options: ListingOptions) -> bool:
    """Return whether a file would be listed if it lay at a path relative to the folder, where none lies yet.

    Git is not asked, so rules of a repository around the folder and of the user are not known.
    """
    folder = path.rpartition("/")[0]
    if is_secret(path, options.read) or language_of(path) is None or Foreign(root)(folder) or not _is_text(path):
        return False
    excluded = glob_rules(options.exclude)
    if excluded is not None and excluded.match_file(path):
        return False
    base = _rules(os.path.join(root, ".git", "info", "exclude"))
    rules = (("", base),) if base else ()
    above = ""
    for part in path.split("/"):
        own = _rules(os.path.join(root, above, ".gitignore"))
        rules = (*rules, (above, own)) if own else rules
        above = f"{above}/{part}" if above else part
        if _is_ignored(above if above == path else f"{above}/", rules):
            return False
    return True


def _is_text(path: str) -> bool:
    """Return whether a path can be written down; names that are no text in the file system's encoding cannot."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_in_foreign_folder(path: str) -> bool:
    """Return whether a relative path lies in, or is, a folder that is left out by its name."""
    return not _SKIPPED_FOLDERS.isdisjoint(path.split("/"))


def decides_what_belongs(path: str) -> bool:
    """Return whether a change of a file (its path relative to the folder) may change which files are listed."""
    return path.rpartition("/")[2] in (".gitignore", ".gitmodules") or path == ".git/info/exclude"
