"""Completion requests end to end below the wire, with the real ty."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from headway.engines.server import EngineState
from headway.features.completion import CompletionList
from headway.session.completing import Completing
from headway.session.jobs import RequestSupersededError
from headway.session.looking_ahead import Lookahead
from headway.session.python_engine import PythonEngine
from headway.session.typed_word import TypedWord
from headway.workspace.index import index_text
from headway.workspace.python_text import PlaceKind
from headway.workspace.segments import IndexedFile, Segment
from headway.workspace.symbols import IndexView, SymbolTable
from headway.workspace.text import Position, Range

from .conftest import Office, OpenOffice

# On a machine that is busy with others ty may need long for its first answer, and these lists are about what it says.
PATIENT = {"completion": {"softDeadlineMs": 10_000, "hardDeadlineMs": 60_000}}


class Desk:
    """Where a person types and looks at lists."""

    def __init__(self, office: Office, view: IndexView | None = None) -> None:
        self.office = office
        self.engine = PythonEngine(office.session)
        self.completing = Completing(office.session, self.engine.ty, lambda: view or IndexView())
        office.add(self.engine, self.completing)

    async def complete(self, name: str, source: str) -> CompletionList:
        """Complete at `$0` in a text that becomes the document's."""
        text, position = self.office.at(source)
        if self.office.session.documents.get(self.office.uri(name)) is None:
            self.office.open(name, text)
        else:
            self.office.set(name, text)
        return await self.completing.complete(self.office.uri(name), position)

    async def ready(self) -> None:
        await self.office.start()
        async with asyncio.timeout(60):
            await self.engine.ty.ready()


def labels(found: CompletionList) -> list[str]:
    return [item.label for item in found.items]


@pytest.mark.asyncio
async def test_while_the_engine_is_away_the_open_text_answers(office: OpenOffice) -> None:
    async with office(settings={"python": {"engines": ["index"]}}) as place:
        desk = Desk(place)
        found = await desk.complete("a.py", "def known_here(argument):\n    return arg$0")
        assert labels(found)[0] == "argument"
        assert found.incomplete
        assert "isinstance" in labels(await desk.complete("a.py", "isin$0"))
        found = await desk.complete("a.py", "class C:\n    def method(self):\n        self.$0")
        assert labels(found) == ["method"]
        found = await desk.complete("a.py", "from os import path as p\np.joi$0")
        assert labels(found)[0] == "join"
        assert labels(await desk.complete("a.py", "'text'.starts$0")) == ["startswith"]


@pytest.mark.asyncio
async def test_while_the_engine_is_away_a_modules_own_text_answers(office: OpenOffice) -> None:
    async with office(settings={"python": {"engines": ["index"]}}) as place:
        library = place.root / ".venv/lib/python3.12/site-packages/library"
        library.mkdir(parents=True)
        (place.root / ".venv/pyvenv.cfg").write_text("home = /nowhere\n")
        (library / "__init__.py").write_text("from .core import Array, zeros\n")
        (place.root / "shop.py").write_text("class Cart: ...\n\n\ndef sell(): ...\n")
        desk = Desk(place)
        found = await desk.complete("a.py", "import shop as s\ns.$0")
        assert (labels(found), found.incomplete) == (["Cart", "sell"], True)
        assert labels(await desk.complete("a.py", "import shop as s\ns.se$0")) == ["sell"]
        assert labels(await desk.complete("a.py", "import library\nlibrary.$0")) == ["Array", "zeros"]
        assert labels(await desk.complete("a.py", "from library import $0")) == ["Array", "zeros"]
        assert labels(await desk.complete("a.py", "import unknown\nunknown.$0")) == []


@pytest.mark.asyncio
async def test_where_the_engine_is_very_late_a_modules_own_text_answers(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        (place.root / "shop.py").write_text("class Cart: ...\n\n\ndef sell(): ...\n")
        desk = Desk(place)
        await desk.ready()
        pid = desk.engine.ty.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            text, position = place.at("import shop\nshop.$0")
            place.open("a.py", text)
            late_s = asyncio.get_running_loop().time() - 31.0  # three soft deadlines
            async with asyncio.timeout(20):
                found = await desk.completing.complete(place.uri("a.py"), position, asked_s=late_s)
            assert (labels(found), found.incomplete) == (["Cart", "sell"], True)
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.asyncio
async def test_what_only_the_text_knows_is_not_called_as_it_may_be_a_property(office: OpenOffice) -> None:
    settings = {"python": {"engines": ["index"]}, "completion": {"callParentheses": True}}
    async with office(settings=settings) as place:
        source = "class C:\n    @property\n    def size(self): ...\n    def use(self):\n        self.$0"
        found = await Desk(place).complete("a.py", source)
        assert {item.label: item.call for item in found.items} == {"size": "", "use": ""}


@pytest.mark.asyncio
async def test_in_code_that_the_engine_takes_for_unreachable_the_text_answers(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        source = "class C:\n    def __init__(self):\n        self.size = 1\n    def use(self):\n        return 1\n"
        assert "size" in labels(await desk.complete("a.py", f"{source}        self.si$0"))
        assert "text" not in labels(await desk.complete("a.py", f"text = 1\n{source}        self.te$0"))


@pytest.mark.asyncio
async def test_modules_are_named_while_the_engine_still_looks_for_them(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        (place.root / "shop").mkdir()
        (place.root / "shop" / "cart.py").touch()
        desk = Desk(place)
        await desk.ready()
        pid = desk.engine.ty.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            place.session.configure({"completion": {"softDeadlineMs": 300, "hardDeadlineMs": 60_000}}, whole=True)
            found = await desk.complete("a.py", "from sho$0")
            assert labels(found)[0] == "shop"
            assert found.incomplete
            assert labels(await desk.complete("a.py", "from shop.ca$0"))[0] == "cart"
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.asyncio
async def test_what_a_question_waited_elsewhere_counts(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        pid = desk.engine.ty.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            place.open("a.py", "known_here = 1\nknown_")
            asked_s = asyncio.get_running_loop().time() - 10.0  # the whole soft deadline
            async with asyncio.timeout(5):
                found = await desk.completing.complete(place.uri("a.py"), Position(1, 6), asked_s=asked_s)
            assert labels(found)[0] == "known_here"
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.asyncio
async def test_a_name_that_the_text_knows_is_not_long_waited_for_and_a_member_is(office: OpenOffice) -> None:
    """A sixteenth of the soft deadline has passed: names are shown, what is behind a dot waits for who knows all.

    Who knows all is the text itself where a class has nothing from elsewhere.
    """
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        pid = desk.engine.ty.pid
        assert pid is not None
        members, position = place.at(
            "import collections\n\n\nclass C(collections.Counter):\n    def own(self):\n        self.$0"
        )
        place.open("b.py", members)
        all_here, in_the_other = place.at(
            "class Base:\n    def inherited(self): ...\n\n\nclass C(Base):\n    def own(self):\n        self.$0"
        )
        place.open("c.py", all_here)
        place.open("a.py", "known_here = 1\nknown_")
        await asyncio.gather(
            *(desk.completing.complete(place.uri(name), Position(0, 0)) for name in ("a.py", "b.py", "c.py"))
        )
        os.kill(pid, signal.SIGSTOP)
        try:
            asked_s = asyncio.get_running_loop().time() - 1.5
            async with asyncio.timeout(5):
                found = await desk.completing.complete(place.uri("a.py"), Position(1, 6), asked_s=asked_s)
            assert (labels(found)[0], found.incomplete) == ("known_here", True)
            asked_s = asyncio.get_running_loop().time() - 1.5
            async with asyncio.timeout(5):
                found = await desk.completing.complete(place.uri("c.py"), in_the_other, asked_s=asked_s)
            assert (labels(found)[:2], found.incomplete) == (["own", "inherited"], True)
            waiting = asyncio.ensure_future(desk.completing.complete(place.uri("b.py"), position, asked_s=asked_s))
            assert labels(await desk.complete("a.py", "known_here = 1\nprint(known_$0"))[0] == "known_here"
            assert not waiting.done()
        finally:
            os.kill(pid, signal.SIGCONT)
        assert {"own", "most_common"} <= set(labels(await waiting))


GUESSES = [
    ("import os\nos.getcwd($0", "import os\nos.getcwd()$0", PlaceKind.MEMBER),
    ("x = 'abc$0", "x = 'abc'$0", PlaceKind.MEMBER),
    ("x = $0", "x = '$0", PlaceKind.STRING),
    ("from$0", "from $0", PlaceKind.MODULE),
    ("import$0", "import $0", PlaceKind.MODULE),
    ("from os import$0", "from os import $0", PlaceKind.IMPORTED),
    ("x =$0", "x = $0", PlaceKind.NAME),
]


@pytest.mark.asyncio
async def test_what_may_come_next_is_asked_for_before_it_comes(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        engine = PythonEngine(place.session)
        place.add(engine)
        await place.start()
        place.open("other.py", "")
        async with asyncio.timeout(60):
            await engine.ty.ready()
            await engine.ty.idle()
            while not engine.ty.is_warm:  # noqa: ASYNC110 - it is not asked while it has anything else to do
                await asyncio.sleep(0)
        asked: list[TypedWord] = []
        ahead = Lookahead(place.session, engine.ty, asked.append)

        async def guessed(count: int) -> TypedWord:
            async with asyncio.timeout(30):
                while len(asked) < count:  # noqa: ASYNC110 - a timer fills it
                    await asyncio.sleep(0)
            return asked[-1]

        for number, (before, after, kind) in enumerate(GUESSES):
            name = f"guess{number}.py"
            ahead.opened(place.open(name, place.at(before)[0]))
            document = place.set(name, place.at(after)[0])
            ahead.changed(document)
            word = await guessed(number + 1)
            assert (word.place.kind, word.document.text.rstrip(".")) == (kind, document.text)
        document = place.open("module.py", "from os")
        ahead.written(document, Position(0, 7))
        word = await guessed(len(GUESSES) + 1)
        assert (word.place.kind, word.place.module, word.document.text) == (PlaceKind.MODULE, "os.", "from os.")


@pytest.mark.asyncio
async def test_it_is_counted_what_was_prepared_and_what_of_it_was_wanted(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await place.start()
        async with asyncio.timeout(60):
            await desk.engine.ty.ready()
            while not desk.engine.ty.is_warm:  # noqa: ASYNC110 - it is not asked while it has anything else to do
                await asyncio.sleep(0)
        guesses = desk.completing.guesses

        async def prepared(name: str, count: int) -> None:
            """Write a name in full, and wait until its members are asked for and known."""
            text = f"import json\n{name}"
            known = place.session.documents.get(place.uri("main.py"))
            document = place.open("main.py", text) if known is None else place.set("main.py", text)
            async with asyncio.timeout(60):
                while guesses.made < count:
                    # While ty has anything else to do nothing is guessed.
                    await desk.engine.ty.idle()
                    await desk.completing.complete(document.uri, Position(1, len(name)))
                    await asyncio.sleep(0.01)
                await desk.engine.ty.idle()

        await prepared("json", 1)
        document = place.set("main.py", "import json\njson.")
        found = await desk.completing.complete(document.uri, Position(1, 5))
        assert "dumps" in labels(found)
        assert guesses.came_true == 1
        saved_s = guesses.saved_s
        assert saved_s > 0
        made = guesses.made
        await prepared("print", made + 1)  # no dot follows here
        document = place.set("main.py", "import json\njson")
        await desk.completing.complete(document.uri, Position(1, 4))
        assert (guesses.came_true, guesses.saved_s) == (1, saved_s)
        told = guesses.exposition().splitlines()
        assert "headway_speculation_hits_total 1" in told


@pytest.mark.asyncio
async def test_a_text_that_somebody_waits_for_is_read_before_those_that_were_only_opened(office: OpenOffice) -> None:
    async with office(settings={"python": {"engines": ["index"]}}) as place:
        ahead = Lookahead(place.session, PythonEngine(place.session).ty, lambda word: None)
        text = "\n\n".join(f"def name_{{0}}_{number}():\n    value = {number}" for number in range(3_000))
        opened = [place.open(f"{name}.py", text.format(name)) for name in "abc"]
        for document in opened:
            ahead.opened(document)
        await asyncio.sleep(0)  # the first of them begins
        await ahead.read(opened[2])
        assert [ahead.has_read(document) for document in opened] == [False, False, True]


@pytest.mark.asyncio
async def test_of_the_texts_that_were_opened_the_changed_one_is_read_first(office: OpenOffice) -> None:
    async with office(settings={"python": {"engines": ["index"]}}) as place:
        ahead = Lookahead(place.session, PythonEngine(place.session).ty, lambda word: None)
        text = "\n\n".join(f"def name_{{0}}_{number}():\n    value = {number}" for number in range(300))
        for name in "abc":
            ahead.opened(place.open(f"{name}.py", text.format(name)))
        changed = place.set("c.py", text.format("c") + "\n")
        ahead.changed(changed)
        async with asyncio.timeout(30):
            while not ahead.has_read(changed):  # noqa: ASYNC110 - turn by turn
                await asyncio.sleep(0)
        others = [place.session.documents.get(place.uri(f"{name}.py")) for name in "ab"]
        assert [other is not None and ahead.has_read(other) for other in others] == [False, False]


@pytest.mark.asyncio
async def test_behind_a_dot_there_are_members_only(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        found = await desk.complete("a.py", "import os\n\n\nclass CamelCase: pass\n\n\nos.$0")
        assert "path" in labels(found) or found.incomplete
        assert not {"CamelCase", "lambda", "import", "os"} & set(labels(found))
        assert len(found.items) <= 100
        assert (await desk.complete("a.py", "'text'.start$0")).items[0].label == "startswith"


@pytest.mark.asyncio
async def test_typing_on_asks_the_engine_no_more(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        assert "path" in labels(await desk.complete("a.py", "import os\nos.p$0"))
        pid = desk.engine.ty.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)  # From here on it can say nothing.
        try:
            assert "path" in labels(await desk.complete("a.py", "import os\nos.pa$0"))
            found = await desk.complete("a.py", "import os\nos.path$0")
            assert labels(found)[0] == "path"
            assert not found.incomplete
            assert "environ" in labels(await desk.complete("a.py", "import os\nos.e$0"))
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.asyncio
async def test_while_the_engine_is_slow_each_later_letter_is_answered_at_once(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        pid = desk.engine.ty.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            place.session.configure({"completion": {"softDeadlineMs": 1}}, whole=True)
            assert labels(await desk.complete("a.py", "known_name = 1\nk$0"))[0] == "known_name"
            place.session.configure(PATIENT, whole=True)  # A wait of ten seconds, if it counted anew.
            loop = asyncio.get_running_loop()
            word = desk.completing.word(place.uri("a.py"))
            assert word is not None
            word.first_request_s = loop.time() - 10
            found = await desk.complete("a.py", "known_name = 1\nkno$0")
            assert labels(found)[0] == "known_name"
            assert found.incomplete
            assert word is desk.completing.word(place.uri("a.py"))
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.asyncio
async def test_a_change_elsewhere_is_seen(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        assert "path" in labels(await desk.complete("a.py", "import os as m\nm.pa$0"))
        assert "path" not in labels(await desk.complete("a.py", "import re as m\nm.pa$0"))
        assert "findall" in labels(await desk.complete("a.py", "import re as m\nm.finda$0"))


@pytest.mark.asyncio
async def test_a_killed_engine_makes_no_list_empty(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        assert labels(await desk.complete("a.py", "first_name = 1\nfirst$0"))[0] == "first_name"
        pid = desk.engine.ty.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert labels(await desk.complete("a.py", "first_name = 1\nprint(first$0"))[0] == "first_name"
        async with asyncio.timeout(60):
            while desk.engine.ty.pid in (None, pid):
                await desk.engine.ty.ready()
        assert "startswith" in labels(await desk.complete("a.py", "'x'.starts$0"))


@pytest.mark.asyncio
async def test_a_newer_request_takes_the_place_of_an_older_one_of_the_same_document(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        text, position = place.at("import os\nos.$0")
        place.open("a.py", text)
        place.open("b.py", text)
        first, second, other = (
            asyncio.ensure_future(desk.completing.complete(place.uri(name), position))
            for name in ("a.py", "a.py", "b.py")
        )
        await asyncio.wait([first, second, other])
        assert isinstance(first.exception(), RequestSupersededError)
        assert len(second.result().items) == len(other.result().items) == 100


@pytest.mark.asyncio
async def test_of_a_flood_of_keys_ty_hears_little_and_the_last_one_is_answered(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        assert "path" in labels(await desk.complete("a.py", "import os\nos.pa$0"))
        asked: list[asyncio.Future[CompletionList]] = []
        words: list[TypedWord | None] = []
        for number in range(30):
            asked.append(asyncio.ensure_future(desk.complete("a.py", "import os\n" + "o = 1\n" * number + "os.pa$0")))
            for _ in range(10):  # It has its turns, in which it would ask.
                await asyncio.sleep(0)
            words.append(desk.completing.word(place.uri("a.py")))
        ended = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(one, RequestSupersededError | CompletionList) for one in ended)
        assert "path" in labels(await asked[-1])
        # All different, if each key had set off what it asks for; a gap that is long on a busy machine is no flood.
        assert len(set(map(id, words))) < 15


@pytest.mark.asyncio
@pytest.mark.parametrize("source", ["# com$0ment", "def new_na$0", "x = 12$0", "import os as n$0"])
async def test_where_nothing_fits_the_list_is_empty_and_complete(office: OpenOffice, source: str) -> None:
    async with office(settings={"python": {"engines": ["index"]}}) as place:
        found = await Desk(place).complete("a.py", source)
        assert (found.items, found.incomplete) == ((), False)


@pytest.mark.asyncio
async def test_places_outside_of_the_text_and_unknown_documents_are_no_mistake(office: OpenOffice) -> None:
    async with office(settings={"python": {"engines": ["index"]}}) as place:
        desk = Desk(place)
        place.open("a.py", "name = 1\n")
        for position in (Position(99, 0), Position(0, 999), Position(2, 0)):
            await desk.completing.complete(place.uri("a.py"), position)
        assert (await desk.completing.complete(place.uri("missing.py"), Position(0, 0))).items == ()
        place.open("", "def kept():\n    pass\n\nkep", uri="untitled:Untitled-1")
        assert labels(await desk.completing.complete("untitled:Untitled-1", Position(3, 3)))[0] == "kept"


@pytest.mark.asyncio
async def test_what_is_shown_can_be_resolved_while_it_is_remembered(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        found = await desk.complete("a.py", "def documented():\n    '''What it does.'''\n\n\ndocumente$0")
        resolved = await desk.completing.resolve(found.list_id, labels(found).index("documented"))
        assert resolved is not None
        assert resolved.documentation == "What it does."
        assert await desk.completing.resolve(found.list_id, 5000) is None
        for _ in range(20):
            await desk.complete("a.py", "documented = 1\ndocumente$0")
        assert await desk.completing.resolve(found.list_id, 0) is None


@pytest.mark.asyncio
async def test_in_a_very_long_text_the_lines_around_the_cursor_count(office: OpenOffice) -> None:
    filler = "".join(f"far_{number} = {number}\n" for number in range(40_000))
    async with office(settings={"python": {"engines": ["index"]}}) as place:
        desk = Desk(place)
        found = await desk.complete("a.py", filler + "def near_here(argument):\n    print(arg$0um)\n" + filler)
        assert labels(found)[0] == "argument"
        assert found.replace_range == Range(Position(40_001, 10), Position(40_001, 15))
        found = await desk.complete("a.py", filler + "class C:\n    def method(self):\n        self.me$0\n")
        assert labels(found)[0] == "method"


def indexed(**files: str) -> IndexView:
    """Return an index of modules, by name."""
    table = SymbolTable("/elsewhere")
    table.adopt(
        Segment(
            [
                IndexedFile(number, 1, f"{name}.py", index_text(f"{name}.py", text).definitions)
                for number, (name, text) in enumerate(files.items())
            ]
        )
    )
    return IndexView(parts=table.parts)


@pytest.mark.asyncio
async def test_a_name_of_another_module_comes_with_its_import(office: OpenOffice) -> None:
    view = indexed(shapes="class CircleShape: pass\n\n\ndef _hidden_circle(): pass\n")
    async with office(settings={"python": {"engines": ["index"]}}) as place:
        desk = Desk(place, view)
        found = await desk.complete("a.py", "import os\n\nCircle$0")
        assert labels(found) == ["CircleShape"]
        assert found.items[0].import_from == "shapes"
        resolved = await desk.completing.resolve(found.list_id, 0)
        assert resolved is not None
        assert resolved.edits == ((Range(Position(1, 0), Position(1, 0)), "from shapes import CircleShape\n"),)
        assert "CircleShape" not in labels(await desk.complete("a.py", "import os\n\nos.Circle$0"))


@pytest.mark.asyncio
async def test_the_range_replaces_the_whole_word(office: OpenOffice) -> None:
    async with office(settings={"python": {"engines": ["index"]}}) as place:
        found = await Desk(place).complete("a.py", "argument = 1\nprint(argu$0ment)")
        assert found.insert_range == Range(Position(1, 6), Position(1, 10))
        assert found.replace_range == Range(Position(1, 6), Position(1, 14))


@pytest.mark.asyncio
async def test_an_engine_that_is_switched_off_is_ended(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        place.session.configure({"python": {"engines": ["index"]}}, whole=True)
        async with asyncio.timeout(30):
            while desk.engine.ty.state is not EngineState.OFF:  # noqa: ASYNC110 - its state has one listener, the room
                await asyncio.sleep(0)
        assert desk.engine.ty.pid is None


@pytest.mark.asyncio
async def test_other_languages_have_words_and_names_but_never_members(office: OpenOffice) -> None:
    table = SymbolTable("/w")
    source = "package p\nfunc ListenAll() {}\nfunc (s *S) ListenLoud() {}\n"
    table.adopt(Segment([IndexedFile(1, 1, "a.go", index_text("a.go", source).definitions)]))
    table.adopt(Segment([IndexedFile(2, 2, "b.py", index_text("b.py", "def ListenPython(): pass\n").definitions)]))
    async with office(settings={"python": {"engines": ["index"]}}) as place:
        desk = Desk(place, IndexView(parts=table.parts))
        text, position = place.at("package q\nvar ListenHere = 1\n\nfunc main() {\n\tLis$0\n}\n")
        place.open("main.go", text, language="go")
        assert labels(await desk.completing.complete(place.uri("main.go"), position)) == ["ListenHere", "ListenAll"]
        member, position = place.at("package q\nvar ListenHere = 1\n\nfunc main() {\n\tx.Lis$0\n}\n")
        place.set("main.go", member)
        assert labels(await desk.completing.complete(place.uri("main.go"), position)) == []
