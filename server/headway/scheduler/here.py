"""What a scheduler uses that was given nothing else: this machine, and executors on it.

Imported where they are needed: a scheduler with executors and a machine of its own does not pay for these.
"""

from __future__ import annotations

from headway.scheduler.config import SchedulerConfig
from headway.scheduler.executors.base import Executors, Machine


def own_executors(config: SchedulerConfig) -> Executors:
    """Return the loop, threads, and supervised worker processes."""
    from headway.scheduler.executors.loop import LoopExecutor
    from headway.scheduler.executors.process import ProcessExecutor, ProcessSettings
    from headway.scheduler.executors.thread import ThreadExecutor

    return Executors(
        loop=LoopExecutor(),
        thread=ThreadExecutor(),
        process=ProcessExecutor(ProcessSettings.for_machine(config.cpu_cores)),
    )


def this_machine() -> Machine:
    """Return what samples this machine about once a second."""
    from headway.scheduler.probe import Probe

    return Probe()
