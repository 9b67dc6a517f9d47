"""The map of `docs/architecture.md` as rules: who may know whom, and how large a module may grow."""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.importgraph import Import, cycles, imports_of, modules_of

ROOT = Path(__file__).resolve().parent.parent
MODULES = modules_of(ROOT / "server" / "headway")
IMPORTS = imports_of(MODULES)

# Imports go down this list only.
ROOMS = ("cli", "lsp", "session", "features", "engines", "workspace", "settings", "scheduler", "wording")
# Values that every room may speak of.
VALUES = frozenset({"headway.workspace.text"})
# The one door by which engines reach the scheduler: their processes are its children.
SUPERVISION = "headway.scheduler.executors.children"
# What the scheduler may use beside the standard library; each is optional where it runs.
SCHEDULER_NEEDS = frozenset({"psutil", "pynvml", "distributed"})
# Decisions: given events and instants, they ask nothing of the world.
PURE = ("core", "strategies", "queues", "resources", "timeouts", "retry", "model")
WORLD = frozenset(
    {"asyncio", "time", "threading", "subprocess", "multiprocessing", "os", "socket", "random", "sqlite3"}
)
LINES_AT_MOST = 400


def room(module: str) -> str:
    """`headway.lsp.handlers` -> `lsp`; the package itself is no room."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "headway" else ""


def upward(found: Import) -> bool:
    """Imports against the order of the rooms, or across into one that is not on the list."""
    here, there = room(found.module), room(found.target)
    if not there or here == there or found.target in VALUES:
        return False
    if here in ("", "__main__") or (here == "cli" and there == "demo"):
        return False
    if here not in ROOMS or there not in ROOMS:
        return True
    return ROOMS.index(here) > ROOMS.index(there)


def scheduling_outside(found: Import) -> bool:
    """Only `cli`, `lsp` and `session` decide what is scheduled; engines start children through one module."""
    if room(found.target) != "scheduler" or room(found.module) in ("cli", "lsp", "session", "scheduler"):
        return False
    return not (room(found.module) == "engines" and found.target == SUPERVISION)


def feature_to_feature(found: Import) -> bool:
    """A feature is snapshot in, values out; what two share belongs below them."""
    here, there = found.module.split("."), found.target.split(".")
    return room(found.module) == room(found.target) == "features" and here[2:3] != there[2:3]


def protocol_outside(found: Import) -> bool:
    """`lsp` is the only room that knows pygls and the types of LSP."""
    return found.target.split(".")[0] in {"pygls", "lsprotocol", "cattrs"} and room(found.module) != "lsp"


def scheduler_needs_more(found: Import) -> bool:
    """The scheduler is usable alone: nothing of ours, hardly anything of others."""
    top = found.target.split(".")[0]
    if room(found.module) != "scheduler" or room(found.target) == "scheduler":
        return False
    return top not in sys.stdlib_module_names | SCHEDULER_NEEDS


def impure(found: Import) -> bool:
    """The scheduler's decisions know no clock, no I/O and no asyncio."""
    pure = {f"headway.scheduler.{name}" for name in PURE}
    return found.module in pure and found.target.split(".")[0] in WORLD


RULES: list[Callable[[Import], bool]] = [
    upward,
    scheduling_outside,
    feature_to_feature,
    protocol_outside,
    scheduler_needs_more,
    impure,
]


@pytest.mark.parametrize("breaks", RULES, ids=lambda rule: rule.__name__)
def test_rooms_know_only_what_they_may(breaks: Callable[[Import], bool]) -> None:
    """Each import that breaks the rule is named with its line."""
    wrong = [f"{MODULES[i.module].relative_to(ROOT)}:{i.line} imports {i.target}" for i in IMPORTS if breaks(i)]
    assert not wrong, f"{breaks.__doc__}\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("breaks", "module", "target"),
    [
        (upward, "headway.workspace.store", "headway.session.session"),
        (upward, "headway.features.search", "headway.lsp.convert"),
        (upward, "headway.session.session", "headway.demo.client"),
        (upward, "headway.demo.client", "headway.session.session"),
        (scheduling_outside, "headway.workspace.store", "headway.scheduler.model"),
        (scheduling_outside, "headway.engines.ty", "headway.scheduler.engine"),
        (feature_to_feature, "headway.features.search", "headway.features.completion"),
        (protocol_outside, "headway.features.search", "lsprotocol.types"),
        (scheduler_needs_more, "headway.scheduler.core", "headway.settings"),
        (scheduler_needs_more, "headway.scheduler.engine", "pygls.server"),
        (impure, "headway.scheduler.core", "asyncio"),
    ],
)
def test_each_rule_catches_its_breach(breaks: Callable[[Import], bool], module: str, target: str) -> None:
    assert breaks(Import(module=module, target=target, line=1, at_load=True))


def test_nothing_imports_in_circles() -> None:
    """Counting what loading a module needs; knowledge under TYPE_CHECKING may point back."""
    edges: dict[str, set[str]] = {name: set() for name in MODULES}
    for found in IMPORTS:
        if found.at_load and found.target in MODULES and found.target != found.module:
            edges[found.module].add(found.target)
    assert not cycles(edges)


def test_circles_are_found(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    write(
        package,
        {
            "__init__.py": "",
            "one.py": "from pack import two",
            "two.py": "from .three import x",
            "three.py": "import pack.one\nx = 1",
            "four.py": "def late():\n    from . import one",
        },
    )
    modules = modules_of(package)
    found = imports_of(modules)
    assert cycles({m: [i.target for i in found if i.module == m] for m in modules}) == [
        ["pack.one", "pack.three", "pack.two"]
    ]
    assert [(i.module, i.at_load) for i in found if i.target == "pack.one"] == [
        ("pack.four", False),
        ("pack.three", True),
    ]


def write(folder: Path, sources: Mapping[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, source in sources.items():
        (folder / name).write_text(source, encoding="utf-8")


def test_modules_stay_small() -> None:
    """Past this, ask what second thing a module does."""
    sources = [*MODULES.values(), *sorted((ROOT / "client-vscode" / "src").rglob("*.ts"))]
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in sources}
    assert {name: lines for name, lines in lengths.items() if lines > LINES_AT_MOST} == {}


def mapped(column: int) -> list[str]:
    """The files that a column of the map names, in full; a bare name lies beside the one before it."""
    names = []
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [row.split("|") for row in page.partition("## Map")[2].splitlines() if row.startswith("| ")]
    for cells in rows:
        folder = ""
        for name in re.findall(r"`([^`]+\.py)`", cells[column]):
            folder = name.rpartition("/")[0] if "/" in name else folder
            names.append((name if "/" in name or not folder else f"{folder}/{name}").removeprefix("tests/"))
    return names


def test_the_map_names_every_module() -> None:
    """A new module gets its line in docs/architecture.md; a renamed one is found by it again."""
    package = ROOT / "server" / "headway"
    there = {path.relative_to(package).as_posix() for path in MODULES.values() if not path.name.startswith("__")}
    assert sorted(there ^ set(mapped(2))) == []


def test_the_map_names_tests_that_exist() -> None:
    assert [name for name in mapped(3) if not (ROOT / "tests" / name).is_file()] == []
    assert len(set(mapped(3))) > 10


def test_only_the_engine_starts_asyncio_tasks() -> None:
    """Whoever needs something done later submits a job; the engine's group is the one owner of what runs.

    The rooms at the edges own readers and writers of pipes, for as long as the pipe lives.
    """
    edges = ("engine.py", "lsp", "engines", "executors", "demo")
    starts = re.compile(r"\b(create_task|ensure_future)\(")
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in MODULES.values()
        if not set(path.relative_to(ROOT).parts) & set(edges)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if starts.search(line)
    ]
    assert not wrong
