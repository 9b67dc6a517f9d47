"""A class whose methods are made late behaves as one that `dataclasses` has made at once."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from headway.scheduler import late_classes

if TYPE_CHECKING:
    from dataclasses import dataclass as late
else:
    from headway.scheduler.late_classes import dataclass as late

FIRST: dict[str, Any] = {"frozen": True, "slots": True, "kw_only": True}


def described() -> type[Any]:
    """Return a class as its module writes it: a new one each time, as decorating changes it."""

    class Made:
        """What is made."""

        a: int
        b: str = "b"
        hidden: int = field(default=0, repr=False, compare=False)
        late: list[int] = field(default_factory=list)
        made: int = field(init=False, default=5)
        shared: ClassVar[int] = 7

        def double(self) -> int:
            return self.a * 2

    return Made


def checked() -> type[Any]:
    class Made:
        low: int
        high: int = 3

        def __post_init__(self) -> None:
            if self.low > self.high:
                raise ValueError("low is above high")

    return Made


@late(frozen=True, slots=True, kw_only=True)
class Frozen:
    """At the top of a module, where pickle finds it."""

    a: int
    b: tuple[int, ...] = ()


@late(slots=True)
class Loose:
    a: int
    b: list[int] = field(default_factory=list)


OPTIONS = [
    FIRST,
    {"frozen": True, "slots": True},
    {"slots": True},
    {"slots": True, "kw_only": True},
    {"slots": True, "unsafe_hash": True},
    # What is left to `dataclasses` altogether:
    {"frozen": True, "slots": True, "order": True},
    {"frozen": True},
    {"frozen": True, "slots": True, "eq": False},
]


def both(describe: Callable[[], type[Any]], options: dict[str, Any]) -> list[type[Any]]:
    """Return the class as it is made here, and as `dataclasses` makes it."""
    return [make(**options)(describe()) for make in (late_classes.dataclass, dataclasses.dataclass)]


def result(ask: Callable[[Any], object], made: type[Any]) -> object:
    """Return what a question gives, or how it fails."""
    try:
        return ask(made)
    except Exception as error:  # noqa: BLE001  # whatever it is, it is to be the same
        return type(error), str(error)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_it_is_made_as_by_dataclasses(options: dict[str, Any]) -> None:
    """Each question is the first that a fresh class is asked, so that each finds its methods not made yet."""
    asked = [
        lambda made: repr(made(a=1, late=[2])),
        lambda made: made(a=1) == made(a=1, hidden=3),
        lambda made: made(a=1) == made(a=2),
        lambda made: made(a=1) != made(a=1),
        lambda made: made(a=1) == 1,
        lambda made: hash(made(a=1, late=())) == hash(made(a=1, late=(), hidden=2)),
        lambda made: hash(made(a=1)),
        lambda made: made(),
        lambda made: made(a=1, made=2),
        lambda made: repr(made(1, "x")),
        lambda made: made(a=1).double(),
        lambda made: made(a=1).late is made(a=1).late,
        lambda made: setattr(made(a=1), "a", 2),
        lambda made: setattr(made(a=1), "made", 2),
        lambda made: delattr(made(a=1), "a"),
        lambda made: repr(replace(made(a=1), b="c")),
        lambda made: replace(made(a=1), made=3),
        lambda made: dataclasses.asdict(made(a=1)),
        lambda made: [(found.name, found.type, found.kw_only) for found in fields(made)],
        lambda made: repr(copy.deepcopy(made(a=1, late=[1]))),
        lambda made: (made.__match_args__, made.__name__, made.__qualname__, made.__module__, made.__doc__),
        lambda made: (is_dataclass(made), made.shared, hasattr(made(a=1), "__dict__")),
        lambda made: made.__hash__ is None,
    ]
    for ask in asked:
        ours, theirs = both(described, options)
        assert result(ask, ours) == result(ask, theirs)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_values_are_checked_when_one_is_made(options: dict[str, Any]) -> None:
    for values in ({"low": 1}, {"low": 5}, {"low": 5, "high": 6}, {}):

        def shown(made: type[Any], values: dict[str, int] = values) -> str:
            return repr(made(**values))

        ours, theirs = both(checked, options)
        assert result(shown, ours) == result(shown, theirs)


def test_a_method_that_stood_in_is_gone_after_its_first_call() -> None:
    """Who has looked it up before may call it again all the same."""
    made = late_classes.dataclass(**FIRST)(described())
    before = made.__init__
    one = made(a=1)
    assert made.__init__ is not before
    before(one, a=4)
    assert one.a == 4


@pytest.mark.parametrize("value", [Frozen(a=1, b=(2,)), Loose(1, [2])])
def test_a_value_travels(value: object) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.copy(value) == value


def test_a_frozen_value_stays_as_it_is() -> None:
    value = Frozen(a=1)
    for name in ("a", "new"):
        with pytest.raises(FrozenInstanceError):
            setattr(value, name, 2)
    with pytest.raises(FrozenInstanceError):
        del value.a
    assert value == Frozen(a=1)


def test_a_class_that_writes_a_method_itself_keeps_it() -> None:
    class Written:
        a: int

        def __repr__(self) -> str:
            return "mine"

        def __hash__(self) -> int:
            return 3

    made: Any = late_classes.dataclass(frozen=True, slots=True)(Written)
    assert (repr(made(1)), hash(made(1)), made(1) == made(1)) == ("mine", 3, True)


def test_a_class_can_be_derived_from_one_that_is_made_late() -> None:
    """By `dataclasses`, as always: it asks the base for its fields and whether it is frozen."""

    @late(frozen=True, slots=True)
    class Derived(Frozen):
        c: int = 0

    assert repr(Derived(a=1, c=2)).endswith("Derived(a=1, b=(), c=2)")
    with pytest.raises(FrozenInstanceError):
        Derived(a=1).c = 3  # type: ignore[misc]


def test_what_is_imported_behind_it_is_made_late() -> None:
    script = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from headway.scheduler import late_classes\n"
        "late_classes.install()\n"
        "from headway.scheduler.model import Requirement\n"
        "before = Requirement.__eq__\n"
        "print(before.__module__, Requirement(memory_mb=1) == Requirement(memory_mb=1), Requirement.__eq__ is before)"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["headway.scheduler.late_classes", "True", "False"]
