"""The demo against the server that it is about: every part of it real, on a small project."""

import asyncio
from pathlib import Path

import pytest

from headway.demo import project
from headway.demo.command import SERVER
from headway.demo.run import Plan, run
from headway.demo.screen import Scene
from headway.demo.sources import Sources
from headway.demo.statements import choose
from headway.demo.typist import Pace, When


@pytest.mark.slow
def test_the_real_server_indexes_lists_and_ends(shop: Path, tmp_path: Path) -> None:
    """What must hold on a busy machine, too; the demo itself asks for more."""
    root = tmp_path / "copy"
    count = project.copy(shop, root)
    chosen = choose(Sources(root), 8, seed=1)
    pace = Pace(key_s=0.06, pause_s=0.0, patience_s=20.0, start_s=0.0)
    plan = Plan(
        project="shop",
        root=root,
        scratch=tmp_path,
        sources=count,
        server=SERVER,
        during=chosen[:4],
        idle=chosen[4:],
        pace=pace,
    )
    scenes: list[Scene] = []
    report = asyncio.run(run(plan, scenes.append))
    assert (report.files, report.exit_code) == (count, 0)
    assert report.index_s is not None
    assert report.symbols >= 8
    assert sum(part.keys for part in report.by_when.values()) > 50
    assert all(part.unserved == part.failed == 0 for part in report.by_when.values())
    idle = report.by_when[When.IDLE]
    assert idle.found * 2 > idle.due > 0
    assert any(scene.sight and scene.sight.hit for scene in scenes)
