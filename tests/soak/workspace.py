"""A made-up Python project: large enough to be indexed for a while, the same for the same seed."""

import random
from pathlib import Path

WORDS = ("order", "price", "customer", "basket", "invoice", "address", "stock", "route", "signal", "token")


def module(rng: random.Random, number: int, modules: int) -> str:
    """Source of one module: imports of others, classes with methods, functions."""
    lines = ["import json", "import os"]
    lines += [f"from pkg.mod_{rng.randrange(modules)} import {rng.choice(WORDS)}_0 as other_{n}" for n in range(3)]
    for n in range(rng.randrange(3, 9)):
        word = rng.choice(WORDS)
        lines += ["", "", f"class {word.title()}{number}_{n}:", f'    """Keeps a {word}."""']
        for m in range(rng.randrange(2, 7)):
            lines += ["", f"    def {rng.choice(WORDS)}_{m}(self, {word}: int) -> str:"]
            lines += [f"        return json.dumps({{'{word}': {word}, 'path': os.sep}})"]
    for n in range(4):
        lines += ["", "", f"def {WORDS[n]}_{n}(value: int) -> int:", f"    return value * {rng.randrange(100)}"]
    lines += [f"{word}_0 = {number}" for word in WORDS]
    return "\n".join(lines) + "\n"


def make(root: Path, rng: random.Random, modules: int = 300) -> list[Path]:
    """Write the project and return its modules."""
    package = root / "pkg"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    files = []
    for number in range(modules):
        file = package / f"mod_{number}.py"
        file.write_text(module(rng, number, modules))
        files.append(file)
    return files
