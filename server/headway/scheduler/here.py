"""What a scheduler uses that was given nothing else: this machine, and executors on it.

Imported where they are needed: a scheduler with executors and a machine of its own does not pay for these.
"""

from __future__ import annotations

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.executors.base import Executors, Machine, Totals


def own_executors(config: SchedulerConfig, totals: Totals) -> Executors:
    """Return the loop, threads, and supervised worker processes.

    The pools of processes suit the machine, or the settings where these name more cores: how many of them are in use
    is the quotas' matter, which can be changed later.
    """
    from headway.scheduler.executors.loop import LoopExecutor
    from headway.scheduler.executors.process import ProcessExecutor, ProcessSettings
    from headway.scheduler.executors.thread import ThreadExecutor

    cores = max(totals.cpu_cores, config.cpu_cores or 0.0)
    return Executors(
        loop=LoopExecutor(),
        thread=ThreadExecutor(),
        process=ProcessExecutor(
            ProcessSettings.for_machine(cores, totals.memory_mb, warm_after_s=config.spares_after_s)
        ),
    )


def this_machine() -> Machine:
    """Return what samples this machine about once a second."""
    from headway.scheduler.probe import Probe

    return Probe()
