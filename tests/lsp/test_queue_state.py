"""What the client is told without asking: calm, in order, true in the end, of the declared shape."""

import threading
from pathlib import Path
from typing import Any, get_type_hints

from headway.lsp import payloads, protocol
from headway.scheduler import JobState, RetryPolicy, Scheduler, TaskKind, TimeoutPolicy
from tests.lsp.wire import Wire, probe, run, server, submission

STATES = {
    "PENDING": {"RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"},
    "RUNNING": {"PAUSED", "COMPLETED", "FAILED", "CANCELLED"},
    "PAUSED": {"PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"},
}


def keys(payload: type) -> set[str]:
    return set(get_type_hints(payload))


async def quiet(wire: Wire) -> dict[str, Any]:
    """Wait for the state in which nothing waits or runs."""

    def idle(state: dict[str, Any]) -> bool:
        return state["state"] == "idle" and not any(sum(depth.values()) for depth in state["queues"].values())

    return await wire.note("headway/queueState", idle)  # type: ignore[no-any-return]


def test_payloads_have_the_declared_keys(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            view = await wire.ask("headway/submit", submission("shape", probe("a", "process", 300, steps=3)))
            snapshot = await wire.ask("headway/snapshot", {})
            assert set(view) == keys(protocol.JobInfo)
            assert set(snapshot) == keys(protocol.Snapshot) - {"truncated"}
            for state in wire.notes("headway/queueState"):
                assert set(state) == keys(protocol.QueueState) - {"truncated"}
                for task in state["running"]:
                    assert set(task) == keys(protocol.RunningTask) - {"stuck"}
                for job in state["jobs"]:
                    assert set(job) == keys(protocol.ActiveJob)
            for update in wire.notes("headway/jobUpdated"):
                assert set(update) == keys(protocol.JobInfo) - {"result"}
                for task in update["tasks"]:
                    assert set(task) == keys(protocol.TaskInfo) - {"truncated"}
            assert all(set(worker) == keys(protocol.Worker) for worker in snapshot["workers"])
            assert await wire.exit() == 0

    run(scenario())


def test_a_thread_that_outlives_its_task_is_shown_as_stuck() -> None:
    gate = threading.Event()

    async def scenario() -> None:
        async with Scheduler() as scheduler:
            once, limit = RetryPolicy(max_retries=0), TimeoutPolicy(hard_s=0.05)
            deaf = scheduler.run(gate.wait, name="deaf", kind=TaskKind.IO_BOUND, timeout=limit, retry=once)
            assert (await deaf).state is JobState.FAILED
            snapshot = scheduler.snapshot()
            gate.set()
        (task,) = [payloads.running_task(view) for view in snapshot.running]
        assert (task["name"], task["stuck"]) == ("deaf", True)
        assert sum(depth.running for depth in snapshot.depths.values()) == 0

    run(scenario())


def test_a_state_says_how_long_tasks_waited_and_ran_and_how_far_the_index_is(tmp_path: Path) -> None:
    async def scenario() -> None:
        root = tmp_path / "code"
        root.mkdir()
        (root / "a.py").write_text("def made():\n    pass\n")
        async with server(tmp_path) as wire:
            await wire.initialize(root)
            await wire.ask("headway/submit", submission("times", *(probe(f"t{n}", ms=20) for n in range(10))))
            await wire.ask("headway/submit", {"type": "index", "arguments": {}})
            snapshot = await wire.ask("headway/snapshot", {})
            normal, high = snapshot["times"]["NORMAL"], snapshot["times"]["HIGH"]
            assert normal["runP95Ms"] >= 15
            assert normal["waitP95Ms"] >= 0
            assert high == {"waitP95Ms": None, "runP95Ms": None}
            assert snapshot["indexed"]["files"] == 1
            assert snapshot["indexed"]["symbols"] == 2  # the module and its function
            assert await wire.exit() == 0

    run(scenario())


def test_hundreds_of_tasks_are_told_calmly_and_the_last_word_is_true(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            answers = [
                wire.request("headway/submit", submission(f"j{n}", *(probe(f"t{k}", ms=2) for k in range(20))))[1]
                for n in range(20)
            ]
            for answer in answers:
                assert (await answer)["state"] == "COMPLETED"
            await wire.ask("headway/pause", {"priorities": ["NORMAL"]})
            held = wire.request("headway/submit", submission("held", probe("h")))[1]
            await wire.note(
                "headway/queueState",
                lambda state: state["pausedPriorities"] == ["NORMAL"] and state["queues"]["NORMAL"]["queued"] == 1,
            )
            states = wire.notes("headway/queueState")
            assert [state["seq"] for state in states] == list(range(1, len(states) + 1))
            ats = [state["at"] for state in states]
            # Five states span at least four intervals.
            assert all(later - earlier > 950 for earlier, later in zip(ats, ats[4:], strict=False))
            assert states[-1]["pausedPriorities"] == ["NORMAL"]
            assert states[-1]["state"] == "paused"
            assert states[-1]["seq"] == (await wire.ask("headway/snapshot", {}))["seq"]
            await wire.ask("headway/resume", {"priorities": ["NORMAL"]})
            assert (await held)["state"] == "COMPLETED"
            await wire.note("headway/queueState", lambda state: state["seq"] > len(states) and not state["running"])
            assert await wire.exit() == 0

    run(scenario())


def test_short_critical_work_is_nobodys_business(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            await quiet(wire)
            before = len(wire.notes("headway/queueState"))
            for _ in range(30):
                await wire.ask("headway/submit", submission("c", probe("c", ms=1), priority="CRITICAL"))
            told = [
                state for state in wire.notes("headway/queueState")[before:] if not state["queues"]["BATCH"]["running"]
            ]
            assert len(told) <= 1
            assert await wire.exit() == 0

    run(scenario())


def test_jobs_move_only_forward(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            failing = probe("f", "fail", 1, failTimes=1, errorKind="network_error", maxRetries=1)
            answers = [
                wire.request(
                    "headway/submit", submission(f"j{n}", failing, probe("b", dependsOn=["f"]), priority="HIGH")
                )[1]
                for n in range(10)
            ]
            for answer in answers:
                assert (await answer)["state"] == "COMPLETED"
            last: dict[str, str] = {}
            for view in wire.notes("headway/jobUpdated"):
                previous = last.get(view["jobId"])
                assert previous is None or view["state"] == previous or view["state"] in STATES[previous]
                assert (view["finishedAt"] is not None) == (view["state"] in ("COMPLETED", "FAILED", "CANCELLED"))
                last[view["jobId"]] = view["state"]
            titles = [view["title"] for view in wire.notes("headway/jobUpdated") if view["state"] == "PENDING"]
            assert {f"j{n}" for n in range(10)} <= set(titles)
            assert await wire.exit() == 0

    run(scenario())


def test_a_full_queue_is_refused_with_its_numbers(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            await wire.ask("headway/pause", {"priorities": ["NORMAL"]})
            many = [probe(f"t{n}", ms=0) for n in range(10_000)]
            first, _ = wire.request("headway/submit", submission("one", *many))
            await wire.job_id("one", "PENDING")
            error = await wire.refused("headway/submit", submission("two", *many, probe("more")))
            assert error.code == -32803
            assert "20000" in error.message
            assert "10001" in error.message
            wire.cancel(first)
            assert await wire.exit() == 0

    run(scenario())


def test_our_own_progress_is_created_first_and_only_where_it_can_be(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def one():\n    return 1\n")

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path, capabilities={"window": {"workDoneProgress": True}})
            await wire.ask("workspace/executeCommand", {"command": "headway.reindex"})
            end = await wire.note("$/progress", lambda params: params["value"]["kind"] == "end")
            created = [
                message["params"]["token"]
                for message in wire.seen
                if message.get("method") == "window/workDoneProgress/create"
            ]
            assert end["token"] in created
            kinds = [params["value"]["kind"] for params in wire.notes("$/progress") if params["token"] == end["token"]]
            assert (kinds[0], kinds[-1], kinds.count("begin"), kinds.count("end")) == ("begin", "end", 1, 1)
            assert await wire.exit() == 0

    run(scenario())
