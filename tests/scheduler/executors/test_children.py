"""Foreign programs as children: what they write, how they end, and that nothing of them stays."""

import asyncio
import errno
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from headway.scheduler.executors import launch
from headway.scheduler.executors.children import (
    Child,
    PriorityClass,
    ProgramMissingError,
    RestartDelay,
    clean_environment,
    describe_exit,
    run,
)
from headway.scheduler.executors.spawn import Process, tied_to_us
from tests.scheduler.executors.harness import (
    PATIENCE_S,
    SLICES_ARE_TOLD,
    children_of,
    open_descriptors,
    slice_ns,
    until,
    wait_until_gone,
)

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

SHELL = "/bin/sh"


def script(text: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", text]


async def pids_from(reader: asyncio.StreamReader) -> list[int]:
    async with asyncio.timeout(PATIENCE_S):
        return [int(word) for word in (await reader.readline()).split()]


# ---- short runs -----------------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_run_gives_back_all_that_was_written() -> None:
    text = os.urandom(1 << 20)
    done = await run([SHELL, "-c", "cat; echo problem >&2; exit 3"], input=text)
    assert (done.returncode, done.stdout, done.stderr) == (3, text, b"problem\n")
    assert not done.timed_out
    assert not done.truncated
    assert done.argv[0] == SHELL


@pytest.mark.asyncio
async def test_a_run_that_does_not_read_its_input_ends_all_the_same() -> None:
    done = await run([SHELL, "-c", "exit 0"], input=bytes(4 << 20))
    assert done.returncode == 0


@pytest.mark.asyncio
async def test_output_beyond_the_bound_is_dropped_and_does_not_hold_the_program_up() -> None:
    done = await run(script("import os; os.write(1, b'x' * 3_000_000)"), max_output_bytes=1000)
    assert (done.returncode, len(done.stdout), done.truncated) == (0, 1000, True)


@pytest.mark.asyncio
async def test_out_of_time_the_whole_group_goes(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    done = await run([SHELL, "-c", f"sleep 1000 & echo $! $$ > {pids}; wait"], timeout_s=0.5)
    assert done.timed_out
    assert done.returncode == -signal.SIGKILL
    assert not wait_until_gone(int(word) for word in pids.read_text().split())


@pytest.mark.asyncio
async def test_what_a_program_leaves_behind_in_its_group_is_ended(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    done = await run([SHELL, "-c", f"sleep 1000 & echo $! > {pids}"])
    assert done.returncode == 0
    assert not wait_until_gone([int(pids.read_text())])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("interrupt_first", "grace_s", "word"), [(True, 30.0, "INT"), (False, 30.0, "TERM"), (False, 0.0, "")]
)
async def test_a_cancelled_run_is_asked_or_killed(
    interrupt_first: bool, grace_s: float, word: str, tmp_path: Path
) -> None:
    ready, heard = tmp_path / "ready", tmp_path / "heard"
    os.mkfifo(ready)
    text = f"trap 'echo INT > {heard}; exit' INT; trap 'echo TERM > {heard}; exit' TERM; echo $$ > {ready}; "
    going = asyncio.ensure_future(
        run(
            [SHELL, "-c", text + "while :; do sleep 0.01; done"],
            interrupt_first=interrupt_first,
            grace_s=grace_s,
        )
    )
    pid = int(await asyncio.to_thread(ready.read_text))
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    assert not wait_until_gone([pid])
    assert (heard.read_text().strip() if heard.exists() else "") == word


@pytest.mark.asyncio
async def test_a_program_can_be_interrupted_though_we_cannot() -> None:
    """What a shell starts in its background ignores interrupts, and so would all that it starts."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = await run(script("import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.stdout == b"True\n"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("argv", "reason"),
    [(["/no/such/program"], "no such"), (["sh"], "absolute"), ([__file__], "no such"), (["/tmp"], "no such")],
)
async def test_a_program_that_is_not_there_is_named(argv: list[str], reason: str) -> None:
    before = open_descriptors()
    with pytest.raises(ProgramMissingError, match=reason) as caught:
        await run(argv, guarded=True)
    assert caught.value.program == argv[0]
    assert open_descriptors() == before


@pytest.mark.asyncio
async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProgramMissingError, match="working directory"):
        await run([SHELL, "-c", ""], cwd=tmp_path / "none")


@pytest.mark.asyncio
async def test_a_file_that_is_no_program_says_so_on_stderr(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    done = await run([str(broken)])
    assert done.returncode == 127
    assert b"cannot run" in done.stderr


@pytest.mark.asyncio
async def test_the_environment_is_the_callers_or_a_clean_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("VIRTUAL_ENV", "/nowhere")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("KEPT", "1")
    lines = (await run(["/usr/bin/env"], cwd=tmp_path)).stdout.decode().splitlines()
    assert "KEPT=1" in lines
    assert not [line for line in lines if line.startswith(("PYTHON", "VIRTUAL_ENV", "GIT_"))]
    # In the C locale the interpreter of the trampoline sets LC_CTYPE (PEP 538); nothing else comes along.
    done = await run(["/usr/bin/env"], env={"ONLY": "this", "LC_ALL": "C.UTF-8"})
    assert done.stdout == b"ONLY=this\nLC_ALL=C.UTF-8\n"
    assert clean_environment({"PYTHONPATH": "/wanted"})["PYTHONPATH"] == "/wanted"


@pytest.mark.asyncio
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize(
    ("priority_class", "policy", "nice"),
    [
        (PriorityClass.INTERACTIVE, os.SCHED_OTHER, 0),
        (PriorityClass.NORMAL, os.SCHED_OTHER, 0),
        (PriorityClass.POLITE, os.SCHED_OTHER, 10),
        (PriorityClass.BACKGROUND, os.SCHED_IDLE, 19),
    ],
)
async def test_priority_is_in_force_from_the_first_instruction(
    priority_class: PriorityClass, policy: int, nice: int, guarded: bool
) -> None:
    text = "import os; print(os.sched_getscheduler(0), os.getpriority(0, 0), os.getsid(0))"
    done = await run(script(text), priority_class=priority_class, guarded=guarded)
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    assert [int(word) for word in done.stdout.split()] == [policy, max(nice, ours), os.getsid(0)]


@SLICES_ARE_TOLD
@pytest.mark.parametrize("priority_class", list(PriorityClass))
def test_who_answers_people_wakes_in_short_slices_and_who_it_starts_does_not(
    priority_class: PriorityClass,
) -> None:
    usual_ns = slice_ns(0)
    # As the sidecar, which asks for short slices before it starts anything.
    inner = tied_to_us([SHELL, "-c", "echo $$; read line"], priority_class)
    text = (
        f"import os, subprocess, sys; sys.path.insert(0, {str(Path(launch.__file__).parent)!r}); import launch\n"
        f"launch.take_short_turns(); command = {inner!r}; command[5] = str(os.getpid())\n"
        "subprocess.run(command)"
    )
    process = subprocess.Popen(script(text), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        pid = int(process.stdout.readline())
        found = slice_ns(process.pid), slice_ns(pid)
        process.stdin.close()
    assert found == (100_000, 100_000 if priority_class is PriorityClass.INTERACTIVE else usual_ns)


class Watched(Process):
    """Notes what the process is worth to the system at the moment of each signal."""

    worth: list[tuple[int, int]]

    def signal_group(self, number: int) -> None:
        self.worth.append((os.sched_getscheduler(self.pid), os.getpriority(os.PRIO_PROCESS, self.pid)))
        super().signal_group(number)


@pytest.mark.asyncio
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() != 0, reason="others may not raise a priority")
@pytest.mark.parametrize("priority_class", list(PriorityClass))
async def test_who_is_killed_is_no_longer_made_to_wait(priority_class: PriorityClass) -> None:
    Watched.worth = []
    process = Watched(
        tied_to_us([SHELL, "-c", "echo ready; read line"], priority_class),
        on_exit=lambda code: None,
        priority_class=priority_class,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert await asyncio.to_thread(process.stdout.readline) == b"ready\n"
    process.kill()
    assert await process.wait() == -signal.SIGKILL
    process.stdin.close()
    process.stdout.close()
    assert Watched.worth[0] == (os.SCHED_OTHER, os.getpriority(os.PRIO_PROCESS, 0))


@pytest.mark.asyncio
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize(("text", "returncode"), [("exit 7", 7), ("kill -SEGV $$", -11), ("kill -KILL $$", -9)])
async def test_a_guard_ends_as_its_program_does(text: str, returncode: int, guarded: bool) -> None:
    assert (await run([SHELL, "-c", text], guarded=guarded)).returncode == returncode


@pytest.mark.asyncio
@pytest.mark.slow
async def test_many_runs_leave_neither_descriptors_nor_zombies() -> None:
    await run(["/bin/true"])
    before = open_descriptors()
    for _ in range(25):
        await asyncio.gather(
            *(run(["/bin/true"]) for _ in range(4)),
            *(run([SHELL, "-c", "sleep 1000"], timeout_s=0.0, guarded=guarded) for guarded in (True, False)),
            return_exceptions=True,
        )
    assert children_of(os.getpid()) == {}
    assert open_descriptors() == before


# ---- children that stay ---------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_a_child_is_spoken_to_through_its_streams(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    exits: list[int] = []
    child = Child([SHELL, "-c", "echo hello >&2; cat; exit 5"], name="parrot", on_exit=exits.append)
    await child.start()
    assert child.running
    child.stdin.write(b"one\ntwo\n")
    await child.stdin.drain()
    assert await child.stdout.readline() == b"one\n"
    child.stdin.close()
    assert await child.stdout.read() == b"two\n"
    assert await child.wait() == 5
    assert (child.returncode, child.running, exits) == (5, False, [5])
    assert child.stderr_tail == ("hello",)
    assert "parrot" in caplog.text
    assert child.ran_s is not None
    child.kill()  # nothing happens any more
    assert await child.terminate() == 5
    with pytest.raises(RuntimeError, match="already started"):
        await child.start()


@pytest.mark.asyncio
async def test_terminate_asks_first_and_does_not_take_no_for_an_answer() -> None:
    polite = Child([SHELL, "-c", "trap 'exit 4' TERM; echo; while :; do sleep 0.01; done"])
    await polite.start()
    await polite.stdout.readline()
    assert await polite.terminate(PATIENCE_S) == 4

    stubborn = Child([SHELL, "-c", "trap '' TERM; sleep 1000 & echo $! $$; while :; do sleep 0.01; done"])
    await stubborn.start()
    pids = await pids_from(stubborn.stdout)
    assert await stubborn.terminate(0.05) == -signal.SIGKILL
    assert not wait_until_gone(pids)


@pytest.mark.asyncio
async def test_a_cancelled_terminate_kills_at_once() -> None:
    child = Child([SHELL, "-c", "trap '' TERM; echo; while :; do sleep 0.01; done"])
    await child.start()
    await child.stdout.readline()
    ending = asyncio.ensure_future(child.terminate(PATIENCE_S))
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert await child.wait() == -signal.SIGKILL


@pytest.mark.asyncio
@pytest.mark.parametrize("watched_by", ["pidfd", "thread"])
async def test_a_child_that_is_killed_from_outside_is_noticed_and_reaped(
    watched_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a thread where there are no pidfds: on other systems, or where no descriptor is left for one."""
    if watched_by == "thread":

        def refuse(pid: int, flags: int = 0) -> int:
            raise OSError(errno.EMFILE, "too many open files")

        monkeypatch.setattr(os, "pidfd_open", refuse)
    exited = asyncio.get_running_loop().create_future()
    child = Child(["/bin/cat"], on_exit=exited.set_result)
    await child.start()
    assert child.pid is not None
    os.kill(child.pid, signal.SIGKILL)
    async with asyncio.timeout(PATIENCE_S):
        assert await exited == -signal.SIGKILL
        assert await child.wait() == -signal.SIGKILL
    assert child.pid not in children_of(os.getpid())


@pytest.mark.asyncio
async def test_a_signal_reaches_the_whole_group(tmp_path: Path) -> None:
    text = f"trap 'echo heard >> {tmp_path}/%s' USR1; echo; while :; do sleep 0.01; done"
    child = Child([SHELL, "-c", f"({text % 'inner'}) & {text % 'outer'}"])
    await child.start()
    for _ in range(2):
        await child.stdout.readline()
    child.send_signal(signal.SIGUSR1)
    await until(lambda: set(os.listdir(tmp_path)) == {"inner", "outer"})
    child.kill()
    assert await child.wait() == -signal.SIGKILL
    child.send_signal(signal.SIGUSR1)  # nothing happens any more


@pytest.mark.asyncio
async def test_a_child_that_is_closed_is_neither_read_nor_written_to_any_more() -> None:
    """Also when it does not take what was written: the rest is dropped, and nothing waits for it."""
    before = open_descriptors()
    deaf = Child([SHELL, "-c", "echo; exec sleep 1000"])
    await deaf.start()
    await deaf.stdout.readline()
    deaf.stdin.write(b"x" * (1 << 22))
    deaf.close()
    async with asyncio.timeout(PATIENCE_S):
        assert await deaf.stdout.read() == b""
        await deaf.stdin.wait_closed()
    assert deaf.running
    deaf.kill()
    assert await deaf.wait() == -signal.SIGKILL
    listening = Child(["/bin/cat"])
    await listening.start()
    listening.close()
    async with asyncio.timeout(PATIENCE_S):
        assert await listening.wait() == 0, "it was told by the end of its input"
    await until(lambda: open_descriptors() <= before)


@pytest.mark.asyncio
async def test_a_start_that_is_cancelled_leaves_neither_a_process_nor_a_descriptor() -> None:
    before = open_descriptors()
    child = Child([SHELL, "-c", "sleep 1000 & wait"])
    starting = asyncio.ensure_future(child.start())
    await asyncio.sleep(0)
    assert child.pid is not None
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    async with asyncio.timeout(PATIENCE_S):
        assert await child.wait() == -signal.SIGKILL
    await until(lambda: open_descriptors() <= before)
    assert child.pid not in children_of(os.getpid())


@pytest.mark.asyncio
async def test_a_child_never_started_has_nothing_to_end() -> None:
    child = Child(["/bin/cat"])
    assert (child.pid, child.returncode, child.running, child.stderr_tail) == (None, None, False, ())
    assert await child.terminate() is None
    child.kill()
    child.send_signal(signal.SIGTERM)
    child.close()
    with pytest.raises(RuntimeError, match="not started"):
        await child.wait()


@pytest.mark.asyncio
async def test_a_noisy_child_is_not_held_up_and_leaves_a_short_tail() -> None:
    child = Child(script("import sys; sys.stderr.write('line\\n' * 100_000); sys.stderr.write('z' * 50_000)"))
    await child.start()
    assert await child.wait() == 0
    assert len(child.stderr_tail) <= 200
    assert all(len(line) <= 2000 for line in child.stderr_tail)


# ---- when we die ----------------------------------------------------------------------------------------------------

_ROOT = str(Path(__file__).resolve().parents[3])
_PARENT = """
import asyncio, signal, sys
from headway.scheduler.executors.children import Child, run
from headway.scheduler.executors.process import ProcessExecutor
from headway.scheduler.executors.thread import ThreadExecutor
from tests.scheduler.executors import steps
from tests.scheduler.executors.harness import Bench, begun, pids_of
from headway.scheduler.model import Priority, StepKind

async def main():
    bench = Bench(ProcessExecutor(), StepKind.PROCESS)
    await bench.executor.start(bench.report)
    pids = [await bench.value(steps.pid, priority=Priority.BATCH)]
    pids += [await begun(bench.begin(step)[1]) for step in (steps.hang, steps.hang_in_native_code)]
    child = Child(["/bin/sh", "-c", "echo $$; exec sleep 1000"])
    await child.start()
    pids += [int(await child.stdout.readline()), child.pid]
    guarded = Child(["/bin/sh", "-c", "trap '' TERM HUP; sleep 1000 & echo $! $$; wait"], guarded=True)
    await guarded.start()
    pids += [*map(int, (await guarded.stdout.readline()).split()), guarded.pid]
    print(*pids, *pids_of(bench), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.asyncio
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_nothing_of_ours_outlives_us(number: signal.Signals) -> None:
    """A sidecar that is killed takes its workers and children along, and what a guarded child had started."""
    boot = f"import sys; sys.path.insert(0, {_ROOT!r})\n{_PARENT}"
    parent = Child([sys.executable, "-I", "-c", boot])
    await parent.start()
    pids = await pids_from(parent.stdout)
    assert len(set(pids)) >= 8, (pids, parent.stderr_tail)
    assert parent.pid is not None
    os.kill(parent.pid, number)
    assert not wait_until_gone(pids)
    assert await parent.wait() == -number


# ---- restarts -------------------------------------------------------------------------------------------------------


def test_restarts_come_slower_and_slower_until_there_was_good_health() -> None:
    delay = RestartDelay(first_s=0.5, factor=2, cap_s=60, healthy_after_s=30)
    assert [delay.ended(1.0) for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert delay.ends == 9
    assert delay.ended(31.0) == 0.5
    assert delay.ends == 1
    assert delay.ended(0.0) == 1


def test_ends_are_told_in_words() -> None:
    assert describe_exit(3) == "exited with code 3"
    assert describe_exit(-9) == "was killed by SIGKILL"
    assert describe_exit(-99) == "was killed by signal 99"
