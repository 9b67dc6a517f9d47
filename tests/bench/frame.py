"""What a benchmark gives and how figures are compared: as ratios, since machines and their moods differ."""

import json
import statistics
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

LOOPS = 300_000
NOISE = 0.15  # a smaller change says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured value. `unit` "s" counts in the machine's speed when compared, others stand as they are.

    `target` is what is promised on a quiet machine, in the same unit: at most, or at least where more is better.
    """

    name: str
    value: float
    unit: Literal["s", "share", "count", "per_s", "MiB"]
    better: Literal["lower", "higher"] = "lower"
    target: float | None = None

    @property
    def met(self) -> bool:
        """Whether the target is reached, where there is one."""
        return self.target is None or (
            self.value <= self.target if self.better == "lower" else self.value >= self.target
        )


def machine_s(repeats: int = 5) -> float:
    """Seconds that this machine takes for a fixed piece of pure Python, the median of some runs: its speed today."""
    taken = []
    for _ in range(repeats):
        started_s = time.perf_counter()
        total = 0
        for number in range(LOOPS):
            total += number % 7
        taken.append(time.perf_counter() - started_s)
    return statistics.median(taken)


def normal(figure: Figure, speed_s: float) -> float:
    """The value as multiples of the machine's own speed, where it is a time or a rate."""
    if figure.unit == "s":
        return figure.value / speed_s
    return figure.value * speed_s if figure.unit == "per_s" else figure.value


def table(figures: Iterable[Figure], speed_s: float, before: Mapping[str, float]) -> str:
    """A line per figure: value, normal value, and the ratio to an earlier normal value of the same name."""
    rows = [("figure", "value", "unit", "normal", "before", "ratio", "", "target")]
    for figure in figures:
        now = normal(figure, speed_s)
        earlier = before.get(figure.name)
        ratio = now / earlier if earlier else None
        gain = 0.0 if ratio is None else (ratio - 1) * (1 if figure.better == "higher" else -1)
        verdict = "better" if gain > NOISE else "worse" if gain < -NOISE else ""
        unit = "ms" if figure.unit == "s" else figure.unit
        compared = ("" if earlier is None else f"{earlier:.4g}", "" if ratio is None else f"{ratio:.2f}", verdict)
        rows.append((figure.name, _written(figure, figure.value), unit, f"{now:.4g}", *compared, _target(figure)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) if column in (0, 2) else cell.rjust(width) for column, (cell, width) in cells)
        for cells in (list(enumerate(zip(row, widths, strict=True))) for row in rows)
    )


def _written(figure: Figure, value: float) -> str:
    return f"{value * 1e3:.2f}" if figure.unit == "s" else f"{value:.4g}"


def _target(figure: Figure) -> str:
    if figure.target is None:
        return ""
    sign = "<=" if figure.better == "lower" else ">="
    return f"{sign} {_written(figure, figure.target)} {'met' if figure.met else 'missed'}"


def save(path: Path, figures: Iterable[Figure], speed_s: float) -> None:
    """Write the normal values, for a later run to compare with."""
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {figure.name: normal(figure, speed_s) for figure in figures}
    path.write_text(json.dumps({"machine_s": speed_s, "normal": values}, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> dict[str, float]:
    """The normal values of an earlier run.

    Raises:
        SystemExit: The file is not one that `save` wrote.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))["normal"]
        return {str(name): float(value) for name, value in values.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(f"{path} holds no figures of an earlier `make bench`: {error!r}") from error
