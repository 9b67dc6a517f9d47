"""Where the client's bytes come from and go to, and keeping everybody else away from there."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """Descriptors to read from and write to; they may be the same. No child process inherits them."""

    read_fd: int
    write_fd: int


def stdio_streams() -> Streams:
    """Take standard input and output for the protocol alone.

    Both are moved to descriptors of their own. Descriptor 0 becomes empty and 1 becomes what 2 is, so that a stray
    `print`, a native library or a child process can neither read from the wire nor write on it.
    """
    read_fd, write_fd = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.fstat(2)
    except OSError:
        os.dup2(nothing, 2)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr
    return Streams(read_fd=read_fd, write_fd=write_fd)


def tcp_streams(host: str, port: int) -> Streams:
    """Wait for one client on a loopback address; says on standard error where, as `port` may be 0.

    Raises:
        OSError: the port is taken, or the machine has no such address.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=1) as listener:
        address = listener.getsockname()
        shown = f"[{address[0]}]" if family == socket.AF_INET6 else address[0]
        sys.stderr.write(f"headway: waiting for a client on {shown}:{address[1]}\n")
        sys.stderr.flush()
        client, _ = listener.accept()
    with contextlib.suppress(OSError):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.setblocking(True)
    fd = client.detach()
    return Streams(read_fd=fd, write_fd=os.dup(fd))
