"""Room as plain arithmetic: what fits, what is taken, what is kept free, which device, which shape."""

from __future__ import annotations

import pytest

from headway.scheduler.errors import ImpossibleRequirementError
from headway.scheduler.executors.base import Gpu, Totals
from headway.scheduler.model import Requirement
from headway.scheduler.resources import (
    CPU,
    GPU_MEMORY,
    GPUS,
    MEMORY,
    Quota,
    Shape,
    Shapes,
    Slots,
)

TWO_GPUS = (Gpu(index=0, uuid="a", total_mb=8000), Gpu(index=1, uuid="b", total_mb=4000))
MACHINE = Totals(cpu_cores=2, memory_mb=1000)


def shape(cores: float = 0.0, memory_mb: float = 0.0, gpus: int = 0, gpu_memory_mb: float = 0.0) -> Shape:
    return Shape(cores, memory_mb, gpus, gpu_memory_mb)


def quota(reserved: float = 0.5, reserved_mb: float = 100.0, spare: float = 0.0, gpus: tuple[Gpu, ...] = ()) -> Quota:
    return Quota(Totals(cpu_cores=2, memory_mb=1000, gpus=gpus), reserved, reserved_mb, spare)


def hold(found: Quota, cores: float = 0.0, memory_mb: float = 0.0, critical: bool = False) -> None:
    found.acquire(shape(cores, memory_mb), critical)


# ---- shapes


@pytest.mark.parametrize(
    ("amounts", "uses"),
    [
        ((0.0, 0.0, 0, 0.0), 0),
        ((0.1, 0.0, 0, 0.0), CPU),
        ((0.0, 1.0, 0, 0.0), MEMORY),
        ((0.0, 0.0, 1, 0.0), GPUS | GPU_MEMORY),
        ((0.0, 0.0, 0, 1.0), GPUS | GPU_MEMORY),
        ((1.0, 1.0, 1, 1.0), CPU | MEMORY | GPUS | GPU_MEMORY),
    ],
)
def test_a_shape_says_what_it_uses(amounts: tuple[float, float, int, float], uses: int) -> None:
    made = shape(*amounts)
    assert made.uses == uses
    assert made.fits_version == 0


def test_a_shape_gives_its_amounts_back() -> None:
    made = shape(1.5, 300.0, 2, 500.0)
    assert (made.cpu_cores, made.memory_mb, made.gpus, made.gpu_memory) == (1.5, 300.0, 2, 512_000)
    assert (made.cores, made.memory) == (1_500_000, 307_200)


def test_shapes_of_about_the_same_size_are_in_one_class() -> None:
    """Eight classes for each doubling; nothing at all is a class of its own, below the smallest amount."""
    assert shape().size_class == (0, 0, 0, 0)
    assert shape(cores=1e-6).size_class == (1, 0, 0, 0)
    assert shape(memory_mb=1).size_class == (0, 81, 0, 0)  # 1,024 KiB: ten doublings
    assert shape(memory_mb=2).size_class == (0, 89, 0, 0)
    assert shape(memory_mb=1.05).size_class == shape(memory_mb=1).size_class
    assert shape(memory_mb=1.1).size_class == (0, 82, 0, 0)
    assert shape(gpus=2, gpu_memory_mb=1).size_class == (0, 0, 2, 81)


def test_equal_requirements_are_one_shape() -> None:
    shapes = Shapes()
    first, equal, other = Requirement(memory_mb=5), Requirement(memory_mb=5), Requirement(memory_mb=6)
    made = shapes.add(first)
    another = shapes.add(other)
    assert shapes.find(equal) is made
    assert shapes.find(equal) is made, "also the second time, by what was asked for last"
    assert shapes.find(other) is another
    assert shapes.find(first) is made
    unknown = Requirement(memory_mb=7)
    assert shapes.find(unknown) is None
    made = shapes.add(unknown)
    assert shapes.find(unknown) is made


def test_few_shapes_are_kept() -> None:
    shapes = Shapes()
    for n in range(4096):
        shapes.add(Requirement(memory_mb=n))
    assert len(shapes._known) == 4096
    assert shapes.find(Requirement(memory_mb=0)) is not None
    shapes.add(Requirement(memory_mb=5000))
    assert len(shapes._known) == 1


# ---- what fits


@pytest.mark.parametrize(
    ("held", "wanted", "critical", "lack"),
    [
        ((1.0, 0), shape(0.5), False, 0),
        ((1.0, 0), shape(0.6), False, CPU),
        ((0.0, 0), shape(2.0), False, 0),  # more than ordinary work may have: it gets all of that
        ((0.1, 0), shape(2.0), False, CPU),
        ((1.5, 0), shape(0.0), False, 0),
        ((1.5, 0), shape(1.0), True, 0),
        ((0.0, 600), shape(0, 300), False, 0),
        ((0.0, 600), shape(0, 301), False, MEMORY),
        ((0.0, 600), shape(0, 400), True, 0),
        ((0.0, 600), shape(0, 401), True, MEMORY),
        ((1.5, 900), shape(0.1, 1), False, CPU | MEMORY),
        ((0.0, 0), shape(gpus=1), False, GPUS),
        ((0.0, 0), shape(gpu_memory_mb=1), False, GPU_MEMORY),
    ],
)
def test_what_fits_beside_what_is_held(held: tuple[float, float], wanted: Shape, critical: bool, lack: int) -> None:
    found = quota()
    hold(found, *held)
    assert found.lacking(wanted, critical) == lack


def test_critical_work_leaves_less_to_the_rest() -> None:
    """What it takes beyond its reserve, others do not have; what it takes of its reserve costs them nothing."""
    found = quota()
    hold(found, 1.0, 500, critical=True)
    assert found.lacking(shape(1.0, 500), False) == 0
    assert found.lacking(shape(1.1), False) == CPU
    assert found.lacking(shape(0, 501), False) == MEMORY
    assert found.acquire(shape(0.4, 400), False).cores == 400_000
    assert (found.used_cores, found.used_memory) == (1_400_000, 900 * 1024)


@pytest.mark.parametrize(("held", "wanted", "lack"), [(1.87, 0.2, 0), (1.88, 0.2, CPU), (1.88, 0.1, 0), (2.0, 0.0, 0)])
def test_critical_work_is_content_with_a_quarter_of_its_reserve(held: float, wanted: float, lack: int) -> None:
    found = quota()
    hold(found, held, critical=True)
    assert found.lacking(shape(wanted), True) == lack


def test_without_a_reserve_critical_work_needs_something_at_least() -> None:
    found = quota(reserved=0.0)
    hold(found, 2.0)
    assert found.lacking(shape(0.1), True) == CPU
    assert quota(reserved=1e-6).lacking(shape(0.1), True) == 0


@pytest.mark.parametrize(
    ("held", "wanted", "lack", "got"),
    [
        (0.0, 1.0, 0, 1.0),
        (0.0, 1.4, 0, 1.4),
        (0.0, 1.5, 0, 1.4),  # all that there is, less what is left to others
        (1.0, 1.0, 0, 0.4),  # what is left beside another: two fifths of it, and of a core
        (1.01, 1.0, CPU, 0.0),
        (1.0, 1.01, CPU, 0.0),
        (1.0, 0.5, 0, 0.4),  # just room for it: a little less, not less than half
        (1.01, 0.5, CPU, 0.0),  # less than it wants and than two fifths of a core
        (1.2, 0.3, 0, 0.2),
        (1.3, 0.2, 0, 0.1),
        (1.31, 0.2, CPU, 0.0),
        (1.35, 0.1, 0, 0.05),
        (1.36, 0.1, CPU, 0.0),
        (1.5, 0.0, 0, 0.0),
    ],
)
def test_background_work_takes_what_is_left(held: float, wanted: float, lack: int, got: float) -> None:
    found = quota(spare=0.1)
    hold(found, held)
    assert found.lacking(shape(wanted), critical=False, background=True) == lack
    if not lack:
        assert found.acquire(shape(wanted), critical=False, background=True).cpu_cores == pytest.approx(got)


def test_all_together_ask_for_no_more_than_there_is() -> None:
    found = quota(spare=0.1)
    one = found.acquire(shape(1.0), critical=False, background=True)
    together = [found.holds_together]
    other = found.acquire(shape(1.0), critical=False, background=True)
    assert (one.short, other.short, other.cores) == (0, 600_000, 400_000)
    assert found.lacking(shape(0.1), critical=False, background=True) == CPU
    found.release(one)
    together.append(found.holds_together)
    assert found.lacking(shape(1.0), critical=False, background=True) == 0
    assert found.lacking(shape(1.01), critical=False, background=True) == CPU, "though there is room for it"
    assert found.lacking(shape(1.01), critical=False) == 0
    found.release(other)
    assert found.lacking(shape(1.5), critical=False, background=True) == 0
    together.append(found.holds_together)
    assert together == [True, False, True]


def test_what_others_leave_is_not_for_who_would_not_fill_it() -> None:
    found = quota(spare=0.1)
    hold(found, 1.0)
    assert found.lacking(shape(1.0), critical=False, background=True, fills=False) == CPU
    assert found.lacking(shape(0.5), critical=False, background=True, fills=False) == 0


def test_background_work_takes_nothing_of_the_reserve() -> None:
    """Where CRITICAL work uses more than is kept for it, less is left to the background."""
    found = quota(spare=0.1)
    hold(found, 1.4, critical=True)
    assert found.acquire(shape(1.0), critical=False, background=True).cores == 500_000
    full = quota(spare=0.1)
    hold(full, 2.0, critical=True)
    assert full.acquire(shape(1.0), critical=False, background=True).cores == 0


@pytest.mark.parametrize(
    ("spare", "background", "cores"), [(0.1, False, 1.5), (0.1, True, 1.4), (0.0, True, 1.5), (9.0, True, 1.125)]
)
def test_what_the_work_that_waits_could_have(spare: float, background: bool, cores: float) -> None:
    assert quota(spare=spare).admitted_cores(background) == cores


@pytest.mark.parametrize(
    ("held", "critical", "together"),
    [
        ((1.4, 900.0), (0.0, 0.0), True),
        ((1.41, 0.0), (0.0, 0.0), False),
        ((0.0, 901.0), (0.0, 0.0), False),
        ((1.0, 500.0), (0.9, 500.0), True),
        ((1.0, 0.0), (0.91, 0.0), False),
        ((0.0, 500.0), (0.0, 501.0), False),
    ],
)
def test_what_is_held_holds_together(held: tuple[float, float], critical: tuple[float, float], together: bool) -> None:
    found = quota(spare=0.1)
    hold(found, *critical, critical=True)
    hold(found, *held)
    assert found.holds_together is together


# ---- what can never be


@pytest.mark.parametrize(
    ("wanted", "critical", "said"),
    [
        (shape(2.0, 900), False, None),
        (shape(2.5), False, ("cpuCores", 2.5, 2.0)),
        (shape(2.5), True, ("cpuCores", 2.5, 2.0)),
        (shape(0, 901), False, ("memoryMb", 901, 900)),
        (shape(0, 1000), True, None),
        (shape(0, 1001), True, ("memoryMb", 1001, 1000)),
        (shape(gpus=2), False, None),
        (shape(gpus=3), False, ("gpuCount", 3, 2)),
        (shape(gpu_memory_mb=8000), False, None),
        (shape(gpu_memory_mb=8001), False, ("gpuMemoryMb", 8001, 8000)),
        (shape(gpus=1, gpu_memory_mb=8001), False, ("gpuMemoryMb", 8001, 8000)),
        (shape(gpus=2, gpu_memory_mb=8000), False, None),  # of each, as much as the smaller one has
        (shape(gpus=2, gpu_memory_mb=8001), False, ("gpuMemoryMb", 8001, 8000)),
    ],
)
def test_what_can_never_be_is_named(wanted: Shape, critical: bool, said: tuple[str, float, float] | None) -> None:
    error = quota(gpus=TWO_GPUS).impossible(wanted, "t", critical)
    if said is None:
        assert error is None
    else:
        assert isinstance(error, ImpossibleRequirementError)
        assert (error.task, error.resource, error.asked, error.available) == ("t", *said)


def test_without_a_device_none_can_be_had() -> None:
    error = quota().impossible(shape(gpu_memory_mb=1), "t", critical=False)
    assert error is not None
    assert (error.resource, error.asked, error.available) == ("gpuMemoryMb", 1, 0)


# ---- taking, giving back, changing


def test_what_is_taken_comes_back_once() -> None:
    found = quota(gpus=TWO_GPUS)
    plain, urgent = found.acquire(shape(1.0, 200), False), found.acquire(shape(0.5, 100), True)
    assert (plain.cores, plain.memory, plain.critical, plain.open, plain.pays) == (
        1_000_000,
        204_800,
        False,
        True,
        False,
    )
    assert (urgent.cores, urgent.critical, urgent.gpu_memory, urgent.devices) == (500_000, True, 0, ())
    assert plain.cpu_cores == 1.0
    assert found.release(urgent)
    assert found.lacking(shape(0.5), False) == 0
    assert found.lacking(shape(0.6), False) == CPU
    assert found.release(plain)
    assert not found.release(plain)
    assert (found.used_cores, found.used_memory) == (0, 0)
    assert found.lacking(shape(1.5, 900), False) == 0


def test_a_machine_that_changes() -> None:
    found = quota()
    version = found.version
    found.resize(Totals(cpu_cores=4, memory_mb=3000, gpus=TWO_GPUS), 1.0, 500.0, 0.1)
    assert found.version > version
    assert found.admitted_cores(background=True) == pytest.approx(2.9)
    view = found.views()
    assert (view["cpuCores"].total, view["cpuCores"].reserved) == (4, 1.0)
    assert (view["memoryMb"].total, view["memoryMb"].used, view["memoryMb"].reserved) == (3000, 0, 500)
    assert (view["gpuCount"].total, view["gpuCount"].used, view["gpuCount"].reserved) == (2, 0, 0)
    assert (view["gpuMemoryMb"].total, view["gpuMemoryMb"].reserved) == (12_000, 0)
    found.resize(Totals(cpu_cores=1, memory_mb=100), 2.0, 500.0)
    assert found.lacking(shape(0.0, 1), False) == MEMORY, "all of it is kept free"
    assert found.admitted_cores(background=False) == 0.0
    assert (found.views()["cpuCores"].reserved, found.views()["memoryMb"].reserved) == (1, 100)


@pytest.mark.parametrize(("asked_mb", "got_mb"), [(100.0, 200.0), (600.0, 900.0), (950.0, 950.0)])
def test_more_memory_is_at_most_what_there_is(asked_mb: float, got_mb: float) -> None:
    more = quota().with_more_memory(shape(0.5, asked_mb, 1, 64), 2)
    assert (more.cpu_cores, more.memory_mb, more.gpus, more.gpu_memory) == (0.5, got_mb, 1, 65_536)


@pytest.mark.parametrize(
    ("held", "wanted", "leave", "parts", "got"),
    [
        (0.0, 1.0, 0, 2, 1.0),  # there is room for it
        (0.7, 1.0, 0, 2, 0.7),  # less what is left to whoever comes
        (0.7, 1.0, 200_000, 2, 0.6),  # less what who is next wants
        (0.7, 1.0, 400_000, 2, 0.7),  # who is next wants too much
        (1.0, 1.0, 0, 2, 0.5),  # only without what is left to whoever comes
        (1.1, 1.0, 0, 2, 1.0),  # not even half: it waits for its place
        (1.1, 1.0, 0, 4, 0.3),
        (1.1, 0.41, 0, 2, 0.3),
    ],
)
def test_a_claim_takes_a_part(held: float, wanted: float, leave: int, parts: int, got: float) -> None:
    found = quota(spare=0.1)
    hold(found, held)
    squeezed = found.squeezed(shape(wanted, 50, 1, 64), leave, parts)
    assert squeezed.cpu_cores == got
    assert (squeezed.memory_mb, squeezed.gpus, squeezed.gpu_memory) == (50, 1, 65_536)


# ---- devices


def test_whole_devices_are_for_one() -> None:
    found = quota(gpus=TWO_GPUS)
    first = found.acquire(shape(gpus=1, gpu_memory_mb=5000), False)
    assert (first.device_indices, first.gpu_memory) == ((0,), 5000 * 1024)
    assert found.lacking(shape(gpu_memory_mb=3000), False) == 0, "on the other"
    shared = found.acquire(shape(gpu_memory_mb=3000), False)
    assert shared.device_indices == (1,)
    assert found.lacking(shape(gpus=1), False) == GPUS
    assert found.lacking(shape(gpu_memory_mb=1000), False) == 0
    assert found.lacking(shape(gpu_memory_mb=1001), False) == GPU_MEMORY, "what is left of the first is nobody's"
    assert found.views()["gpuCount"].used == 2
    assert found.views()["gpuMemoryMb"].used == 8000
    found.release(first)
    assert found.views()["gpuCount"].used == 1
    assert found.acquire(shape(gpu_memory_mb=8000), False).device_indices == (0,)
    found.release(shared)
    assert found.acquire(shape(gpus=1), False).device_indices == (1,)


def test_several_devices_share_what_is_asked_for() -> None:
    found = quota(gpus=TWO_GPUS)
    assert found.lacking(shape(gpus=2, gpu_memory_mb=8000), False) == 0
    assert found.lacking(shape(gpus=2, gpu_memory_mb=8001), False) == GPU_MEMORY
    both = found.acquire(shape(gpus=2, gpu_memory_mb=7999), False)
    assert both.device_indices == (1, 0)
    assert both.gpu_memory == 3999.5 * 1024
    assert found.lacking(shape(gpu_memory_mb=1), False) == GPU_MEMORY


def test_who_shares_gets_the_fullest_that_fits() -> None:
    found = quota(gpus=TWO_GPUS)
    for wanted_mb, index in ((2000, 1), (7000, 0), (2000, 1), (1000, 0)):
        assert found.acquire(shape(gpu_memory_mb=wanted_mb), False).device_indices == (index,)
    assert found.lacking(shape(gpu_memory_mb=1), False) == GPU_MEMORY
    same = quota(gpus=tuple(Gpu(index=n, uuid=str(n), total_mb=1000) for n in (1, 0)))
    assert same.acquire(shape(gpu_memory_mb=1), False).device_indices == (0,), "the first of equal ones"
    same = quota(gpus=tuple(Gpu(index=n, uuid=str(n), total_mb=1000) for n in (1, 0)))
    assert same.acquire(shape(gpus=1), False).device_indices == (0,)


def test_what_others_hold_is_not_there() -> None:
    found = quota(gpus=TWO_GPUS)
    found.others_hold([(0, 1000.0), (7, 1.0)])
    assert found.lacking(shape(gpu_memory_mb=4001), False) == GPU_MEMORY
    assert found.lacking(shape(gpu_memory_mb=4000), False) == 0
    found.others_hold([(1, 500.0)])
    assert found.lacking(shape(gpu_memory_mb=1001), False) == GPU_MEMORY, "of the first nothing new is known"
    found.others_hold([(0, 0.0), (1, 0.0)])
    assert found.lacking(shape(gpu_memory_mb=1 / 1024), False) == GPU_MEMORY, "not even that"
    found.others_hold([(0, 9000.0)])
    assert found.lacking(shape(gpu_memory_mb=8001), False) == GPU_MEMORY, "there is no more than there is"


def test_a_device_keeps_its_users_when_the_machine_is_looked_at_anew() -> None:
    found = quota(gpus=TWO_GPUS)
    held = found.acquire(shape(gpus=1, gpu_memory_mb=100), False)
    found.resize(Totals(cpu_cores=2, memory_mb=1000, gpus=TWO_GPUS), 0.5, 100.0)
    assert found.views()["gpuCount"].used == 1
    found.release(held)
    assert found.lacking(shape(gpus=2), False) == 0


# ---- slots


def test_slots() -> None:
    slots = Slots((2, 0))
    assert (slots.free(0), slots.free(1), slots.free(-1)) == (True, False, True)
    assert (slots.possible(0), slots.possible(1), slots.possible(-1)) == (True, False, True)
    slots.acquire(0)
    assert slots.used == [1, 0]
    slots.acquire(0)
    assert not slots.free(0)
    slots.acquire(-1)
    slots.release(-1)
    assert slots.used == [2, 0]
    slots.release(0)
    assert slots.used == [1, 0]
    assert slots.free(0)
