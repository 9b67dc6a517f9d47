"""`headway index` and `headway search`, on a small folder, with everything real."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.cli.index_commands import index, search


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "lib").mkdir(parents=True)
    (root / "lib" / "temp.py").write_text(
        'class Scale:\n    def kelvinize(self, value):\n        """Convert from Celsius degrees."""\n'
    )
    (root / ".env").write_text("TOKEN=secret\n")
    return root


def test_index_says_what_is_there(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert index(project, tmp_path / "cache") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{project}: 1 files, 3 symbols, ")
    assert said.endswith("passed over: 1 secret\n")


@pytest.mark.parametrize("query", ["kelvinize", "converting celsius"])
def test_search_names_the_place(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], query: str) -> None:
    assert search(query, project, cache_dir=tmp_path / "cache") == 0
    assert capsys.readouterr().out.splitlines()[0] == "lib/temp.py:2: Scale.kelvinize  def kelvinize(self, value):"


def test_nothing_found_and_no_folder_are_exit_codes(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert search("zebra", project, cache_dir=tmp_path / "cache") == 1
    assert index(tmp_path / "nowhere", tmp_path / "cache") == 2
    assert "is no folder" in capsys.readouterr().err
