"""Which files a search is about: a glob of paths and languages. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headway.workspace.index import LANGUAGES, language_of
from headway.workspace.listing import glob_rules

# What editors call a language that has another name, or none of its own, here.
_ALIASES: Final = {
    "javascriptreact": "javascript",
    "typescriptreact": "typescript",
    "shellscript": "shell",
    "plaintext": "text",
    "restructuredtext": "text",
    "jsonc": "json",
}
KNOWN_LANGUAGES: Final = tuple(sorted({*LANGUAGES.values(), *_ALIASES}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A part of the workspace.

    Args:
        path: A glob as in `.gitignore`, relative to the roots; None: all paths.
        languages: Names as in `KNOWN_LANGUAGES`; empty: all languages.
    """

    path: str | None = None
    languages: frozenset[str] = frozenset()

    @property
    def is_everything(self) -> bool:
        """Whether no file is left out."""
        return not self.path and not self.languages

    def accepting(self) -> Callable[[str], bool]:
        """Return what says of a path, relative to its root, whether it lies in this scope."""
        rules = glob_rules([self.path]) if self.path else None
        languages = {_ALIASES.get(language, language) for language in self.languages}

        def accepts(path: str) -> bool:
            if languages and language_of(path) not in languages:
                return False
            return not self.path or (rules is not None and rules.match_file(path))

        return accepts
