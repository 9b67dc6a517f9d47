"""Where the workspace's Python is looked for; nothing of it is run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.engines.environment import (
    InterpreterError,
    chosen_environment,
    fallback_environment,
    names_own_environment,
    own_program,
    workspace_environment,
)


def virtual(prefix: Path, *, python: bool = True) -> Path:
    """Make what looks like a virtual environment; its interpreter would leave a mark."""
    (prefix / "bin").mkdir(parents=True)
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\n")
    if python:
        interpreter = prefix / "bin" / "python"
        interpreter.write_text(f"#!/bin/sh\ntouch {prefix}/ran\n")
        interpreter.chmod(0o755)
    return prefix


def version(prefix: Path, told: str) -> None:
    """Have an environment say another version."""
    (prefix / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {told}\n")


def test_the_setting_wins_then_a_root_then_the_variables(tmp_path: Path) -> None:
    in_root = virtual(tmp_path / "root" / ".venv")
    active, chosen = virtual(tmp_path / "active"), virtual(tmp_path / "chosen")
    variables = {"VIRTUAL_ENV": str(active)}
    root = tmp_path / "root"

    def prefix(interpreter: str | None, roots: list[Path]) -> Path | None:
        found = workspace_environment(roots, interpreter=interpreter, variables=variables)
        return found.prefix if found else None

    assert prefix(str(chosen / "bin" / "python"), [root]) == chosen
    assert prefix(None, [root]) == in_root
    assert prefix(None, [tmp_path]) == active
    assert workspace_environment([tmp_path], variables={}) is None
    assert not list(tmp_path.rglob("ran"))


@pytest.mark.parametrize(
    ("make", "interpreter", "fault"),
    [
        (lambda here: None, "gone/bin/python", "does not exist"),
        (
            lambda here: (here / "python").symlink_to(here / "old" / "python"),
            "python",
            "/old/python, which does not exist",
        ),
        (lambda here: (here / "empty").mkdir(), "empty", "is a folder without a Python in it"),
        (lambda here: (here / "notes.txt").write_text("x"), "notes.txt", "is a file that cannot be run"),
        (lambda here: version(virtual(here / "env"), "2.7.18"), "env", "is Python 2.7; 3.7 or newer is needed"),
        (lambda here: (virtual(here / "p") / "lib/python3.6/site-packages").mkdir(parents=True), "p", "is Python 3.6"),
    ],
)
def test_an_interpreter_that_cannot_be_used_is_named_with_its_fault(
    tmp_path: Path, make: Callable[[Path], object], interpreter: str, fault: str
) -> None:
    """Not there, moved away, a folder, no program, too old: the path and what is wrong with it, never another one."""
    make(tmp_path)
    virtual(tmp_path / ".venv")
    with pytest.raises(InterpreterError) as caught:
        workspace_environment([tmp_path], interpreter=str(tmp_path / interpreter), variables={})
    assert str(tmp_path / interpreter) in str(caught.value)
    assert fault in str(caught.value)
    assert not list(tmp_path.rglob("ran"))


def test_an_interpreter_may_be_spelled_as_people_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the home folder, from the workspace, or as a mere name that the search path knows."""
    place = virtual(tmp_path / "code" / "mine") / "bin" / "python"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f".{os.pathsep}{place.parent}")
    roots = [tmp_path / "code"]
    for spelling in ("~/code/mine/bin/python", "${workspaceFolder}/mine/bin/python", "mine/bin/python", "python"):
        assert chosen_environment(spelling, roots).python == place, spelling
    for spelling in ("${workspaceFolder}/mine/bin/python", "mine/bin/python"):
        with pytest.raises(InterpreterError, match="no folder is open"):
            chosen_environment(spelling, [])


def test_a_link_to_another_interpreter_is_not_followed(tmp_path: Path) -> None:
    prefix = virtual(tmp_path / "env", python=False)
    (prefix / "bin" / "python").symlink_to(sys.executable)
    found = workspace_environment([], interpreter=str(prefix / "bin" / "python"), variables={})
    assert found is not None
    assert found.prefix == prefix


def test_our_own_environment_is_not_the_workspaces(tmp_path: Path) -> None:
    assert workspace_environment([tmp_path], variables={"VIRTUAL_ENV": sys.prefix}) is None
    assert fallback_environment().prefix == Path(sys.base_prefix)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pyproject.toml", "[tool.ty.environment]\npython = '.venv'\n", True),
        ("ty.toml", "[environment]\npython = '.venv'\n", True),
        ("pyproject.toml", "[tool.ty]\nrules = {}\n", False),
        ("pyproject.toml", "[tool\nbroken", False),
        ("pyproject.toml", "tool = 3\n", False),
    ],
)
def test_a_configuration_that_names_the_environment_is_left_to_ty(
    tmp_path: Path, name: str, text: str, expected: bool
) -> None:
    (tmp_path / name).write_text(text)
    assert names_own_environment(tmp_path) is expected


def test_a_pipe_in_place_of_the_configuration_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pyproject.toml")
    assert names_own_environment(tmp_path) is False


def test_our_tools_are_those_installed_with_us() -> None:
    assert own_program("ty") is not None
    assert own_program("ruff") is not None
    assert own_program("no-such-tool") is None
