"""The client against a server that behaves, and against each way in which one does not."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from headway.demo.client import Client
from headway.demo.document import Document, utf16_units
from headway.demo.errors import NoAnswerError, RefusedError, ServerEndedError
from headway.demo.sources import Sources
from headway.demo.statements import choose
from headway.demo.typist import Key, Pace, Sight, When, holds, type_statement

T = TypeVar("T")
Scripted = Callable[[str], tuple[str, ...]]
QUICK = Pace(key_s=0.005, pause_s=0.0, patience_s=0.2, start_s=0.0)


def talk(argv: tuple[str, ...], root: Path, use: Callable[[Client], Awaitable[T]]) -> tuple[T, int | None]:
    """Start the server, introduce each other, do `use`, say goodbye; return its value and the exit code."""

    async def conversation() -> tuple[T, int | None]:
        client = await Client.start(argv, root=root, log=root.parent / "log")
        try:
            await client.initialize({})
            return await use(client), None
        finally:
            codes.append(await client.close(grace_s=2.0))

    codes: list[int | None] = []
    value, _ = asyncio.run(conversation())
    return value, codes[0]


async def type_one(client: Client) -> tuple[list[Key], list[Sight], Document]:
    (statement,) = choose(Sources(client.root), 1, seed=1)
    document = Document(client, client.root / statement.file)
    sights: list[Sight] = []
    keys = await type_statement(document, statement, pace=QUICK, when=lambda: When.START, show=sights.append)
    return keys, sights, document


def test_a_statement_is_typed_listed_and_taken_back(shop: Path, scripted: Scripted) -> None:
    (keys, sights, document), code = talk(scripted("good"), shop, type_one)
    path = shop / document.uri.rpartition("project/")[2]
    assert document.text == path.read_text(encoding="utf-8")
    assert all(key.wait_s is not None and key.failed is None and key.when is When.START for key in keys)
    assert keys[-1].hit is True
    assert sights[-1].typed == sights[-1].statement.text
    assert code == 0


def test_an_empty_list_is_a_miss_and_an_error_no_list(shop: Path, scripted: Scripted) -> None:
    (empty, _, _), _ = talk(scripted("empty"), shop, type_one)
    assert empty[-1].hit is False
    assert empty[-1].wait_s is not None
    (errors, _, _), _ = talk(scripted("errors"), shop, type_one)
    assert all(key.wait_s is None and key.hit is None for key in errors)
    assert errors[-1].failed == "cannot list"


def test_who_gets_no_list_waits_no_longer_than_patience(shop: Path, scripted: Scripted) -> None:
    (keys, _, document), _ = talk(scripted("silent"), shop, type_one)
    assert all(key.wait_s is None and key.hit is None for key in keys)
    assert document.version > len(keys)


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("dies", r"closed its output \(exit code 7\)\n.*\nthis is the end"),
        ("garbage", "wrote something that is no message"),
    ],
)
def test_the_end_of_a_server_is_told_with_its_log(mode: str, words: str, shop: Path, scripted: Scripted) -> None:
    async def use(client: Client) -> None:
        await type_one(client)
        await type_one(client)

    with pytest.raises(ServerEndedError, match=words):
        talk(scripted(mode), shop, use)


def test_a_server_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    with pytest.raises(ServerEndedError, match="no-such-program"):
        asyncio.run(Client.start(("/no-such-program",), root=tmp_path, log=tmp_path / "log"))


def test_a_refusal_is_not_an_end(shop: Path, scripted: Scripted) -> None:
    async def use(client: Client) -> None:
        raise AssertionError("never introduced")

    with pytest.raises(RefusedError, match=r"initialize: not today \(-32603\)"):
        talk(scripted("refuses"), shop, use)


def test_silence_is_told_with_the_time_waited(shop: Path, scripted: Scripted) -> None:
    async def use(client: Client) -> None:
        await client.call("textDocument/completion", {}, limit_s=0.05)

    with pytest.raises(NoAnswerError, match="textDocument/completion"):
        talk(scripted("silent"), shop, use)


@pytest.mark.parametrize(("text", "units"), [("", 0), ("abc", 3), ("é", 1), ("😀", 2), ("a😀b", 4)])
def test_positions_count_utf16(text: str, units: int) -> None:
    assert utf16_units(text) == units


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (None, False),
        ([], False),
        ([{"label": "wanted"}], True),
        ({"items": [{"label": "wanted(self, x)"}]}, True),
        ({"items": [{"label": "wanted_not"}]}, False),
        ({"items": [{"label": "Wanted", "insertText": "wanted"}]}, True),
    ],
)
def test_a_list_holds_a_name(result: object, expected: bool) -> None:
    assert holds(result, "wanted") is expected


def test_both_sides_have_the_same_text(shop: Path, scripted: Scripted) -> None:
    """While a statement is typed and after it is taken back; columns before an emoji and behind it."""
    path = shop / "shop" / "odd.py"
    path.write_text("a = 1\nb = '😀'; c = a.real\n", encoding="utf-8")

    async def use(client: Client) -> list[tuple[str, str]]:
        document = Document(client, path)
        seen = []
        changes: list[Callable[[], None]] = [partial(document.cut, (1, 9)), partial(document.insert, "c = a.")]
        for change in (*changes, document.restore):
            change()
            seen.append((document.text, await client.call("script/text", {"uri": document.uri})))
        return seen

    seen, _ = talk(scripted("good"), shop, use)
    expected = ["a = 1\nb = '😀'; \n", "a = 1\nb = '😀'; c = a.\n", "a = 1\nb = '😀'; c = a.real\n"]
    assert seen == [(text, text) for text in expected]


def test_who_waits_for_an_answer_is_told_of_the_end(shop: Path, scripted: Scripted) -> None:
    """At once, not when patience ends."""

    async def use(client: Client) -> None:
        for _ in range(5):
            await client.call("textDocument/completion", {})

    with pytest.raises(ServerEndedError, match="this is the end"):
        talk(scripted("dies"), shop, use)
