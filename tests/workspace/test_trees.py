"""A text that is edited is parsed where it differs, and understood as if all of it were parsed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from headway.workspace.index import index_text
from headway.workspace.trees import Trees

PIECES = (
    "def f(x):\n    return x\n",
    'class Größe:\n    """Doc 😀."""\n\n    def method(self):\n        self.made = 1\n',
    "LIMIT = 3\n",
    "import os\n",
    "if True:\n    def inner():\n        pass\n",
    "# a remark with ä and 😀\n",
    "\n\n",
    "x = '''\ndef not_one():\n'''\n",
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)


@given(st.lists(TEXTS, min_size=2, max_size=6))
def test_every_version_is_understood_as_if_it_were_the_first(versions: list[str]) -> None:
    trees = Trees()
    for text in versions:
        assert index_text("a.py", text, trees=trees) == index_text("a.py", text)
    assert trees.reused == len(versions) - 1


@given(st.lists(st.text("ab(){};\n =😀", max_size=12), min_size=2, max_size=5))
def test_other_languages_are_edited_too_and_nothing_breaks(parts: list[str]) -> None:
    trees = Trees()
    for part in parts:
        text = f"function first() {{}}\n/* {part.replace('*/', '')} */\nfunction second() {{}}\n"
        assert index_text("a.js", text, trees=trees) == index_text("a.js", text)
        index_text("b.js", part, trees=trees)  # Broken text may be mended either way.
        index_text("b.py", part, trees=trees)


def test_a_tree_of_another_language_is_not_begun_with() -> None:
    trees = Trees()
    read = partial(index_text, "a", trees=trees, owner="/w")
    read("function f() {}\n", "javascript")
    read("def f():\n    pass\n", "python")
    assert trees.reused == 0
    read("def fg():\n    pass\n", "python")
    assert trees.reused == 1
    index_text("a", "def fg():\n    pass\n", "python", trees, "/other")
    assert trees.reused == 1


def test_only_a_few_trees_are_kept() -> None:
    trees = Trees(most=2)
    for path in ("a.py", "b.py", "c.py", "a.py", "c.py"):
        index_text(path, "X = 1\n", trees=trees)
    assert trees.reused == 1  # c.py


def test_a_long_text_is_compared_quickly(tmp_path: Path) -> None:
    """The same at both ends, different in the middle, where both ends overlap, and nowhere."""
    trees = Trees()
    line = "value = 1\n"
    for text in (line * 900, line * 901, line * 450 + "other = 2\n" + line * 450, line * 900, line * 900, ""):
        assert index_text("a.py", text, trees=trees) == index_text("a.py", text)
