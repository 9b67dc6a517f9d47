"""Members where ty does not know what stands before the dot, found in steps, each of which is a question to ty.

What may be None has the members of what it is else. `super()` has those of the bases. Where a call or property is
unknown, the functions behind it are looked at: what their docstrings say they return, or the signatures of those that
have several, or what they return in turn. Each type that is found so is given to ty, as the annotation of a parameter
in a function behind the text, and its list is taken. Nothing is guessed: where one step says nothing there is no list.

It begins when ty has answered that it knows nothing, so what ty knows costs nothing more; for a guess at LOW, for a key
at HIGH. It ends when another word is typed, and asks for as long and as often as some limits allow.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from headway.engines.client import Reply
from headway.engines.errors import EngineError
from headway.engines.mirror import own_position, units
from headway.engines.ty import TyEngine, TyItem, listed
from headway.scheduler.model import Priority, Requirement, TaskKind, TimeoutPolicy
from headway.session.module_names import search_folders
from headway.session.ports import SessionContext
from headway.session.typed_word import LONGEST_READ, TypedWord
from headway.workspace.documents import Document
from headway.workspace.python_modules import module_name
from headway.workspace.python_returns import (
    Function,
    Spot,
    assigned_at,
    bases_around,
    binds,
    function_at,
    parameter_types,
    spot_before,
)
from headway.workspace.text import Position, Text
from headway.workspace.uris import identity, path_to_uri, uri_to_path

_COST = Requirement(cpu_cores=0.0, memory_mb=1)  # others compute; nothing is to wait for a core here
_LIMIT_S = 2.0
_MOST_QUESTIONS = 32
_DEEPEST = 5  # functions that hand on what others return
_MOST_PLACES = 12  # of one name
_MOST_TYPES = 3
_MOST_TIMES = 3  # that it is begun, where changes of the text break it off
_LONGEST_BYTES = 1_000_000
_SUPER = "super()"
# Names in a text that nobody sees; they are not to be found in any other.
_OWN_NAME = "_headway_"


class _EndedError(Exception):
    """The word is not wanted any more, or too much was asked."""


class _DisturbedError(Exception):
    """The text changed while ty was at work on it."""


@dataclass(frozen=True, slots=True)
class _Type:
    """A dotted name as it is written in a file."""

    path: str
    name: str


@dataclass(slots=True)
class _Search:
    """One search: the word, and how much was asked for it."""

    word: TypedWord
    key: str
    path: str
    questions: int = 0


class Inferring:
    """Looks for members that ty by itself does not know.

    Args:
        is_wanted: Whether a word is still the one that is typed, or may be next.
    """

    def __init__(self, context: SessionContext, ty: TyEngine, is_wanted: Callable[[TypedWord], bool]) -> None:
        self._context = context
        self._ty = ty
        self._is_wanted = is_wanted

    def prepare(self, word: TypedWord) -> None:
        """Begin for a word that may be typed next."""
        self._begin(word, Priority.LOW)

    async def wait(self, word: TypedWord, until_s: float) -> None:
        """Begin for a word that somebody waits for, and wait until an instant of the loop's clock."""
        if not self._begin(word, Priority.HIGH) or (handle := word.inference) is None:
            return
        ended = asyncio.Event()
        handle.add_done_callback(lambda _: ended.set())
        left_s = until_s - asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(max(left_s, 0.0)):
                await ended.wait()
        except TimeoutError:
            return  # The next key of the word has it.

    def goes_on(self, word: TypedWord) -> bool:
        """Return whether more members may come than are known now."""
        return word.inference is not None and not word.inference.done() and not word.inferred

    def _begin(self, word: TypedWord, priority: Priority) -> bool:
        """Return whether it is looked for the word's members, and so has not ended."""
        if word.inferred or not word.nothing_known or len(word.document.content) > LONGEST_READ:
            return False
        scheduler = self._context.scheduler
        if word.inference is not None and not word.inference.done():
            scheduler.set_priority(word.inference.job_id, priority)
            return True
        if word.inferences >= _MOST_TIMES or not self._is_wanted(word):
            return False
        word.inferences += 1
        word.inference = scheduler.run(
            self._infer,
            word,
            priority=priority,
            name="members of what has no annotation",
            kind=TaskKind.COROUTINE,
            requirement=_COST,
            supersede_key=("members", identity(word.document.uri)),
            timeout=TimeoutPolicy(hard_s=2 * _LIMIT_S),
        )
        return True

    # ---- the search -------------------------------------------------------------------------------------------------

    async def _infer(self, word: TypedWord) -> None:
        search = _Search(word, identity(word.document.uri), uri_to_path(word.document.uri) or "")
        try:
            async with asyncio.timeout(_LIMIT_S):
                word.found(await self._found(search))
        except (EngineError, _DisturbedError):
            return  # A change of the text came between, or ty ended: the next key begins anew.
        except (TimeoutError, _EndedError):
            pass
        word.inferred = True

    async def _found(self, search: _Search) -> Sequence[TyItem]:
        word = search.word
        line, start = word.document.line(word.place.start.line), word.place.start
        dot = line.rfind(".", 0, start.column)
        if word.place.receiver == _SUPER:
            return await self._of_bases(search)
        expression = spot_before(line, start.line, dot)
        if expression is None:
            return ()
        column, spot = expression
        lists: list[Sequence[TyItem]] = []
        async for found in self._types(search, search.path, spot, 0):
            if len(lists) >= _MOST_TYPES:
                return ()  # It may be anything.
            if items := await self._of_type(search, found):
                lists.append(items)
        if not lists:
            return await self._narrowed(search, line[column:dot], Position(start.line, column))
        return list({item.label: item for items in reversed(lists) for item in reversed(items)}.values())[::-1]

    async def _narrowed(self, search: _Search, expression: str, start: Position) -> Sequence[TyItem]:
        """Return the members of an expression that may be None, where it is not."""
        plain = expression.replace(".", "").replace("_", "").isalnum()
        asked = f"{expression} and {expression}." if plain else f"({_OWN_NAME} := {expression}) and {_OWN_NAME}."
        lines = _lines(search.word.document.content)
        line = lines[start.line]
        lines[start.line] = f"{line[: start.column]}{asked}{line[search.word.place.end.column :]}"
        return await self._members(search, lines, Position(start.line, start.column + len(asked)))

    async def _of_bases(self, search: _Search) -> Sequence[TyItem]:
        place = search.word.place
        lines = _lines(search.word.document.content)
        bases = bases_around(lines, place.start.line)
        if not bases:
            return ()
        own = [f"class {_OWN_NAME}({', '.join(bases)}): ..."]
        items = await self._annotated(search, own, _OWN_NAME)
        # What only instances have `super()` does not give.
        of_class = {item.label for item in await self._annotated(search, own, f"type[{_OWN_NAME}]")}
        return [item for item in items if item.label in of_class or item.label.startswith("__")]

    async def _of_type(self, search: _Search, found: _Type) -> Sequence[TyItem]:
        """Return the members of a type, None of them where its name stands for none in its file."""
        first, dot, rest = found.name.partition(".")
        elsewhere = f"import {found.name.rpartition('.')[0]}" if dot else "import builtins"
        imports = [(elsewhere, found.name if dot else f"builtins.{found.name}")]
        document = self._open(found.path, search)
        lines = _lines(document.content) if document is not None else await self._in_thread(_on_disk, found.path)
        if await self._in_thread(binds, lines, first):
            module = None
            if found.path != search.path:
                module = await self._in_thread(_module, found.path, self._roots(), self._interpreter())
            if module is not None:
                imports.insert(0, (f"from {module} import {first} as {_OWN_NAME}0", f"{_OWN_NAME}0{dot}{rest}"))
            elif found.path == search.path:
                imports.insert(0, ("pass", found.name))
        for statement, name in imports:
            if items := await self._annotated(search, [f"def {_OWN_NAME}():", f"    {statement}"], name, indent="    "):
                return items
        return ()

    async def _annotated(
        self, search: _Search, own: Sequence[str], annotation: str, indent: str = ""
    ) -> Sequence[TyItem]:
        """Return the members of an annotation, behind some lines of our own at the end of the text."""
        word = search.word
        lines = _finished(word)
        lines += ["", *own, f"{indent}def {_OWN_NAME}1({_OWN_NAME}2: {annotation}):", f"{indent}    {_OWN_NAME}2."]
        return await self._members(search, lines, Position(len(lines) - 1, len(lines[-1])))

    async def _members(self, search: _Search, lines: Sequence[str], at: Position) -> Sequence[TyItem]:
        document = search.word.document
        text = Text("\n".join(lines))
        shadow = Document(uri=document.uri, language=document.language, version=document.version, text=text)
        await self._may_ask(search)
        items = listed(await _answer(self._ty.complete(search.key, shadow, at, word_end=at)))
        return items if any(not item.label.startswith("__") for item in items) else ()

    # ---- what a call or name stands for -----------------------------------------------------------------------------

    async def _types(self, search: _Search, path: str, spot: Spot, depth: int) -> AsyncIterator[_Type]:
        places = await self._declared(search, path, spot)
        if len(places) > _MOST_PLACES or depth > _DEEPEST:
            return
        said = [(where, await self._said(search, where, line, column)) for where, line, column in places]
        functions = [what for _, what in said if isinstance(what, Function)]
        overloads = [what for what in functions if what.is_overload]
        seen: set[_Type] = set()
        for where, what in said:
            names: Sequence[str] = ()
            further: Sequence[Spot] = ()
            if isinstance(what, Spot):
                further = (what,)
            elif isinstance(what, Function):
                if (overloads and not what.is_overload) or (what.annotated and not what.is_overload):
                    continue  # What an annotation says ty knows.
                if spot.called != what.is_property:
                    names, further = what.types, what.returned
            elif not spot.called:
                names = what
            for name in names:
                if (found := _Type(where, name)) not in seen:
                    seen.add(found)
                    yield found
            for next_ in further:
                async for found in self._types(search, where, next_, depth + 1):
                    if found not in seen:
                        seen.add(found)
                        yield found

    async def _declared(self, search: _Search, path: str, spot: Spot) -> Sequence[tuple[str, int, int]]:
        """Return where the name at a place is declared: files, lines and columns."""
        encoding = self._ty.encoding
        text = search.word.document.content if path == search.path else None
        line = text.line(spot.line) if text is not None else await self._line(path, spot.line)
        position = {"line": spot.line, "character": units(line[: spot.column], encoding)}
        uri = search.word.document.uri if path == search.path else path_to_uri(path)
        params = {"textDocument": {"uri": uri}, "position": position}
        await self._may_ask(search)
        # Asked of the text as it was asked about last, so that nothing is read anew.
        instead = (search.key, search.word.document.content)
        answer = await _answer(self._ty.ask("textDocument/declaration", params, about=search.key, instead=instead))
        found: list[tuple[str, int, int]] = []
        for location in answer if isinstance(answer, list) else ():
            start = location["range"]["start"]
            where = uri_to_path(location["uri"])
            if where is not None:
                content = await self._line(where, start["line"], search)
                column = own_position(Text(content), 0, start["character"], encoding).column
                found.append((where, start["line"], column))
        return found

    async def _said(self, search: _Search, path: str, line: int, column: int) -> Function | Spot | Sequence[str]:
        document = self._open(path, search)
        if document is not None:
            lines = _finished(search.word) if document is search.word.document else _lines(document.content)
            said: Function | Spot | Sequence[str] = await self._in_thread(_said_in, lines, line, column)
        else:
            said = await self._in_thread(_said_on_disk, path, line, column)
        return said

    async def _line(self, path: str, line: int, search: _Search | None = None) -> str:
        document = self._open(path, search)
        if document is not None:
            return document.line(line) if line < document.content.line_count else ""
        lines: Sequence[str] = await self._in_thread(_on_disk, path)
        return lines[line] if line < len(lines) else ""

    def _open(self, path: str, search: _Search | None) -> Document | None:
        if search is not None and path == search.path:
            return search.word.document
        return self._context.documents.get(path_to_uri(path))

    # ---- limits and helpers -----------------------------------------------------------------------------------------

    async def _may_ask(self, search: _Search) -> None:
        """Wait with a guess until ty has nothing else to do; end where nobody wants the word any more."""
        search.questions += 1
        while search.word.first_request_s is None and self._ty.pending:
            await self._ty.idle()
        if search.questions > _MOST_QUESTIONS or not self._is_wanted(search.word):
            raise _EndedError

    async def _in_thread(self, call: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, call, *args)

    def _roots(self) -> tuple[Path, ...]:
        return tuple(folder.path for folder in self._context.folders if folder.path is not None)

    def _interpreter(self) -> str | None:
        return self._context.settings.python.interpreter


async def _answer(reply: Reply) -> object:
    """Wait for ty's answer; who is cancelled meanwhile cancels the question."""
    result: object = await reply
    if reply.disturbed:
        raise _DisturbedError
    return result


def _lines(text: Text) -> list[str]:
    return [text.line(number) for number in range(text.line_count)]


def _finished(word: TypedWord) -> list[str]:
    """Return the lines of the text in which a word is typed, something that parses instead of its line."""
    lines = _lines(word.document.content)
    number = word.place.start.line
    written = lines[number]
    lines[number] = f"{written[: len(written) - len(written.lstrip())]}pass"
    return lines


def _said_in(lines: Sequence[str], line: int, column: int) -> Function | Spot | Sequence[str]:
    """Return what stands at a name's declaration: a function, what is assigned, or what is said of a parameter."""
    return function_at(lines, line, column) or assigned_at(lines, line, column) or parameter_types(lines, line, column)


def _said_on_disk(path: str, line: int, column: int) -> Function | Spot | Sequence[str]:
    return _said_of(path, _stamp(path), line, column)


def _on_disk(path: str) -> Sequence[str]:
    return _read(path, _stamp(path))


def _stamp(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0  # It is gone, which its text will show.
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=1024)
def _said_of(path: str, stamp: tuple[int, int], line: int, column: int) -> Function | Spot | Sequence[str]:
    return _said_in(_read(path, stamp), line, column)


@lru_cache(maxsize=8)
def _read(path: str, stamp: tuple[int, int]) -> Sequence[str]:
    if not 0 < stamp[1] <= _LONGEST_BYTES:
        return ()
    try:
        return Path(path).read_text("utf-8", "replace").split("\n")
    except OSError:
        return ()  # It went or may not be read: it says nothing.


def _module(path: str, roots: Sequence[Path], interpreter: str | None) -> str | None:
    return module_name(path, [os.fspath(folder) for folder in search_folders(roots, interpreter)])
