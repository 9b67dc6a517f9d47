"""A folder that nobody has trusted yet: whatever it brings along, nothing of it is run, and the rest works."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.lsp.wire import run, server
from tests.survival.ground import SETTINGS, indexed
from tests.survival.test_many import names, opened

PROGRAMS = ("python", "python3", "ruff", "ty", "git", "pytest", "interpreter", "my_ruff", "my_ty", "test_python")
MODULES = ("conftest", "plugin", "sitecustomize", "usercustomize", "pytest", "ruff")


def hostile(root: Path, marks: Path) -> dict[str, Any]:
    """Make a folder in which everything that could be run leaves a mark; return settings that name it."""
    folder = root / "bin"
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "pyvenv.cfg").write_text("home = /usr\n")
    folder.mkdir()
    for place in (*(folder / name for name in PROGRAMS), root / ".venv" / "bin" / "python", root / "hook"):
        place.write_text(f"#!/bin/sh\ntouch '{marks / place.name}'\n")
        place.chmod(0o755)
    for name in MODULES:
        (root / f"{name}.py").write_text(f"open({str(marks / name)!r}, 'w').close()\n")
    (root / "test_it.py").write_text("import os\nos.pa\nundefined_here\n")
    git = ["git", "-C", str(root)]
    subprocess.run([*git, "init", "-q"], check=True)
    for key in ("core.fsmonitor", "core.pager", "core.sshCommand"):
        subprocess.run([*git, "config", key, str(root / "hook")], check=True)
    return {
        **SETTINGS,
        "python": {"interpreter": str(folder / "interpreter")},
        "ruff": {"path": str(folder / "my_ruff")},
        "ty": {"path": str(folder / "my_ty")},
        "tests": {"python": str(folder / "test_python"), "args": ["-p", "plugin"]},
    }


def test_nothing_of_an_untrusted_folder_is_run_and_trust_needs_no_restart(tmp_path: Path) -> None:
    """Its settings, its environment, its modules, its search path and its git configuration would each leave a mark."""
    root, marks = tmp_path / "work", tmp_path / "marks"
    root.mkdir()
    marks.mkdir()
    settings = hostile(root, marks)
    path = f".{os.pathsep}{root / 'bin'}{os.pathsep}{os.environ['PATH']}"

    async def scenario() -> None:
        async with server(tmp_path, env={"PATH": path, "PYTHONPATH": str(root)}) as wire:
            await wire.initialize(root, initializationOptions={"settings": settings, "trusted": False})
            uri = opened(wire, root / "test_it.py", "import os\nos.pa\nundefined_here\n")
            while "path" not in await names(wire, uri, 1, 5):
                await wire.ask("headway/snapshot", {})
            told = await wire.note("textDocument/publishDiagnostics", lambda told: told["uri"] == uri)
            assert "F821" in [finding.get("code") for finding in told["diagnostics"]]
            await indexed(wire)
            ended = await wire.ask("headway/submit", {"type": "tests", "arguments": {}})
            assert ended["state"] == "FAILED"
            assert "not trusted" in ended["error"]["message"]
            assert (await wire.ask("headway/submit", {"type": "analysis", "arguments": {}}))["state"] == "COMPLETED"
            assert os.listdir(marks) == []
            wire.notify("headway/trustGranted", {})
            await wire.ask("headway/submit", {"type": "tests", "arguments": {}})
            assert "test_python" in os.listdir(marks), "with trust, the tests are run by what the settings name"
            assert await wire.exit() == 0

    run(scenario())


def test_trust_lets_the_tests_run(tmp_path: Path) -> None:
    """What failed for want of trust is carried out once it is given."""
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    settings = {**SETTINGS, "tests": {"python": sys.executable, "args": ["-p", "no:cacheprovider"]}}

    async def scenario() -> None:
        async with server(tmp_path) as wire:
            await wire.initialize(tmp_path, initializationOptions={"settings": settings})
            assert (await wire.ask("headway/submit", {"type": "tests", "arguments": {}}))["state"] == "FAILED"
            wire.notify("headway/trustGranted", {})
            ended = await wire.ask("headway/submit", {"type": "tests", "arguments": {}})
            assert (ended["state"], ended["result"]["passed"]) == ("COMPLETED", 1)
            assert await wire.exit() == 0

    run(scenario())
