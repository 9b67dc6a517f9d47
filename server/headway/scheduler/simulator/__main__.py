"""`python -m headway.scheduler.simulator`: virtual days on machines of several sizes, as tables on stdout.

Exit code 1 where the default policy does not keep what it owes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from headway.scheduler.model import Priority
from headway.scheduler.simulator.days import day, flood, overload, siege
from headway.scheduler.simulator.drive import Simulation
from headway.scheduler.simulator.policies import ALONE, OURS, POLICIES
from headway.scheduler.simulator.recorded import read_day
from headway.scheduler.simulator.report import (
    JUDGED,
    LEAST_GOODPUT,
    ClassRow,
    Summary,
    faults,
    goodput_kept,
    summary,
    table,
)
from headway.scheduler.simulator.work import Request, of_priority


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print it; return the exit code."""
    options = _parser().parse_args(argv)
    said: list[str] = []
    days = [(path, read_day(path.read_text(encoding="utf-8").splitlines())) for path in options.recorded]
    for cores in options.cores:
        for path, recorded in days:
            title = f"{cores:g} cores, {path.stem}: {recorded.lasts_s:.0f} s recorded on {recorded.cores:g} cores"
            said += _compare(title, cores, recorded.requests, options.policies, judged=JUDGED)
        for seed in range(options.seed, options.seed + options.days):
            requests = day(seed, cores, options.hours)
            title = f"{cores:g} cores, {options.hours:g} hours of work, seed {seed}"
            said += _compare(title, cores, requests, options.policies, judged=JUDGED)
        seconds = options.overload
        if seconds <= 0:
            continue
        title = f"{cores:g} cores, three times the load for {seconds:g} s"
        requests = overload(options.seed, cores, seconds)
        said += _compare(title, cores, requests, options.policies, until_s=seconds, keeps_goodput=True)
        said += _flood(options.seed, cores, seconds)
        title = f"{cores:g} cores, CRITICAL and HIGH without end for {seconds:g} s"
        requests = siege(options.seed, cores, seconds)
        said += _compare(title, cores, requests, options.policies, until_s=seconds)
    for one in said:
        sys.stdout.write(f"NOT KEPT: {one}\n")
    if not said:
        sys.stdout.write(
            "All kept: CRITICAL and HIGH within 5 % of the bound, HIGH 90 % of its goodput at three times the load, "
            "BATCH at least 5 % of a core.\n"
        )
    return 1 if said else 0


def _compare(
    title: str,
    cores: float,
    requests: Sequence[Request],
    policies: Sequence[str],
    *,
    until_s: float | None = None,
    judged: Sequence[Priority] = (),
    keeps_goodput: bool = False,
) -> list[str]:
    """Print the table of one list of requests; return what the default policy did not keep."""
    bounds: dict[Priority, ClassRow] = {}
    for priority in Priority:
        alone = Simulation(ALONE, cores, of_priority(requests, [priority])).run(until_s)
        bounds[priority] = summary("bound", alone).classes[priority]
    found = [summary(name, Simulation(POLICIES[name], cores, requests).run(until_s)) for name in policies]
    sys.stdout.write(table(title, found, bounds) + "\n\n")
    sys.stdout.flush()
    ours = [one for one in found if one.policy == OURS.name]
    said = [f"{title}: {fault}" for one in ours for fault in faults(one, bounds, judged)]
    if keeps_goodput:
        usual = bounds[Priority.HIGH]
        sys.stdout.write(f"  goodput of HIGH beside what it is alone: {_kept(found, usual)}\n\n")
        said += _too_little(title, ours, usual)
    return said


def _flood(seed: int, cores: float, seconds: float) -> list[str]:
    """Compare HIGH's goodput at three times the load that the machine can carry with that at this load."""
    title = f"{cores:g} cores, HIGH alone at three times the load for {seconds:g} s"
    usual = summary("usual", Simulation(OURS, cores, flood(seed, cores, seconds, times=1.0)).run(seconds))
    requests = flood(seed, cores, seconds)
    found = [summary(policy.name, Simulation(policy, cores, requests).run(seconds)) for policy in POLICIES.values()]
    kept = _kept(found, usual.classes[Priority.HIGH])
    sys.stdout.write(f"{title}: goodput beside ours at once the load: {kept}\n\n")
    ours = [one for one in found if one.policy == OURS.name]
    return _too_little(title, ours, usual.classes[Priority.HIGH])


def _kept(found: Sequence[Summary], usual: ClassRow) -> str:
    shares = ((one.policy, goodput_kept(one, usual)) for one in found)
    return ", ".join(f"{name} {share:.1%}" for name, share in shares if share is not None)


def _too_little(title: str, ours: Sequence[Summary], usual: ClassRow) -> list[str]:
    return [
        f"{title}: HIGH keeps {kept:.1%} of its goodput (owed {LEAST_GOODPUT:.0%})"
        for one in ours
        if (kept := goodput_kept(one, usual)) is not None and kept < LEAST_GOODPUT
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m headway.scheduler.simulator", description=__doc__)
    parser.add_argument("--cores", type=_numbers, default=[1.0, 2.0, 8.0, 64.0], help="machines: 1,2,8,64")
    parser.add_argument("--hours", type=float, default=8.0, help="length of a day")
    parser.add_argument("--days", type=int, default=1, help="days for each machine, each with a seed of its own")
    parser.add_argument("--recorded", type=Path, nargs="*", default=[], metavar="FILE", help="days that were recorded")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--overload", type=float, default=60.0, help="seconds of it; 0: none")
    parser.add_argument("--policies", type=_names, default=list(POLICIES), help=",".join(POLICIES))
    return parser


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split(",")]


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in POLICIES]
    if unknown:
        raise argparse.ArgumentTypeError(f"no policy is named {unknown[0]!r}; there are {', '.join(POLICIES)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
