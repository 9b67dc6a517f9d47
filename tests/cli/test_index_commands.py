"""`headway index` and `headway search`, on a small folder, with everything real."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headway.cli.commands import run
from headway.cli.index_commands import index, search
from headway.cli.kept_vectors import KEY_VARIABLE
from headway.session import setbacks
from headway.session.searching import SearchQuery
from headway.workspace import planning
from tests.endpoint import Peer, endpoint
from tests.session.test_meaning import Place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "lib").mkdir(parents=True)
    (root / "lib" / "temp.py").write_text(
        'class Scale:\n    def kelvinize(self, value):\n        """Convert from Celsius degrees."""\n'
    )
    (root / ".env").write_text("TOKEN=secret\n")
    return root


def test_index_says_what_is_there(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert index(project, tmp_path / "cache") == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{project}: 1 files, 3 symbols, ")
    assert said.endswith("passed over: 1 secret\n")


@pytest.mark.parametrize("query", ["kelvinize", "converting celsius"])
def test_search_names_the_place(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], query: str) -> None:
    assert search(SearchQuery(text=query), project, cache_dir=tmp_path / "cache") == 0
    assert capsys.readouterr().out.splitlines()[0] == "lib/temp.py:2: Scale.kelvinize  def kelvinize(self, value):"


def test_nothing_found_and_no_folder_are_exit_codes(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert search(SearchQuery(text="zebra"), project, cache_dir=tmp_path / "cache") == 1
    assert index(tmp_path / "nowhere", tmp_path / "cache") == 2
    assert "is no folder" in capsys.readouterr().err


def no_plan() -> None:
    """Stands where workers look for what compares a folder with its index; they cannot import it."""


def test_a_folder_that_cannot_be_listed_ends_the_command(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "plan", no_plan)
    monkeypatch.setattr(setbacks, "_RETRY_DELAYS_S", (0.01,))
    assert index(project, tmp_path / "cache") == 2
    assert "project could not be listed" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["index", "search", "serve"])
def test_where_only_the_scheduler_is_installed_a_command_says_what_is_missing(command: str) -> None:
    code = (
        "import sys; sys.modules['pathspec'] = None; from headway.cli.commands import run; sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, command, *(["x"] if command == "search" else [])],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"headway: {command} needs pathspec, not installed for ")


def test_search_narrows_by_path_and_kind_and_answers_programs(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "web").mkdir()
    (project / "web" / "temp.ts").write_text("export class ScaleView { render() {} }\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    assert run(["search", "scale", "--in", str(project), "--path", "web/", "--kind", "class", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(hit["name"], hit["kind"], hit["path"]) for hit in answer["hits"]] == [
        ("ScaleView", "Class", str(project / "web" / "temp.ts"))
    ]
    assert answer["hits"][0]["selectionRange"] == {
        "start": {"line": 0, "column": 13},
        "end": {"line": 0, "column": 22},
    }
    assert (answer["state"], answer["coverage"]) == ("complete", 1.0)
    assert run(["search", "scale", "--in", str(project), "--language", "Python", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert {os.path.basename(hit["path"]) for hit in answer["hits"]} == {"temp.py"}
    assert run(["search", "scale", "--in", str(project), "--language", "Klingon"]) == 2
    assert "'Klingon' is no language; there are c, cpp" in capsys.readouterr().err
    assert run(["search", "scale", "--in", str(project), "--kind", "Klass"]) == 2
    assert "'Klass' is no kind; there are File" in capsys.readouterr().err


def test_two_at_once_do_each_other_no_harm(project: Path, tmp_path: Path) -> None:
    """Whoever else has the index open, as a running server has, neither waits for ever nor loses anything."""
    for number in range(40):
        (project / f"more{number}.py").write_text(f"def made_{number}(): pass\n")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "LOCALAPPDATA": str(tmp_path / "cache")}
    command = [sys.executable, "-I", "-m", "headway"]
    running = [
        subprocess.Popen([*command, *rest], env=environment, stdout=subprocess.PIPE, text=True)
        for rest in (["index", str(project)], ["index", str(project)], ["search", "made_7", "--in", str(project)])
    ]
    said = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert said[0].startswith(f"{project}: 41 files")
    assert said[1].startswith(f"{project}: 41 files")
    assert said[2].splitlines()[0].startswith("more7.py:1: made_7")


def test_search_asks_the_endpoint_whose_vectors_are_there_for_the_query_and_for_nothing_else(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the server has made is searched; nothing is sent but the query, and nothing at all with `--no-meaning`."""

    async def served(peer: Peer) -> None:
        place = Place(project.parent)
        place.root, place.folders = project, (place.folder(project),)
        place.ask_of(peer)
        async with place.searching():
            await place.stands("complete")

    (project / "lot.py").write_text("def park(car):\n    return car\n")
    cache = tmp_path / "cache"
    monkeypatch.setenv(KEY_VARIABLE, "the key")
    with endpoint() as peer:
        asyncio.run(served(peer))
        (project / "new.py").write_text("def unseen():\n    pass\n")
        peer.texts.clear()
        query = SearchQuery(text="automobile", limit=2)
        assert search(query, project, cache, as_json=True) == 0
        hits = json.loads(capsys.readouterr().out)["hits"]
        assert [(hit["name"], hit["why"]) for hit in hits] == [("lot", "semantic"), ("park", "semantic")]
        assert peer.texts == ["automobile"]
        assert "Bearer the key" in peer.keys
        assert search(query, project, cache, by_meaning=False) == 1
        assert peer.texts == ["automobile"]
    assert search(query, project, cache) == 1  # the endpoint is away: names and words are searched
    assert "Traceback" not in capsys.readouterr().err
