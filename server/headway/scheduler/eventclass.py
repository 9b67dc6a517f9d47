"""How the classes are made of which several objects come with each task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


# Those that are made on the way of each task are given by position: to give twelve fields by name costs Python 3.11 as
# much as half a dozen calls.


@dataclass_transform(frozen_default=True)
def event(described: type[T]) -> type[T]:
    """Make a class an event: frozen for type checkers, and to be treated so.

    While it runs nothing guards it: several events come with each task, and the guard makes each cost several times as
    much.
    """
    return dataclass(slots=True)(described)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def description(described: type[T]) -> type[T]:
    """Make a class a value of which one comes with each task: like a message, but given by name."""
    return dataclass(slots=True, unsafe_hash=True)(described)


@dataclass_transform(frozen_default=True)
def message(described: type[T]) -> type[T]:
    """Make a class a value of which one comes with each task: like an event, hashed by its fields."""
    return dataclass(slots=True, unsafe_hash=True)(described)
