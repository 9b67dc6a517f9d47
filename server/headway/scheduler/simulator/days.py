"""Days of work in an IDE, from a seed: bursts of typing, look-ups, saves, tests, branches, an index that never ends.

Costs are log-normal around what was measured for the engines in question; gaps are exponential, so that things
coincide as they do in life. Background work grows with the machine, as the code bases on large machines are large.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from headway.scheduler.config import SchedulerConfig, reserve
from headway.scheduler.executors.base import Totals
from headway.scheduler.model import ErrorKind, Priority, StepKind, Task
from headway.scheduler.simulator.work import Fate, Request, Shape, request, task

HOUR_S = 3600.0
_QUICK = Shape(cores=0.25, kind=StepKind.ASYNC)
_LOOK_UP = Shape(cores=0.25)
_CHECK = Shape(cores=0.5)
_TEST = Shape(cores=0.5, memory_mb=128.0)
_BULK = Shape(cores=0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How a person works: times in seconds, rates an hour."""

    burst_gap_s: float = 25.0
    keys: tuple[int, int] = (3, 25)
    key_gap_s: tuple[float, float] = (0.12, 0.35)
    look_ups: float = 120.0
    searches: float = 60.0
    test_runs: float = 8.0
    first_index: int = 3_000  # units of work, as are the next two; on two cores
    branches: float = 3.0
    branch: tuple[int, int] = (150, 3_000)
    analyses: float = 2.0
    analysis: tuple[int, int] = (1_000, 3_000)
    flaky: float = 0.03  # share of look-ups, checks and tests whose first attempt fails for a passing reason
    hopeless: float = 0.0004  # share that fails each time
    hanging: float = 0.002  # share that runs into its hard limit


def day(seed: int, cores: float, hours: float = 8.0, rhythm: Rhythm = Rhythm()) -> list[Request]:
    """Return the requests of a day, in order of time."""
    made: list[Request] = []
    sources = (_typing, _looking_up, _testing, _bulk)
    for number, source in enumerate(sources):
        made += source(random.Random(seed * 1000 + number), cores, hours * HOUR_S, rhythm)
    made.sort(key=lambda found: found.at_s)
    return made


def overload(seed: int, cores: float, seconds: float = 60.0) -> list[Request]:
    """Return three times the load that the machine can carry: half of it HIGH, the rest below, BATCH without end."""
    draw = random.Random(seed)
    made = [_endless(draw, seconds, cores)]
    for priority, shape, mean_s, share in (
        (Priority.CRITICAL, _QUICK, 0.015, 0.05),
        (Priority.HIGH, _CHECK, 0.10, 0.45),
        (Priority.NORMAL, _CHECK, 0.25, 1.5),
        (Priority.LOW, _TEST, 1.0, 1.0),
    ):
        made += _stream(draw, priority, shape, mean_s, share * cores, seconds)
    made.sort(key=lambda found: found.at_s)
    return made


def flood(seed: int, cores: float, seconds: float = 60.0, times: float = 3.0) -> list[Request]:
    """Return HIGH work for `times` the cores that ordinary work may use, and a little CRITICAL work."""
    draw = random.Random(seed)
    room = cores - reserve(SchedulerConfig(), Totals(cpu_cores=cores, memory_mb=8192.0))[0]
    whole = max(1, int(room / _CHECK.cores)) * _CHECK.cores  # as many of them as fit beside each other
    made = list(_stream(draw, Priority.CRITICAL, _QUICK, 0.015, 0.05 * cores, seconds))
    made += _stream(draw, Priority.HIGH, _CHECK, 0.10, times * whole, seconds)
    made.sort(key=lambda found: found.at_s)
    return made


def siege(seed: int, cores: float, seconds: float = 60.0) -> list[Request]:
    """Return CRITICAL and HIGH work without end, more than the machine can carry, while BATCH work waits."""
    draw = random.Random(seed)
    made = [_endless(draw, seconds, cores)]
    made += _stream(draw, Priority.CRITICAL, _QUICK, 0.015, 0.15 * cores, seconds)
    made += _stream(draw, Priority.HIGH, _CHECK, 0.20, 1.3 * cores, seconds)
    made.sort(key=lambda found: found.at_s)
    return made


def _endless(draw: random.Random, seconds: float, cores: float) -> Request:
    """BATCH work of which there is more than could ever be done in the time."""
    units = _units(draw, "endless", int(seconds / 0.12 * cores / _BULK.cores) + 100)
    return request(0.0, Priority.BATCH, units, type_="index", window=64)


def _stream(
    draw: random.Random, priority: Priority, shape: Shape, mean_s: float, cores: float, seconds: float
) -> Iterator[Request]:
    """Tasks at random that use up `cores` on average."""
    at_s, number, gap_s = 0.0, 0, mean_s * shape.cores / cores
    while (at_s := at_s + draw.expovariate(1 / gap_s)) < seconds:
        number += 1
        fate = Fate(draw.uniform(0.5, 1.5) * mean_s)
        yield request(at_s, priority, [task(f"{priority.name} {number}", [fate], shape)], type_="stream")


def _typing(draw: random.Random, cores: float, seconds: float, rhythm: Rhythm) -> Iterator[Request]:
    """Completions for each key, checks after each burst, and saves."""
    at_s, number = 1.0, 0
    while (at_s := at_s + draw.expovariate(1 / rhythm.burst_gap_s)) < seconds:
        document = f"document {draw.randrange(40)}"
        for _ in range(draw.randint(*rhythm.keys)):
            at_s += draw.uniform(*rhythm.key_gap_s)
            number += 1
            completion = task(f"completion {number}", [Fate(_lognormal(draw, 0.012, 0.5, most=0.15))], _QUICK)
            yield request(
                at_s, Priority.CRITICAL, [completion], type_="completion", supersede_key=("completion", document)
            )
            if draw.random() < 0.08:
                signature = task(f"signature {number}", [Fate(_lognormal(draw, 0.006, 0.4))], _QUICK)
                yield request(at_s + 0.01, Priority.CRITICAL, [signature], type_="signature")
        check = task(
            f"check {number}", _fates(draw, rhythm, [_lognormal(draw, 0.12, 0.6) for _ in range(2)]), _CHECK, hard_s=8.0
        )
        key = ("check", document)
        yield request(at_s + 0.15, Priority.NORMAL, [check], type_="diagnostics", supersede_key=key)
        if draw.random() < 0.4:
            again = task(f"index {document} {number}", [Fate(_lognormal(draw, 0.02, 0.4))], _BULK)
            yield request(at_s + 0.5, Priority.BATCH, [again], type_="index")


def _looking_up(draw: random.Random, cores: float, seconds: float, rhythm: Rhythm) -> Iterator[Request]:
    """Definitions and references in one step, searches in two; now and then an endpoint does not answer at first."""
    for kind, rate, costs_s in (("look-up", rhythm.look_ups, (0.05,)), ("search", rhythm.searches, (0.03, 0.10))):
        at_s, number = 0.0, 0
        while (at_s := at_s + draw.expovariate(rate / HOUR_S)) < seconds:
            number += 1
            fates = _fates(draw, rhythm, [_lognormal(draw, cost_s, 0.6) for cost_s in costs_s])
            yield request(at_s, Priority.HIGH, [task(f"{kind} {number}", fates, _LOOK_UP, hard_s=5.0)], type_=kind)


def _testing(draw: random.Random, cores: float, seconds: float, rhythm: Rhythm) -> Iterator[Request]:
    """Test runs: as many parts at once as the machine can take, up to eight, in steps of a few hundred milliseconds."""
    at_s, number = 0.0, 0
    while (at_s := at_s + draw.expovariate(rhythm.test_runs / HOUR_S)) < seconds:
        number += 1
        parts = []
        for part in range(min(8, max(1, math.ceil(cores / 2)))):
            length_s = _lognormal(draw, 15.0, 0.8, most=120.0)
            costs_s = [draw.uniform(0.1, 0.3) for _ in range(max(1, int(length_s / 0.2)))]
            parts.append(task(f"test {number}.{part}", _fates(draw, rhythm, costs_s), _TEST))
        yield request(at_s, Priority.LOW, parts, type_="tests")


def _bulk(draw: random.Random, cores: float, seconds: float, rhythm: Rhythm) -> Iterator[Request]:
    """The first index, branches that change many files, and analyses of the whole workspace."""
    scale = min(4.0, max(1.0, cores / 2))
    first = _units(draw, "first index", int(rhythm.first_index * scale))
    yield request(2.0, Priority.BATCH, first, type_="index", window=64)
    for kind, rate, (least, most) in (
        ("branch", rhythm.branches, rhythm.branch),
        ("analysis", rhythm.analyses, rhythm.analysis),
    ):
        at_s, number = 0.0, 0
        while (at_s := at_s + draw.expovariate(rate / HOUR_S)) < seconds:
            number += 1
            units = _units(draw, f"{kind} {number}", int(draw.randint(least, most) * scale))
            yield request(at_s, Priority.BATCH, units, type_=kind, window=64)


def _units(draw: random.Random, name: str, count: int) -> list[Task]:
    """Return tasks of one step each, about one quantum of BATCH long: ten files or so."""
    return [task(f"{name} unit {i}", [Fate(draw.uniform(0.12, 0.2))], _BULK) for i in range(count)]


def _fates(draw: random.Random, rhythm: Rhythm, costs_s: list[float]) -> list[Fate]:
    """Let a few fail at first, fewer fail always, and some hang in their first step."""
    fates = [Fate(cost_s) for cost_s in costs_s]
    lot = draw.random()
    if lot < rhythm.hopeless:
        fates[0] = Fate(costs_s[0], fails=100)
    elif lot < rhythm.hopeless + rhythm.hanging:
        fates[0] = Fate(600.0)
    elif lot < rhythm.hopeless + rhythm.hanging + rhythm.flaky:
        fates[0] = Fate(costs_s[0], fails=1, kind=ErrorKind.SERVICE_UNAVAILABLE)
    return fates


def _lognormal(draw: random.Random, median: float, sigma: float, most: float = math.inf) -> float:
    return min(most, median * math.exp(draw.gauss(0.0, sigma)))
