"""Random lives of the core: whatever is submitted, cancelled, paused, moved and lost, in whatever order and time.

After every event: quotas are kept and held by what runs only, states move as they may, each task ends once. At the end,
with everything resumed: all that was submitted has ended, and nothing is held.
"""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.errors import ImpossibleRequirementError
from headway.scheduler.executors.base import StepResult, Totals
from headway.scheduler.model import (
    Job,
    JobChanged,
    JobState,
    Priority,
    TaskEnded,
    TaskStarted,
    TaskState,
)
from headway.scheduler.model import (
    StepEnded as StepEndedEvent,
)
from headway.scheduler.records import ENDED, TaskRecord
from headway.scheduler.stimuli import (
    HeartbeatSeen,
    JobCancelled,
    JobPaused,
    JobResumed,
    LevelsPaused,
    LevelsResumed,
    PartialReported,
    PrioritySet,
    StepEnded,
    Withdrawn,
)
from tests import strategies as drawn
from tests.scheduler.world import TOTALS, World

LEVELS = st.lists(st.sampled_from([Priority.HIGH, Priority.NORMAL, Priority.LOW, Priority.BATCH]), unique=True)
JOB_AFTER = {
    JobState.PENDING: set(JobState) - {JobState.PENDING},
    JobState.RUNNING: set(JobState) - {JobState.PENDING, JobState.RUNNING},
    JobState.PAUSED: set(JobState) - {JobState.PAUSED},
}


class CoreMachine(RuleBasedStateMachine):
    """One scheduler and whoever uses it."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(config=SchedulerConfig(queue_capacity=500), slots=(2, 2, 1, 1, 2, 1))
        self.tickets: list[int] = []
        self.states: dict[str, JobState] = {}
        self.task_states: dict[int, TaskState] = {}
        self.records: dict[int, TaskRecord] = {}
        self.seen = 0

    # ---- what may happen --------------------------------------------------------------------------------------------

    @rule(submitted=st.lists(drawn.jobs(), min_size=1, max_size=3))
    def submit(self, submitted: list[Job]) -> None:
        try:
            self.tickets += self.world.submit(*submitted)
        except ImpossibleRequirementError:  # since the machine has shrunk
            assert self.world.core.quota.views()["cpuCores"].total < TOTALS.cpu_cores
            return
        for record in self.world.core.jobs.submitted:
            for task in record.listed():
                self.records[task.key] = task

    @rule(duration_s=st.sampled_from([0.001, 0.02, 0.15, 1.0, 6.0]))
    def time_passes(self, duration_s: float) -> None:
        self.world.pass_s(duration_s)

    @rule()
    def one_event(self) -> None:
        self.world.step()

    @rule(back_s=st.sampled_from([0.5, 100.0]))
    def clock_steps_back(self, back_s: float) -> None:
        """An instant from the past changes nothing but the instant."""
        now_s, self.world.now_s = self.world.now_s, self.world.now_s - back_s
        self.world.press()
        self.world.now_s = now_s

    def _has(self, cores: float) -> None:
        """Let the machine have so many cores from its next report on, but not fewer than are in use."""
        used = self.world.core.quota.used_cores / 1e6
        self.world.totals = Totals(cpu_cores=max(cores, used), memory_mb=TOTALS.memory_mb)

    def _job(self, data: st.DataObject) -> str | None:
        active = sorted(self.world.core.book.active)
        return data.draw(st.sampled_from(active)) if active else None

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if job_id := self._job(data):
            self.world.tell(JobCancelled(job_id, "cancelled"))

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        if self.tickets:
            self.world.tell(Withdrawn(data.draw(st.sampled_from(self.tickets)), "gone"))

    @rule(data=st.data(), priority=drawn.priorities)
    def move(self, data: st.DataObject, priority: Priority) -> None:
        if job_id := self._job(data):
            self.world.tell(PrioritySet(job_id, priority))

    @rule(levels=LEVELS)
    def pause(self, levels: list[Priority]) -> None:
        self.world.tell(LevelsPaused(tuple(levels), "user"))

    @rule(levels=LEVELS)
    def resume(self, levels: list[Priority]) -> None:
        self.world.tell(LevelsResumed(tuple(levels)))

    @rule(data=st.data())
    def pause_job(self, data: st.DataObject) -> None:
        if job_id := self._job(data):
            self.world.tell(JobPaused(job_id))

    @rule(data=st.data())
    def resume_job(self, data: st.DataObject) -> None:
        if job_id := self._job(data):
            self.world.tell(JobResumed(job_id))

    @rule(cpu=st.floats(0, 1), memory=st.floats(0, 1), on_battery=st.booleans())
    def press(self, cpu: float, memory: float, on_battery: bool) -> None:
        self.world.press(cpu=cpu, foreign_cpu=cpu, memory=memory, on_battery=on_battery)

    @rule(cores=st.sampled_from([1.8, 2.0, 4.0]))
    def machine_changes(self, cores: float) -> None:
        self._has(cores)
        self.world.press()

    @rule(data=st.data())
    def strange_word_of_an_executor(self, data: st.DataObject) -> None:
        """An end of what never was, a beat and a partial result of anything: nobody minds."""
        run_id = data.draw(st.integers(0, len(self.world.begun) + 1))
        self.world.tell(StepEnded(10**9, StepResult(value=1)))
        self.world.tell(HeartbeatSeen(run_id))
        self.world.tell(PartialReported(run_id, "half"))

    # ---- what must hold ---------------------------------------------------------------------------------------------

    @invariant()
    def events_are_legal(self) -> None:
        for event in self.world.events[self.seen :]:
            if isinstance(event, JobChanged):
                before = self.states.get(event.job_id)
                assert event.previous is before
                if before is not None:
                    assert event.state in JOB_AFTER[before], f"{before} -> {event.state}"
                self.states[event.job_id] = event.state
        self.seen = len(self.world.events)

    @invariant()
    def tasks_move_as_they_may(self) -> None:
        for key, record in self.records.items():
            before, now = self.task_states.get(key, TaskState.PENDING), record.state
            if before in ENDED:
                assert now is before
            self.task_states[key] = now

    @invariant()
    def each_task_ends_once(self) -> None:
        ended = [event.task_id for event in self.world.events if isinstance(event, TaskEnded)]
        assert len(ended) == len(set(ended))

    @invariant()
    def nothing_starts_before_what_it_depends_on(self) -> None:
        for record in self.records.values():
            if record.started_at_s is not None:
                assert all(dep.state in ENDED for dep in record.deps)

    @invariant()
    def counts_are_true(self) -> None:
        flow = self.world.core.flow
        queued, running = [0] * 5, [0] * 5
        for job in self.world.core.book.active.values():
            for task in job.listed():
                if task.state in (TaskState.PENDING, TaskState.READY):
                    queued[task.priority] += 1
                elif task.state is TaskState.RUNNING:
                    running[task.priority] += 1
        assert (flow.queued, flow.running) == (queued, running)

    @invariant()
    def paused_levels_begin_nothing(self) -> None:
        """What is paused has no run that began after the pause: checked by the queue, which holds it back."""
        paused = self.world.core.admission.paused
        for line in self.world.core.admission.queue.lines():
            entry = line.head()
            assert entry is not None
            assert entry.item.state is TaskState.READY
            assert isinstance(entry.item, TaskRecord), "nothing here is an errand"
            assert not (paused[entry.item.priority] and entry.item.run is not None)

    def teardown(self) -> None:
        world = self.world
        self._has(TOTALS.cpu_cores)
        world.press(cpu=0.0, foreign_cpu=0.0, memory=0.0)
        world.press()
        world.resume_all()
        assert not world.core.book.active, "something waits for ever"
        self.events_are_legal()
        self.each_task_ends_once()
        assert set(world.outcomes) >= set(self.tickets), "somebody was never told"
        world.pass_s(400)
        world.check_empty()
        started = {event.task_id for event in world.events if isinstance(event, TaskStarted)}
        stepped = {event.task_id for event in world.events if isinstance(event, StepEndedEvent)}
        assert stepped <= started


CoreMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestCore = CoreMachine.TestCase
