"""The soak's own judgement: it must see a leak, a lost task and work done twice."""

from dataclasses import replace

import pytest

from tests.soak.census import Census, leaks
from tests.soak.ledger import Ledger

QUIET = Census(server_rss_mb=100, server_fds=50, server_threads=6, family_rss_mb=400, family_processes=12, zombies=0)


@pytest.mark.parametrize(
    ("after", "word"),
    [
        (replace(QUIET, server_rss_mb=140), "server memory"),
        (replace(QUIET, family_rss_mb=600), "family memory"),
        (replace(QUIET, server_fds=80), "descriptors"),
        (replace(QUIET, server_threads=20), "threads"),
        (replace(QUIET, family_processes=30), "processes"),
        (replace(QUIET, zombies=1), "zombies"),
    ],
)
def test_growth_is_a_leak(after: Census, word: str) -> None:
    (found,) = leaks(QUIET, after)
    assert word in found


def test_a_little_unevenness_is_none() -> None:
    assert leaks(QUIET, replace(QUIET, server_rss_mb=120, server_fds=55, family_rss_mb=450)) == []
    assert leaks(QUIET, replace(QUIET, server_rss_mb=20, server_fds=5)) == []


def test_a_job_whose_tasks_all_ended_once_is_in_order() -> None:
    ledger = Ledger()
    tasks = {"a": {"state": "COMPLETED"}, "b": {"state": "SKIPPED"}}
    ledger.job(["a", "b"], {"state": "COMPLETED", "result": {"order": ["a"], "tasks": tasks}})
    assert ledger.faults() == []
    assert ledger.counts["task COMPLETED"] == 1


def test_lost_doubled_and_open_tasks_are_faults() -> None:
    ledger = Ledger()
    tasks = {"a": {"state": "COMPLETED"}, "b": {"state": "RUNNING"}}
    ledger.job(["a", "b", "c"], {"state": "COMPLETED", "result": {"order": ["a", "a", "b"], "tasks": tasks}})
    assert sorted(fault.split(" (")[0] for fault in ledger.faults()) == [
        "tasks left open",
        "tasks lost",
        "tasks started twice",
    ]


def test_the_table_orders_latencies() -> None:
    ledger = Ledger()
    for milliseconds in range(100, 0, -1):
        ledger.took("answer", milliseconds / 1000)
    assert ledger.table().splitlines()[1].split() == ["answer", "100", "51.0", "96.0", "100.0", "100.0"]
