"""`headway doctor`: each thing that may be missing is named with what to do about it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from headway.cli.doctor import doctor
from headway.cli.index_commands import index
from headway.workspace.grammars import extraction
from headway.workspace.placing import database_path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "pyvenv.cfg").write_text("home = /usr\n")
    for name in ("bin/python", "Scripts/python.exe"):
        (root / ".venv" / name).parent.mkdir(exist_ok=True)
        (root / ".venv" / name).write_text("")
    (root / "a.py").write_text("def made(): pass\n")
    return root


def verdicts(project: Path, cache: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    capsys.readouterr()
    code = doctor(project, as_json=True, cache_dir=cache)
    said = json.loads(capsys.readouterr().out)
    assert code == (0 if said["good"] else 1)
    return {check["name"]: check for check in said["checks"]}


def test_all_is_well_here(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = verdicts(project, tmp_path / "cache", capsys)
    wrong = {name: check for name, check in found.items() if check["verdict"] != "good"}
    assert set(wrong) <= {"git", "scheduling"}  # which a machine may lack; what a single core cannot do
    for name in ("allocated under backlog ", "timeouts ", "retries that succeed ", "alerts in time "):
        assert name in found["scheduling"]["found"]
    assert found["grammars"]["found"] == "all 20"
    assert "none of" in found["index"]["found"]
    assert index(project, tmp_path / "cache") == 0
    assert verdicts(project, tmp_path / "cache", capsys)["index"]["found"].startswith("1 files, 2 symbols")


def test_people_read_what_to_do(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert doctor(project, cache_dir=tmp_path / "file") == 1
    said = capsys.readouterr().out
    assert "! cache folder: " in said
    assert "    → make it writable, or set XDG_CACHE_HOME" in said
    assert said.rstrip().endswith("to mend")
    assert doctor(project / "nowhere") == 2
    assert "nowhere is no folder" in capsys.readouterr().err


def test_it_speaks_where_only_the_scheduler_is_installed(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "headway.workspace.grammars.extraction", None)
    monkeypatch.delattr("headway.workspace.grammars.extraction")
    check = verdicts(project, tmp_path / "cache", capsys)["grammars"]
    assert check["verdict"] == "missing"
    assert "pip install" in check["remedy"]


def test_what_is_missing_or_damaged_is_named(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    path = Path(database_path(str(cache), str(project)))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no database" * 1_000)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    extraction.parser_of.cache_clear()
    try:
        found = verdicts(project, cache, capsys)
    finally:
        extraction.parser_of.cache_clear()
    assert "made anew" in found["index"]["remedy"]
    assert "without go" in found["grammars"]["found"]
    assert found["git"]["verdict"] == "poor"
