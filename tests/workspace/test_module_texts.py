"""What a module's own text says that it holds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headway.workspace.module_texts import module_members
from headway.workspace.python_scope import NameKind

SHOP = """
from shop.parts import wheel
from shop.money import (
    Price,
    round_up as rounded,
)
import os.path

DEFAULT = 1
_own = 2

class Cart:
    size = 3
    def fill(self):
        inside = 4

def sell(what):
    local = 5
"""


def put(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def test_names_of_the_module_and_the_modules_within_it(tmp_path: Path) -> None:
    put(tmp_path, "shop/__init__.py", SHOP)
    put(tmp_path, "shop/money.py", "")
    put(tmp_path, "shop/parts/__init__.py", "")
    found = module_members([str(tmp_path / "nowhere"), str(tmp_path)], "shop")
    assert found == (
        ("Cart", NameKind.CLASS),
        ("DEFAULT", NameKind.VARIABLE),
        ("Price", NameKind.CLASS),
        ("money", NameKind.MODULE),
        ("os", NameKind.VARIABLE),
        ("parts", NameKind.MODULE),
        ("rounded", NameKind.VARIABLE),
        ("sell", NameKind.FUNCTION),
        ("wheel", NameKind.VARIABLE),
    )


def test_a_stub_says_it_before_the_module_and_an_earlier_folder_before_a_later_one(tmp_path: Path) -> None:
    put(tmp_path, "a/one.pyi", "stub = 1\n")
    put(tmp_path, "a/one.py", "module = 1\n")
    put(tmp_path, "b/one.py", "later = 1\n")
    folders = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert module_members(folders, "one") == (("stub", NameKind.VARIABLE),)
    (tmp_path / "a" / "one.pyi").unlink()
    assert module_members(folders, "one") == (("module", NameKind.VARIABLE),)
    (tmp_path / "a" / "one.py").unlink()
    assert module_members(folders, "one") == (("later", NameKind.VARIABLE),)


@pytest.mark.parametrize("dotted", ["", ".relative", "..", "a/b", "missing", "one.missing", "folder"])
def test_what_is_no_module_with_a_text_has_no_members(tmp_path: Path, dotted: str) -> None:
    put(tmp_path, "one.py", "x = 1\n")
    put(tmp_path, "folder/data.txt", "")
    assert module_members([str(tmp_path)], dotted) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX's")
def test_what_cannot_be_read_or_is_very_long_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "one.pyi")
    put(tmp_path, "one/__init__.py", f"x = 1\n{'#' * 400_000}\n")
    assert module_members([str(tmp_path)], "one") is None
    (tmp_path / "two.py").write_bytes(b"caf\xe9 = 1\ntext = '\xff'\n")
    found = module_members([str(tmp_path)], "two")
    assert found is not None
    assert ("text", NameKind.VARIABLE) in found
