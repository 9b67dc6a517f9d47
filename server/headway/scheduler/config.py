"""How a scheduler behaves: every number of the specification, with its default."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.scheduler.executors.base import Totals
from headway.scheduler.model import Priority


class OnBattery(enum.StrEnum):
    """What background work does on battery: stand still, run one task at a time, or go on."""

    PAUSE = "pause"
    SLOW = "slow"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDefaults:
    """Retries of a priority where the caller's `RetryPolicy.max_retries` says nothing.

    `base_s` stretches or shortens the policy's own backoff by `stretch`.
    """

    max_retries: int
    stretch: float


def _retries() -> Mapping[Priority, RetryDefaults]:
    return {
        Priority.CRITICAL: RetryDefaults(max_retries=1, stretch=0.05),
        Priority.HIGH: RetryDefaults(max_retries=1, stretch=0.2),
        Priority.NORMAL: RetryDefaults(max_retries=2, stretch=1.0),
        Priority.LOW: RetryDefaults(max_retries=3, stretch=1.0),
        Priority.BATCH: RetryDefaults(max_retries=3, stretch=2.0),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConfig:
    """Defaults are the specification's. A mechanism is off with the value that its line names.

    Sizes: None means what the machine has. Shares are of 1.
    """

    cpu_cores: float | None = None
    memory_mb: float | None = None
    memory_share: float = 0.8  # of what the machine has, where `memory_mb` says nothing
    # Kept free for CRITICAL work; None: a quarter of the cores (0.25 to 1) and 256 MiB (at most a tenth).
    reserved_cpu_cores: float | None = None
    reserved_memory_mb: float | None = None
    # Of what ordinary work may use, work below HIGH leaves so many cores, at most a quarter, to whoever comes; 0: none.
    spare_cpu_cores: float = 0.1
    queue_capacity: int = 20_000  # tasks; CRITICAL and HIGH work has as much for itself
    remembered_jobs: int = 200
    remembered_tasks: int = 20_000  # of all these jobs; the newest job is remembered whatever it has
    remembered_results: int = 1_000  # of a lazily fed job
    cancel_grace_s: float = 0.1  # from when a run is told to stop until it is ended by force; math.inf: never
    kill_grace_s: float = 0.5  # more, for a worker process to be killed; its task then ends without it
    # What a run that cannot be ended (a thread) holds is given back after this; its slot stays taken. math.inf: never.
    forced_release_s: float = 300.0
    quanta_s: tuple[float, float, float, float, float] = (0.01, 0.02, 0.05, 0.1, 0.2)
    sink_after_quanta: int = 3
    rise_after_s: float = 5.0  # math.inf: no ageing
    rise_by_job: bool = True  # LOW and BATCH tasks age from when their job last got a turn, else from their own arrival
    # Of one core; 0: none. BATCH is owed 5 % in any ten seconds; the rest is for steps that end just after one of them.
    batch_share: float = 0.07
    batch_credit_cap_s: float = 0.5  # the largest claim that BATCH can save up, in core seconds
    squeeze_batch: bool = True  # on its share it is content with fewer cores, those that whoever is next leaves
    batch_due_s: float = 0.05  # the claim at which BATCH goes next
    reserve_after_s: float = 0.2  # a blocked task has room kept for it after this wait; math.inf: never
    # HIGH work that can no longer be answered within its promise makes room for what can, once whoever is first has
    # been late for so long; math.inf: nothing is given up.
    high_promise_s: float = 2.0
    shed_after_s: float = 0.25
    preempt: bool = True  # at step boundaries
    hold_background_for_critical: bool = True
    # Nothing of the background is started while CRITICAL work is being served either, for so long at most from when
    # the first of it began; 0: it is.
    hold_for_served_s: float = 0.1
    fair_shares: bool = True  # between the jobs of LOW and of BATCH
    on_battery: OnBattery = OnBattery.SLOW
    cpu_high: float = 0.9
    cpu_low: float = 0.7
    memory_high: float = 0.9
    memory_low: float = 0.8
    gpu_high: float = 0.95
    gpu_low: float = 0.85
    # Shares of the last ten seconds that work spent waiting for a core or for memory (PSI); math.inf: not heeded.
    cpu_stalled_high: float = 0.5
    cpu_stalled_low: float = 0.2
    memory_stalled_high: float = 0.2
    memory_stalled_low: float = 0.05
    retries: Mapping[Priority, RetryDefaults] = field(default_factory=_retries)
    step_retries: int = 2  # repetitions of a step whose `on_failure` is RETRY
    retry_budget_share: float = 0.1  # of a dependency's requests; math.inf: no budget
    retry_budget_floor: int = 3  # retries that are always possible at first
    breaker_failures: int = 5  # in a row, until a dependency is left alone
    breaker_open_s: float = 15.0
    quarantine_after_deaths: int = 2
    stall_report_s: float = 0.1  # the loop watchdog; math.inf: none
    spares_after_s: float = 0.0  # after the start: from then on an idle worker is kept ready for what is CRITICAL
    watch: bool = True  # metrics, timeline and alerts from the start; else from when they are first asked for

    def __post_init__(self) -> None:
        for low, high in (
            (self.cpu_low, self.cpu_high),
            (self.memory_low, self.memory_high),
            (self.gpu_low, self.gpu_high),
            (self.cpu_stalled_low, self.cpu_stalled_high),
            (self.memory_stalled_low, self.memory_stalled_high),
        ):
            if not 0 <= low <= high:
                raise ValueError(f"a low mark of {low:g} is above its high mark of {high:g}")
        if self.queue_capacity < 1:
            raise ValueError("queue_capacity is at least 1")


def limited(config: SchedulerConfig, totals: Totals) -> Totals:
    """Return what may be used of a machine: what the settings say, else the cores and most of the memory."""
    return Totals(
        cpu_cores=totals.cpu_cores if config.cpu_cores is None else config.cpu_cores,
        memory_mb=totals.memory_mb * config.memory_share if config.memory_mb is None else config.memory_mb,
        gpus=totals.gpus,
    )


def kept_free(config: SchedulerConfig, totals: Totals) -> tuple[float, float, float]:
    """Return what `Quota` keeps free: cores and memory for CRITICAL work, cores left by background work."""
    return *reserve(config, totals), config.spare_cpu_cores


def reserve(config: SchedulerConfig, totals: Totals) -> tuple[float, float]:
    """Return the cores and the memory that are kept free for CRITICAL work."""
    cores, memory = config.reserved_cpu_cores, config.reserved_memory_mb
    if cores is None:
        cores = min(1.0, max(0.25, totals.cpu_cores / 4), totals.cpu_cores / 2)
    if memory is None:
        memory = min(256.0, totals.memory_mb / 10)
    return cores, memory
