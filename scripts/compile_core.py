"""The scheduler's pure core as a compiled copy of the package in `build/compiled`: for who counts microseconds.

`PYTHONPATH=build/compiled` in front of anything uses it. The sources are the same and stay beside it; nothing depends
on it. Compiled is what decides (mypyc, which comes with mypy), not what runs user code. It needs a C compiler.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT = ROOT / "build" / "compiled"
# Not among them: descriptions and events (dataclasses gain nothing), and what has async generators.
MODULES = (
    "admission", "attempts", "book", "calls", "core", "courier", "credit", "endings", "engine", "errand",
    "errands", "executors/base", "flow", "graph", "jobs", "limits", "outbox", "overload", "queues", "reasons",
    "records", "resources", "retry", "standback", "strategies", "sweeps", "tally", "timeouts", "yielding",
)  # fmt: skip


def main() -> int:
    """Build; the exit code is that of mypyc."""
    shutil.rmtree(BUILT, ignore_errors=True)
    shutil.copytree(ROOT / "server" / "headway", BUILT / "headway", ignore=shutil.ignore_patterns("__pycache__"))
    sources = [f"headway/scheduler/{name}.py" for name in MODULES]
    mypyc = Path(sys.executable).parent / "mypyc"
    told = subprocess.run(
        [str(mypyc), "--strict", *sources],
        cwd=BUILT,
        env={**os.environ, "MYPYC_OPT_LEVEL": "2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if told.returncode:
        print(told.stdout)
        return told.returncode
    print(f"built; use it with PYTHONPATH={BUILT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
