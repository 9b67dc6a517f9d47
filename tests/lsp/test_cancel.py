"""Cancelling from the wire down to the work: at once, at any moment, once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.wire import AnswerError, Wire, probe, run, server, submission

CANCELLED = -32800
# All of the room that ordinary work may take, whatever the machine.
WHOLE = 0.99


async def all_room(wire: Wire) -> float:
    cores = (await wire.ask("headway/snapshot", {}))["resources"]["cpuCores"]
    room: float = (cores["total"] - cores["reserved"]) * WHOLE
    return room


async def refused(answer: "asyncio.Future[Any]") -> int:
    with pytest.raises(AnswerError) as caught:
        await answer
    return caught.value.code


async def free(wire: Wire) -> None:
    """Nothing is held by anybody any more."""
    while any(use["used"] for use in (await wire.ask("headway/snapshot", {}))["resources"].values()):
        continue


@pytest.mark.parametrize("kind", ["sleep", "process", "thread", "hang", "memory"])
def test_a_running_job_is_stopped_and_gives_back_what_it_held(tmp_path: Path, kind: str) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            message_id, answer = wire.request("headway/submit", submission("x", probe("a", kind, 60_000)))
            job_id = await wire.job_id("x")
            wire.cancel(message_id)
            assert await refused(answer) == CANCELLED
            await wire.note("headway/jobUpdated", lambda view: (view["jobId"], view["state"]) == (job_id, "CANCELLED"))
            await free(wire)
            assert await wire.exit() == 0

    run(scenario())


def test_a_queued_job_that_is_cancelled_never_runs(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            cores = await all_room(wire)
            block_id, block = wire.request("headway/submit", submission("block", probe("b", ms=60_000, cpuCores=cores)))
            await wire.job_id("block")
            message_id, answer = wire.request("headway/submit", submission("queued", probe("q", cpuCores=cores)))
            await wire.job_id("queued", "PENDING")
            wire.cancel(message_id)
            assert await refused(answer) == CANCELLED
            assert not block.done()
            wire.cancel(block_id)
            assert await refused(block) == CANCELLED
            await free(wire)
            states = [view["state"] for view in wire.notes("headway/jobUpdated") if view["title"] == "queued"]
            assert "RUNNING" not in states
            assert await wire.exit() == 0

    run(scenario())


def test_a_cancel_in_the_same_write_leaves_no_job(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            await wire.ask("headway/snapshot", {})
            message_id, data = wire.prepare("headway/submit", submission("never", probe("n", ms=60_000)))
            _, cancel = wire.prepare("headway/snapshot", {})
            wire.write(data + cancel)
            wire.cancel(message_id)
            assert await refused(wire.answer_to(message_id)) == CANCELLED
            await free(wire)
            assert await wire.exit() == 0

    run(scenario())


def test_cancelling_by_job_id_is_a_result(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            _, answer = wire.request(
                "headway/submit", submission("v", probe("a", ms=60_000), probe("b", dependsOn=["a"]))
            )
            job_id = await wire.job_id("v")
            assert await wire.ask("headway/cancelJob", {"jobId": job_id}) == {"cancelled": True}
            view = await answer
            assert view["state"] == "CANCELLED"
            assert {task["state"] for task in view["tasks"]} <= {"CANCELLED", "SKIPPED"}
            assert await wire.ask("headway/cancelJob", {"jobId": job_id}) == {"cancelled": False}
            assert await wire.ask("headway/cancelJob", {"jobId": "never was"}) == {"cancelled": False}
            again = await wire.ask("headway/retryJob", {"jobId": job_id})
            assert again["jobId"] != job_id
            await wire.ask("headway/cancelJob", again)
            assert await wire.exit() == 0

    run(scenario())


def test_the_progress_bars_own_button(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            _, answer = wire.request(
                "headway/submit", submission("bar", probe("a", ms=60_000, steps=30), workDoneToken="bar-token")
            )
            begin = await wire.note("$/progress", lambda params: params["token"] == "bar-token")
            assert begin["value"]["cancellable"] is True
            wire.notify("window/workDoneProgress/cancel", {"token": "bar-token"})
            assert (await answer)["state"] == "CANCELLED"
            kinds = [params["value"]["kind"] for params in wire.notes("$/progress")]
            assert (kinds[0], kinds[-1], kinds.count("begin"), kinds.count("end")) == ("begin", "end", 1, 1)
            assert await wire.exit() == 0

    run(scenario())


def test_behind_a_slow_request_what_is_cancelled_never_runs_and_what_is_fresh_is_served(tmp_path: Path) -> None:
    """All room is taken; a hundred requests of all kinds wait, each cancelled at once, then somebody types."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path)
            uri = (tmp_path / "a.py").as_uri()
            text = "known_here = 1\nknown_"
            document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
            wire.notify("textDocument/didOpen", {"textDocument": document})
            place = {"textDocument": {"uri": uri}, "position": {"line": 1, "character": 6}}
            cores = await all_room(wire)
            slow_id, slow = wire.request(
                "headway/submit", submission("slow", probe("s", "thread", 60_000, cpuCores=cores))
            )
            await wire.job_id("slow")
            asked: tuple[tuple[str, Any], ...] = (
                ("headway/submit", submission("never", probe("n", "thread", 1, cpuCores=cores))),
                ("headway/search", {"query": "known"}),
                ("textDocument/completion", place),
                ("textDocument/references", {**place, "context": {"includeDeclaration": True}}),
            )
            answers = []
            for number in range(100):
                message_id, answer = wire.request(*asked[number % len(asked)])
                wire.cancel(message_id)
                answers.append(answer)
            fresh = await wire.ask("textDocument/completion", place)
            assert "known_here" in [item["label"] for item in fresh["items"]]
            assert not slow.done()
            # A search or a list may have been there before its cancel was.
            submitted = [await refused(answer) for answer in answers[:: len(asked)]]
            assert set(submitted) == {CANCELLED}
            await asyncio.wait(answers)
            states = {view["state"] for view in wire.notes("headway/jobUpdated") if view["title"] == "never"}
            assert not states & {"RUNNING", "COMPLETED"}
            wire.cancel(slow_id)
            assert await refused(slow) == CANCELLED
            await free(wire)
            assert await wire.exit() == 0

    run(scenario())


def test_after_cancels_at_every_stage_there_is_as_much_room_as_before(tmp_path: Path) -> None:
    """Queued, just starting, running, ending and failing; afterwards as many run side by side as there is room for."""
    kinds = (("sleep", 60_000), ("thread", 200), ("process", 60_000), ("sleep", 1), ("process", 1), ("fail", 1))

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            cores = await all_room(wire)
            answers = []
            for number in range(180):
                kind, ms = kinds[number % len(kinds)]
                message_id, answer = wire.request(
                    "headway/submit", submission(f"c{number}", probe("a", kind, ms, cpuCores=cores / 4))
                )
                answers.append((message_id, answer))
                if number % 3 == 0:
                    wire.cancel(message_id)
                if number % 20 == 0:
                    await wire.ask("headway/snapshot", {})
            for message_id, answer in answers:
                if not answer.done():
                    wire.cancel(message_id)
            await asyncio.wait([answer for _, answer in answers])
            await free(wire)
            message_id, together = wire.request(
                "headway/submit",
                submission("together", *(probe(f"t{n}", ms=60_000, cpuCores=cores / 4) for n in range(4))),
            )
            await wire.note("headway/queueState", lambda note: len(note["running"]) == 4)
            wire.cancel(message_id)
            assert await refused(together) == CANCELLED
            assert await wire.exit() == 0

    run(scenario())
