"""Makes dataclasses cheap to define: a method that `dataclasses` would write is written when it is first called.

`dataclasses` writes six methods for each frozen class as text and compiles each of them: half a millisecond a class,
and this server has two hundred. That was a quarter of what its start cost, and most of those methods are never called.
Here a class gets its fields, slots and guard at once. Whoever calls another method first has it made by `dataclasses`
itself, so that it does what it always does.

`install` is for the processes that are ours alone: the server and its workers. Elsewhere nothing changes but the time.
Knows nothing of scheduling; it lives here because the workers start with what this package has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

_whole: Callable[..., Any] = dataclasses.dataclass
# What is made together: `__init__` is nearly always called, the others hardly ever.
_INIT = ("__init__",)
_VALUE = ("__repr__", "__eq__", "__hash__")
# A class that writes one of these itself is made as always: which ones then count is for `dataclasses` to know.
_WRITTEN = frozenset({*_INIT, *_VALUE, "__setattr__", "__delattr__", "__getstate__", "__setstate__", "__slots__"})
_NOT_COPIED = frozenset({"__dict__", "__weakref__"})


def install() -> None:
    """Let `dataclasses.dataclass` be `dataclass` of here for all modules that are imported from now on."""
    setattr(dataclasses, "dataclass", dataclass)  # noqa: B010  # for mypy it may not be assigned


def dataclass(cls: type[Any] | None = None, /, **options: Any) -> Any:
    """Do what `dataclasses.dataclass` does, for slotted classes without bases later than it does.

    Two differences are left: the signature of `__init__` is not told before its first call, and a frozen class refuses
    to have anything set, in subclasses that are no dataclasses, too.
    """

    def made(described: type[Any]) -> Any:
        return _late(described, **options) if _can_be_late(described, options) else _whole(**options)(described)

    return made if cls is None else made(cls)


def _can_be_late(described: type[Any], options: dict[str, Any]) -> bool:
    plain = type(described) is type and described.__bases__ == (object,)
    usual = options.get("slots") is True and options.keys() <= {"frozen", "slots", "kw_only", "unsafe_hash"}
    return plain and usual and not _WRITTEN & vars(described).keys()


def _late(
    described: type[Any], *, slots: bool, frozen: bool = False, kw_only: bool = False, unsafe_hash: bool = False
) -> Any:
    namespace = {name: value for name, value in vars(described).items() if name not in _NOT_COPIED}
    if described.__doc__ is None:
        described.__doc__ = described.__name__  # else its signature is looked up, which takes as long as a method
    made: Any = _whole(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(described)

    def make(names: Sequence[str], **wanted: bool) -> None:
        clone = type(described.__name__, (), dict(namespace))
        clone.__qualname__ = described.__qualname__
        vars_ = vars(_whole(frozen=frozen, slots=slots, kw_only=kw_only, **wanted)(clone))
        for name in names:
            setattr(made, name, vars_[name])

    def make_init() -> None:
        make(_INIT, repr=False, eq=False)

    def make_value() -> None:
        make(_VALUE, init=False, unsafe_hash=unsafe_hash)

    for name in _INIT:
        setattr(made, name, _first_call(made, name, make_init))
    for name in _VALUE:
        setattr(made, name, _first_call(made, name, make_value))
    if not frozen and not unsafe_hash:
        made.__hash__ = None
    if frozen:
        made.__dataclass_params__.frozen = True
        made.__setattr__, made.__delattr__ = _refuse_to_set, _refuse_to_delete
        made.__getstate__, made.__setstate__ = _state, _set_state
    return made


def _first_call(made: type[Any], name: str, make: Callable[[], None]) -> Callable[..., Any]:
    """Return a method that stands in for another one until it is called, on whatever object, for the first time."""

    def method(*args: Any, **kwargs: Any) -> Any:
        if made.__dict__[name] is method:  # who has looked it up before its first call may call it again
            make()
        return made.__dict__[name](*args, **kwargs)

    return method


def _refuse_to_set(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


# What `pickle` and `copy` ask: as of a frozen class by `dataclasses`, so that both kinds understand each other.


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
