"""`make bench [ARGS='NAME… [--before FILE]']`: runs the benchmarks of this folder and prints their figures.

A benchmark is a module here with a function `bench() -> Iterable[Figure]`. Figures are kept in `artifacts/bench.json`;
give an earlier such file as `--before` to see ratios.
"""

import argparse
import importlib
from pathlib import Path

from tests.bench import frame

FOLDER = Path(__file__).parent
RESULT = FOLDER.parent.parent / "artifacts" / "bench.json"


def benchmarks() -> list[str]:
    """The names that can be run."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if "\ndef bench(" in path.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description="Measure; figures count as ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(benchmarks())}; all without")
    parser.add_argument("--before", type=Path, metavar="FILE", help="figures of an earlier run to compare with")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(benchmarks()))
    if unknown:
        parser.error(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(benchmarks())}")
    before = frame.load(options.before) if options.before else {}
    speed_s = frame.machine_s()
    figures: list[frame.Figure] = []
    for name in options.names or benchmarks():
        print(f"measuring {name}", flush=True)
        figures += importlib.import_module(f"tests.bench.{name}").bench()
    print(frame.table(figures, speed_s, before))
    frame.save(RESULT, figures, speed_s)
    print(f"kept in {RESULT.relative_to(FOLDER.parent.parent)}")


if __name__ == "__main__":
    main()
