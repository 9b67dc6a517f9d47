"""How fast an endpoint is asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headway.session.pace import Pace


def test_it_asks_more_at_once_while_that_helps() -> None:
    pace = Pace(4)
    assert pace.limit == 1
    for _ in range(20):
        pace.succeeded(10, 1.0)
    assert pace.limit == 4


def test_an_endpoint_that_does_one_thing_at_a_time_is_not_asked_many() -> None:
    pace = Pace(8)
    widest = 0
    for _ in range(50):
        pace.succeeded(10, 1.0 * pace.limit)  # each request takes as long as all that are on their way
        widest = max(widest, pace.limit)
    assert widest <= 2


def test_too_busy_halves_and_waits_as_long_as_was_asked_for() -> None:
    pace = Pace(8)
    for _ in range(60):
        pace.succeeded(1, 0.1)
    pace.overloaded(100.0, 30.0, 0.0)
    assert (pace.limit, pace.wait_s(100.0)) == (4, 30.0)
    assert pace.wait_s(131.0) == 0.0


def test_waits_grow_and_what_fails_together_is_one_failure() -> None:
    pace = Pace(4)
    now_s, waits = 0.0, []
    for _ in range(12):
        for _ in range(3):
            pace.unavailable(now_s, 1.0)
        waits.append(pace.wait_s(now_s))
        now_s += waits[-1]
    assert waits[:4] == [1.0, 2.0, 4.0, 8.0]
    assert waits[-1] == 300.0
    pace.succeeded(1, 0.1)
    pace.unavailable(now_s, 1.0)
    assert pace.wait_s(now_s) == 1.0


@given(st.lists(st.tuples(st.integers(1, 64), st.floats(1e-6, 100)), max_size=50), st.integers(1, 64))
def test_size_and_limit_hold(answers: list[tuple[int, float]], most: int) -> None:
    pace = Pace(most)
    for passages, took_s in answers:
        pace.succeeded(passages, took_s)
        assert 1 <= pace.limit <= most
        assert 1 <= pace.size(most) <= most


def test_requests_are_cut_to_about_a_second() -> None:
    pace = Pace(4)
    assert pace.size(16) == 16
    pace.succeeded(16, 8.0)
    assert pace.size(16) == 2
