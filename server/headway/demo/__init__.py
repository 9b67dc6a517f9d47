"""`headway demo`: the main job on a real code base, from outside.

This room is a client like any editor's: it starts the real server as a child, speaks the protocol to it, types real
statements and counts what came back. It imports no other room of ours, so that nothing is proved by inside knowledge.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Carry out `headway demo ARGUMENTS`; returns the exit code, see `command.main`."""
    try:
        from headway.demo.command import main as carry_out
    except ModuleNotFoundError as error:
        if error.name != "rich":
            raise
        print("The demo draws with rich, which is not installed: pip install 'headway[server,demo]'", file=sys.stderr)
        return 2
    return carry_out(arguments)
