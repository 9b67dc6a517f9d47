"""`headway serve --tcp HOST:PORT`: one client on this machine, for debugging."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from headway.lsp.framing import Framer, frame
from tests.lsp.test_streams import INITIALIZE, LIMIT_S, SNAPSHOT, WHOLE_LIFE, answers, environment

COMMAND = [sys.executable, "-I", "-m", "headway", "serve", "--tcp"]


@contextmanager
def waiting(home: Path, address: str) -> Iterator[tuple["subprocess.Popen[str]", tuple[str, int]]]:
    """A server that waits for its client, and where."""
    process = subprocess.Popen([*COMMAND, address], stderr=subprocess.PIPE, env=environment(home), text=True)
    assert process.stderr is not None
    with process:
        said = process.stderr.readline()
        assert said.startswith("headway: waiting for a client on "), said
        host, _, port = said.split()[-1].rpartition(":")
        try:
            yield process, (host.strip("[]"), int(port))
        finally:
            process.kill()


def refused(home: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*COMMAND, *arguments], env=environment(home), capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_client_connects_and_is_served(tmp_path: Path, host: str) -> None:
    if host == "[::1]" and not _has_ipv6():
        pytest.skip("this machine has no IPv6 loopback")
    with waiting(tmp_path, f"{host}:0") as (process, address), socket.create_connection(address, LIMIT_S) as client:
        client.sendall(WHOLE_LIFE)
        data = b"".join(iter(lambda: client.recv(65_536), b""))
        assert process.wait(LIMIT_S) == 0
    assert set(answers(data)) == {1, 2, 3}


def test_a_client_that_is_gone_ends_the_server_and_its_children(tmp_path: Path) -> None:
    opened = {"jsonrpc": "2.0", "method": "initialized", "params": {}}
    with waiting(tmp_path, "127.0.0.1:0") as (process, address):
        with socket.create_connection(address, LIMIT_S) as client:
            for message in (INITIALIZE, opened, SNAPSHOT):
                client.sendall(frame(json.dumps(message).encode()))
            framer = Framer()
            found: list[dict[str, object]] = []
            while 2 not in [message.get("id") for message in found]:
                found += [json.loads(body) for body in framer.feed(client.recv(65_536))]
            children = psutil.Process(process.pid).children(recursive=True)
        assert process.wait(LIMIT_S) == 1
        assert psutil.wait_procs(children, 10)[1] == []


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("0.0.0.0:7998", "no loopback address; use 127.0.0.1"),
        ("192.0.2.1:7998", "no loopback address; use 127.0.0.1"),
        ("example.org:7998", "no loopback address; use 127.0.0.1"),
        ("127.0.0.1", "not HOST:PORT; try 127.0.0.1:0"),
        ("127.0.0.1:99999", "not HOST:PORT; try 127.0.0.1:0"),
    ],
)
def test_an_address_that_others_could_reach_or_that_is_none_is_refused(
    tmp_path: Path, address: str, words: str
) -> None:
    assert words in refused(tmp_path, address)


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = refused(tmp_path, f"127.0.0.1:{port}")
    assert f"127.0.0.1:{port}" in said
    assert "in use" in said
    assert "127.0.0.1:0" in said, "what to do instead"


def _has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True
