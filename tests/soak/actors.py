"""Those who load the server, each until told to stop: they type, search, submit, cancel, save and kill."""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from headway.demo.client import Client, Request
from headway.demo.errors import NoAnswerError
from tests.soak.ledger import CANCELLED, CONTENT_MODIFIED, Ledger
from tests.soak.workspace import WORDS, module

ANSWER_S = 60.0  # after this an answer counts as lost
# Background work is not held back for what other programs do: the test is of us, on whatever machine.
SETTINGS = {"scheduler": {"cpuHighPercent": 100, "cpuLowPercent": 99, "onBattery": "ignore"}}
KINDS = ("sleep", "cpu", "thread", "process", "fail", "memory", "exit", "hang")
PRIORITIES = ("CRITICAL", "HIGH", "NORMAL", "LOW", "BATCH")


class CountingClient(Client):
    """Notices answers that nobody waits for (a second one, or one to an unknown request)."""

    unasked = 0

    def _reply(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "workspace/configuration":
            return {"result": [SETTINGS for _ in params.get("items", [])]}
        return super()._reply(method, params)

    def _receive(self, message: Mapping[str, Any], at_s: float) -> None:
        if "method" not in message and message.get("id") not in self._pending:
            self.unasked += 1
        super()._receive(message, at_s)


class Load:
    """One server under mixed load. Every actor draws from a generator of its own, so that a seed means something."""

    def __init__(self, client: CountingClient, root: Path, files: Sequence[Path], ledger: Ledger, seed: int) -> None:
        self.client = client
        self.root = root
        self.files = files
        self.ledger = ledger
        self._seed = seed
        self.stop = asyncio.Event()
        self.gentle = False  # nobody kills or cancels any more

    async def run(self, duration_s: float) -> None:
        """Let all loose for a while."""
        self.stop.clear()
        async with asyncio.TaskGroup() as actors:
            for number, actor in enumerate(
                (self.types, self.types, self.searches, self.submits, self.submits, self.saves, self.kills, self.looks)
            ):
                rng = random.Random(f"{self._seed}-{number}")
                actors.create_task(actor(rng), name=f"{actor.__name__}-{number}")
            await asyncio.sleep(duration_s)
            self.stop.set()

    async def answered(self, what: str, request: Request, rng: random.Random, cancel_share: float = 0.0) -> Any:
        """Wait for an answer, perhaps after a cancel; return its result, None for an error."""
        cancelled_at_s = None
        if rng.random() < cancel_share:
            await asyncio.sleep(rng.choice((0.0, 0.0, 0.005, 0.05, 0.3)))
            if not request.answer.done():
                cancelled_at_s = time.perf_counter()
                self.client.cancel(request)
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await asyncio.shield(request.answer)
        except TimeoutError:
            self.ledger.fault("requests without an answer", what)
            return None
        self.ledger.counts[what] += 1
        if cancelled_at_s is not None:
            self.ledger.took("cancel to answer", answer.at_s - cancelled_at_s)
        if answer.error is None:
            self.ledger.took(what, answer.at_s - request.sent_at_s)
            return answer.result
        code = answer.error.get("code")
        self.ledger.counts[f"{what}: {code}"] += 1
        if code not in (CANCELLED, CONTENT_MODIFIED):
            self.ledger.fault("requests refused", f"{what}: {answer.error}")
        return None

    async def types(self, rng: random.Random) -> None:
        """Open a document, type words at its end with a completion for each key, close it."""
        while not self.stop.is_set():
            file = rng.choice(self.files)
            uri, text = file.as_uri(), file.read_text()
            line, version = text.count("\n"), 1
            document = {"uri": uri, "languageId": "python", "version": version, "text": text}
            self.client.notify("textDocument/didOpen", {"textDocument": document})
            for _ in range(rng.randrange(2, 8)):
                typed = ""
                for key in rng.choice(WORDS)[: rng.randrange(2, 6)] + "\n":
                    version += 1
                    at = {"line": line, "character": len(typed)}
                    change = {"range": {"start": at, "end": at}, "text": key}
                    self.client.notify(
                        "textDocument/didChange",
                        {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]},
                    )
                    typed += key
                    if key != "\n":
                        position = {"line": line, "character": len(typed)}
                        params = {"textDocument": {"uri": uri}, "position": position}
                        request = self.client.request("textDocument/completion", params)
                        await self.answered("completion", request, rng, 0.15)
                    await asyncio.sleep(rng.uniform(0.03, 0.2))
                line += 1
            self.client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    async def searches(self, rng: random.Random) -> None:
        while not self.stop.is_set():
            query = f"{rng.choice(WORDS)} {rng.choice(WORDS)}"
            if rng.random() < 0.5:
                request = self.client.request("headway/search", {"query": query})
                await self.answered("search", request, rng, 0.2)
            else:
                request = self.client.request("workspace/symbol", {"query": rng.choice(WORDS)[:3]})
                await self.answered("workspace symbols", request, rng, 0.2)
            await asyncio.sleep(rng.uniform(0.1, 0.6))

    async def submits(self, rng: random.Random) -> None:
        """Submit probes of every kind and level, a few of them cancelled, and account for every task."""
        number = 0
        while not self.stop.is_set():
            number += 1
            tasks = [self._probe(rng, f"t{index}") for index in range(rng.randrange(1, 6))]
            for index, task in enumerate(tasks[1:], 1):
                if rng.random() < 0.3:
                    task["dependsOn"] = [f"t{rng.randrange(index)}"]
            params = {
                "type": "probe",
                "title": f"soak {id(rng) & 0xFFFF} {number}",
                "priority": rng.choice(PRIORITIES),
                "arguments": {"tasks": tasks},
            }
            request = self.client.request("headway/submit", params)
            view = await self.answered("probe job", request, rng, 0.25)
            if view is not None:
                self.ledger.job([str(task["name"]) for task in tasks], view)
            await asyncio.sleep(rng.uniform(0.0, 0.2))

    def _probe(self, rng: random.Random, name: str) -> dict[str, Any]:
        kind = rng.choices(KINDS, (4, 3, 2, 3, 2, 1, 1, 1))[0]
        task: dict[str, Any] = {
            "name": name,
            "kind": kind,
            "durationMs": rng.choice((5, 20, 80)),
            "steps": rng.choice((1, 1, 3)),
            "cpuCores": 0.1,
            "memoryMb": rng.choice((1, 8, 32)),
        }
        if kind == "hang":
            task["hardTimeoutMs"] = rng.choice((50, 200, 500))
        return task

    async def saves(self, rng: random.Random) -> None:
        """Write files as other programs do, and say so as the editor's watcher does."""
        while not self.stop.is_set():
            changed = rng.sample(list(self.files), rng.randrange(1, 8))
            for file in changed:
                file.write_text(module(rng, rng.randrange(1000), len(self.files)))
            changes = [{"uri": file.as_uri(), "type": 2} for file in changed]
            self.client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
            await asyncio.sleep(rng.uniform(0.2, 2.0))

    async def kills(self, rng: random.Random) -> None:
        """SIGKILL to a worker or an engine, now and then."""
        while not self.stop.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(rng.uniform(1.0, 5.0)):
                    await self.stop.wait()
                    return
            with contextlib.suppress(psutil.NoSuchProcess):
                family = psutil.Process(self.client.pid).children(recursive=True)
                if family:
                    victim = rng.choice(family)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(victim.pid, signal.SIGKILL)
                        self.ledger.counts["processes killed"] += 1

    async def looks(self, rng: random.Random) -> None:
        """Ask for everything that is shown, and pause and resume as a person may."""
        while not self.stop.is_set():
            for method in ("headway/snapshot", "headway/metrics", "headway/timeline"):
                await self.answered(method, self.client.request(method, {}), rng)
            if rng.random() < 0.2:
                await self.answered("headway/pause", self.client.request("headway/pause", {}), rng)
                await asyncio.sleep(rng.uniform(0.0, 1.0))
                await self.answered("headway/resume", self.client.request("headway/resume", {}), rng)
            await asyncio.sleep(rng.uniform(0.5, 2.0))

    async def quiet(self, limit_s: float) -> Mapping[str, Any]:
        """Wait until nothing is queued or running; return the last snapshot.

        Raises:
            NoAnswerError: it is still busy after `limit_s`.
        """
        until_s = time.monotonic() + limit_s
        while True:
            snapshot: Mapping[str, Any] = await self.client.call("headway/snapshot", {}, limit_s=ANSWER_S)
            if not any(level["queued"] or level["running"] for level in snapshot["queues"].values()):
                return snapshot
            if time.monotonic() > until_s:
                told = {name: snapshot[name] for name in ("queues", "pauseReason", "pausedPriorities", "pressure")}
                raise NoAnswerError(f"(still busy: {told})", limit_s)
            await asyncio.sleep(0.25)
