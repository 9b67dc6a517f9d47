"""Stopped and gone on, by SIGSTOP or a clock that is set: work goes on where it was, and nothing is done twice."""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.lsp.wire import Wire, probe, run, server, submission
from tests.soak import census
from tests.survival.ground import begin, called, family, indexed, project, snapshot

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="stops processes, and sets their clock, as Linux can")

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
/* The wall clock as somebody set it: shifted by as many hours as the file named by SHIFT is long. */
static time_t shift(void) {
    struct stat found;
    const char *path = getenv("SHIFT");
    if (!path || stat(path, &found)) return 0;
    return found.st_size < 100 ? found.st_size * 3600 : -2 * 3600;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += shift();
    return result;
}
time_t time(time_t *where) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where) *where = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}
"""


def stop(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        process.suspend()


def go_on(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        process.resume()


async def stand_still(seconds: float) -> None:
    """Real time has to pass: that is what is tried."""
    await (await asyncio.create_subprocess_exec("/bin/sleep", str(seconds))).wait()


def test_a_server_that_was_stopped_goes_on_as_if_no_time_had_passed(tmp_path: Path) -> None:
    """With all its children, as by a laptop's lid; longer than each of its limits."""
    root = project(tmp_path, 5)
    limits = {"hardTimeoutMs": 1500, "cpuCores": 0.05}

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            await indexed(wire)
            before = census.take(wire.process.pid)
            kinds = ("sleep", "process", "thread", "cpu")
            _, answer = wire.request("headway/submit", submission("lid", *(probe(k, k, 700, **limits) for k in kinds)))
            await wire.note("headway/queueState", lambda note: len(note["running"]) >= len(kinds))
            everybody = [psutil.Process(wire.process.pid), *family(wire)]
            stop(everybody)
            asked_while_away = [wire.request("headway/snapshot", {})[1] for _ in range(20)]
            told = len(wire.notes("headway/queueState"))
            await stand_still(3.5)
            go_on(reversed(everybody))
            view = await answer
            assert view["state"] == "COMPLETED", view["tasks"]
            assert [task["attempt"] for task in view["tasks"]] == [1] * len(kinds)
            assert [(await asked)["seq"] > 0 for asked in asked_while_away] == [True] * 20
            after = await indexed(wire)
            # Nothing that was missed is caught up on: neither rounds of looking at the disk nor words about the state.
            assert not [
                job for job in after["recentJobs"] if job["type"] == "index" and job["title"].startswith("List")
            ]
            assert len(wire.notes("headway/queueState")) - told < 10
            assert census.leaks(before, census.take(wire.process.pid)) == []
            # Limits hold as before.
            late = await wire.ask(
                "headway/submit", submission("late", probe("late", "sleep", 60_000, hardTimeoutMs=50))
            )
            assert late["state"] == "FAILED"
            assert await wire.exit() == 0

    run(scenario())


def test_a_stopped_engine_or_worker_holds_up_nobody(tmp_path: Path) -> None:
    root = project(tmp_path)
    text = "import json\nlocal_name = 1\nlocal"
    uri = (root / "pkg" / "mod_1.py").as_uri()

    async def names(wire: Wire) -> set[str]:
        params = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 5}}
        return {item["label"] for item in (await wire.ask("textDocument/completion", params))["items"]}

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await begin(wire, root)
            wire.notify(
                "textDocument/didOpen",
                {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}},
            )
            await indexed(wire)
            await wire.note("textDocument/publishDiagnostics")
            engines = called(family(wire), " server")
            assert len(engines) == 2
            stop(engines)
            assert "local_name" in await names(wire)
            change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": text + "_n"}]}
            wire.notify("textDocument/didChange", change)
            assert "local_name" in await names(wire)
            go_on(engines)
            # What the stopped engine was asked for comes when it goes on.
            await wire.note("textDocument/publishDiagnostics", lambda told: told.get("version") == 2)
            assert "local_name" in await names(wire)

            workers = [psutil.Process(worker["pid"]) for worker in (await snapshot(wire))["workers"]]
            stop(workers)
            _, answer = wire.request("headway/submit", submission("w", probe("w", "process", 10, hardTimeoutMs=300)))
            view = await answer
            assert view["state"] == "FAILED", "it was given to a stopped worker, and ended by its limit"
            while all(worker.is_running() for worker in workers):  # who cannot hear is not kept
                await snapshot(wire)
            again = await wire.ask("headway/submit", submission("v", probe("v", "process", 10, hardTimeoutMs=30_000)))
            assert again["state"] == "COMPLETED"
            go_on(worker for worker in workers if worker.is_running())
            assert await wire.exit() == 0

    run(scenario())


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler to set the clock of one process")
def test_a_clock_that_is_set_changes_nothing(tmp_path: Path) -> None:
    """Two hours forward and back while work is under way; instants that are told go on as they began."""
    (tmp_path / "shim.c").write_text(SHIM)
    shim, shift = tmp_path / "shim.so", tmp_path / "shift"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, tmp_path / "shim.c", "-ldl"], check=True)
    shift.write_text("")
    root = project(tmp_path, 5)
    environment = {"LD_PRELOAD": str(shim), "SHIFT": str(shift)}

    def seen() -> float:
        told = subprocess.run(
            [sys.executable, "-c", "import time; print(time.time())"],
            env={**os.environ, **environment},
            capture_output=True,
            check=True,
        )
        return float(told.stdout)

    async def scenario() -> None:
        async with server(tmp_path, env=environment) as wire:
            await begin(wire, root)
            await indexed(wire)
            views: list[Any] = []
            for length in (2, 200):  # two hours forward, then two back
                task = probe("t", "process", 300, hardTimeoutMs=30_000, softTimeoutMs=20_000)
                _, answer = wire.request("headway/submit", submission(f"clock {length}", task))
                await wire.job_id(f"clock {length}")
                shift.write_text("x" * length)
                assert abs(await asyncio.to_thread(seen) - time.time()) > 3600, "the clock is set for whoever asks"
                views.append(await answer)
            shift.write_text("")
            after = await wire.ask("headway/submit", submission("after", probe("a", "process", 5)))
            for view in (*views, after):
                assert view["state"] == "COMPLETED"
                assert view["tasks"][0]["attempt"] == 1
                assert 0 <= view["finishedAt"] - view["createdAt"] < 60_000
                assert abs(view["finishedAt"] / 1000 - time.time()) < 60
            states = wire.notes("headway/queueState")
            assert [state["at"] for state in states] == sorted(state["at"] for state in states)
            assert (await indexed(wire))["message"] is None
            assert await wire.exit() == 0

    run(scenario())
