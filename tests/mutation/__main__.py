"""`make mutation ARGS='queues'`: break functions of the scheduler's core, one thing at a time; do its tests notice?

Prints the mutants that no test noticed, and per module the share that was noticed. It is a sample by a fixed seed, so
that two runs try the same; `--all` tries every one. Not zero: a module's share is below four fifths.
"""

import argparse
import importlib
import os
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path

import hypothesis
import pytest

from tests.mutation.operators import Mutant, broken, sites
from tests.mutation.trial import KILLED, SLOW, Trial, Trials

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "headway.scheduler"
MODULES = (
    "core", "jobs", "flow", "endings", "limits", "book", "records", "graph", "sweeps",
    "queues", "strategies", "admission", "yielding", "standback", "credit", "resources", "gpus",
    "retry", "attempts", "timeouts",
)  # fmt: skip
# Tests of the pure core only: they take milliseconds, and nothing of theirs outlives a trial.
TESTS = tuple(
    f"test_{name}.py"
    for name in ("parts", "room", "inputs", "core", "edges", "traps", "switches", "asked", "sweeps", "machine")
)
LEAST_SCORE = 0.8


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutation", description="Do tests notice when the core is broken?")
    parser.add_argument("modules", nargs="*", help=f"of {', '.join(MODULES)}; without: all")
    parser.add_argument("--sample", type=int, default=60, help="mutants of a module at most (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", help="only those of these lines: 10-40")
    parser.add_argument("--examples", type=int, default=20, help="of hypothesis, where a test does not say")
    parser.add_argument("--limit", type=int, default=40, help="seconds of processor time for a mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    if unknown := set(options.modules) - set(MODULES):
        parser.error(f"{', '.join(sorted(unknown))}: not among {', '.join(MODULES)}")
    _same_examples_every_time(options.examples)
    chosen = {f"{PACKAGE}.{name}": _chosen(name, options) for name in options.modules or MODULES}
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def told(trial: Trial) -> None:
        counts[trial.module][trial.verdict] += 1
        if trial.verdict != KILLED:
            name = trial.module.rpartition(".")[2]
            print(f"{trial.verdict}: {name}.py:{trial.mutant.site.line}: {trial.mutant.change}", flush=True)

    tests = [str(ROOT / "tests" / "scheduler" / name) for name in TESTS]
    plugin = Trials(chosen, told, examples=options.examples, limit_s=options.limit, jobs=options.jobs)
    # That the scheduler and hypothesis are here before pytest is meant.
    quiet = ("-o", "addopts=--import-mode=importlib", "-p", "no:cacheprovider", "-p", "no:terminal")
    ended = pytest.main([*quiet, "-W", "ignore::pytest.PytestAssertRewriteWarning", *tests], plugins=[plugin])
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return 2
    return _report(counts)


def _same_examples_every_time(examples: int) -> None:
    hypothesis.settings.register_profile(
        "mutation",
        max_examples=examples,
        database=None,
        derandomize=True,
        deadline=None,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("mutation")


def _chosen(name: str, options: argparse.Namespace) -> list[Mutant]:
    file = importlib.import_module(f"{PACKAGE}.{name}").__file__
    assert file is not None
    source = Path(file).read_text()
    found = sites(source)
    if options.lines:
        first, _, last = options.lines.partition("-")
        found = [site for site in found if int(first) <= site.line <= int(last or first)]
    if not options.all and len(found) > options.sample:
        picked = random.Random(options.seed).sample(range(len(found)), options.sample)
        found = [found[index] for index in sorted(picked)]
    return [broken(source, site) for site in found]


def _report(counts: dict[str, Counter[str]]) -> int:
    """Print a line per module; return 1 where one is below LEAST_SCORE."""
    rows = {module.rpartition(".")[2]: found for module, found in counts.items()}
    total = sum(rows.values(), Counter[str]())
    print(f"{'module':<12}{'mutants':>8}{'noticed':>8}{'score':>7}")
    for name, found in [*rows.items(), ("all", total)]:
        tried, noticed = found.total(), found[KILLED] + found[SLOW]
        print(f"{name:<12}{tried:>8}{noticed:>8}{noticed / max(1, tried):>7.0%}")
    return int(any(found[KILLED] + found[SLOW] < LEAST_SCORE * found.total() for found in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
