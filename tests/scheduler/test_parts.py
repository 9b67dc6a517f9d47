"""The pure parts by themselves: queue, quota, limits, backoff, budgets, breakers, shares, graphs."""

from __future__ import annotations

import heapq
import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.scheduler.config import SchedulerConfig, reserve
from headway.scheduler.credit import BatchCredit
from headway.scheduler.errors import CycleError, QueueFullError, StepError
from headway.scheduler.executors.base import Gpu, StepContextData, StepRun, Totals, priority_of, role_of
from headway.scheduler.graph import checked_order, inherited
from headway.scheduler.model import (
    ErrorKind,
    Failure,
    Jitter,
    Priority,
    Requirement,
    RetryPolicy,
    StepKind,
    Task,
    TimeoutPolicy,
)
from headway.scheduler.queues import Entry, LevelQueue
from headway.scheduler.resources import CPU, GPU_MEMORY, GPUS, MEMORY, Quota, Shape, Shapes, Slots
from headway.scheduler.retry import Breaker, RetryBudget, backoff_s, classify, delay_s, kind_of, may_retry
from headway.scheduler.standback import hysteresis
from headway.scheduler.strategies import BEHIND_HIGH, DEFAULT, FairShares, risen_rank
from headway.scheduler.timeouts import Limit, Timers, next_due
from tests.scheduler.world import task

POLICY = RetryPolicy()


# ---- the queue ---------------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.sampled_from(["push", "pop", "remove", "move"]), st.integers(0, 4), st.integers(0, 50)),
        max_size=120,
    )
)
def test_the_queue_is_a_sorted_list_by_level_and_arrival(moves: list[tuple[str, int, int]]) -> None:
    """Against the simplest queue that could be right."""
    queue: LevelQueue[int] = LevelQueue()
    plain: list[tuple[int, int, int]] = []
    entries: dict[int, Entry[int]] = {}
    for arrival, (move, level, which) in enumerate(moves):
        if move == "push":
            entries[arrival] = queue.push(arrival, level, 0.0, key=which % 3)
            plain.append((level, entries[arrival].order, arrival))
        elif not plain:
            assert queue.pop() is None
            assert queue.peek() is None
        elif move == "pop":
            expected = min(plain)
            plain.remove(expected)
            del entries[expected[2]]
            assert queue.pop() == expected[2]
        else:
            chosen = plain[which % len(plain)]
            plain.remove(chosen)
            old = entries[chosen[2]]
            if move == "remove":
                assert queue.remove(entries.pop(chosen[2]))
            else:
                entries[chosen[2]] = queue.move(old, level)
                plain.append((level, chosen[1], chosen[2]))
            assert not queue.remove(old), "a dead entry stays dead"
        assert len(queue) == len(plain)
        assert [queue.by_level(found) for found in range(5)] == [
            [item for at, _, item in sorted(plain) if at == found] for found in range(5)
        ]
        assert queue.statistics().waiting == tuple(sum(at == found for at, _, _ in plain) for found in range(5))


def test_the_queue_has_a_bound_and_says_so() -> None:
    queue: LevelQueue[str] = LevelQueue(capacity=3)
    queue.extend(["a", "b"], 1, 5.0)
    with pytest.raises(QueueFullError, match="2 of at most 3"):
        queue.extend(["c", "d"], 1, 5.0)
    queue.push("c", 0, 4.0)
    with pytest.raises(QueueFullError):
        queue.push("d", 0, 5.0)
    assert [queue.pop() for _ in range(4)] == ["c", "a", "b", None]


def test_the_oldest_wait_is_known() -> None:
    queue: LevelQueue[str] = LevelQueue()
    assert queue.statistics().oldest_since_s is None
    queue.push("a", 4, 7.0)
    queue.push("b", 0, 9.0)
    assert queue.statistics().oldest_since_s == 7.0


def test_dead_entries_do_not_pile_up() -> None:
    """Of ten thousand that came and went behind one that stays, few are still there."""
    queue: LevelQueue[int] = LevelQueue()
    queue.push(-1, 2, 0.0)
    for item in range(10_000):
        queue.remove(queue.push(item, 2, 0.0))
    [line] = queue.lines()
    assert len(line.row) + len(line.heap) < 200


def test_what_does_not_wait_cannot_be_moved() -> None:
    queue: LevelQueue[str] = LevelQueue()
    entry = queue.push("a", 1, 0.0)
    queue.remove(entry)
    with pytest.raises(ValueError, match="does not wait"):
        queue.move(entry, 2)


# ---- quotas ------------------------------------------------------------------------------------------------------

AMOUNTS = st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.5, 2.0]), st.sampled_from([0.0, 1.0, 300.0, 900.0]))


@given(st.lists(st.tuples(AMOUNTS, st.booleans(), st.integers(0, 9)), max_size=60))
def test_quotas_are_kept_and_come_back(wishes: list[tuple[tuple[float, float], bool, int]]) -> None:
    """Whatever is taken and given back, the total and the reserve hold, and in the end nothing is held."""
    quota = Quota(Totals(cpu_cores=2, memory_mb=1000), 0.5, 100)
    held = []
    for (cores, memory_mb), critical, which in wishes:
        shape = Shape(cores, memory_mb, 0, 0)
        if not quota.lacking(shape, critical):
            held.append(quota.acquire(shape, critical))
        elif held:
            grant = held.pop(which % len(held))
            assert quota.release(grant)
            assert not quota.release(grant), "given back once"
        view = quota.views()
        assert 0 <= view["cpuCores"].used <= 2
        assert 0 <= view["memoryMb"].used <= 1000
        ordinary = sum(grant.cores for grant in held if not grant.critical)
        assert ordinary <= 1_500_000
    for grant in held:
        quota.release(grant)
    assert {view.used for view in quota.views().values()} == {0}


def test_critical_takes_fewer_cores_than_it_asks_for_rather_than_wait() -> None:
    quota = Quota(Totals(cpu_cores=2, memory_mb=1000), 0.5, 100)
    quota.acquire(Shape(1.5, 1, 0, 0), critical=False)
    whole_core = Shape(1.0, 1, 0, 0)
    assert quota.lacking(whole_core, critical=True) == 0
    assert quota.acquire(whole_core, critical=True).cores == 500_000
    assert quota.lacking(whole_core, critical=True) == CPU
    assert quota.lacking(Shape(0.0, 899, 0, 0), critical=False) == 0
    assert quota.lacking(Shape(0.0, 900, 0, 0), critical=False) == MEMORY


def test_devices_are_given_whole_or_shared() -> None:
    gpus = (Gpu(index=0, uuid="a", total_mb=8000), Gpu(index=1, uuid="b", total_mb=4000))
    quota = Quota(Totals(cpu_cores=2, memory_mb=1000, gpus=gpus))
    shared = quota.acquire(Shape(0, 0, 0, 3000), critical=False)
    assert shared.device_indices == (1,), "the smallest that fits"
    whole = quota.acquire(Shape(0, 0, 1, 0), critical=False)
    assert whole.device_indices == (0,)
    assert quota.lacking(Shape(0, 0, 1, 0), critical=False) == GPUS
    assert quota.lacking(Shape(0, 0, 0, 2000), critical=False) == GPU_MEMORY
    assert quota.lacking(Shape(0, 0, 0, 1000), critical=False) == 0
    view = quota.views()
    assert (view["gpuCount"].used, view["gpuMemoryMb"].used) == (2, 3000)
    quota.release(whole)
    quota.others_hold([(0, 500.0)])
    assert quota.lacking(Shape(0, 0, 0, 2000), critical=False) == GPU_MEMORY, "another program holds the rest"
    quota.resize(Totals(cpu_cores=2, memory_mb=1000, gpus=gpus[1:]), 0.0, 0.0)
    assert quota.impossible(Shape(0, 0, 2, 0), "t", critical=False) is not None
    quota.release(shared)
    assert quota.views()["gpuMemoryMb"].used == 0


def test_slots_are_counted_where_there_are_any() -> None:
    slots = Slots((1, 0))
    assert slots.free(-1)
    assert slots.possible(0)
    assert not slots.possible(1)
    slots.acquire(0)
    slots.acquire(-1)
    assert not slots.free(0)
    slots.release(-1)
    slots.release(0)
    assert slots.free(0)


def test_shapes_are_shared_and_forgotten_in_time() -> None:
    shapes = Shapes()
    assert shapes.find(Requirement()) is None
    assert shapes.add(Requirement()) is shapes.find(Requirement())
    for n in range(5000):
        shapes.add(Requirement(memory_mb=n))
    assert len(shapes._known) < 5000


@pytest.mark.parametrize(("cores", "kept"), [(1, 0.25), (0.4, 0.2), (2, 0.5), (4, 1.0), (64, 1.0)])
def test_what_is_kept_for_critical_work(cores: float, kept: float) -> None:
    assert reserve(SchedulerConfig(), Totals(cpu_cores=cores, memory_mb=1000)) == (kept, 100)


def test_the_reserve_can_be_set() -> None:
    config = SchedulerConfig(reserved_cpu_cores=0.1, reserved_memory_mb=7)
    assert reserve(config, Totals(cpu_cores=2, memory_mb=1000)) == (0.1, 7)


def test_marks_do_not_flap() -> None:
    pressed, seen = False, []
    for value in (0.5, 0.89, 0.9, 0.8, 0.71, 0.7, 0.8, None):
        pressed = hysteresis(pressed, value, 0.7, 0.9)
        seen.append(pressed)
    assert seen == [False, False, True, True, True, False, False, False]


def test_nonsense_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="low mark"):
        SchedulerConfig(cpu_low=0.9, cpu_high=0.5)
    with pytest.raises(ValueError, match="queue_capacity"):
        SchedulerConfig(queue_capacity=0)


# ---- time --------------------------------------------------------------------------------------------------------


def test_appointments_that_fall_together_come_in_the_order_in_which_they_were_made() -> None:
    timers: Timers[str] = Timers()
    for name in ("first", "second", "third"):
        timers.set(5.0, name)
    assert timers.pop_due(4.9) is None
    assert [timers.pop_due(5.0) for _ in range(4)] == ["first", "second", "third", None]
    assert timers.soonest_s == float("inf")


def test_void_appointments_do_not_pile_up_and_hide_none_that_stand() -> None:
    timers: Timers[int] = Timers()
    for number in range(300):
        timers.set(float(number), number)
    void = [timers.set(1000.0 + number, -number) for number in range(10_000)]
    most = 0
    for timer in void:
        timers.cancel(timer)
        timers.cancel(timer)  # once is enough
        most = max(most, len(timers._heap) - len(timers))
    assert len(timers) == 300
    assert len(timers._heap) < 900  # no more void ones than twice those that stand
    assert most > 300  # but they are not cleared away one by one
    assert [timers.pop_due(10_000.0) for _ in range(301)] == [*range(300), None]
    assert len(timers) == 0


def test_the_soonest_appointment_is_known_after_all_before_it_were_voided() -> None:
    timers: Timers[str] = Timers()
    early = timers.set(1.0, "early")
    timers.set(7.0, "late")
    timers.cancel(early)
    assert timers.next_at_s() == timers.soonest_s == 7.0
    assert timers.pop_due(7.0) == "late"
    assert timers.next_at_s() is None
    assert timers.soonest_s == float("inf")


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=700))
def test_timers_fire_in_order_and_only_the_live(wishes: list[tuple[float, bool]]) -> None:
    timers: Timers[int] = Timers()
    expected: list[tuple[float, int]] = []
    for index, (at_s, void) in enumerate(wishes):
        timer = timers.set(at_s, index)
        if void:
            timers.cancel(timer)
            timers.cancel(timer)
        else:
            heapq.heappush(expected, (at_s, index))
        assert timers.soonest_s <= (expected[0][0] if expected else float("inf"))
    assert len(timers) == len(expected)
    fired = []
    while (owner := timers.pop_due(50.0)) is not None:
        fired.append(owner)
    assert fired == [index for at_s, index in sorted(expected) if at_s <= 50.0]
    left = timers.next_at_s()
    assert left is None or left > 50.0


@pytest.mark.parametrize(
    ("policy", "more", "limit", "at_s"),
    [
        (TimeoutPolicy(), {}, Limit.HARD, 310.0 - 4.0),
        (TimeoutPolicy(hard_s=20), {}, Limit.HARD, 26.0),
        (TimeoutPolicy(hard_s=1000), {}, Limit.HARD, 306.0),
        (TimeoutPolicy(soft_s=8, hard_s=20), {}, Limit.SOFT, 14.0),
        (TimeoutPolicy(soft_s=8, hard_s=20), {"soft_fired": True}, Limit.HARD, 26.0),
        (TimeoutPolicy(soft_s=20, hard_s=20), {}, Limit.HARD, 26.0),
        (TimeoutPolicy(hard_s=20), {"step_timeout_s": 3.0}, Limit.STEP, 13.0),
        (TimeoutPolicy(hard_s=20), {"deadline_at_s": 12.0}, Limit.DEADLINE, 12.0),
        (TimeoutPolicy(hard_s=20, heartbeat_s=2), {"beat_at_s": 11.0}, Limit.HEARTBEAT, 13.0),
    ],
)
def test_the_limit_that_comes_first(policy: TimeoutPolicy, more: dict[str, object], limit: Limit, at_s: float) -> None:
    """A step that began at 10 s, of an attempt that has run for 4 s before."""
    given_ = {"soft_fired": False, "step_timeout_s": None, "beat_at_s": 10.0, "deadline_at_s": None, **more}
    due = next_due(policy, Requirement(), began_at_s=10.0, ran_s=4.0, **given_)  # type: ignore[arg-type]
    assert (due.limit, due.at_s) == (limit, at_s)


# ---- retries -----------------------------------------------------------------------------------------------------


@given(
    attempt=st.integers(1, 10_000),
    draw=st.floats(0, 1, exclude_max=True),
    jitter=st.sampled_from(list(Jitter)),
)
def test_backoff_is_capped(attempt: int, draw: float, jitter: Jitter) -> None:
    """However long the failing streak, the wait is finite and capped."""
    policy = RetryPolicy(jitter=jitter)
    assert 0 <= backoff_s(attempt, policy, draw) <= policy.cap_s


@pytest.mark.parametrize(("attempt", "draw", "delay"), [(1, 0.5, 1.0), (2, 0.5, 2.0), (3, 0.0, 3.6), (3, 1.0, 4.4)])
def test_backoff_doubles_within_a_tenth(attempt: int, draw: float, delay: float) -> None:
    assert backoff_s(attempt, POLICY, draw) == pytest.approx(delay)


def test_backoff_needs_a_failure() -> None:
    with pytest.raises(ValueError, match="below 1"):
        backoff_s(0, POLICY, 0.5)


@pytest.mark.parametrize(
    ("kind", "retry_after_s", "delay"),
    [
        (ErrorKind.NETWORK, None, 1.0),
        (ErrorKind.RATE_LIMITED, None, 2.0),
        (ErrorKind.RESOURCE_BUSY, None, 2.0),
        (ErrorKind.RATE_LIMITED, 7.0, 7.0),
        (ErrorKind.NETWORK, 100.0, 100.0),
    ],
)
def test_who_asks_for_patience_gets_it(kind: ErrorKind, retry_after_s: float | None, delay: float) -> None:
    failure = Failure(kind=kind, message="", retry_after_s=retry_after_s)
    assert delay_s(failure, 1, POLICY, 1.0, 0.5) == pytest.approx(delay)


NEVER = [
    ErrorKind.INVALID_INPUT,
    ErrorKind.AUTH_FAILED,
    ErrorKind.PERMISSION_DENIED,
    ErrorKind.NOT_FOUND,
    ErrorKind.DATA_CORRUPTION,
    ErrorKind.SUPERSEDED,
    ErrorKind.OVERLOADED,
    ErrorKind.CANCELLED,
    ErrorKind.SKIPPED,
]


@pytest.mark.parametrize("kind", list(ErrorKind))
@pytest.mark.parametrize("given_", [None, 0, 2])
def test_which_kinds_are_tried_again(kind: ErrorKind, given_: int | None) -> None:
    failure = Failure(kind=kind, message="")
    defaults = SchedulerConfig().retries[Priority.NORMAL]
    expected = kind not in NEVER and given_ != 0 and (kind is not ErrorKind.UNKNOWN or given_ is not None)
    assert may_retry(failure, 1, RetryPolicy(max_retries=given_), defaults) is expected


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), ErrorKind.TIMEOUT),
        (ConnectionResetError(), ErrorKind.NETWORK),
        (BrokenPipeError(), ErrorKind.NETWORK),
        (FileNotFoundError(), ErrorKind.NOT_FOUND),
        (PermissionError(), ErrorKind.PERMISSION_DENIED),
        (MemoryError(), ErrorKind.OUT_OF_MEMORY),
        (OSError(24, "too many open files"), ErrorKind.RESOURCE_BUSY),
        (OSError("?"), ErrorKind.UNKNOWN),
        (UnicodeDecodeError("utf-8", b"", 0, 1, ""), ErrorKind.DATA_CORRUPTION),
        (KeyError("x"), ErrorKind.UNKNOWN),
        (StepError(ErrorKind.AUTH_FAILED, "who?"), ErrorKind.AUTH_FAILED),
    ],
)
def test_errors_have_kinds(error: BaseException, kind: ErrorKind) -> None:
    assert kind_of(error) is kind


def test_the_table_can_be_extended() -> None:
    class QuotaError(Exception):
        pass

    assert kind_of(QuotaError()) is ErrorKind.UNKNOWN
    classify(QuotaError, ErrorKind.RATE_LIMITED)
    assert kind_of(QuotaError()) is ErrorKind.RATE_LIMITED


@given(st.lists(st.booleans(), max_size=400))
def test_a_budget_is_never_overdrawn(moves: list[bool]) -> None:
    budget = RetryBudget(0.1, 3)
    requests = spent = 0
    for asks in moves:
        if asks:
            budget.request()
            requests += 1
        elif budget.spend():
            spent += 1
        assert spent <= requests * 0.1 + 3 + 1e-6


def test_a_breaker_opens_probes_and_closes() -> None:
    breaker = Breaker(3, 10.0)
    for at_s in (1.0, 2.0):
        breaker.failed(at_s)
    assert breaker.wait_s(2.0) == 0
    breaker.failed(3.0)
    assert breaker.wait_s(3.0) == 10.0
    assert breaker.wait_s(13.0) == 0
    breaker.sent()
    assert breaker.wait_s(13.0) == 10.0, "one try at a time"
    breaker.failed(14.0)
    assert breaker.wait_s(14.0) == 10.0
    breaker.sent()
    breaker.given_up()
    assert breaker.wait_s(24.0) == 0, "who was cancelled tells nothing"
    breaker.sent()
    breaker.succeeded()
    assert breaker.wait_s(24.0) == 0
    assert not breaker.is_open


# ---- shares and ranks --------------------------------------------------------------------------------------------


def test_a_new_job_starts_at_the_present() -> None:
    """It neither waits behind a backlog nor claims the past."""
    shares = FairShares()
    finish, tags = 0.0, []
    for _ in range(5):
        tags.append(shares.tag(finish))
        finish = tags[-1] + 1.0
    shares.started(tags[2])
    assert shares.tag(0.0) == tags[2]
    assert shares.tag(finish) == 5.0


@pytest.mark.parametrize(
    ("level", "waited_s", "rank"),
    [(4, 4.9, 4.0), (4, 5.0, 3.0), (4, 11.0, 2.0), (4, 1e9, BEHIND_HIGH), (2, 6.0, BEHIND_HIGH), (1, 1e9, 1.0)],
)
def test_waiting_brings_work_forward_but_not_before_a_person(level: int, waited_s: float, rank: float) -> None:
    assert risen_rank(DEFAULT.disciplines[level], waited_s, 5.0) == rank


def test_a_claim_is_saved_up_and_spent() -> None:
    credit = BatchCredit(SchedulerConfig(batch_share=0.1, batch_due_s=0.05, batch_credit_cap_s=0.2))
    credit.update(0.0, waits=True)
    assert credit.due_at_s() == pytest.approx(0.5)
    due = []
    for at_s in (0.0, 0.49, 0.5):
        credit.update(at_s, waits=True)
        due.append(credit.is_due)
    credit.running += 1
    due.append(credit.is_due)
    assert due == [False, False, True, False], "one claim at a time"
    credit.charge(0.15)
    assert credit.saved_s == pytest.approx(-0.1)
    credit.update(100.0, waits=True)
    assert credit.saved_s == pytest.approx(0.2), "saved up to the cap"
    credit.update(200.0, waits=False)
    credit.charge(0.1)
    credit.update(300.0, waits=False)
    assert credit.saved_s == pytest.approx(0.1), "who does not wait saves nothing"


# ---- graphs ------------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 30), max_size=3), max_size=30))
def test_orders_are_topological_or_a_circle_is_named(edges: list[list[int]]) -> None:
    count = len(edges)
    tasks = [task(f"t{n}", after={f"t{found % count}" for found in deps}) for n, deps in enumerate(edges)]
    try:
        order = checked_order(tasks)
    except CycleError as error:
        by_name = {found.name: found for found in tasks}
        circle = [*error.tasks, error.tasks[0]]
        assert all(after in by_name[before].depends_on for before, after in itertools.pairwise(circle))
        return
    place = {tasks[index].name: at for at, index in enumerate(order)}
    assert sorted(order) == list(range(count))
    assert all(place[name] < place[found.name] for found in tasks for name in found.depends_on)


def test_who_waits_lends_its_urgency() -> None:
    tasks: list[Task] = [
        task("a", priority=Priority.BATCH),
        task("b", after=("a",)),
        task("c", after=("b",), priority=Priority.HIGH),
        task("d", priority=Priority.LOW),
    ]
    order = checked_order(tasks)
    assert inherited(tasks, order, Priority.NORMAL) == [Priority.HIGH, Priority.HIGH, Priority.HIGH, Priority.LOW]


# ---- what executors are given ------------------------------------------------------------------------------------


def test_roles_and_priorities() -> None:
    assert [role_of(priority) for priority in Priority] == [
        "critical",
        "standard",
        "standard",
        "background",
        "background",
    ]
    assert [priority_of(role) for role in ("critical", "standard", "background")] == [0, 1, 3]


def test_a_context_travels_and_is_made_once() -> None:
    data = StepContextData(
        job_id="j", task_id="j.0", task_name="t", step_name="s", attempt=2, results={"a": 1}, devices=(1,)
    )
    assert pickle.loads(pickle.dumps(data)) == data
    made: list[int] = []

    class Late(StepRun):
        def context_data(self) -> StepContextData:
            made.append(1)
            return data

    run = Late(1, print, (), {}, StepKind.ASYNC, Priority.HIGH, None, "s", None)
    assert run.context is run.context is data
    assert made == [1]
