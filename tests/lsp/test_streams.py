"""Whatever the client gives us as streams, and however badly it reads them."""

import asyncio
import json
import os
import pty
import socket
import subprocess
import sys
import tty
from pathlib import Path
from typing import Any

from headway.lsp.framing import Framer, frame
from tests.lsp.wire import probe, run, server, submission

COMMAND = [sys.executable, "-I", "-m", "headway", "serve", "--stdio", "--enable-probes"]
LIMIT_S = 60
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": None, "capabilities": {}}}
SNAPSHOT = {"jsonrpc": "2.0", "id": 2, "method": "headway/snapshot", "params": {}}
SHUTDOWN = {"jsonrpc": "2.0", "id": 3, "method": "shutdown"}
EXIT = {"jsonrpc": "2.0", "method": "exit"}
WHOLE_LIFE = b"".join(frame(json.dumps(message).encode()) for message in (INITIALIZE, SNAPSHOT, SHUTDOWN, EXIT))


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


def answers(data: bytes) -> dict[Any, Any]:
    framer = Framer()
    found = [json.loads(body) for body in framer.feed(data)]
    assert not framer.inside
    return {message["id"]: message for message in found if "id" in message}


def test_plain_files(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(WHOLE_LIFE)
    with (tmp_path / "in").open("rb") as given, (tmp_path / "out").open("wb") as taken:
        done = subprocess.run(COMMAND, stdin=given, stdout=taken, env=environment(tmp_path), timeout=LIMIT_S)
    assert done.returncode == 0
    found = answers((tmp_path / "out").read_bytes())
    assert found[2]["result"]["seq"] >= 0
    assert found[3]["result"] is None


def test_a_socket(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(LIMIT_S)
        fd = theirs.fileno()
        process = subprocess.Popen(COMMAND, stdin=fd, stdout=fd, env=environment(tmp_path))
        theirs.close()
        ours.sendall(WHOLE_LIFE)
        data = b"".join(iter(lambda: ours.recv(65_536), b""))
        assert process.wait(LIMIT_S) == 0
    assert set(answers(data)) == {1, 2, 3}


def test_a_terminal(tmp_path: Path) -> None:
    """In raw mode, as a remote shell gives it; the descriptor is shared, so it must stay as it was."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    process = subprocess.Popen(COMMAND, stdin=theirs, stdout=theirs, env=environment(tmp_path))
    os.write(ours, WHOLE_LIFE)
    data = bytearray()
    while len(Framer().feed(bytes(data))) < 3:
        data += os.read(ours, 65_536)
    assert process.wait(LIMIT_S) == 0
    assert os.get_blocking(theirs)
    os.close(ours)
    os.close(theirs)
    assert set(answers(bytes(data))) == {1, 2, 3}


def test_the_end_of_a_file_is_the_end_of_input(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(frame(json.dumps(INITIALIZE).encode()))
    with (tmp_path / "in").open("rb") as given:
        done = subprocess.run(COMMAND, stdin=given, capture_output=True, env=environment(tmp_path), timeout=LIMIT_S)
    assert done.returncode == 1
    assert set(answers(done.stdout)) == {1}


def test_a_client_that_closes_its_ears_ends_the_server(tmp_path: Path) -> None:
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(tmp_path)
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    process.stdin.write(frame(json.dumps(INITIALIZE).encode()))
    process.stdin.flush()
    assert process.wait(LIMIT_S) == 1
    process.stdin.close()


def test_a_log_that_nobody_reads_holds_nothing_up(tmp_path: Path) -> None:
    """Far more is logged than a pipe takes; each probe that fails logs, too, and debug says everything."""
    unread, write_fd = os.pipe()
    environ = {**environment(tmp_path), "HEADWAY_LOG_LEVEL": "debug"}

    async def scenario() -> None:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=write_fd,
            env=environ,
        )
        os.close(write_fd)
        assert process.stdin is not None
        assert process.stdout is not None
        unknown = {"jsonrpc": "2.0", "method": "no/such" + "x" * 190}
        process.stdin.write(frame(json.dumps(INITIALIZE).encode()))
        process.stdin.write(frame(json.dumps(unknown).encode()) * 2_000)
        process.stdin.write(b"".join(frame(json.dumps(message).encode()) for message in (SNAPSHOT, SHUTDOWN, EXIT)))
        assert set(answers(await process.stdout.read())) == {1, 2, 3}
        assert await process.wait() == 0

    run(scenario())
    assert len(os.read(unread, 65_536)) > 4_096
    os.close(unread)


def test_a_client_that_does_not_read_for_a_while_gets_every_answer_and_no_stale_news(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize()
            await wire.note("headway/queueState")
            assert wire.process.stdout is not None
            # The stream's own buffer is filled first, then the pipe, then the server's.
            wire.process.stdout._transport.pause_reading()  # type: ignore[attr-defined]
            jobs = [
                wire.request("headway/submit", submission(f"j{n}", *(probe(f"t{k}", ms=1) for k in range(60))))[1]
                for n in range(20)
            ]
            snapshots = [wire.request("headway/snapshot", {})[1] for _ in range(30)]
            wire.process.stdout._transport.resume_reading()  # type: ignore[attr-defined]
            for answer in snapshots:
                assert (await answer)["seq"] > 0
            for answer in jobs:
                assert (await answer)["state"] == "COMPLETED"
            for n in range(20):
                await wire.job_id(f"j{n}", "COMPLETED")
            assert await wire.exit() == 0

    run(scenario())


def test_the_log_goes_to_a_file_when_asked(tmp_path: Path) -> None:
    log_file = tmp_path / "logs" / "headway.log"

    async def scenario() -> None:
        async with server(tmp_path, "--log-file", str(log_file), "--log-level", "debug") as wire:
            await wire.initialize()
            wire.notify("no/such")
            assert await wire.exit() == 0

    run(scenario())
    assert "unknown notification no/such" in log_file.read_text()
    assert (tmp_path / "stderr.txt").read_text() == ""
