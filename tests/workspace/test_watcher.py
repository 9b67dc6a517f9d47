"""Merging of changes on disk."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.workspace.watcher import Changes


def test_nothing_has_changed_at_first() -> None:
    changes = Changes()
    assert not changes
    assert changes.due_at_s() is None
    assert changes.take(1.0) == ()


def test_a_burst_is_looked_at_when_it_is_quiet() -> None:
    changes = Changes(quiet_s=0.2, max_wait_s=1.0)
    changes.add(["a"], 10.0)
    changes.add(["b", "a", "c", "d"], 10.1)
    assert changes.due_at_s() == 10.1 + 0.2
    assert changes.take(10.3) == ("a", "b", "c", "d")
    assert not changes


def test_a_single_save_is_looked_at_sooner_than_a_burst_and_a_whole_folder() -> None:
    changes = Changes(few_quiet_s=0.05, quiet_s=0.2, max_wait_s=1.0)
    changes.add(["a", "a~"], 10.0)
    assert changes.due_at_s() == 10.0 + 0.05
    changes.add(["b", "c"], 10.04)  # It was the beginning of more.
    assert changes.due_at_s() == 10.04 + 0.2
    changes.take(10.3)
    changes.add([""], 11.0)
    assert changes.due_at_s() == 11.0 + 0.2


def test_what_changes_all_the_time_is_looked_at_no_more_often_than_a_burst() -> None:
    """A log that is written to every tenth of a second costs one look a second, not ten."""
    changes = Changes(few_quiet_s=0.05, quiet_s=0.2, max_wait_s=1.0)
    looks = 0
    for tenth in range(100):
        due_at_s = changes.due_at_s()
        if due_at_s is not None and due_at_s <= tenth / 10:
            changes.take(due_at_s)
            looks += 1
        changes.add(["app.log"], tenth / 10)
    assert 8 <= looks <= 11


@given(gaps=st.lists(st.floats(0, 0.19), min_size=1, max_size=50))
def test_endless_changes_are_looked_at_all_the_same(gaps: list[float]) -> None:
    changes = Changes(quiet_s=0.2, max_wait_s=1.0)
    now_s = 5.0
    for gap in gaps:
        now_s += gap
        changes.add(["a"], now_s)
    due_at_s = changes.due_at_s()
    assert due_at_s is not None
    assert due_at_s <= 5.0 + gaps[0] + 1.0
