"""Steps for worker processes of the benchmarks; importing this costs them nothing."""

import time


def burn(duration_s: float) -> int:
    """Compute for a while, in Python."""
    until_s = time.monotonic() + duration_s
    turns = 0
    while time.monotonic() < until_s:
        turns += 1
    return turns
