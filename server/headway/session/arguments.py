"""Reading a caller's JSON key by key; whatever is wrong is named with its path. Pure."""

from __future__ import annotations

import enum
import math
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from headway.session.ports import InvalidArgumentError

_E = TypeVar("_E", bound=enum.Enum)
_SHOWN_CHARS = 60


class Arguments:
    """A JSON object and where it stands. Every method raises `InvalidArgumentError` naming the key.

    A key with the value null counts as missing.
    """

    def __init__(self, value: object, path: str = "") -> None:
        if type(value) is not dict and not isinstance(value, Mapping):  # The first is nearly always so, and cheap.
            raise InvalidArgumentError(path or "params", f"must be an object, not {_shown(value)}")
        self.mapping: Mapping[str, Any] = value
        self.path = path

    def at(self, key: str) -> str:
        """Return the path of one of the keys."""
        return f"{self.path}.{key}" if self.path else key

    def fail(self, key: str, problem: str) -> InvalidArgumentError:
        """Return the error for a key."""
        return InvalidArgumentError(self.at(key), problem)

    def only(self, known: Collection[str]) -> None:
        """Refuse keys that are not known."""
        for key in self.mapping:
            if key not in known:
                raise self.fail(key[:_SHOWN_CHARS], f"is not known; known are {', '.join(sorted(known))}")

    def has(self, key: str) -> bool:
        """Whether the key has a value."""
        return self.mapping.get(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string."""
        value = self._value(key, default)
        if not isinstance(value, str):
            raise self.fail(key, f"must be a string, not {_shown(value)}")
        return value

    def optional_text(self, key: str) -> str | None:
        """Return a string, or None where it is missing."""
        return self.text(key) if self.has(key) else None

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Return a boolean."""
        value = self._value(key, default)
        if not isinstance(value, bool):
            raise self.fail(key, f"must be true or false, not {_shown(value)}")
        return value

    def number(self, key: str, default: float | None = None, *, low: float = 0.0, high: float = math.inf) -> float:
        """Return a finite number from `low` to `high`."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
            raise self.fail(key, f"must be a number, not {_shown(value)}")
        if not low <= value <= high:
            raise self.fail(key, f"must be from {low:g} to {high:g}, not {value:g}")
        return value

    def optional_number(self, key: str, *, low: float = 0.0, high: float = math.inf) -> float | None:
        """Return a number, or None where it is missing."""
        return self.number(key, low=low, high=high) if self.has(key) else None

    def integer(self, key: str, default: int | None = None, *, low: int = 0, high: int = 2**53) -> int:
        """Return a whole number from `low` to `high`."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.fail(key, f"must be a whole number, not {_shown(value)}")
        if not low <= value <= high:
            raise self.fail(key, f"must be from {low} to {high}, not {value}")
        return value

    def choice(self, key: str, kind: type[_E], default: _E | None = None, *, by_name: bool = False) -> _E:
        """Return a member of an enumeration, named by its value (or with `by_name` by its name)."""
        if default is not None and not self.has(key):
            return default
        names = _names(kind, by_name)
        found: _E = names[self._one_of(key, self._value(key, None), names)]
        return found

    def choices(self, key: str, kind: type[_E], *, by_name: bool = False) -> tuple[_E, ...] | None:
        """Return members of an enumeration, or None where the key is missing."""
        if not self.has(key):
            return None
        names = _names(kind, by_name)
        return tuple(
            names[self._one_of(f"{key}[{place}]", value, names)] for place, value in enumerate(self.sequence(key))
        )

    def sequence(self, key: str, *, most: int = 100_000) -> list[Any]:
        """Return a list of at most `most` items; empty where the key is missing."""
        value = self._value(key, [])
        if not isinstance(value, list):
            raise self.fail(key, f"must be a list, not {_shown(value)}")
        if len(value) > most:
            raise self.fail(key, f"must hold at most {most} items, not {len(value)}")
        return value

    def texts(self, key: str, *, most: int = 100_000) -> tuple[str, ...]:
        """Return a list of strings; empty where the key is missing."""
        items = self.sequence(key, most=most)
        for place, item in enumerate(items):
            if not isinstance(item, str):
                raise self.fail(f"{key}[{place}]", f"must be a string, not {_shown(item)}")
        return tuple(items)

    def inner(self, key: str) -> Arguments:
        """Return the object under a key."""
        return Arguments(self._value(key, None), self.at(key))

    def inner_or_empty(self, key: str) -> Arguments:
        """Return the object under a key, an empty one where it is missing."""
        return Arguments(self._value(key, {}), self.at(key))

    def each(self, key: str, *, most: int = 100_000) -> Iterator[Arguments]:
        """Give the objects of a list."""
        for place, item in enumerate(self.sequence(key, most=most)):
            yield Arguments(item, f"{self.at(key)}[{place}]")

    def _value(self, key: str, default: object) -> Any:
        value = self.mapping.get(key)
        if value is not None:
            return value
        if default is None:
            raise self.fail(key, "is missing")
        return default

    def _one_of(self, key: str, value: object, names: Collection[str]) -> str:
        if not isinstance(value, str) or value not in names:
            raise self.fail(key, f"must be one of {', '.join(names)}, not {_shown(value)}")
        return value


@cache
def _names(kind: type[enum.Enum], by_name: bool) -> Mapping[str, Any]:
    return {member.name if by_name else member.value: member for member in kind}


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False  # a whole number of hundreds of digits


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"
