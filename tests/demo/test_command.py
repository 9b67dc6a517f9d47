"""The whole demo against a server of known behaviour: what is shown, and what the exit code says."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from headway.demo.command import main
from headway.demo.figures import figures_by_when
from headway.demo.screen import LiveScreen, Scene, line, picture, screen_for
from headway.demo.statements import Statement
from headway.demo.typist import Pace, Sight

Scripted = Callable[[str], tuple[str, ...]]
QUICK = Pace(key_s=0.005, pause_s=0.0, patience_s=0.2, start_s=0.0)
ARGUMENTS = ("--statements", "4")


def show(mode: str, path: Path, scripted: Scripted) -> tuple[int, str]:
    """Run the demo as a pipe would see it."""
    out = io.StringIO()
    console = Console(file=out, width=140, highlight=False)
    code = main([str(path), *ARGUMENTS], server=scripted(mode), console=console, pace=QUICK)
    return code, out.getvalue()


def test_a_good_server_ends_with_the_table_and_zero(shop: Path, scripted: Scripted) -> None:
    code, text = show("good", shop, scripted)
    assert code == 0, text
    assert "typing while the index is being built" in text
    assert "BATCH 3 waiting 1 running" in text
    assert "3 files" in text
    assert re.search(r"the index was asked for [2-9] times", text)
    assert "all as it must be" in text


@pytest.mark.parametrize(
    ("mode", "code", "words"),
    [
        ("empty", 1, "lists held the known name, fewer than 80%"),
        ("errors", 1, "keys had no list at all"),
        ("silent", 1, "keys had no list at all"),
        ("dies", 2, "exit code 7"),
        ("garbage", 2, "is no message"),
        ("refuses", 2, "not today"),
    ],
)
def test_what_is_wrong_is_said_and_shows_in_the_exit_code(
    mode: str, code: int, words: str, shop: Path, scripted: Scripted
) -> None:
    seen, text = show(mode, shop, scripted)
    assert seen == code, text
    assert words in text


def test_a_folder_with_too_little_is_refused(tmp_path: Path, scripted: Scripted) -> None:
    (tmp_path / "only.py").write_text("x = 1\n", encoding="utf-8")
    code, text = show("good", tmp_path, scripted)
    assert code == 2
    assert "0 statements" in text


def test_nothing_of_the_project_is_changed(shop: Path, scripted: Scripted) -> None:
    before = {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()}
    show("good", shop, scripted)
    assert {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()} == before


STATEMENT = Statement(
    file="a/b.py", line=4, column=4, text="self.wan", label="wanted", known_from=5, kind="own"
)  # fmt: skip
SCENE = Scene(
    project="django",
    phase="typing",
    server="headway 1",
    queue_state={
        "queues": {"CRITICAL": {"queued": 0, "running": 1}, "BATCH": {"queued": 412, "running": 1}},
        "running": [{"name": "index models.py", "priority": "BATCH", "elapsedMs": 12.5}],
        "jobs": [{"type": "index", "title": "Index django", "progress": 0.42, "done": 12, "total": 29}],
    },
    sight=Sight(statement=STATEMENT, typed="self.w", labels=("wanted", "warned"), hit=True),
    by_when=figures_by_when([]),
)


def test_the_picture_shows_queues_work_index_and_lists() -> None:
    console = Console(file=io.StringIO(), width=110, record=True)
    console.print(picture(SCENE))
    text = console.export_text()
    for words in (
        "412",
        "BATCH index models.py 12 ms",
        "42% Index django",
        "a/b.py:5",
        "self.w",
        "→ wanted",
        "warned",
    ):
        assert words in text
    assert text.count("\n") <= 24


def test_the_picture_needs_no_state_yet() -> None:
    console = Console(file=io.StringIO(), width=80, record=True)
    console.print(
        picture(Scene(**{**{f: getattr(SCENE, f) for f in SCENE.__slots__}, "queue_state": {}, "sight": None}))
    )
    assert "nothing to do" in console.export_text()


def test_the_line_names_what_waits() -> None:
    assert line(SCENE) == ("typing: CRITICAL 0 waiting 1 running · BATCH 412 waiting 1 running · index 42%")


def test_a_terminal_gets_a_picture_in_place() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=40, legacy_windows=False)
    with screen_for(console) as screen:
        assert isinstance(screen, LiveScreen)
        screen.show(SCENE)
        screen.show(SCENE)  # Too soon: the same picture is not drawn twice.
        screen.say("a line that stays")
    assert out.getvalue().count("412") <= 3  # Once, below the line, and at the end
    assert "a line that stays" in out.getvalue()
