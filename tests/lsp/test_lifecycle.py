"""Starting, refusing, ending: the real command over real pipes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from headway.lsp.framing import frame
from tests.lsp.wire import AnswerError, Wire, deaf_step_runs, probe, run, server, submission
from tests.scheduler.executors.harness import SLICES_ARE_TOLD, slice_ns

BUSY = (
    probe("sleeps", ms=60_000),
    probe("burns", "process", 60_000),
    probe("hangs", "hang"),
    probe("threads", "thread", 60_000),
)


async def gone(processes: list[psutil.Process]) -> None:
    """Everything that the server started has ended."""
    _, alive = await asyncio.to_thread(psutil.wait_procs, processes, 10)
    assert alive == []


def family(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


async def two_workers_are_busy(wire: Wire) -> None:
    while len([worker for worker in (await wire.ask("headway/snapshot", {}))["workers"] if worker["busy"]]) < 2:
        continue


def test_the_least_that_a_client_may_say(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            result = await wire.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
            # Ghost text of ours could keep the list from opening, or stay where it does not belong.
            assert "inlineCompletionProvider" not in result["capabilities"]
            assert result["capabilities"]["experimental"]["headway"] == {
                "protocol": 1,
                "jobTypes": ["analysis", "index", "probe", "tests"],
                "probes": True,
            }
            wire.notify("initialized", {})
            view = await wire.ask("headway/submit", submission("p", probe("a")))
            assert view["state"] == "COMPLETED"
            assert [message for message in wire.seen if "id" in message and "method" in message] == []
            assert await wire.exit() == 0

    run(scenario())


@SLICES_ARE_TOLD
def test_who_answers_keys_wakes_in_short_slices(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.ask("initialize", {"processId": None, "capabilities": {}})
            # ty asks for them itself, before it becomes ty.
            while {slice_ns(process.pid) for process in await asyncio.to_thread(family, wire.process.pid)} != {100_000}:
                continue
            assert slice_ns(wire.process.pid) == 100_000

    run(scenario())


def test_a_start_that_is_cancelled_is_answered_at_once_and_goes_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            starting, answer = wire.request("initialize", {"processId": None, "capabilities": {}})
            while not await asyncio.to_thread(family, wire.process.pid):
                continue  # ty is the first thing that is started
            wire.cancel(starting)
            snapshot = await wire.ask("headway/snapshot", {})
            assert snapshot["state"]
            error = answer.exception()
            assert error is None or (isinstance(error, AnswerError) and error.code == -32800)
            assert await wire.exit() == 0

    run(scenario())


def test_who_does_not_wait_for_the_answer_is_answered_in_order(tmp_path: Path) -> None:
    """All that a client writes behind `initialize` in one breath: the server says nothing before its answer."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            uri = (tmp_path / "a.py").as_uri()
            starting, first = wire.request("initialize", {"processId": None, "capabilities": {}})
            wire.notify("initialized", {})
            wire.notify("textDocument/didOpen", opening(uri, "value_of_it = 1\nval"))
            _, second = wire.request("textDocument/completion", asking(uri, 1, 3))
            assert next(item["label"] for item in (await second)["items"]) == "value_of_it"
            assert first.done()
            assert wire.seen[0]["id"] == starting
            assert await wire.exit() == 0

    run(scenario())


def test_nothing_is_left_to_import_for_the_first_key(tmp_path: Path) -> None:
    """What were still to be imported when `initialize` is answered would make who types right away wait."""

    async def scenario() -> None:
        async with server(tmp_path, python=("-X", "importtime")) as wire:
            uri = (tmp_path / "a.py").as_uri()
            await wire.initialize()
            wire.notify("textDocument/didOpen", opening(uri, "value_of_it = 1\nval"))
            await wire.ask("textDocument/completion", asking(uri, 1, 3))
            assert await wire.exit() == 0
            before, ready, behind = (tmp_path / "stderr.txt").read_text().partition("the server is ready")
            assert ready
            assert "headway.session.typed_word" in imported(before)
            assert imported(behind) == []

    run(scenario())


def opening(uri: str, text: str) -> dict[str, object]:
    return {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}}


def asking(uri: str, line: int, character: int) -> dict[str, object]:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def imported(told: str) -> list[str]:
    """Return the modules of ours that the interpreter has said to have imported, in that order."""
    lines = [line.rpartition("|")[2].strip() for line in told.splitlines() if "import time:" in line]
    return [name for name in lines if name.split(".")[0] == "headway"]


@pytest.mark.parametrize("options", [None, 5, {}, {"settings": 7, "cacheDir": 3, "trusted": "yes"}, {"x": [1]}])
def test_odd_options_have_defaults(tmp_path: Path, options: object) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path, initializationOptions=options)
            await wire.ask("headway/snapshot", {})
            assert await wire.exit() == 0

    run(scenario())


def test_what_comes_too_early_and_too_late(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            wire.notify("textDocument/didOpen", {"textDocument": 5})
            assert (await wire.refused("headway/snapshot", {})).code == -32002
            assert (await wire.refused("shutdown")).code == -32002
            assert (await wire.refused("initialize", [])).code == -32602
            await wire.initialize()
            assert (await wire.refused("initialize", {"capabilities": {}})).code == -32600
            assert await wire.ask("shutdown") is None
            assert (await wire.refused("shutdown")).code == -32600
            assert (await wire.refused("headway/snapshot", {})).code == -32600
            wire.notify("exit")
            assert await wire.process.wait() == 0

    run(scenario())


ENDS: dict[str, tuple[list[str], list[int | None], int]] = {
    "in order": (["initialize", "initialized", "shutdown", "exit"], [None, None], 0),
    "exit alone": (["exit"], [], 1),
    "exit without shutdown": (["initialize", "initialized", "exit"], [None], 1),
    "before initialize": (["shutdown", "exit"], [-32002], 1),
    "before initialized": (["initialize", "shutdown", "exit"], [None, None], 0),
    "requests behind shutdown": (
        ["initialize", "initialized", "shutdown", "headway/snapshot", "shutdown", "initialize", "exit"],
        [None, None, -32600, -32600, -32600],
        0,
    ),
}


@pytest.mark.parametrize("order", ENDS)
def test_whatever_the_order_of_the_end_it_ends(tmp_path: Path, order: str) -> None:
    """All in one write: each request has its answer, what comes behind the shutdown is refused, the code is LSP's."""
    methods, codes, exit_code = ENDS[order]

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            answers, written = [], b""
            for method in methods:
                if method in ("initialized", "exit"):
                    written += frame(json.dumps({"jsonrpc": "2.0", "method": method}).encode())
                    continue
                message_id, data = wire.prepare(method, {"processId": None, "capabilities": {}})
                written += data
                answers.append(wire.answer_to(message_id))
            wire.write(written)
            assert await wire.process.wait() == exit_code
            await asyncio.wait(answers) if answers else None
            errors = [answer.exception() for answer in answers]
            assert [error.code if isinstance(error, AnswerError) else error for error in errors] == codes

    run(scenario())


def test_nothing_of_ours_is_said_before_initialized(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
            await wire.ask("headway/submit", submission("early", probe("a")))
            assert [message for message in wire.seen if "method" in message] == []
            wire.notify("initialized", {})
            first = await wire.note("headway/queueState")
            assert first["seq"] == 1
            assert first["state"] == "starting"
            await wire.note("headway/queueState", lambda state: state["state"] != "starting")

    run(scenario())


def test_probes_need_the_flag(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path, probes=False) as wire:
            result = await wire.initialize(initializationOptions={"settings": {"probes": True}})
            assert result["capabilities"]["experimental"]["headway"]["probes"] is False
            error = await wire.refused("headway/submit", submission("p", probe("a")))
            assert error.code == -32602
            assert "--enable-probes" in error.message

    run(scenario())


@pytest.mark.parametrize("way", ["exit", "end of input", "SIGTERM", "shutdown"])
def test_a_busy_server_ends_with_all_its_children(tmp_path: Path, way: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            _, submitted = wire.request("headway/submit", submission("busy", *BUSY, workDoneToken="t"))
            await wire.note("$/progress", lambda params: params["value"]["kind"] == "begin")
            await two_workers_are_busy(wire)
            children = family(wire.process.pid)
            code = await end(wire, way)
            await gone(children)
            assert code == {"exit": 1, "end of input": 1, "SIGTERM": 143, "shutdown": 0}[way]
            kinds = [params["value"]["kind"] for params in wire.notes("$/progress")]
            assert (kinds.count("begin"), kinds.count("end")) == (1, 1)
            if way == "shutdown":
                with pytest.raises(AnswerError) as caught:
                    await submitted
                assert caught.value.code == -32800
                answers = [message.get("id") for message in wire.seen if "method" not in message]
                assert answers[-1] != 2, "the submission was answered after the shutdown"

    run(scenario())


async def end(wire: Wire, way: str) -> int:
    match way:
        case "exit":
            wire.notify("exit")
        case "end of input":
            assert wire.process.stdin is not None
            wire.process.stdin.close()
        case "SIGTERM":
            wire.process.send_signal(signal.SIGTERM)
        case _:
            return await wire.exit()
    return await wire.process.wait()


def test_a_dead_editor_that_nobody_has_waited_for_counts_as_dead(tmp_path: Path) -> None:
    editor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(processId=editor.pid)
            await wire.ask("headway/snapshot", {})
            editor.kill()
            assert await wire.process.wait() == 1

    try:
        run(scenario())
    finally:
        editor.kill()
        editor.wait()


def test_children_end_when_the_server_is_killed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            wire.request("headway/submit", submission("busy", *BUSY))
            await wire.job_id("busy")
            await two_workers_are_busy(wire)
            await deaf_step_runs(wire)
            children = family(wire.process.pid)
            wire.process.kill()
            await gone(children)

    run(scenario())


def test_the_users_python_does_not_decide_what_runs(tmp_path: Path) -> None:
    """PYTHONPATH and the working directory hold modules of our dependencies' names that leave a mark when imported."""
    marks = tmp_path / "marks"
    marks.mkdir()
    for name in ("psutil", "pathspec", "asyncio", "json", "sitecustomize", "headway"):
        (tmp_path / f"{name}.py").write_text(f"open({str(marks / name)!r}, 'w')\n")

    async def scenario() -> None:
        async with server(tmp_path, env={"PYTHONPATH": str(tmp_path), "PYTHONHOME": "/nowhere"}) as wire:
            await wire.initialize(tmp_path)
            view = await wire.ask("headway/submit", submission("p", probe("a", "process")))
            assert view["state"] == "COMPLETED", view
            assert await wire.exit() == 0
        assert os.listdir(marks) == []

    run(scenario())


def test_the_command_itself_is_isolated(tmp_path: Path) -> None:
    """The installed script starts though PYTHONHOME names nothing, and passes its arguments on."""
    script = Path(sys.executable).with_name("headway")
    if not script.exists():
        pytest.skip("the package is not installed beside this interpreter")
    done = subprocess.run(
        [script, "--version"],
        env={**os.environ, "PYTHONHOME": "/nowhere", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("headway ")


def test_a_client_that_owes_answers_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """Its settings, registrations and progress were asked for and never answered; the end is orderly all the same."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            wire.replies_to_nothing = True
            capabilities = {
                "workspace": {"configuration": True, "didChangeWatchedFiles": {"dynamicRegistration": True}},
                "window": {"workDoneProgress": True},
            }
            await wire.initialize(tmp_path, capabilities=capabilities)
            await wire.until(lambda: any(message.get("method") == "workspace/configuration" for message in wire.seen))
            assert await wire.exit() == 0

    run(scenario())
    assert "the server has ended with code 0" in (tmp_path / "stderr.txt").read_text()


def test_a_trusted_folder_whose_python_only_starts_another_one_is_served(tmp_path: Path) -> None:
    """What the launcher starts is asked by a job, and a start comes before there can be jobs."""
    launcher = tmp_path / "shim" / "python"
    launcher.parent.mkdir()
    launcher.write_text(f'#!/bin/sh\necho asked >> "{tmp_path}/asked"\nexec "{sys.executable}" "$@"\n')
    launcher.chmod(0o755)
    root = tmp_path / "project"
    root.mkdir()

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            options = {"trusted": True, "settings": {"python": {"interpreter": str(launcher)}}}
            await wire.initialize(root, initializationOptions=options)
            assert (await wire.ask("headway/snapshot", {}))["state"] != "error"
            while not (tmp_path / "asked").exists():  # noqa: ASYNC110 - another process makes the mark
                await asyncio.sleep(0.02)

    run(scenario())
