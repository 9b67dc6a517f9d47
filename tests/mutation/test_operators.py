"""What the mutation run breaks, and that a broken function takes effect."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.mutation.operators import broken, sites
from tests.mutation.trial import give_body, outermost


def changes(source: str) -> list[str]:
    return [broken(source, site).change for site in sites(source)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return a < b", ["return a < b  ->  return None", "a < b  ->  a <= b", "a < b  ->  a >= b"]),
        ("if a and b:\n  f(a)", ["a and b  ->  a or b", "f(a)  ->  pass"]),
        ("if a:\n  return", ["if a: return  ->  if not a: return"]),
        ("a.size -= 2", ["a.size -= 2  ->  a.size += 2", "a.size -= 2  ->  pass", "2  ->  3"]),
        ("x = not min(a, b)", ["not min(a, b)  ->  min(a, b)", "min(a, b)  ->  max(a, b)"]),
        ("x = True", ["True  ->  False"]),
        ("while a:\n  break", ["break  ->  continue"]),
        ("raise ValueError(f'{a + 1} is not {b}')", []),
        ("'''Words 1 < 2.'''", []),
        ("x: list[int] = []", []),
    ],
)
def test_what_is_broken(body: str, expected: list[str]) -> None:
    """Each thing that decides is broken once per way; words and types are not."""
    inner = body.replace("\n", "\n    ")
    assert changes(f"def f(a, b):\n    {inner}\n") == expected


def test_only_bodies_of_functions_are_broken() -> None:
    assert changes("LIMIT = 3\nclass C:\n    size = 4\n    def f(self, a=5):\n        return a\n") == [
        "return a  ->  return None"
    ]


def test_a_broken_method_takes_effect_for_those_who_hold_it() -> None:
    """Also in a property, and for an object that was there before."""
    source = "class C:\n    @property\n    def size(self):\n        return 1 + 1\n"
    module = ModuleType("broken")
    module.__file__ = "broken.py"
    exec(compile(source, "broken.py", "exec"), module.__dict__)
    held = module.C()
    [site] = [found for found in sites(source) if broken(source, found).change == "1 + 1  ->  1 - 1"]
    give_body(module, broken(source, site))
    assert held.size == 0
    assert outermost("C.size.<locals>.<lambda>") == site.function == "C.size"
