"""What each command of `headway` takes, and where it goes on. Only the chosen command's rooms are imported."""

from __future__ import annotations

import argparse
import asyncio
import errno
import importlib.util
import ipaddress
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

_INTERRUPTED = 130  # as of a program that Ctrl+C ended
_UNREAD = 141  # as of a program that wrote to a pipe which nobody reads any more
# How long the loop waits for a thread that computes (sqlite's and psutil's callers do a little) to step aside; the
# interpreter's own 5 ms would be felt.
_SWITCH_S = 0.0005
_DEFAULT_LEVEL = "info"
_LEVELS = ("error", "warning", "info", "debug")


def run(arguments: Sequence[str]) -> int:
    """Carry out a command line; returns the exit code, 2 for one that makes no sense or whose output has no room."""
    _open_what_is_closed()
    try:
        try:
            return _carried_out(arguments)
        finally:
            sys.stdout.flush()  # here, where it can still be said what is wrong
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _write_nowhere()
        return _UNREAD
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EBADF) or error.filename is not None:
            raise
        _write_nowhere()
        sys.stderr.write(f"headway: the output cannot be written: {os.strerror(error.errno)}\n")
        return 2


def _open_what_is_closed() -> None:
    """Where standard streams are closed the next file to be opened would become one, and what is said go into it."""
    for number, mode in ((0, "r"), (1, "w"), (2, "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays for good
            setattr(sys, ("stdin", "stdout", "stderr")[number], stream)


def _write_nowhere() -> None:
    """What could not be written must not be tried again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _carried_out(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["demo"]:  # Its options are its own; argparse would take them for ours.
        from headway.demo import main as demo

        return demo(arguments[1:])
    options = _parser().parse_args(arguments)
    if options.version:
        from importlib.metadata import version

        sys.stdout.write(f"headway {version('headway')}\n")
        return 0
    if options.command in ("serve", "index", "search") and (missing := _missing_packages()):
        sys.stderr.write(
            f"headway: {options.command} needs {', '.join(missing)}, not installed for {sys.executable}. "
            "Install the server's packages: python -m pip install 'headway[server]'\n"
        )
        return 2
    match options.command:
        case "serve":
            return _serve(options)
        case "index":
            from headway.cli.index_commands import index

            return index(options.path)
        case "search":
            return _search(options)
        case "doctor":
            from headway.cli.doctor import doctor

            return doctor(options.path, as_json=options.json, cache_dir=options.cache_dir)
        case _:
            _parser().print_help(sys.stderr)
            return 2


def _missing_packages() -> list[str]:
    """The scheduler alone needs none of these, so they may be missing where Headway is a library."""
    return [name for name in ("msgspec", "pathspec", "tree_sitter") if importlib.util.find_spec(name) is None]


def _search(options: argparse.Namespace) -> int:
    from headway.cli.index_commands import search
    from headway.lsp.search_requests import KIND_NUMBERS
    from headway.session.searching import SearchQuery
    from headway.workspace.scope import KNOWN_LANGUAGES

    numbers = {name.lower(): number for name, number in KIND_NUMBERS.items()}
    unknown = [kind for kind in options.kind if kind.lower() not in numbers]
    if unknown:
        sys.stderr.write(f"headway: {unknown[0]!r} is no kind; there are {', '.join(KIND_NUMBERS)}\n")
        return 2
    strange = [language for language in options.language if language.lower() not in KNOWN_LANGUAGES]
    if strange:
        sys.stderr.write(f"headway: {strange[0]!r} is no language; there are {', '.join(KNOWN_LANGUAGES)}\n")
        return 2
    query = SearchQuery(
        text=options.query,
        limit=options.limit,
        path=options.glob,
        kinds=frozenset(numbers[kind.lower()] for kind in options.kind),
        languages=frozenset(language.lower() for language in options.language),
    )
    return search(query, options.path, as_json=options.json, by_meaning=not options.no_meaning)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="headway", description="A language server that works ahead and out of the way."
    )
    parser.add_argument("--version", action="store_true", help="print the version and end")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    serve = commands.add_parser("serve", help="run the language server", description="Run the language server.")
    transport = serve.add_mutually_exclusive_group()
    transport.add_argument("--stdio", action="store_true", help="talk over standard input and output (the default)")
    transport.add_argument(
        "--tcp", type=_loopback, metavar="HOST:PORT", help="wait for one client on a loopback address, for debugging"
    )
    serve.add_argument("--enable-probes", action="store_true", help="let clients submit probes, work of known cost")
    serve.add_argument("--log-file", type=_path, metavar="PATH", help="log to this file instead of standard error")
    serve.add_argument("--log-level", choices=_LEVELS, help="how much to log (default: info, or $HEADWAY_LOG_LEVEL)")
    index = commands.add_parser(
        "index",
        help="index a folder, as the server does",
        description="Bring the index of a folder up to date: what is unchanged is not read again.",
    )
    index.add_argument("path", type=_path, nargs="?", default=Path(), metavar="PATH", help="the folder (default: this)")
    search = commands.add_parser(
        "search",
        help="search a folder's definitions by name, by words and, where there are vectors, by meaning",
        description="Write the definitions that answer a query, best first; the exit code is 1 where there are none.",
    )
    search.add_argument("query", metavar="QUERY", help="a name, a part of one, or words of what it does")
    search.add_argument(
        "--in", dest="path", type=_path, default=Path(), metavar="PATH", help="the folder (default: this)"
    )
    search.add_argument("--path", dest="glob", metavar="GLOB", help="only files that match, as in .gitignore")
    search.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="KIND",
        help="only such symbols, as Class or Method; may be repeated",
    )
    search.add_argument(
        "--language",
        action="append",
        default=[],
        metavar="LANGUAGE",
        help="only files in this language, as python or typescript; may be repeated",
    )
    search.add_argument(
        "--no-meaning",
        action="store_true",
        help="ask no embeddings endpoint; else the one whose vectors are there is asked for the query's "
        "(its key: $HEADWAY_EMBEDDINGS_KEY)",
    )
    search.add_argument("--json", action="store_true", help="write one JSON object, for programs")
    search.add_argument(
        "--limit", type=_count, default=20, metavar="N", help="at most so many, 200 at most (default: 20)"
    )
    doctor = commands.add_parser(
        "doctor",
        help="say what is found, what is missing and how to mend it",
        description="Look at everything that the server needs; the exit code is 1 where something is to be mended.",
    )
    doctor.add_argument(
        "path", type=_path, nargs="?", default=Path(), metavar="PATH", help="the project (default: this)"
    )
    doctor.add_argument("--json", action="store_true", help="write one JSON object, for programs")
    doctor.add_argument("--cache-dir", type=_path, metavar="PATH", help="where the editor keeps its indexes")
    commands.add_parser("demo", help="show the server at work on a code base", add_help=False)
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _path(text: str) -> Path:
    """Read a path; of an empty one, which a variable without a value leaves, nobody means the present folder."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty; '.' is the present folder")
    return Path(text)


def _loopback(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.strip("[]")
    if not colon or not port.isdigit() or not 0 <= int(port) < 65_536:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT; try 127.0.0.1:0")
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise argparse.ArgumentTypeError(f"{host!r} is no loopback address; use 127.0.0.1, ::1 or localhost")
    return host, int(port)


def _serve(options: argparse.Namespace) -> int:
    from headway.scheduler import late_classes

    late_classes.install()  # before the modules that define classes are imported
    from headway.lsp import logs
    from headway.lsp.streams import stdio_streams, tcp_streams

    said_level, log_file = _log_settings(options)
    level = said_level or _DEFAULT_LEVEL
    if options.tcp is None:
        # From here on descriptor 1 is the log: nothing but the protocol's writer knows where the wire is.
        streams = stdio_streams()
        pump = logs.start(level=level, log_file=log_file)
    else:
        pump = logs.start(level=level, log_file=log_file)
        try:
            streams = tcp_streams(*options.tcp)
        except OSError as error:
            host, port = options.tcp
            reason = os.strerror(error.errno) if error.errno else str(error)
            sys.stderr.write(f"headway: cannot wait on {host}:{port}: {reason}. Take 127.0.0.1:0 for a free port.\n")
            pump.close()
            return 2
    from headway.lsp.server import serve
    from headway.scheduler.executors.launch import take_short_turns

    sys.setswitchinterval(_SWITCH_S)
    take_short_turns()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        code = runner.run(serve(streams, probes=options.enable_probes, log_level_is_set=said_level is not None))
    pump.close()
    # A thread that still blocks in a read or a probe must not keep a process alive whose work is done.
    os._exit(code)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes a loop that lets its watchdog sleep; None, asyncio's own choice, on Windows."""
    if sys.platform == "win32":
        return None
    from headway.scheduler.turning import TurningLoop

    return TurningLoop


def _log_settings(options: argparse.Namespace) -> tuple[str | None, Path | None]:
    """`HEADWAY_LOG` is a level or the path of a file, `HEADWAY_LOG_LEVEL` a level; arguments win over both.

    Returns:
        The level, None where nobody has said one (then the client's settings decide), and the file.
    """
    variable = os.environ.get("HEADWAY_LOG", "")
    level: str | None = None
    log_file: Path | None = None
    if variable.lower() in _LEVELS:
        level = variable.lower()
    elif variable:
        log_file = Path(variable)
    named = os.environ.get("HEADWAY_LOG_LEVEL", "").lower()
    if named in _LEVELS:
        level = named
    return options.log_level or level, options.log_file or log_file
