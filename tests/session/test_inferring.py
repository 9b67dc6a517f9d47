"""Members where ty by itself does not know what stands before the dot, with the real ty."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from headway.session.inferring import Inferring
from headway.session.looking_ahead import Lookahead
from headway.session.ports import FileChange
from headway.session.python_engine import PythonEngine
from headway.session.typed_word import TypedWord
from headway.workspace.uris import identity

from .conftest import OpenOffice
from .test_completing import PATIENT, Desk, labels

LIBRARY = {
    "shop/__init__.py": "from shop.parts import make\n",
    "shop/parts.py": ("class Part:\n    weight = 1\n    def sell(self): ...\nclass Other:\n    colour = 1\n"),
    "shop/making.py": (
        "import shop.parts\n"
        "from shop.parts import Other\n"
        "def made(how):\n"
        '    """Make one.\n\n    :rtype: shop.parts.Part\n    """\n'
        "    return how()\n"
        "def wrapped(how):\n"
        "    part = made(how)\n"
        "    return part\n"
        "def either(how):\n"
        "    if how:\n"
        "        return made(how)\n"
        '    """no docstring"""\n'
        "    return other(how)\n"
        "def other(how):\n"
        '    """Make another one.\n\n    Returns:\n        Other: as it is.\n    """\n'
        "    return how()\n"
        "def vague(how):\n"
        '    """Make what\n\n    :rtype: whatever is asked for\n    """\n'
        "    return how()\n"
        "class Maker:\n"
        "    @property\n"
        "    def last(self):\n"
        '        """:rtype: Other"""\n'
        "        return self.how()\n"
    ),
}


def write(root: Path) -> None:
    for name, text in LIBRARY.items():
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("from shop.making import made\nx = made(1)\nx.$0\n", {"weight", "sell"}, id="a docstring"),
        pytest.param("from shop.making import made\nprint(made(1).$0\n", {"weight", "sell"}, id="of the call itself"),
        pytest.param("from shop.making import made\nx = made(\n    1,\n)\nif x.$0", {"weight", "sell"}, id="lines"),
        pytest.param("from shop import making\nx = making.wrapped(1)\nx.$0", {"weight", "sell"}, id="handed on"),
        pytest.param("from shop.making import either\neither(1).$0", {"weight", "colour"}, id="one of two"),
        pytest.param("from shop.making import Maker\ndef f():\n    Maker().last.$0", {"colour"}, id="a property"),
        pytest.param(
            "from shop.parts import Part\ndef f(x: Part | None):\n    x.$0",
            {"weight", "sell"},
            id="annotated with None",
        ),
        pytest.param(
            "from shop.parts import Part\ndef g() -> Part | None: ...\nprint(g().$0)",
            {"weight", "sell"},
            id="a call annotated with None",
        ),
        pytest.param("import re\nm = re.match('a', 'b')\nm.$0", {"group", "span"}, id="what may be None"),
        pytest.param("import re\nre.match('a', 'b').$0", {"group", "span"}, id="a call that may give None"),
        pytest.param(
            "from urllib.parse import urlparse\ndef f(url):\n    x = urlparse(url)\n    x.$0",
            {"netloc", "hostname"},
            id="several signatures",
        ),
        pytest.param(
            "from shop.parts import Part\nclass Own(Part):\n    def sell(self):\n        super().$0",
            {"weight", "sell"},
            id="super",
        ),
        pytest.param(
            'from shop.parts import Part\ndef f(one):\n    """Do.\n\n    :param Part one: it\n    """\n    one.$0',
            {"weight", "sell"},
            id="a parameter",
        ),
    ],
)
@pytest.mark.asyncio
async def test_members_are_found_through_what_the_text_says(
    office: OpenOffice, source: str, expected: set[str]
) -> None:
    async with office(settings=PATIENT) as place:
        write(place.root)
        desk = Desk(place)
        await desk.ready()
        found = await desk.complete("main.py", source)
        assert expected <= set(labels(found))
        assert not found.incomplete


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("from shop.making import vague\nx = vague(1)\nx.$0", id="a sentence is no type"),
        pytest.param("from shop.making import made\nmade.__wrapped__.$0", id="an unknown attribute"),
        pytest.param("import json\ndef f(text):\n    json.loads(text).$0", id="what an annotation leaves open"),
        pytest.param("from shop.making import Maker\ndef f(x):\n    Maker().last().$0", id="a property that is called"),
        pytest.param('def f(one):\n    """:rtype: str"""\n    one.$0', id="a parameter is not what is returned"),
        pytest.param("class Own:\n    def sell(self):\n        super().$0", id="no bases"),
    ],
)
@pytest.mark.asyncio
async def test_where_the_text_does_not_say_there_is_no_list(office: OpenOffice, source: str) -> None:
    async with office(settings=PATIENT) as place:
        write(place.root)
        desk = Desk(place)
        await desk.ready()
        found = await desk.complete("main.py", source)
        assert [label for label in labels(found) if not label.startswith("__")] == []


@pytest.mark.asyncio
async def test_what_super_gives_is_of_the_class_and_not_of_its_objects(office: OpenOffice) -> None:
    source = (
        "class Base:\n    kind = 1\n    def __init__(self):\n        self.own = 1\n"
        "class Own(Base):\n    def mine(self):\n        super().$0\n"
    )
    async with office(settings=PATIENT) as place:
        desk = Desk(place)
        await desk.ready()
        named = labels(await desk.complete("main.py", source))
        assert "kind" in named
        assert {"own", "mine", "mro"}.isdisjoint(named)


@pytest.mark.asyncio
async def test_what_the_engine_knows_is_not_looked_for(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        write(place.root)
        desk = Desk(place)
        await desk.ready()
        found = await desk.complete("main.py", "from shop.parts import Part\nx = Part()\nx.$0")
        word = desk.completing.word(place.uri("main.py"))
        assert "weight" in labels(found)
        assert word is not None
        assert word.inferences == 0


@pytest.mark.asyncio
async def test_a_guess_has_the_members_ready(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        write(place.root)
        engine = PythonEngine(place.session)
        place.add(engine)
        await place.start()
        async with asyncio.timeout(60):
            await engine.ty.ready()
            while not engine.ty.is_warm:  # noqa: ASYNC110 - nothing is guessed while it has anything else to do
                await asyncio.sleep(0)
        inferring = Inferring(place.session, engine.ty, lambda word: True)

        def ask(word: TypedWord) -> None:
            document = word.document
            key = identity(document.uri)
            word.asked(engine.ty.complete(key, document, word.place.start, word_end=word.place.end))

        ahead = Lookahead(place.session, engine.ty, ask, inferring.prepare)
        text, position = place.at("from shop.making import made\nx = made(1)\nx$0\n")
        document = place.open("main.py", text)
        ahead.written(document, position)
        key = identity(document.uri)
        async with asyncio.timeout(60):
            while (word := ahead.word(key)) is None or not word.inferred:  # noqa: ASYNC110 - a job ends it
                await asyncio.sleep(0)
        source = word.engine_source()
        assert source is not None
        assert {"weight", "sell"} <= set(source.labels)
        assert word.first_request_s is None


@pytest.mark.asyncio
async def test_what_comes_too_late_for_one_key_is_there_for_a_later_one(office: OpenOffice) -> None:
    settings = {"completion": {"softDeadlineMs": 1, "hardDeadlineMs": 60_000}}
    async with office(settings=settings) as place:
        write(place.root)
        desk = Desk(place)
        await desk.ready()
        found = await desk.complete("main.py", "from shop.making import wrapped\nx = wrapped(1)\nx.$0")
        async with asyncio.timeout(60):
            while found.incomplete:
                found = await desk.complete("main.py", "from shop.making import wrapped\nx = wrapped(1)\nx.w$0")
        assert "weight" in labels(found)


@pytest.mark.asyncio
async def test_a_docstring_that_changes_on_disk_counts_at_once(office: OpenOffice) -> None:
    source = "from shop.making import made\nx = made(1)\nx.$0"
    async with office(settings=PATIENT) as place:
        write(place.root)
        desk = Desk(place)
        await desk.ready()
        assert "weight" in labels(await desk.complete("main.py", source))
        path = place.root / "shop/making.py"
        path.write_text(path.read_text("utf-8").replace(":rtype: shop.parts.Part", ":rtype: Other"), "utf-8")
        desk.engine.files_changed([FileChange(uri=path.as_uri(), path=path, deleted=False)])
        named = labels(await desk.complete("main.py", f"\n{source}"))
        assert "colour" in named
        assert "weight" not in named


@pytest.mark.asyncio
async def test_a_function_that_is_open_counts_as_it_is_written(office: OpenOffice) -> None:
    async with office(settings=PATIENT) as place:
        write(place.root)
        desk = Desk(place)
        await desk.ready()
        place.open("shop/making.py", LIBRARY["shop/making.py"].replace(":rtype: shop.parts.Part", ":rtype: Other"))
        named = labels(await desk.complete("main.py", "from shop.making import made\nx = made(1)\nx.$0"))
        assert "colour" in named
        assert "weight" not in named
