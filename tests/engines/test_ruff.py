"""ruff as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.engines.environment import own_program
from headway.engines.mirror import LONGEST_TEXT
from headway.engines.ruff import RuffEngine, RuffFailedError, RuffReport, check_files, list_files
from headway.scheduler.executors.children import clean_environment

from .conftest import Desk, Running


async def codes(engine: RuffEngine, desk: Desk, source: str, version: int = 1) -> list[str | int | None]:
    reply = engine.diagnose(desk.write("a.py", source, version=version))
    assert reply is not None
    report = await reply
    assert isinstance(report, RuffReport)
    return [item.code for item in report.items]


@pytest.mark.asyncio
async def test_findings_are_those_of_the_newest_text(desk: Desk, running: Running) -> None:
    engine = RuffEngine(lambda: desk.open)
    async with running(engine, desk.launch_ruff()):
        assert set(await codes(engine, desk, "import json\nunknown_name\n")) >= {"F401", "F821"}
        assert "F821" not in await codes(engine, desk, "unknown_name = 1\n", version=2)
        assert "invalid-syntax" in await codes(engine, desk, "def f(:\n", version=3)


@pytest.mark.asyncio
async def test_the_configuration_of_the_workspace_counts(desk: Desk, running: Running) -> None:
    (desk.root / "ruff.toml").write_text("[lint]\nselect = ['E711']\n")
    engine = RuffEngine(lambda: desk.open)
    async with running(engine, desk.launch_ruff()):
        assert await codes(engine, desk, "import json\nif json == None:\n    pass\n") == ["E711"]


@pytest.mark.asyncio
async def test_a_huge_text_is_not_looked_at(desk: Desk, running: Running) -> None:
    engine = RuffEngine(lambda: desk.open)
    async with running(engine, desk.launch_ruff()):
        assert engine.diagnose(desk.write("huge.py", "x" * (LONGEST_TEXT + 1))) is None


@pytest.mark.asyncio
async def test_files_are_listed_and_their_findings_counted(tmp_path: Path) -> None:
    program = str(own_program("ruff"))
    (tmp_path / "a.py").write_text("import json\nimport os\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.py").write_text("x = 1\n")
    (tmp_path / "notes.txt").write_text("no Python\n")
    (tmp_path / "ruff.toml").write_text("[lint]\nselect = ['F401']\n")
    files = await list_files(program, tmp_path, clean_environment())
    assert {Path(file).name for file in files if file.endswith(".py")} == {"a.py", "b.py"}
    python = [file for file in files if file.endswith(".py")]
    assert len(await check_files(program, tmp_path, python, clean_environment())) == 2
    assert not (tmp_path / ".ruff_cache").exists()


@pytest.mark.asyncio
async def test_a_wrong_configuration_is_said(tmp_path: Path) -> None:
    program = str(own_program("ruff"))
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "ruff.toml").write_text("[lint]\nselect = ['NOSUCH999']\n")
    with pytest.raises(RuffFailedError, match="NOSUCH999"):
        await check_files(program, tmp_path, [str(tmp_path / "a.py")], clean_environment())
