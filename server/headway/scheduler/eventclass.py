"""How event classes are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def event(described: type[T]) -> type[T]:
    """Make a class an event: frozen for type checkers, and to be treated so.

    While it runs nothing guards it: several events come with each task, and the guard makes each cost twice as much.
    """
    return dataclass(slots=True, kw_only=True)(described)
