"""Search by meaning end to end below the wire: a real scheduler, real worker processes, a real HTTP endpoint."""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from headway.engines.embedder import SENTINEL
from headway.session.indexing import Indexing
from headway.session.meaning import Meaning
from headway.session.searching import SearchAnswer, Searching, SearchQuery
from headway.settings import EmbeddingsSettings, Settings
from tests.endpoint import Peer, endpoint

from .test_indexing import LIMIT_S, Workspace

CAR = 'def park(spot):\n    """Put a vehicle into a spot."""\n    return spot\n'
INVOICE = 'def send(invoice):\n    """Mail an invoice."""\n    return invoice\n'
BUSY = (429, {"Retry-After": "0"}, b'{"error": {"message": "slow down"}}')


class Place(Workspace):
    """A workspace whose search knows meanings."""

    meaning: Any = None

    def ask_of(self, peer: Peer, **how: Any) -> None:
        settings = EmbeddingsSettings(url=peer.url, model="words", query_timeout_ms=10_000, **how)
        self.settings = dataclasses.replace(self.settings, embeddings=settings)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    @asynccontextmanager
    async def searching(self) -> AsyncIterator[Indexing]:
        async with self.serving() as indexing:
            self.meaning = Meaning(self, indexing, on_change=self._news.set, rests_s=0.05)
            indexing._on_change = self._index_changed
            await self.meaning.start()
            try:
                yield indexing
            finally:
                await self.meaning.close()

    def _index_changed(self) -> None:
        self._news.set()
        self.meaning.index_changed()

    async def stands(self, state: str) -> None:
        """Wait until search by meaning is in a state."""
        async with asyncio.timeout(LIMIT_S):
            while self.meaning.standing.state != state:
                self._news.clear()
                await self._news.wait()

    async def search(self, text: str, **how: Any) -> SearchAnswer:
        return await Searching(self, self.indexing, self.meaning).search(SearchQuery(text=text, **how))

    def vectors(self) -> list[Path]:
        return sorted((self.cache_dir / "vectors").glob("*.sqlite"))


def names(answer: SearchAnswer, why: str = "semantic both") -> list[str]:
    return [hit.name for hit in answer.hits if hit.why in why.split()]


def test_what_means_the_same_is_found_without_a_word_in_common(tmp_path: Path) -> None:
    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.ask_of(peer)
        ws.write("lot.py", CAR)
        ws.write("mail.py", INVOICE)
        async with ws.searching():
            await ws.stands("complete")
            answer = await ws.search("automobile")
            assert names(answer)[0] == "park"
            assert (answer.state, answer.meaning.coverage) == ("complete", 1.0)
            both = await ws.search("vehicle")
            assert (both.hits[0].name, both.hits[0].why) == ("park", "both")
            assert names(await ws.search("automobile", path="mail.py", limit=1)) != ["park"]
            assert set(names(await ws.search("automobile", kinds=frozenset({12})))) <= {"park", "send"}

    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_off_means_that_nothing_is_sent(tmp_path: Path) -> None:
    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.write("lot.py", CAR)
        async with ws.searching():
            await ws.complete()
            answer = await ws.search("vehicle")
            assert (names(answer, "lexical")[0], answer.meaning.state) == ("park", "off")
            assert not ws.vectors()
        assert peer.requests == 0

    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_nothing_of_a_secret_file_is_sent_and_the_key_stands_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.ask_of(peer, api_key="sk-qzxv9")
        ws.write("lot.py", CAR)
        ws.write("credentials.py", "def hidden_password(): pass\n")
        ws.write(".env", "PASSWORD=hidden\n")
        async with ws.searching():
            await ws.stands("complete")
            await ws.search("automobile")
            peer.fault = lambda texts: (401, {}, b'{"error": {"message": "wrong key"}}')
            ws.write("new.py", INVOICE)
            ws.changed(ws.root / "new.py")
            await ws.stands("unavailable")
            assert "HTTP 401: wrong key" in (ws.troubles["meaning"] or "")
        assert peer.keys == {"Bearer sk-qzxv9"}
        assert not any("hidden" in text for text in peer.texts)
        assert "qzxv9" not in caplog.text + str(ws.troubles) + repr(ws.settings)
        assert b"qzxv9" not in b"".join(path.read_bytes() for path in ws.cache_dir.rglob("*") if path.is_file())

    caplog.set_level("DEBUG")
    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_nothing_is_asked_for_twice(tmp_path: Path) -> None:
    """Not after a restart, a rename, a change elsewhere in the file, or in another checkout."""

    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path, "one")
        ws.ask_of(peer)
        ws.write("lot.py", CAR + "\n\ndef other():\n    return 1\n")
        async with ws.searching():
            await ws.stands("complete")
        first = [text for text in peer.texts if "park" in text.splitlines()[0]]
        assert len(first) == 1
        (ws.root / "lot.py").rename(ws.root / "moved.py")
        ws.write("moved.py", CAR + "\n\ndef other():\n    return 2\n")
        async with ws.searching():
            await ws.stands("complete")
            assert names(await ws.search("automobile"))[0] == "park"
        clone = Place(tmp_path, "two")
        clone.ask_of(peer)
        clone.write("lot.py", CAR)
        async with clone.searching():
            await clone.stands("complete")
            assert names(await clone.search("automobile"))[0] == "park"
        assert [text for text in peer.texts if text.startswith("park")] == first

    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_what_was_kept_before_it_was_broken_off_is_not_asked_for_again(tmp_path: Path) -> None:
    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.ask_of(peer, batch_size=1, max_concurrency=1)
        for number in range(6):
            ws.write(f"f{number}.py", f"def made_{number}():\n    return {number}\n")
        reached = asyncio.Event()
        loop = asyncio.get_running_loop()

        def fault(texts: list[str]) -> None:
            if len(peer.texts) >= 5 and peer.open.is_set():
                peer.open.clear()
                loop.call_soon_threadsafe(reached.set)
                peer.open.wait(60)

        peer.fault = fault
        async with asyncio.timeout(LIMIT_S), ws.searching():
            await reached.wait()
            assert ws.meaning.standing.state == "building"
            assert (await ws.search("made")).state == "indexing"
        peer.fault = lambda texts: None
        peer.open.set()
        async with ws.searching():
            await ws.stands("complete")
        asked = [text for text in peer.texts if text not in (SENTINEL, "made")]
        assert len(set(asked)) == 12  # a file and a function each
        # The answer that was on its way when it ended, and the one before it that was not yet kept.
        assert len(asked) <= 12 + 2

    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_an_endpoint_that_is_too_busy_is_asked_again_and_less(tmp_path: Path) -> None:
    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.ask_of(peer, batch_size=1, max_concurrency=2)
        for number in range(12):
            ws.write(f"f{number}.py", f"def made_{number}():\n    return {number}\n")
        refusals = iter([BUSY, None, (503, {}, b""), None, BUSY])
        peer.fault = lambda texts: next(refusals, None)
        async with ws.searching():
            await ws.stands("complete")
            assert ws.meaning.standing.coverage == 1.0
        assert peer.most_at_once <= 2
        assert len(peer.texts) == len(set(peer.texts))

    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_hundreds_of_requests_are_never_sent_at_once(tmp_path: Path) -> None:
    """An endpoint that takes four and no more is asked about four at a time, whatever the settings allow."""

    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.ask_of(peer, batch_size=1, max_concurrency=64)
        peer.most_taken, peer.takes_s = 4, 0.01
        for number in range(10):
            functions = [f"def made_{number}_{part}():\n    return {part}\n" for part in range(15)]
            ws.write(f"f{number}.py", "\n\n".join(functions))
        async with ws.searching():
            await ws.stands("complete")
            assert ws.meaning.standing.coverage == 1.0
            assert ws.troubles.get("meaning") is None
        assert peer.most_at_once <= 6
        assert len(peer.texts) == len(set(peer.texts)) > 150
        assert peer.refused < 30

    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_an_endpoint_that_comes_back_is_asked_again_and_all_is_made_up_for(tmp_path: Path) -> None:
    """Of many files it is asked for one sentence only, now and then; until it answers, search says that it is away."""

    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.ask_of(peer)
        ws.write("lot.py", CAR)
        for number in range(200):
            ws.write(f"f{number}.py", f"def made_{number}():\n    return {number}\n")
        peer.fault = lambda texts: (503, {}, b"")
        async with ws.searching() as indexing:
            await ws.stands("unavailable")
            assert indexing.state == "complete"
            assert peer.requests <= 4
            told: list[str] = []

            def fault(texts: list[str]) -> tuple[int, dict[str, str], bytes] | None:
                told.append(ws.meaning.standing.state)
                return (503, {}, b"") if len(told) < 2 else None

            peer.fault = fault
            await ws.stands("complete")
            assert told[:2] == ["unavailable", "unavailable"]
            assert ws.meaning.standing.coverage == 1.0
            assert ws.troubles.get("meaning") is None
            assert names(await ws.search("automobile"))[0] == "park"

    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_one_text_that_cannot_be_taken_costs_no_other(tmp_path: Path) -> None:
    """A request is made smaller until the text that is to blame stands alone, and is then shortened."""

    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.ask_of(peer)
        ws.write("lot.py", CAR + "\n\ndef bad():\n" + "    call(poison)\n" * 40)
        ws.write("worse.py", "def poison(): pass\n")

        def fault(texts: list[str]) -> tuple[int, dict[str, str], bytes] | None:
            return (400, {}, b'{"error": "too long"}') if any("poison" in text for text in texts) else None

        peer.fault = fault
        async with ws.searching():
            await ws.stands("complete")
            assert ws.meaning.standing.coverage == 1.0
            assert names(await ws.search("automobile"))[0] == "park"
            asked = peer.requests
            ws.write("lot.py", CAR + "\n\ndef bad():\n" + "    call(poison)\n" * 40 + "\n\ndef new(): pass\n")
            ws.changed(ws.root / "lot.py")
            await ws.until(lambda: ws.shown("new"))
            await ws.stands("complete")
            # The endpoint, the file and the new function; and not again what it did not take.
            assert peer.requests <= asked + 12

    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_a_model_that_was_replaced_behind_its_name_has_its_vectors_made_anew(tmp_path: Path) -> None:
    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.ask_of(peer)
        ws.write("lot.py", CAR)
        async with ws.searching():
            await ws.stands("complete")
        peer.dimensions = 64
        ws.write("mail.py", INVOICE)
        async with ws.searching():
            await ws.stands("complete")
            await ws.until(lambda: ws.meaning.standing.coverage == 1.0)
            assert names(await ws.search("automobile"))[0] == "park"
        with sqlite3.connect(ws.vectors()[0]) as db:
            assert {len(vector) for (vector,) in db.execute("SELECT vector FROM vectors")} == {64}
        db.close()

    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_another_model_has_vectors_of_its_own(tmp_path: Path) -> None:
    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.ask_of(peer)
        ws.write("lot.py", CAR)
        async with ws.searching():
            await ws.stands("complete")
            before = ws.settings
            peer.dimensions = 1_000
            changed = dataclasses.replace(before.embeddings, model="other")
            ws.settings = dataclasses.replace(before, embeddings=changed)
            ws.meaning.settings_changed(before)
            await ws.stands("complete")
            assert names(await ws.search("automobile"))[0] == "park"
            ws.settings = Settings()
            ws.meaning.settings_changed(before)
            assert (await ws.search("automobile")).meaning.state == "off"
        assert len(ws.vectors()) == 2

    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_a_query_that_gets_no_vector_is_answered_by_words(tmp_path: Path) -> None:
    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.ask_of(peer)
        ws.write("lot.py", CAR)
        async with ws.searching():
            await ws.stands("complete")
            peer.fault = lambda texts: (500, {}, b"")
            assert names(await ws.search("vehicle"), "lexical")[0] == "park"
            peer.fault = lambda texts: (200, {}, b'{"data": "?"}')
            assert names(await ws.search("spot"), "lexical")[0] == "park"

    with endpoint() as peer:
        asyncio.run(scenario(peer))


def test_an_endpoint_that_is_away_is_said_once_and_costs_nothing_else(tmp_path: Path) -> None:
    async def scenario(peer: Peer) -> None:
        ws = Place(tmp_path)
        ws.ask_of(peer)
        url = "http://127.0.0.1:9/v1"  # discard: nobody listens
        changed = dataclasses.replace(ws.settings.embeddings, url=url)
        ws.settings = dataclasses.replace(ws.settings, embeddings=changed)
        ws.write("lot.py", CAR)
        async with ws.searching():
            await ws.stands("unavailable")
            assert "127.0.0.1:9" in (ws.troubles["meaning"] or "")
            answer = await ws.search("vehicle")
            assert (names(answer, "lexical")[0], answer.state) == ("park", "complete")

    with endpoint() as peer:
        asyncio.run(scenario(peer))
