"""Diagnostics end to end below the wire, with the real ruff."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import psutil
import pytest

from headway.features.analysis import Finding
from headway.scheduler.model import JobState
from headway.session.diagnosing import Diagnosing
from headway.session.ports import FileChange, InvalidArgumentError, Submitted
from headway.workspace.documents import Document
from headway.workspace.text import Edit, Position, Range, Text

from .conftest import Office, OpenOffice


class Board:
    """Where findings are shown."""

    def __init__(self, office: Office, run_limit_s: float = 10.0, ruff_after_s: float = 0.0) -> None:
        self.office = office
        self.diagnosing = Diagnosing(office.session, run_limit_s=run_limit_s, ruff_after_s=ruff_after_s)
        office.add(self.diagnosing)
        self._news = asyncio.Event()
        publish = office.client.publish

        def publishing(uri: str, version: int | None, findings: list[Finding], text: Text | None = None) -> None:
            publish(uri, version, findings, text)
            self._news.set()

        office.client.publish = publishing  # type: ignore[assignment,method-assign]

    async def shows(self, name: str, fits: Callable[[int | None, list[str | None]], bool]) -> None:
        """Wait until the last thing shown for a document fits."""
        uri = self.office.uri(name)
        async with asyncio.timeout(60):
            while True:
                shown = [(version, found) for where, version, found in self.office.client.published if where == uri]
                if shown and fits(shown[-1][0], [finding.code for finding in shown[-1][1]]):
                    return
                self._news.clear()
                await self._news.wait()


@pytest.mark.asyncio
async def test_findings_are_shown_with_their_version_and_go_when_they_are_mended(office: OpenOffice) -> None:
    async with office() as place:
        board = Board(place)
        place.open("a.py", "unknown_name\n")
        await place.start()
        await board.shows("a.py", lambda version, codes: version == 1 and "F821" in codes)
        place.set("a.py", "unknown_name = 1\n")
        await board.shows("a.py", lambda version, codes: version == 2 and "F821" not in codes)


@pytest.mark.asyncio
async def test_ruff_lets_the_first_keys_go_first_and_then_sees_what_was_opened(office: OpenOffice) -> None:
    async with office() as place:
        Board(place, ruff_after_s=3600.0)
        before = psutil.Process().children()
        place.open("a.py", "unknown_name\n")
        await place.start()
        await (await asyncio.create_subprocess_exec("true")).wait()  # what was begun before it would be there by now
        assert set(psutil.Process().children()) <= set(before)
    async with office() as place:
        board = Board(place, ruff_after_s=0.05)
        place.open("a.py", "unknown_name\n")
        await place.start()
        await board.shows("a.py", lambda version, codes: version == 1 and "F821" in codes)


@pytest.mark.asyncio
async def test_an_older_version_is_never_shown_after_a_newer_one(office: OpenOffice) -> None:
    async with office(settings={"diagnostics": {"debounceMs": 0}}) as place:
        board = Board(place)
        place.open("a.py", "x = 1\n")
        await place.start()
        for number in range(30):
            place.set("a.py", "\n".join(f"name_{line}" for line in range(400 if number % 2 else 2)) + "\n")
            await asyncio.sleep(0)
        await board.shows("a.py", lambda version, codes: version == 31)
        versions = [version for _, version, _ in place.client.published if version is not None]
        assert versions == sorted(versions)


@pytest.mark.asyncio
async def test_what_comes_at_a_stroke_is_looked_at_at_once_and_what_is_typed_when_it_rests(office: OpenOffice) -> None:
    patient = {"diagnostics": {"debounceMs": 10_000, "maxWaitMs": 60_000}}
    async with office(settings=patient) as place:
        board = Board(place)
        await place.start()
        place.open("a.py", "x = 1\n")
        await board.shows("a.py", lambda version, codes: version == 1)
        place.set("a.py", "x = 1\nunknown_name\n")
        async with asyncio.timeout(9):  # Who waits for typing to rest waits longer.
            await board.shows("a.py", lambda version, codes: version == 2 and "F821" in codes)
        place.set("a.py", "x = 1\nunknown_names\n")  # a letter
        place.set("a.py", "x = 1\n")  # the next stroke just behind the last one
        place.open("b.py", "x = 1\n")
        await board.shows("b.py", lambda version, codes: version == 1)
        assert [version for uri, version, _ in place.client.published if uri == place.uri("a.py")] == [1, 2]


@pytest.mark.asyncio
async def test_what_ruff_was_looking_at_when_it_died_is_looked_at_when_it_is_back(office: OpenOffice) -> None:
    async with office(settings={"diagnostics": {"debounceMs": 0}}) as place:
        board = Board(place)
        place.open("a.py", "unknown_name\n")
        await place.start()
        await board.shows("a.py", lambda version, codes: version == 1 and "F821" in codes)
        (engine,) = [child for child in psutil.Process().children(recursive=True) if child.name() == "ruff"]
        engine.suspend()
        place.set("a.py", "unknown_name = 1\n")
        async with asyncio.timeout(60):
            while not any(task.name == "diagnose a.py" for task in place.session.scheduler.snapshot().running):
                await place.session.scheduler.run(asyncio.sleep, 0)
        engine.kill()
        await board.shows("a.py", lambda version, codes: version == 2 and "F821" not in codes)


@pytest.mark.asyncio
async def test_a_closed_document_is_cleared(office: OpenOffice) -> None:
    async with office() as place:
        board = Board(place)
        place.open("a.py", "unknown_name\n")
        await place.start()
        await board.shows("a.py", lambda version, codes: "F821" in codes)
        place.session.close_document(place.uri("a.py"))
        assert place.client.published[-1] == (place.uri("a.py"), None, [])


@pytest.mark.asyncio
async def test_switched_off_what_was_shown_is_cleared(office: OpenOffice) -> None:
    async with office() as place:
        board = Board(place)
        place.open("a.py", "unknown_name\n")
        await place.start()
        await board.shows("a.py", lambda version, codes: "F821" in codes)
        place.client.refresh_diagnostics = lambda: None  # type: ignore[method-assign]
        place.session.configure({"diagnostics": {"enabled": False}}, whole=True)
        await board.shows("a.py", lambda version, codes: version is None and codes == [])


@pytest.mark.asyncio
async def test_a_client_that_pulls_is_not_pushed_to(office: OpenOffice) -> None:
    async with office() as place:
        place.client.pulls_diagnostics = True
        board = Board(place)
        await place.start()
        place.open("a.py", "unknown_name\n")
        found = await board.diagnosing.pull(place.uri("a.py"))
        assert "F821" in [finding.code for finding in found]
        assert await board.diagnosing.pull(place.uri("missing.py")) == ()
        place.session.close_document(place.uri("a.py"))
        assert place.client.published == []


@pytest.mark.asyncio
async def test_the_workspace_is_analysed_file_by_file_or_in_part(office: OpenOffice) -> None:
    async with office() as place:
        board = Board(place)
        (place.root / "ruff.toml").write_text("[lint]\nselect = ['F401']\n")
        (place.root / "a.py").write_text("import json\nimport os\n")
        (place.root / "sub").mkdir()
        (place.root / "sub" / "b.py").write_text("import re\n")
        place.session.job_sources["analysis"] = board.diagnosing
        results = []
        for arguments in ({}, {"paths": ["sub/**"]}, {"paths": ["[z-a]"]}):  # the last is no rule: nothing fits it
            submitted = place.session.submit("analysis", arguments)
            assert isinstance(submitted, Submitted)
            outcome = await submitted.handle
            assert outcome.state is JobState.COMPLETED
            results.append(submitted.submission.result(outcome))
        assert [(result or {})["diagnostics"] for result in results] == [3, 1, 0]
        assert (results[1] or {})["files"] == 1


@pytest.mark.asyncio
async def test_a_broken_configuration_fails_the_analysis_in_words(office: OpenOffice) -> None:
    async with office() as place:
        board = Board(place)
        (place.root / "ruff.toml").write_text("[lint]\nselect = ['NOSUCH999']\n")
        (place.root / "a.py").write_text("x = 1\n")
        place.session.job_sources["analysis"] = board.diagnosing
        submitted = place.session.submit("analysis", {})
        assert isinstance(submitted, Submitted)
        outcome = await submitted.handle
        assert outcome.state is JobState.FAILED
        assert outcome.error is not None
        assert "NOSUCH999" in outcome.error.message


@pytest.mark.asyncio
async def test_wrong_arguments_are_named(office: OpenOffice) -> None:
    async with office() as place:
        board = Board(place)
        with pytest.raises(InvalidArgumentError, match="glob"):
            board.diagnosing.submission({"glob": "x"}, title=None, priority=None)


@pytest.mark.asyncio
async def test_a_ruff_that_does_not_answer_is_said_and_nothing_waits_for_it(office: OpenOffice) -> None:
    """A named pipe lies where ruff reads its configuration: it waits there for ever, and a person learns why."""
    async with office() as place:
        pipe = place.root / "pyproject.toml"
        os.mkfifo(pipe)
        board = Board(place, run_limit_s=0.5)
        place.open("a.py", "unknown_name\n")
        await place.start()
        async with asyncio.timeout(60):
            while True:
                if "ruff gives no answer (a.py" in (place.session.trouble or ""):
                    break
                await asyncio.sleep(0.05)
        pipe.unlink()
        place.session.change_folders(added=(), removed=(place.root.as_uri(),))  # It is started anew.
        await board.shows("a.py", lambda version, codes: version == 1 and "F821" in codes)
        assert place.session.trouble is None


@pytest.mark.asyncio
async def test_a_text_that_is_too_long_is_not_joined_at_each_key(office: OpenOffice) -> None:
    """Of tens of megabytes that alone would be felt; nothing is looked for in them anyway."""
    async with office() as place:
        Board(place)
        place.session.open_document(
            Document(uri=place.uri("a.py"), language="python", version=1, text="x = 1\n" * 400_000)
        )
        there = Range(Position(5, 0), Position(5, 0))
        long = place.session.documents.get(place.uri("a.py"))
        assert long is not None
        place.session.change_document(long.uri, 2, long.content.apply([Edit(there, "z")]))
        place.session.settle()
        changed = place.session.documents.get(place.uri("a.py"))
        assert changed is not None
        assert changed.version == 2
        assert changed.content._joined is None


@pytest.mark.asyncio
async def test_a_changed_configuration_counts_at_once(office: OpenOffice) -> None:
    async with office() as place:
        place.client.refresh_diagnostics = lambda: None  # type: ignore[method-assign]
        board = Board(place)
        place.open("a.py", "import os\n")
        await place.start()
        await board.shows("a.py", lambda _, codes: "F401" in codes)
        path = place.root / "ruff.toml"
        path.write_text('lint.ignore = ["F401"]\n')
        place.session.change_files([FileChange(uri=path.as_uri(), path=path, deleted=False)])
        await board.shows("a.py", lambda _, codes: "F401" not in codes)
        path.unlink()
        place.session.change_files([FileChange(uri=path.as_uri(), path=path, deleted=True)])
        await board.shows("a.py", lambda _, codes: "F401" in codes)
