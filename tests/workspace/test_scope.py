"""Which files a search is about."""

from __future__ import annotations

import pytest

from headway.workspace.scope import Scope

PATHS = ("src/a.py", "src/b.tsx", "web/c.js", "run.sh", "LICENSE")


@pytest.mark.parametrize(
    ("path", "languages", "expected"),
    [
        (None, (), PATHS),
        ("src/", (), ("src/a.py", "src/b.tsx")),
        (None, ("python",), ("src/a.py",)),
        (None, ("typescriptreact", "javascript"), ("src/b.tsx", "web/c.js")),
        ("src/", ("javascript",), ()),
        ("[z-a]", (), ()),
        ("!", (), ()),
        (None, ("shellscript",), ("run.sh",)),
    ],
)
def test_paths_and_languages_narrow(path: str | None, languages: tuple[str, ...], expected: tuple[str, ...]) -> None:
    scope = Scope(path=path, languages=frozenset(languages))
    assert tuple(filter(scope.accepting(), PATHS)) == expected
    assert scope.is_everything == (expected == PATHS)
