"""The index end to end below the wire: a real scheduler with real worker processes, real git, real SQLite."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shutil
import signal
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from headway.scheduler import JobChanged, Priority, Scheduler, SchedulerConfig
from headway.scheduler.executors.base import Executors
from headway.scheduler.executors.loop import LoopExecutor
from headway.scheduler.executors.process import ProcessExecutor, ProcessSettings
from headway.scheduler.executors.spawn import PriorityClass
from headway.scheduler.executors.thread import ThreadExecutor
from headway.scheduler.model import Event, JobProgressed, JobState, TaskEnded
from headway.session.indexing import Indexing
from headway.session.ports import FileChange, Folder
from headway.session.searching import Searching, SearchQuery
from headway.settings import IndexSettings, Settings
from headway.workspace.documents import Document, Documents
from headway.workspace.index import SymbolKind
from headway.workspace.text import Edit

LIMIT_S = 120.0


class Client:
    """A client that watches files and is told nothing."""

    pulls_diagnostics = False
    watches_files = True

    def publish(self, *_: object) -> None:
        raise AssertionError("the index publishes nothing")

    refresh_diagnostics = show = offer_keys = publish


class Workspace:
    """The session as the index sees it: folders with files, documents, a scheduler."""

    def __init__(self, tmp_path: Path, *roots: str) -> None:
        self.client = Client()
        self.documents = Documents()
        self.settings = Settings()
        self.trusted = False
        self.cache_dir = tmp_path / "cache"
        self.root = tmp_path / (roots or ("w",))[0]
        self.folders = tuple(self.folder(tmp_path / name) for name in roots or ("w",))
        self.troubles: dict[str, str | None] = {}
        self.scheduler: Any = None
        self.indexing: Any = None
        self.events: list[Event] = []
        self._news = asyncio.Event()

    @staticmethod
    def folder(path: Path) -> Folder:
        path.mkdir(parents=True, exist_ok=True)
        return Folder(uri=path.as_uri(), name=path.name, path=path)

    def degraded(self, source: str, message: str | None) -> None:
        self.troubles[source] = message

    def define(self, name: str, at: str | None = None) -> Path:
        """Write a file that defines a function of this name."""
        path = self.root / (at or f"{name}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def {name}():\n    pass\n")
        return path

    @asynccontextmanager
    async def serving(self, first_scan_after_s: float = 0.0, *, announced: bool = False) -> AsyncIterator[Indexing]:
        # However busy the machine that tests run on, background work is not held back.
        config = SchedulerConfig(cpu_high=2.0, cpu_low=2.0)
        async with Scheduler(config, executors=_executors()) as self.scheduler:
            self.scheduler.subscribe(self.events.append)
            self.indexing = Indexing(self, on_change=self._news.set, first_scan_after_s=first_scan_after_s)
            if announced:
                self.indexing.announce()
            await self.indexing.start()
            try:
                yield self.indexing
            finally:
                await self.indexing.close()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_S):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def complete(self) -> None:
        await self.until(lambda: self.indexing.state == "complete")

    def shown(self, name: str) -> bool:
        return bool(self.places(name))

    def places(self, name: str) -> list[str]:
        """Absolute paths of the files that define a function of this name."""
        found = self.indexing.view.named(name)
        return [f.path for f in found if f.symbol.kind == SymbolKind.FUNCTION]

    async def found(self, query: str, **how: Any) -> list[str]:
        answer = await Searching(self, self.indexing).search(SearchQuery(text=query, **how))
        return [os.path.basename(hit.path) + ":" + hit.name for hit in answer.hits]

    def changed(self, *paths: Path, deleted: bool = False) -> None:
        self.indexing.files_changed([FileChange(uri=path.as_uri(), path=path, deleted=deleted) for path in paths])

    def ended(self) -> list[str]:
        """Names of the tasks that have ended, in order."""
        return [event.name for event in self.events if isinstance(event, TaskEnded)]

    def has_files(self, least: int) -> bool:
        return self.files() >= least

    def files(self) -> int:
        return int(self.indexing.stats()["files"])


def _executors() -> Executors:
    """Worker processes as in earnest, but none at idle priority: a busy machine may not run such ones at all."""
    pools = ProcessSettings.for_machine()
    worker = dataclasses.replace(pools.background.worker, priority_class=PriorityClass.NORMAL)
    pools = dataclasses.replace(pools, background=dataclasses.replace(pools.background, worker=worker))
    return Executors(loop=LoopExecutor(), thread=ThreadExecutor(), process=ProcessExecutor(pools))


def test_it_lets_the_first_keys_go_first_but_nobody_who_asks_wait(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("made")
        async with ws.serving(first_scan_after_s=3600.0):  # nothing is open: nobody types
            await ws.complete()
            assert ws.shown("made")
        ws.documents.open(Document(uri="untitled:a", language="python", version=1, text=""))
        async with ws.serving(first_scan_after_s=0.05):
            await ws.complete()
            assert ws.shown("made")
        async with ws.serving(first_scan_after_s=3600.0) as indexing:
            assert not ws.shown("made")
            await ws.scheduler.submit(indexing.submission({}, title=None, priority=None).job)
            await ws.complete()
            assert ws.shown("made")

    asyncio.run(scenario())


def test_a_text_that_is_opened_right_behind_the_start_tells_of_keys_too(tmp_path: Path) -> None:
    """As editors do it: what is asked for is done, and what would begin by itself still waits."""

    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("made")
        async with ws.serving(first_scan_after_s=3600.0, announced=True) as indexing:
            ws.documents.open(Document(uri="untitled:a", language="python", version=1, text=""))
            await ws.scheduler.submit(indexing.submission({}, title=None, priority=None).job)
            await ws.complete()
            assert ws.shown("made")
            assert "begin" not in ws.ended()

    asyncio.run(scenario())


def test_what_is_there_is_found_and_shown_as_one_batch_job(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        for n in range(65):
            ws.define(f"made_{n}", f"pkg/m{n}.py")
        async with ws.serving():
            await ws.complete()
            assert ws.files() == 65
            assert ws.shown("made_64")
            assert (await ws.found("made_3"))[0] == "m3.py:made_3"
            changes = [e for e in ws.events if isinstance(e, JobChanged)]
            assert [e.state for e in changes] == [JobState.PENDING, JobState.RUNNING, JobState.COMPLETED]
            view = ws.scheduler.job(changes[0].job_id)
            assert (view.type, view.title, view.priority) == ("index", "Index w", Priority.BATCH)
            answer = await Searching(ws, ws.indexing).search(SearchQuery(text="made_3"))
            assert (answer.state, answer.coverage) == ("complete", 1.0)

    asyncio.run(scenario())


def test_a_second_start_reads_only_what_changed(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        for n in range(40):
            ws.define(f"made_{n}")
        async with ws.serving():
            await ws.complete()
        ws = Workspace(tmp_path)
        (ws.root / "made_1.py").unlink()
        (ws.root / "made_2.py").rename(ws.root / "moved.py")
        ws.define("changed", "made_3.py")
        async with ws.serving():
            await ws.complete()
            assert len([name for name in ws.ended() if name.startswith(("index ", "forget "))]) == 2
            assert ws.files() == 39
            assert not ws.shown("made_1")
            assert ws.places("made_2") == [str(ws.root / "moved.py")]
            assert ws.shown("changed")
            assert not ws.shown("made_3")
            assert await ws.found("made_1", limit=1) != ["made_1.py:made_1"]

    asyncio.run(scenario())


def test_changes_on_disk_come_in(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        path = ws.define("before_change", "a.py")
        ws.define("doomed", "sub/deep/b.py")
        async with ws.serving():
            await ws.complete()
            path.write_text("def after_change():\n    pass\n")
            ws.changed(path)
            await ws.until(lambda: ws.shown("after_change"))
            assert not ws.shown("before_change")
            ws.changed(ws.define("brand_new"))
            await ws.until(lambda: ws.shown("brand_new"))
            shutil.rmtree(ws.root / "sub")
            ws.changed(ws.root / "sub", deleted=True)
            await ws.until(lambda: not ws.shown("doomed"))
            await ws.complete()
            assert ws.files() == 2

    asyncio.run(scenario())


def test_a_storm_of_changes_is_few_jobs_and_ends_in_what_is_there(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        for n in range(150):
            ws.define(f"made_{n}", f"m{n}.py")
        async with ws.serving():
            await ws.complete()
            before = len(ws.ended())
            for turn in range(3):
                for n in range(150):
                    ws.changed(ws.define(f"turned_{turn}_{n}", f"m{n}.py"))
                    ws.changed(ws.root / f"m{n}.py")
                await asyncio.sleep(0)
            await ws.until(lambda: ws.shown("turned_2_149") and ws.indexing.state == "complete")
            assert all(ws.shown(f"turned_2_{n}") for n in range(150))
            assert not any(ws.shown(f"turned_1_{n}") for n in range(150))
            assert ws.files() == 150
            assert len(ws.ended()) - before < 60

    asyncio.run(scenario())


def test_a_folder_that_came_by_its_name_goes_by_its_name(tmp_path: Path) -> None:
    """Whether it came empty or with files; and a file may take its place."""

    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("kept")
        async with ws.serving():
            await ws.complete()
            (ws.root / "new.py").mkdir()
            ws.changed(ws.root / "new.py")
            await ws.complete()
            ws.changed(ws.define("inner", "new.py/inner.py"))
            await ws.until(lambda: ws.shown("inner"))
            await ws.complete()
            shutil.rmtree(ws.root / "new.py")
            ws.changed(ws.root / "new.py", deleted=True)
            await ws.until(lambda: not ws.shown("inner"))
            ws.define("again", "other/inner.py")
            ws.changed(ws.root / "other")
            await ws.until(lambda: ws.shown("again"))
            await ws.complete()
            shutil.rmtree(ws.root / "other")
            ws.changed(ws.define("outer", "other"), ws.define("outer", "new.py"))
            await ws.until(lambda: ws.shown("outer") and not ws.shown("again"))

    asyncio.run(scenario())


def test_the_editor_s_text_counts_until_the_document_is_closed(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        path = ws.define("on_disk", "a.py")
        async with ws.serving():
            await ws.complete()
            document = Document(uri=path.as_uri(), language="python", version=1, text="def in_editor():\n    pass\n")
            ws.documents.open(document)
            ws.indexing.document_opened(document)
            await ws.until(lambda: ws.shown("in_editor"))
            assert not ws.shown("on_disk")
            changed = ws.documents.change(path.as_uri(), 2, [Edit(None, "def typed_on():\n    pass\n")])
            ws.indexing.document_changed(changed)
            await ws.until(lambda: ws.shown("typed_on"))
            ws.changed(path)  # What is on disk does not matter now.
            ws.documents.close(path.as_uri())
            ws.indexing.document_closed(path.as_uri())
            await ws.until(lambda: ws.shown("on_disk"))
            assert not ws.shown("typed_on")
            assert ws.files() == 1

    asyncio.run(scenario())


def test_a_document_that_is_open_before_the_index_is_there_counts_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        path = ws.define("on_disk", "a.py")
        document = Document(uri=path.as_uri(), language="python", version=1, text="def in_editor():\n    pass\n")
        new = Document(uri=f"{path.as_uri()}.new.py", language="python", version=1, text="def unsaved():\n    pass\n")
        ws.documents.open(document)
        ws.documents.open(new)
        async with ws.serving():
            ws.indexing.document_opened(document)
            ws.indexing.document_opened(new)
            await ws.until(lambda: ws.shown("in_editor") and ws.shown("unsaved"))
            assert not ws.shown("on_disk")
            ws.documents.close(new.uri)
            ws.indexing.document_closed(new.uri)
            await ws.until(lambda: not ws.shown("unsaved"))

    asyncio.run(scenario())


def test_workers_may_die_at_any_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        for n in range(200):
            ws.define(f"made_{n}")
        async with ws.serving():
            for files in (1, 30, 90):
                await ws.until(partial(ws.has_files, files))
                for worker in ws.scheduler.snapshot().workers:
                    os.kill(worker.pid, signal.SIGKILL)
            await ws.complete()
            assert ws.files() == 200
            assert all(ws.shown(f"made_{n}") for n in range(200))
            assert ws.indexing.stats()["skipped"] == {}

    asyncio.run(scenario())


def test_an_index_that_is_killed_in_the_middle_goes_on_at_the_next_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        for n in range(150):
            ws.define(f"made_{n}")
        async with ws.serving():
            await ws.until(lambda: ws.files() >= 30)
        ws = Workspace(tmp_path)
        async with ws.serving():
            await ws.complete()
            assert ws.files() == 150
            batches = [name for name in ws.ended() if name.startswith("index ")]
            assert len(batches) <= 1  # of two; one at least was not read again
            assert len(ws.places("made_0")) == 1

    asyncio.run(scenario())


def test_pausing_holds_the_index_and_loses_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        for n in range(90):
            ws.define(f"made_{n}")
        async with ws.serving() as indexing:
            ws.scheduler.pause((Priority.BATCH,))
            await ws.until(lambda: indexing.state == "paused")
            assert ws.files() == 0
            ws.scheduler.resume((Priority.BATCH,))
            await ws.complete()
            assert ws.files() == 90

    asyncio.run(scenario())


def test_a_cancelled_index_keeps_what_is_done_and_goes_on_when_asked(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        for n in range(200):
            ws.define(f"made_{n}")
        async with ws.serving() as indexing:
            await ws.until(lambda: ws.files() >= 30)
            (job,) = [e.job_id for e in ws.events if isinstance(e, JobChanged) and e.previous is None]
            assert ws.scheduler.cancel(job)
            await ws.until(lambda: ws.scheduler.job(job).state is JobState.CANCELLED)
            assert 30 <= ws.files() < 200
            assert indexing.state == "indexing"
            assert 0 < indexing.coverage < 1
            handle = ws.scheduler.submit(indexing.submission({}, title="again", priority=None).job)
            outcome = await handle
            assert outcome.state is JobState.COMPLETED
            await ws.complete()
            assert ws.files() == 200

    asyncio.run(scenario())


def test_a_job_that_is_asked_for_finds_what_no_event_told_of(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("first")
        async with ws.serving() as indexing:
            await ws.complete()
            ws.define("unannounced")
            submission = indexing.submission({"paths": ["*.py"]}, title=None, priority=None)
            assert (submission.job.type, submission.job.priority) == ("index", Priority.BATCH)
            outcome = await ws.scheduler.submit(submission.job)
            assert outcome.state is JobState.COMPLETED
            assert submission.result(outcome) == {"files": 2, "symbols": 4, "skipped": {}}
            assert ws.shown("unannounced")

    asyncio.run(scenario())


def test_a_job_that_is_asked_for_says_how_many_files_there_are_once_it_has_listed_them(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        for n in range(250):
            ws.define(f"name_{n}")
        async with ws.serving() as indexing:
            await ws.complete()
            submission = indexing.submission({"paths": ["*.py"]}, title=None, priority=None)
            outcome = await ws.scheduler.submit(submission.job)
            told = [e for e in ws.events if isinstance(e, JobProgressed) and e.job_id == submission.job.job_id]
            assert outcome.state is JobState.COMPLETED
            # Listed and compared; then one piece after another.
            assert [(event.total, event.progress) for event in told[:2]] == [(None, None)] * 2
            assert {event.total for event in told[2:]} == {250}
            done = [event.done for event in told[2:]]
            assert done == sorted(done)
            assert (len(done) > 1, done[-1]) == (True, 250)

    asyncio.run(scenario())


def test_nothing_is_done_and_written_while_nothing_changes(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("steady")
        async with ws.serving() as indexing:
            await ws.complete()
            before = len(ws.ended())
            written = {path: path.stat().st_mtime_ns for path in ws.cache_dir.rglob("*")}
            indexing._rescan()  # What the timer does every few minutes.
            await ws.complete()
            assert ws.ended()[before:] == ["list w", "compare w"]
            assert {path: path.stat().st_mtime_ns for path in ws.cache_dir.rglob("*")} == written

    asyncio.run(scenario())


def test_a_database_that_breaks_while_in_use_is_made_anew(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("first")
        async with ws.serving() as indexing:
            await ws.complete()
            (database,) = indexing.databases.values()
            shutil.rmtree(Path(database).parent)
            ws.changed(ws.define("second"))
            await ws.until(lambda: ws.shown("second") and indexing.state == "complete")
            assert ws.files() == 2

    asyncio.run(scenario())


def test_a_lock_that_somebody_holds_delays_and_is_told_of(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("first")
        async with ws.serving() as indexing:
            await ws.complete()
            (database,) = indexing.databases.values()
            other = sqlite3.connect(database, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            for n in range(3):
                ws.define(f"more_{n}")
            indexing._rescan()
            await ws.until(lambda: "lock" in (ws.troubles.get("index") or ""))
            assert (await ws.found("first"))[0] == "first.py:first"
            other.execute("ROLLBACK")
            other.close()
            await ws.until(lambda: ws.shown("more_2") and indexing.state == "complete")
            assert ws.troubles["index"] is None

    asyncio.run(scenario())


def test_a_cache_directory_that_cannot_be_used_is_told_of(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("first")
        ws.cache_dir = tmp_path / "in-the-way"
        ws.cache_dir.write_text("x")
        async with ws.serving() as indexing:
            await ws.complete()
            assert ws.shown("first")
            assert "temporary" in (ws.troubles["index"] or "")
            (database,) = indexing.databases.values()
        assert not Path(database).exists()  # noqa: ASYNC240

    asyncio.run(scenario())


def test_roots_have_an_index_each_and_inner_roots_are_indexed_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path, "w", "w/inner", "other")
        ws.define("outer_thing")
        ws.define("inner_thing", "inner/a.py")
        ws.define("other_thing", "../other/b.py")
        async with ws.serving() as indexing:
            await ws.complete()
            assert len(indexing.databases) == 3
            assert ws.files() == 3
            assert [f.root for f in indexing.view.named("inner_thing")] == [str(ws.root / "inner")]
            ws.folders = ws.folders[:1]
            indexing.folders_changed()
            await ws.complete()
            assert not ws.shown("other_thing")
            assert [f.root for f in indexing.view.named("inner_thing")] == [str(ws.root)]

    asyncio.run(scenario())


def test_settings_decide_what_is_indexed(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("kept")
        ws.define("excluded", "gen/a.py")
        async with ws.serving() as indexing:
            await ws.complete()
            assert ws.files() == 2
            previous, ws.settings = ws.settings, Settings(index=IndexSettings(exclude=("gen/",)))
            indexing.settings_changed(previous)
            await ws.complete()
            assert ws.files() == 1
            assert not ws.shown("excluded")
            previous, ws.settings = ws.settings, Settings(index=IndexSettings(enabled=False))
            indexing.settings_changed(previous)
            assert indexing.state == "off"
            assert not ws.shown("kept")

    asyncio.run(scenario())


def test_a_cleared_cache_is_made_anew(tmp_path: Path) -> None:
    async def scenario() -> None:
        ws = Workspace(tmp_path)
        ws.define("first")
        async with ws.serving() as indexing:
            await ws.complete()
            await indexing.clear_cache()
            assert indexing.state == "indexing"
            await ws.complete()
            assert ws.files() == 1
            assert ws.shown("first")

    asyncio.run(scenario())
