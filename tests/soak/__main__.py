"""`make soak MINUTES=n`: a real server under mixed load, with random kills and cancels. Not zero: something was lost.

Two rounds of load with a quiet moment after each. What the server holds in the second quiet is compared with the first,
so that caches that fill once are no leak. In between every request is accounted for.
"""

import argparse
import asyncio
import collections
import contextlib
import random
import re
import sys
import tempfile
import time
from pathlib import Path

import psutil

from headway.demo.errors import DemoError
from tests.soak import census, workspace
from tests.soak.actors import SETTINGS, CountingClient, Load
from tests.soak.ledger import Ledger

SERVER = (sys.executable, "-m", "headway", "serve", "--stdio", "--enable-probes")
QUIET_S = 120.0
GONE_S = 10.0
STALL = re.compile(r"the event loop did not turn for \d+ ms: (.*)")
FIRST_ROUND = 0.4  # of the time


async def soak(minutes: float, seed: int, scratch: Path) -> list[str]:
    """Run it; return what went wrong."""
    root = scratch / "workspace"
    files = workspace.make(root, random.Random(seed))
    log = scratch / "server.log"
    ledger = Ledger()
    began_s = time.monotonic()
    # A home of its own: nothing of the person's caches is used or left.
    client = await CountingClient.start(
        SERVER, root=root, log=log, env={"HOME": str(scratch), "XDG_CACHE_HOME": str(scratch / "cache")}
    )
    faults: list[str] = []
    family: list[psutil.Process] = []
    try:
        await client.initialize({"cacheDir": str(scratch / "cache"), "settings": SETTINGS})
        load = Load(client, root, files, ledger, seed)
        counts = []
        for share in (FIRST_ROUND, 1 - FIRST_ROUND):
            await load.run(minutes * 60 * share)
            snapshot = await load.quiet(QUIET_S)
            for name, resource in snapshot["resources"].items():
                if resource["used"]:
                    ledger.fault("resources held in quiet", f"{name} {resource['used']}")
            counts.append(census.take(client.pid))
            print(f"quiet after {time.monotonic() - began_s:.0f} s: {counts[-1]}", flush=True)
        faults += census.leaks(*counts)
        family = psutil.Process(client.pid).children(recursive=True)
    except* DemoError as errors:
        faults += [str(error) for error in errors.exceptions]
    finally:
        code = await client.close(grace_s=GONE_S)
    if code != 0:
        faults.append(f"the server ended with {code} instead of 0; the end of its log:\n{client.log_tail()}")
    _, alive = psutil.wait_procs(family, timeout=GONE_S)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            faults.append(f"process {process.pid} outlived the server: {' '.join(process.cmdline())[:100]}")
            process.kill()
    if client.unasked:
        faults.append(f"{client.unasked} answers that nobody was waiting for")
    print(ledger.table())
    print("counts:", ", ".join(f"{name} {count}" for name, count in sorted(ledger.counts.items())))
    stalls = STALL.findall(log.read_text(errors="replace"))
    print(f"stretches of 100 ms in which the loop did not turn: {len(stalls)}")
    for culprit, count in collections.Counter(stalls).most_common():
        print(f"  {count} x {culprit}")
    return faults + ledger.faults()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make soak", description="Load a server and look for leaks and losses.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headway-soak-", ignore_cleanup_errors=True) as folder:
        faults = asyncio.run(soak(options.minutes, options.seed, Path(folder).resolve()))
    for fault in faults:
        print(f"FAULT: {fault}")
    print("soak: nothing lost, nothing leaked" if not faults else f"soak: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
