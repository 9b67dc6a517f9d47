"""Which table reads which file. Tables are imported when the first file of their language comes."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from headway.workspace.grammars.rules import Grammar

# By language as in `index.LANGUAGES`: module of its table and name in it.
TABLES: Final = {
    "javascript": "ecmascript.JAVASCRIPT",
    "typescript": "ecmascript.TYPESCRIPT",
    "tsx": "ecmascript.TSX",
    "go": "go.GO",
    "rust": "rust.RUST",
    "java": "jvm.JAVA",
    "kotlin": "jvm.KOTLIN",
    "c": "c_family.C",
    "cpp": "c_family.CPP",
    "csharp": "csharp.CSHARP",
    "ruby": "ruby.RUBY",
    "php": "php.PHP",
    "shell": "shell.BASH",
    "sql": "sql.SQL",
    "css": "web.CSS",
    "html": "web.HTML",
    "json": "data.JSON",
    "yaml": "data.YAML",
    "toml": "data.TOML",
    "markdown": "markdown.MARKDOWN",
}
_CPP_HEADER: Final = re.compile(r"^\s*(?:class|namespace|template|using|public:|private:|protected:)\b", re.MULTILINE)
_HEAD_LENGTH: Final = 20_000


def grammar_for(path: str, language: str, text: str) -> Grammar | None:
    """Return the table that reads a file, None where its language has none.

    What an editor calls by another name and what a suffix leaves open is told by the path and the text.
    """
    suffix = PurePosixPath(path).suffix.lower()
    if language in ("typescriptreact", "typescript") and suffix in (".tsx", ""):
        language = "tsx" if suffix or language == "typescriptreact" else language
    elif language == "javascriptreact":
        language = "javascript"
    elif language == "c" and suffix == ".h" and _CPP_HEADER.search(text, 0, _HEAD_LENGTH):
        language = "cpp"
    place = TABLES.get(language)
    return None if place is None else _table(place)


@cache
def _table(place: str) -> Grammar:
    module, _, name = place.partition(".")
    found = getattr(importlib.import_module(f"headway.workspace.grammars.{module}"), name)
    assert isinstance(found, Grammar)
    return found
