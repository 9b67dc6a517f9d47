"""A command's output that nobody reads, that has no room, or that was closed: an exit code, and no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

COMMAND = [sys.executable, "-I", "-m", "headway"]
posix_only = pytest.mark.skipif(os.name != "posix", reason="descriptors and pipes of POSIX")


def ended(*arguments: str, stdout: int | None = None, before: Callable[[], None] | None = None) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, *arguments], stdout=stdout, stderr=subprocess.PIPE, preexec_fn=before, check=False, timeout=60
    )
    return done.returncode, done.stderr.decode()


@posix_only
def test_a_pipe_that_nobody_reads_ends_a_command_without_a_word() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert ended("--version", stdout=writer) == (141, "")
        assert ended("--help", stdout=writer) == (141, "")
    finally:
        os.close(writer)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_output_without_room_is_named() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        code, said = ended("--version", stdout=full)
    finally:
        os.close(full)
    assert code == 2
    assert said.startswith("headway: the output cannot be written: ")
    assert "Traceback" not in said


@posix_only
def test_closed_streams_are_nowhere_and_no_file_takes_their_place() -> None:
    assert ended("--version", before=lambda: os.closerange(0, 2)) == (0, "")


@pytest.mark.parametrize("limit", ["0", "many"])
def test_a_limit_that_is_no_count_is_refused(limit: str) -> None:
    code, said = ended("search", "name", f"--limit={limit}")
    assert code == 2
    assert "number from 1 on" in said


@pytest.mark.parametrize("words", [("index", ""), ("search", "name", "--in", ""), ("doctor", "")])
def test_an_empty_path_is_not_the_present_folder(words: tuple[str, ...]) -> None:
    code, said = ended(*words)
    assert code == 2
    assert "the path is empty" in said
