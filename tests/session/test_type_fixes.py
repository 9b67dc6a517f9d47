"""What ty can do about a finding, beside what ruff can, with both of them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from headway.scheduler import Event, TaskEnded, TaskState
from headway.session.diagnosing import Diagnosing
from headway.session.mending import EditAbilities, Mending
from headway.session.python_engine import PythonEngine
from headway.session.type_fixes import TypeFixes
from headway.workspace.documents import Document

from .conftest import Office, OpenOffice
from .test_mending import result
from .test_python_engine import environment

PATIENT_S = 60.0
USES = "import sys\n\nprint(sys.path)\nbox = Crate_of_ours()\n"
AT = {"start": {"line": 0, "character": 11}, "end": {"line": 0, "character": 24}}
MISSING = {"range": AT, "code": "F821", "message": "Undefined name `Crate_of_ours`"}


class Bench:
    """Where a person looks what can be done."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.engine = PythonEngine(office.session)
        self.diagnosing = Diagnosing(office.session, engine=self.engine)
        office.add(self.engine, self.diagnosing)
        assert self.diagnosing.types is not None
        self.types = self.diagnosing.types
        self.mending = self.mends(limit_s=PATIENT_S)

    def fixes(self, limit_s: float) -> TypeFixes:
        return TypeFixes(self.office.session, self.engine, self.types, limit_s=limit_s)

    def mends(self, *, limit_s: float) -> Mending:
        abilities = EditAbilities(versions=True, later=True)
        ruff = self.diagnosing.ruff
        return Mending(self.office.session, ruff, abilities, self.fixes(limit_s), save_limit_s=PATIENT_S)

    async def begin(self) -> None:
        environment(self.office.root / ".venv")  # small: ty reads all of it
        (self.office.root / "crates.py").write_text("class Crate_of_ours:\n    pass\n")
        await self.office.start()
        async with asyncio.timeout(PATIENT_S):
            await self.diagnosing.ruff.ready()

    async def actions(self, document: Document, line: int, *only: str, **shown: Any) -> list[dict[str, Any]]:
        place = {"start": {"line": line, "character": 7}, "end": {"line": line, "character": 20}}
        context: dict[str, Any] = {"diagnostics": list(shown.values())} | ({"only": list(only)} if only else {})
        params = {"textDocument": {"uri": document.uri}, "range": place, "context": context}
        return await self.mending.actions(document.uri, params)


async def until(fits: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENT_S):
        while True:
            if fits():
                return
            await asyncio.sleep(0.01)


def titles(actions: list[dict[str, Any]]) -> list[str]:
    return [action["title"] for action in actions]


def by_title(actions: list[dict[str, Any]], title: str) -> Mapping[str, Any]:
    (found,) = [action for action in actions if action["title"] == title]
    return found


@pytest.mark.asyncio
async def test_a_name_that_is_missing_can_be_imported_where_only_ruff_tells_of_it(office: OpenOffice) -> None:
    async with office() as place:
        bench = Bench(place)
        document = place.open("main.py", USES)
        await bench.begin()
        # A cursor that moves over what is right starts no second engine.
        await bench.actions(document, 2)
        assert bench.engine.searcher.pid is None
        assert not bench.engine.searcher.coming
        at = {"start": {"line": 3, "character": 6}, "end": {"line": 3, "character": 19}}
        shown = {"range": at, "code": "F821", "source": "ruff", "message": "Undefined name `Crate_of_ours`"}
        found = await bench.actions(document, 3, shown=shown)
        fix = by_title(found, "import crates.Crate_of_ours")
        assert sorted(result(document, fix).splitlines()) == sorted(
            ["from crates import Crate_of_ours", *USES.splitlines()]
        )
        # A byte order mark stays where it is.
        marked = place.open("marked.py", "\ufeffprint(1)\n\n\nbox = Crate_of_ours()\n")
        mended = result(marked, by_title(await bench.actions(marked, 3), "import crates.Crate_of_ours"))
        assert mended.startswith("\ufefffrom crates import Crate_of_ours\n")
        assert mended.count("\ufeff") == 1
        # It is tied to what the person sees, which is ruff's; a comment for ty would mean nothing here.
        assert fix["diagnostics"] == [shown]
        assert not [title for title in titles(found) if title.startswith("Ignore")]
        assert len(titles(found)) == len(set(titles(found)))
        # Where there is nothing that it could mend, and where whole texts are asked for, it is not asked.
        assert "import crates.Crate_of_ours" not in titles(await bench.actions(document, 2))
        assert "import crates.Crate_of_ours" not in titles(await bench.actions(document, 3, "source.organizeImports"))


@pytest.mark.asyncio
async def test_where_types_are_checked_its_own_findings_can_be_mended_too(office: OpenOffice) -> None:
    async with office(settings={"diagnostics": {"types": "on"}}) as place:
        bench = Bench(place)
        document = place.open("main.py", "print(1)\nx = 1 # ty: ignore\nbox = Crate_of_ours()\n")
        await bench.begin()
        await until(lambda: len(bench.types.beside(document, ())) == 2)
        unused = by_title(await bench.actions(document, 1), "Remove the unused suppression comment")
        assert result(document, unused) == "print(1)\nx = 1\nbox = Crate_of_ours()\n"
        found = titles(await bench.actions(document, 2))
        assert {"import crates.Crate_of_ours", "Ignore 'unresolved-reference' for this line"} <= set(found)


@pytest.mark.asyncio
async def test_nobody_waits_long_for_it_and_a_text_that_changes_meanwhile_gets_no_fixes(office: OpenOffice) -> None:
    async with office() as place:
        bench = Bench(place)
        document = place.open("main.py", "import os; Crate_of_ours()\n")
        await bench.begin()
        assert "import crates.Crate_of_ours" in titles(await bench.actions(document, 0))
        pid = bench.engine.searcher.pid
        assert pid is not None
        await bench.engine.searcher.idle()
        hasty = bench.fixes(0.05)
        os.kill(pid, signal.SIGSTOP)
        try:
            assert await hasty.actions(document, AT, [MISSING]) == []
            bench.mending = bench.mends(limit_s=0.05)
            found = titles(await bench.actions(document, 0))
        finally:
            os.kill(pid, signal.SIGCONT)
        assert [title for title in found if "os" in title]
        assert "import crates.Crate_of_ours" not in found
        # What nobody waited for went on, and is there for who asks again.
        async with asyncio.timeout(PATIENT_S):
            while not await hasty.actions(document, AT, [MISSING]):
                pass
        await bench.engine.searcher.idle()
        os.kill(pid, signal.SIGSTOP)
        try:
            asked = asyncio.create_task(bench.fixes(PATIENT_S).actions(document, AT, [MISSING]))
            await until(lambda: bench.engine.searcher.pending > 0)
            place.set("main.py", "\nimport os; Crate_of_ours()\n")
        finally:
            os.kill(pid, signal.SIGCONT)
        assert await asked == []


@pytest.mark.asyncio
async def test_who_asks_again_joins_the_search_that_goes_on(office: OpenOffice) -> None:
    async with office() as place:
        bench = Bench(place)
        document = place.open("main.py", "import os; Crate_of_ours()\n")
        await bench.begin()
        await bench.actions(document, 0)
        pid = bench.engine.searcher.pid
        assert pid is not None
        await bench.engine.searcher.idle()
        ends: list[TaskState] = []

        def heed(event: Event) -> None:
            if isinstance(event, TaskEnded) and event.name == "ty codeAction":
                ends.append(event.outcome.state)

        place.session.scheduler.subscribe(heed)
        hasty = bench.fixes(0.05)
        os.kill(pid, signal.SIGSTOP)
        try:
            for _ in range(3):
                assert await hasty.actions(document, AT, [dict(MISSING)]) == []
        finally:
            os.kill(pid, signal.SIGCONT)
        await until(lambda: bool(ends))
        assert ends == [TaskState.COMPLETED]
