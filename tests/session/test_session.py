"""What the session's rooms are told of documents, and when: of many keys at once only the last one's text."""

from __future__ import annotations

import asyncio

import pytest

from headway.session.ports import FileChange, Room
from headway.workspace.documents import Document

from .conftest import Office, OpenOffice


class Listener(Room):
    """Remembers what it was told, in order."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def document_opened(self, document: Document) -> None:
        self.heard.append(("opened", document.text))

    def document_changed(self, document: Document) -> None:
        self.heard.append(("changed", document.text))

    def document_saved(self, document: Document) -> None:
        self.heard.append(("saved", document.text))

    def document_closed(self, uri: str) -> None:
        self.heard.append(("closed", uri.rpartition("/")[2]))

    def files_changed(self, changes: object) -> None:
        self.heard.append(("files", ""))


def test_of_keys_that_come_at_once_rooms_hear_the_last_text_once(office: OpenOffice) -> None:
    async def scenario() -> None:
        async with office() as here:
            room = Listener()
            here.add(room)
            here.open("a.py", "")
            here.open("b.py", "")
            room.heard.clear()
            for text in ("x", "x = ", "x = 1"):
                here.set("a.py", text)
            here.set("b.py", "y")
            assert room.heard == []  # the loop has not turned yet
            held = here.session.documents.get(here.uri("a.py"))
            assert held is not None
            assert (held.text, held.version) == ("x = 1", 4)  # but whoever asks gets the newest
            await asyncio.sleep(0)
            assert room.heard == [("changed", "x = 1"), ("changed", "y")]
            await asyncio.sleep(0)
            assert len(room.heard) == 2
            here.set("a.py", "x = 2")  # the next turn is a new one
            await asyncio.sleep(0)
            assert room.heard[2:] == [("changed", "x = 2")]

    asyncio.run(scenario())


def _settle(here: Office) -> None:
    here.session.settle()


def _save(here: Office) -> None:
    here.session.save_document(here.uri("a.py"))


def _close(here: Office) -> None:
    here.session.close_document(here.uri("a.py"))


def _open(here: Office) -> None:
    here.open("b.py", "other")


def _files(here: Office) -> None:
    here.session.change_files([FileChange(uri=here.uri("c.py"), path=here.root / "c.py", deleted=False)])


@pytest.mark.parametrize(
    ("what", "then"),
    [
        (_settle, []),
        (_save, [("saved", "new")]),
        (_close, [("closed", "a.py")]),
        (_open, [("opened", "other")]),
        (_files, [("files", "")]),
    ],
)
def test_what_happens_next_comes_behind_the_text_before_it(
    office: OpenOffice, what: object, then: list[tuple[str, str]]
) -> None:
    async def scenario() -> None:
        async with office() as here:
            room = Listener()
            here.add(room)
            here.open("a.py", "old")
            room.heard.clear()
            here.set("a.py", "newer")
            here.set("a.py", "new")
            assert callable(what)
            what(here)
            assert room.heard == [("changed", "new"), *then]
            await asyncio.sleep(0)
            assert room.heard == [("changed", "new"), *then]  # and is not told twice

    asyncio.run(scenario())


def test_a_text_that_a_room_changes_while_it_hears_of_one_is_told_too(office: OpenOffice) -> None:
    async def scenario() -> None:
        async with office() as here:
            room = Listener()

            class Answering(Room):
                def document_changed(self, document: Document) -> None:
                    if document.text == "asked":
                        here.set("a.py", "answered")

            here.add(Answering(), room)
            here.open("a.py", "")
            room.heard.clear()
            here.set("a.py", "asked")
            here.session.settle()
            assert room.heard == [("changed", "asked"), ("changed", "answered")]

    asyncio.run(scenario())
