"""Folders with links in circles and things that are no files, and folders whose names hardly differ."""

import os
import socket
from pathlib import Path

from tests.lsp.wire import Wire, run, server
from tests.survival.ground import begin, indexed


async def places(wire: Wire, root: Path, query: str) -> list[str]:
    """Return where a name is defined, relative to a folder."""
    found = await wire.ask("workspace/symbol", {"query": query})
    return sorted(symbol["location"]["uri"].removeprefix(f"{root.as_uri()}/") for symbol in found)


def test_links_in_circles_and_what_is_no_file_hold_nobody_up(tmp_path: Path) -> None:
    """Each real file is indexed once; pipes, sockets and devices with a source's name are never opened."""
    root = tmp_path / "work"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "real.py").write_text("def really_here(): pass\n")
    for link, target in (("a/up", ".."), ("a/b/root", str(root)), ("self", "self"), ("x", "y"), ("y", "x")):
        (root / link).symlink_to(target)
    for number in range(45):
        (root / f"chain{number}").symlink_to(f"chain{number - 1}" if number else "a")
    for one, other in (("pair1", "pair2"), ("pair2", "pair1")):
        (root / one).mkdir()
        (root / one / "across").symlink_to(f"../{other}")
    for pipe in ("pipe.py", "a/.gitignore", "a/conftest.py"):
        os.mkfifo(root / pipe)
    (root / "device.py").symlink_to("/dev/zero")
    here = os.getcwd()

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            found = await indexed(wire)
            assert (found["index"]["files"], found["message"]) == (1, None)
            assert await places(wire, root, "really_here") == ["a/b/real.py"]
            assert await wire.exit() == 0

    with socket.socket(socket.AF_UNIX) as listening:
        os.chdir(root)  # The whole path may be longer than a socket's can be.
        try:
            listening.bind("socket.py")
        finally:
            os.chdir(here)
        run(scenario())


def test_folders_whose_names_hardly_differ_do_not_mix(tmp_path: Path) -> None:
    """Two checkouts that differ in case alone, and one reached with and without a slash or by a link: its own names."""
    for name in ("Repo", "repo"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "module.py").write_text(f"def only_in_{name}(): pass\n")
    (tmp_path / "link").symlink_to(tmp_path / "repo")

    async def scenario(spelling: str, name: str) -> None:
        async with server(tmp_path) as wire:
            await begin(wire, None, rootUri=f"{tmp_path.as_uri()}/{spelling}")
            await indexed(wire)
            symbols = await wire.ask("workspace/symbol", {"query": "only_in"})
            assert [symbol["name"] for symbol in symbols] == [f"only_in_{name}"]
            assert symbols[0]["location"]["uri"] == f"{tmp_path.as_uri()}/{spelling.rstrip('/')}/module.py"
            assert await wire.exit() == 0

    for spelling, name in (("Repo", "Repo"), ("repo", "repo"), ("repo/", "repo"), ("link", "repo")):
        run(scenario(spelling, name))
    assert len(list((tmp_path / "cache").rglob("index.sqlite"))) == 2
