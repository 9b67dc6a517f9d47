"""Modules that can be named in an import, by what lies in folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.workspace.python_modules import modules
from headway.workspace.python_scope import NameKind


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("shop/__init__.py", "shop/cart.py", "shop/stubs.pyi", "shop/parts/wheel.py", "src/inner/a.py"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for name in ("manage.py", "read me.py", "notes.txt", "shop/native.so", "2nd.py"):
        (tmp_path / name).touch()
    (tmp_path / "not-a-package").mkdir()
    return tmp_path


def names(*args: object) -> set[str]:
    found = modules(*args)  # type: ignore[arg-type]
    assert {kind for _, kind in found} <= {NameKind.MODULE}
    return {name for name, _ in found}


def test_at_the_top_there_are_the_folders_and_the_standard_library(root: Path) -> None:
    found = names([str(root)], None, "")
    assert {"shop", "manage", "src", "inner", "os", "json"} <= found
    assert not {"read me", "notes", "not-a-package", "2nd", "_thread", "cart"} & found


def test_below_a_package_there_is_what_it_holds(root: Path) -> None:
    assert names([str(root)], None, "shop.") == {"cart", "stubs", "parts"}
    assert names([str(root)], None, "shop.parts.") == {"wheel"}
    assert names([str(root)], None, "inner.") == {"a"}
    assert names([str(root)], None, "nowhere.") == set()


def test_relative_names_begin_at_the_file_that_imports(root: Path) -> None:
    wheel = str(root / "shop/parts/wheel.py")
    assert names([str(root)], wheel, ".") == {"wheel"}
    assert names([str(root)], wheel, "..") == {"cart", "stubs", "parts"}
    assert names([str(root)], wheel, "..parts.") == {"wheel"}
    assert names([str(root)], None, ".") == set()
