"""Asks git which files of a folder belong to the workspace, as a child that nothing of the workspace can steer."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Final

from headway.scheduler.executors.children import PriorityClass, ProgramMissingError, clean_environment, run
from headway.workspace import listing

_log = logging.getLogger(__name__)

_LIMIT_S: Final = 20.0
_MOST_REPOSITORIES: Final = 500


async def git_lists(root: str, folders: Sequence[str]) -> Mapping[str, bytes] | None:
    """Return git's lists of a folder and of the repositories in it, by relative path; None where git does not say.

    Args:
        root: The folder's absolute path.
        folders: All folders of the workspace; a git that lies in one of them is not run.
    """
    git = await asyncio.to_thread(listing.find_git, folders)
    if git is None:
        return None
    lists: dict[str, bytes] = {}
    waiting = [""]
    while waiting:
        inner = waiting.pop()
        cwd = os.path.join(root, inner) if inner else root
        raw = await _list(git, cwd)
        if raw is None:
            if not inner:
                return None
            continue
        lists[inner] = raw
        nested = await asyncio.to_thread(listing.nested_repositories, cwd, raw)
        waiting += [f"{inner}/{path}" if inner else path for path in nested]
        del waiting[_MOST_REPOSITORIES - len(lists) :]
    if not lists[""] and not await asyncio.to_thread(os.path.lexists, os.path.join(root, ".git")):
        return None  # A repository around it ignores the whole folder: the person opened it all the same.
    return lists


async def _list(git: str, cwd: str) -> bytes | None:
    try:
        done = await run(
            listing.git_arguments(git),
            cwd=cwd,
            env=listing.git_environment(clean_environment()),
            priority_class=PriorityClass.BACKGROUND,
            timeout_s=_LIMIT_S,
        )
    except (ProgramMissingError, OSError) as error:
        _log.info("git does not list %s: %s", cwd, error)
        return None
    if done.returncode != 0 or done.timed_out or done.truncated:
        reason = "it took too long" if done.timed_out else done.stderr[-300:].decode("utf-8", "replace").strip()
        _log.info("git does not list %s: %s", cwd, reason)
        return None
    return done.stdout
