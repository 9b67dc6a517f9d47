"""The policies that are compared: ours, two simple ones, and each class alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.strategies import DEFAULT, FIFO, PRIORITY, Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a scheduler behaves."""

    name: str
    config: SchedulerConfig
    strategy: Strategy


def _plain(*, preempt: bool) -> SchedulerConfig:
    """A scheduler that only orders its queue: nothing reserved, kept free, shared out, aged or held back."""
    return SchedulerConfig(
        reserved_cpu_cores=0.0,
        reserved_memory_mb=0.0,
        rise_after_s=math.inf,
        batch_share=0.0,
        reserve_after_s=math.inf,
        preempt=preempt,
        hold_background_for_critical=False,
        fair_shares=False,
    )


OURS = Policy(name="headway", config=SchedulerConfig(), strategy=DEFAULT)
IN_ORDER = Policy(name="fifo", config=_plain(preempt=False), strategy=FIFO)
STRICT = Policy(name="strict", config=_plain(preempt=True), strategy=PRIORITY)
# For the bound: a class that has the whole machine for itself, whenever it comes.
ALONE = Policy(name="alone", config=_plain(preempt=True), strategy=PRIORITY)
POLICIES = {policy.name: policy for policy in (OURS, IN_ORDER, STRICT)}
