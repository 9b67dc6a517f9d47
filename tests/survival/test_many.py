"""Much of everything: sources that are too much for a parser, many documents, many roots, many starts."""

import ctypes
import os
from pathlib import Path
from typing import Any

from tests.lsp.wire import Wire, deaf_step_runs, probe, run, server, submission
from tests.soak import census
from tests.survival.ground import begin, called, family, gone, indexed, project, stored

TOO_MUCH = {
    "deep.py": "x = " + "[" * 5_000 + "]" * 5_000 + "\n",
    "deeper.py": "x = " + "(" * 100_000 + "1" + ")" * 100_000 + "\n",
    "long.py": "x = " + " + ".join(["1"] * 100_000) + "\n",
    "literal.py": "x = '" + "y" * 10_000_000 + "'\n",
    "decorated.py": "@f\n" * 20_000 + "def decorated(): pass\n",
}
FINE = "def perfectly_ordinary_thing():\n    return undefined_here\n"


def opened(wire: Wire, path: Path, text: str) -> str:
    uri = path.as_uri()
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    wire.notify("textDocument/didOpen", {"textDocument": document})
    return uri


async def names(wire: Wire, uri: str, line: int, character: int) -> list[str]:
    params = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
    return [item["label"] for item in (await wire.ask("textDocument/completion", params))["items"]]


async def found_last(wire: Wire, uri: str) -> None:
    await wire.note("textDocument/publishDiagnostics", lambda told: (told["uri"], told.get("version")) == (uri, 11))


def test_sources_that_are_too_much_cost_themselves_only(tmp_path: Path) -> None:
    """Indexed, and held by the editor: neither the server nor the rest of the index suffers."""
    root = tmp_path / "work"
    root.mkdir()
    for name, text in TOO_MUCH.items():
        (root / name).write_text(text)
    (root / "fine.py").write_text(FINE)

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            found = await indexed(wire)
            assert (found["message"], found["index"]["state"]) == (None, "complete")
            assert found["index"]["files"] + sum(found["index"]["skipped"].values()) >= len(TOO_MUCH) + 1
            assert not any(worker["restarts"] for worker in found["workers"])
            fine = opened(wire, root / "fine.py", FINE + "perfectly")
            for name, text in TOO_MUCH.items():
                if len(text) < 1_000_000:
                    uri = opened(wire, root / name, text + "local_name = 1\nlocal")
                    await names(wire, uri, text.count("\n") + 1, 5)
            assert "perfectly_ordinary_thing" in await names(wire, fine, 2, 9)
            told = await wire.note("textDocument/publishDiagnostics", lambda told: told["uri"] == fine)
            assert "F821" in [finding.get("code") for finding in told["diagnostics"]]
            symbols = await wire.ask("workspace/symbol", {"query": "perfectly_ordinary"})
            assert [symbol["name"] for symbol in symbols] == ["perfectly_ordinary_thing"]
            await indexed(wire)
            assert await wire.exit() == 0

    run(scenario())


def test_the_number_of_processes_does_not_follow_documents_changes_or_roots(tmp_path: Path) -> None:
    """Ten documents changed ten times each, eight roots added and taken away: one ty and one ruff throughout."""
    root = project(tmp_path, 10)
    roots = []
    for n in range(8):
        other = tmp_path / f"root{n}"
        other.mkdir()
        (other / "a.py").write_text(f"def of_root_{n}(): pass\n")
        roots.append({"uri": other.as_uri(), "name": other.name})

    def engines(wire: Wire) -> int:
        return len(called(family(wire), " server"))

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            await indexed(wire)
            uris = [opened(wire, root / "pkg" / f"mod_{n}.py", "undefined\n") for n in range(10)]
            before = census.take(wire.process.pid)
            most = 0
            for version in range(2, 12):
                for uri in uris:
                    change: dict[str, Any] = {"text": f"undefined_{version}\n"}
                    identity = {"uri": uri, "version": version}
                    wire.notify("textDocument/didChange", {"textDocument": identity, "contentChanges": [change]})
                    wire.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
                await wire.ask("headway/snapshot", {})
                most = max(most, engines(wire))
            for uri in uris:
                await found_last(wire, uri)
            for _ in range(3):
                event: dict[str, Any] = {"added": roots, "removed": []}
                wire.notify("workspace/didChangeWorkspaceFolders", {"event": event})
                await wire.ask("headway/snapshot", {})
                most = max(most, engines(wire))
                wire.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": roots}})
                most = max(most, engines(wire))
            await indexed(wire)
            while engines(wire) != 2:  # The last one of a row of restarts is on its way.
                await wire.ask("headway/snapshot", {})
            assert most <= 4, "an old one may still be ending while its successor starts"
            assert census.leaks(before, census.take(wire.process.pid)) == []
            children = family(wire)
            assert await wire.exit() == 0
            await gone(children)

    run(scenario())


def watched(pids: list[int]) -> int:
    """Return for how many files and folders processes have the kernel watch."""
    kept = [info for pid in pids for info in Path(f"/proc/{pid}/fdinfo").iterdir()]
    return sum(info.read_text().count("inotify wd:") for info in kept if info.exists())


def test_no_folder_is_watched_however_many_there_are(tmp_path: Path) -> None:
    """The kernel's watches are few and everybody's: the editor has its own, and for all else there are looks."""
    root = project(tmp_path, 5)
    for n in range(300):
        (root / "many" / f"folder{n}").mkdir(parents=True)
        (root / "many" / f"folder{n}" / "a.py").write_text(f"def in_folder_{n}(): pass\n")
    libc = ctypes.CDLL(None)
    descriptor = libc.inotify_init()
    assert libc.inotify_add_watch(descriptor, os.fsencode(root), 2) > 0
    assert watched([os.getpid()]) == 1, "a watch that there is would be seen"
    os.close(descriptor)

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            opened(wire, root / "many" / "folder1" / "a.py", "undefined\n")
            await wire.note("textDocument/publishDiagnostics", lambda told: "folder1" in told["uri"])
            await indexed(wire)
            assert watched([wire.process.pid, *(process.pid for process in family(wire))]) == 0
            assert await wire.exit() == 0

    run(scenario())


def test_with_every_place_taken_by_background_work_keys_are_served_and_nothing_is_lost(tmp_path: Path) -> None:
    """A hundred keys while background work computes wherever it may; the index goes on behind it to its end."""
    root = project(tmp_path, 10)
    text = "import json\nlocal_name = 1\n"

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            uri = opened(wire, root / "pkg" / "mod_1.py", text)
            await indexed(wire)
            busy = [
                wire.request(
                    "headway/submit",
                    submission(
                        f"b{n}", *(probe(str(k), "cpu", 600_000, cpuCores=0.5) for k in range(4)), priority="BATCH"
                    ),
                )
                for n in range(4)
            ]
            await wire.note(
                "headway/queueState",
                lambda note: note["queues"]["BATCH"]["running"] and note["queues"]["BATCH"]["queued"],
            )
            for n in range(20):
                (root / f"more_{n}.py").write_text(f"def more_{n}(): pass\n")
            _, index = wire.request("headway/submit", {"type": "index", "arguments": {}})
            for n in range(100):
                word = "local_name"[: n % 10 + 1]
                change: dict[str, Any] = {"text": text + word}
                identity = {"uri": uri, "version": n + 2}
                wire.notify("textDocument/didChange", {"textDocument": identity, "contentChanges": [change]})
                assert "local_name" in await names(wire, uri, 2, len(word))
            assert not any(answer.done() for _, answer in busy)
            for message_id, _ in busy:
                wire.cancel(message_id)
            assert (await index)["state"] == "COMPLETED"
            assert (await indexed(wire))["index"]["files"] == 31
            assert await wire.exit() == 0

    run(scenario())


def test_whatever_way_a_window_ends_its_processes_are_gone(tmp_path: Path) -> None:
    """In order, by the end of its pipe, and by force; the next one starts in the same place."""
    root = project(tmp_path, 3)

    async def scenario() -> None:
        for n in range(3):
            async with server(tmp_path) as wire:
                await begin(wire, root)
                await deaf_step_runs(wire)
                children = family(wire)
                match n:
                    case 0:
                        assert await wire.exit() == 0
                    case 1:
                        assert wire.process.stdin is not None
                        wire.process.stdin.close()
                    case _:
                        wire.process.kill()
                await wire.process.wait()
                await gone(children)

    run(scenario())


def test_two_windows_of_one_folder_do_not_get_in_each_other_s_way(tmp_path: Path) -> None:
    """One cache, one history, one index, started at once: neither waits for the other, and nobody is bothered."""
    root = project(tmp_path, 40)

    async def scenario() -> None:
        async with server(tmp_path) as one, server(tmp_path) as other:
            for wire in (one, other):
                await begin(wire, root)
            for wire in (one, other):
                found = await indexed(wire)
                assert (found["index"]["files"], found["message"]) == (41, None)
                assert (await wire.ask("headway/search", {"query": "basket"}))["hits"]
            (root / "new.py").write_text("def seen_by_both(): pass\n")
            for wire in (one, other):
                assert (await wire.ask("headway/submit", {"type": "index", "arguments": {}}))["state"] == "COMPLETED"
                assert [hit["name"] for hit in await wire.ask("workspace/symbol", {"query": "seen_by_both"})] == [
                    "seen_by_both"
                ]
            (root / "new.py").unlink()
            for wire in (one, other):
                assert (await wire.ask("headway/submit", {"type": "index", "arguments": {}}))["state"] == "COMPLETED"
                assert await wire.ask("workspace/symbol", {"query": "seen_by_both"}) == []
                assert wire.notes("window/showMessage") == []
                assert await wire.exit() == 0

    run(scenario())
    assert len(stored(tmp_path / "cache")[0]) == 41
