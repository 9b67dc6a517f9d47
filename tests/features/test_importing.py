"""Where an import line goes: text in, text out."""

from __future__ import annotations

import pytest

from headway.features.importing import import_edit, importable
from headway.workspace.text import Edit, Text


def applied(source: str, module: str = "pkg.mod", name: str = "Thing") -> str:
    text = Text(source)
    edit = import_edit(text, module, name)
    return source if edit is None else str(text.apply([Edit(edit[0], edit[1])]))


LINE = "from pkg.mod import Thing\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", LINE),
        ("x = Thing", LINE + "x = Thing"),
        ("import os\n\nThing\n", "import os\n" + LINE + "\nThing\n"),
        ("import os", "import os\n" + LINE),
        ('"""Doc.\n\nimport os\n"""\n\nx = 1\n', '"""Doc.\n\nimport os\n"""\n\n' + LINE + "x = 1\n"),
        ("# leading\nx = 1\n", "# leading\n" + LINE + "x = 1\n"),
        ("from __future__ import annotations\n\nx\n", "from __future__ import annotations\n" + LINE + "\nx\n"),
        ("from a import (\n    b,\n    c,\n)\nx\n", "from a import (\n    b,\n    c,\n)\n" + LINE + "x\n"),
        ("import a\n\nimport b\nx\nimport late\n", "import a\n\nimport b\n" + LINE + "x\nimport late\n"),
        ("import os\r\nx\r\n", "import os\r\nfrom pkg.mod import Thing\r\nx\r\n"),
        ("from a import \\\n    b\nx\n", "from a import \\\n    b\n" + LINE + "x\n"),
    ],
)
def test_the_line_goes_below_the_imports(source: str, expected: str) -> None:
    assert applied(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "from pkg.mod import Thing\n",
        "from pkg.mod import (\n    Other,\n    Thing as T,\n)\n",
        "import os\nfrom pkg.mod import A, Thing\n",
    ],
)
def test_what_is_imported_already_is_left_alone(source: str) -> None:
    assert applied(source) == source


def test_the_same_name_of_another_module_is_not_taken_for_it() -> None:
    assert applied("from other import Thing\n") == "from other import Thing\n" + LINE


@pytest.mark.parametrize(
    ("module", "name", "expected"),
    [
        ("a.b", "C", True),
        ("a.b", "_c", False),
        ("a.my-script", "f", False),
        ("a.class", "f", False),
        ("a", "def", False),
    ],
)
def test_only_what_can_be_written_is_importable(module: str, name: str, expected: bool) -> None:
    assert importable(module, name) is expected
