"""The set of questions that search is measured with."""

from pathlib import Path

import pytest

from tests.bench import quality

SAID = 'def park(spot):\n    """Put a waiting vehicle into some spot."""\n    return spot\n'


def test_questions_come_from_the_parts_that_are_named(tmp_path: Path) -> None:
    for part in ("one", "two"):
        (tmp_path / "source" / part).mkdir(parents=True)
        (tmp_path / "source" / part / f"{part}.py").write_text(SAID)
    questions, places = quality._corpus(tmp_path / "source", ["one"], tmp_path / "w")
    assert [(question.path, question.name) for question in questions] == [("one/one.py", "park")]
    assert "vehicle" not in places[0].text


@pytest.mark.parametrize("parts", [["here", "nowhere"], ["here", "empty"], ["dumb"], []])
def test_parts_that_ask_nothing_are_said_to(tmp_path: Path, parts: list[str]) -> None:
    for part in ("here", "empty", "dumb"):
        (tmp_path / "source" / part).mkdir(parents=True)
    (tmp_path / "source" / "dumb" / "a.py").write_text("def park(spot): return spot\n")
    if parts:
        (tmp_path / "source" / "here" / "a.py").write_text(SAID)
    said = "HEADWAY_QUALITY_PARTS" if len(parts) < 2 else f"no code in {parts[1]}: "
    with pytest.raises(SystemExit, match=said):
        quality._corpus(tmp_path / "source", parts, tmp_path / "w")
