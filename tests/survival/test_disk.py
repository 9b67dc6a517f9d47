"""A disk that is full, and one that cannot be written: the server serves, says so, and goes on with what there is."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.lsp.wire import probe, run, server, submission
from tests.survival.ground import begin, indexed, project, snapshot

# A mount of its own that nobody else sees and that ends with the server.
MOUNTED = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o "$2" none "$1" && shift 2 && exec "$@"', "sh"]


def may_mount() -> bool:
    return shutil.which("unshare") is not None and not subprocess.run([*MOUNTED, "/mnt", "ro", "true"]).returncode


pytestmark = pytest.mark.skipif(not may_mount(), reason="needs mounts of its own (unshare)")


@pytest.mark.parametrize(
    ("options", "reason", "of_history"),
    [
        ("size=200k", "disk is full", "history could not be written"),
        ("ro", "Read-only file system", "Make its folder writable"),
    ],
)
def test_what_cannot_be_kept_is_kept_elsewhere_and_said(
    tmp_path: Path, options: str, reason: str, of_history: str
) -> None:
    """Index, history and log lie on the disk; with all of them in trouble everything answers."""
    root = project(tmp_path, 150)
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    cache.mkdir()
    temporary.mkdir()

    async def scenario() -> None:
        within = [*MOUNTED, str(cache), options]
        log = ("--log-file", str(cache / "headway.log"), "--log-level", "debug")
        async with server(tmp_path, *log, within=within, env={"TMPDIR": str(temporary)}) as wire:
            await begin(wire, root)
            found = await indexed(wire)
            assert (found["state"], found["index"]["files"], found["index"]["state"]) == ("degraded", 151, "complete")
            assert reason in found["message"]
            assert "temporary folder" in found["message"]
            assert (await wire.ask("headway/search", {"query": "basket"}))["hits"]
            # Far more than fits of a history, too; that is told once.
            for n in range(6):
                tasks = [probe(f"{n}-{k}-{'long' * 50}", ms=0) for k in range(150)]
                view = await wire.ask("headway/submit", submission("history", *tasks))
                assert view["state"] == "COMPLETED"
            message = await wire.note("window/showMessage")
            assert of_history in message["message"]
            assert (await snapshot(wire))["recentJobs"][0]["title"] == "history"
            assert len(list(temporary.iterdir())) == 1
            assert await wire.exit() == 0
            assert len(wire.notes("window/showMessage")) == 1
        assert list(temporary.iterdir()) == []

    run(scenario())


def test_an_index_on_a_disk_that_was_made_read_only_since_is_left_for_a_temporary_one(tmp_path: Path) -> None:
    root = project(tmp_path, 3)
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root, cache=cache)
            await indexed(wire)
            assert await wire.exit() == 0
        read_only = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
        within = ["unshare", "-rm", "sh", "-c", read_only, "sh", str(cache)]
        async with server(tmp_path, within=within, env={"TMPDIR": str(temporary)}) as wire:
            await begin(wire, root, cache=cache)
            found = await indexed(wire)
            assert (found["state"], found["index"]["files"]) == ("degraded", 4)
            assert "temporary folder" in found["message"]
            assert await wire.exit() == 0

    run(scenario())


def test_an_index_that_was_left_in_a_temporary_folder_is_swept_by_the_next_start(tmp_path: Path) -> None:
    root = project(tmp_path, 3)
    blocked, temporary = tmp_path / "cache", tmp_path / "temporary"
    blocked.write_text("no folder")
    temporary.mkdir()

    async def scenario() -> None:
        for _ in range(2):
            async with server(tmp_path, env={"TMPDIR": str(temporary)}) as wire:
                await begin(wire, root)
                await indexed(wire)
                (only,) = temporary.iterdir()
                assert str(wire.process.pid) in only.name
                wire.process.kill()
                await wire.process.wait()
            assert only.exists()

    run(scenario())
