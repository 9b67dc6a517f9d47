"""A program that merely starts another Python (a shim of pyenv, a script of one line): which one, it says itself.

It is run for that, so only where the workspace is trusted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from headway.scheduler.executors.children import PriorityClass, ProgramMissingError, clean_environment, run

_QUESTION: Final = "import sys; sys.stdout.buffer.write(sys.prefix.encode('utf-8', 'surrogateescape'))"
_LIMIT_S: Final = 10.0
_LONGEST_ANSWER_BYTES: Final = 8192


async def started_prefix(program: str, cwd: Path) -> Path | None:
    """Run a launcher; return the prefix of the Python that it starts, None where it starts none within ten seconds.

    Args:
        program: Absolute path.
        cwd: Where it is run: what pyenv starts depends on the folder. Nothing of the folder is imported.
    """
    try:
        done = await run(
            [program, "-I", "-c", _QUESTION],
            cwd=cwd,
            env=clean_environment(),
            priority_class=PriorityClass.INTERACTIVE,
            timeout_s=_LIMIT_S,
            max_output_bytes=_LONGEST_ANSWER_BYTES,
        )
    except ProgramMissingError:
        return None
    prefix = Path(done.stdout.decode("utf-8", "surrogateescape"))
    usable = done.returncode == 0 and not done.timed_out and not done.truncated and prefix.is_absolute()
    return prefix if usable else None
