"""How the classes are made of which several objects come with each task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def event(described: type[T]) -> type[T]:
    """Make a class an event: frozen for type checkers, and to be treated so.

    While it runs nothing guards it: several events come with each task, and the guard makes each cost several times as
    much.
    """
    return dataclass(slots=True, kw_only=True)(described)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def value(described: type[T]) -> type[T]:
    """Make a class a value that comes with each task: like an `event`, and hashed by its fields."""
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(described)


@dataclass_transform(frozen_default=True)
def message(described: type[T]) -> type[T]:
    """Make a class a message of the core: like a `value`, given by position."""
    return dataclass(slots=True, unsafe_hash=True)(described)
