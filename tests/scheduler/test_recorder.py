"""What a scheduler saw is written down, nothing of it names what people wrote, and the simulator lives it again."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

import pytest

from headway.scheduler import (
    ErrorKind,
    Job,
    Priority,
    Requirement,
    RetryPolicy,
    Scheduler,
    SchedulerConfig,
    Step,
    StepError,
    Task,
    TaskKind,
    TaskState,
    TimeoutPolicy,
)
from headway.scheduler.executors.base import Totals
from headway.scheduler.executors.inline import inline_executors
from headway.scheduler.machine import FixedMachine
from headway.scheduler.recorder import FORMAT, VERSION
from headway.scheduler.simulator.__main__ import main
from headway.scheduler.simulator.drive import Simulation
from headway.scheduler.simulator.policies import ALONE, OURS
from headway.scheduler.simulator.recorded import RecordingError, read_day
from headway.scheduler.simulator.report import faults, summary
from headway.scheduler.simulator.work import Fed, Request, of_priority

Run = Callable[[Coroutine[Any, Any, Any]], Any]
DAYS = sorted((Path(__file__).parent / "days").glob("*.jsonl"))
HEAD = json.dumps({"format": FORMAT, "version": VERSION, "cores": 2.0, "memoryMb": 8000.0})


async def work(lasts_s: float = 0.5, fails: bool = False) -> None:
    await asyncio.sleep(lasts_s)
    if fails:
        raise StepError(ErrorKind.INVALID_INPUT, "SECRET reason")


async def units(count: int) -> AsyncIterator[Task]:
    """Tasks that fit beside LOW work: what makes do with less runs longer in the simulator, a sleep does not."""
    for number in range(count):
        yield Task(name=f"SECRET unit {number}", call=work, args=(0.2,), requirement=Requirement(cpu_cores=0.3))


async def a_morning(scheduler: Scheduler) -> None:
    """One of everything."""
    high, batch = Priority.HIGH, Priority.BATCH
    scheduler.run(work, 3.0, name="SECRET", priority=Priority.CRITICAL, supersede_key=("completion", "SECRET.py"))
    await asyncio.sleep(0.1)
    scheduler.run(work, 0.2, name="SECRET", priority=Priority.CRITICAL, supersede_key=("completion", "SECRET.py"))
    given_up = scheduler.run(work, 9.0, name="SECRET", priority=high)
    scheduler.run(work, 0.4, True, name="SECRET", kind=TaskKind.IO_BOUND, timeout=TimeoutPolicy(hard_s=7.0))
    two_steps = Task(name="SECRET a", steps=(Step(name="1", call=work), Step(name="2", call=work, args=(0.25,))))
    after = Task(name="SECRET b", call=work, depends_on=("SECRET a",), kind=TaskKind.CPU_BOUND)
    scheduler.submit(Job(type="tests", title="SECRET", tasks=(two_steps, after), priority=Priority.LOW))
    scheduler.submit(Job(type="index", title="SECRET", tasks=units(5), priority=batch, window=2))
    await asyncio.sleep(1.0)
    given_up.cancel("SECRET")
    await asyncio.sleep(5.0)


def recorded(run_virtual: Run, day: Callable[[Scheduler], Coroutine[Any, Any, None]] = a_morning) -> list[str]:
    lines: list[str] = []

    async def live() -> None:
        config = SchedulerConfig(stall_report_s=math.inf)
        machine = FixedMachine(Totals(cpu_cores=2, memory_mb=10_000))
        async with Scheduler(config, executors=inline_executors(), machine=machine) as scheduler:
            stop = scheduler.record(lines.append)
            await day(scheduler)
            stop()
            await scheduler.run(work, name="after the end").value()

    run_virtual(live())
    return lines


def tasks(lines: Iterable[str]) -> list[dict[str, Any]]:
    return [facts for line in lines if "task" in (facts := json.loads(line))]


def test_a_line_for_each_job_and_task_and_nothing_that_people_wrote(run_virtual: Run) -> None:
    lines = recorded(run_virtual)
    assert "SECRET" not in "".join(lines)
    assert json.loads(lines[0]) == {"format": FORMAT, "version": 1, "cores": 2.0, "memoryMb": 8000.0}
    jobs = [facts for line in lines[1:] if "task" not in (facts := json.loads(line))]
    assert [(job["type"], job["class"], job.get("key"), job.get("fed")) for job in jobs] == [
        ("run", "CRITICAL", 1, None),
        ("run", "CRITICAL", 1, None),
        ("run", "HIGH", None, None),
        ("run", "NORMAL", None, None),
        ("tests", "LOW", None, None),
        ("index", "BATCH", None, 2),
    ]
    assert [job["at"] for job in jobs] == [0.0, *[0.1] * 5]
    assert len(tasks(lines)) == 1 + 1 + 1 + 1 + 2 + 5


def test_a_task_is_written_with_all_that_decides_what_it_does(run_virtual: Run) -> None:
    by_job: dict[int, list[dict[str, Any]]] = {}
    for facts in tasks(recorded(run_virtual)):
        by_job.setdefault(facts["job"], []).append(facts)
    assert by_job[1][0]["error"] == "superseded"
    assert by_job[1][0]["ended"] == pytest.approx(0.1, abs=0.01)
    assert by_job[3][0]["error"] == "cancelled"
    assert by_job[3][0]["ended"] == pytest.approx(1.1, abs=0.01)
    failed = by_job[4][0]
    assert (failed["end"], failed["error"], failed["kind"], failed["hard"]) == (
        "FAILED",
        "invalid_input",
        "thread",
        7.0,
    )
    first, second = sorted(by_job[5], key=lambda facts: int(facts["task"]))
    assert first["steps"] == [0.5, 0.25]
    assert (second["after"], second["kind"], second["cores"]) == ([0], "process", 1.0)
    assert {facts["cores"] for facts in by_job[6]} == {0.3}


async def an_odd_morning(scheduler: Scheduler) -> None:
    """What is tried again, and what ends in the instant in which it comes."""
    tries: list[int] = []

    async def flaky() -> None:
        tries.append(1)
        await asyncio.sleep(0.1 * len(tries))
        if len(tries) < 3:
            raise ConnectionError("SECRET host")

    again = scheduler.run(flaky, name="again", retry=RetryPolicy(max_retries=3), priority=Priority.LOW)
    too_late = scheduler.run(work, name="too late", deadline_at_s=asyncio.get_running_loop().time() - 1.0)
    assert (await too_late).results["too late"].attempts == 0
    await again.value()


def test_what_is_tried_again_is_one_line_and_what_never_waited_is_none(
    run_virtual: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """The step's time is that of the last attempt, which is what the next like it will cost."""
    [facts] = tasks(recorded(run_virtual, an_odd_morning))
    assert (facts["at"], facts["attempts"], facts["end"], facts["class"]) == (0.0, 3, "COMPLETED", "LOW")
    assert facts["steps"] == [pytest.approx(0.3, abs=0.01)]
    assert "failed at" not in caplog.text, "the recorder broke at what it did not know"


def test_what_was_there_before_the_recording_is_not_in_it(run_virtual: Run, caplog: pytest.LogCaptureFixture) -> None:
    """When it began nobody knows, and half a task would count as a quick one."""
    lines: list[str] = []

    async def live() -> None:
        config = SchedulerConfig(stall_report_s=math.inf)
        machine = FixedMachine(Totals(cpu_cores=2, memory_mb=10_000))
        async with Scheduler(config, executors=inline_executors(), machine=machine) as scheduler:
            before = scheduler.run(work, 1.0, name="before")
            await asyncio.sleep(0.5)
            scheduler.record(lines.append)
            await scheduler.run(work, 0.2, name="after", priority=Priority.HIGH).value()
            await before.value()

    run_virtual(live())
    assert [facts["class"] for facts in tasks(lines)] == ["HIGH"]
    assert len(lines) == 3
    assert "failed at" not in caplog.text, "the recorder broke at what it did not know"


def test_the_simulator_lives_it_again(run_virtual: Run) -> None:
    """The same machine and the same policy: the same ends at the same times."""
    lines = recorded(run_virtual)
    day = read_day(lines)
    result = Simulation(OURS, 2.0, day.requests).run()
    ends = sorted((ended.priority, ended.state.value, ended.kind) for ended in result.ended)
    assert ends == sorted(
        (Priority[facts["class"]], facts["end"], ErrorKind(facts["error"]) if "error" in facts else None)
        for facts in tasks(lines)
    )
    took_s = sorted(facts["ended"] - facts["at"] for facts in tasks(lines))
    assert sorted(ended.response_s for ended in result.ended) == pytest.approx(took_s, abs=0.01)
    cancelled = [ended for ended in result.ended if ended.kind is ErrorKind.CANCELLED]
    assert [(ended.state, round(ended.response_s, 1)) for ended in cancelled] == [(TaskState.CANCELLED, 1.0)]


def test_what_was_cut_short_costs_what_its_like_costs() -> None:
    """Of three equal requests one was superseded after 10 ms: alone it would have taken as long as the others."""
    lines = [HEAD]
    for number, (at_s, ran_s, end, error) in enumerate(
        [(0.0, 0.3, "COMPLETED", None), (1.0, 0.01, "CANCELLED", "superseded"), (5.0, 0.3, "COMPLETED", None)]
    ):
        lines.append(json.dumps({"job": number, "at": at_s, "class": "HIGH", "type": "search", "key": number}))
        facts = {"task": 0, "job": number, "at": at_s, "class": "HIGH", "kind": "process", "cores": 0.5, "mb": 1.0,
                 "gpus": 0, "gpuMb": 0.0, "hard": None, "after": [], "steps": [ran_s], "attempts": 1, "end": end,
                 "ended": at_s + ran_s}  # fmt: skip
        lines.append(json.dumps(facts if error is None else {**facts, "error": error}))
    result = Simulation(OURS, 2.0, read_day(lines).requests).run()
    assert [round(ended.response_s, 6) for ended in result.ended] == [0.3, 0.3, 0.3]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "line 1: the file is empty"),
        (["{}"], "line 1: the file is no recording of a scheduler's work"),
        (["half a li"], "line 1: it is no line of a recording"),
        ([HEAD.replace('"version": 1', '"version": 2')], "line 1: it has version 2; this program reads 1"),
        ([HEAD, '{"task": 0, "job": 9}'], "line 2: it is no line of a recording"),
    ],
)
def test_what_is_no_recording_is_said_with_its_line(lines: list[str], said: str) -> None:
    with pytest.raises(RecordingError, match=said):
        read_day(lines)


@pytest.mark.parametrize("day", DAYS, ids=lambda path: path.stem)
def test_a_recorded_day_has_work_of_every_class(day: Path) -> None:
    found = read_day(day.read_text(encoding="utf-8").splitlines())
    assert {request.priority for request in found.requests} == set(Priority)
    assert len(found.requests) > 400
    assert found.lasts_s > 60


def test_there_are_recorded_days() -> None:
    assert len(DAYS) >= 2


@pytest.mark.parametrize("day", DAYS, ids=lambda path: path.stem)
@pytest.mark.parametrize("cores", [1.0, 8.0])
def test_a_recorded_day_is_lived_to_its_end(day: Path, cores: float) -> None:
    """Also on a machine with fewer cores than one of its tasks asks for: everything ends, and keys wait for nothing."""
    requests = read_day(day.read_text(encoding="utf-8").splitlines()).requests
    result = Simulation(OURS, cores, requests).run()
    bound = summary("bound", Simulation(ALONE, cores, of_priority(requests, [Priority.CRITICAL])).run())
    assert faults(summary("headway", result), bound.classes, [Priority.CRITICAL]) == []
    assert len(result.ended) == sum(len(_tasks_of(request)) for request in requests)


def _tasks_of(request: Request) -> list[Task]:
    tasks = request.make().tasks
    return tasks.take(10_000)[0] if isinstance(tasks, Fed) else list(tasks)  # type: ignore[arg-type]


def test_the_command_compares_policies_over_a_recording(
    run_virtual: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "morning.jsonl"
    file.write_text("".join(recorded(run_virtual)), encoding="utf-8")
    code = main(["--cores", "2", "--recorded", str(file), "--days", "0", "--overload", "0"])
    said = capsys.readouterr().out
    assert code == 0, said
    assert said.startswith("2 cores, morning: 2 s recorded on 2 cores\n")
    assert said.count("policy ") == 1
