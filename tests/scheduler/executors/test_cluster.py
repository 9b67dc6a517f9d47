"""BATCH work on a Dask cluster, a real one. The queue stays ours, and a cluster that is lost costs nothing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from headway.scheduler.executors.cluster import ClusterExecutor
from headway.scheduler.executors.inline import InlineExecutor

pytestmark = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="distributed is an extra")
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "name",
    [
        "batch_goes_there_and_the_rest_stays",
        "no_more_is_handed_over_than_there_are_places",
        "failures_and_limits_are_as_everywhere",
        "a_cluster_that_is_away_costs_nothing",
    ],
)
def test_batch_work_on_a_cluster(name: str) -> None:
    program = f"from tests.scheduler.executors import cluster_checks; cluster_checks.main({name!r})"
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert ran.stdout == "kept\n", ran.stderr


def test_a_cluster_without_places_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="at least one place"):
        ClusterExecutor("tcp://127.0.0.1:8786", 0, InlineExecutor())
