"""Modules that can be named in an import, by what lies in folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.workspace.python_modules import module_name, modules
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


def test_a_file_is_imported_by_the_name_of_its_packages(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for name in ("package/__init__.py", "package/inner/__init__.pyi", "package/inner/module.py", "loose/module.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("", "utf-8")

    def named(path: str) -> str | None:
        return module_name(str(root / path), [str(root)])

    assert named("package/inner/module.py") == "package.inner.module"
    assert named("package/__init__.py") == "package"
    assert named("loose/module.py") == "loose.module"
    assert named("not-a-name/module.py") == "module"
    assert named("module.txt") is None
    assert named("some-script.py") is None
    assert module_name("/cache/typeshed/abc/stdlib/urllib/parse.pyi", []) == "urllib.parse"
