"""What one file says: its symbols, its imports and the texts by which it is found. Pure; runs in worker processes.

`index_text` chooses by language. A grammar is a module with `definitions`; a language without one is found by its
words only. Broken source is data: what can be understood is returned together with the problems.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from headway.workspace.text import Position, Range
from headway.workspace.words import body_words, searchable, split_identifier, telling

if TYPE_CHECKING:  # They load tree-sitter, which only workers need.
    from headway.workspace.syntax import Parse
    from headway.workspace.trees import Trees

# Raise it when the same file would now be indexed otherwise: stores made by older versions are rebuilt.
INDEX_VERSION = 4

_MAX_BODY_WORDS = 250
_MAX_FILE_WORDS = 1_500
_MAX_HEAD_LENGTH = 300

# The packages that read what files say; the index depends on which of them are there, and on their versions.
GRAMMARS = (
    *("python", "javascript", "typescript", "go", "rust", "java", "kotlin", "c", "cpp", "c-sharp", "ruby", "php"),
    *("bash", "sql", "css", "html", "json", "yaml", "toml", "markdown"),
)

LANGUAGES = {
    **dict.fromkeys((".py", ".pyi", ".pyw"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts", ".tsx"), "typescript"),
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx"), "cpp"),
    **dict.fromkeys((".md", ".markdown"), "markdown"),
    **dict.fromkeys((".rst", ".txt", ".adoc"), "text"),
    **dict.fromkeys((".json", ".jsonc"), "json"),
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **dict.fromkeys((".sh", ".bash", ".zsh"), "shell"),
    **dict.fromkeys((".kt", ".kts"), "kotlin"),
    **dict.fromkeys((".rb", ".rake", ".gemspec"), "ruby"),
    **dict.fromkeys((".html", ".htm"), "html"),
    ".toml": "toml",
    ".cfg": "ini",
    ".ini": "ini",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".cs": "csharp",
    ".php": "php",
    ".swift": "swift",
    ".scala": "scala",
    ".lua": "lua",
    ".sql": "sql",
    ".css": "css",
    ".vue": "vue",
}


# Languages that use each other's names, as the editor calls them and as we do.
_FAMILIES = (
    ("javascript", "typescript", "javascriptreact", "typescriptreact", "vue"),
    ("c", "cpp"),
    ("java", "kotlin", "scala"),
    ("shell", "shellscript"),
)


class SymbolKind(enum.IntEnum):
    """The kinds of the Language Server Protocol that we give, with its numbers."""

    FILE = 1
    MODULE = 2
    NAMESPACE = 3
    CLASS = 5
    METHOD = 6
    PROPERTY = 7
    FIELD = 8
    CONSTRUCTOR = 9
    ENUM = 10
    INTERFACE = 11
    FUNCTION = 12
    VARIABLE = 13
    CONSTANT = 14
    STRING = 15
    OBJECT = 19
    KEY = 20
    ENUM_MEMBER = 22
    STRUCT = 23
    EVENT = 24
    OPERATOR = 25

    @property
    def label(self) -> str:
        """The protocol's spelling: `EnumMember`."""
        return "".join(part.capitalize() for part in self.name.split("_"))


class Definition(NamedTuple):
    """A symbol in flat form, as it travels in bulk. Lines and columns are zero-based, columns in code points."""

    name: str
    kind: int
    container: str  # names of the enclosing definitions, dotted; empty at the top of a file
    line: int
    column: int
    end_line: int
    end_column: int
    name_line: int
    name_column: int
    detail: str  # signature, or the assignment; of a whole file its first lines
    doc: str
    wide: Sequence[int] | None = None  # see `Wide`; None where all that stands before is ASCII

    @property
    def range(self) -> Range:
        """The whole definition."""
        return Range(Position(self.line, self.column), Position(self.end_line, self.end_column))

    @property
    def selection_range(self) -> Range:
        """Its name."""
        start = Position(self.name_line, self.name_column)
        return Range(start, Position(self.name_line, self.name_column + len(self.name)))


class Wide(NamedTuple):
    """By how much columns are more in other units than code points, of start, end, start and end of the name.

    Kept with a definition so that its place can be told in any encoding without its file.
    """

    utf16: tuple[int, int, int, int]
    utf8: tuple[int, int, int, int]

    @staticmethod
    def of(prefixes: Sequence[str]) -> Sequence[int] | None:
        """Return what belongs into `Definition.wide` for what stands before the four places on their lines."""
        if all(prefix.isascii() for prefix in prefixes):
            return None
        utf16 = [sum(c > "\uffff" for c in prefix) for prefix in prefixes]
        return (*utf16, *(len(prefix.encode("utf-8", "surrogatepass")) - len(prefix) for prefix in prefixes))

    @staticmethod
    def read(wide: Sequence[int] | None) -> Wide:
        """Return what `Definition.wide` says."""
        a, b, c, d, e, f, g, h = wide or (0,) * 8
        return Wide((a, b, c, d), (e, f, g, h))


class Chunk(NamedTuple):
    """A text by which one definition (`ordinal` in `FileIndex.definitions`) is found."""

    ordinal: int
    name: str
    context: str
    doc: str
    body: str


class Parsed(NamedTuple):
    """What a grammar gives: definitions in order of their start, and the text of each one's own body."""

    definitions: list[Definition]
    bodies: list[str]
    imports: list[str]
    doc: str
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileIndex:
    """All that the index knows of one file. `problem` says what could not be understood, if anything."""

    language: str
    definitions: tuple[Definition, ...]
    chunks: tuple[Chunk, ...]
    imports: tuple[str, ...]
    problem: str | None = None


def language_of(path: str) -> str | None:
    """Return the language of a file by its name, None for what is not indexed."""
    # With each key, and for each file of a listing: PurePosixPath takes thirty times as long.
    stem, dot, suffix = path.rpartition(".")
    language = LANGUAGES.get(dot + suffix.lower())
    # A name that begins with its only dot has no suffix.
    return language if language is None or stem.rpartition("/")[2].strip(".") else None


def suffixes_of(language: str) -> tuple[str, ...]:
    """Return the suffixes of files whose names can be used in a language, none where it is unknown."""
    family = next((family for family in _FAMILIES if language in family), (language,))
    return tuple(suffix for suffix, of in LANGUAGES.items() if of in family)


def module_name(path: str) -> str:
    """Return the dotted name by which a file would be imported, going by its path alone.

    A leading `src` folder, the suffix and a final `__init__` are left out.
    """
    parts = list(_without_suffix(path).parts)
    if len(parts) > 1 and parts[0] == "src":
        parts = parts[1:]
    if len(parts) > 1 and parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join(parts)


def index_text(
    path: str, text: str, language: str | None = None, trees: Trees | None = None, owner: str = ""
) -> FileIndex:
    """Return what a file says.

    Args:
        path: Relative to its workspace folder, with slashes; part of what the file is found by.
        text: The whole file, decoded, without byte order mark.
        language: Where it is known better than by the file's name.
        trees: Knows the tree of the text's last version, where it is edited. `owner`: says whose text it is, together
            with its path.
    """
    if not text.isascii():
        # Half a surrogate pair, which only editors and UTF-16 files can bring, is no text to anybody behind us.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    language = language or language_of(path) or "text"
    tree_of = () if trees is None else (partial(trees.parse, (owner, path)),)
    if language == "python":
        from headway.workspace import python_grammar  # Loads tree-sitter, which only workers need.

        parsed = python_grammar.parse(text, *tree_of)
    else:
        parsed = _parsed(path, text, language, *tree_of)
    whole = _whole_file(
        file_name(path), text, SymbolKind.MODULE if language == "python" else SymbolKind.FILE, parsed.doc
    )
    definitions = (whole, *parsed.definitions)
    told = [(at, body) for at, body in enumerate(parsed.bodies, 1) if body]
    own = _own_text(text, [definitions[at] for at, _ in told]) if told else text
    bodies = [(0, body_words(own, _MAX_FILE_WORDS)), *((at, body_words(body, _MAX_BODY_WORDS)) for at, body in told)]
    return FileIndex(
        language=language,
        definitions=definitions,
        chunks=tuple(chunks_of(path, definitions, bodies)),
        imports=tuple(parsed.imports),
        problem=parsed.problem,
    )


def _without_suffix(path: str) -> PurePosixPath:
    place = PurePosixPath(path)
    return place.with_suffix("") if place.name else place  # A document of no file may have no name at all.


def file_name(path: str) -> str:
    """Return the name that a file has as a definition of its own."""
    name = PurePosixPath(path).stem or path
    return PurePosixPath(path).parent.name or name if name == "__init__" else name


def chunks_of(path: str, definitions: Sequence[Definition], bodies: Iterable[tuple[int, str]]) -> list[Chunk]:
    """Return the texts by which a file is found.

    Args:
        definitions: All of the file, itself first.
        bodies: For each text the number of its definition and the words of its body.
    """
    place = [word for part in _without_suffix(path).parts for word in split_identifier(part)]
    owners: dict[str, str] = {}
    chunks = []
    for ordinal, body in bodies:
        definition = definitions[ordinal]
        container = definition.container
        context = owners.get(container)
        if context is None:
            # Each word once, and in parts only: what stands around a definition is of little weight.
            around = dict.fromkeys((*split_identifier(container), *place))
            context = owners[container] = " ".join(around)
        chunks.append(Chunk(ordinal, searchable(definition.name), context, telling(definition.doc), body))
    return chunks


def _parsed(path: str, text: str, language: str, *tree_of: Parse) -> Parsed:
    from headway.workspace.grammars.registry import grammar_for  # Loads tree-sitter, as above.

    grammar = grammar_for(path, language, text)
    if grammar is None:
        return Parsed([], [], [], "", None)
    from headway.workspace.grammars.extraction import extract

    return extract(text, grammar, *tree_of)


def _whole_file(name: str, text: str, kind: SymbolKind, doc: str) -> Definition:
    last = text.rfind("\n") + 1
    head = "" if doc else "\n".join(text[:_MAX_HEAD_LENGTH].strip().splitlines()[:3])
    wide = None if text.isascii() else Wide.of(("", text[last:], "", ""))
    return Definition(name, int(kind), "", 0, 0, text.count("\n"), len(text) - last, 0, 0, head, doc, wide)


def _own_text(text: str, definitions: list[Definition]) -> str:
    """Return the lines that belong to none of these definitions."""
    lines = text.split("\n")
    kept = []
    at = 0
    for definition in definitions:
        if definition.line >= at and not definition.container:
            kept += lines[at : definition.line]
            at = definition.end_line + 1
    return "\n".join(kept + lines[at:])
