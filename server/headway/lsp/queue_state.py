"""`headway/queueState`: what the scheduler does, told on change, calmly, and always true in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable

from headway.lsp import payloads
from headway.lsp.connection import Connection
from headway.lsp.latency import RecentTimes
from headway.lsp.protocol import QUEUE_STATE, Indexed, Latency, QueueState, ServerState
from headway.lsp.tongue import Tongue
from headway.scheduler import Scheduler
from headway.scheduler.model import Event, Priority, RunningView, Snapshot, TaskEnded

# Four a second at most; the rest of the interval is for the clocks of two processes.
_INTERVAL_S = 0.26
# Looking costs a snapshot, so it is done at most this often.
_LOOK_S = 0.05
# CRITICAL work shorter than this is nobody's business.
_SHORT_S = 0.1


class QueueStateReporter:
    """Watches the scheduler and sends `headway/queueState`.

    Args:
        trouble: Says what is off, or None.
        latency: Gives the answer times to show.
        indexed: Says how far the index is.
        tongue: Says it in the client's language.
    """

    def __init__(
        self,
        connection: Connection,
        scheduler: Scheduler,
        *,
        trouble: Callable[[], str | None],
        latency: Callable[[], dict[str, Latency]],
        indexed: Callable[[], Indexed],
        tongue: Tongue,
    ) -> None:
        self._connection = connection
        self._scheduler = scheduler
        self._trouble = trouble
        self._latency = latency
        self._indexed = indexed
        self._times = RecentTimes()
        self._tongue = tongue
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._due_at_s = 0.0
        self._looked_at_s = 0.0
        self._sent_at_s = 0.0
        self._critical_queued_since_s: float | None = None
        self._seq = 0
        self._said: Hashable = None
        self._starting = True
        self._open = False
        self._unsubscribe = scheduler.subscribe(self._on_event)

    def open(self) -> None:
        """The client is ready: tell it the state now, and from here on each change."""
        self._open = True
        self._send(self._scheduler.snapshot())

    def started(self) -> None:
        """The session is up: from here on the state is what the scheduler does."""
        self._starting = False
        self.poke()

    def close(self) -> None:
        """Say nothing more."""
        self._open = False
        self._unsubscribe()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def poke(self) -> None:
        """Something may have changed."""
        if self._open:
            self._look_at(self._looked_at_s + _LOOK_S)

    def current(self) -> QueueState:
        """Return the newest state; its `seq` is the last one's, or the next where something has changed since."""
        snapshot = self._scheduler.snapshot()
        changed = self._fingerprint(snapshot) != self._said
        return self._payload(snapshot, self._seq + 1 if changed else self._seq)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, TaskEnded):
            self._times.ended(event)
        self.poke()

    def _look_at(self, when_s: float) -> None:
        if self._timer is not None:
            if self._due_at_s <= when_s:
                return
            self._timer.cancel()
        self._due_at_s = max(when_s, self._loop.time())
        self._timer = self._loop.call_at(self._due_at_s, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self._open or self._connection.congested:
            return  # `poke` comes again when the client has read what waits.
        now_s = self._looked_at_s = self._loop.time()
        if now_s < self._sent_at_s + _INTERVAL_S:
            self._look_at(self._sent_at_s + _INTERVAL_S)
            return
        snapshot = self._scheduler.snapshot()
        if self._fingerprint(snapshot) != self._said:
            self._send(snapshot)
        if snapshot.depths[Priority.CRITICAL].queued or snapshot.depths[Priority.CRITICAL].running:
            # What is short now may be long at the next look.
            self._look_at(now_s + _SHORT_S)

    def _send(self, snapshot: Snapshot) -> None:
        self._seq += 1
        self._said = self._fingerprint(snapshot)
        self._sent_at_s = self._loop.time()
        self._connection.notify(QUEUE_STATE, self._payload(snapshot, self._seq))

    def _state(self, snapshot: Snapshot, *, with_short: bool) -> ServerState:
        if self._trouble() is not None and not self._starting:
            return "degraded"
        active = False
        for priority, depth in snapshot.depths.items():
            if priority is Priority.CRITICAL and not with_short:
                active = active or any(_counts(task) for task in snapshot.running if task.priority is priority)
            elif depth.running or (depth.queued and priority not in snapshot.paused):
                active = True
        if active:
            return "busy"
        if self._starting:
            return "starting"
        held = any(snapshot.depths[priority].queued for priority in snapshot.paused)
        if snapshot.paused and (held or snapshot.pause_reason == "user"):
            return "paused"
        return "idle"

    def _payload(self, snapshot: Snapshot, seq: int) -> QueueState:
        trouble = self._trouble()
        running, jobs = snapshot.running[: payloads.MOST_RUNNING], snapshot.jobs[: payloads.MOST_JOBS]
        state: QueueState = {
            "seq": seq,
            "at": self._scheduler.wall_ms(snapshot.at_s),
            "state": self._state(snapshot, with_short=True),
            "queues": {priority.name: payloads.queue_depth(depth) for priority, depth in snapshot.depths.items()},
            "pausedPriorities": [payloads.priority_name(priority) for priority in snapshot.paused],
            "pauseReason": snapshot.pause_reason,  # type: ignore[typeddict-item]
            "running": [payloads.running_task(task) for task in running],
            "jobs": [payloads.active_job(job, self._tongue) for job in jobs],
            "resources": {name: payloads.resource_use(view) for name, view in snapshot.resources.items()},
            "pressure": payloads.pressure(snapshot.pressure),
            "latency": self._latency(),
            "alerts": len(self._scheduler.alerts.active()),
            "message": None if trouble is None else self._tongue.tell(trouble),
            "times": self._times.current(),
            "indexed": self._indexed(),
        }
        if len(jobs) < len(snapshot.jobs) or len(running) < sum(depth.running for depth in snapshot.depths.values()):
            state["truncated"] = True
        return state

    def _fingerprint(self, snapshot: Snapshot) -> Hashable:
        """What counts as a change; CRITICAL work that is short so far is left out."""
        critical = snapshot.depths[Priority.CRITICAL]
        now_s = snapshot.at_s
        if not critical.queued:
            self._critical_queued_since_s = None
        elif self._critical_queued_since_s is None:
            self._critical_queued_since_s = now_s
        waits_long = self._critical_queued_since_s is not None and now_s - self._critical_queued_since_s >= _SHORT_S
        return (
            self._state(snapshot, with_short=False),
            critical.queued if waits_long else 0,
            tuple(depth for priority, depth in snapshot.depths.items() if priority is not Priority.CRITICAL),
            snapshot.paused,
            snapshot.pause_reason,
            tuple(task.task_id for task in snapshot.running[: payloads.MOST_RUNNING] if _counts(task)),
            tuple(
                (job.job_id, job.title, job.done, job.total, job.progress)
                for job in snapshot.jobs[: payloads.MOST_JOBS]
                if job.priority is not Priority.CRITICAL or now_s - job.created_at_s >= _SHORT_S
            ),
            tuple((active.alert_id, active.level) for active in self._scheduler.alerts.active()),
            self._trouble(),
        )


def _counts(task: RunningView) -> bool:
    return task.priority is not Priority.CRITICAL or task.elapsed_s >= _SHORT_S
