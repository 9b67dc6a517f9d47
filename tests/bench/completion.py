"""Completion in django while the index is built and when all is quiet, by the real server over its pipes."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from headway.demo import project
from headway.demo.command import SEED, SERVER
from headway.demo.figures import Figures
from headway.demo.run import Plan, run
from headway.demo.sources import Sources
from headway.demo.statements import choose
from headway.demo.typist import Pace
from tests.bench.frame import Figure

STATEMENTS = 40


def bench() -> Iterator[Figure]:
    """Type forty statements on a fresh copy with a cold cache, half of them while indexing."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-", ignore_cleanup_errors=True) as folder:
        scratch = Path(folder).resolve()
        root = scratch / "django"
        count = project.copy(project.fetch(project.cache_folder()), root)
        chosen = choose(Sources(root), STATEMENTS, SEED)
        plan = Plan(
            project="django",
            root=root,
            scratch=scratch,
            sources=count,
            server=SERVER,
            during=chosen[0::2],
            idle=chosen[1::2],
            pace=Pace(),
        )
        report = asyncio.run(run(plan, lambda scene: None))
    yield Figure(name="initialize", value=report.start_s, unit="s")
    if report.first_list_s is not None:
        yield Figure(name="first list after start", value=report.first_list_s, unit="s")
    if report.index_s is not None:
        yield Figure(name="index of django while typing", value=report.index_s, unit="s")
    for when, part in report.by_when.items():
        yield from _of(when, part)


def _of(when: str, part: Figures) -> Iterator[Figure]:
    for name, value_s in (("p50", part.p50_s), ("p95", part.p95_s)):
        if value_s is not None:
            yield Figure(name=f"completion {when} {name}", value=value_s, unit="s")
    if part.recall is not None:
        yield Figure(name=f"recall {when}", value=part.recall, unit="share", better="higher")
    yield Figure(name=f"keys without a list {when}", value=part.unserved, unit="count")
