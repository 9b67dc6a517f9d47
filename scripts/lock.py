"""Write requirements/*.txt from pyproject.toml: pinned for every platform, with hashes, without addresses.

uv resolves for Python 3.11 and newer on all platforms at once; it is fetched into a throw-away environment, since
nothing else here needs it. The extension bundles `server.txt`; developers and CI install `dev.txt`, which agrees
with it.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETS = {
    "server": ["--extra", "server"],
    "dev": ["--extra", "server", "--extra", "demo", "--group", "dev", "--constraint", "requirements/server.txt"],
}
OPTIONS = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url", "--quiet"]


def main() -> None:
    """Resolve both sets; arguments are passed on to uv, for example `--upgrade`."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "Scripts" if sys.platform == "win32" else "bin", "python")
        subprocess.run([python, "-I", "-m", "pip", "install", "--quiet", "uv"], check=True)
        for name, chosen in SETS.items():
            target = f"requirements/{name}.txt"
            options = [*OPTIONS, *chosen, "--custom-compile-command", "make lock", "--output-file", target]
            subprocess.run(
                [python, "-I", "-m", "uv", "pip", "compile", *options, *sys.argv[1:], "pyproject.toml"],
                cwd=ROOT,
                check=True,
            )
            print(target)


if __name__ == "__main__":
    main()
