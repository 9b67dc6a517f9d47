"""Paths and URIs: POSIX, drives, UNC servers, and names that are no text."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.workspace.uris import identity, path_to_uri, uri_to_path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///w/a%20b.py", "/w/a b.py"),
        ("file:///w/%23odd%3F.py", "/w/#odd?.py"),
        ("file:/w/a.py", "/w/a.py"),
        ("file://localhost/w/a.py", "/w/a.py"),
        ("file://server/share/a.py", "//server/share/a.py"),
        ("file:///w/%ff.py", os.fsdecode(b"/w/\xff.py")),
        ("untitled:Untitled-1", None),
        ("git:/w/a.py?ref", None),
        ("file:///w/%00.py", None),
        ("file://", None),
        ("", None),
    ],
)
def test_uri_to_path(uri: str, path: str | None) -> None:
    assert uri_to_path(uri, windows=False) == path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///c%3A/w/a.py", "C:\\w\\a.py"),
        ("file:///C:/w/a.py", "C:\\w\\a.py"),
        ("file://server/share/a.py", "\\\\server\\share\\a.py"),
        ("file://wsl%24/Ubuntu/w", "\\\\wsl$\\Ubuntu\\w"),
    ],
)
def test_windows_uri_to_path(uri: str, path: str) -> None:
    assert uri_to_path(uri, windows=True) == path


@given(st.lists(st.binary(min_size=1).filter(lambda name: not set(name) & set(b"/\0")), min_size=1))
def test_a_posix_path_survives_the_way_there_and_back(names: list[bytes]) -> None:
    """File names are bytes, whether or not they are UTF-8."""
    path = "/" + b"/".join(names).decode("utf-8", "surrogateescape")
    assert uri_to_path(path_to_uri(path, windows=False), windows=False) == path


@pytest.mark.parametrize("path", ["C:\\w\\a b.py", "\\\\server\\share\\a.py", "\\\\wsl$\\Ubuntu\\w"])
def test_a_windows_path_survives_the_way_there_and_back(path: str) -> None:
    assert uri_to_path(path_to_uri(path, windows=True), windows=True) == path


def test_case_is_spelling_only_where_the_disk_ignores_it() -> None:
    assert identity("file:///C%3A/W/a.py", windows=True) == identity("file:///c:/w/A.py", windows=True)
    assert identity("file:///w/a.py", windows=False) != identity("file:///w/A.py", windows=False)
    assert identity("file:///C%3A/W/a.py", windows=False) == identity("file:///c:/W/a.py", windows=False)
    assert identity("file:///C%3A/W/a.py", windows=False) != identity("file:///C:/w/a.py", windows=False)
    assert identity("untitled:A") != identity("untitled:a")
