"""The code to type in: django from the package index as data, or a folder of the user's; always a copy of it.

Nothing of it is installed or executed: django comes as a wheel, which pip only has to store, checked by its hash.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from headway.demo.errors import ProjectError

REQUIREMENT = "django==5.2.8"
SHA256 = "37e687f7bd73ddf043e2b6b97cfe02fcbb11f2dbb3adccc6a2b18c6daa054d7f"
FETCH_LIMIT_S = 300.0

KEPT_SUFFIXES = (".py", ".pyi")
# What says how the Python files are meant, beside them.
KEPT_NAMES = frozenset({".gitignore", "py.typed", "pyproject.toml", "ruff.toml", "ty.toml", "setup.cfg"})
LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages"})
FILES_AT_MOST = 20_000


def cache_folder(env: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Where downloads of the demo are kept: the user's cache folder as the platform has it."""
    if platform == "win32" and env.get("LOCALAPPDATA"):
        return Path(env["LOCALAPPDATA"], "headway", "demo")
    if platform == "darwin":
        return Path.home() / "Library" / "Caches" / "headway" / "demo"
    return Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache", "headway", "demo")


def fetch(cache: Path) -> Path:
    """Return the folder with django's sources, downloaded and unpacked unless it is there.

    Raises:
        ProjectError: It cannot be downloaded, or stored.
    """
    folder = cache / REQUIREMENT.replace("==", "-")
    if folder.is_dir():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="part-") as part:
            wheel = _download(Path(part))
            unpacked = Path(part, "unpacked")
            unpack(wheel, unpacked)
            unpacked.rename(folder)
    except OSError as error:
        if folder.is_dir():  # Another demo was faster.
            return folder
        raise ProjectError(
            f"django's sources cannot be kept in {cache}: {error}. Set XDG_CACHE_HOME elsewhere."
        ) from error
    return folder


def _download(part: Path) -> Path:
    asked = part / "requirement.txt"
    asked.write_text(f"{REQUIREMENT} --hash=sha256:{SHA256}\n", encoding="utf-8")
    argv = [sys.executable, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input", "download", "--quiet"]
    argv += ["--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(asked), "-d", str(part)]
    remedy = (
        "Check the network and pip's settings, or show the demo code that you have: headway demo PATH"
        " (make demo WORKSPACE=path)."
    )
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=FETCH_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise ProjectError(f"pip did not bring {REQUIREMENT} within {FETCH_LIMIT_S:.0f} s. {remedy}") from None
    wheels = sorted(part.glob("*.whl"))
    if done.returncode or not wheels:
        said = "\n".join(f"  {line}" for line in done.stderr.strip().splitlines()[-4:])
        raise ProjectError(f"pip could not download {REQUIREMENT}. It said:\n{said}\n{remedy}")
    return wheels[0]


def unpack(wheel: Path, folder: Path) -> None:
    """Write the Python files of a wheel below `folder`; nothing else of it, and nothing outside.

    Raises:
        ProjectError: The wheel is damaged or names a path outside.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                parts = member.filename.split("/")
                if not member.filename.endswith(KEPT_SUFFIXES):
                    continue
                if ".." in parts or member.filename.startswith("/") or ":" in member.filename:
                    raise ProjectError(f"{wheel.name} holds a path that leads outside: {member.filename}")
                target = folder.joinpath(*parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(member))
    except zipfile.BadZipFile as error:
        raise ProjectError(f"{wheel} is damaged ({error}); delete it and run the demo again.") from error


def copy(source: Path, target: Path) -> int:
    """Copy the Python files of a folder, and what says how they are meant. Return the number of Python files.

    Raises:
        ProjectError: The folder is missing, no folder, unreadable, too large, or has no Python.
    """
    if not source.exists():
        raise ProjectError(f"There is no folder {source}.")
    if not source.is_dir():
        raise ProjectError(f"{source} is a file; name the folder of a project.")
    count = 0
    for path in listing(source):
        to = target / path.relative_to(source)
        try:
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)
        except OSError as error:
            raise ProjectError(f"{path} cannot be copied: {error.strerror or error}. Make it readable.") from error
        count += path.suffix in KEPT_SUFFIXES
        if count > FILES_AT_MOST:
            raise ProjectError(f"{source} has more than {FILES_AT_MOST} Python files; name a folder inside it.")
    if not count:
        raise ProjectError(f"There is no Python file in {source}. Name the folder of a Python project.")
    return count


def listing(source: Path) -> Iterator[Path]:
    """What `copy` takes: no hidden folder, no environment, no link.

    Raises:
        ProjectError: A folder cannot be read.
    """

    def unreadable(error: OSError) -> None:
        raise ProjectError(f"{error.filename} cannot be read: {error.strerror}. Make it readable.") from error

    for folder, folders, names in os.walk(source, onerror=unreadable):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and name not in LEFT_OUT and not Path(folder, name, "pyvenv.cfg").exists()
        )
        for name in sorted(names):
            path = Path(folder, name)
            if (name.endswith(KEPT_SUFFIXES) or name in KEPT_NAMES) and path.is_file() and not path.is_symlink():
                yield path
