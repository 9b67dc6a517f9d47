"""Members that our own Python knows."""

from __future__ import annotations

import sys

import pytest

from headway.workspace.python_members import STRING, known_members
from headway.workspace.python_scope import NameKind


@pytest.mark.parametrize(
    ("origin", "name", "kind"),
    [
        ("os", "getcwd", NameKind.FUNCTION),
        ("os.path", "join", NameKind.FUNCTION),
        ("os", "path", NameKind.MODULE),
        ("collections.OrderedDict", "move_to_end", NameKind.METHOD),
        (STRING, "startswith", NameKind.METHOD),
    ],
)
def test_members_of_the_standard_library(origin: str, name: str, kind: NameKind) -> None:
    assert (name, kind) in (known_members(origin) or ())


def test_private_names_are_left_out() -> None:
    assert not [name for name, _ in known_members("os") or () if name.startswith("_")]


@pytest.mark.parametrize(
    "origin", ["headway", "pytest", "os.getcwd", "os.no_such", "antigravity", "no_such_module", ""]
)
def test_nothing_else_is_known_and_nothing_is_imported(origin: str) -> None:
    assert known_members(origin) is None
    assert "antigravity" not in sys.modules
