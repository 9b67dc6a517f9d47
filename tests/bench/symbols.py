"""Symbols by name in an index of a million names: what a letter typed into the symbol search costs."""

import random
import statistics
import time
from collections.abc import Callable, Iterator

from headway.session.searching import MOST_SYMBOLS
from headway.workspace.index import Definition, SymbolKind
from headway.workspace.segments import IndexedFile, Segment
from headway.workspace.symbols import IndexView, SymbolTable
from tests.bench.frame import Figure

NAMES = 1_000_000
SYMBOLS_PER_FILE = 40
SYMBOLS_PER_SEGMENT = 20_000  # as the session loads a stored index
QUERIES = 100
SHOWN = MOST_SYMBOLS
SEED = 7
_TEXT = """
get set make build read write load store find match parse format order book line item user account session request
response server client query index token node tree list map cache value key name path file folder error result state
event handler factory manager model view table column row field type kind size count total start stop open close
send receive update delete create remove add merge split join sort filter group reduce http json xml html url uri db
sql api io id ok test mock fake base abstract default local remote async sync first last next previous parent child
left right top bottom width height color image text string number date time zone day month year price amount tax
rate invoice payment customer product stock ware house truck route engine motor wheel brake light sensor signal
pulse wave phase frequency filter gain noise sample buffer frame
"""
WORDS = _TEXT.split()


def _name(draw: random.Random) -> str:
    words = draw.choices(WORDS, k=draw.choice((2, 2, 3, 3, 3, 4)))
    if draw.random() < 0.2:
        words.append(str(draw.randrange(1_000)))
    style = draw.random()
    if style < 0.5:
        return "_".join(words)
    if style < 0.75:
        return words[0] + "".join(word.capitalize() for word in words[1:])
    return "".join(word.capitalize() for word in words)


def million() -> IndexView:
    """A view of a million different names, each in one place."""
    draw = random.Random(SEED)
    names: dict[str, None] = {}
    while len(names) < NAMES:
        names[_name(draw)] = None
    table = SymbolTable("/w")
    kinds = (SymbolKind.FUNCTION, SymbolKind.CLASS, SymbolKind.METHOD, SymbolKind.FIELD)
    listed = list(names)
    for start in range(0, NAMES, SYMBOLS_PER_SEGMENT):
        files = []
        for at in range(start, min(start + SYMBOLS_PER_SEGMENT, NAMES), SYMBOLS_PER_FILE):
            definitions = [
                Definition(name, draw.choice(kinds), draw.choice(("", "Owner")), 1, 0, 2, 0, 1, 4, "", "")
                for name in listed[at : at + SYMBOLS_PER_FILE]
            ]
            number = at // SYMBOLS_PER_FILE + 1
            files.append(IndexedFile(number, number, f"pkg{number % 97}/mod{number}.py", definitions))
        table.adopt(Segment(files))
    return IndexView(parts=table.parts)


def _queries(draw: random.Random, names: list[str]) -> dict[str, list[str]]:
    some = draw.sample(names, QUERIES)
    return {
        "prefix": [name[: draw.randint(2, min(8, len(name)))] for name in some],
        "humps": ["".join(word[0] for word in draw.choices(WORDS, k=draw.choice((2, 3)))) for _ in some],
        "part": [draw.choice(WORDS)[:4] + draw.choice(("", "_", draw.choice(WORDS)[:2])) for _ in some],
        "fuzzy": ["".join(c for c in name.replace("_", "") if draw.random() < 0.6)[:9] for name in some],
        "nothing": [draw.choice(("xq", "zzq", "qqqx", "jvkw")) + name[:3] for name in some],
    }


def bench() -> Iterator[Figure]:
    """Ask for prefixes, humps, parts and letters in order; the median and the 95th percentile of each."""
    view = million()
    draw = random.Random(SEED + 1)
    names = [view.parts[0].segment.name(index) for index in range(view.parts[0].segment.name_count)]
    dict.fromkeys(_queries(draw, names), lambda query: view.symbols(query, SHOWN))
    yield Figure(name="index of a million names", value=view.stats()["bytes"] / 2**20, unit="MiB")
    for kind, queries in _queries(draw, names).items():
        yield from _figures(f"symbols, {kind}", lambda query: view.symbols(query, SHOWN), queries)
        if kind == "prefix":
            yield from _figures("completion, prefix", lambda query: view.complete(query, 40, (".py",)), queries)


def _figures(name: str, ask: Callable[[str], object], queries: list[str]) -> Iterator[Figure]:
    taken = []
    for query in queries:
        began_s = time.perf_counter()
        ask(query)
        taken.append(time.perf_counter() - began_s)
    yield Figure(name=f"{name} p50", value=statistics.median(taken), unit="s")
    yield Figure(name=f"{name} p95", value=statistics.quantiles(taken, n=20)[-1], unit="s")
