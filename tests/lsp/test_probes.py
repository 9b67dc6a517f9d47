"""Probes over the wire at the edges of what may be asked: too much, too many, too long, and what comes of a pause."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.wire import AnswerError, probe, run, server, submission


def asking(**more: Any) -> dict[str, Any]:
    """A submission of one probe task with these arguments."""
    return {"type": "probe", "arguments": {"tasks": [{"name": "a", "durationMs": 1, **more}]}}


def test_what_asks_for_more_cores_than_ordinary_work_may_use_is_refused(tmp_path: Path) -> None:
    """With the numbers; CRITICAL work may have all there are."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            cores = (await wire.ask("headway/snapshot", {}))["resources"]["cpuCores"]
            room = cores["total"] - cores["reserved"]
            for priority in ("HIGH", "NORMAL", "BATCH", None):
                error = await wire.refused(
                    "headway/submit", {**asking(cpuCores=room + 0.01, name="large"), "priority": priority}
                )
                assert error.code == -32602
                for word in ("large", "cpuCores", f"{room + 0.01:g}", f"{room:g}"):
                    assert word in error.message
            assert (await wire.ask("headway/submit", asking(cpuCores=room)))["state"] == "COMPLETED"
            everything = {**asking(cpuCores=cores["total"]), "priority": "CRITICAL"}
            assert (await wire.ask("headway/submit", everything))["state"] == "COMPLETED"
            error = await wire.refused(
                "headway/submit", {**asking(cpuCores=cores["total"] + 1), "priority": "CRITICAL"}
            )
            assert error.code == -32602
            assert await wire.exit() == 0

    run(scenario())


def test_numbers_without_measure_are_refused_and_named(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            for key in ("cpuCores", "memoryMb", "durationMs", "gpuMemoryMb", "hardTimeoutMs", "gpuCount", "steps"):
                error = await wire.refused("headway/submit", asking(**{key: 10**400}))
                assert error.code == -32602, key
                assert key in error.message
            for key in ("softTimeoutMs", "hardTimeoutMs"):
                assert key in (await wire.refused("headway/submit", asking(**{key: 0}))).message
            assert await wire.exit() == 0

    run(scenario())


def test_one_submission_larger_than_the_queue_is_refused_by_its_number(tmp_path: Path) -> None:
    """As one that is too large because of what waits already."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            tasks = [probe(f"t{n}") for n in range(20_001)]
            error = await wire.refused("headway/submit", submission("many", *tasks))
            assert error.code == -32803
            assert "20001" in error.message
            assert "20000" in error.message
            steps = [probe(f"t{n}", steps=10_000) for n in range(1000)]
            error = await wire.refused("headway/submit", submission("steps", *steps))
            assert error.code == -32602
            assert "200000 steps" in error.message
            assert await wire.exit() == 0

    run(scenario())


def test_a_submission_of_thousands_comes_before_what_was_submitted_behind_it_unless_it_is_cancelled(
    tmp_path: Path,
) -> None:
    """It is read in turns with everything else: a cancel finds it, and nothing overtakes it."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            await wire.ask("headway/pause", {"priorities": ["NORMAL"]})
            wire.request("headway/submit", submission("many", *(probe(f"t{n}") for n in range(5_000))))
            wire.request("headway/submit", submission("one", probe("a")))
            given_up, answer = wire.request(
                "headway/submit", submission("never", *(probe(f"t{n}") for n in range(5_000)))
            )
            wire.cancel(given_up)
            await wire.job_id("one", "PENDING")
            assert (await wire.ask("headway/snapshot", {}))["queues"]["NORMAL"]["queued"] == 5_001
            titles = [note["title"] for note in wire.notes("headway/jobUpdated")]
            assert titles.index("many") < titles.index("one")
            assert "never" not in titles
            with pytest.raises(AnswerError) as caught:
                await answer
            assert caught.value.code == -32800
            bad = [*(probe(f"t{n}") for n in range(5_000)), {"name": "last", "kind": "nonsense"}]
            error = await wire.refused("headway/submit", submission("bad", *bad))
            assert (error.code, "tasks[5000].kind" in error.message) == (-32602, True)
            assert (await wire.ask("headway/snapshot", {}))["queues"]["NORMAL"]["queued"] == 5_001

    run(scenario())


def test_lists_that_are_cut_say_so(tmp_path: Path) -> None:
    """Of a task's many steps those around the present one are listed; of many jobs the first."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            view = await wire.ask("headway/submit", submission("steps", probe("a", ms=0, steps=500)))
            [task] = view["tasks"]
            assert (len(task["steps"]), task["truncated"], view["truncated"]) == (200, True, False)
            assert task["steps"][-1]["name"] == "a 500/500"
            view = await wire.ask("headway/submit", submission("few", probe("a", ms=0, steps=200)))
            assert "truncated" not in view["tasks"][0]
            await wire.ask("headway/pause", {"priorities": ["NORMAL"]})
            answers = [wire.request("headway/submit", submission(f"j{n}", probe("a", ms=0)))[1] for n in range(101)]
            await wire.job_id("j100", "PENDING")
            state = await wire.ask("headway/snapshot", {})
            assert (len(state["jobs"]), state["truncated"]) == (100, True)
            await wire.ask("headway/resume", {"priorities": ["NORMAL"]})
            for answer in answers:
                assert (await answer)["state"] == "COMPLETED"
            assert "truncated" not in await wire.ask("headway/snapshot", {})
            assert await wire.exit() == 0

    run(scenario())


def test_a_job_that_paused_at_a_failure_goes_on_when_its_priority_is_resumed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            tasks = [
                probe("bad", "fail", 1, errorKind="not_found"),
                probe("wait", ms=300),
                probe("then", dependsOn=["wait"]),
            ]
            params = submission("pausing", *tasks)
            params["arguments"]["onTaskFailure"] = "pause"
            answer = wire.request("headway/submit", params)[1]
            await wire.job_id("pausing", "PAUSED")
            await wire.ask("headway/resume", {})
            assert not answer.done()
            await wire.ask("headway/resume", {"priorities": ["NORMAL"]})
            view = await answer
            states = {name: task["state"] for name, task in view["result"]["tasks"].items()}
            assert states == {"bad": "FAILED", "wait": "COMPLETED", "then": "COMPLETED"}
            assert view["state"] == "FAILED"
            assert await wire.exit() == 0

    run(scenario())


def test_a_timeline_of_more_than_is_kept_is_all_that_is_kept(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            await wire.ask("headway/submit", submission("seen", probe("a")))
            events = (await wire.ask("headway/timeline", {"sinceMs": 1e12}))["traceEvents"]
            assert any(event["ph"] == "X" for event in events)
            assert await wire.exit() == 0

    run(scenario())


def test_a_timeline_says_when_it_was_and_how_long_completions_took(tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "a.py").write_text("import os\nos.\n")
        async with server(tmp_path) as wire:
            before_ms = time.time() * 1000
            await wire.initialize()
            uri = (tmp_path / "a.py").as_uri()
            document = {"uri": uri, "languageId": "python", "version": 1, "text": "import os\nos.\n"}
            wire.notify("textDocument/didOpen", {"textDocument": document})
            place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 3}}
            await wire.ask("textDocument/completion", place)
            await wire.ask("headway/submit", submission("seen", probe("a")))
            found = await wire.ask("headway/timeline", {})
            [answered] = found["completions"]
            assert before_ms - 1000 <= answered["at"] <= time.time() * 1000 + 1000
            assert answered["tookMs"] > 0
            [step] = [event for event in found["traceEvents"] if event["name"].startswith("a")]
            assert before_ms - 1000 <= found["originAt"] + step["ts"] / 1000 <= time.time() * 1000 + 1000
            assert found["queueState"]["state"] in {"idle", "busy", "starting"}
            assert found["completionSlaMs"] == 100
            assert await wire.exit() == 0

    run(scenario())


def test_what_begins_by_itself_is_seen_waiting_from_the_start_and_holds_nothing_yet(tmp_path: Path) -> None:
    """Whoever looks right behind `initialized` sees neither an idle server nor one that has begun already."""

    async def scenario() -> None:
        (tmp_path / "a.py").write_text("def made():\n    pass\n")
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path)
            state = await wire.ask("headway/snapshot", {})
            assert sum(state["queues"]["BATCH"].values()) == 1
            assert state["resources"]["cpuCores"]["used"] == state["resources"]["memoryMb"]["used"] == 0
            await wire.note("headway/queueState", lambda state: not any(state["queues"]["BATCH"].values()))
            assert await wire.exit() == 0

    run(scenario())
