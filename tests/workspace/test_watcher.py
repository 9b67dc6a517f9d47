"""Merging of changes on disk."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.workspace.watcher import Changes


def test_nothing_has_changed_at_first() -> None:
    changes = Changes()
    assert not changes
    assert changes.due_at_s() is None
    assert changes.take() == ()


def test_a_burst_is_looked_at_when_it_is_quiet() -> None:
    changes = Changes(quiet_s=0.2, max_wait_s=1.0)
    changes.add(["a"], 10.0)
    changes.add(["b", "a"], 10.1)
    assert changes.due_at_s() == 10.1 + 0.2
    assert changes.take() == ("a", "b")
    assert not changes


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
