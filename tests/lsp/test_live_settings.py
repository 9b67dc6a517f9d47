"""`headway.scheduler.*` by `workspace/didChangeConfiguration`: in force with the next task, without a restart."""

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.wire import AnswerError, Wire, probe, run, server, submission


def change(wire: Wire, **settings: Any) -> None:
    wire.notify("workspace/didChangeConfiguration", {"settings": {"headway": {"scheduler": settings}}})


def test_totals_follow_the_settings(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(initializationOptions={"settings": {"scheduler": {"cpuCores": 1, "memoryMb": 512}}})
            large = submission("large", probe("a", cpuCores=2.5, memoryMb=1000))
            with pytest.raises(AnswerError) as refused:
                await wire.ask("headway/submit", large)
            assert refused.value.code == -32602
            change(wire, cpuCores=4, memoryMb=4096)
            assert (await wire.ask("headway/submit", large))["state"] == "COMPLETED"
            resources = (await wire.ask("headway/snapshot", {}))["resources"]
            assert (resources["cpuCores"]["total"], resources["memoryMb"]["total"]) == (4, 4096)
            change(wire, cpuCores=1)
            with pytest.raises(AnswerError):
                await wire.ask("headway/submit", large)
            resources = (await wire.ask("headway/snapshot", {}))["resources"]
            assert (resources["cpuCores"]["total"], resources["memoryMb"]["total"]) == (1, 4096)
            assert await wire.exit() == 0

    run(scenario())


def test_marks_follow_the_settings(tmp_path: Path) -> None:
    """A mark so low that any machine is above it holds background work back; the old one lets it go."""

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            change(wire, memoryHighPercent=1, memoryLowPercent=0)
            await wire.note("headway/queueState", lambda state: state["pauseReason"] == "memory")
            _, low = wire.request("headway/submit", submission("held", probe("a"), priority="LOW"))
            high = await wire.ask("headway/submit", submission("not held", probe("a"), priority="HIGH"))
            assert high["state"] == "COMPLETED"
            snapshot = await wire.ask("headway/snapshot", {})
            assert snapshot["queues"]["LOW"] == {"queued": 1, "running": 0}
            change(wire, memoryHighPercent=100, memoryLowPercent=99, cpuHighPercent=100, cpuLowPercent=99)
            assert (await low)["state"] == "COMPLETED"
            assert await wire.exit() == 0

    run(scenario())
