"""The command `headway`: isolation from the user's Python, arguments, logging set-up. Everything else is elsewhere.

Nothing but the standard library's smallest parts is imported before the process is isolated: a `PYTHONPATH`, a user
site or a working directory with modules of its own must not decide what this program is made of.
"""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Run the command named by the arguments and return its exit code."""
    if not sys.flags.isolated:
        _isolate()
    from headway.cli.commands import run

    return run(sys.argv[1:])


def _isolate() -> None:
    """Become the same command in an interpreter that looks at nothing of the user's."""
    program = sys.executable
    if not program:
        sys.stderr.write("headway: this interpreter does not know its own path; run it as `python -I -m headway`\n")
        raise SystemExit(2)
    arguments = [program, "-I", "-m", "headway", *sys.argv[1:]]
    if os.name == "posix":
        os.execv(program, arguments)
    # Elsewhere exec would leave the caller with a process that has ended; a child in between keeps pipes and exit code.
    import subprocess

    raise SystemExit(subprocess.call(arguments))
