"""Figures are compared as ratios to the machine's speed."""

from pathlib import Path
from typing import Literal

import pytest

from tests.bench.frame import Figure, load, machine_s, normal, save, table

TIME = Figure(name="wait", value=0.02, unit="s")
RATE = Figure(name="files", value=1000.0, unit="per_s", better="higher")
SHARE = Figure(name="recall", value=0.9, unit="share", better="higher")


@pytest.mark.parametrize(("figure", "expected"), [(TIME, 2.0), (RATE, 10.0), (SHARE, 0.9)])
def test_a_slower_machine_gives_the_same_normal_value(figure: Figure, expected: float) -> None:
    assert normal(figure, 0.01) == pytest.approx(expected)
    twice_as_slow = {"s": 2.0, "per_s": 0.5}.get(figure.unit, 1.0)
    slower = Figure(name=figure.name, value=figure.value * twice_as_slow, unit=figure.unit)
    assert normal(slower, 0.02) == pytest.approx(expected)


def test_the_table_shows_ratios_to_an_earlier_run(tmp_path: Path) -> None:
    save(tmp_path / "deep" / "before.json", [TIME, RATE], 0.01)
    before = load(tmp_path / "deep" / "before.json")
    lines = table([Figure(name="wait", value=0.03, unit="s"), RATE, SHARE], 0.01, before).splitlines()
    assert lines[1].split() == ["wait", "30.00", "ms", "3", "2", "1.50", "worse"]
    assert lines[2].split()[-1] == "1.00"
    assert lines[3].split() == ["recall", "0.9", "share", "0.9"]


@pytest.mark.parametrize(
    ("value", "better", "word"), [(5.0, "lower", "met"), (5.1, "lower", "missed"), (5.1, "higher", "met")]
)
def test_a_target_stands_beside_its_figure(value: float, better: Literal["lower", "higher"], word: str) -> None:
    figure = Figure(name="x", value=value, unit="share", better=better, target=5.0)
    assert table([figure], 0.01, {}).splitlines()[1].split()[-3:] == ["<=" if better == "lower" else ">=", "5", word]


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[]", encoding="utf-8")
    with pytest.raises(SystemExit, match="holds no figures"):
        load(tmp_path / "other.json")


def test_the_machine_takes_time() -> None:
    assert machine_s(repeats=1) > 0


@pytest.mark.parametrize(
    ("better", "value", "verdict"),
    [("higher", 0.5, "worse"), ("higher", 2.0, "better"), ("lower", 0.5, "better"), ("lower", 1.1, "1.10")],
)
def test_which_way_is_better_decides(better: Literal["lower", "higher"], value: float, verdict: str) -> None:
    figure = Figure(name="x", value=value, unit="share", better=better)
    assert table([figure], 0.01, {"x": 1.0}).splitlines()[1].split()[-1] == verdict
