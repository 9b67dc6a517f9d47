"""Says of a report of coverage.py (`coverage json -o -`, on stdin) which share of the branches was taken.

Lines and branches together, which is what coverage's own total counts, hide how many conditions only ever went one way.

Usage: branches.py [LEAST]
    LEAST: percent; with fewer branches taken it exits with 1.
"""

from __future__ import annotations

import json
import sys

LOWEST = 10


def share(covered: int, branches: int) -> float:
    """Return percent; what has no branches has taken all of them."""
    return 100.0 * covered / branches if branches else 100.0


def main(arguments: list[str]) -> int:
    report = json.load(sys.stdin)
    files = {path.partition("scheduler/")[2] or path: found["summary"] for path, found in report["files"].items()}
    taken = {name: share(found["covered_branches"], found["num_branches"]) for name, found in files.items()}
    print("branches alone, lowest first:")
    for name in sorted(taken, key=taken.__getitem__)[:LOWEST]:
        print(f"  {taken[name]:5.1f} %  {files[name]['covered_branches']} of {files[name]['num_branches']}  {name}")
    totals = report["totals"]
    covered, branches = totals["covered_branches"], totals["num_branches"]
    print(f"branches alone: {share(covered, branches):.1f} % ({covered} of {branches})")
    return int(bool(arguments) and share(covered, branches) < float(arguments[0]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
