"""Results of tasks in jobs that are fed bit by bit, with a real scheduler and real worker processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.scheduler import Job, Scheduler
from headway.scheduler.model import JobState, Task
from headway.session.answers import Answers


def double(number: int) -> int:
    return 2 * number


def fail(number: int) -> int:
    raise LookupError(number)


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


@dataclass(frozen=True)
class Finding:
    trouble: str


def doubtful(number: int) -> Finding:
    return Finding(trouble="unusable")


def starved(number: int) -> bool:
    """Leave the process memory to live on, but not for another step."""
    import resource

    held = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmData:"))
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, ((int(held.split()[1]) << 10) + (32 << 20), most))
    return True


async def answered(*calls: Any) -> list[Any]:
    """Run a task for each call in one job, one after another; what came back."""
    found: list[Any] = []
    async with Scheduler() as scheduler:
        answers = Answers(scheduler)

        async def tasks() -> AsyncIterator[Task]:
            for number, call in enumerate(calls):
                task, answer = answers.asking(f"{call.__name__} {number}", call, number)
                yield task
                found.append(await answer)

        outcome = await scheduler.submit(Job(type="index", title="t", tasks=tasks()))
        assert outcome.state is JobState.COMPLETED
        # What the scheduler remembers of the tasks holds nothing any more.
        assert all(o.value is None or o.value.take() is None for o in outcome.results.values())
        answers.close()
    return found


def test_results_come_in_their_turn_and_are_not_kept() -> None:
    assert asyncio.run(answered(double, double, double)) == [0, 2, 4]


def test_a_failure_and_a_death_are_no_result_and_do_not_end_the_job() -> None:
    assert asyncio.run(answered(fail, double, die, double)) == [None, 2, None, 6]


def test_a_cancelled_task_calls_nobody() -> None:
    async def scenario() -> None:
        async with Scheduler() as scheduler:
            answers = Answers(scheduler)
            taken: list[Any] = []
            task, answer = answers.asking("double", double, 1, take=taken.append)
            handle = scheduler.submit(Job(type="index", title="t", tasks=(task,)))
            handle.cancel("not wanted")
            assert (await handle).state is JobState.CANCELLED
            assert taken == []
            assert not answer.done()
            answers.close()

    asyncio.run(scenario())


@pytest.mark.skipif(sys.platform != "linux", reason="limits its memory as Linux can")
def test_what_a_worker_without_memory_finds_wrong_is_no_result() -> None:
    """A database that cannot be mapped is not unusable; what nothing is said against is taken from anybody."""
    assert asyncio.run(answered(starved, doubtful, starved, double)) == [True, None, True, 6]


def test_what_is_wrong_for_other_reasons_is_a_result() -> None:
    assert asyncio.run(answered(doubtful)) == [Finding(trouble="unusable")]
