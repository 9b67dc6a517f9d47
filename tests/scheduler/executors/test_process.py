"""Steps in real worker processes: whatever a step does, it ends in one clear answer and the pool lives on."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from headway.scheduler.errors import StepError
from headway.scheduler.executors.memory import MemoryLimits
from headway.scheduler.executors.pool import PoolSettings
from headway.scheduler.model import ErrorKind, Priority
from tests.scheduler.executors import steps
from tests.scheduler.executors.harness import (
    PATIENCE_S,
    begun,
    children_of,
    ended,
    open_descriptors,
    processes,
    wait_until_gone,
)

pytestmark = [pytest.mark.asyncio, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]


async def test_values_travel_both_ways() -> None:
    async with processes() as bench:
        value = {"text": "ä\0", "bytes": b"\xff" * 100, "numbers": [1, 2.5, None]}
        assert await bench.value(steps.echo, value) == value
        result = await bench.run(steps.pid)
        assert result.pid == result.value != os.getpid()
        assert result.slot == "standard-1"
        assert result.ran_s >= 0
        assert result.started_at_s <= asyncio.get_running_loop().time()


async def test_a_step_sees_its_context_and_reports() -> None:
    async with processes() as bench:
        _, sink = bench.begin(steps.beat_and_report, results={"earlier": [1]})
        result = await ended(sink)
        assert result.value == (2, {"earlier": [1]}, {}, 99.0)
        assert sink.beats == 1
        assert sink.partials.get_nowait() == {"so far": 1}


async def test_large_arguments_and_results_arrive_whole() -> None:
    async with processes() as bench:
        big = os.urandom(1 << 20) * 20
        assert await bench.value(steps.echo, big) == big


@pytest.mark.parametrize(("call", "what"), [(steps.blob, "the result"), (steps.large_partial, "a partial result")])
async def test_a_result_beyond_the_bound_is_refused_by_name_and_number(call: Callable[[int], Any], what: str) -> None:
    async with processes(max_result_bytes=1 << 20) as bench:
        result = await bench.run(call, 3 << 20)
        assert result.error is not None
        assert result.error.kind is ErrorKind.INVALID_INPUT
        assert result.error.message.startswith(what)
        assert "3.0 MiB" in result.error.message
        assert "limit is 1 MiB" in result.error.message
        assert await bench.value(steps.pid) == result.pid


@pytest.mark.parametrize(
    ("call", "args", "kind", "word"),
    [
        (steps.system_exit, (3,), ErrorKind.UNKNOWN, "sys.exit(3)"),
        (steps.recurse, (), ErrorKind.UNKNOWN, "recursion"),
        (steps.nested, (100_000,), ErrorKind.INVALID_INPUT, "recursion"),
        (steps.fail, (KeyboardInterrupt,), ErrorKind.UNKNOWN, "KeyboardInterrupt"),
        (steps.fail, (GeneratorExit,), ErrorKind.UNKNOWN, "GeneratorExit"),
        (steps.fail, (ConnectionResetError, "reset"), ErrorKind.NETWORK, "reset"),
        (steps.fail, (FileNotFoundError, 2, "No such file", "x.py"), ErrorKind.NOT_FOUND, "x.py"),
        (steps.fail, (StepError, ErrorKind.RATE_LIMITED, "slowly", 7.0), ErrorKind.RATE_LIMITED, "slowly"),
        (steps.fail_with_cause, (), ErrorKind.UNKNOWN, "cannot be read"),
        (steps.unpicklable, (), ErrorKind.INVALID_INPUT, "function"),
        (steps.explodes_when_read, (), ErrorKind.INVALID_INPUT, "read in the wrong place"),
        (steps.allocate_at_once, (4096,), ErrorKind.OUT_OF_MEMORY, "MemoryError"),
        (steps.fail, (), ErrorKind.INVALID_INPUT, "argument"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
async def test_failures_are_answers_and_the_worker_lives_on(
    call: Callable[..., Any], args: tuple[Any, ...], kind: ErrorKind, word: str
) -> None:
    async with processes(size=1, memory=MemoryLimits(data_mb=1024)) as bench:
        before = await bench.value(steps.pid)
        result = await bench.run(call, *args)
        assert result.error is not None
        assert result.error.kind is kind
        assert word in result.error.message
        assert len(result.error.traceback) < 10_000
        assert await bench.value(steps.pid) == before


async def test_the_traceback_is_the_steps_own_with_its_cause() -> None:
    async with processes() as bench:
        result = await bench.run(steps.fail_with_cause)
        assert result.error is not None
        assert "CauseError: the cause" in result.error.traceback
        assert "fail_with_cause" in result.error.traceback
        assert "worker.py" not in result.error.traceback
        limited = await bench.run(steps.fail, StepError, ErrorKind.RATE_LIMITED, "slowly", 7.0)
        assert limited.error is not None
        assert limited.error.retry_after_s == 7.0


@pytest.mark.parametrize(
    ("call", "args", "word"),
    [
        (steps.leave, (3,), "exited with code 3"),
        (steps.leave, (0,), "exited with code 0"),
        (steps.kill_me, (signal.SIGKILL,), "killed by SIGKILL"),
        (steps.kill_me, (signal.SIGTERM,), "killed by SIGTERM"),
        (steps.crash_in_native_code, (), "killed by SIGSEGV"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
async def test_a_worker_that_dies_fails_its_step_and_is_replaced(
    call: Callable[..., Any], args: tuple[Any, ...], word: str
) -> None:
    async with processes(size=1) as bench:
        result = await bench.run(call, *args)
        assert result.error is not None
        assert result.error.kind is ErrorKind.WORKER_DIED
        assert word in result.error.message
        assert call.__name__ in result.error.message
        assert await bench.value(steps.pid) != result.pid
        assert (await bench.changed("died", result.pid)).detail in result.error.message


async def test_a_crash_tells_its_python_stack_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with processes(size=1) as bench:
        await bench.run(steps.crash_in_native_code)
    assert "crash_in_native_code" in caplog.text


def of_the_main_program() -> int:
    return 1


of_the_main_program.__module__ = "__main__"


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: 1, "pickle"),
        (steps.ExplodesWhenRead().__reduce__, "wrong place"),
        (of_the_main_program, "main program"),
    ],
    ids=["lambda", "method", "main program"],
)
async def test_what_cannot_be_sent_is_refused_before_it_leaves(call: Callable[[], Any], word: str) -> None:
    async with processes() as bench:
        _, sink = bench.begin(call)
        assert sink.answers == 0, "done was called from within begin"
        result = await ended(sink)
        assert result.error is not None
        assert result.error.kind is ErrorKind.INVALID_INPUT
        assert word in result.error.message
        assert await bench.value(steps.echo, 1) == 1


async def test_output_goes_to_the_log_and_never_to_the_wire(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with processes(size=1) as bench:
        assert await bench.value(steps.say) is None
        assert await bench.value(steps.read_stdin) == ""
        await bench.run(steps.leave, 0)  # its pipe is read to the end before this is answered
    for line in ("out 0", "err", "raw"):
        assert any(record.getMessage().endswith(line) for record in caplog.records), line


async def test_a_flood_of_output_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with processes(size=1) as bench:
        await bench.value(steps.say, 20_000)
        await bench.run(steps.leave, 0)
    assert len(caplog.records) < 5_000
    assert "not logged" in caplog.text


async def test_background_workers_are_idle_priority_from_birth_and_share_our_session() -> None:
    async with processes() as bench:
        pid = (await bench.run(steps.pid, priority=Priority.BATCH)).value
        policy, nice, session, group = await bench.value(steps.priority, priority=Priority.LOW)
        assert (policy, nice) == (os.SCHED_IDLE, 19)
        assert session == os.getsid(0), "a session of its own would cancel the niceness"
        assert group == pid
        for urgent in (Priority.CRITICAL, Priority.HIGH, Priority.NORMAL):
            policy, nice, *_ = await bench.value(steps.priority, priority=urgent)
            assert (policy, nice) == (os.SCHED_OTHER, os.getpriority(os.PRIO_PROCESS, 0))


async def test_a_worker_inherits_its_pipe_and_nothing_else() -> None:
    kept_open = os.open(__file__, os.O_RDONLY)
    os.set_inheritable(kept_open, True)
    try:
        async with processes() as bench:
            found = await bench.value(steps.descriptors)
    finally:
        os.close(kept_open)
    assert found[0] == os.devnull
    assert found[1] == found[2]
    others = {fd: target for fd, target in found.items() if fd > 2 and not target.startswith("/proc/")}
    assert [target.partition(":")[0] for target in others.values()] == ["socket"]


async def test_python_variables_do_not_reach_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("PYTHONSTARTUP", "/nowhere")
    async with processes() as bench:
        assert not [name for name in await bench.value(steps.environment) if name.startswith("PYTHON")]


async def test_a_told_step_may_leave_by_itself_and_keeps_its_worker() -> None:
    async with processes(size=1, unheard_s=30.0) as bench:
        running, sink = bench.begin(steps.until_cancelled)
        pid = await begun(sink)
        running.cancel(30.0)
        running.cancel(30.0)
        result = await ended(sink)
        assert result.cancelled
        assert result.value is None
        assert await bench.value(steps.pid) == pid
        running.cancel(0.0)  # too late, and nothing comes of it
        assert await bench.value(steps.pid) == pid
        assert sink.answers == 1


async def test_a_step_that_was_told_has_its_whole_grace_and_hears_the_same_whenever_it_asks(tmp_path: Path) -> None:
    """Only what does not hear is ended early."""
    go_on = tmp_path / "go on"
    async with processes(size=1, unheard_s=2.0) as bench:
        running, sink = bench.begin(steps.heard_and_goes_on, str(go_on))
        pid = await begun(sink)
        running.cancel(PATIENCE_S)
        assert await begun(sink) == "told"
        await asyncio.sleep(2.1)  # what has not heard would be ended by now
        go_on.touch()
        assert await begun(sink) == [True, True]
        assert (await ended(sink)).cancelled
        assert await bench.value(steps.pid) == pid


async def test_a_word_for_a_step_that_has_just_ended_is_heard_by_no_other(tmp_path: Path) -> None:
    async with processes(size=1) as bench:
        pid = await bench.value(steps.pid)
        for number in range(5):
            running, sink = bench.begin(steps.pid)
            running.preempt()  # it ends without having listened
            assert (await ended(sink)).value == pid
            _, sink = bench.begin(steps.heard_by, str(tmp_path / str(number)))
            assert await begun(sink) == pid
            running.preempt()
            running.cancel(0.0)
            (tmp_path / str(number)).touch()
            assert (await ended(sink)).value == (False, False)


async def test_what_the_thread_of_an_ended_step_says_is_nobodys_word(tmp_path: Path) -> None:
    """A value that another step left behind must not be served as what the next one had found so far."""
    late = tmp_path / "late"
    async with processes(size=1) as bench:
        assert await bench.value(steps.leaves_a_thread, str(late)) == "ended"
        _, sink = bench.begin(steps.until_late)
        assert await begun(sink) == "mine"
        late.touch()
        assert (await ended(sink)).value == "mine"
        assert (sink.beats, sink.partials.qsize()) == (0, 0)


async def test_a_partial_result_that_cannot_be_read_is_dropped_and_said(caplog: pytest.LogCaptureFixture) -> None:
    async with processes(size=1) as bench:
        _, sink = bench.begin(steps.explosive_partial)
        assert (await ended(sink)).value == "done"
        assert sink.partials.empty()
        assert "a partial result of 'explosive_partial' was dropped" in caplog.text
        assert "read in the wrong place" in caplog.text


async def test_a_worker_that_dies_at_its_birth_is_not_followed_by_another_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Where none can live, a machine would be busy with nothing but their births."""
    async with processes(size=1, modules=("tests.scheduler.executors.fatal",)) as bench:
        result = await bench.run(steps.pid)
        assert result.error is not None
        assert result.error.kind is ErrorKind.WORKER_DIED
        await bench.changed("died")
        assert [change.change for change in bench.changes] == ["started", "died"]
        assert bench.executor.workers() == []


async def test_without_a_descriptor_left_a_step_is_refused_as_busy_and_the_pool_lives_on() -> None:
    import resource  # not on every system

    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with processes(size=1) as bench:
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, most))
        try:
            result = await bench.run(steps.pid)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))
        assert result.error is not None
        assert result.error.kind is ErrorKind.RESOURCE_BUSY
        assert "no worker process can be started for 'pid'" in result.error.message
        assert await bench.value(steps.echo, 1) == 1


async def test_more_steps_than_there_are_places_for_run_all_the_same(tmp_path: Path) -> None:
    """Who gives out the places counts; a pool that gets one too many neither ends somebody's step nor hangs."""
    fifos = [str(tmp_path / str(number)) for number in range(3)]
    async with processes(size=1) as bench:
        for fifo in fifos:
            os.mkfifo(fifo)
        sinks = [bench.begin(steps.wait_for, fifo)[1] for fifo in fifos]
        pids = [await begun(sink) for sink in sinks]
        for fifo in fifos:
            await asyncio.to_thread(Path(fifo).write_text, "")
        assert [(await ended(sink)).value for sink in sinks] == pids


@pytest.mark.parametrize("numbers", [{"size": 0}, {"size": 1, "warm": -1}])
async def test_a_pool_without_workers_is_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least one worker"):
        PoolSettings(**numbers)


async def test_an_interruptible_step_is_interrupted_and_its_worker_lives_on() -> None:
    async with processes(size=1, unheard_s=30.0) as bench:
        for _ in range(20):
            running, sink = bench.begin(steps.interruptible)
            pid = await begun(sink)
            running.cancel(30.0)
            result = await ended(sink)
            assert result.cancelled
            assert await bench.value(steps.pid) == pid
        assert not [change for change in bench.changes if change.change == "killed"]


async def test_a_cancel_that_comes_first_interrupts_at_the_beginning() -> None:
    async with processes(size=1, unheard_s=30.0) as bench:
        await bench.value(steps.pid)
        running, sink = bench.begin(steps.interruptible)
        running.cancel(30.0)
        assert (await ended(sink)).cancelled
        assert [change.change for change in bench.changes] == ["started"]


async def test_a_preempted_step_may_make_room() -> None:
    async with processes(size=1) as bench:
        running, sink = bench.begin(steps.until_preempted)
        await begun(sink)
        running.preempt()
        assert (await ended(sink)).value == "made room"


@pytest.mark.parametrize("call", [steps.hang, steps.hang_in_native_code, steps.hang_in_child])
async def test_a_deaf_step_is_killed_with_all_it_started_and_replaced(call: Callable[[], None]) -> None:
    async with processes(size=1) as bench:
        running, sink = bench.begin(call)
        pid = await begun(sink)
        family = {pid, *children_of(pid)}
        running.cancel(0.1)
        result = await ended(sink)
        assert result.cancelled
        assert result.error is None
        assert result.pid == pid
        assert not wait_until_gone(family)
        assert await bench.value(steps.pid) != pid
        assert "did not end" in (await bench.changed("killed", pid)).detail
        assert sink.answers == 1


async def test_the_successor_is_started_before_the_killed_one_is_reaped() -> None:
    async with processes(size=1) as bench:
        running, sink = bench.begin(steps.hang)
        pid = await begun(sink)
        running.cancel(0.0)
        await bench.changed("killed", pid)
        order = [change.change for change in bench.changes]
        assert order == ["started", "started", "killed"]
        await ended(sink)


async def test_a_stopped_worker_is_killed_like_any_other() -> None:
    async with processes(size=1) as bench:
        running, sink = bench.begin(steps.stop_me)
        running.cancel(0.05)
        assert (await ended(sink)).cancelled


async def test_an_idle_worker_that_is_killed_is_replaced_unasked() -> None:
    async with processes(size=1) as bench:
        pid = await bench.value(steps.pid)
        os.kill(pid, signal.SIGKILL)
        await bench.changed("died", pid)
        assert await bench.value(steps.pid) != pid
        (view,) = bench.executor.workers()
        assert (view.role, view.restarts, view.busy) == ("standard", 1, False)
        assert view.rss_mb is not None


async def test_memory_beyond_all_proportion_ends_the_step() -> None:
    limits = MemoryLimits(step_factor=1.0, step_floor_mb=64.0, watch_every_s=0.02)
    async with processes(size=1, memory=limits) as bench:
        result = await bench.run(steps.allocate, 512, memory_mb=8.0)
        assert result.error is not None
        assert result.error.kind is ErrorKind.OUT_OF_MEMORY
        assert "admitted with 8 MiB" in result.error.message
        assert await bench.value(steps.echo, 1) == 1


async def test_what_was_asked_for_may_be_used() -> None:
    limits = MemoryLimits(step_factor=1.0, step_floor_mb=16.0, watch_every_s=0.01)
    async with processes(size=1, memory=limits) as bench:
        running, sink = bench.begin(steps.allocate, 64, memory_mb=256.0)
        assert await begun(sink) == "allocated"
        running.cancel(0.0)
        assert (await ended(sink)).cancelled


async def test_a_worker_that_stays_large_is_replaced_after_its_step() -> None:
    async with processes(size=1, memory=MemoryLimits(recycle_mb=100.0)) as bench:
        pid = await bench.value(steps.hold, 200)
        await bench.left(pid)
        assert await bench.value(steps.pid) != pid


@pytest.mark.skipif(sys.platform != "linux", reason="limits another process's memory as Linux can")
async def test_a_worker_that_has_no_memory_left_is_replaced_after_its_step() -> None:
    async with processes(size=1) as bench:
        pid = await bench.value(steps.pid)
        worker = psutil.Process(pid)
        worker.rlimit(psutil.RLIMIT_AS, (worker.memory_info().vms + (4 << 20),) * 2)
        result = await bench.run(steps.allocate_at_once, 64)
        assert result.error is not None
        assert result.error.kind is ErrorKind.OUT_OF_MEMORY
        await bench.left(pid)
        assert await bench.value(steps.pid) != pid


@pytest.mark.skipif(sys.platform != "linux", reason="limits another process's memory as Linux can")
@pytest.mark.parametrize("fate", ["exhausted", "dead"])
async def test_what_fails_in_one_worker_of_several_is_tried_on_one_that_came_after_it(
    tmp_path: Path, fate: str
) -> None:
    """All may lack the same. Who is idle goes at once, who is busy after its step, which is not harmed."""
    fifos = [str(tmp_path / str(n)) for n in range(3)]
    async with processes(size=4) as bench:
        for fifo in fifos:
            os.mkfifo(fifo)
        sinks = [bench.begin(steps.wait_for, fifo)[1] for fifo in fifos]
        pids = [await begun(sink) for sink in sinks]
        for fifo, sink in zip(fifos[:2], sinks[:2], strict=True):
            await asyncio.to_thread(Path(fifo).write_text, "")
            await ended(sink)
        for pid in pids:
            worker = psutil.Process(pid)
            worker.rlimit(psutil.RLIMIT_AS, (worker.memory_info().vms + (4 << 20),) * 2)
        fall = (steps.allocate_at_once, 64) if fate == "exhausted" else (steps.kill_me, signal.SIGABRT)
        result = await bench.run(*fall)
        assert result.error is not None
        assert result.pid in pids[:2]
        assert await bench.value(steps.pid) not in pids
        for pid in pids[:2]:
            if fate == "exhausted" or pid != result.pid:
                await bench.left(pid)
        await asyncio.to_thread(Path(fifos[2]).write_text, "")
        assert (await ended(sinks[2])).value == pids[2]
        await bench.left(pids[2])


async def test_the_worker_with_the_warm_caches_is_preferred() -> None:
    async with processes(size=3) as bench:
        pids = {}
        sinks = {name: bench.begin(steps.pid, affinity=name)[1] for name in "abc"}
        for name, sink in sinks.items():
            pids[name] = (await ended(sink)).value
        assert len(set(pids.values())) == 3
        for name in "cabbac":
            assert await bench.value(steps.pid, affinity=name) == pids[name]
        assert await bench.value(steps.pid, affinity="new") == pids["b"], "whose caches were used longest ago"
        assert await bench.value(steps.pid, affinity="new") == pids["b"]


async def test_a_gpu_step_sees_its_device_and_its_worker_serves_no_other() -> None:
    async with processes(size=1) as bench:
        first, second = {"CUDA_VISIBLE_DEVICES": "0"}, {"CUDA_VISIBLE_DEVICES": "1"}
        environment = await bench.value(steps.environment, device_env=first)
        assert environment["CUDA_VISIBLE_DEVICES"] == "0"
        one = await bench.value(steps.pid, device_env=first)
        assert await bench.value(steps.pid, device_env=second) != one
        assert (await bench.value(steps.environment, device_env=second))["CUDA_VISIBLE_DEVICES"] == "1"


async def test_warm_workers_are_there_before_anyone_asks_and_again_afterwards() -> None:
    async with processes(size=2, warm=1) as bench:
        assert len(bench.executor.workers()) == 3  # one of each role
        running, sink = bench.begin(steps.hang)
        await begun(sink)
        while len([view for view in bench.executor.workers() if view.role == "standard"]) < 2:
            await bench.changed("started")
            await asyncio.sleep(0)
        running.cancel(0.0)
        await ended(sink)


async def test_warm_workers_may_come_later_and_a_step_waits_for_none_of_them() -> None:
    async with processes(size=2, warm=1, warm_after_s=3600) as bench:
        assert bench.executor.workers() == []
        pid = await bench.value(steps.pid)
        assert [view.pid for view in bench.executor.workers()] == [pid]
    async with processes(size=2, warm=1, warm_after_s=0.001) as bench:
        while len(bench.executor.workers()) < 3:
            await bench.changed("started")
            await asyncio.sleep(0)


async def test_surplus_workers_go_when_they_have_nothing_to_do() -> None:
    async with processes(size=2, idle_s=0.0) as bench:
        pid = await bench.value(steps.pid)
        await bench.left(pid)
        assert await bench.value(steps.pid) != pid


async def test_modules_are_imported_ahead_and_a_missing_one_is_only_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with processes(size=1, modules=("this", "no_such_module")) as bench:
        assert "this" in await bench.value(steps.modules)
        await bench.run(steps.leave, 0)
    assert "cannot import no_such_module" in caplog.text


async def test_the_close_answers_every_run_and_leaves_no_process() -> None:
    async with processes(size=2) as bench:
        idle = await bench.value(steps.pid, priority=Priority.BATCH)
        sinks = [bench.begin(steps.hang)[1], bench.begin(steps.until_cancelled)[1]]
        pids = {await begun(sink) for sink in sinks}
        starting = bench.begin(steps.echo, priority=Priority.CRITICAL)[1]
    for sink in (*sinks, starting):
        assert (await ended(sink)).cancelled or sink is starting
        assert sink.answers == 1
    assert not wait_until_gone({*pids, idle})
    assert not [state for state in children_of(os.getpid()).values() if state == "Z"]


@pytest.mark.slow
async def test_descriptors_and_processes_stay_flat_over_many_lives() -> None:
    async with processes(size=4) as bench:
        for sink in [bench.begin(steps.pid)[1] for _ in range(4)]:
            await ended(sink)
        descriptors, workers = open_descriptors(), len(children_of(os.getpid()))
        for round_number in range(50):
            begun_runs = [
                bench.begin(steps.leave, 1),
                bench.begin(steps.kill_me, signal.SIGKILL),
                bench.begin(steps.leave, 0),
                bench.begin(steps.hang),
            ]
            begun_runs[-1][0].cancel(0.0)
            for _, sink in begun_runs:
                assert (await ended(sink)).value is None, round_number
                assert sink.answers == 1
        for sink in [bench.begin(steps.pid)[1] for _ in range(4)]:
            await ended(sink)
        family = children_of(os.getpid())
        assert len(family) == workers
        assert "Z" not in family.values()
        assert open_descriptors() == descriptors
