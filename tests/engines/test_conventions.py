"""Environments that a workspace names: laid out as Poetry, pyenv and conda do."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

import pytest

from headway.engines.conventions import named_environment
from headway.engines.environment import workspace_environment


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def virtual(prefix: Path) -> Path:
    prefix.mkdir(parents=True)
    (prefix / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return prefix


def digest(root: Path) -> str:
    path = os.path.normcase(os.path.realpath(root))
    return base64.urlsafe_b64encode(hashlib.sha256(path.encode()).digest()).decode()[:8]


@pytest.mark.parametrize(
    "pyproject", ['[tool.poetry]\nname = "My App!"\n', '[project]\nname = "My App!"\n[tool.poetry]\npackages = []\n']
)
def test_poetry_s_cache_newest_python_first(home: Path, root: Path, pyproject: str) -> None:
    (root / "pyproject.toml").write_text(pyproject)
    places = home / "cache" / "virtualenvs"
    variables = {"HOME": str(home), "POETRY_CACHE_DIR": str(home / "cache")}
    assert named_environment(root, variables) is None
    virtual(places / f"my_app_-{digest(root)}-py3.9")
    newest = virtual(places / f"my_app_-{digest(root)}-py3.12")
    virtual(places / "my_app_-AAAAAAAA-py3.13")  # another project of that name
    assert named_environment(root, variables) == newest
    moved = virtual(home / "elsewhere" / f"my_app_-{digest(root)}-py3.11")
    assert named_environment(root, {**variables, "POETRY_VIRTUALENVS_PATH": str(home / "elsewhere")}) == moved


def test_a_project_of_another_tool_has_none_of_poetry_s(home: Path, root: Path) -> None:
    (root / "pyproject.toml").write_text('[project]\nname = "app"\n')
    virtual(home / ".cache" / "pypoetry" / "virtualenvs" / f"app-{digest(root)}-py3.12")
    assert named_environment(root, {"HOME": str(home)}) is None


@pytest.mark.parametrize("name", ["3.12.1", "my-env", "3.12.1/envs/my-env"])
def test_pyenv_s_version_or_environment(home: Path, root: Path, name: str) -> None:
    (root / ".python-version").write_text(f"# chosen\nmissing\n{name}\n")
    (home / ".pyenv" / "versions" / name).mkdir(parents=True)
    assert named_environment(root, {"HOME": str(home)}) == home / ".pyenv" / "versions" / name


def test_what_is_no_name_leads_nowhere(home: Path, root: Path) -> None:
    (root / ".python-version").write_text("../../elsewhere\n")
    (home / ".pyenv" / "versions").mkdir(parents=True)
    (home / "elsewhere").mkdir()
    assert named_environment(root, {"HOME": str(home)}) is None
    (root / ".python-version").unlink()
    os.mkfifo(root / ".python-version")  # nobody waits for who would write into it
    assert named_environment(root, {"HOME": str(home)}) is None


def test_conda_s_environment_by_its_name(home: Path, root: Path) -> None:
    (root / "environment.yml").write_text("name: lab  # ours\ndependencies:\n  - python\n")
    usual = home / "miniforge3" / "envs" / "lab"
    usual.mkdir(parents=True)
    assert named_environment(root, {"HOME": str(home)}) == usual
    listed = home / "disk" / "lab"
    listed.mkdir(parents=True)
    (home / ".conda").mkdir()
    (home / ".conda" / "environments.txt").write_text(f"{home}/miniforge3\n{listed}\n")
    assert named_environment(root, {"HOME": str(home)}) == listed


def test_the_workspace_s_own_comes_first_then_what_is_active_then_what_is_named(home: Path, root: Path) -> None:
    named = home / ".pyenv" / "versions" / "3.12.1"
    named.mkdir(parents=True)
    (root / ".python-version").write_text("3.12.1\n")
    base, active = virtual(home / "conda"), virtual(home / "active")
    variables = {"HOME": str(home), "CONDA_PREFIX": str(base)}

    def prefix() -> Path | None:
        found = workspace_environment([root], variables=variables)
        return None if found is None else found.prefix

    assert prefix() == named
    variables["VIRTUAL_ENV"] = str(active)
    assert prefix() == active
    own = virtual(root / ".venv")
    assert prefix() == own
