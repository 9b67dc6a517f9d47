"""Which files belong to the workspace: git and our own walk agree, and neither runs anything of the workspace."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from headway.workspace.files import ReadOptions
from headway.workspace.listing import (
    Listing,
    ListingOptions,
    decides_what_belongs,
    find_git,
    from_git,
    from_walk,
    git_arguments,
    git_environment,
    is_in_foreign_folder,
    nested_repositories,
)

GIT = find_git([]) or ""
needs_git = pytest.mark.skipif(not GIT, reason="no git on this machine")


def write(root: Path, *names: str, text: str = "x = 1\n") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def git(root: Path, *arguments: str) -> bytes:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run([GIT, *identity, *arguments], cwd=root, check=True, capture_output=True)
    return done.stdout


def git_list(root: Path) -> bytes:
    """What git prints, called as it is in earnest."""
    environment = git_environment(os.environ) | {"GIT_CONFIG_GLOBAL": os.devnull}
    return subprocess.run(git_arguments(GIT), cwd=root, env=environment, check=True, capture_output=True).stdout


def names(listing: Listing) -> set[str]:
    return {file.path for file in listing.files}


def by_git(root: Path, options: ListingOptions | None = None) -> Listing:
    raw = git_list(root)
    lists = {"": raw} | {inner: git_list(root / inner) for inner in nested_repositories(str(root), raw)}
    return from_git(str(root), lists, options or ListingOptions())


RULES = [
    ("/top.py\n", ["top.py"], ["sub/top.py"]),
    ("build/\n", ["build/x.py", "a/build/y.py"], ["builder.py"]),
    ("*.gen.py\n!keep.gen.py\n", ["a.gen.py"], ["keep.gen.py"]),
    ("docs/**/tmp_*.py\n", ["docs/a/b/tmp_1.py", "docs/tmp_2.py"], ["docs/a/kept.py"]),
    ("# comment\n\n\\#odd.py\n", ["#odd.py"], ["plain.py"]),
    ("name with space.py\n", ["name with space.py"], ["name.py"]),
    ("a/*\n!a/b\n", ["a/x.py"], ["a/b/y.py"]),
    ("trailing.py   \n", ["trailing.py"], ["other.py"]),
    ("[z-a]\n[\n!\n\\\n/\nbuild/\n", ["build/x.py"], ["z.py", "a.py"]),  # most lines are no rules
]


@needs_git
@pytest.mark.parametrize(("rules", "ignored", "kept"), RULES, ids=[rules[:12].strip() for rules, _, _ in RULES])
@pytest.mark.parametrize("way", ["git", "walk"])
def test_rules_mean_what_git_means(tmp_path: Path, way: str, rules: str, ignored: list[str], kept: list[str]) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, ".gitignore", text=rules)
    write(tmp_path, *ignored, *kept)
    listing = by_git(tmp_path) if way == "git" else from_walk(str(tmp_path), ListingOptions())
    assert names(listing) == set(kept)


@pytest.mark.parametrize("way", ["git", "walk"])
@needs_git
def test_rules_of_inner_folders_and_of_info_exclude(tmp_path: Path, way: str) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, ".git/info/exclude", text="private.py\n")
    write(tmp_path, "sub/.gitignore", text="/here.py\n!private.py\n")
    write(tmp_path, "private.py", "here.py", "sub/here.py", "sub/deep/here.py", "sub/private.py")
    listing = by_git(tmp_path) if way == "git" else from_walk(str(tmp_path), ListingOptions())
    assert names(listing) == {"here.py", "sub/deep/here.py", "sub/private.py"}


@pytest.mark.parametrize("way", ["git", "walk"])
@needs_git
def test_environments_and_package_folders_are_known_by_content(tmp_path: Path, way: str) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, "own.py", "lib/own.py")
    write(tmp_path, "env39/pyvenv.cfg", "env39/lib/python3.9/site-packages/foreign.py", "env39/bin/activate_this.py")
    write(tmp_path, "odd name/conda-meta/history", "odd name/foreign.py")
    write(
        tmp_path, "cache/CACHEDIR.TAG", "cache/foreign.py", "node_modules/p/foreign.js", "vendored/site-packages/f.py"
    )
    listing = by_git(tmp_path) if way == "git" else from_walk(str(tmp_path), ListingOptions())
    assert names(listing) == {"own.py", "lib/own.py"}


@needs_git
def test_nested_repositories_and_submodules_are_listed_by_their_own_rules(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, "own.py")
    for inner in ("nested", "module"):
        write(tmp_path, f"{inner}/kept.py", f"{inner}/dropped.py")
        write(tmp_path, f"{inner}/.gitignore", text="dropped.py\n")
        git(tmp_path / inner, "init", "-q")
    git(tmp_path / "module", "add", "-A")
    git(tmp_path / "module", "commit", "-q", "-m", "x")
    write(tmp_path, ".gitmodules", text='[submodule "m"]\n\tpath = module\n\turl = ../m\n')
    git(tmp_path, "add", "module")
    assert names(by_git(tmp_path)) == {"own.py", "nested/kept.py", "module/kept.py"}


def test_links_are_not_followed_and_every_walk_ends(tmp_path: Path) -> None:
    write(tmp_path, "a/x.py", "b/y.py")
    os.symlink(tmp_path, tmp_path / "a" / "root")
    os.symlink("..", tmp_path / "a" / "up")
    os.symlink("../b", tmp_path / "a" / "to_b")
    os.symlink("self", tmp_path / "self")
    os.symlink("nowhere", tmp_path / "dangling.py")
    os.symlink("a/x.py", tmp_path / "again.py")
    assert names(from_walk(str(tmp_path), ListingOptions())) == {"a/x.py", "b/y.py"}


def test_what_is_passed_over_is_counted(tmp_path: Path) -> None:
    write(tmp_path, "ok.py", ".env", "a/server.pem", "odd.bin")
    write(tmp_path, "large.py", text="x" * 2_000)
    os.mkfifo(tmp_path / "pipe.py")
    options = ListingOptions(read=ReadOptions(max_bytes=1_000), exclude=("gone/",))
    write(tmp_path, "gone/x.py")
    listing = from_walk(str(tmp_path), options)
    assert names(listing) == {"ok.py"}
    assert listing.skipped == {"secret": 2, "tooLarge": 1, "notRegular": 1}


def test_deep_folders_are_walked_without_recursion(tmp_path: Path) -> None:
    deep = "/".join(["d"] * 300)
    folder = tmp_path
    for _ in range(300):
        folder = folder / "d"
    os.makedirs(folder)
    write(tmp_path, "/".join(["d"] * 200) + "/deep.py", f"{deep}/deepest.py")
    listing = from_walk(str(tmp_path), ListingOptions())
    assert names(listing) == {"/".join(["d"] * 200) + "/deep.py"}
    assert listing.skipped["tooDeep"] == 1


@needs_git
def test_nothing_that_the_workspace_names_is_run(tmp_path: Path) -> None:
    """Programs named in .git/config, hooks and the environment stay where they are."""
    git(tmp_path, "init", "-q")
    marker = tmp_path / "marker"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {marker}\n")
    script.chmod(0o755)
    write(tmp_path, "own.py")
    shutil.copy(script, tmp_path / ".git" / "hooks" / "post-index-change")
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.gitProxy", "core.askPass", "pager.ls-files"):
        git(tmp_path, "config", key, str(script))
    git(tmp_path, "config", "filter.evil.clean", str(script))
    write(tmp_path, ".gitattributes", text="* filter=evil\n")
    marker.unlink(missing_ok=True)
    assert "own.py" in names(by_git(tmp_path))
    assert not marker.exists()


def test_a_git_of_the_workspace_is_not_used(tmp_path: Path) -> None:
    own = tmp_path / "bin" / "git"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    assert find_git([str(tmp_path)], search_path=f"{own.parent}{os.pathsep}relative") is None
    assert find_git([], search_path=str(own.parent)) == str(own)


def test_git_sees_this_repository_only() -> None:
    environment = git_environment({"GIT_DIR": "/elsewhere", "GIT_WORK_TREE": "/", "HOME": "/h"})
    assert not {"GIT_DIR", "GIT_WORK_TREE"} & set(environment)
    assert environment["HOME"] == "/h"


def test_lists_that_lead_outside_are_cut(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path, "outside.py", "in/inside.py")
    raw = b"inside.py\0../outside.py\0/etc/passwd.py\0gone.py\0"
    assert names(from_git(str(tmp_path / "in"), {"": raw}, ListingOptions())) == {"inside.py"}


def test_names_that_are_no_text_are_left_out(tmp_path: Path) -> None:
    odd = os.path.join(os.fsencode(tmp_path), b"\xff.py")
    with open(odd, "w"):
        pass
    write(tmp_path, "ok.py")
    listing = from_walk(str(tmp_path), ListingOptions())
    assert names(listing) == {"ok.py"}
    assert listing.skipped == {"oddName": 1}


def test_paths_that_decide_and_paths_that_do_not_matter() -> None:
    assert decides_what_belongs("a/.gitignore")
    assert decides_what_belongs(".git/info/exclude")
    assert not decides_what_belongs("a/b.py")
    assert is_in_foreign_folder(".git/index")
    assert is_in_foreign_folder("a/node_modules/x.js")
    assert not is_in_foreign_folder("a/b.py")
