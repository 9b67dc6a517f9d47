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
