"""Where the code to type in comes from, and what is said when it cannot be had."""

import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from headway.demo import project
from headway.demo.errors import ProjectError

MakeProject = Callable[[Mapping[str, str]], Path]


def copied(target: Path) -> set[str]:
    return {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()}


def test_python_is_copied_and_what_it_stands_in_is_not(make_project: MakeProject, tmp_path: Path) -> None:
    """Settings of Python tools count; environments, hidden folders, links and data do not."""
    source = make_project(
        {
            "pack/mod.py": "x = 1\n",
            "pack/mod.pyi": "x: int\n",
            "pack/py.typed": "",
            "pack/data.json": "{}",
            "pyproject.toml": "",
            ".git/hooks/pre-commit.py": "",
            "env/pyvenv.cfg": "",
            "env/lib/other.py": "",
            "node_modules/gyp.py": "",
        }
    )
    (source / "link.py").symlink_to(source / "pack" / "mod.py")
    target = tmp_path / "copy"
    assert project.copy(source, target) == 2
    assert copied(target) == {"pack/mod.py", "pack/mod.pyi", "pack/py.typed", "pyproject.toml"}


@pytest.mark.parametrize(
    ("name", "words"),
    [("nowhere", "There is no folder"), ("project/a.txt", "is a file"), ("project", "no Python file")],
)
def test_a_folder_that_will_not_do(name: str, words: str, make_project: MakeProject, tmp_path: Path) -> None:
    make_project({"a.txt": "words"})
    with pytest.raises(ProjectError, match=words):
        project.copy(tmp_path / name, tmp_path / "copy")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is unreadable for root")
def test_what_cannot_be_read_is_named(make_project: MakeProject, tmp_path: Path) -> None:
    source = make_project({"closed/mod.py": "x = 1\n", "open.py": ""})
    (source / "closed").chmod(0)
    try:
        with pytest.raises(ProjectError, match=r"closed cannot be read.*Make it readable"):
            project.copy(source, tmp_path / "copy")
    finally:
        (source / "closed").chmod(0o700)


def wheel(path: Path, members: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_only_python_is_taken_from_a_wheel(tmp_path: Path) -> None:
    made = wheel(tmp_path / "a.whl", {"a/b.py": "x = 1\n", "a/locale.mo": "", "a-1.dist-info/METADATA": "Name: a"})
    project.unpack(made, tmp_path / "out")
    assert copied(tmp_path / "out") == {"a/b.py"}


@pytest.mark.parametrize("name", ["../b.py", "a/../../b.py", "/b.py", "C:b.py"])
def test_a_wheel_cannot_write_elsewhere(name: str, tmp_path: Path) -> None:
    made = wheel(tmp_path / "a.whl", {name: "x = 1\n"})
    with pytest.raises(ProjectError, match="leads outside"):
        project.unpack(made, tmp_path / "out" / "deep")


def test_a_damaged_wheel_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"PK no more")
    with pytest.raises(ProjectError, match=r"a\.whl is damaged"):
        project.unpack(tmp_path / "a.whl", tmp_path / "out")


def test_without_a_network_the_message_names_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real pip, told that there is no index; nothing half done is left to be taken for the whole."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(ProjectError, match=r"could not download django.*\n(.*\n)*.*headway demo PATH"):
        project.fetch(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_wheel_that_is_another_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash counts, whoever serves the file."""
    links = tmp_path / "links"
    links.mkdir()
    version = project.REQUIREMENT.partition("==")[2]
    record = f"django-{version}.dist-info"
    wheel(
        links / f"django-{version}-py3-none-any.whl",
        {f"{record}/METADATA": f"Metadata-Version: 2.1\nName: django\nVersion: {version}\n", f"{record}/WHEEL": ""},
    )
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    with pytest.raises(ProjectError, match="HASH"):
        project.fetch(tmp_path / "cache")


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    kept = tmp_path / project.REQUIREMENT.replace("==", "-")
    kept.mkdir()
    assert project.fetch(tmp_path) == kept


@pytest.mark.parametrize(
    ("env", "platform", "expected"),
    [
        ({"XDG_CACHE_HOME": "/c"}, "linux", Path("/c/headway/demo")),
        ({}, "linux", Path.home() / ".cache/headway/demo"),
        ({"XDG_CACHE_HOME": "/c"}, "darwin", Path.home() / "Library/Caches/headway/demo"),
        ({"LOCALAPPDATA": "/l"}, "win32", Path("/l/headway/demo")),
    ],
)
def test_downloads_are_kept_where_the_platform_keeps_them(
    env: Mapping[str, str], platform: str, expected: Path
) -> None:
    assert project.cache_folder(env, platform) == expected
