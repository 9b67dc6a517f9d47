"""What a person sees of a running demo: a live picture in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from headway.demo.figures import Figures, Report
from headway.demo.typist import Sight, When

PRIORITIES = ("CRITICAL", "HIGH", "NORMAL", "LOW", "BATCH")
FRAME_S = 0.1  # between two pictures, at least
LINE_S = 8.0  # between two lines, at least
BAR_CELLS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One moment. `queue_state` is the newest `headway/queueState` as it came, empty before the first."""

    project: str
    phase: str
    server: str
    queue_state: Mapping[str, Any]
    sight: Sight | None
    by_when: Mapping[When, Figures]


class Screen(Protocol):
    """Where the demo shows itself. Used as a context; what follows it is printed below."""

    def __enter__(self) -> Screen: ...

    def __exit__(self, *exc: object) -> None: ...

    def say(self, text: str) -> None:
        """One line that stays."""

    def show(self, scene: Scene) -> None:
        """The moment as it is; may be left out where the last one was shown just now."""


class LiveScreen:
    """A picture drawn anew in place."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop")
        self._drawn_at_s = float("-inf")

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False)

    def show(self, scene: Scene) -> None:
        if time.monotonic() - self._drawn_at_s >= FRAME_S:
            self._live.update(picture(scene), refresh=True)
            self._drawn_at_s = time.monotonic()


class LineScreen:
    """For logs and pipes: a line when the phase changes and every few seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._phase = ""
        self._said_at_s = float("-inf")

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *exc: object) -> None:
        self._phase = ""

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, scene: Scene) -> None:
        if scene.phase == self._phase and time.monotonic() - self._said_at_s < LINE_S:
            return
        self._phase, self._said_at_s = scene.phase, time.monotonic()
        self.say(line(scene))


def screen_for(console: Console) -> Screen:
    return LiveScreen(console) if console.is_terminal and not console.is_dumb_terminal else LineScreen(console)


# ---- pure: a moment as text ----------------------------------------------------------------------------------------


def picture(scene: Scene) -> RenderableType:
    """The whole picture, at most 24 lines high."""
    columns = Table.grid(expand=True, padding=(0, 1))
    columns.add_column(ratio=1)
    columns.add_column(ratio=1)
    columns.add_row(Panel(_queues(scene.queue_state), title="queues"), Panel(_typing(scene.sight), title="typing"))
    head = Text.assemble((scene.project, "bold"), "  ", (scene.phase, "cyan"), "  ", (scene.server, "dim"))
    return Group(head, columns, _index(scene.queue_state), figures_table(scene.by_when))


def _queues(state: Mapping[str, Any]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_row(*(Text(name, style="dim") for name in ("priority", "waiting", "running")))
    for name in PRIORITIES:
        queue = state.get("queues", {}).get(name, {})
        table.add_row(name, str(queue.get("queued", 0)), Text(str(queue.get("running", 0)), style="green"))
    running = Table.grid(padding=(0, 1))
    shown = list(state.get("running", ()))[:3]
    for task in [*shown, *([None] * (3 - len(shown)))]:
        words = f"{task['priority']} {task['name']} {task['elapsedMs']:.0f} ms" if task else ""
        running.add_row(Text(words, style="green", no_wrap=True, overflow="ellipsis"))
    paused = f" (background paused: {state['pauseReason']})" if state.get("pauseReason") else ""
    return Group(table, Text(f"running now{paused}", style="dim"), running)


def _typing(sight: Sight | None) -> RenderableType:
    if sight is None:
        return Text("\n" * 9)
    where = Text(f"{sight.statement.file}:{sight.statement.line + 1}", style="dim", no_wrap=True, overflow="ellipsis")
    typed = Text.assemble((sight.typed, "bold"), ("▏", "blink"))
    rows = [
        Text(f"{'→' if label.startswith(sight.statement.label) else ' '} {label}", no_wrap=True, overflow="ellipsis")
        for label in sight.labels[:7]
    ]
    for row in rows:
        if row.plain.startswith("→"):
            row.stylize("bold green")
    return Group(where, typed, *rows, *(Text("") for _ in range(8 - len(rows))))


def _index(state: Mapping[str, Any]) -> RenderableType:
    job = index_job(state)
    row = Table.grid(padding=(0, 1))
    if job is None:
        row.add_row("index", Text("nothing to do", style="dim"))
    else:
        share = job.get("progress")
        bar = ProgressBar(total=1.0, completed=share or 0.0, width=BAR_CELLS, pulse=share is None)
        row.add_row("index", bar, percent(job), Text(job["title"], style="dim"))
    return row


def index_job(state: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The job that builds the index, if one is under way."""
    return next((job for job in state.get("jobs", ()) if job.get("type") == "index"), None)


def percent(job: Mapping[str, Any]) -> str:
    """How far a job is."""
    return "under way" if job.get("progress") is None else f"{job['progress']:.0%}"


def figures_table(by_when: Mapping[When, Figures]) -> Table:
    """Latency and recall, a row for each condition."""
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    for name in ("completion", "keys", "p50", "p95", "known names", "recall", "no list"):
        table.add_column(name, justify="left" if name == "completion" else "right", header_style="dim", no_wrap=True)
    for name, part in by_when.items():
        recall = "–" if part.recall is None else f"{part.recall:.0%}"
        table.add_row(
            name,
            str(part.keys),
            ms(part.p50_s),
            ms(part.p95_s),
            f"{part.found} of {part.due}",
            recall,
            str(part.unserved),
        )
    return table


def line(scene: Scene) -> str:
    """The same moment in one line."""
    state = scene.queue_state
    queues = state.get("queues", {})
    parts = [
        f"{name} {queue['queued']} waiting {queue['running']} running"
        for name, queue in queues.items()
        if queue["queued"] or queue["running"]
    ]
    job = index_job(state)
    if job is not None:
        parts.append(f"index {percent(job)}")
    if state.get("pauseReason"):
        parts.append(f"background paused ({state['pauseReason']})")
    for name, part in scene.by_when.items():
        if part.keys:
            parts.append(
                f"{name} {part.keys} keys p50 {ms(part.p50_s)} p95 {ms(part.p95_s)}, {part.found}/{part.due} found"
            )
    return f"{scene.phase}: " + (" · ".join(parts) or "nothing waits")


def report_table(report: Report) -> RenderableType:
    """The summary at the end."""
    facts = Table.grid(padding=(0, 2))
    index = "not finished" if report.index_s is None else f"complete after {report.index_s:.1f} s of typing"
    first = "none" if report.first_list_s is None else f"{report.first_list_s:.1f} s"
    left_out = "".join(f", {count} left out ({reason})" for reason, count in report.skipped.items() if count)
    for name, value in (
        ("project", f"{report.project}, {report.sources} Python files"),
        ("server", report.server),
        ("ready after", f"{ms(report.start_s)}, first list after {first}"),
        ("index", f"{report.files} files{left_out}, {report.symbols} symbols, {index}"),
        (
            "typed",
            f"{report.statements} statements in {report.wall_s:.0f} s; the index was asked for {report.rounds} times",
        ),
    ):
        facts.add_row(Text(name, style="dim"), value)
    return Group(facts, Text(""), figures_table(report.by_when))


def ms(value_s: float | None) -> str:
    """Seconds as milliseconds to read."""
    return "–" if value_s is None else f"{value_s * 1e3:.0f} ms" if value_s >= 0.01 else f"{value_s * 1e3:.1f} ms"
