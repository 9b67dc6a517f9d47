"""The command line of the demo: prepares the project, runs, prints the report, decides the exit code."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from headway.demo import project
from headway.demo.errors import DemoError, ProjectError
from headway.demo.figures import Report, shortcomings
from headway.demo.run import Plan, run
from headway.demo.screen import report_table, screen_for
from headway.demo.sources import Sources
from headway.demo.statements import choose
from headway.demo.typist import Pace

SERVER = (sys.executable, "-I", "-m", "headway", "serve", "--stdio")
STATEMENTS = 20  # of each half
FEWEST = 4  # of each half: below, the shares say nothing
SEED = 1


def main(
    arguments: Sequence[str],
    *,
    server: Sequence[str] = SERVER,
    console: Console | None = None,
    pace: Pace | None = None,
) -> int:
    """Run the demo; the defaults are the installed server, standard output and a quick typist.

    Returns:
        0 if the completions were right and the index was finished; 1 if not; 2 if it could not be carried out; 130 if
        it was interrupted.
    """
    options = _parser().parse_args(arguments)
    console = console or Console(highlight=False)
    try:
        report = _demo(options, server, console, pace or Pace())
    except DemoError as error:
        console.print(f"The demo could not go on: {error}", style="red", markup=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        console.print("interrupted")
        return 130
    console.print(report_table(report))
    wrong = shortcomings(report)
    for words in wrong:
        console.print(f"not as it must be: {words}", style="red", markup=False, soft_wrap=True)
    if not wrong:
        console.print("all as it must be: completions right while indexing and idle, index complete", style="green")
    return 1 if wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headway demo",
        description="Show the server at work: index a real code base while real statements are typed in it.",
    )
    parser.add_argument(
        "path", nargs="?", type=Path, help=f"a folder with Python code (default: {project.REQUIREMENT})"
    )
    parser.add_argument(
        "--statements", type=int, default=STATEMENTS, metavar="N", help=f"typed in each half (default {STATEMENTS})"
    )
    return parser


def _demo(options: argparse.Namespace, server: Sequence[str], console: Console, pace: Pace) -> Report:
    with tempfile.TemporaryDirectory(prefix="headway-demo-", ignore_cleanup_errors=True) as folder:
        # Resolved: the server may name files by where they really are.
        scratch = Path(folder).resolve()
        with screen_for(console) as screen:
            if options.path is None:
                screen.say(f"sources of {project.REQUIREMENT}, as data, in {project.cache_folder()}")
                source, name = project.fetch(project.cache_folder()), project.REQUIREMENT.replace("==", " ")
            else:
                source, name = options.path.resolve(), options.path.resolve().name
            root = scratch / (source.name or "project")
            count = project.copy(source, root)
            sources = Sources(root)
            chosen = choose(sources, 2 * options.statements, SEED)
            if len(chosen) < 2 * FEWEST:
                raise ProjectError(
                    f"{source} has {len(chosen)} statements whose names its sources prove, at least {2 * FEWEST} are"
                    " needed. Name a larger Python project."
                )
            screen.say(f"{count} Python files, {len(chosen)} statements to type; starting {' '.join(server)}")
            plan = Plan(
                project=name,
                root=root,
                scratch=scratch,
                sources=count,
                server=server,
                during=chosen[0::2],
                idle=chosen[1::2],
                pace=pace,
            )
            return asyncio.run(run(plan, screen.show))
