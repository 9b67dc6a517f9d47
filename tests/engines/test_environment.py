"""Where the workspace's Python is looked for; nothing of it is run."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from headway.engines.environment import (
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
    assert prefix("/no/such/python", [root]) == in_root
    assert prefix(None, [tmp_path]) == active
    assert workspace_environment([tmp_path], variables={}) is None
    assert not list(tmp_path.rglob("ran"))


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
