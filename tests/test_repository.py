"""What may not be in the repository: addresses, a machine's own paths, packages without hashes, large files."""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Written so that the rule does not find itself.
REGISTRIES = re.compile(r"p[y]pi[.]org|[p]ythonhosted[.]|registry[.]n[p]mjs|registry[.]y[a]rnpkg|[d]eb[.]debian")
MACHINE_PATHS = re.compile(r"(?<![\w.$}~-])[/](work|farm|root|home/\w+|Users/\w+)/|[.][.]/shared")
REQUIREMENTS = sorted((ROOT / "requirements").glob("*.txt"))
BYTES_AT_MOST = 1_000_000


def tracked() -> list[Path]:
    """Files under version control that are still there."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    return [ROOT / name for name in listing.decode().split("\0") if name and (ROOT / name).is_file()]


def lines() -> Iterator[tuple[str, str]]:
    """Every line of every text, with where it stands."""
    for path in tracked():
        data = path.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            yield f"{path.relative_to(ROOT)}:{number}", line


@pytest.mark.parametrize("pattern", [REGISTRIES, MACHINE_PATHS], ids=["registries", "machine paths"])
def test_no_address_of_a_registry_or_a_machine(pattern: re.Pattern[str]) -> None:
    """Whoever builds this chooses where packages come from, and where the clone lies."""
    assert [f"{place}: {line.strip()[:120]}" for place, line in lines() if pattern.search(line)] == []


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        (REGISTRIES, "--index-url https://" + "pypi" + ".org/simple"),
        (REGISTRIES, '"resolved": "https://' + "registry" + '.npmjs.org/x.tgz"'),
        (MACHINE_PATHS, "cd " + "/root" + "/headway"),
        (MACHINE_PATHS, "python -m pytest .." + "/shared/x"),
    ],
)
def test_the_patterns_find_what_they_are_for(pattern: re.Pattern[str], line: str) -> None:
    assert pattern.search(line)


def requirements(path: Path) -> dict[str, list[str]]:
    """Every logical line of a requirements file: what it asks for, with its hashes."""
    joined = path.read_text(encoding="utf-8").replace("\\\n", " ")
    logical = [line.strip() for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return {line.split(" --hash=")[0].strip(): re.findall(r"--hash=(\S+)", line) for line in logical}


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.name)
def test_each_python_package_is_pinned_and_hashed(path: Path) -> None:
    """Nothing but pins: an option line would name an index, a link or another file."""
    for asked, hashes in requirements(path).items():
        assert re.fullmatch(r"[a-z0-9-]+==[0-9][\w.!+]*( ; .+)?", asked), asked
        assert hashes, f"{asked} has no hash"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", value) for value in hashes)


def test_what_is_developed_with_is_what_is_shipped() -> None:
    """The packages inside the extension are those that the tests ran with."""
    names = {path.name: requirements(path) for path in REQUIREMENTS}
    assert names["server.txt"].items() <= names["dev.txt"].items()


def test_the_locks_answer_what_pyproject_asks() -> None:
    """Each dependency named there is pinned here; a changed one is locked anew with `make lock`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    server = [*project["project"]["dependencies"], *extras["server"]]
    wanted = {"server.txt": server, "dev.txt": [*server, *extras["demo"], *project["dependency-groups"]["dev"]]}
    for file, specifiers in wanted.items():
        pinned = {asked.split("==")[0]: asked for asked in requirements(ROOT / "requirements" / file)}
        for specifier in specifiers:
            name = re.match(r"[\w-]+", specifier)
            assert name
            found = pinned.get(name.group().replace("_", "-").lower())
            assert found, f"{specifier} is not in requirements/{file}: run `make lock`"
            if "==" in specifier:
                assert found.split(" ;")[0] == specifier


def test_the_npm_lock_has_hashes_and_no_addresses() -> None:
    """`npm install` with `omit-lockfile-registry-resolved` writes it so."""
    lock = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: entry for name, entry in lock["packages"].items() if name and not entry.get("link")}
    assert packages
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert [name for name, entry in packages.items() if "integrity" not in entry and not entry.get("inBundle")] == []


def test_no_large_files() -> None:
    assert [str(path.relative_to(ROOT)) for path in tracked() if path.stat().st_size > BYTES_AT_MOST] == []


def test_scripts_can_be_run() -> None:
    """A file with an interpreter line has its executable bit."""
    for path in tracked():
        if path.read_bytes()[:3] == b"#!/":
            assert path.stat().st_mode & 0o100, f"{path.relative_to(ROOT)}: chmod +x, then git add --chmod=+x"


def test_the_readme_names_only_targets_that_exist() -> None:
    """A command that a page tells people to type is one that make knows."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        named = set(re.findall(r"(?:`|^\s*(?:\$ )?)make ([a-z-]+)", text, re.MULTILINE))
        assert named <= targets, f"{page}: no such target: {sorted(named - targets)}"
