"""A server that hangs is replaced; one that computes, or has nothing to say, is not."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from headway.engines.errors import EngineAnswerError, EngineUnavailableError
from headway.engines.server import EngineState, LanguageServer, ServerLaunch
from headway.engines.ty import TyEngine
from headway.scheduler.executors.children import PriorityClass, clean_environment

from .conftest import Desk, Running

SOON = dict.fromkeys(PriorityClass, 1.0)

# Knows two requests: one that it computes for, and one that it never answers. To all others it says that it does not.
SERVER = """
import json, sys, time

def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(body), body))
    sys.stdout.buffer.flush()

while header := sys.stdin.buffer.readline():
    sys.stdin.buffer.readline()
    message = json.loads(sys.stdin.buffer.read(int(header.split(b":")[1])))
    if "id" not in message or message["method"] == "forgotten":
        continue
    if message["method"] == "initialize":
        send({"id": message["id"], "result": {"capabilities": {}}})
    elif message["method"] == "computed":
        while time.process_time() < 3.0:
            pass
        send({"id": message["id"], "result": "done"})
    else:
        open("asked", "a").write(message["method"] + " ")
        send({"id": message["id"], "error": {"code": -32601, "message": "unknown"}})
"""


def launch(root: Path) -> ServerLaunch:
    return ServerLaunch(
        argv=(sys.executable, "-I", "-c", SERVER), roots=(root.as_uri(),), cwd=root, env=clean_environment()
    )


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes are stopped by a signal of POSIX")
@pytest.mark.asyncio
async def test_one_that_hangs_is_ended_and_another_one_answers(desk: Desk, running: Running) -> None:
    engine = TyEngine(lambda: desk.open)
    engine.hangs_after_s = SOON
    async with running(engine, desk.launch_ty()):
        hung = engine.pid
        assert hung is not None
        os.kill(hung, signal.SIGSTOP)
        with pytest.raises(EngineUnavailableError):
            async with asyncio.timeout(60):
                await engine.ask("workspace/symbol", {"query": "a"})
        async with asyncio.timeout(60):
            await engine.ready()
        assert engine.pid != hung
        assert engine.state is EngineState.READY


@pytest.mark.asyncio
async def test_one_that_computes_is_waited_for(desk: Desk, running: Running) -> None:
    server = LanguageServer("counter", lambda: desk.open)
    server.hangs_after_s = SOON
    async with running(server, launch(desk.root)), asyncio.timeout(60):
        assert await server.ask("computed", {}) == "done"
        assert server.restarts == 0


@pytest.mark.asyncio
async def test_one_that_forgets_a_question_but_lives_is_kept(desk: Desk, running: Running) -> None:
    server = LanguageServer("forgetful", lambda: desk.open)
    server.hangs_after_s = SOON
    async with running(server, launch(desk.root)), asyncio.timeout(60):
        asked = desk.root / "asked"  # in which the server, another process, writes
        asked.touch()
        for times in (1, 2):
            forgotten = server.ask("forgotten", {})
            while server.restarts == 0 and asked.read_text().count("headway/ping") < times:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            forgotten.cancel()
        with pytest.raises(EngineAnswerError):
            await server.ask("another", {})
        assert (server.restarts, server.state) == (0, EngineState.READY)
